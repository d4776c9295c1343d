"""From a wide table to the few directions in which its rows differ most."""

import copy

import numpy as np
from sklearn.decomposition import PCA

from skim._detectors._gaps import gap_factor
from skim._detectors._scaling import (
    BLOCK_CELLS,
    FREE,
    InputScaler,
    ScaledRows,
)
from skim._utils import evenly_spaced

MIN_FEATURES = 200  # of a wide table
MAX_COMPONENTS = 128
ROWS_PER_COMPONENT = 3
MAX_ROWS = 10_000  # that the directions are learned from
CHUNK_ROWS = 64  # projected at once

# Cells count at most so many standard deviations, and columns at most so many times
# as much or as little as the median column: an absurd cell has no direction of its
# own, and units matter little.
REACH = 6.0
MAX_WEIGHT = 3.0
SHARE_FAR = 0.05  # of the rows; some of so many cells are further out than most
ROUNDING = 1e-12  # of squared lengths
N_FILLS = 10  # rounds in which gaps are filled by the components of the other cells


class ComponentScaler(InputScaler):
    """Project the cells of wide rows onto their principal components.

    The networks see the components, min-max scaled, and how much further a row is from
    the space that they span than all rows of the training data. Missing cells are taken
    to be what the components of the other cells of their row imply.

    Parameters
    ----------
    n_components : int
        Largest number of components; there is at most one for every three rows.
    far_loss : float
        As for `InputScaler`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
    """

    constant_tail = 1.0  # the networks hardly see the only odd cell of a wide row

    def __init__(self, n_components, *, far_loss):
        super().__init__("squash", far_loss=far_loss)
        self.n_components = n_components

    def partial_fit(self, X):
        """Learn the cells' distribution, and the components from the first rows."""
        is_first = self.n_seen_ == 0
        super().partial_fit(X)
        if is_first:
            self._learn_components(X)
            self._ends = InputScaler("minmax")
        self._ends = copy.copy(self._ends)
        size = max(BLOCK_CELLS // X.shape[1], CHUNK_ROWS)
        for start in range(0, len(X), size):
            self._ends.partial_fit(self._project(self.cells(X[start : start + size])))
        self.fill_ = np.zeros_like(self._ends.fill_)  # there are no gaps any more
        return self

    def _learn_components(self, X):
        spread = np.nan_to_num(self.spread_ * self.half_range_)
        varies = ~self.constant_ & (spread > 0)
        median = np.median(spread[varies]) if varies.any() else 1.0
        with np.errstate(over="ignore"):
            weights = np.clip(spread / median, 1 / MAX_WEIGHT, MAX_WEIGHT)
        self._weights = np.where(varies, weights, 1.0)
        self._origin = np.zeros(X.shape[1])
        sample = X[evenly_spaced(len(X), MAX_ROWS)]
        tails = np.abs(self._to_unit(sample) - self.center_)
        tails /= np.where(self.tail_ > 0, self.tail_, self.constant_tail)
        furthest = np.fmax.reduce(tails, axis=1, initial=0.0)
        self.free = max(FREE, np.quantile(furthest, 1 - SHARE_FAR))
        deviations = np.nan_to_num(self._deviations(self.cells(sample)))
        most = max(len(sample) // ROWS_PER_COMPONENT, 1)
        n_components = min(self.n_components, X.shape[1], most)
        with np.errstate(invalid="ignore"):  # if all rows are equal
            pca = PCA(n_components, random_state=0).fit(deviations)
        variance = pca.explained_variance_
        self.components_ = pca.components_[variance > ROUNDING * variance.sum()]
        self._origin = pca.mean_
        squares = np.square(self.components_)
        outside = np.maximum(1 - squares.sum(axis=0), 0.0) + ROUNDING
        self.column_shares_ = np.vstack([squares, outside / outside.sum()])

    def inputs(self, cells):
        """Return what the networks see of scaled cells."""
        inputs = self._ends.transform(self._project(cells))
        inputs[:, -1] = np.maximum(inputs[:, -1] - 1, 0)
        return inputs

    def scale(self, X):
        """Return what the networks see, and the far cells."""
        rows = super().scale(X)
        return ScaledRows(self.inputs(rows.values), None, rows.far)

    def _deviations(self, cells):
        """Return the weighted deviations of cells from the mean row."""
        z = 3 * np.arctanh(np.clip(2.0 * cells - 1, -0.999999, 0.999999))
        return self._weights * np.clip(z, -REACH, REACH) - self._origin

    def _project(self, cells):
        """Return the components, and the distances from the space they span."""
        n_rows, n_components = len(cells), len(self.components_)
        projected = np.empty((n_rows, n_components + 1))
        # In parts of one fixed shape, so that a row is not rounded by its company.
        part = np.zeros((CHUNK_ROWS, cells.shape[1]))
        for start in range(0, n_rows, CHUNK_ROWS):
            stop = min(start + CHUNK_ROWS, n_rows)
            part[: stop - start] = self._deviations(cells[start:stop])
            missing = np.isnan(part)
            deviations = self._filled(part, missing)
            components = deviations @ self.components_.T
            squared = np.square(deviations).sum(axis=1)
            outside = squared - np.square(components).sum(axis=1)
            outside[outside < ROUNDING * squared] = 0.0
            # The known cells of a row stand for the others.
            distances = np.sqrt(outside) * gap_factor(missing, missing.shape[1])
            found = np.column_stack([components, distances])
            projected[start:stop] = found[: stop - start]
        return projected

    def _filled(self, deviations, missing):
        """Fill the gaps of deviations by the components of the known cells."""
        if not missing.any():
            return deviations
        filled = np.where(missing, 0.0, deviations)
        for _ in range(N_FILLS):
            inside = filled @ self.components_.T @ self.components_
            filled = np.where(missing, inside, deviations)
        return filled

    def over_columns(self, terms, typical, X):
        """Split what the inputs add to the losses of rows over the columns.

        What an input adds, beyond what is typical, falls to the columns by their
        squared share in it.

        Parameters
        ----------
        terms : ndarray of shape (n, n_inputs)
        typical : ndarray of shape (n_inputs,)
        X : ndarray of shape (n, p)

        Returns
        -------
        contributions : ndarray of shape (n, p)
        """
        cells, excess = self.cells(X), terms - typical
        missing = np.isnan(cells)
        deviations = self._filled(self._deviations(cells), missing)
        inside = deviations @ self.components_.T @ self.components_
        outside = np.where(missing, 0.0, np.square(deviations - inside))
        squares = np.where(missing, 0.0, np.square(deviations))
        shares = self.column_shares_[:-1]
        totals = np.column_stack([squares @ shares.T, outside.sum(axis=1)])
        excess /= np.where(totals > 0, totals, np.inf)
        contributions = squares * (excess[:, :-1] @ shares) + outside * excess[:, -1:]
        return contributions + typical @ self.column_shares_
