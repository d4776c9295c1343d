"""From scores to what each feature contributes to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray

from skim import _nets as nets
from skim._utils import to_frame

if TYPE_CHECKING:
    import pandas as pd


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
        rows = this._scaled(X)
        with nets.compute(effective_n_jobs(self.n_jobs)):
            contributions = this._contributions(rows)
        if relative:
            contributions -= self.typical_contributions_
        if not as_frame:
            return contributions
        names = getattr(self, "feature_names_in_", None)
        return to_frame(contributions, columns=names, index=getattr(X, "index", None))

    def _gradient_products(self, X):
        """Return the inner products, (M, n, n), of the gradients of rows' losses."""
        this: Any = self
        state = this._scaled(X).T, this.weights_[-1], this._statistics[-1], this._noise
        device = nets.device_or_cpu(this.device_)
        with nets.compute(effective_n_jobs(self.n_jobs)):
            x, weights, statistics, noise = (
                nets.as_tensor(part, device) for part in state
            )
            products = nets.gradient_products(
                this._shape(), weights, statistics, x, noise
            )
        return products.cpu().numpy().astype(np.float64)
