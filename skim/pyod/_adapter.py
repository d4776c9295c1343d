"""PyOD's detectors as scikit-learn estimators: low scores and -1 for outliers."""

import inspect

import numpy as np
from pyod.models.base import BaseDetector
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from skim._detectors._verdict import ThresholdMixin, between


class PyODDetector(ThresholdMixin, BaseEstimator):
    """A PyOD detector as a scikit-learn outlier detector.

    Scores and labels have scikit-learn's signs, 0 is the threshold of
    `decision_function`, and data is validated the way scikit-learn does it.

    Read more in :doc:`/pyod`.

    Parameters
    ----------
    detector : BaseDetector
        A PyOD detector that learns from a table without labels. A clone of it is
        fitted. Its parameters are parameters of this estimator as well, with
        ``detector__`` before their names.

    Attributes
    ----------
    detector_ : BaseDetector
        The fitted PyOD detector.

    offset_ : float
        Threshold: ``decision_function = score_samples - offset_``. It is the
        negated `threshold_` of the detector; with a PyThresh object as
        `contamination`, it lies half-way between the training scores of inliers
        and outliers.

    training_scores_ : ndarray of shape (n_samples,)
        Scores of the training data, the negated `decision_scores_` of the
        detector. Some detectors, such as kNN and LOF, leave out the row itself
        here, and `score_samples` of the same row differs.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only when `X` has
        feature names that are all strings.

    See Also
    --------
    from_pyod : Makes one.
    skim.ALTBIDetector : One of skim's detectors, which need no adapter.

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

    def __init__(self, detector):
        self.detector = detector

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
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
            The fitted estimator.
        """
        # A fit that fails must not leave an estimator that counts as fitted.
        self.__dict__.pop("offset_", None)
        X = validate_data(self, X, ensure_min_samples=2)
        if "y" in _required(self.detector.fit):
            raise ValueError(
                f"{self._name()} learns from labels; "
                "take a PyOD detector that can be fitted without."
            )
        self.detector_ = clone(self.detector).fit(X)
        self.training_scores_ = self._negated(self.detector_.decision_scores_, X)
        self.offset_ = self._offset()
        return self

    def __sklearn_is_fitted__(self):
        return hasattr(self, "offset_")

    def score_samples(self, X):
        """Score rows: the lower, the more of an outlier.

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
        return self._negated(self.detector_.decision_function(X), X)

    def _name(self):
        return type(self.detector).__name__

    def _negated(self, scores, X):
        """Turn PyOD's scores of the rows of `X` into scikit-learn's."""
        scores = -np.asarray(scores, dtype=np.float64).ravel()
        if len(scores) != len(X):
            raise ValueError(
                f"{self._name()} gave {len(scores)} scores for {len(X)} rows."
            )
        n_missing = np.count_nonzero(np.isnan(scores))
        if n_missing:
            raise ValueError(
                f"{self._name()} gave NaN as the score of {n_missing} of {len(X)} "
                "rows; change its parameters or the features."
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
                f"{self._name()} found no finite threshold; "
                "change its parameters or the features."
            )
        return offset

    def _offset_of_labels(self):
        """Return what parts the labels that a PyThresh object gave.

        Its own threshold is on a scale that only the object knows.
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
                f"The labels of {name} are not those of any threshold; "
                "give the detector another contamination."
            )
        return between(below, above)


def _required(method):
    parameters = inspect.signature(method).parameters.values()
    return [each.name for each in parameters if each.default is each.empty]


def from_pyod(detector):
    """Turn a PyOD detector into a scikit-learn outlier detector.

    Parameters
    ----------
    detector : BaseDetector
        An instance of a PyOD detector that learns from a table without labels.

    Returns
    -------
    estimator : PyODDetector
        The unfitted estimator; a clone of `detector` is fitted by its `fit`.

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
        raise TypeError(f"from_pyod takes a PyOD detector, not {detector!r}{hint}")
    return PyODDetector(detector)
