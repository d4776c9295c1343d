"""A normalizing flow and a plain deep autoencoder."""

import math

import torch
from torch import nn

from skim._utils import hidden_and_latent_widths

MAX_WIDTH = 128
PRECISION = 400.0  # of a standard deviation of 0.05


class Flow(nn.Module):
    """Normalizing flow of masked affine couplings.

    Each coupling leaves some features as they are, and scales and shifts the others by
    amounts that a small network computes from those. The masks are random and differ
    among the members of an ensemble. The loss of a row is minus the exact logarithm of
    its density. The terms of :meth:`feature_losses` add up to it; that of a feature is
    due to the coordinate that the couplings made of the feature, given the others.

    Parameters
    ----------
    n_features : int
        Number of features, scaled to [0, 1].

    n_couplings : int, default=4
        Number of couplings.

    n_hidden : int, default=32
        Width of the couplings' hidden layers.

    Examples
    --------
    >>> import torch
    >>> from skim.networks import Flow
    >>> Flow(3)(torch.rand(5, 3)).shape
    torch.Size([5])
    """

    def __init__(self, n_features, n_couplings=4, n_hidden=32):
        super().__init__()
        masks = []
        for _ in range(-(-n_couplings // 2)):
            mask = torch.randperm(n_features) < n_features // 2
            masks += [mask, ~mask]
        self.couplings = nn.ModuleList(
            Coupling(mask, n_hidden) for mask in masks[:n_couplings]
        )

    def forward(self, x):
        """Return the loss of each row, of shape (n_rows,)."""
        return self.feature_losses(x).sum(1)

    def feature_losses(self, x):
        """Return what each coordinate adds to the loss, (n_rows, n_features)."""
        z = 6.0 * (x - 0.5)
        log_scale = 0.0
        for coupling in self.couplings:
            z, own = coupling(z)
            log_scale = log_scale + own
        return 0.5 * z.square() - log_scale + 0.5 * math.log(2 * math.pi)


class Coupling(nn.Module):
    """Scales and shifts some features, by amounts that the others determine.

    The factors are between 1/e and e. This limits the density of features with few
    distinct values, which has no bound.
    """

    given: torch.Tensor

    def __init__(self, mask, n_hidden):
        super().__init__()
        self.register_buffer("given", mask.float())
        n_features = len(mask)
        self.net = nn.Sequential(
            nn.Linear(n_features, n_hidden),
            nn.LeakyReLU(),
            nn.Linear(n_hidden, 2 * n_features),
        )

    def forward(self, x):
        """Return the transformed rows, and the logarithms of their scales."""
        shift, log_scale = self.net(x * self.given).chunk(2, 1)
        free = 1 - self.given
        log_scale = torch.tanh(log_scale) * free
        return x * log_scale.exp() + shift * free, log_scale


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
