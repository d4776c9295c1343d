"""Many small autoencoders, each on data of its own, trained as one network."""

from dataclasses import dataclass, field

import numpy as np
import torch

from skim import EMAWarmStart
from skim._nets import Adam, AutoencoderShape, StackedAutoencoder
from skim._nets._memory import Workspace
from skim.inspection import im_window
from skim.theory import reconstruct

HIDDEN_UNITS = 32
LEARNING_RATE = 2e-4
BATCH_SIZE = 500
EMA_STEPS = 50
EMA_DECAY = 0.999


@dataclass
class Member:
    """One network with its data, and its results.

    `value` is what the experiment varies, and `seed` that of the order of the rows.
    `y` is 1 for outliers. The initial `weights`, of shape (P,), are warmed up if `ema`.
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
    """Draw initial weights, of shape (n_draws, P)."""
    generator = torch.Generator().manual_seed(seed)
    return _shape(n_features).weights.draw(n_draws, generator)


def initial_error(weights, geometry):
    """Root mean square over the rows of the error at their cluster's centre."""
    centers, sizes = geometry.centers, geometry.sizes
    views = _shape(centers.shape[1]).weights.views(weights[None])
    W, A = (views[name][0].numpy() for name in ("encode", "decode"))
    squares = np.square(reconstruct(W, A, centers) - centers).sum(axis=1)
    return float(np.sqrt(sizes @ squares / sizes.sum()))


def train(members, epochs, on_epoch=lambda: None):
    """Train members of equally large data side by side, and fill in the results."""
    stack = _Stack(members)
    stack.warm_up()
    for member, weights in zip(members, stack.weights, strict=True):
        member.initial_error = initial_error(weights, member.geometry)
    aurocs = np.empty((epochs, len(members)))
    for epoch in range(epochs):
        stack.train_epoch()
        losses = stack.losses()
        aurocs[epoch] = [
            auroc(row, member.y) for row, member in zip(losses, members, strict=True)
        ]
        on_epoch()
    for member, values in zip(members, aurocs.T, strict=True):
        member.auroc = values


def auroc(losses, y):
    """Return the share of pairs in which the outlier has the larger loss."""
    inliers = np.sort(losses[y == 0])
    outliers = losses[y == 1]
    below = np.searchsorted(inliers, outliers, "left")
    not_above = np.searchsorted(inliers, outliers, "right")
    return (below.mean() + not_above.mean()) / (2 * len(inliers))


class _Stack:
    def __init__(self, members):
        data = np.stack([member.X.T for member in members]).astype(np.float32)
        self.X = torch.from_numpy(data)
        self.n_rows = self.X.shape[2]
        self.batch_size = min(BATCH_SIZE, self.n_rows)
        self.ema = torch.tensor([member.ema for member in members])
        self.weights = torch.stack([member.weights for member in members])
        # One each, so that no result depends on the other members.
        self.orders = [torch.Generator().manual_seed(m.seed) for m in members]
        self.workspace = Workspace()
        self.restart()

    def restart(self):
        """Start again from the present weights."""
        shape = _shape(self.X.shape[1])
        self.network = StackedAutoencoder(shape, self.weights)
        self.optimiser = Adam(self.weights, learning_rate=LEARNING_RATE)
        self.grad = torch.empty_like(self.weights)

    def batches(self):
        """Yield one pass over the rows, in each member's own order."""
        orders = [torch.randperm(self.n_rows, generator=g) for g in self.orders]
        orders = torch.stack(orders)[:, None].expand(-1, self.X.shape[1], -1)
        for batch in orders.split(self.batch_size, dim=2):
            if batch.shape[2] == self.batch_size:
                yield self.X.gather(2, batch)

    def update(self, batch):
        """Make one step of Adam on the mean loss of a batch."""
        losses, cache = self.network.forward(batch)
        even = torch.full_like(losses, 1 / losses.shape[1])
        self.network.backward(cache, even, self.grad)
        self.optimiser.step(self.grad)

    def train_epoch(self):
        """Make one pass over the rows."""
        for batch in self.batches():
            self.update(batch)

    def warm_up(self):
        """Warm up the initial weights of the members with `ema`."""
        if not self.ema.any():
            return
        before = self.weights.clone()
        batches = (batch for _ in iter(int, 1) for batch in self.batches())
        ema = EMAWarmStart()
        ema.ema_steps, ema.ema_decay = EMA_STEPS, EMA_DECAY
        ema.ema_warm_up(self.weights, lambda: self.update(next(batches)))
        self.weights[~self.ema] = before[~self.ema]
        self.restart()

    def losses(self):
        """Return the losses of all rows, of shape (M, n)."""
        shape = self.network.shape
        return shape.losses(shape.fold(self.weights), self.X, self.workspace).numpy()


def _shape(n_features):
    return AutoencoderShape(n_features, HIDDEN_UNITS, "tanh")
