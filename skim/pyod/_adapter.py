"""PyOD detectors as scikit-learn estimators: low scores and -1 for outliers."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pyod.models.base import BaseDetector
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from skim._detectors._threshold_mixin import ThresholdMixin


class PyODDetector(ThresholdMixin, BaseEstimator):
    """A PyOD detector as a scikit-learn outlier detector.

    Scores and labels follow scikit-learn's conventions, the threshold of
    `decision_function` is 0, and input is validated as in scikit-learn.

    Read more in the :doc:`User Guide </pyod>`.

    Parameters
    ----------
    detector : BaseDetector
        An unsupervised PyOD detector. A clone of it is fitted. Its parameters are
        available as nested parameters, with the prefix ``detector__``.

    Attributes
    ----------
    detector_ : BaseDetector
        The fitted PyOD detector.

    offset_ : float
        Threshold: ``decision_function = score_samples - offset_``. It is the
        negated `threshold_` of the detector.

    training_scores_ : ndarray of shape (n_samples,)
        Scores of the training data, the negated `decision_scores_` of the detector.
        They may differ from `score_samples` for detectors such as kNN and LOF, which
        do not count a training row as its own neighbour.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only when `X` has
        feature names that are all strings.

    Examples
    --------
    >>> from pyod.models.iforest import IForest
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skim.pyod import from_pyod
    >>> pipeline = make_pipeline(StandardScaler(), from_pyod(IForest(random_state=0)))
    >>> pipeline.fit_predict([[0.0], [0.1], [0.2], [0.1], [5.0]])
    array([ 1,  1,  1,  1, -1])
    """

    _parameter_constraints: dict = {"detector": [BaseDetector]}

    def __init__(self, detector: BaseDetector):
        self.detector = detector

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit a clone of the detector to unlabelled data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training data, outliers included.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
        """
        X = validate_data(self, X, ensure_min_samples=2)
        self.detector_ = clone(self.detector).fit(X)
        self.training_scores_ = self._negated(self.detector_.decision_scores_)
        self.offset_ = -float(self.detector_.threshold_)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags

    def score_samples(self, X: ArrayLike) -> NDArray[np.float64]:
        """Score rows: the lower, the more abnormal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The negated `decision_function` of the PyOD detector.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return self._negated(self.detector_.decision_function(X))

    def _negated(self, scores):
        """Return PyOD's scores with scikit-learn's sign."""
        scores = -np.asarray(scores, dtype=np.float64).ravel()
        n_missing = np.count_nonzero(np.isnan(scores))
        if n_missing:
            raise ValueError(
                f"{type(self.detector).__name__} returned NaN scores for {n_missing} "
                f"of {len(scores)} rows; change its parameters or the features."
            )
        return scores


def from_pyod(detector: BaseDetector) -> PyODDetector:
    """Wrap a PyOD detector as a scikit-learn outlier detector.

    Parameters
    ----------
    detector : BaseDetector
        An instance of an unsupervised PyOD detector.

    Returns
    -------
    estimator : PyODDetector
        The unfitted estimator, whose `fit` fits a clone of `detector`.
    """
    return PyODDetector(detector)
