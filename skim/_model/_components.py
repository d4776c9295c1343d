"""From a wide table to the few directions in which its rows differ most."""

import numpy as np
from sklearn.decomposition import PCA

from skim._model._scaling import FAR_AWAY, FREE, InputScaler, ScaledRows, gap_factor
from skim._utils import evenly_spaced

MIN_FEATURES = 200  # of a wide table
MAX_COMPONENTS = 128
ROWS_PER_COMPONENT = 3
MAX_ROWS = 10_000  # that the directions are learned from
CHUNK_ROWS = 64  # always projected at once, or rows would depend on their batch

# Cells count at most so many standard deviations, and columns at most so many times
# as much or as little as the median column: an absurd cell has no direction of its
# own, and units matter little.
REACH = 6.0
MAX_WEIGHT = 3.0
# Rows further from the components of others, in distances from the median to the upper
# quartile, have no say in the components: a row that is alone in its direction would
# have one of its own, in which nothing contradicts it.
MAX_DISTANCE = 6.0
SHARE_FAR = 0.05  # of the rows; some of so many cells are further out than most
ROUNDING = 1e-12  # of squared lengths
N_FILLS = 10  # rounds in which gaps are filled by the components of the other cells


class ComponentScaler(InputScaler):
    """Project the cells of wide rows onto their principal components.

    The networks see the components, min-max scaled. Rows that are further from the
    space that they span than those that the components are made of get a loss for
    that, split over their cells. Missing cells are taken to be what the components of
    the other cells of their row imply.
    """

    constant_tail = 1.0  # the networks hardly see the only odd cell of a wide row

    def __init__(self, n_components, *, far_loss):
        super().__init__("squash", far_loss=far_loss)
        self.n_components = n_components

    def fit(self, X):
        """Learn the distribution of the cells, and the components."""
        super().fit(X)
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
        cells = self.cells(sample)
        deviations = np.nan_to_num(self._deviations(cells))
        chosen = _like_others(deviations, self.n_components)
        pca = _components(deviations[chosen], self.n_components)
        variance = pca.explained_variance_
        n_components = max((variance > ROUNDING * variance.sum()).sum(), 1)
        self.components_ = pca.components_[:n_components]
        self._origin = pca.mean_
        self.column_shares_ = np.square(self.components_)
        projected, distances = self._project(cells[chosen])
        self._ends = InputScaler("minmax").fit(projected)
        self._reach = distances.max()
        lengths = np.sqrt(np.square(deviations).sum(axis=1))
        self._unit = self._reach or np.median(lengths) or 1.0
        self.fill_ = np.zeros_like(self._ends.fill_)  # there are no gaps any more
        return self

    def scale(self, X):
        """Return what the networks see, and the cells that lie far out."""
        rows = super().scale(X)
        projected, distances = self._project(rows.values)
        beyond = np.minimum((distances - self._reach) / self._unit, FAR_AWAY)
        far = rows.far
        odd = np.flatnonzero(beyond > 0)
        if len(odd):  # what is outside of the components adds to the loss by itself
            outside = self._outside(rows.values[odd])
            losses = outside / outside.sum(axis=1, keepdims=True)
            losses *= self.far_loss * beyond[odd, None]
            # So that rounding does not depend on the other rows of the batch.
            losses = losses.astype(np.float32)
            row, column = np.nonzero(losses)
            own = odd[row], column, losses[row, column]
            far = own if far is None else tuple(map(np.append, far, own))
        return ScaledRows(self._ends.transform(projected), None, far)

    def _deviations(self, cells):
        """Return the weighted deviations of cells from the mean row."""
        z = 3 * np.arctanh(np.clip(2.0 * cells - 1, -0.999999, 0.999999))
        return self._weights * np.clip(z, -REACH, REACH) - self._origin

    def _project(self, cells):
        """Return the components, and the distances from the space they span."""
        projected = np.empty((len(cells), len(self.components_)))
        distances = np.empty(len(cells))
        for chunk, deviations, missing in self._chunks(cells):
            components = deviations @ self.components_.T
            squared = np.square(deviations).sum(axis=1)
            outside = squared - np.square(components).sum(axis=1)
            outside[outside < ROUNDING * squared] = 0.0
            # The known cells of a row stand for the others.
            outside = np.sqrt(outside) * gap_factor(missing, missing.shape[1])
            n_rows = chunk.stop - chunk.start
            projected[chunk], distances[chunk] = components[:n_rows], outside[:n_rows]
        return projected, distances

    def _outside(self, cells):
        """Return the squares of what the components do not account for."""
        outside = np.empty(cells.shape)
        for chunk, deviations, missing in self._chunks(cells):
            rest = deviations - self._inside(deviations)
            found = np.where(missing, 0.0, np.square(rest))
            outside[chunk] = found[: chunk.stop - chunk.start]
        return outside

    def _chunks(self, cells):
        """Yield rows, their deviations, with gaps filled, and what was missing."""
        deviations = np.zeros((CHUNK_ROWS, cells.shape[1]))
        for start in range(0, len(cells), CHUNK_ROWS):
            chunk = slice(start, min(start + CHUNK_ROWS, len(cells)))
            deviations[: chunk.stop - start] = self._deviations(cells[chunk])
            missing = np.isnan(deviations)
            yield chunk, self._filled(deviations, missing), missing

    def _filled(self, deviations, missing):
        """Fill the gaps of deviations by the components of the known cells."""
        if not missing.any():
            return deviations
        filled = np.where(missing, 0.0, deviations)
        for _ in range(N_FILLS):
            filled = np.where(missing, self._inside(filled), deviations)
        return filled

    def _inside(self, deviations):
        return deviations @ self.components_.T @ self.components_

    def by_column(self, by_input):
        """Return what columns add to losses, of shape (..., p), given their inputs."""
        return by_input @ self.column_shares_

    def over_columns(self, terms, typical, X):
        """Split what inputs add to losses over the columns, by their squared shares."""
        squares = np.nan_to_num(np.square(self._deviations(self.cells(X))))
        totals = squares @ self.column_shares_.T
        excess = (terms - typical) / np.where(totals > 0, totals, np.inf)
        contributions = squares * (excess @ self.column_shares_)
        return contributions + self.by_column(typical)


def _like_others(deviations, n_components):
    """Return the rows of either half that the components of the other one describe."""
    if len(deviations) < 2 * ROWS_PER_COMPONENT:
        return np.ones(len(deviations), dtype=bool)
    distances = np.empty(len(deviations))
    for own, other in ((0, 1), (1, 0)):
        pca = _components(deviations[other::2], n_components)
        rows = deviations[own::2] - pca.mean_
        outside = rows - rows @ pca.components_.T @ pca.components_
        distances[own::2] = np.sqrt(np.square(outside).sum(axis=1))
    middle, high = np.quantile(distances, [0.5, 0.75])
    return distances <= middle + MAX_DISTANCE * (high - middle)


def _components(deviations, n_components):
    most = max(len(deviations) // ROWS_PER_COMPONENT, 1)
    n_components = min(n_components, deviations.shape[1], most)
    with np.errstate(invalid="ignore"):  # if all rows are equal
        return PCA(n_components, random_state=0).fit(deviations)
