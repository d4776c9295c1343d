"""How far each row of a table is from the rows most like it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import QuantileTransformer

from skim._utils import Stored, evenly_spaced

LARGEST = 1e300  # number that infinity counts as
FARTHEST = 10.0  # standard deviations of a number from the middle
N_CODES = 16  # inputs that stand for the levels of a column
MAX_ROWS = 10_000  # of the training data that others are compared with
MIN_ROWS = 2_000  # of a large table, where comparing more would take too long
MAX_PAIRS = 10**9  # of rows that are compared, beyond which fewer are kept
SAME = 1e-3  # largest distance of a row from itself, by rounding
N_SIMILAR = 20  # rows that tell what to expect in a cell
N_NEAREST, N_NEAREST_CLEAN = 20, 1  # rows whose distances are averaged
RANK_WEIGHT = 0.5  # of normal scores beside values, by `python -m benchmarks accuracy`


@dataclass(frozen=True)
class Space(Stored):
    """The columns of a table as coordinates in which similar rows are near.

    Numbers are standardised; the levels of a column are corners at the
    same distance from each other, about that of two ordinary numbers. In clean data,
    each number also has the normal score of its rank as a coordinate, so that a value
    beyond all others is far from them in columns of any scale.

    Attributes
    ----------
    center, spread : ndarray
        Mean and standard deviation of the numbers.
    n_levels : list of int
        For each column of levels.
    ranks : QuantileTransformer or None
        Gives normal scores.
    """

    center: np.ndarray
    spread: np.ndarray
    n_levels: list
    ranks: QuantileTransformer | None

    @classmethod
    def of(cls, numbers, codes, is_clean):
        """Learn from numbers, of shape (n, p), and codes of levels, of shape (n, q)."""
        numbers = np.where(np.isinf(numbers), np.nan, numbers)
        ordinary, ranks = numbers, None
        if is_clean and numbers.shape[1]:
            ranks = QuantileTransformer(output_distribution="normal", random_state=0)
            ranks.set_params(n_quantiles=min(1000, len(numbers))).fit(numbers)
        elif not is_clean:
            low, middle, high = np.nanquantile(numbers, [0.05, 0.5, 0.95], axis=0)
            reach = 3 * (high - low)
            with np.errstate(over="ignore"):
                ordinary = np.clip(numbers, middle - reach, middle + reach)
        center, spread = np.nanmean(ordinary, axis=0), np.nanstd(ordinary, axis=0)
        spread = np.where(spread > 0, spread, np.nanstd(numbers, axis=0))
        spread = np.where(spread > 0, spread, 1.0)
        n_levels = (codes.max(axis=0, initial=0) + 1).tolist()
        return cls(center, spread, n_levels, ranks)

    def coordinates(self, numbers, codes):
        """Return rows in this space; gaps are 0, in the middle."""
        numbers = np.clip(numbers, -LARGEST, LARGEST)
        with np.errstate(over="ignore"):
            z = (numbers - self.center) / self.spread
        parts = [np.clip(z, -FARTHEST, FARTHEST)]
        if self.ranks is not None:
            parts.append(RANK_WEIGHT * self.ranks.transform(numbers))
        both = np.nan_to_num(np.stack(parts, axis=2)).reshape(len(z), -1)
        blocks = [both.astype(np.float32)]
        for k, n_levels in enumerate(self.n_levels):
            corners = _corners(n_levels).astype(np.float32)
            corners = np.vstack([corners, np.zeros_like(corners[:1])])  # for gaps
            blocks.append(corners[np.minimum(codes[:, k], n_levels)])
        return np.hstack(blocks)


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
        n_kept = np.clip(MAX_PAIRS // len(numbers), MIN_ROWS, MAX_ROWS)
        kept = evenly_spaced(len(numbers), int(n_kept))
        space = Space.of(numbers, codes, is_clean)
        return cls(space, numbers[kept], codes[kept], is_clean)

    def search(self, n_jobs=None):
        """Return what finds the nearest rows."""
        rows = self.space.coordinates(self.numbers, self.codes)
        n_nearest = N_NEAREST_CLEAN if self.is_clean else N_NEAREST
        n = min(n_nearest + 1, len(rows))
        return NearestNeighbors(n_neighbors=n, n_jobs=n_jobs).fit(rows)

    def distances(self, search, numbers, codes, is_training):
        """Return how far rows are from those most like them.

        A row at no distance counts as the row itself, so that rows of the training
        data have no advantage over others; but not a new row beside clean data.
        """
        found, _ = search.kneighbors(self.space.coordinates(numbers, codes))
        is_self = np.zeros(found.shape, dtype=bool)
        if is_training or not self.is_clean:
            is_self[:, 0] = found[:, 0] < SAME
        is_self[~is_self[:, 0], -1] = True  # one too many for other rows
        found = found[~is_self].reshape(len(numbers), -1)
        known = np.isfinite(numbers).sum(axis=1) + (codes >= 0).sum(axis=1)
        n_columns = numbers.shape[1] + codes.shape[1]
        # Half of what gaps hide is in the distances of others from the middle.
        return found.mean(axis=1) * (n_columns / np.maximum(known, 1)) ** 0.25

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
        n_coordinates = 1 if self.space.ranks is None else 2
        starts = np.cumsum([0, *[n_coordinates] * numbers.shape[1], *sizes])[:-1]
        for own in self.space.coordinates(numbers, codes):
            yield np.add.reduceat((rows - own) ** 2, starts, axis=1)
