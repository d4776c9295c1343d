"""skim detectors as PyOD detectors: high scores and label 1 for outliers."""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pyod.models.base import BaseDetector
from sklearn.utils.validation import check_is_fitted

from skim import ALTBIDetector, IMAutoencoderDetector, ODIMDetector
from skim._utils import shared_docs

DOCS = """Read more in the :doc:`User Guide </pyod>`.

Parameters
----------
contamination : float, default=0.1
    Share of outliers in the training data, in (0, 0.5], which sets the threshold.

**params : dict
    The other parameters of :class:`skim.{name}`, with the same defaults.

Attributes
----------
decision_scores_ : ndarray of shape (n_samples,)
    Scores of the training data, high for outliers.

threshold_ : float
    Rows with a higher score are outliers.

labels_ : ndarray of shape (n_samples,)
    Labels of the training data: 0 for inliers, 1 for outliers.

detector_ : object
    The fitted skim detector, with `history_`, ``explain`` and more. Its own threshold
    is not used."""


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

        def __init__(self, **params):
            super(cls, self).__init__(**params)

        __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [*parameters.values()]
        )
        cls.__init__ = __init__  # type: ignore[method-assign]
        shared_docs(shared=DOCS.replace("{name}", of.__name__))(cls)

    def __init__(self, *, contamination: float = 0.1, **params: Any):
        params = self._detector_class(**params).get_params(deep=False)
        for name, value in params.items():
            setattr(self, name, value)
        super().__init__(contamination=contamination)

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
        share = self.contamination
        if not (isinstance(share, float) and 0 < share <= 0.5):
            raise ValueError(
                f"contamination must be a float in (0, 0.5], not {share!r}."
            )
        detector = self._detector_class(**self.get_params(deep=False)).fit(X)
        # With labels, PyOD would take their number of classes in predict_proba.
        self._set_n_classes(None)
        self.detector_ = detector
        if detector.training_rows_ is None:
            self.decision_scores_ = -detector.training_scores_
        else:
            self.decision_scores_ = -detector.score_samples(X)
        return self._process_decision_scores()

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Score rows: the higher, the more abnormal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The loss of each row: ``-score_samples(X)`` of the skim detector.
        """
        check_is_fitted(self)
        return -self.detector_.score_samples(X)


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
