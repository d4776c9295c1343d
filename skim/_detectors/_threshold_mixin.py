"""From scores to labels and probabilities."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin
from sklearn.utils._param_validation import (
    Interval,
    Options,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import check_is_fitted

from skim._model._threshold import offset_of, probability
from skim._utils import Versioned

CONTAMINATION = [
    StrOptions({"auto"}),
    Interval(Real, 0, 0.5, closed="right"),
    Options(Real, {0}),  # clean training data
]


class ThresholdMixin(Versioned, OutlierMixin):
    """Mixin for detectors that have `score_samples`, `offset_` and `training_scores_`.

    Rows whose score is below `offset_` are outliers.
    """

    fit: Callable
    score_samples: Callable
    offset_: float
    training_scores_: NDArray[np.float64]
    held_out_scores_: NDArray[np.float64] | None = None
    is_ordinary_: NDArray[np.bool_] | None = None

    def fit_predict(
        self, X: ArrayLike, y: object = None, **params: Any
    ) -> NDArray[np.int_]:
        """Fit the detector and label the training data; see :meth:`fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            +1 for inliers, -1 for outliers.
        """
        self.fit(X, y, **params)
        if getattr(self, "training_rows_", None) is not None:
            return self.predict(X)
        return np.where(self.training_scores_ < self.offset_, -1, 1)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Score rows relative to the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        decision : ndarray of shape (n_samples,)
            ``score_samples(X) - offset_``; negative for outliers.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: ArrayLike) -> NDArray[np.int_]:
        """Label rows as inliers or outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to label.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            +1 for inliers, -1 for outliers.
        """
        return np.where(self.score_samples(X) < self.offset_, -1, 1)

    def outlier_probability(self, X: ArrayLike) -> NDArray[np.float64]:
        """Map the scores of rows to [0, 1], with one half at the threshold.

        A row with 0.9 is nine times as rare as one at the threshold, if the scores of
        the training data fall off exponentially from their median. This is a
        convenient scale, not a calibrated frequency of outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        probability : ndarray of shape (n_samples,)
            Above one half for outliers, below for inliers.
        """
        return probability(self.score_samples(X), self.offset_, self.training_scores_)

    def set_contamination(self, contamination: float | str) -> Self:
        """Set the threshold anew, without training again.

        Parameters
        ----------
        contamination : "auto" or float
            Share of outliers in the training data, in (0, 0.5], or 0 if the detector
            was fitted with that.

        Returns
        -------
        self : object
            The detector, with its `contamination` and `offset_` changed.
        """
        check_is_fitted(self)
        constraints = {"contamination": CONTAMINATION} | self._parameter_constraints
        given = {"contamination": contamination}
        validate_parameter_constraints(constraints, given, type(self).__name__)
        self._set_offset(contamination)
        self.contamination = contamination
        return self

    def _set_offset(self, contamination):
        self.offset_ = offset_of(
            self.training_scores_,
            self.held_out_scores_,
            contamination,
            self.is_ordinary_,
        )

    def __sklearn_is_fitted__(self):
        return hasattr(self, "offset_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def set_verdict(detector, checked, scores, held_out=None, is_ordinary=None):
    """Set what a fit says about the training data, which `checked` has validated."""
    offset = offset_of(scores, held_out, detector.contamination, is_ordinary)
    detector.training_scores_ = scores
    detector.held_out_scores_ = held_out
    detector.is_ordinary_ = is_ordinary
    detector.offset_ = offset
    detector.n_features_in_ = checked.n_features_in_
    if hasattr(checked, "feature_names_in_"):
        detector.feature_names_in_ = checked.feature_names_in_
    elif hasattr(detector, "feature_names_in_"):
        del detector.feature_names_in_
