"""From scores to a threshold and labels."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin

from skim._training._mixture import split_point


class ThresholdMixin(OutlierMixin):
    """Mixin for detectors that have `score_samples`, `offset_` and `training_scores_`.

    Rows whose score is below `offset_` are outliers.
    """

    offset_: float
    training_scores_: NDArray[np.float64]

    @abstractmethod
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the detector."""

    @abstractmethod
    def score_samples(self, X: ArrayLike) -> NDArray[np.float64]:
        """Score rows: the lower, the more abnormal."""

    def fit_predict(self, X: ArrayLike, y: object = None) -> NDArray[np.int_]:
        """Fit the detector and label the training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training data, outliers included.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            +1 for inliers, -1 for outliers.
        """
        self.fit(X, y)
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


def threshold(scores, contamination):
    """Return the score below which a row is an outlier.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Of the training data.
    contamination : "auto" or float
        The share of outliers.
    """
    if contamination == "auto":
        return max(-split_point(-scores), scores.min())
    n_outliers = int(contamination * len(scores) + 0.5)
    if n_outliers == 0:
        return scores.min()
    lowest = np.partition(scores, [n_outliers - 1, n_outliers])
    return between(lowest[n_outliers - 1], lowest[n_outliers])


def between(below, above):
    """Return the midpoint, or `above` where no number lies between the two."""
    middle = below / 2 + above / 2
    return middle if middle > below else above
