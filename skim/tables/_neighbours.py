"""How far each row of a table is from others, and which are most like it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from skim._model._scaling import Ranks
from skim._utils import Stored, evenly_spaced

LARGEST = 1e300  # number that infinity counts as
REACH, REACH_CLEAN = 3.0, 10.0  # bounds of coordinates
N_CODES = 16  # inputs that stand for the levels of a column
MAX_ROWS = 10_000  # of the training data, kept to compare others with
MIN_ROWS = 2_000  # of large clean data, where comparing more would take too long
MAX_PAIRS = 10**9  # of rows that are compared, beyond which fewer are kept
SAME = 1e-3  # largest distance of a row from itself, by rounding
N_SIMILAR = 20  # rows that tell what to expect in a cell
# Share of the rows, the nearest ones, whose distances are averaged: more than a cluster
# of outliers has, whose rows would otherwise be near each other. It is measured by
# `python -m benchmarks accuracy`.
SHARE_NEAREST = 0.25
N_COMPARED = 1_000  # rows that stand for all others
BLOCK = 2**22  # distances computed at once


@dataclass(frozen=True)
class Space(Stored):
    """The columns of a table as coordinates in which similar rows are near.

    Numbers are standardised, with their normal score as a second coordinate, which
    tells the many alike of a skewed column apart. The levels of a column are corners at
    about the same distance from each other.

    Attributes
    ----------
    center, spread : ndarray
        Mean and standard deviation of the numbers.
    ranks : Ranks
        Of the numbers.
    n_levels : list of int
        For each column of levels.
    reach : float
        Bound of standardised numbers and normal scores.
    """

    center: np.ndarray
    spread: np.ndarray
    ranks: Ranks
    n_levels: list
    reach: float

    @classmethod
    def of(cls, numbers, codes, is_clean):
        """Learn from numbers, of shape (n, p), and codes of levels, of shape (n, q)."""
        numbers = np.where(np.isinf(numbers), np.nan, numbers)
        ordinary = numbers
        if numbers.shape[1]:
            low, middle, high = np.nanquantile(numbers, [0.05, 0.5, 0.95], axis=0)
            reach = 3 * (high - low)
            with np.errstate(over="ignore"):
                ordinary = np.clip(numbers, middle - reach, middle + reach)
        spread, own = map(_spread, (ordinary, numbers))
        return cls(
            np.nanmean(ordinary, axis=0),
            np.select([spread > 0, own > 0], [spread, own], 1.0),
            Ranks.of(numbers),
            (codes.max(axis=0, initial=0) + 1).tolist(),
            REACH_CLEAN if is_clean else REACH,
        )

    def coordinates(self, numbers, codes):
        """Return rows in this space; gaps are 0, in the middle."""
        numbers = np.clip(numbers, -LARGEST, LARGEST)
        with np.errstate(over="ignore"):
            standardised = (numbers - self.center) / self.spread
        both = np.stack([standardised, self.ranks.transform(numbers)], axis=2)
        both = self.reach * np.tanh(both / self.reach)
        blocks = [np.nan_to_num(both).reshape(len(both), -1).astype(np.float32)]
        for k, n_levels in enumerate(self.n_levels):
            corners = _corners(n_levels).astype(np.float32)
            corners = np.vstack([corners, np.zeros_like(corners[:1])])  # for gaps
            blocks.append(corners[np.minimum(codes[:, k], n_levels)])
        return np.hstack(blocks)


def _spread(numbers):
    with np.errstate(over="ignore"):
        return np.nanstd(numbers, axis=0)


def _corners(n_levels):
    """Return a vector of length 1 for each level, and one for all new levels."""
    if n_levels < N_CODES:
        return np.eye(n_levels + 1)
    signs = np.random.RandomState(0).choice([-1.0, 1.0], (n_levels + 1, N_CODES))
    return signs / np.sqrt(N_CODES)


@dataclass(frozen=True)
class Neighbours(Stored):
    """Rows of the training data that others are compared with.

    Attributes
    ----------
    space : Space
    numbers, codes : ndarray of shape (n_kept, p) and (n_kept, q)
        Their columns.
    is_clean : bool
        Whether new rows should be near a single one, and may be the same.
    """

    space: Space
    numbers: np.ndarray
    codes: np.ndarray
    is_clean: bool

    @classmethod
    def of(cls, numbers, codes, is_clean):
        """Keep the rows of a table, or some of them."""
        n_kept = MAX_ROWS
        if is_clean:
            n_kept = int(np.clip(MAX_PAIRS // len(numbers), MIN_ROWS, MAX_ROWS))
        kept = evenly_spaced(len(numbers), n_kept)
        space = Space.of(numbers, codes, is_clean)
        return cls(space, numbers[kept], codes[kept], is_clean)

    def distances(self, numbers, codes, is_training, n_jobs=None):
        """Return the mean distance of rows from the nearest ones.

        A row at no distance counts as the row itself, so that rows of the training
        data have no advantage over others; but not a new row beside clean data.
        """
        place, n_kept = self.space.coordinates, len(self.numbers)
        if self.is_clean:
            compared = place(self.numbers, self.codes)
            search = NearestNeighbors(n_neighbors=min(2, n_kept), n_jobs=n_jobs)
            distances, _ = search.fit(compared).kneighbors(place(numbers, codes))
            found = _mean_of_others(distances, is_training)
        else:
            chosen = evenly_spaced(n_kept, N_COMPARED)
            compared = place(self.numbers[chosen], self.codes[chosen])
            size = BLOCK // len(compared)
            starts = range(0, len(numbers), size)
            blocks = [slice(start, start + size) for start in starts]
            found = np.concatenate(
                [_mean_nearest(place(numbers[b], codes[b]), compared) for b in blocks]
            )
        known = np.isfinite(numbers).sum(axis=1) + (codes >= 0).sum(axis=1)
        n_columns = numbers.shape[1] + codes.shape[1]
        # Half of what gaps hide is in the distances of others from the middle.
        return found * (n_columns / np.maximum(known, 1)) ** 0.25

    def similar(self, squares):
        """Find the rows most like one row in all columns but one, for each column.

        Parameters
        ----------
        squares : ndarray of shape (n_kept, p + q)
            From `squares`.

        Returns
        -------
        similar : ndarray of int of shape (n_similar, p + q)
            Places among the kept rows, of which the row itself is none.
        """
        total = squares.sum(axis=1, keepdims=True)
        others = np.where(total > 0, total - squares, np.inf)
        n = min(N_SIMILAR, len(others) - 1)
        return np.argpartition(others, n - 1, axis=0)[:n]

    def differences(self, squares):
        """Return how much each column sets a row apart from those most like it."""
        total = squares.sum(axis=1)
        order = np.argsort(np.where(total > 0, total, np.inf), kind="stable")
        return squares[order[:N_SIMILAR]].mean(axis=0)

    def squares(self, numbers, codes):
        """Yield the squared differences of rows from the kept ones, (n_kept, p + q)."""
        rows = self.space.coordinates(self.numbers, self.codes)
        sizes = [_corners(n).shape[1] for n in self.space.n_levels]
        starts = np.cumsum([0, *[2] * numbers.shape[1], *sizes])[:-1]
        for own in self.space.coordinates(numbers, codes):
            yield np.add.reduceat((rows - own) ** 2, starts, axis=1)


def _mean_nearest(rows, compared):
    """Return the mean distance of rows from a share of others, the nearest ones."""
    n_found = min(max(int(SHARE_NEAREST * len(compared)), 1) + 1, len(compared))
    found = cdist(rows, compared)
    found.partition(n_found - 1, axis=1)
    return _mean_of_others(found[:, :n_found])


def _mean_of_others(distances, may_be_self=True):
    """Return mean distances from all but one: a row itself, or the most distant."""
    nearest = distances.min(axis=1)
    is_self = may_be_self & (nearest < SAME)
    left_out = np.where(is_self, nearest, distances.max(axis=1))
    return (distances.sum(axis=1) - left_out) / max(distances.shape[1] - 1, 1)
