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
    """One training run of a stacked network."""

    def __init__(
        self, shape, weights, optimiser, X, generator, noise=None, left_out=None
    ):
        self.network = shape.stack(weights, generator)
        is_tensor = torch.is_tensor(X)
        self.network.has_gaps = bool(X.isnan().any()) if is_tensor else X.has_gaps()
        self.optimiser = optimiser
        self.noise = noise
        self.device = weights.device
        self.n_updates = 0
        self.members = np.arange(len(weights))
        self._stream = RowStream(X, len(weights), generator, left_out)
        self.n_rows = self._stream.n_rows
        self._grad = torch.empty_like(weights)
        self._workspace = Workspace(weights.device)

    def update(self, batch_size, weigh=None, grad=None):
        """Take one optimiser step on the next batch."""
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

    def all_rows(self):
        """Return all rows that batches are drawn from, of shape (n, p)."""
        X = self._stream.X
        return X if torch.is_tensor(X) else as_tensor(X.values(), self.device)

    def check_finite(self, losses, weights=None):
        """Raise `NonFiniteLossError` unless losses and weights are finite."""
        weights = self.network.weights if weights is None else weights
        if not (losses.isfinite().all() and weights.isfinite().all()):
            raise NonFiniteLossError

    # Monitoring ----------------------------------------------------------------

    def losses(self, x):
        """Losses of `x`, of shape (p, C) or (M, p, C), in evaluation mode."""
        network = self.network
        folded = network.shape.fold(network.weights, network.statistics, self.noise)
        return network.shape.losses(folded, x, self._workspace, gaps="mean")

    def losses_at(self, states, rows):
        """Return the losses, (S, M, n), of rows at several states of the run."""
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
        """Draw rows to monitor, of shape (p, size); all of them if there are fewer."""
        generator = self._stream.generator
        order = torch.randperm(self.n_rows, generator=generator, device=self.device)
        return self._stream.read(order[:size]).T.contiguous()

    # Dropping members ----------------------------------------------------------

    def select(self, chosen):
        """Continue with a subset of the present members."""
        self.members = self.members[chosen]
        places = as_tensor(np.flatnonzero(chosen), self.device)
        before = self.network
        generator = self._stream.generator
        self.network = before.shape.stack(before.weights[places], generator)
        self.network.statistics = before.statistics[places]
        self.network.has_gaps = before.has_gaps
        self.optimiser.select(self.network.weights, places)
        self.noise = None if self.noise is None else self.noise[places]
        self._stream.select(places)
        self._grad = torch.empty_like(self.network.weights)


class RowStream:
    """Endless shuffled passes over the rows, each member in its own order.

    A batch never holds a row twice: where too few rows are left for a whole
    batch, the rows are shuffled anew.
    """

    def __init__(self, X, n_members, generator, left_out=None):
        self.X = X
        self.n_members = n_members
        self.generator = generator
        self.n_rows = len(X)
        self._own = None
        if left_out is not None:
            self._own = [
                as_tensor(np.flatnonzero(~rows), generator.device) for rows in left_out
            ]
            self.n_rows = min(map(len, self._own))
        self._position = self.n_rows

    def take(self, size):
        """Return the next batch, of shape (M, p, size); `size` is at most `n_rows`."""
        if self._position + size > self.n_rows:
            self._orders = torch.stack([self._order(m) for m in range(self.n_members)])
            self._position = 0
        batch = self.read(self._orders[:, self._position : self._position + size])
        self._position += size
        return batch.transpose(1, 2).contiguous()

    def _order(self, member):
        """Return the rows of one pass of a member."""
        n_rows = self.n_rows if self._own is None else len(self._own[member])
        device = self.generator.device
        order = torch.randperm(n_rows, generator=self.generator, device=device)
        return order if self._own is None else self._own[member][order[: self.n_rows]]

    def read(self, places):
        """Return rows, of shape (*places.shape, p)."""
        if torch.is_tensor(self.X):
            return torch.nn.functional.embedding(places, self.X)
        return as_tensor(self.X.values(places.cpu().numpy()), places.device)

    def select(self, members):
        """Continue with only the given members."""
        self.n_members = len(members)
        if self._own is not None:
            self._own = [self._own[m] for m in members]
        if self._position < self.n_rows:
            self._orders = self._orders[members]


def low_loss_weights(losses, quantile, towards=None, share=0.0):
    """Return row weights that average the rows at or below a quantile of the losses.

    With `towards`, losses of shape (M, 1), the limit moves there by a share of the way,
    but not below the smallest loss.
    """
    rank = int(quantile * (losses.shape[1] - 1)) + 1
    threshold = losses.kthvalue(rank, dim=1, keepdim=True).values
    if towards is not None:
        threshold = threshold.lerp(towards, share)
        threshold = threshold.maximum(losses.amin(1, keepdim=True))
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

    def select(self, weights, members):
        """Continue with only the given members, on their `weights`."""
        self.weights = weights
        self._mean, self._square = self._mean[members], self._square[members]
        self._scratch = torch.empty_like(weights)


class GradientDescent:
    """Plain gradient descent on one ``(M, P)`` block of weights."""

    def __init__(self, weights, *, learning_rate):
        self.weights = weights
        self.learning_rate = learning_rate

    def step(self, grad):
        """Move the weights against `grad`."""
        self.weights.add_(grad, alpha=-self.learning_rate)
