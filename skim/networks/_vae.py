"""A variational autoencoder."""

import torch
from torch import nn

from skim._utils import hidden_and_latent_widths

MAX_WIDTH = 128
LOG_VAR_RANGE = (-6.0, 2.0)


class VAE(nn.Module):
    """Variational autoencoder, the network of :class:`skim.ALTBIDetector`.

    The loss of a row is minus its evidence lower bound, with one latent code: drawn in
    training mode, and the mean in evaluation mode, so that scores are not random.

    Parameters
    ----------
    n_features : int
        Number of features, scaled to [0, 1].

    Examples
    --------
    >>> import torch
    >>> from skim.networks import VAE
    >>> VAE(3)(torch.rand(5, 3)).shape
    torch.Size([5])
    """

    def __init__(self, n_features):
        super().__init__()
        wide, narrow, latent = hidden_and_latent_widths(n_features, MAX_WIDTH)
        self.encoder = nn.Sequential(block(n_features, wide), block(wide, narrow))
        self.code_mean = nn.Linear(narrow, latent, bias=False)
        self.code_log_var = nn.Linear(narrow, latent)
        self.decoder = nn.Sequential(block(latent, narrow), block(narrow, wide))
        self.mean = nn.Linear(wide, n_features, bias=False)
        self.log_var = nn.Linear(wide, n_features)

    def forward(self, x):
        """Return the loss of each row, of shape (n_rows,)."""
        feature_losses, code_loss = self._losses(x)
        return feature_losses.sum(1) + code_loss

    def feature_losses(self, x):
        """Return what each cell adds to the loss, of shape (n_rows, n_features)."""
        return self._losses(x)[0]

    def _losses(self, x):
        hidden = self.encoder(x)
        log_var = self.code_log_var(hidden).clamp(*LOG_VAR_RANGE)
        mean = self.code_mean(hidden)
        noise = torch.randn_like(mean) if self.training else torch.zeros_like(mean)
        code = mean + (0.5 * log_var).exp() * noise
        code_loss = 0.5 * (code.square() - noise.square() - log_var).sum(1)
        hidden = self.decoder(code)
        log_var = self.log_var(hidden).clamp(*LOG_VAR_RANGE)
        error = x - self.mean(hidden).sigmoid()
        return log_var + 0.5 * error.square() * (-log_var).exp(), code_loss


def block(n_inputs, n_outputs):
    """Return a linear layer without bias, batch normalization and a leaky rectifier."""
    return nn.Sequential(
        nn.Linear(n_inputs, n_outputs, bias=False),
        nn.BatchNorm1d(n_outputs, eps=1e-4, affine=False),
        nn.LeakyReLU(),
    )
