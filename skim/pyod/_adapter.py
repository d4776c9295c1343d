"""PyOD detectors as scikit-learn estimators: low scores and -1 for outliers."""

from __future__ import annotations

import inspect
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pyod.models.base import BaseDetector
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from skim._detectors._threshold_mixin import ThresholdMixin
from skim._model._threshold import between
from skim._utils import unmasked


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
        negated `threshold_` of the detector, or, with a PyThresh object as
        `contamination`, the midpoint between the training scores of inliers and
        outliers.

    training_scores_ : ndarray of shape (n_samples,)
        Scores of the training data, the negated `decision_scores_` of the detector.
        They may differ from `score_samples` for detectors such as kNN and LOF, which
        do not count a training row as its own neighbour.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only when `X` has
        feature names that are all strings.

    See Also
    --------
    from_pyod : Wrap a PyOD detector.
    skim.ALTBIDetector : A detector with the scikit-learn interface.

    Examples
    --------
    >>> import numpy as np
    >>> from pyod.models.knn import KNN
    >>> from skim.pyod import PyODDetector
    >>> X = np.r_[np.random.default_rng(0).normal(size=(99, 2)), [[9.0, 9.0]]]
    >>> detector = PyODDetector(KNN(contamination=0.01)).fit(X)
    >>> detector.predict([[0.0, 0.0], [9.0, -9.0]])
    array([ 1, -1])
    """

    _parameter_constraints: dict = {"detector": [BaseDetector]}
    _stored = ("offset_", "detector_")

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
        # A failed fit must not leave the estimator fitted.
        self.__dict__.pop("offset_", None)
        X = validate_data(self, unmasked(X), ensure_min_samples=2)
        y_of_fit = inspect.signature(self.detector.fit).parameters["y"]
        if y_of_fit.default is y_of_fit.empty:
            raise ValueError(
                f"{self._name()} requires labels; use an unsupervised PyOD detector."
            )
        self.detector_ = clone(self.detector).fit(X)
        self.training_scores_ = self._negated(self.detector_.decision_scores_, X)
        self.offset_ = self._offset()
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
        X = validate_data(self, unmasked(X), reset=False)
        return self._negated(self.detector_.decision_function(X), X)

    def _name(self):
        return type(self.detector).__name__

    def _negated(self, scores, X):
        """Return PyOD's scores for `X` with scikit-learn's sign."""
        scores = -np.asarray(scores, dtype=np.float64).ravel()
        if len(scores) != len(X):
            raise ValueError(
                f"{self._name()} returned {len(scores)} scores for {len(X)} rows."
            )
        n_missing = np.count_nonzero(np.isnan(scores))
        if n_missing:
            raise ValueError(
                f"{self._name()} returned NaN scores for {n_missing} of {len(X)} rows; "
                "change its parameters or the features."
            )
        return scores

    def _offset(self):
        """Return the score below which a row is an outlier."""
        if isinstance(self.detector_.contamination, (float, int)):
            offset = -float(self.detector_.threshold_)
        else:
            offset = self._offset_of_labels()
        if not np.isfinite(offset):
            raise ValueError(
                f"The threshold of {self._name()} is {offset}, not finite; change its "
                "parameters or the features."
            )
        return offset

    def _offset_of_labels(self):
        """Return a threshold that reproduces the labels of a PyThresh object.

        The object's own threshold is on a scale of its own.
        """
        is_outlier = self.detector_.labels_ == 1
        below = self.training_scores_[is_outlier].max(initial=-np.inf)
        above = self.training_scores_[~is_outlier].min(initial=np.inf)
        if not is_outlier.any():
            return above
        if is_outlier.all():
            return np.nextafter(below, np.inf)
        if above <= below:
            name = type(self.detector_.contamination).__name__
            raise ValueError(
                f"No threshold reproduces the labels of {name}; give the detector "
                "another contamination."
            )
        return between(below, above)


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
    if not isinstance(detector, BaseDetector):
        is_class = isinstance(detector, type)
        hint = f"; did you mean {detector.__name__}()?" if is_class else "."
        raise TypeError(
            f"detector must be a PyOD detector instance, not {detector!r}{hint}"
        )
    return PyODDetector(detector)
