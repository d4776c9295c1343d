"""The training loop that all detectors share."""

import numpy as np
import torch

from skim._nets._gradients import gradient_products
from skim._nets._rows import RowStream
from skim._nets._workspace import Workspace


class NonFiniteLossError(ArithmeticError):
    """Training went off to infinity or NaN."""


class Run:
    """One training run of a stacked network.

    Parameters
    ----------
    network : StackedVAE or StackedAutoencoder
    optimiser : Adam or GradientDescent
        Works on the network's weights.
    X : Tensor of shape (n, p)
    generator : torch.Generator
        Source of the order of the rows.

    Attributes
    ----------
    members : ndarray of int
        Which of the members at the start are still in the run.
    stages : StageLog or None
        Where to note what the run would have ended with, if anywhere.
    n_epochs : int
        Number of epochs so far; whoever trains counts them.
    carried : dict of str to Tensor, ndarray or int
        What else whoever trains needs if the run is to be taken up again.
    """

    def __init__(self, network, optimiser, X, generator):
        self.network = network
        self.optimiser = optimiser
        self.n_rows = len(X)
        self.device = X.device
        self.n_updates = 0
        self.n_epochs = 0
        self.carried = {}
        self.members = np.arange(len(network.weights))
        self.snapshots = []
        self.stages = None
        self._stream = RowStream(X, len(network.weights), generator)
        self._grad = torch.empty_like(network.weights)
        self._workspace = Workspace(X.dtype, X.device)

    def update(self, batch_size, weigh=None):
        """Take one optimiser step on the next batch.

        Parameters
        ----------
        batch_size : int or None
            None means all rows.
        weigh : callable, default=None
            From the losses to the weights of the rows, both of shape (M, B).
            None means the mean.

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
        self.optimiser.step(self._grad)
        self.n_updates += 1
        return losses

    def draw_rows(self, size):
        """Draw rows to watch, of shape (p, size), or all there are if fewer."""
        X, generator = self._stream.X, self._stream.generator
        order = torch.randperm(len(X), generator=generator, device=X.device)
        return X[order[:size]].T.contiguous()

    def draw_keys(self, size):
        """Draw random numbers in [0, 1)."""
        generator = self._stream.generator
        keys = torch.rand(
            size, generator=generator, dtype=torch.float64, device=generator.device
        )
        return keys.cpu().numpy()

    def draw_points(self, size):
        """Draw points, of shape (p, size), evenly from the box around all rows."""
        X, generator = self._stream.X, self._stream.generator
        low, high = (bound.unsqueeze(1) for bound in X.aminmax(dim=0))
        share = torch.rand(
            X.shape[1], size, generator=generator, dtype=X.dtype, device=X.device
        )
        return torch.lerp(low, high, share)

    def check_finite(self, losses, weights=None):
        """Raise `NonFiniteLossError` unless losses and weights are finite."""
        weights = self.network.weights if weights is None else weights
        if not (losses.isfinite().all() and weights.isfinite().all()):
            raise NonFiniteLossError

    def present_state(self):
        """Return the weights and the running statistics, which training changes."""
        return self.network.weights, self.network.statistics

    def state(self):
        """Copies of the weights and of the running statistics."""
        return tuple(part.clone() for part in self.present_state())

    def export(self):
        """Return all that is needed to take the run up again, as arrays and numbers."""
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
        """Take up what `export` of another run returned."""
        parts = {
            name: torch.tensor(part, device=self.device)
            if isinstance(part, np.ndarray) and name != "generator"
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

    def note_states(self, places=None, state=None):
        """Take over the members' present states, or those at `places`, as theirs.

        Instead of the present ones, the weights and statistics may be given.
        """
        if self.stages is None:
            return
        if places is None:
            places = np.arange(len(self.members))
        weights, statistics = state or self.present_state()
        self.stages.put(self.members[places], weights[places], statistics[places])

    def end_stage(self):
        """Note that training could end here."""
        if self.stages is not None:
            self.stages.end_stage()

    def fixed_losses(self, x, noise=None, state=None):
        """Losses of `x`, shape (p, C) or (M, p, C), in evaluation mode.

        Of the present networks, unless the state of others of their shape is given.
        """
        shape = self.network.shape
        folded = shape.fold(*(state or self.present_state()), noise)
        return shape.losses(folded, x, self._workspace)

    def gradient_products(self, x, noise=None):
        """Inner products, (M, C, C), of the gradients of rows `x`, (p, C)."""
        network = self.network
        state = network.weights, network.statistics
        return gradient_products(network.shape, *state, x, noise)

    def select(self, chosen):
        """Go on with only some of the present members.

        Parameters
        ----------
        chosen : ndarray of bool, one per present member
        """
        self.members = self.members[chosen]
        places = torch.from_numpy(np.flatnonzero(chosen)).to(self._grad.device)
        self.network = self.network.select(places)
        self.optimiser = self.optimiser.select(self.network.weights, places)
        self._stream.select(places)
        self._grad = torch.empty_like(self.network.weights)


def keep_low_losses(quantile):
    """Return a `weigh` that averages the rows at or below a loss quantile."""

    def weigh(losses):
        rank = int(quantile * (losses.shape[1] - 1)) + 1
        threshold = losses.kthvalue(rank, dim=1, keepdim=True).values
        row_weights = (losses <= threshold).to(losses.dtype)
        return row_weights.div_(row_weights.sum(1, keepdim=True))

    return weigh


def half_sum(losses):
    """Weigh every row by one half: the objective of the theorem."""
    return torch.full_like(losses, 0.5)
