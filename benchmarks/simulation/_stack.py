"""Many small autoencoders A tanh(W x), each on its own data, trained side by side."""

from dataclasses import dataclass, field

import numpy as np
import torch

from skim import EMAWarmStart
from skim.inspection import im_window
from skim.theory._theorem import reconstruct

HIDDEN_UNITS = 32
LEARNING_RATE = 2e-4
BATCH_SIZE = 500
EMA_STEPS = 50
EMA_DECAY = 0.999


@dataclass
class Member:
    """One network with its data, and its results.

    `value` is what the experiment varies, and `seed` that of the order of the rows.
    `y` is 1 for outliers. The initial `weights`, W and the transpose of A, have the
    shape (2, H, p), and are warmed up if `ema`.
    """

    experiment: str
    value: object
    seed: int
    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    geometry: object = field(repr=False)
    weights: torch.Tensor = field(repr=False)
    ema: bool = False
    initial_error: float = np.nan
    auroc: np.ndarray | None = field(default=None, repr=False)

    def record(self):
        """Return the results of the member as a dict."""
        window = im_window(self.auroc, epochs=np.arange(1, len(self.auroc) + 1))
        return {
            "experiment": self.experiment,
            "value": self.value,
            "seed": self.seed,
            "ema": self.ema,
            "initial_error": self.initial_error,
            "start": window.start,
            "stop": window.stop,
            "length": window.length,
            "peak": self.auroc.max(),
        }


def initial_weights(n_features, n_draws, seed):
    """Draw initial weights as torch's linear layers do."""
    generator = torch.Generator().manual_seed(seed)
    size = HIDDEN_UNITS * n_features
    block = torch.empty(n_draws, 2 * size).uniform_(-1, 1, generator=generator)
    W = block[:, :size].view(n_draws, HIDDEN_UNITS, n_features)
    A = block[:, size:].view(n_draws, n_features, HIDDEN_UNITS).transpose(1, 2)
    return torch.stack([W * n_features**-0.5, A * HIDDEN_UNITS**-0.5], dim=1)


def initial_error(weights, geometry):
    """Root mean square over the rows of the error at their cluster's centre."""
    centers, sizes = geometry.centers, geometry.sizes
    W, A = weights[0].numpy(), weights[1].T.numpy()
    squares = np.square(reconstruct(W, A, centers) - centers).sum(axis=1)
    return float(np.sqrt(sizes @ squares / sizes.sum()))


def train(members, epochs, on_epoch=lambda: None):
    """Train members of equally large data side by side, and fill in the results."""
    X = torch.from_numpy(np.stack([member.X for member in members])).float()
    weights = torch.stack([member.weights for member in members])
    # One each, so that no result depends on the other members.
    orders = [torch.Generator().manual_seed(member.seed) for member in members]
    _warm_up(weights, torch.tensor([member.ema for member in members]), X, orders)
    for member, own in zip(members, weights, strict=True):
        member.initial_error = initial_error(own, member.geometry)
    update = _updater(weights)
    aurocs = np.empty((epochs, len(members)))
    for epoch in range(epochs):
        for batch in _batches(X, orders):
            update(batch)
        found = losses(weights.detach(), X).numpy()
        aurocs[epoch] = [
            auroc(row, member.y) for row, member in zip(found, members, strict=True)
        ]
        on_epoch()
    for member, values in zip(members, aurocs.T, strict=True):
        member.auroc = values


def losses(weights, X):
    """Return the squared errors of rows (M, n, p), of shape (M, n)."""
    codes = torch.tanh(X @ weights[:, 0].transpose(1, 2))
    return (codes @ weights[:, 1] - X).square().sum(dim=2)


def auroc(losses, y):
    """Return the share of pairs in which the outlier has the larger loss."""
    inliers = np.sort(losses[y == 0])
    outliers = losses[y == 1]
    below = np.searchsorted(inliers, outliers, "left")
    not_above = np.searchsorted(inliers, outliers, "right")
    return (below.mean() + not_above.mean()) / (2 * len(inliers))


def _updater(weights):
    """Return a function that makes a step of Adam on the mean losses of a batch."""
    weights.requires_grad_()
    adam = torch.optim.Adam([weights], lr=LEARNING_RATE)

    def update(batch):
        adam.zero_grad()
        losses(weights, batch).mean(dim=1).sum().backward()
        adam.step()

    return update


def _batches(X, orders):
    """Yield one pass over the rows, in each member's own order."""
    n_rows = X.shape[1]
    size = min(BATCH_SIZE, n_rows)
    order = torch.stack([torch.randperm(n_rows, generator=each) for each in orders])
    for batch in order[:, : n_rows // size * size].split(size, dim=1):
        yield X.gather(1, batch[:, :, None].expand(-1, -1, X.shape[2]))


def _warm_up(weights, ema, X, orders):
    """Warm up the initial weights of the members with `ema`."""
    if not ema.any():
        return
    before = weights.clone()
    update = _updater(weights)
    batches = (batch for _ in iter(int, 1) for batch in _batches(X, orders))
    mixin = EMAWarmStart()
    mixin.ema_steps, mixin.ema_decay = EMA_STEPS, EMA_DECAY
    mixin.ema_warm_up(weights, lambda: update(next(batches)))
    weights.requires_grad_(False)
    weights[~ema] = before[~ema]
