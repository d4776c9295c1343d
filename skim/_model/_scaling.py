"""From a table to network inputs of about [0, 1]."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, ndtri

from skim._utils import Stored, evenly_spaced

# Far beyond any training value; keeps squares of it finite in single precision.
FAR_AWAY = 1e6

# Values further from the median than this many (normal) standard deviations are
# clipped in the mean and standard deviation, or one would hide all others.
REACH = 30.0
MAX_ROWS_FOR_QUANTILES = 10_000
MAX_KNOTS = 1000  # values of a column between which ranks are interpolated

# A cell is far from its column beyond 1.5 times the reach of the column's tail, which
# is taken to be no heavier than this, and no longer than 20 standard deviations.
FREE = 1.5
MAX_HEAVINESS = 3.0
MAX_TAIL = 20.0

BLOCK_CELLS = 2**18  # that are scaled and scored at once
MAX_KEPT_VALUES = 2**27  # of a table that is scaled once for all: 512 MB


@dataclass(frozen=True)
class ScaledRows:
    """Rows as the networks see them."""

    values: np.ndarray  # float32 of shape (n, n_inputs), NaN where a cell is missing
    missing: np.ndarray | None  # (n, p), in columns that have values
    far: tuple | None  # row, column and loss of the cells far from their column


@dataclass(frozen=True)
class ScaledTable:
    """A table whose rows are scaled when they are needed, unless they are kept."""

    scaler: "InputScaler"
    X: np.ndarray
    scaled: np.ndarray | None = None  # all inputs of the networks, if kept
    blocks: list | None = None

    def __iter__(self):
        """Yield blocks of consecutive rows: which they are, and the scaled rows."""
        if self.blocks is not None:
            yield from self.blocks
            return
        size = max(BLOCK_CELLS // self.X.shape[1], 64)
        for start in range(0, len(self.X), size):
            block = slice(start, start + size)
            yield block, self.scaler.scale(self.X[block])

    def __len__(self):
        return len(self.X)

    def kept(self):
        """Return the table with all rows scaled once, unless it is huge."""
        n_rows, n_inputs = len(self.X), len(self.scaler.fill_)
        if n_rows * n_inputs > MAX_KEPT_VALUES:
            return self
        scaled, blocks = np.empty((n_rows, n_inputs), np.float32), []
        for block, rows in self:
            scaled[block] = rows.values
            blocks.append((block, replace(rows, values=scaled[block])))
        return replace(self, scaled=scaled, blocks=blocks)

    def values(self, places=slice(None)):
        """Return the scaled values of rows, of shape (*places.shape, n_inputs)."""
        rows = self.X[places]
        values = self.scaler.transform(rows.reshape(-1, rows.shape[-1]))
        return values.reshape(*rows.shape[:-1], -1)

    def inputs(self):
        """Return the scaled values of all rows, without their normal scores."""
        return self.scaler.inputs(self.X)

    def cells(self, places=slice(None)):
        """Return the scaled cells of rows, which wide tables hide from the networks."""
        return self.scaler.cells(self.X[places])

    def has_gaps(self):
        """Whether any cell is missing."""
        return bool(np.isnan(self.X.min()))


class InputScaler:
    """Scale every feature by its distribution in the training data."""

    free = FREE  # how many tails a cell may be out without being far
    constant_tail = MAX_TAIL  # of columns that are constant, in multiples of their size

    def __init__(self, how, *, centred=False, factor=1.0, far_loss=0.0):
        self.how = how
        self.centred = centred
        self.factor = factor
        self.far_loss = far_loss

    def fit(self, X):
        """Learn the range, mean, standard deviation and tail of each feature."""
        sample = X[:: max(len(X) // MAX_ROWS_FOR_QUANTILES, 1)]
        self._learn_range(X, sample)
        if self.how == "squash":
            sample = self._to_unit(sample)
            self.center_, tail, varies = _center_and_tail(sample)
            limits = usual_limits(sample)
        size = max(BLOCK_CELLS // X.shape[1], 64)
        moments: Any = None
        for start in range(0, len(X), size):
            unit = self._to_unit(X[start : start + size])
            if self.how == "squash":
                np.clip(unit, *limits, out=unit)
            n_known = len(unit) - np.isnan(unit).sum(axis=0)
            mean = _mean(unit)
            unit -= mean
            found = n_known, mean, rms(unit)
            moments = found if moments is None else _pooled(moments, found)
        self.n_known_, self.mean_, self.spread_ = moments
        if self.how == "squash":
            longest = np.where(varies, MAX_TAIL * self.spread_, np.inf)
            self.tail_ = np.minimum(tail, longest)  # 0 where nothing is known
        self.std_ = self.spread_.copy()
        self.std_[self.constant_ | (self.std_ == 0)] = 1.0
        usual = np.nan_to_num(self.mean_)
        if self.how == "squash":
            usual = np.full(len(usual), 0.0 if self.centred else 0.5)
        self.fill_ = (usual * self.factor).astype(np.float32)
        return self

    def _learn_range(self, X, sample):
        # Halves, because the range of float64 data need not be a float64.
        self.half_min_ = np.divide(np.fmin.reduce(X, axis=0), 2, dtype=np.float64)
        half_max = np.divide(np.fmax.reduce(X, axis=0), 2, dtype=np.float64)
        self.half_range_ = half_max - self.half_min_
        self.half_origin_ = self.half_min_
        if self.how == "squash":  # next to the minimum, ordinary values may be alike
            self.half_origin_ = medians(np.divide(sample, 2, dtype=np.float64))
        # What varies by no more than rounding is constant; its size is its scale.
        size = np.abs(self.half_min_)
        self.constant_ = self.half_range_ <= 10 * np.finfo(np.float64).eps * size
        scale = np.where(size > 0, size, 1.0)
        self.half_range_[self.constant_] = scale[self.constant_]

    def transform(self, X):
        """Return what the networks see, in single precision."""
        return self.scale(X).values

    def inputs(self, X):
        """Return the scaled features, by which rows are compared."""
        return self.transform(X)

    def by_column(self, by_input):
        """Return what columns add to losses, of shape (..., p), given their inputs."""
        return by_input

    def over_columns(self, terms, typical, X):
        """Split what inputs add to losses over the columns."""
        return self.by_column(terms)

    def cells(self, X):
        """Return the squashed or min-max scaled cells, with NaN in missing ones."""
        return InputScaler.scale(self, X).values

    def scale(self, X):
        """Return the scaled data, and its missing and far cells."""
        with np.errstate(over="ignore"):
            scaled = self._to_unit(X)
            if self.how == "squash":
                scaled -= self.mean_
                scaled /= 3 * self.std_
                np.tanh(scaled, out=scaled)
                if not self.centred:
                    scaled += 1
                    scaled /= 2
        np.clip(scaled, -FAR_AWAY, FAR_AWAY, out=scaled)
        scaled *= self.factor
        missing = np.isnan(scaled) & (self.n_known_ > 0)
        far = None
        if self.how == "squash" and self.far_loss:
            with np.errstate(over="ignore"):
                center = self.half_origin_ + self.half_range_ * self.center_
                known = np.where(self.tail_ > 0, self.tail_, self.constant_tail)
                tail = self.half_range_ * known
                reach = self.free * tail
                low, high = 2 * (center - reach), 2 * (center + reach)
                rows, columns = np.nonzero((low > X) | (high < X))
                distance = np.abs(X[rows, columns] / 2.0 - center[columns])
                beyond = np.minimum(distance / tail[columns] - self.free, FAR_AWAY)
            far = (rows, columns, self.far_loss * beyond) if len(rows) else None
        return ScaledRows(
            scaled.astype(np.float32), missing if missing.any() else None, far
        )

    def inverse_transform(self, values, columns):
        """Return scaled values of the given columns in the units of the data."""
        unit = np.asarray(values, dtype=np.float64) / self.factor
        if self.how == "squash":
            centred = unit if self.centred else 2 * unit - 1
            z = 3 * np.arctanh(np.clip(centred, -1 + 2e-7, 1 - 2e-7))
            unit = z * self.std_[columns] + self.mean_[columns]
        return 2 * (unit * self.half_range_[columns] + self.half_origin_[columns])

    def _to_unit(self, X):
        unit = np.divide(X, 2, dtype=np.float64)
        unit -= self.half_origin_
        unit /= self.half_range_
        return unit


class RankScaler(InputScaler):
    """Squash every feature, and put its squashed normal scores beside it."""

    def __init__(self, *, far_loss):
        super().__init__("squash", far_loss=far_loss)

    def fit(self, X):
        """Learn the distribution of each feature."""
        super().fit(X)
        self.ranks_ = Ranks.of(X)
        self.fill_ = np.tile(self.fill_, 2)
        return self

    def scale(self, X):
        """Return values and normal scores, and the missing and far cells."""
        rows = super().scale(X)
        ranks = expit(self.ranks_.transform(X))  # (tanh(z / 2) + 1) / 2
        ranks[:, self.constant_] = 0.5  # what varies is mere rounding
        ranks[np.isnan(rows.values)] = np.nan
        both = np.hstack([rows.values, ranks], dtype=np.float32, casting="same_kind")
        return ScaledRows(both, rows.missing, rows.far)

    def inputs(self, X):
        """Return the scaled data without its normal scores."""
        return self.cells(X)

    def by_column(self, by_input):
        """Return what columns add to losses, of shape (..., p), given their inputs."""
        return by_input.reshape(*by_input.shape[:-1], 2, -1).sum(axis=-2)


@dataclass(frozen=True)
class Ranks(Stored):
    """The normal scores of values: their ranks as those of a normal distribution.

    Attributes
    ----------
    knots : list of (ndarray, ndarray)
        For each column, some of its values in ascending order, and their scores. Equal
        values have that of their middle rank; others are interpolated.
    """

    knots: list

    @classmethod
    def of(cls, X):
        """Learn the ranks of each column."""
        knots = []
        for column in X[:: max(len(X) // MAX_ROWS_FOR_QUANTILES, 1)].T:
            known = column[~np.isnan(column)]
            known = known if len(known) else np.zeros(1)
            values, counts = np.unique(known, return_counts=True)
            shares = (np.cumsum(counts) - counts / 2) / len(known)
            kept = evenly_spaced(len(values), MAX_KNOTS)
            knots.append((values[kept].astype(np.float64), ndtri(shares[kept])))
        return cls(knots)

    def transform(self, X):
        """Return the normal scores of values."""
        found = np.empty(X.shape)
        for j, (values, ranks) in enumerate(self.knots):
            found[:, j] = np.interp(X[:, j], values, ranks)
        return found


def _center_and_tail(X):
    """Return the median of each column, and how far its tail reaches from there.

    Among the cells that differ from the median, this is the distance that 98 % do not
    exceed, times its ratio to that of 90 %: about where the tail would get to in a
    multiple of the rows. The most distant 1 % of the cells, and at least three, are
    left out, so that absurd ones do not set their own standard. Zero for constant
    columns. Whether there are several distances but zero is returned as well.
    """
    missing = np.isnan(X)
    median = medians(X)
    distances = np.abs(X - median)
    distances.sort(axis=0)  # missing cells come last
    n_known = len(X) - missing.sum(axis=0)
    n_other = (distances > 0).sum(axis=0)
    n_left_out = np.maximum(3, n_known // 100)

    shares = np.array([[0.90], [0.98]])
    places = np.minimum((shares * (n_other - 1)).astype(int), n_other - 1 - n_left_out)
    first = n_known - n_other
    places = np.r_[np.maximum(places, 0) + first, [first, n_known - 1]]
    places = np.clip(places, 0, np.maximum(n_known - 1, 0))
    near, far, least, most = np.take_along_axis(distances, places, axis=0)
    heaviness = np.divide(far, near, out=np.ones_like(far), where=near > 0)
    return median, far * np.minimum(heaviness, MAX_HEAVINESS), least < most


def usual_limits(sample):
    """Return where to clip extreme values: not in columns that are mostly one value."""
    quantile = np.quantile
    missing = np.isnan(sample)
    if missing.any():
        sample, quantile = np.where(missing.all(axis=0), 0.0, sample), np.nanquantile
    low, median, high = quantile(sample, [0.25, 0.5, 0.75], axis=0)
    reach = REACH * (high - low) / 1.349  # quartiles of the normal distribution
    reach[reach == 0] = np.inf
    return median - reach, median + reach


def _pooled(past, new):
    """Pool the numbers, means and spreads of the known cells of two parts."""
    (n_past, past_mean, past_spread), (n_new, mean, spread) = past, new
    n_known = n_past + n_new
    share = n_new / np.maximum(n_known, 1)
    gap = mean - past_mean
    # The root of a sum of squares, which themselves need not be a float64.
    within = np.hypot(np.sqrt(1 - share) * past_spread, np.sqrt(share) * spread)
    both = past_mean + share * gap, np.hypot(within, np.sqrt(share * (1 - share)) * gap)
    only_one = [n_new == 0, n_past == 0]
    return (
        n_known,
        np.select(only_one, [past_mean, mean], both[0]),
        np.select(only_one, [past_spread, spread], both[1]),
    )


def medians(X):
    """Return the median of the known cells of each column, 0 if there are none."""
    missing = np.isnan(X)
    if not missing.any():
        return np.median(X, axis=0)
    return np.nanmedian(np.where(missing.all(axis=0), 0.0, X), axis=0)


def rms(deviations):
    """Root mean square of each column, of however small numbers; overwrites them."""
    largest = np.fmax.reduce(np.abs(deviations), axis=0)
    largest[largest == 0] = 1.0
    deviations /= largest
    np.square(deviations, out=deviations)
    return largest * np.sqrt(_mean(deviations))


def _mean(X):
    """Return the mean of the known cells of each column, NaN if there are none."""
    mean = X.mean(axis=0)
    if np.isnan(mean).any():
        known = ~np.isnan(X)
        n_known = known.sum(axis=0)
        total = np.where(known, X, 0.0).sum(axis=0)
        mean = np.divide(total, n_known, out=mean, where=n_known > 0)
    return mean


def gap_factor(missing, n_features):
    """Return the factor by which the excess of rows with gaps is scaled up."""
    n_known = n_features - missing.sum(axis=1)
    factor = np.sqrt(n_features / np.maximum(n_known, 1))
    return np.where(n_known > 0, factor, 0.0)  # ordinary, as far as one can tell
