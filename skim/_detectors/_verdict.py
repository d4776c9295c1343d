"""What follows from scores and a threshold."""

from abc import abstractmethod

import numpy as np
from sklearn.base import OutlierMixin


class ThresholdMixin(OutlierMixin):
    """Mixin for detectors that have `score_samples`, `offset_` and `training_scores_`.

    Rows whose score is below `offset_` are outliers.
    """

    offset_: float
    training_scores_: np.ndarray

    @abstractmethod
    def fit(self, X, y=None):
        """Fit the detector."""

    @abstractmethod
    def score_samples(self, X):
        """Score rows: the lower, the more of an outlier."""

    def fit_predict(self, X, y=None):
        """Fit the detector and tell inliers from outliers in the training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training data, outliers included.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            +1 for inliers, -1 for outliers, by the `training_scores_`.
        """
        return self._labels(self.fit(X).training_scores_)

    def decision_function(self, X):
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

    def predict(self, X):
        """Tell inliers from outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            +1 for inliers, -1 for outliers.
        """
        return self._labels(self.score_samples(X))

    def _labels(self, scores):
        return np.where(scores < self.offset_, -1, 1)


def between(below, above):
    """Return what lies half-way, or `above` where no number lies between the two."""
    middle = below / 2 + above / 2
    return middle if middle > below else above
