"""From a table as it comes to network inputs of about [0, 1]."""

import numpy as np

# Far beyond any training value; keeps squares of it finite in single precision.
FAR_AWAY = 1e6


class InputScaler:
    """Scale every feature by what the training data showed of it.

    Parameters
    ----------
    how : {"squash", "minmax"}
        "minmax" maps the training range to [0, 1]. "squash" maps standardised
        values z to ``(tanh(z / 3) + 1) / 2``, so that one extreme value does not
        press all others together.
    factor : float, default=1.0
        Applied to the result.
    """

    def __init__(self, how, factor=1.0):
        self.how = how
        self.factor = factor

    def fit(self, X):
        """Learn the range, mean and standard deviation of each feature."""
        # Halves, because the range of float64 data need not be a float64.
        self.half_min_ = X.min(axis=0).astype(np.float64) / 2
        self.half_range_ = X.max(axis=0).astype(np.float64) / 2 - self.half_min_
        self.half_range_[self.half_range_ == 0] = 1.0
        if self.how == "squash":
            unit = self._to_unit(X)
            self.mean_ = unit.mean(axis=0)
            self.std_ = unit.std(axis=0)
            self.std_[self.std_ == 0] = 1.0
        return self

    def transform(self, X):
        """Return the scaled data in single precision."""
        with np.errstate(over="ignore"):
            scaled = self._to_unit(X)
            if self.how == "squash":
                scaled -= self.mean_
                scaled /= 3 * self.std_
                np.tanh(scaled, out=scaled)
                scaled += 1
                scaled /= 2
        np.clip(scaled, -FAR_AWAY, FAR_AWAY, out=scaled)
        scaled *= self.factor
        return scaled.astype(np.float32)

    def _to_unit(self, X):
        unit = X / 2.0
        unit -= self.half_min_
        unit /= self.half_range_
        return unit
