"""A fitted model: what a detector has learned, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from skim import _nets as nets
from skim._model._scaling import gap_factor
from skim._training._snapshots import Snapshots
from skim._utils import Stored

FLOAT32_MAX = float(np.finfo(np.float32).max)


class Typical(NamedTuple):
    """What adds up to the loss of an ordinary row."""

    by_input: np.ndarray  # by input of the networks
    by_column: np.ndarray  # by column of the data
    rest: float  # what no column accounts for


@dataclass(frozen=True)
class FittedModel(Stored):
    """The networks of a detector, and how rows become their losses."""

    scaler: Any  # makes the networks' inputs of rows
    network: Any  # the settings of the network
    schedule: Any  # by which the networks were trained
    stopping: str | None  # the criterion for early stopping
    device: str
    training_rows: np.ndarray | None  # of a large table; None for all
    sample: np.ndarray  # rows of the training data that show what is typical
    n_members: int
    folds: Any = None  # (n,): the member that has not seen a row of clean data
    noise: np.ndarray | None = None  # (M, L, K), of the codes that rows are scored with
    snapshots: Any = None
    history: dict[str, np.ndarray] = field(default_factory=dict)
    log: Any = None  # the states after every entry of the history, if stored

    # Losses --------------------------------------------------------------------

    def losses(self, rows, *, n_threads=1):
        """Return the losses of rows, averaged over members and snapshots."""
        found = []
        for _, part in rows:
            by_snapshot = self.by_snapshot(part.values, n_threads)
            # Python's sum adds in the same order whatever the other rows.
            total = sum(sum(losses) for losses, _ in by_snapshot)
            n_states = len(self.snapshots.weights) * self.n_members
            found.append(self.completed(total / n_states, part))
        return np.concatenate(found)

    def scores(self, rows, *, n_threads=1):
        """Return the negated losses of rows, however far they are."""
        return finite(-self.losses(rows, n_threads=n_threads), nan=-FLOAT32_MAX)

    def held_out_losses(self, rows):
        """Return the losses of training rows as if no member had seen them.

        One member has not. The losses under the others are increased by what that makes
        of the losses of a member, at the same rank.
        """
        parts = []
        for block, part in rows:
            own = sum(losses for losses, _ in self.by_snapshot(part.values))
            own /= len(self.snapshots.weights)
            left_out, every = self.folds[block].astype(int), np.arange(own.shape[1])
            one, other = own[left_out, every], own[(left_out + 1) % len(own), every]
            rest = (own.sum(axis=0) - one) / (len(own) - 1)
            parts.append([self.completed(kind, part) for kind in (one, other, rest)])
        unseen, seen, losses = np.concatenate(parts, axis=1)
        order = np.argsort(losses, kind="stable")
        losses[order] += np.sort(unseen) - np.sort(seen)
        return losses

    def by_snapshot(self, values, n_threads=1, member_weights=None):
        """Yield the losses of scaled rows, (M, n), missing cells adding nothing.

        With weights of the members, (S, M), what inputs add to the losses comes along.
        """
        snapshots = self.snapshots
        found = nets.snapshot_losses(
            self.shape,
            snapshots.weights,
            snapshots.statistics,
            self.noise,
            values,
            device=self.device,
            member_weights=member_weights,
            n_threads=n_threads,
        )
        for s, (losses, terms) in enumerate(found):
            if snapshots.ranges is not None:
                low, width = snapshots.ranges[s]
                losses = (losses - low[:, None]) / width[:, None]
            yield losses, terms

    def completed(self, losses, rows):
        """Add to the losses of known cells what missing and far cells account for.

        A missing cell adds what its column adds in an ordinary row. The sum of fewer
        terms varies less, so its difference from the loss of an ordinary row is scaled
        up to vary as much as that of a complete row.
        """
        missing = rows.missing
        if missing is not None:
            by_column = self.typical.by_column
            ordinary = by_column.sum() + self.typical.rest
            filled = losses + np.where(missing, by_column, 0.0).sum(axis=1)
            factor = gap_factor(missing, self._n_known_columns)
            scaled = ordinary + (filled - ordinary) * factor
            losses = np.where(missing.any(axis=1), scaled, losses)
        if rows.far is not None:
            row, _, far = rows.far
            far = np.bincount(row, far, minlength=len(losses))
            losses = losses + self._loss_unit * far
        return losses

    @property
    def _n_known_columns(self):
        return (self.scaler.n_known_ > 0).sum()

    @property
    def _loss_unit(self):
        """What a loss of 1 is worth after normalization."""
        ranges = self.snapshots.ranges
        return 1.0 if ranges is None else np.mean(1 / ranges[:, 1])

    @cached_property
    def shape(self):
        """The shape of the network, which scores rows."""
        return self.network.shape(self.scaler)

    def __getstate__(self):
        """Leave out what is cached: a shape may hold a module."""
        return {own.name: getattr(self, own.name) for own in fields(self)}

    # Contributions -------------------------------------------------------------

    @cached_property
    def typical(self):
        """What adds up to the loss of an ordinary row of the training data."""
        with nets.compute():
            values = self.scaler.scale(self.sample).values
            losses, terms = self._losses_and_terms(values)
        n_known = np.maximum((~np.isnan(values)).sum(axis=0), 1)
        by_input = terms.sum(axis=0) / n_known  # 0 where missing
        by_column = self.scaler.by_column(by_input)
        rest = float(np.median(losses - terms.sum(axis=1)))
        return Typical(by_input, by_column, rest)

    def contributions(self, table, *, n_threads=1):
        """Split the losses of rows over their cells, missing and far ones included.

        A missing cell contributes what its column does in an ordinary row.
        """
        typical, found = self.typical, np.empty(table.X.shape)
        for block, rows in table:
            _, terms = self._losses_and_terms(rows.values, n_threads)
            terms = self.scaler.over_columns(terms, typical.by_input, table.X[block])
            if rows.missing is not None:
                factor = gap_factor(rows.missing, self._n_known_columns)
                has_gaps = rows.missing.any(axis=1)
                excess = np.where(rows.missing, 0.0, terms - typical.by_column)
                filled = typical.by_column + excess * factor[:, None]
                terms = np.where(has_gaps[:, None], filled, terms)
            if rows.far is not None:
                row, column, losses = rows.far
                np.add.at(terms, (row, column), self._loss_unit * losses)
            found[block] = finite(terms, nan=FLOAT32_MAX)
        return found

    def _losses_and_terms(self, values, n_threads=1):
        """Return the losses of scaled rows, and what each input adds to them."""
        shape = len(self.snapshots.weights), self.n_members
        weights = np.ones(shape, dtype=np.float32)
        if self.snapshots.ranges is not None:
            weights /= self.snapshots.ranges[:, 1].astype(np.float32)
        totals, terms = 0.0, np.zeros((len(values), self.shape.n_features))
        for losses, own_terms in self.by_snapshot(values, n_threads, weights):
            totals += sum(losses)
            terms += own_terms
        return totals / weights.size, finite(terms / weights.size, nan=FLOAT32_MAX)

    # Earlier in training -------------------------------------------------------

    def at(self, epoch):
        """Return the model as a training run of `epoch` epochs would have left it."""
        return self._at_entry(self.entry_of(epoch))

    def entry_of(self, epoch):
        """Return the entry of the history with which a run of `epoch` epochs ends."""
        return int(np.searchsorted(self.history["epoch"], epoch, side="right")) - 1

    def with_state(self, state, members=slice(None)):
        """Return the model with one state of some members as its only snapshot."""
        weights, statistics = (part[None] for part in state)
        noise = None if self.noise is None else self.noise[members]
        n_members = weights.shape[1]
        entries = np.zeros(weights.shape[:2], dtype=np.intp)
        snapshots = Snapshots(weights, statistics, entries)
        now = replace(self, snapshots=snapshots, noise=noise, n_members=n_members)
        return replace(now, log=None)

    def normalized(self, rows):
        """Return the model with its losses on the scale of the training data."""
        if not self.schedule.normalize_losses:
            return self
        log = self.log
        if log is not None:
            every = replace(self, snapshots=log.take(np.arange(len(log.index))))
            log = replace(log, ranges=every.loss_ranges(rows))
        snapshots = replace(self.snapshots, ranges=self.loss_ranges(rows))
        return replace(self, snapshots=snapshots, log=log)

    def loss_ranges(self, rows):
        """Return the minimum and the width of each member's losses, by snapshot."""
        low, high = np.inf, -np.inf
        for _, part in rows:
            losses = [losses for losses, _ in self.by_snapshot(part.values)]
            low = np.minimum(low, np.min(losses, axis=2))
            high = np.maximum(high, np.max(losses, axis=2))
        width = np.where(high > low, high - low, 1.0)
        return np.stack([low, width], axis=1)

    def _at_entry(self, entry):
        """Return the model as if training had ended with an entry of the history."""
        history = {name: column[: entry + 1] for name, column in self.history.items()}
        log = replace(self.log, index=self.log.index[: entry + 1])
        snapshots = self.log.take(self._counted(entry))
        return replace(self, snapshots=snapshots, history=history, log=log)

    def _counted(self, entry):
        """Return the entries whose states count if training ends with one of them."""
        entries = self.snapshots.entries
        if entry == len(self.log.index) - 1 and (entries == entries[:, :1]).all():
            return entries[:, 0].tolist()
        criterion = self.history["criterion"][: entry + 1]
        return self.schedule.counted_entries(criterion, self.stopping is not None)

    def staged_losses(self, rows, entries=None):
        """Yield the losses of rows as if training had ended with each entry."""
        index = self.log.index
        totals: dict[int, np.ndarray] = {}  # every state is scored once
        for entry in range(len(index)) if entries is None else entries:
            counted = self._counted(entry)
            for k in counted:
                if k in totals:
                    continue
                if k - 1 in totals and np.array_equal(index[k], index[k - 1]):
                    totals[k] = totals[k - 1]
                else:
                    totals[k] = self._total_losses(k, rows)
            # Later entries never look back further than this one.
            totals = {k: total for k, total in totals.items() if k >= counted[0]}
            # Python's sum adds in the same order whatever the other rows.
            losses: Any = sum(totals[k] for k in counted)
            losses /= len(counted) * self.n_members
            earlier = self._at_entry(entry)
            for block, part in rows:
                losses[block] = earlier.completed(losses[block], part)
            yield losses

    def _total_losses(self, entry, rows):
        """Return the losses of rows, summed over members, after one entry."""
        then = replace(self, snapshots=self.log.take([entry]))
        parts = [next(then.by_snapshot(part.values))[0] for _, part in rows]
        return sum(np.concatenate(parts, axis=1))


def finite(values, nan):
    """Replace overflow, on rows far beyond the data, by the largest number."""
    return np.nan_to_num(values, nan=nan, posinf=FLOAT32_MAX, neginf=-FLOAT32_MAX)
