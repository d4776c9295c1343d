"""A plain deep autoencoder."""

from torch import nn

from skim._utils import hidden_and_latent_widths

MAX_WIDTH = 128
PRECISION = 400.0  # of a standard deviation of 0.05


class Autoencoder(nn.Module):
    """Plain deep autoencoder.

    The loss of a row is its squared reconstruction error, on the scale of a normal
    distribution with a standard deviation of 0.05.

    Parameters
    ----------
    n_features : int
        Number of features, scaled to [0, 1].

    Examples
    --------
    >>> import torch
    >>> from skim.networks import Autoencoder
    >>> Autoencoder(3)(torch.rand(5, 3)).shape
    torch.Size([5])
    """

    def __init__(self, n_features):
        super().__init__()
        wide, narrow, latent = hidden_and_latent_widths(n_features, MAX_WIDTH)
        self.layers = nn.Sequential(
            nn.Linear(n_features, wide),
            nn.LeakyReLU(),
            nn.Linear(wide, narrow),
            nn.LeakyReLU(),
            nn.Linear(narrow, latent),
            nn.Linear(latent, narrow),
            nn.LeakyReLU(),
            nn.Linear(narrow, wide),
            nn.LeakyReLU(),
            nn.Linear(wide, n_features),
            nn.Sigmoid(),
        )

    def forward(self, x):
        """Return the loss of each row, of shape (n_rows,)."""
        return self.feature_losses(x).sum(1)

    def feature_losses(self, x):
        """Return what each cell adds to the loss, of shape (n_rows, n_features)."""
        return 0.5 * PRECISION * (x - self.layers(x)).square()
