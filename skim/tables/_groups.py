"""Numbers within groups: those of a named column, or of levels that predict them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skim._utils import Stored, evenly_spaced
from skim.tables._cells import MAX_GROUPING, Tail

MAX_WITHIN = (
    0.7  # spread within groups, as a share of that of all rows, that is a context
)
MIN_ROWS = 5  # per group
MAX_CELLS, MIN_SAMPLE = 2**21, 1_000  # that levels are compared on


@dataclass(frozen=True)
class Groups(Stored):
    """Location and scale of numbers within groups, shrunk towards the whole.

    Attributes
    ----------
    center, spread : ndarray of shape (n_groups + 1, p)
        By group; the last ones are those of all rows, and of new groups.
    """

    center: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, numbers, codes):
        """Learn from numbers, of shape (n, p), and the group of each row, from 0.

        A group's estimates are shrunk as far as chance explains that groups differ.
        """
        import pandas as pd

        table = pd.DataFrame(np.where(np.isfinite(numbers), numbers, np.nan))
        parts = table.groupby(codes)
        every = range(codes.max(initial=-1) + 1)
        sizes = parts.count().reindex(every, fill_value=0).to_numpy()
        deviation = parts.std(ddof=0).reindex(every).to_numpy()
        quartiles = parts.quantile([0.25, 0.5, 0.75]).unstack().swaplevel(axis=1)
        low, centers, high = (
            quartiles[q].reindex(every).to_numpy() for q in (0.25, 0.5, 0.75)
        )
        whole = table.median().fillna(0.0).to_numpy()
        centers = np.where(sizes > 0, centers, whole)
        spreads = np.where(high > low, (high - low) / 1.349, deviation)
        spreads = np.log(np.where(spreads > 0, spreads, 1.0))
        known = np.where(sizes > 1, sizes, 0)
        usual = np.average(spreads, axis=0, weights=known + 1e-9)
        spreads = _shrunk(spreads, usual, known, 1.5)
        centers = _shrunk(centers, whole, sizes, 1.5 * np.exp(2 * spreads))
        return cls(np.vstack([centers, whole]), np.exp(np.vstack([spreads, usual])))

    def adjust(self, numbers, codes):
        """Return numbers as if all groups had the same location and scale."""
        center, spread = self.of_rows(codes)
        return (numbers - center) / spread * self.spread[-1] + self.center[-1]

    def restore(self, value, j, code):
        """Return what an adjusted number is within a group."""
        center, spread = self.of_rows(np.array([code]))
        z = (value - self.center[-1, j]) / self.spread[-1, j]
        return float(z * spread[0, j] + center[0, j])

    def of_rows(self, codes):
        """Return the location and scale of the group of each row, of shape (n, p)."""
        n_groups = len(self.center) - 1
        places = np.where((codes >= 0) & (codes < n_groups), codes, n_groups)
        return self.center[places], self.spread[places]


def _shrunk(estimates, usual, sizes, variance):
    """Shrink estimates of groups, of shape (G, p), by their sampling variance."""
    between = np.var(estimates, axis=0) - np.mean(
        variance / np.maximum(sizes, 1), axis=0
    )
    between = np.maximum(between, 0) + np.finfo(float).tiny
    weight = sizes * between / (sizes * between + variance)
    return usual + weight * (estimates - usual)


@dataclass(frozen=True)
class Context(Stored):
    """What numbers of a column to expect with each level of another one.

    Attributes
    ----------
    level : str
        The column of levels.
    groups : Groups
        Of the numbers, by the codes of the levels.
    lower, upper : Tail
        Of the numbers as if all groups were the same.
    """

    level: str
    groups: Groups
    lower: Tail
    upper: Tail

    def surprise(self, numbers, codes):
        """Return the surprise of numbers beside others with the same level."""
        found = np.zeros(len(numbers))
        is_old = (codes >= 0) & (codes < len(self.groups.center) - 1)
        known = np.isfinite(numbers) & is_old
        alike = self.groups.adjust(numbers[known, None], codes[known])[:, 0]
        low, high = self.lower.surprise(-alike), self.upper.surprise(alike)
        found[known] = np.maximum(low, high)
        return found

    def usual(self, code):
        """Return the range of usual numbers with a level."""
        ends = -self.lower.usual, self.upper.usual
        return [self.groups.restore(end, 0, code) for end in ends]


def contexts(numbers, levels):
    """Find the levels that predict each column of numbers best, if any predict it well.

    Parameters
    ----------
    numbers : dict of str to ndarray of shape (n,)
        By column, NaN where missing.
    levels : dict of str to ndarray of int of shape (n,)
        Codes by column, -1 where missing.

    Returns
    -------
    found : dict of str to Context
        By column of numbers.
    """
    if not numbers:
        return {}
    x = np.stack(list(numbers.values()), axis=1)
    kept = evenly_spaced(len(x), max(MAX_CELLS // x.shape[1], MIN_SAMPLE))
    x = np.where(np.isfinite(x[kept]), x[kept], np.nan)
    least = MAX_WITHIN * _deviation(x)
    best = {}
    for level, codes in list(levels.items())[:MAX_GROUPING]:
        own, known = codes[kept], codes[kept] >= 0
        n_needed = len(np.unique(own[known])) * MIN_ROWS
        if n_needed > known.sum():
            continue
        groups = Groups.of(x[known], own[known])
        within = _deviation(x[known], groups.of_rows(own[known])[0])
        is_enough = np.isfinite(x[known]).sum(axis=0) >= max(n_needed, 1)
        for j in np.flatnonzero((within < least) & is_enough):
            only = Groups(groups.center[:, [j]], groups.spread[:, [j]])
            best[j] = level, only, only.adjust(x[known][:, [j]], own[known])[:, 0]
            least[j] = within[j]
    found = {}
    for j, (level, groups, alike) in best.items():
        alike = alike[np.isfinite(alike)]
        tails = Tail.of(-alike), Tail.of(alike)
        found[list(numbers)[j]] = Context(level, groups, *tails)
    return found


def _deviation(numbers, centers=None):
    """Return the median distance from centers, or from the median, by column."""
    import pandas as pd

    table = pd.DataFrame(numbers)
    centers = table.median() if centers is None else centers
    return (table - centers).abs().median().to_numpy(copy=True)  # NaN: all gaps
