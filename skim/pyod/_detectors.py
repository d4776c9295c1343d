"""skim's detectors as PyOD detectors: high scores and label 1 for outliers."""

from typing import Any

from pyod.models.base import BaseDetector
from sklearn.utils.validation import check_is_fitted

from skim import ALTBIDetector, IMAutoencoderDetector, ODIMDetector
from skim.pyod._parameters import documents_parameters, takes_parameters_of

FITTED = ("detector_", "decision_scores_", "labels_", "threshold_")


class PyODIMDetector(BaseDetector):
    """Base class of skim's detectors for PyOD.

    Warning: this class should not be used directly. Use derived classes instead.
    """

    _detector_class: type[Any]

    def __init__(self, *, contamination, **params):
        params = self._detector_class(**params).get_params(deep=False)
        for name, value in params.items():
            setattr(self, name, value)
        super().__init__(contamination=contamination)

    @classmethod
    def paper(cls, *, contamination=0.1, **params):
        """Make a detector with the settings of the original method.

        Parameters
        ----------
        contamination : float or PyThresh object, default=0.1
            As in the constructor.

        **params : dict
            Parameters to set otherwise.

        Returns
        -------
        detector : object
            An unfitted detector of this class.
        """
        return cls._like(cls._detector_class.paper(**params), contamination)

    @classmethod
    def _like(cls, detector, contamination):
        """Make a detector with the parameters of a skim detector."""
        params = detector.get_params(deep=False)
        return cls(**(params | {"contamination": contamination}))

    def fit(self, X, y=None):
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
            The fitted detector.
        """
        params = self.get_params(deep=False)
        before = self.__dict__.get("detector_") if params.get("warm_start") else None
        # A fit that fails must not leave a detector that counts as fitted.
        for name in FITTED:
            self.__dict__.pop(name, None)
        if not self._check_contamination():
            params["contamination"] = "auto"  # is not used
        detector = before or self._detector_class()
        detector.set_params(**params).fit(X)
        # Of labels, PyOD would take the number of classes for predict_proba.
        self._set_n_classes(None)
        self.detector_ = detector
        self.decision_scores_ = -detector.training_scores_
        self._process_decision_scores()
        return self

    def _check_contamination(self):
        """Return whether `contamination` is a number; else it is a thresholder."""
        given = self.contamination
        is_number = isinstance(given, (float, int))  # as PyOD asks
        if is_number:
            is_valid = 0 < given <= 0.5
        else:
            is_valid = hasattr(given, "predict") and not isinstance(given, type)
        if not is_valid:
            raise ValueError(
                "contamination must be a Python float in (0, 0.5] or a PyThresh "
                f"object, not {given!r}."
            )
        return is_number

    def decision_function(self, X):
        """Score rows: the higher, the more of an outlier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The loss of each row, averaged over the members and the kept moments
            of training: skim's ``-score_samples(X)``.
        """
        check_is_fitted(self, FITTED)
        return -self.detector_.score_samples(X)

    def explain(self, X, *, relative=False, as_frame=False):
        """Split each row's score over its features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to explain.

        relative : bool, default=False
            Whether to subtract what each feature contributes in a usual row of
            the training data.

        as_frame : bool, default=False
            Whether to return a pandas DataFrame.

        Returns
        -------
        contributions : ndarray or DataFrame of shape (n_samples, n_features)
            What each feature adds to ``decision_function(X)``, as
            :meth:`skim.ALTBIDetector.explain` has it.
        """
        check_is_fitted(self, FITTED)
        return self.detector_.explain(X, relative=relative, as_frame=as_frame)

    @property
    def n_features_in_(self):
        """Number of features seen during `fit`."""
        return self.detector_.n_features_in_

    @property
    def feature_names_in_(self):
        """Names of features seen during `fit`, if they were all strings."""
        return self.detector_.feature_names_in_


@documents_parameters
class ALTBI(PyODIMDetector):
    """:class:`skim.ALTBIDetector` as a PyOD detector.

    Several small variational autoencoders are trained side by side under a
    truncated loss. Rows that they explain badly are outliers [1]_.

    Parameters are those of :class:`skim.ALTBIDetector`, except that
    `contamination` is PyOD's. Read more in :doc:`/pyod`.

    Parameters
    ----------
    contamination : float or PyThresh object, default=0.1
        Share of outliers in the training data, in (0, 0.5], which sets the
        threshold, or what finds the threshold from the training scores, such as
        ``pyod.models.thresholds.IQR()``.

    Attributes
    ----------
    decision_scores_ : ndarray of shape (n_samples,)
        Scores of the training data, high for outliers.

    threshold_ : float
        Rows with a higher score are outliers. With a PyThresh object, PyOD keeps
        the threshold of that object here, which is on a scale of its own.

    labels_ : ndarray of shape (n_samples,)
        Labels of the training data: 0 for inliers, 1 for outliers.

    detector_ : ALTBIDetector
        The fitted detector of skim, with `history_` and more. Its own threshold
        is not used.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only when `X` has
        feature names that are all strings.

    See Also
    --------
    skim.ALTBIDetector : The same for scikit-learn.
    ODIM : Stops each member where its losses separate best.
    IMAutoencoder : A plain one-hidden-layer autoencoder.

    References
    ----------
    .. [1] S. Cho, J. Hwang, K.-Y. Bak and D. Kim, "ALTBI: Constructing Improved Outlier
           Detection Models via Optimization of Inlier-Memorization Effect", AAAI
           Conference on Artificial Intelligence, 2025.

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

    _detector_class = ALTBIDetector

    @takes_parameters_of(ALTBIDetector)
    def __init__(self, *, contamination=0.1, **params):
        super().__init__(contamination=contamination, **params)


@documents_parameters
class ODIM(PyODIMDetector):
    """:class:`skim.ODIMDetector` as a PyOD detector.

    Several small variational autoencoders are trained side by side, and each is
    kept at the moment where its losses part most. Rows that they explain badly
    are outliers [1]_.

    Parameters are those of :class:`skim.ODIMDetector`, except that
    `contamination` is PyOD's. Read more in :doc:`/pyod`.

    Parameters
    ----------
    contamination : float or PyThresh object, default=0.1
        Share of outliers in the training data, in (0, 0.5], which sets the
        threshold, or what finds the threshold from the training scores, such as
        ``pyod.models.thresholds.IQR()``.

    Attributes
    ----------
    decision_scores_ : ndarray of shape (n_samples,)
        Scores of the training data, high for outliers.

    threshold_ : float
        Rows with a higher score are outliers. With a PyThresh object, PyOD keeps
        the threshold of that object here, which is on a scale of its own.

    labels_ : ndarray of shape (n_samples,)
        Labels of the training data: 0 for inliers, 1 for outliers.

    detector_ : ODIMDetector
        The fitted detector of skim, with `history_` and more. Its own threshold
        is not used.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only when `X` has
        feature names that are all strings.

    See Also
    --------
    skim.ODIMDetector : The same for scikit-learn.
    ALTBI : Trains under a truncated loss; usually more accurate.
    IMAutoencoder : The same stopping rule on a plain autoencoder.

    References
    ----------
    .. [1] D. Kim, J. Hwang, J. Lee, K. Kim and Y. Kim, "ODIM: Outlier Detection via
           Likelihood of Under-fitted Generative Models", International Conference
           on Machine Learning, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from skim.pyod import ODIM
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(200, 3)), [[6.0, -6.0, 6.0]]]
    >>> detector = ODIM(contamination=0.005, random_state=0).fit(X)
    >>> detector.predict([[0.0, 0.0, 0.0], [6.0, -6.0, 6.0]])
    array([0, 1])
    """

    _detector_class = ODIMDetector

    @takes_parameters_of(ODIMDetector)
    def __init__(self, *, contamination=0.1, **params):
        super().__init__(contamination=contamination, **params)


@documents_parameters
class IMAutoencoder(PyODIMDetector):
    r""":class:`skim.IMAutoencoderDetector` as a PyOD detector.

    Several one-hidden-layer autoencoders are trained side by side, and each is
    kept at the epoch where its errors part most. Rows that they reproduce badly
    are outliers [1]_.

    Parameters are those of :class:`skim.IMAutoencoderDetector`, except that
    `contamination` is PyOD's. Read more in :doc:`/pyod`.

    Parameters
    ----------
    contamination : float or PyThresh object, default=0.1
        Share of outliers in the training data, in (0, 0.5], which sets the
        threshold, or what finds the threshold from the training scores, such as
        ``pyod.models.thresholds.IQR()``.

    Attributes
    ----------
    decision_scores_ : ndarray of shape (n_samples,)
        Scores of the training data, high for outliers.

    threshold_ : float
        Rows with a higher score are outliers. With a PyThresh object, PyOD keeps
        the threshold of that object here, which is on a scale of its own.

    labels_ : ndarray of shape (n_samples,)
        Labels of the training data: 0 for inliers, 1 for outliers.

    detector_ : IMAutoencoderDetector
        The fitted detector of skim, with `history_` and more. Its own threshold
        is not used.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only when `X` has
        feature names that are all strings.

    See Also
    --------
    skim.IMAutoencoderDetector : The same for scikit-learn.
    ALTBI : Usually the more accurate choice.
    ODIM : The same stopping rule on a variational autoencoder.

    References
    ----------
    .. [1] K. Kim and D. Kim, "What Drives the Inlier-Memorization Effect? A Theory
           of Outlier Detection via Early Training Dynamics", 2026.

    Examples
    --------
    >>> import numpy as np
    >>> from skim.pyod import IMAutoencoder
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(200, 3)), [[6.0, -6.0, 6.0]]]
    >>> detector = IMAutoencoder(contamination=0.005, random_state=0).fit(X)
    >>> detector.predict([[0.0, 0.0, 0.0], [6.0, -6.0, 6.0]])
    array([0, 1])
    """

    _detector_class = IMAutoencoderDetector

    @takes_parameters_of(IMAutoencoderDetector)
    def __init__(self, *, contamination=0.1, **params):
        super().__init__(contamination=contamination, **params)

    @classmethod
    def theorem(cls, *, contamination=0.1, **params):
        """Make a detector in the setting of the theorem.

        Parameters
        ----------
        contamination : float or PyThresh object, default=0.1
            As in the constructor.

        **params : dict
            Parameters to set otherwise.

        Returns
        -------
        detector : object
            An unfitted detector of this class. See
            :meth:`skim.IMAutoencoderDetector.theorem` for its learning rate.
        """
        return cls._like(cls._detector_class.theorem(**params), contamination)
