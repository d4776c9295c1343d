"""Schedules: how networks are updated, and which of their snapshots count.

A schedule says which optimiser takes the steps, how large the batches are, which rows
of them count, when the training run is checked, and which snapshots rows are scored
with. It knows neither the networks nor the stopping criteria.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real

import numpy as np

from skim import _nets as nets
from skim._training._stopping import (
    BestOfEach,
    CommonEpochs,
    best_epoch,
    checked_epochs,
)
from skim._utils import Parameters, evenly_spaced, parameter

TINY = float(np.finfo(float).tiny)
WEIGHT_DECAY = 5e-7  # the L2 penalty of Adam

# What `min_epochs="auto"` waits for: this many epochs or passes over the rows.
MIN_EPOCHS = 25
MIN_PASSES = 50

GROWTH = 1.03  # factor by which batches grow
MAX_GROWTHS = 1000  # by which any batch has all rows
MAX_UPDATES_BETWEEN_CHECKS = 10  # of ODIM
CLEAN_UPDATES = 3  # times as many updates on data without outliers


@dataclass(kw_only=True, repr=False)
class Schedule(Parameters):
    """Base class of schedules: each member is kept at its best check.

    Warning: this class should not be used directly. Use derived classes instead.
    """

    n_monitored = 256  # rows whose losses are judged
    normalize_losses = False  # by their range on the training data
    entries_are_epochs = True  # whether the history has one entry per epoch

    def validate(self, epochs, stopping):
        """Raise if a parameter is out of its limits."""
        self.check()

    @abstractmethod
    def optimiser(self, weights):
        """Return what updates the weights."""

    def start(self, run, epochs):
        """Return the function that takes the steps of a run."""
        return self.update

    @abstractmethod
    def update(self, run, epoch):
        """Take one step of an epoch, counted from 1; return the losses of the batch."""

    @abstractmethod
    def updates_in_epoch(self, n_rows):
        """Return the number of updates per epoch."""

    def check_every(self, n_rows):
        """Return the number of updates from one check of the run to the next."""
        return self.updates_in_epoch(n_rows)

    def for_clean_data(self):
        """Return the schedule for data without outliers."""
        raise ValueError(
            f"contamination=0 needs an ALTBISchedule, not {type(self).__name__}; use "
            "ALTBIDetector, or a share of outliers."
        )

    def selection(self, run, criterion, epochs, history, recorder):
        """Return what chooses the snapshots of a run."""
        return BestOfEach(run, self, criterion, history, recorder)

    def n_monitored_rows(self, criterion):
        """Return the number of rows to judge, None for those of the latest batch."""
        return self.n_monitored

    def drop_members(self, run, best):
        """Stop members that have not improved for long; return whether all have."""
        return False

    def counted_entries(self, criterion, is_stopped):
        """Return the entries whose snapshots count if training ends with the last."""
        return [len(criterion) - 1]


@dataclass(kw_only=True, repr=False)
class ALTBISchedule(Schedule):
    """Truncated losses, growing batches and several snapshots.

    After a few epochs, only the rows with the smaller losses of each batch train the
    networks, and the batches grow. With a stopping criterion, all members are stopped
    together, and rows are scored with snapshots up to the best epoch.

    Parameters
    ----------
    learning_rate : float, default=3e-3
        Step size of Adam.

    updates_per_epoch : int, default=5
        Number of updates per epoch, whatever the number of rows.

    batch_size : int, default=128
        Rows per batch until truncation begins.

    max_batch_size : int, default=256
        Largest batch; batches grow by 3 % per epoch up to it.

    truncate_after : int, default=3
        Number of epochs after which truncation and the growth of the batches begin.

    keep_quantile : float, default=0.92
        Share of each batch, the rows with the smaller losses, that trains the
        networks once truncation has begun.

    min_epochs : int or "auto", default="auto"
        The first epoch that the stopping criterion may choose. Losses say little
        before. "auto" is 25, or the epoch by which rows have been seen 50 times on
        average, if that comes first, as in small tables; but always later than
        `truncate_after`.

    patience : float or None, default=2.5
        Training stops after `patience` times as many epochs as the best epoch so far.
        With 2.5 and a best epoch of 30, that is after epoch 75, unless a better epoch
        is found by then. None trains for all epochs.

    burn_in : float, default=0.2
        Share of the epochs, up to the best one, before the first snapshot.

    n_snapshots : int, default=4
        Number of evenly spaced snapshots that rows are scored with; at most this
        many with early stopping. The last one is the best epoch.

    normalize_losses : bool, default=False
        Whether to scale the losses of each snapshot to [0, 1], by their range on
        the training data, before they are averaged.

    Examples
    --------
    >>> from skim import ALTBIDetector
    >>> from skim.schedules import ALTBISchedule
    >>> ALTBIDetector(schedule=ALTBISchedule(keep_quantile=0.8))
    ALTBIDetector(schedule=ALTBISchedule(keep_quantile=0.8))
    """

    learning_rate: float = parameter(3e-3, Real, TINY)
    updates_per_epoch: int = parameter(5, Integral, 1)
    batch_size: int = parameter(128, Integral, 2)
    max_batch_size: int = parameter(256, Integral, 2)
    truncate_after: int = parameter(3, Integral, 0)
    keep_quantile: float = parameter(0.92, Real, TINY, 1)
    min_epochs: int | str = parameter("auto", Integral, 1, choices=("auto",))
    patience: float | None = parameter(2.5, Real, math.nextafter(1, 2), choices=(None,))
    burn_in: float = parameter(0.2, Real, 0, math.nextafter(1, 0))
    n_snapshots: int = parameter(4, Integral, 1)
    normalize_losses: bool = False

    n_monitored = 1024  # rows whose losses tell when to stop

    def for_clean_data(self):
        """Return the schedule for data without outliers: all rows count, for longer."""
        return replace(
            self,
            keep_quantile=1.0,
            updates_per_epoch=CLEAN_UPDATES * self.updates_per_epoch,
        )

    def optimiser(self, weights):
        rate = self.learning_rate
        return nets.Adam(weights, learning_rate=rate, weight_decay=WEIGHT_DECAY)

    def selection(self, run, criterion, epochs, history, recorder):
        return CommonEpochs(run, self, criterion, epochs, history, recorder)

    def updates_in_epoch(self, n_rows):
        return self.updates_per_epoch

    def update(self, run, epoch):
        weigh = None
        if epoch > self.truncate_after and self.keep_quantile < 1:
            weigh = partial(nets.low_loss_weights, quantile=self.keep_quantile)
        return run.update(self.batch_size_of(epoch), weigh)

    def batch_size_of(self, epoch):
        """Return the batch size of an epoch, counted from 1."""
        limit = max(self.max_batch_size, self.batch_size)
        n_growths = min(max(epoch - 1 - self.truncate_after, 0), MAX_GROWTHS)
        return int(min(self.batch_size * GROWTH**n_growths, limit))

    def earliest_end(self, n_rows):
        """Return the first epoch that the stopping criterion may choose."""
        if self.min_epochs != "auto":
            return self.min_epochs
        n_seen = 0
        for epoch in range(1, MIN_EPOCHS + 1):
            n_seen += self.updates_per_epoch * min(self.batch_size_of(epoch), n_rows)
            if n_seen >= MIN_PASSES * n_rows:
                break
        return max(epoch, self.truncate_after + 1)

    def is_over(self, criterion):
        """Whether training has waited long enough for a better epoch than the best."""
        if self.patience is None or np.isnan(criterion).all():
            return False
        return len(criterion) >= self.patience * best_epoch(criterion)

    def late_epochs(self, epochs):
        """Return the epochs whose snapshots count if there is no criterion."""
        first = min(round(self.burn_in * epochs) + 1, epochs)
        n_snapshots = min(self.n_snapshots, epochs - first + 1)
        if n_snapshots == 1:
            return [epochs]
        return np.linspace(first, epochs, n_snapshots).round().astype(int).tolist()

    def epochs_until(self, best):
        """Return the epochs whose snapshots count if `best` is the best one."""
        epochs = sorted({*checked_epochs(best), best})
        epochs = [epoch for epoch in epochs if epoch > self.burn_in * best]
        if self.n_snapshots == 1:
            return [best]
        return [epochs[i] for i in evenly_spaced(len(epochs), self.n_snapshots)]

    def counted_entries(self, criterion, is_stopped):
        """Return the entries up to the best one, or the last ones."""
        if is_stopped:
            epochs = self.epochs_until(best_epoch(criterion))
        else:
            epochs = self.late_epochs(len(criterion))
        return [epoch - 1 for epoch in epochs]


@dataclass(kw_only=True, repr=False)
class ODIMSchedule(Schedule):
    """Small batches and frequent checks; each member stops at its best.

    Parameters
    ----------
    learning_rate : float, default=1e-3
        Step size of Adam.

    batch_size : int, default=64
        Rows per batch.

    patience_updates : int, default=300
        A member stops after this many updates without a new best check.
    """

    learning_rate: float = parameter(1e-3, Real, TINY)
    batch_size: int = parameter(64, Integral, 2)
    patience_updates: int = parameter(300, Integral, 1)

    entries_are_epochs = False

    optimiser = ALTBISchedule.optimiser

    def n_monitored_rows(self, criterion):
        return None if criterion in ("separation", None) else self.n_monitored

    def updates_in_epoch(self, n_rows):
        """Return the number of updates per epoch: one pass over the rows."""
        return max(n_rows // self.batch_size, 1)

    def check_every(self, n_rows):
        return min(MAX_UPDATES_BETWEEN_CHECKS, self.updates_in_epoch(n_rows))

    def update(self, run, epoch):
        return run.update(self.batch_size)

    def drop_members(self, run, best):
        check_every = self.check_every(run.n_rows)
        patience = check_every * math.ceil(self.patience_updates / check_every)
        if (run.n_updates - best.updates[run.members]).max() >= patience:
            best.judge(run)
        hopeful = run.n_updates - best.updates[run.members] < patience
        if hopeful.any() and not hopeful.all():
            run.select(hopeful)
        return not hopeful.any()


@dataclass(kw_only=True, repr=False)
class BestEpochSchedule(Schedule):
    """Batches of one size; each member is kept at its best epoch.

    Parameters
    ----------
    learning_rate : float, default=1e-3
        Step size of the optimiser.

    updates_per_epoch : int or None, default=5
        Number of updates per epoch. None means one pass over the data.

    batch_size : int or None, default=500
        Rows per batch. None means all rows.

    solver : {"adam", "gd"}, default="adam"
        The optimiser: Adam on the mean loss of a batch, or plain gradient descent
        on half the sum of the losses, as in the theorem.
    """

    learning_rate: float = parameter(1e-3, Real, TINY)
    updates_per_epoch: int | None = parameter(5, Integral, 1, choices=(None,))
    batch_size: int | None = parameter(500, Integral, 1, choices=(None,))
    solver: str = parameter("adam", choices=("adam", "gd"))

    def optimiser(self, weights):
        optimiser = nets.Adam if self.solver == "adam" else nets.GradientDescent
        return optimiser(weights, learning_rate=self.learning_rate)

    def updates_in_epoch(self, n_rows):
        size = min(self.batch_size or n_rows, n_rows)
        return self.updates_per_epoch or n_rows // size

    def update(self, run, epoch):
        weigh = nets.half_sum if self.solver == "gd" else None
        return run.update(self.batch_size, weigh)
