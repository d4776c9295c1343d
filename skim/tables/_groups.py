"""Numbers within groups: those of a column that is named, or of levels that tell."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from skim._utils import Stored
from skim.tables._cells import Tail
from skim.tables._text import on_unique

ALL = "\0all"  # the key of all rows among groups
MAX_WITHIN = 0.5  # spread within groups, as a share of that of all rows, that tells
MIN_ROWS = 5  # per group


@dataclass(frozen=True)
class Groups(Stored):
    """Location and scale of numbers within groups, shrunk towards the whole.

    Attributes
    ----------
    center, spread : dict of str to ndarray of shape (p,)
        By group; the key `ALL` stands for all rows, and for new groups.
    """

    center: dict
    spread: dict

    @classmethod
    def of(cls, numbers, groups):
        """Learn from numbers, of shape (n, p), and the group of each row.

        A group's estimates are shrunk as far as chance explains that groups differ.
        """
        rows = groups.groupby(groups, sort=False).indices
        parts = [numbers[own] for own in rows.values()]
        sizes = np.array([np.isfinite(own).sum(axis=0) for own in parts])
        centers = np.array([_center(own) for own in parts])
        spreads = np.log([_spread(own) for own in parts])
        known = np.where(sizes > 1, sizes, 0)
        usual = np.average(spreads, axis=0, weights=known + 1e-9)
        spreads = _shrunk(spreads, usual, known, 1.5)
        whole = _center(numbers)
        centers = _shrunk(centers, whole, sizes, 1.5 * np.exp(2 * spreads))
        center = {ALL: whole} | dict(zip(rows, centers, strict=True))
        spread = {ALL: np.exp(usual)} | dict(zip(rows, np.exp(spreads), strict=True))
        return cls(center, spread)

    def adjust(self, numbers, groups):
        """Return numbers as if all groups had the same location and scale."""
        center, spread = self.of_rows(groups)
        return (numbers - center) / spread * self.spread[ALL] + self.center[ALL]

    def restore(self, value, j, group):
        """Return what an adjusted number is within a group."""
        group = group if group in self.center else ALL
        z = (value - self.center[ALL][j]) / self.spread[ALL][j]
        return z * self.spread[group][j] + self.center[group][j]

    def of_rows(self, groups):
        """Return the location and scale of each row, of shape (n, p)."""
        places = {name: place for place, name in enumerate(self.center)}
        codes = on_unique(
            groups, lambda names: [places.get(name, places[ALL]) for name in names], 0
        )
        center, spread = (
            np.array(list(by.values())) for by in (self.center, self.spread)
        )
        return center[codes], spread[codes]


def _shrunk(estimates, usual, sizes, variance):
    """Shrink estimates of groups, of shape (G, p), by their sampling variance."""
    between = np.var(estimates, axis=0) - np.mean(
        variance / np.maximum(sizes, 1), axis=0
    )
    between = np.maximum(between, 0) + np.finfo(float).tiny
    weight = sizes * between / (sizes * between + variance)
    return usual + weight * (estimates - usual)


def _center(numbers):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # columns of gaps
        return np.nan_to_num(np.nanmedian(numbers, axis=0))


def _spread(numbers):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        low, high = np.nanquantile(numbers, [0.25, 0.75], axis=0)
        spread = (high - low) / 1.349
        spread = np.where(spread > 0, spread, np.nanstd(numbers, axis=0))
    return np.where(spread > 0, spread, 1.0)


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

    @classmethod
    def of(cls, numbers, levels):
        """Find the levels that tell most about numbers; None if none tells enough.

        Parameters
        ----------
        numbers : ndarray of shape (n,)
        levels : dict of str to ndarray of int of shape (n,)
            Codes by column.
        """
        import pandas as pd

        known = np.isfinite(numbers)
        x = numbers[known, None]
        best, least = None, MAX_WITHIN * _deviation(x - _center(x))
        for name, codes in levels.items():
            own = pd.Series(codes[known])
            if own.nunique() * MIN_ROWS > len(own):
                continue
            groups = Groups.of(x, own)
            center, _ = groups.of_rows(own)
            within = _deviation(x - center)
            if within < least:
                alike = groups.adjust(x, own)[:, 0]
                best, least = (name, groups, alike), within
        if best is None:
            return None
        name, groups, alike = best
        return cls(name, groups, Tail.of(-alike), Tail.of(alike))

    def surprise(self, numbers, codes):
        """Return the surprise of numbers beside others with the same level."""
        import pandas as pd

        found = np.zeros(len(numbers))
        known = np.isfinite(numbers)
        alike = self.groups.adjust(numbers[known, None], pd.Series(codes[known]))[:, 0]
        found[known] = np.maximum(
            self.lower.surprise(-alike), self.upper.surprise(alike)
        )
        return found

    def usual(self, code):
        """Return the range of usual numbers with a level."""
        ends = (-self.lower.usual, self.upper.usual)
        return [float(self.groups.restore(end, 0, code)) for end in ends]


def _deviation(numbers):
    return float(np.median(np.abs(numbers))) if len(numbers) else 0.0
