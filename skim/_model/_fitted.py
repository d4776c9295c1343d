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
VIEW_WEIGHTS = (3, 1)  # of squashed features and of their normal scores


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
    views: tuple[int, ...]  # number of members that see each view of the data
    folds: Any = None  # (V, n): the member of each view that has not seen a clean row
    noise: np.ndarray | None = None  # (M, L, K), of the codes that rows are scored with
    snapshots: Any = None
    history: dict[str, np.ndarray] = field(default_factory=dict)
    log: Any = None  # the states after every entry of the history, if stored
    # The minimum and the width of each member's losses on the training data, (S, 2, M),
    # if losses are normalized; and the same for every entry of the history.
    ranges: np.ndarray | None = None
    log_ranges: np.ndarray | None = None

    # Losses --------------------------------------------------------------------

    def losses(self, rows, *, n_threads=1):
        """Return the losses of rows, averaged over members and snapshots."""
        found = []
        for _, part in rows:
            by_snapshot = self.by_snapshot(part.values, n_threads)
            totals = sum(map(self._totals, by_snapshot))
            losses = self.combined(totals, len(self.snapshots.weights))
            found.append(self.completed(losses, part))
        return np.concatenate(found)

    def scores(self, rows, *, n_threads=1):
        """Return the negated losses of rows, however far they are."""
        return finite(-self.losses(rows, n_threads=n_threads), nan=-FLOAT32_MAX)

    def _totals(self, losses):
        """Sum losses of shape (M, n) over the members of each view."""
        ends = np.cumsum(self.views)
        # Python's sum adds in the same order whatever the other rows.
        return np.array([sum(own) for own in np.split(losses, ends[:-1])])

    def combined(self, totals, n_snapshots):
        """Return the losses of rows, given their sums over members and snapshots."""
        means = totals / (n_snapshots * np.array(self.views)[:, None])
        return sum(w * own for w, own in zip(self.view_weights, means, strict=True))

    def held_out_losses(self, rows):
        """Return the losses of training rows as if no member had seen them.

        One member of each view has not. The losses under the others are increased by
        what that makes of the losses of a member, at the same rank.
        """
        first = np.cumsum([0, *self.views[:-1]])
        n_members = np.array(self.views)[:, None]
        unseen: list = []
        seen: list = []
        rest: list = []
        for block, part in rows:
            own = sum(self.by_snapshot(part.values)) / len(self.snapshots.weights)
            left_out, n = self.folds[:, block], len(part.values)
            one, other = (
                own[first[:, None] + k % n_members, np.arange(n)]
                for k in (left_out.astype(int), left_out.astype(int) + 1)
            )
            others = (np.add.reduceat(own, first) - one) / (n_members - 1)
            for found, losses in ((unseen, one), (seen, other), (rest, others)):
                found.append(self.completed(self.view_weights @ losses, part))
        losses = np.concatenate(rest)
        order = np.argsort(losses, kind="stable")
        losses[order] += np.sort(np.concatenate(unseen)) - np.sort(np.concatenate(seen))
        return losses

    def by_snapshot(self, values, n_threads=1):
        """Yield the losses of scaled rows, (M, n), missing cells adding nothing."""
        snapshots = self.snapshots
        state = snapshots.weights, snapshots.statistics, self.noise
        for s, losses in enumerate(
            nets.snapshot_losses(
                self.shape, *state, values, device=self.device, n_threads=n_threads
            )
        ):
            yield losses if self.ranges is None else rescaled(losses, self.ranges[s])

    def completed(self, losses, rows):
        """Add to the losses of known cells what missing and far cells account for."""
        if rows.missing is not None:
            typical = self.typical.by_column, self.typical.rest
            losses = fill_gaps(losses, rows.missing, *typical, self._n_known_columns)
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
        return 1.0 if self.ranges is None else np.mean(1 / self.ranges[:, 1])

    @cached_property
    def shape(self):
        """The shape of the network, which scores rows."""
        return self.network.shape(self.scaler, self.views)

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
        is_known = ~np.isnan(values[:, : terms.shape[1]])
        n_known = np.maximum(is_known.sum(axis=0), 1)
        by_input = terms.sum(axis=0) / n_known  # 0 where missing
        shares = self.scaler.column_shares_
        by_column = by_input if shares is None else by_input @ shares
        rest = float(np.median(losses - terms.sum(axis=1)))
        return Typical(by_input, by_column, rest)

    def contributions(self, table, *, n_threads=1):
        """Split the losses of rows over their cells, missing and far ones included.

        A missing cell contributes what its column does in an ordinary row.
        """
        found = np.empty(table.X.shape)
        for block, part in table:
            _, terms = self._losses_and_terms(part.values, n_threads)
            found[block] = self._over_cells(terms, part, table.X[block])
        return found

    def _losses_and_terms(self, values, n_threads=1):
        """Return the losses of scaled rows, and what each input adds to them."""
        snapshots = self.snapshots
        # So that their mean over the members is the weight of a view.
        by_view = self.view_weights * sum(self.views) / self.views
        by_member = np.repeat(by_view, self.views).astype(np.float32)
        weights = np.tile(by_member, (len(snapshots.weights), 1))
        if self.ranges is not None:
            weights /= self.ranges[:, 1].astype(np.float32)
        totals, terms = 0.0, np.zeros((len(values), self.shape.n_features))
        state = snapshots.weights, snapshots.statistics, self.noise
        how = {"device": self.device, "n_threads": n_threads}
        by_snapshot = nets.snapshot_losses(
            self.shape, *state, values, member_weights=weights, **how
        )
        for s, (losses, own_terms) in enumerate(by_snapshot):
            if self.ranges is not None:
                losses = rescaled(losses, self.ranges[s])
            totals += self._totals(losses)
            terms += own_terms
        losses = self.combined(totals, len(weights))
        return losses, finite(terms / weights.size, nan=FLOAT32_MAX)

    def _over_cells(self, terms, rows, X):
        """Split what the inputs add to the losses of rows over their cells."""
        typical = self.typical
        if self.scaler.column_shares_ is not None:
            terms = self.scaler.over_columns(terms, typical.by_input, X)
        if rows.missing is not None:
            factor = gap_factor(rows.missing, self._n_known_columns)
            has_gaps = rows.missing.any(axis=1)
            excess = np.where(rows.missing, 0.0, terms - typical.by_column)
            filled = typical.by_column + excess * factor[:, None]
            terms = np.where(has_gaps[:, None], filled, terms)
        if rows.far is not None:
            row, column, losses = rows.far
            np.add.at(terms, (row, column), self._loss_unit * losses)
        return finite(terms, nan=FLOAT32_MAX)

    def gradient_products(self, values):
        """Return the inner products, (M, n, n), of the gradients of rows' losses."""
        snapshots = self.snapshots
        state = (
            np.ascontiguousarray(values.T),
            snapshots.weights[-1],
            snapshots.statistics[-1],
            self.noise,
        )
        device = nets.device_or_cpu(self.device)
        with nets.compute():
            x, weights, statistics, noise = (
                nets.as_tensor(part, device) for part in state
            )
            products = nets.gradient_products(self.shape, weights, statistics, x, noise)
        return products.cpu().numpy().astype(np.float64)

    # Earlier in training -------------------------------------------------------

    def at(self, epoch):
        """Return the model as a training run of `epoch` epochs would have left it."""
        return self._at_entry(self.entry_of(epoch))

    def entry_of(self, epoch):
        """Return the entry of the history with which a run of `epoch` epochs ends."""
        ends = self.history["epoch"]
        return int(np.searchsorted(ends, epoch, side="right")) - 1

    def with_state(self, state, members=slice(None)):
        """Return the model with one state of some members as its only snapshot."""
        weights, statistics = (part[None] for part in state)
        noise = None if self.noise is None else self.noise[members]
        n_members = weights.shape[1]
        views = self.views if sum(self.views) == n_members else (n_members,)
        entries = np.zeros(weights.shape[:2], dtype=np.intp)
        snapshots = Snapshots(weights, statistics, entries)
        return replace(
            self, snapshots=snapshots, noise=noise, views=views, ranges=None, log=None
        )

    def normalized(self, rows):
        """Return the model with its losses on the scale of the training data."""
        if not self.schedule.normalize_losses:
            return self
        model = replace(self, ranges=self.loss_ranges(rows))
        if self.log is None:
            return model
        every = replace(self, snapshots=self.log.take(np.arange(len(self.log.index))))
        return replace(model, log_ranges=every.loss_ranges(rows))

    @cached_property
    def view_weights(self):
        """The weights of the views, (V,), with losses on the scale of the first."""
        if len(self.views) == 1:
            return np.ones(1)
        with nets.compute():
            values = self.scaler.scale(self.sample).values
            totals = sum(map(self._totals, self.by_snapshot(values)))
        means = totals / np.array(self.views)[:, None]
        low, high = np.quantile(means, [0.05, 0.95], axis=1)
        spread = np.where(high > low, high - low, np.inf)
        weights = np.array(VIEW_WEIGHTS) / sum(VIEW_WEIGHTS)
        scale = spread[0] if np.isfinite(spread[0]) else 1.0
        return weights * np.where(np.arange(len(weights)) == 0, 1.0, scale / spread)

    def loss_ranges(self, rows):
        """Return the minimum and the width of each member's losses, by snapshot."""
        low, high = np.inf, -np.inf
        for _, part in rows:
            losses = list(self.by_snapshot(part.values))
            low = np.minimum(low, np.min(losses, axis=2))
            high = np.maximum(high, np.max(losses, axis=2))
        width = np.where(high > low, high - low, 1.0)
        return np.stack([low, width], axis=1)

    def _at_entry(self, entry):
        """Return the model as if training had ended with an entry of the history."""
        counted, log_ranges = self._counted(entry), self.log_ranges
        history = {name: column[: entry + 1] for name, column in self.history.items()}
        return replace(
            self,
            snapshots=self.log.take(counted),
            history=history,
            log=replace(self.log, index=self.log.index[: entry + 1]),
            ranges=None if log_ranges is None else log_ranges[counted],
            log_ranges=None if log_ranges is None else log_ranges[: entry + 1],
        )

    def _counted(self, entry):
        """Return the entries whose states count if training ends with one of them."""
        entries = self.snapshots.entries
        if entry == len(self.log.index) - 1 and (entries == entries[:, :1]).all():
            return entries[:, 0].tolist()
        criterion = self.history["criterion"][: entry + 1]
        return self.schedule.counted_entries(criterion, self.stopping is not None)

    def staged_losses(self, rows, entries=None):
        """Yield the losses of rows as if training had ended with each entry.

        Every state is scored once, however many entries count it.
        """
        index = self.log.index
        totals: dict[int, np.ndarray] = {}
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
            total = sum(totals[k] for k in counted)
            earlier = self._at_entry(entry)
            losses = earlier.combined(total, len(counted))
            for block, part in rows:
                losses[block] = earlier.completed(losses[block], part)
            yield losses

    def _total_losses(self, entry, rows):
        """Return the losses of rows, summed over members, (V, n), after one entry."""
        ranges = None if self.log_ranges is None else self.log_ranges[[entry]]
        then = replace(self, snapshots=self.log.take([entry]), ranges=ranges)
        parts = [next(then.by_snapshot(part.values)) for _, part in rows]
        return self._totals(np.concatenate(parts, axis=1))


def rescaled(losses, ranges):
    """Map each member's losses, of shape (M, n), from its range to [0, 1]."""
    low, width = ranges
    return (losses - low[:, None]) / width[:, None]


def fill_gaps(losses, missing, typical, rest, n_features):
    """Make the losses of rows with gaps comparable with those of complete rows.

    A missing cell adds to the loss what its column adds in an ordinary row. The sum of
    fewer terms varies less, so its difference from the loss of an ordinary row is
    scaled up to vary as much as that of a complete row.
    """
    ordinary = typical.sum() + rest
    filled = losses + np.where(missing, typical, 0.0).sum(axis=1)
    scaled = ordinary + (filled - ordinary) * gap_factor(missing, n_features)
    return np.where(missing.any(axis=1), scaled, losses)


def finite(values, nan):
    """Replace overflow, on rows far beyond the data, by the largest number."""
    return np.nan_to_num(values, nan=nan, posinf=FLOAT32_MAX, neginf=-FLOAT32_MAX)
