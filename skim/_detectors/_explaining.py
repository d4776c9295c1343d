"""From scores to what each feature contributes to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from skim import _nets as nets
from skim._detectors._expecting import CellExpectations
from skim._detectors._gaps import gap_factor
from skim._detectors._scaling import ScaledTable
from skim._utils import FLOAT32_MAX, finite, import_pandas, to_frame

if TYPE_CHECKING:
    import pandas as pd

CHUNK_ROWS = 1024  # whose cells are predicted at once
N_MORE_CANDIDATES = 5  # cells looked at beyond those asked for
ROUNDING = 1e-6  # of scaled values in single precision


class ExplainMixin:
    """Mixin for detectors that can split a row's loss over its features."""

    n_jobs: int | None
    typical_contributions_: NDArray

    def explain(
        self, X: ArrayLike, *, relative: bool = False, as_frame: bool = False
    ) -> NDArray[np.float64] | pd.DataFrame:
        """Split each row's score over its features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to explain.

        relative : bool, default=False
            Whether to subtract what each feature contributes in an ordinary row of
            the training data. The largest values of a row then name the columns
            that make it abnormal, even where some columns are noisy in all rows.

        as_frame : bool, default=False
            Whether to return a pandas DataFrame, with the index of `X`, if it has
            one, and the feature names seen in `fit`, if there were any.

        Returns
        -------
        contributions : ndarray or DataFrame of shape (n_samples, n_features)
            What each feature adds to the loss ``-score_samples(X)``. The sum over
            a row is the row's loss, up to the part that the latent code and a
            normalization of the losses account for (none in
            :class:`IMAutoencoderDetector`).
        """
        this: Any = self
        contributions = this._all_contributions(this._scaled(X))
        if relative:
            contributions -= self.typical_contributions_
        if not as_frame:
            return contributions
        names = getattr(self, "feature_names_in_", None)
        return to_frame(contributions, columns=names, index=getattr(X, "index", None))

    def reasons(self, X: ArrayLike, *, n_reasons: int | None = 3) -> pd.DataFrame:
        """Compare the cells that make rows abnormal with what to expect in them.

        The expected value of a cell is predicted from the other cells of its row, and
        the range holds nine of ten values in such rows, both learned from a sample of
        the training data. The cell itself is not used for it, nor are missing cells
        and those far outside the usual values of their column.

        Cells come in the order in which they are to blame: first those far from the
        usual values of their column, then others outside of their range, then the
        rest and missing cells last; within each group by their contributions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to explain.

        n_reasons : int or None, default=3
            Number of cells per row; None means all.

        Returns
        -------
        reasons : DataFrame
            `n_reasons` rows for each row of `X`, with the columns "row" (its index, or
            its number), "feature", "value", "expected", "low", "high",
            "contribution", as of :meth:`explain` with ``relative=True``, and
            "is_outside": whether the value is outside of its range.
        """
        pd = import_pandas("reasons needs pandas: pip install pandas")
        this: Any = self
        check_is_fitted(this, "offset_")
        valid = validate_data(
            this, X, reset=False, ensure_all_finite="allow-nan", dtype=np.float64
        )
        rows = ScaledTable(this._scaler, valid)
        contributions = this._all_contributions(rows)
        contributions -= self.typical_contributions_
        expectations = CellExpectations(this._scaler, this._scaler.cells(this._sample))
        n_features = valid.shape[1]
        n_reasons = n_features if n_reasons is None else min(n_reasons, n_features)
        index = getattr(X, "index", None)
        index = index if isinstance(index, pd.Index) else pd.RangeIndex(len(valid))
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = np.array([f"x{j}" for j in range(n_features)])
        parts = []
        for start in range(0, len(valid), CHUNK_ROWS):
            chosen = slice(start, start + CHUNK_ROWS)
            parts.append(
                blamed_cells(
                    expectations, rows.cells(chosen), contributions[chosen], n_reasons
                )
            )
        cells = {
            name: np.concatenate([part[name] for part in parts]) for name in parts[0]
        }
        columns = cells["column"]
        in_units = {
            name: this._scaler.inverse_transform(cells[name], columns).ravel()
            for name in ("expected", "low", "high")
        }
        return pd.DataFrame(
            {
                "row": np.repeat(np.asarray(index), n_reasons),
                "feature": names[columns].ravel(),
                "value": np.take_along_axis(valid, columns, axis=1).ravel(),
                **in_units,
                "contribution": cells["contribution"].ravel(),
                "is_outside": cells["is_outside"].ravel(),
            }
        )

    def _all_contributions(self, rows):
        """Split the losses of the rows of a table over their features."""
        contributions = np.empty(rows.X.shape)
        with nets.compute():
            for block, part in rows:
                contributions[block] = self._contributions_of_all_cells(
                    part, rows.X[block]
                )
        return contributions

    def _contributions_of_all_cells(self, rows, X):
        """Split the losses of rows over their features, missing and far cells included.

        A missing cell contributes what its column does in an ordinary row.
        """
        this: Any = self
        contributions = this._contributions(rows.values)
        if this._scaler.column_shares_ is not None:
            contributions = this._scaler.over_columns(contributions, this._typical, X)
        if rows.missing is not None:
            typical = self.typical_contributions_
            n_features = (this._scaler.n_known_ > 0).sum()
            factor = gap_factor(rows.missing, n_features)
            has_gaps = rows.missing.any(axis=1)
            excess = np.where(rows.missing, 0.0, contributions - typical)
            filled = typical + excess * factor[:, None]
            contributions = np.where(has_gaps[:, None], filled, contributions)
        if rows.far is not None:
            row, column, losses = rows.far
            np.add.at(contributions, (row, column), this._loss_unit() * losses)
        return finite(contributions, nan=FLOAT32_MAX)

    def _gradient_products(self, X):
        """Return the inner products, (M, n, n), of the gradients of rows' losses."""
        this: Any = self
        state = (
            np.ascontiguousarray(this._scaled(X).values().T),
            this.weights_[-1],
            this._statistics[-1],
            this._noise,
        )
        device = nets.device_or_cpu(this.device_)
        with nets.compute():
            x, weights, statistics, noise = (
                nets.as_tensor(part, device) for part in state
            )
            products = nets.gradient_products(
                this._shape(), weights, statistics, x, noise
            )
        return products.cpu().numpy().astype(np.float64)


def blamed_cells(expectations, rows, contributions, n_cells):
    """Return the cells of scaled rows that are most to blame, and their ranges.

    Parameters
    ----------
    expectations : CellExpectations
    rows : ndarray of shape (n, p)
    contributions : ndarray of shape (n, p)
        Relative to those of an ordinary row.
    n_cells : int

    Returns
    -------
    cells : dict of str to ndarray of shape (n, n_cells)
        "column", "expected", "low", "high", "contribution" and "is_outside".
    """
    far_out = expectations.far_out(rows.astype(np.float64))
    order = np.lexsort((-contributions, ~far_out, np.isnan(rows)), axis=1)
    candidates = order[:, : n_cells + N_MORE_CANDIDATES]
    expected, low, high = expectations.predict(rows, candidates)
    values = np.take_along_axis(rows, candidates, axis=1)
    cells = {
        "column": candidates,
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
