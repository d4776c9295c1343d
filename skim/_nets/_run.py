"""The training loop that all detectors share: batches, updates, optimisers."""

import math

import numpy as np
import torch

from skim._nets._gradients import gradient_products
from skim._nets._memory import Workspace, as_tensor

MAX_COLUMNS = 2**14  # that go through the networks at once


class NonFiniteLossError(ArithmeticError):
    """The loss or the weights became infinite or NaN."""


class Run:
    """One training run of a stacked network.

    Parameters
    ----------
    shape : VAEShape or AutoencoderShape
    weights : Tensor of shape (M, P)
        Changed in place.
    optimiser : Adam or GradientDescent
        Of the weights.
    X : Tensor of shape (n, p) or ScaledTable
        A table is read row by row, and never held as a whole.
    generator : torch.Generator
        Source of the order of the rows and of the latent noise.
    noise : Tensor of shape (M, L, K) or None, default=None
        The latent noise that rows are scored with.

    Attributes
    ----------
    members : ndarray of int
        Indices of the members that are still being trained.
    stages : StageLog or None
        Records the states with which the run could have ended, if set.
    snapshots : list of (weights, statistics)
        The states to score with, left here by whoever trains.
    n_epochs : int
        Number of epochs so far; whoever trains counts them.
    carried : dict of str to Tensor, ndarray or int
        What else is needed to resume the run.
    """

    def __init__(self, shape, weights, optimiser, X, generator, noise=None):
        self.network = shape.stack(weights, generator)
        is_tensor = torch.is_tensor(X)
        self.network.has_gaps = bool(X.isnan().any()) if is_tensor else X.has_gaps()
        self.optimiser = optimiser
        self.noise = noise
        self.n_rows = len(X)
        self.device = weights.device
        self.n_updates = 0
        self.n_epochs = 0
        self.carried = {}
        self.members = np.arange(len(weights))
        self.snapshots = []
        self.stages = None
        self._stream = RowStream(X, len(weights), generator)
        self._grad = torch.empty_like(weights)
        self._workspace = Workspace(weights.device)

    def update(self, batch_size, weigh=None, grad=None):
        """Take one optimiser step on the next batch.

        Parameters
        ----------
        batch_size : int or None
            None means all rows.
        weigh : callable, default=None
            Maps the losses to the weights of the rows, both of shape (M, B).
            None means the mean.
        grad : Tensor of shape (M, P), default=None
            Gradient of further terms of the objective.

        Returns
        -------
        losses : Tensor of shape (M, B)
            Before the step.
        """
        size = self.n_rows if batch_size is None else min(batch_size, self.n_rows)
        self.batch = self._stream.take(size)
        losses, cache = self.network.forward(self.batch)
        if weigh is None:
            row_weights = torch.full_like(losses, 1.0 / losses.shape[1])
        else:
            row_weights = weigh(losses)
        self.network.backward(cache, row_weights, self._grad)
        if grad is not None:
            self._grad += grad
        self.optimiser.step(self._grad)
        self.n_updates += 1
        return losses

    def draw_from(self, X):
        """Draw batches from other rows from now on, of shape (n, p)."""
        self.n_rows = len(X)
        self._stream = RowStream(X, len(self.members), self._stream.generator)

    def state(self):
        """Return copies of the weights and of the running statistics, as arrays."""
        network = self.network
        return tuple(
            part.cpu().numpy().copy() for part in (network.weights, network.statistics)
        )

    def check_finite(self, losses, weights=None):
        """Raise `NonFiniteLossError` unless losses and weights are finite."""
        weights = self.network.weights if weights is None else weights
        if not (losses.isfinite().all() and weights.isfinite().all()):
            raise NonFiniteLossError

    # Watching ------------------------------------------------------------------

    def losses(self, x):
        """Losses of `x`, of shape (p, C) or (M, p, C), in evaluation mode."""
        network = self.network
        folded = network.shape.fold(network.weights, network.statistics, self.noise)
        return network.shape.losses(folded, x, self._workspace, gaps="mean")

    def losses_at(self, states, rows):
        """Return the losses, (S, M, n), of rows at several states of the run.

        Parameters
        ----------
        states : sequence of tuple of ndarray
            As `state` returns them.
        rows : sequence of Tensor of shape (p, n) or (M, p, n)
            The rows to score at each state; the same for all if of shape (p, n).
        """
        shape, noise = self.network.shape, self.noise
        n_members, n_codes = len(self.members), 1 if noise is None else noise.shape[2]
        size = max(MAX_COLUMNS // (n_members * n_codes * rows[0].shape[-1]), 1)
        if n_members == 1:  # torch multiplies a single matrix in another way
            size = 1
        losses = []
        for start in range(0, len(states), size):
            chosen = slice(start, start + size)
            weights, statistics = (
                as_tensor(np.concatenate(parts), self.device)
                for parts in zip(*states[chosen], strict=True)
            )
            x = rows[0] if rows[0].ndim == 2 else torch.cat(rows[chosen])
            codes = None if noise is None else noise.repeat(len(states[chosen]), 1, 1)
            folded = shape.fold(weights, statistics, codes)
            losses.append(shape.losses(folded, x, self._workspace, gaps="mean"))
            self.check_finite(losses[-1], weights)
        return torch.cat(losses).unflatten(0, (-1, n_members))

    def gradient_products(self, x):
        """Inner products, (M, C, C), of the gradients of rows `x`, (p, C)."""
        network = self.network
        state = network.weights, network.statistics
        return gradient_products(network.shape, *state, x, self.noise)

    def draw_rows(self, size):
        """Draw rows to watch, of shape (p, size), or all of them if there are fewer."""
        generator = self._stream.generator
        order = torch.randperm(self.n_rows, generator=generator, device=self.device)
        return self._stream.read(order[:size]).T.contiguous()

    def draw_points(self, size):
        """Draw points, of shape (p, size), uniformly from the box around all rows."""
        X, generator = self._stream.X, self._stream.generator
        # Columns without any value have none in the points either.
        if torch.is_tensor(X):
            low = X.nan_to_num(nan=math.inf).amin(0)
            high = X.nan_to_num(nan=-math.inf).amax(0)
        else:
            low, high = (as_tensor(end, self.device) for end in X.box())
        share = torch.rand(
            len(low), size, generator=generator, dtype=low.dtype, device=self.device
        )
        return torch.lerp(low.unsqueeze(1), high.unsqueeze(1), share)

    def draw_keys(self, size):
        """Draw random numbers in [0, 1)."""
        generator = self._stream.generator
        keys = torch.rand(
            size, generator=generator, dtype=torch.float64, device=generator.device
        )
        return keys.cpu().numpy()

    # Dropping members, resuming ------------------------------------------------

    def select(self, chosen):
        """Continue with a subset of the present members.

        Parameters
        ----------
        chosen : ndarray of bool, one per present member
        """
        self.members = self.members[chosen]
        places = as_tensor(np.flatnonzero(chosen), self.device)
        self.network = self.network.select(places)
        self.optimiser = self.optimiser.select(self.network.weights, places)
        self.noise = None if self.noise is None else self.noise[places]
        self._stream.select(places)
        self._grad = torch.empty_like(self.network.weights)

    def export(self):
        """Return all that is needed to resume the run, as arrays and numbers."""
        parts = {
            **self.carried,
            "weights": self.network.weights,
            "statistics": self.network.statistics,
            "generator": self._stream.generator.get_state(),
            **self.optimiser.export(),
            **self._stream.export(),
        }
        arrays = {
            name: part.cpu().numpy().copy() if torch.is_tensor(part) else part
            for name, part in parts.items()
        }
        return arrays | {"n_updates": self.n_updates, "n_epochs": self.n_epochs}

    def restore(self, past):
        """Resume from what `export` of another run returned."""
        parts = {
            name: torch.tensor(part, device=self.device)
            if isinstance(part, np.ndarray) and not name.startswith(("gen", "best_"))
            else part
            for name, part in past.items()
        }
        self.network.weights.copy_(parts["weights"])
        self.network.statistics.copy_(parts["statistics"])
        self.n_updates, self.n_epochs = past["n_updates"], past["n_epochs"]
        self.carried = {
            name: part
            for name, part in parts.items()
            if name.startswith(("watched_", "best_"))
        }
        if "generator" in past:  # else only the networks are known
            self._stream.generator.set_state(torch.from_numpy(past["generator"].copy()))
            self.optimiser.restore(parts)
            self._stream.restore(parts)


class RowStream:
    """Endless shuffled passes over the rows, each member in its own order.

    A batch never holds a row twice: where too few rows are left for a whole
    batch, the rows are shuffled anew.

    Parameters
    ----------
    X : Tensor of shape (n, p) or ScaledTable
    n_members : int
    generator : torch.Generator
    """

    def __init__(self, X, n_members, generator):
        self.X = X
        self.n_members = n_members
        self.generator = generator
        self._position = len(X)

    def take(self, size):
        """Return the next batch, of shape (M, p, size); `size` is at most n."""
        n_rows = len(self.X)
        if self._position + size > n_rows:
            self._orders = torch.empty(
                self.n_members, n_rows, dtype=torch.int64, device=self.generator.device
            )
            for order in self._orders:
                torch.randperm(n_rows, generator=self.generator, out=order)
            self._position = 0
        batch = self.read(self._orders[:, self._position : self._position + size])
        self._position += size
        return batch.transpose(1, 2).contiguous()

    def read(self, places):
        """Return rows, of shape (*places.shape, p)."""
        if torch.is_tensor(self.X):
            return torch.nn.functional.embedding(places, self.X)
        return as_tensor(self.X.values(places.cpu().numpy()), places.device)

    def export(self):
        """Return the position in the stream."""
        if self._position >= len(self.X):
            return {}
        return {"orders": self._orders, "position": self._position}

    def restore(self, parts):
        """Continue from the position of another stream of as many rows."""
        if "orders" in parts and parts["orders"].shape[1] == len(self.X):
            self._orders, self._position = parts["orders"], parts["position"]

    def select(self, members):
        """Continue with only the given members."""
        self.n_members = len(members)
        if self._position < len(self.X):
            self._orders = self._orders[members]


def low_loss_weights(losses, quantile):
    """Return row weights that average the rows at or below a quantile of the losses."""
    rank = int(quantile * (losses.shape[1] - 1)) + 1
    threshold = losses.kthvalue(rank, dim=1, keepdim=True).values
    row_weights = (losses <= threshold).to(losses.dtype)
    return row_weights.div_(row_weights.sum(1, keepdim=True))


def half_sum(losses):
    """Return row weights of one half: the objective of the theorem."""
    return torch.full_like(losses, 0.5)


class Adam:
    """Adam with L2 weight decay on one ``(M, P)`` block of weights."""

    def __init__(self, weights, *, learning_rate, weight_decay=0.0):
        self.weights = weights
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self._mean = torch.zeros_like(weights)
        self._square = torch.zeros_like(weights)
        self._scratch = torch.empty_like(weights)
        self._n_steps = 0

    def step(self, grad, beta_1=0.9, beta_2=0.999, eps=1e-8):
        """Move the weights against `grad`, which is overwritten."""
        self._n_steps += 1
        grad.add_(self.weights, alpha=self.weight_decay)
        self._mean.lerp_(grad, 1 - beta_1)
        self._square.mul_(beta_2).addcmul_(grad, grad, value=1 - beta_2)
        correction = math.sqrt(1 - beta_2**self._n_steps)
        denominator = torch.sqrt(self._square, out=self._scratch)
        denominator.add_(eps * correction)
        size = self.learning_rate * correction / (1 - beta_1**self._n_steps)
        self.weights.addcdiv_(self._mean, denominator, value=-size)

    def export(self):
        """Return the state of the optimiser."""
        return {
            "gradient_mean": self._mean,
            "gradient_square": self._square,
            "n_steps": self._n_steps,
        }

    def restore(self, parts):
        """Continue from the exported state of another optimiser."""
        self._mean.copy_(parts["gradient_mean"])
        self._square.copy_(parts["gradient_square"])
        self._n_steps = parts["n_steps"]

    def select(self, weights, members):
        """Return the optimiser of only the given members, on their `weights`."""
        chosen = Adam(
            weights,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
        )
        chosen._mean = self._mean[members]
        chosen._square = self._square[members]
        chosen._n_steps = self._n_steps
        return chosen


class GradientDescent:
    """Plain gradient descent on one ``(M, P)`` block of weights."""

    def __init__(self, weights, *, learning_rate):
        self.weights = weights
        self.learning_rate = learning_rate

    def step(self, grad):
        """Move the weights against `grad`."""
        self.weights.add_(grad, alpha=-self.learning_rate)

    def export(self):
        """Return the state of the optimiser, which has none."""
        return {}

    def restore(self, parts):
        """Continue from the exported state of another optimiser."""
