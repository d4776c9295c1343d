"""From a table as it comes to network inputs of about [0, 1]."""

import copy

import numpy as np

# Far beyond any training value; keeps squares of it finite in single precision.
FAR_AWAY = 1e6

# Values further from the median than so many (normal) standard deviations do not
# count with their full size, or one of them would hide all others of its column.
REACH = 30.0
MAX_ROWS_FOR_QUARTILES = 10_000


class InputScaler:
    """Scale every feature by what the training data showed of it.

    Parameters
    ----------
    how : {"squash", "minmax"}
        "minmax" maps the training range to [0, 1]. "squash" maps standardised
        values z to ``tanh(z / 3)``, and that from [-1, 1] to [0, 1] unless
        `centred`. Wild values hardly count in the mean and the standard deviation,
        so that they do not press all others together.
    centred : bool, default=False
        Whether "squash" leaves the mean of each feature at 0.
    factor : float, default=1.0
        Applied to the result.
    """

    def __init__(self, how, *, centred=False, factor=1.0):
        self.how = how
        self.centred = centred
        self.factor = factor

    def fit(self, X):
        """Learn the range, mean and standard deviation of each feature."""
        self.n_seen_ = 0
        return self.partial_fit(X)

    def partial_fit(self, X):
        """Learn from more rows, as if they had come together with those before.

        But the wild values of each part are told by that part alone.
        """
        past = copy.copy(self) if self.n_seen_ else None
        self._widen(X, past)
        if self.how == "squash":
            unit = _tame(self._to_unit(X))
            self.mean_ = unit.mean(axis=0)
            unit -= self.mean_
            self.spread_ = _std(unit)
            if past is not None:
                self._merge(past, len(X))
            self.std_ = self.spread_.copy()
            self.std_[self.constant_ | (self.std_ == 0)] = 1.0
        self.n_seen_ += len(X)
        return self

    def _widen(self, X, past):
        # Halves, because the range of float64 data need not be a float64.
        self.half_min_ = np.divide(X.min(axis=0), 2, dtype=np.float64)
        self.half_max_ = np.divide(X.max(axis=0), 2, dtype=np.float64)
        if past is not None:
            self.half_min_ = np.minimum(self.half_min_, past.half_min_)
            self.half_max_ = np.maximum(self.half_max_, past.half_max_)
        self.half_range_ = self.half_max_ - self.half_min_
        # What varies by no more than rounding is constant; its size is its scale.
        size = np.abs(self.half_min_)
        self.constant_ = self.half_range_ <= 10 * np.finfo(np.float64).eps * size
        scale = np.where(size > 0, size, 1.0)
        self.half_range_[self.constant_] = scale[self.constant_]

    def _merge(self, past, n_new):
        """Merge the moments of past rows with those of new ones."""
        factor = past.half_range_ / self.half_range_
        shift = (past.half_min_ - self.half_min_) / self.half_range_
        past_mean, past_spread = shift + factor * past.mean_, factor * past.spread_
        share = n_new / (past.n_seen_ + n_new)
        gap = self.mean_ - past_mean
        self.mean_ = past_mean + share * gap
        # The root of a sum of squares, which themselves need not be a float64.
        within = np.hypot(
            np.sqrt(1 - share) * past_spread, np.sqrt(share) * self.spread_
        )
        self.spread_ = np.hypot(within, np.sqrt(share * (1 - share)) * gap)

    def transform(self, X):
        """Return the scaled data in single precision."""
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
        return scaled.astype(np.float32)

    def _to_unit(self, X):
        unit = np.divide(X, 2, dtype=np.float64)
        unit -= self.half_min_
        unit /= self.half_range_
        return unit


def _tame(X):
    """Clip wild values, in place; columns that are mostly one value are left alone."""
    step = max(len(X) // MAX_ROWS_FOR_QUARTILES, 1)
    low, median, high = np.quantile(X[::step], [0.25, 0.5, 0.75], axis=0)
    reach = REACH * (high - low) / 1.349  # quartiles of the normal distribution
    reach[reach == 0] = np.inf
    return np.clip(X, median - reach, median + reach, out=X)


def _std(deviations):
    """Root mean square of each column, of however small numbers; uses them up."""
    largest = np.maximum(deviations.max(axis=0), -deviations.min(axis=0))
    largest[largest == 0] = 1.0
    deviations /= largest
    np.square(deviations, out=deviations)
    return largest * np.sqrt(deviations.mean(axis=0))
