"""What to expect in a cell, given the other cells of its row."""

import itertools

import numpy as np

from skim._model._scaling import medians, rms
from skim._utils import evenly_spaced

N_NEIGHBOURS = 50
MAX_FEATURES = 512  # wider tables do without the linear part, and with fewer rows
N_ROWS_IF_WIDE = 512
KEPT_SHARE = 0.9  # of the rows, the most ordinary ones, which set the correlations
N_CONCENTRATIONS = 2
MIN_SHRINKAGE = 0.01
SHARE_OUTSIDE = 0.05  # of the values on either side of a range
FAR_OUT = 3.5  # standard deviations; cells further out are not used to predict others
MAX_DEVIATION = 6.0  # to which standardised cells are clipped in the linear part
MAX_LEVELS = 12  # a column with no more frequent values is discrete
N_MORE_CANDIDATES = 5  # cells looked at beyond those asked for
ROUNDING = 1e-6  # of scaled values in single precision
CHUNK_CELLS = 50_000  # predicted at once
CHUNK_ROWS = 1024  # whose cells are compared at once


class CellExpectations:
    """Predicts cells from the other cells of their rows.

    The prediction has two parts: a linear one, the conditional mean of a normal
    distribution whose correlations are those of the more ordinary training rows, and
    the median of its residuals in the 50 training rows that are nearest in the other
    columns. The quantiles of the same residuals give the range. A cell is never used
    to predict itself, and neither are cells that are missing or far outside the usual
    values of their column.
    """

    def __init__(self, scaler, sample):
        self.scaler = scaler
        self.is_wide = sample.shape[1] > MAX_FEATURES
        if self.is_wide:
            sample = sample[evenly_spaced(len(sample), N_ROWS_IF_WIDE)]
        rows = sample.astype(np.float64)
        rows = np.where(np.isnan(rows), medians(rows), rows)
        self._learn_columns(rows)
        self._estimate(rows)
        for _ in range(0 if self.is_wide else N_CONCENTRATIONS):
            distances = self._squared_distances(self._standardised(rows))
            near = distances <= np.quantile(distances, KEPT_SHARE)
            self._estimate(rows[near])
        deviations = self._standardised(rows)
        residuals = deviations if self.is_wide else self._left_out(deviations)
        self._residuals = residuals.astype(np.float32)
        self._reference = deviations.astype(np.float32)

    def predict(self, rows, columns):
        """Predict some cells of each row."""
        rows = rows.astype(np.float64)
        unknown = np.isnan(rows) | self.far_out(rows)
        deviations = np.where(unknown, 0.0, self._standardised(rows))
        # Squared, in the known cells, and up to a constant for each row.
        reference = self._reference.astype(np.float64)
        distances = (~unknown).astype(np.float64) @ np.square(reference).T
        distances -= 2 * (deviations @ reference.T)
        quantiles = self._quantiles(deviations, unknown, distances, columns)
        low, middle, high = self._finished(quantiles, columns)
        return middle, low, high

    def far_out(self, rows):
        """Return which cells are far out, at most half of the known cells of a row."""
        remoteness = np.nan_to_num(self._remoteness(rows), nan=-1.0)
        far = remoteness > FAR_OUT
        most = (~np.isnan(rows)).sum(axis=1) // 2
        for i in np.flatnonzero(far.sum(axis=1) > most):
            far[i, np.argsort(-remoteness[i], kind="stable")[most[i] :]] = False
        return far

    # Learning ------------------------------------------------------------------

    def _learn_columns(self, rows):
        """Learn the usual values of each column."""
        quantiles = np.quantile(rows, [0.05, 0.5, 0.95], axis=0)
        low, median, high = quantiles
        # Each side has a standard deviation of its own; a column that is mostly one
        # value has that of all its values.
        in_units = self._in_units(rows)
        overall = rms(in_units - (in_units / len(rows)).sum(axis=0))
        overall[~(overall > 0)] = 1.0
        start, middle, end = self._in_units(quantiles)
        self._middle = middle
        self._below = np.where(low < median, (middle - start) / 1.645, overall)
        self._above = np.where(high > median, (end - middle) / 1.645, overall)
        usual = np.where(self._remoteness(rows) <= FAR_OUT, rows, median)
        self.lowest, self.highest = usual.min(axis=0), usual.max(axis=0)
        self._levels = np.full((rows.shape[1], MAX_LEVELS), np.nan)
        for column, values in enumerate(rows.T):
            levels, counts = np.unique(values, return_counts=True)
            frequent = counts >= max(2, 0.005 * len(values))
            share = counts[frequent].sum() / len(values)
            if 0 < frequent.sum() <= MAX_LEVELS and share >= 0.9:
                self._levels[column, : frequent.sum()] = levels[frequent]

    def _in_units(self, rows):
        return self.scaler.inverse_transform(rows, slice(None))

    def _remoteness(self, rows):
        """Return how many standard deviations cells are from their median."""
        distance = self._in_units(rows) - self._middle
        return np.where(distance < 0, -distance / self._below, distance / self._above)

    def _estimate(self, rows):
        """Estimate the mean, scale and shrunk correlations of complete rows."""
        self._mean = rows.mean(axis=0)
        scale, spread = rows.std(axis=0), self.highest - self.lowest
        spread = np.where(spread > 1e-6, spread, 1.0)
        self._scale = np.where(scale > 1e-6, scale, spread)
        if self.is_wide:
            return
        deviations = self._standardised(rows)
        ratio = (3 * rows.shape[1] / len(rows)) ** 2
        self._shrinkage = max(MIN_SHRINKAGE, ratio / (1 + ratio))
        correlations = deviations.T @ deviations
        correlations *= (1 - self._shrinkage) / len(rows)
        np.fill_diagonal(correlations, 1.0)
        self._precision = np.linalg.inv(correlations)
        self._diagonal = np.diag(self._precision)

    def _left_out(self, deviations):
        """Return the residuals of all cells, as if their own rows were left out."""
        residuals = deviations @ self._precision / self._diagonal
        # How much a row counts in the regression of a column on all others.
        weight = (1 - self._shrinkage) / len(deviations)
        distances = self._squared_distances(deviations)
        self._leverage = np.clip(weight * distances, 0.0, 0.9)
        distances = distances[:, None] - np.square(residuals) * self._diagonal
        return residuals / (1 - np.clip(weight * distances, 0.0, 0.9))

    def _squared_distances(self, deviations):
        return np.einsum("ij,ij->i", deviations @ self._precision, deviations)

    # Predicting ----------------------------------------------------------------

    def _standardised(self, rows):
        deviations = (rows - self._mean) / self._scale
        return np.clip(deviations, -MAX_DEVIATION, MAX_DEVIATION)

    def _regression(self, column, unknown):
        """Return the weights of the known cells in the prediction of a column."""
        others = np.flatnonzero(unknown)
        sought = np.r_[column, others[others != column]]
        rows = self._precision[sought]
        weights = -np.linalg.solve(rows[:, sought], np.eye(len(sought))[0]) @ rows
        weights[sought] = 0.0
        return weights

    def _nearest(self, deviations, unknown, distances, columns):
        """Return the training rows nearest in the known cells but the one predicted."""
        n_neighbours = max(1, min(N_NEIGHBOURS, len(self._reference) // 3))
        nearest = np.empty((*columns.shape, n_neighbours), dtype=np.intp)
        for i, own in enumerate(columns):
            theirs = self._reference.T[own].astype(np.float64)
            part = np.square(theirs) - 2 * deviations[i, own, None] * theirs
            part[unknown[i, own]] = 0.0
            # Rounded, so that training rows at the same distance remain so.
            others = (distances[i] - part).astype(np.float32)
            order = np.argpartition(others, n_neighbours - 1, axis=1)
            nearest[i] = order[:, :n_neighbours]
        return nearest

    def _quantiles(self, deviations, unknown, distances, columns):
        """Return the low, the middle and the high standardised prediction of cells."""
        nearest = self._nearest(deviations, unknown, distances, columns)
        linear = np.zeros(columns.shape)
        residuals = self._residuals[nearest, columns[:, :, None]].astype(np.float64)
        if not self.is_wide:
            weights = -self._precision / self._diagonal[:, None]
            np.fill_diagonal(weights, 0.0)
            for k, column in enumerate(columns.T):
                linear[:, k] = np.einsum("ij,ij->i", deviations, weights[column])
            is_own = np.take_along_axis(unknown, columns, axis=1)
            others_are_unknown = unknown.sum(axis=1, keepdims=True) > is_own
            for i, k in np.argwhere(others_are_unknown):
                column, theirs = columns[i, k], self._reference[nearest[i, k]]
                partial = self._regression(column, unknown[i])
                linear[i, k] = deviations[i] @ partial
                residuals[i, k] = theirs[:, column] - theirs @ partial
                residuals[i, k] /= 1 - self._leverage[nearest[i, k]]
        return linear + np.quantile(
            residuals,
            [SHARE_OUTSIDE, 0.5, 1 - SHARE_OUTSIDE],
            axis=-1,
            method="weibull",  # unbiased, however few values there are
        )

    def _finished(self, standardised, columns):
        """Return scaled values within the usual range of their columns."""
        values = standardised * self._scale[columns] + self._mean[columns]
        values = np.clip(values, self.lowest[columns], self.highest[columns])
        # The nearest level; no value is above a boundary that is NaN.
        place = np.zeros(values.shape, dtype=np.intp)
        for lower, upper in itertools.pairwise(self._levels.T):
            place += values > ((lower + upper) / 2)[columns]
        nearest = self._levels[columns, place]
        return np.where(np.isnan(nearest), values, nearest)


def cells_to_blame(model, table, contributions, n_cells):
    """Return the cells of each row that are most to blame, in the units of the data.

    The arrays, of shape (n, n_cells), are those of the columns of
    :meth:`~skim.ALTBIDetector.reasons`, and "column", the place of each cell.
    """
    scaler, parts = model.scaler, []
    expectations = CellExpectations(scaler, scaler.cells(model.sample))
    size = max(min(CHUNK_CELLS // max(n_cells, 1), CHUNK_ROWS), 1)
    for start in range(0, len(table), size):
        own = slice(start, start + size)
        rows = table.cells(own)
        parts.append(_to_blame(expectations, rows, contributions[own], n_cells))
    cells = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    columns = cells["column"]
    for name in ("expected", "low", "high"):
        cells[name] = scaler.inverse_transform(cells[name], columns)
    return cells | {"value": np.take_along_axis(table.X, columns, axis=1)}


def _to_blame(expectations, rows, contributions, n_cells):
    """Return the cells of scaled rows that are most to blame, with scaled values."""
    far_out = expectations.far_out(rows.astype(np.float64))
    order = np.lexsort((-contributions, ~far_out, np.isnan(rows)), axis=1)
    candidates = order[:, : n_cells + N_MORE_CANDIDATES]
    expected, low, high = expectations.predict(rows, candidates)
    values = np.take_along_axis(rows, candidates, axis=1)
    cells = {
        "column": candidates,
        "value": values,
        "expected": expected,
        "low": low,
        "high": high,
        "contribution": np.take_along_axis(contributions, candidates, axis=1),
        "is_outside": (values < low - ROUNDING) | (values > high + ROUNDING),
    }
    is_far = np.take_along_axis(far_out, candidates, axis=1) & cells["is_outside"]
    groups = ~cells["is_outside"], ~is_far, np.isnan(values)  # the last one first
    order = np.lexsort((-cells["contribution"], *groups), axis=1)[:, :n_cells]
    return {k: np.take_along_axis(v, order, axis=1) for k, v in cells.items()}
