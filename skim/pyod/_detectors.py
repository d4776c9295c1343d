"""skim detectors as PyOD detectors: high scores and label 1 for outliers."""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pyod.models.base import BaseDetector
from sklearn.utils.validation import check_is_fitted

from skim import ALTBIDetector, IMAutoencoderDetector, NetworkDetector, ODIMDetector
from skim._utils import shared_docs

FITTED = ("detector_", "decision_scores_", "labels_", "threshold_")


DOCS = """Read more in the :doc:`User Guide </pyod>`.

Parameters
----------
contamination : float or PyThresh object, default=0.1
    Share of outliers in the training data, in (0, 0.5], which sets the
    threshold, or an object that finds the threshold from the training scores,
    such as ``pyod.models.thresholds.IQR()``.

**params : dict
    The other parameters of :class:`skim.{name}`, with the same defaults.

Attributes
----------
decision_scores_ : ndarray of shape (n_samples,)
    Scores of the training data, high for outliers.

threshold_ : float
    Rows with a higher score are outliers. With a PyThresh object, this is the
    threshold of that object, on a scale of its own.

labels_ : ndarray of shape (n_samples,)
    Labels of the training data: 0 for inliers, 1 for outliers.

detector_ : object
    The fitted skim detector, with `history_` and more. Its own threshold is not
    used.

n_features_in_ : int
    Number of features seen during `fit`.

feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Names of features seen during `fit`. Defined only when `X` has
    feature names that are all strings."""


class PyODIMDetector(BaseDetector):
    """Base class of skim's PyOD detectors.

    Warning: this class should not be used directly. Use derived classes instead.
    """

    _detector_class: type[Any]

    def __init_subclass__(cls, *, of: type[Any]) -> None:
        """Take the signature from a skim detector, and fill in the documentation."""
        super().__init_subclass__()
        cls._detector_class = of
        parameters = dict(inspect.signature(of.__init__).parameters)
        contamination = parameters["contamination"]
        parameters["contamination"] = contamination.replace(default=0.1)

        def __init__(self, *args, **params):
            super(cls, self).__init__(*args, **params)

        __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [*parameters.values()]
        )
        cls.__init__ = __init__  # type: ignore[method-assign]
        shared_docs(shared=DOCS.replace("{name}", of.__name__))(cls)

    def __init__(self, *args: Any, contamination: float | Any = 0.1, **params: Any):
        params = self._detector_class(*args, **params).get_params(deep=False)
        for name, value in params.items():
            setattr(self, name, value)
        super().__init__(contamination=contamination)

    @classmethod
    def paper(cls, *, contamination: float | Any = 0.1, **params: Any) -> Self:
        """Make a detector with the settings of the original method.

        Parameters
        ----------
        contamination : float or PyThresh object, default=0.1
            As in the constructor.

        **params : dict
            Parameters that override these settings.

        Returns
        -------
        detector : object
        """
        return cls._like(cls._detector_class.paper(**params), contamination)

    @classmethod
    def _like(cls, detector, contamination):
        """Return a detector with the parameters of a skim detector."""
        params = detector.get_params(deep=False)
        return cls(**(params | {"contamination": contamination}))

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the detector to unlabelled data.

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
        params = self.get_params(deep=False)
        # A failed fit must not leave the detector fitted.
        for name in FITTED:
            self.__dict__.pop(name, None)
        if not self._check_contamination():
            params["contamination"] = "auto"  # not used
        detector = self._detector_class(**params).fit(X)
        # With labels, PyOD would take their number of classes in predict_proba.
        self._set_n_classes(None)
        self.detector_ = detector
        if detector.training_rows_ is None:
            self.decision_scores_ = -detector.training_scores_
        else:
            self.decision_scores_ = -detector.score_samples(X)
        self._process_decision_scores()
        return self

    def _check_contamination(self):
        """Return whether `contamination` is a number rather than a thresholder."""
        given = self.contamination
        is_number = isinstance(given, (float, int))  # as in PyOD
        if not (0 < given <= 0.5 if is_number else hasattr(given, "predict")):
            raise ValueError(
                "contamination must be a Python float in (0, 0.5] or a PyThresh "
                f"object, not {given!r}."
            )
        return is_number

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Score rows: the higher, the more abnormal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The loss of each row, averaged over the ensemble members and the
            snapshots: ``-score_samples(X)`` of the skim detector.
        """
        check_is_fitted(self, FITTED)
        return -self.detector_.score_samples(X)

    def explain(self, X: ArrayLike, **params: Any) -> Any:
        """Split ``decision_function(X)`` over the features.

        See :meth:`skim.ALTBIDetector.explain`.
        """
        check_is_fitted(self, FITTED)
        return self.detector_.explain(X, **params)

    @property
    def n_features_in_(self) -> int:
        """Number of features seen during `fit`."""
        return self.detector_.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of features seen during `fit`, if they were all strings."""
        return self.detector_.feature_names_in_


class ALTBI(PyODIMDetector, of=ALTBIDetector):
    """:class:`skim.ALTBIDetector` as a PyOD detector.

    An ensemble of small variational autoencoders is trained with a truncated loss.
    Rows that they reconstruct poorly are outliers.

    <shared>

    Examples
    --------
    >>> import numpy as np
    >>> from skim.pyod import ALTBI
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(200, 3)), [[6.0, -6.0, 6.0]]]
    >>> detector = ALTBI(contamination=0.005, random_state=0).fit(X)
    >>> detector.predict([[0.0, 0.0, 0.0], [6.0, -6.0, 6.0]])
    array([0, 1])
    """


class ODIM(PyODIMDetector, of=ODIMDetector):
    """:class:`skim.ODIMDetector` as a PyOD detector.

    An ensemble of small variational autoencoders is trained, each up to the update
    at which its losses separate best. Rows that they reconstruct poorly are outliers.

    <shared>
    """


class IMAutoencoder(PyODIMDetector, of=IMAutoencoderDetector):
    """:class:`skim.IMAutoencoderDetector` as a PyOD detector.

    An ensemble of autoencoders with one hidden layer is trained, each up to the epoch
    at which its errors separate best. Rows that they reconstruct poorly are outliers.

    <shared>
    """

    @classmethod
    def theorem(cls, *, contamination: float | Any = 0.1, **params: Any) -> Self:
        """Make a detector in the setting of the theorem.

        See :meth:`skim.IMAutoencoderDetector.theorem`.
        """
        return cls._like(cls._detector_class.theorem(**params), contamination)


class Network(PyODIMDetector, of=NetworkDetector):
    """:class:`skim.NetworkDetector` as a PyOD detector.

    An ensemble of torch modules, built-in ones or your own, is trained with a truncated
    loss. Rows with a large loss are outliers.

    <shared>

    Examples
    --------
    >>> import numpy as np
    >>> from skim.pyod import Network
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(500, 3)), [[6.0, -6.0, 6.0]]]
    >>> detector = Network("flow", contamination=0.005, random_state=0).fit(X)
    >>> detector.predict([[0.0, 0.0, 0.0], [6.0, -6.0, 6.0]])
    array([0, 1])
    """
