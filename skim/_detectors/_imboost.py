"""IMBoost: a detector that asks for a few labels and learns from them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils import _safe_indexing, check_random_state, check_scalar
from sklearn.utils._missing import is_pandas_na
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import _num_samples, check_is_fitted

from skim import _nets as nets
from skim._detectors._altbi import ALTBIDetector, published_vae
from skim._detectors._base import N_TYPICAL_ROWS
from skim._detectors._label_model import LabelModel, usable_labels
from skim._detectors._threshold_mixin import CONTAMINATION, ThresholdMixin, set_verdict
from skim._model._threshold import offset_of, threshold
from skim._training._boosting import IMBoostSchedule
from skim._training._mixture import fit_two_gaussians
from skim._utils import evenly_spaced, unmasked

N_LISTED = 2000  # rows in doubt, of which questions are chosen
BLOCK_ROWS = 2**12  # scored at once
MIXTURE_POSTERIOR = 0.4  # smaller posterior of the rows that the paper asks about


class IMBoostDetector(ThresholdMixin, BaseEstimator):
    """Outlier detector that learns from a few labels, and says which ones it needs.

    Without labels, this is the detector that it is given. A label changes the score of
    its row, and of other rows the more they resemble it: a Gaussian process adds to
    what the loss of the detector says. Labels can be known beforehand, or be given to
    the rows that :meth:`query` names. :meth:`paper` gives the original method [1]_, in
    which labels enter the training of the networks and nothing else.

    Read more in :doc:`/labels`.

    Parameters
    ----------
    detector : detector, default=None
        What finds outliers without labels, with the methods `fit`, `score_samples` and
        `feature_space`, in which rows are compared. None means
        :class:`ALTBIDetector`.

    contamination : "auto" or float, default="auto"
        Share of outliers in the training data, in (0, 0.5], which sets the
        threshold. Without labels, that of "auto" lies where the losses of the training
        data thin out. With labels, "auto" flags rows that are more likely than not to
        be outliers, unless that changes the number of outliers by more than so few
        labels can tell.

    random_state : int, RandomState instance or None, default=None
        Controls the detector if its own `random_state` is None, and which rows are
        assumed to be inliers. Pass an int for reproducible scores.

    Attributes
    ----------
    detector_ : detector
        The fitted detector, which knows nothing of the labels unless they enter its
        training.

    offset_ : float
        Threshold: ``decision_function = score_samples - offset_``.

    training_scores_ : ndarray of shape (n_samples,)
        Scores of the training data, as `score_samples` returns them.

    labels_ : ndarray of shape (n_samples,)
        Labels of the training data, NaN where unknown.

    label_rows_ : ndarray of int
        Sorted indices of the training rows whose labels affect the scores, including
        rows assumed to be inliers; empty without labels.

    offset_without_labels_ : float
        Negated log-odds at which the losses alone would call a row an outlier.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only when `X` has
        feature names that are all strings.

    See Also
    --------
    ALTBIDetector : The default detector, without labels.

    Notes
    -----
    With labels, scores are negated log-odds of an outlier, on another scale than
    without. Rows with small losses are assumed to be inliers until there are three per
    known outlier. Of more than 1,000 labels, a sample is used. :meth:`explain` and
    :meth:`reasons` are about the loss alone, :meth:`label_influences` is about the
    labels.

    A second `fit` to the same data with the same parameters learns other labels without
    training the detector again, unless labels enter its training.

    References
    ----------
    .. [1] Kang, Park and Kim, "IMBoost", 2026.

    Examples
    --------
    >>> import numpy as np
    >>> from skim import IMBoostDetector
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(190, 3)), rng.normal([3, 3, 0], 0.3, size=(10, 3))]
    >>> is_outlier = np.arange(200) >= 190
    >>> detector = IMBoostDetector(random_state=0).fit(X)
    >>> labels = np.full(200, np.nan)
    >>> for _ in range(3):
    ...     rows = detector.query(6)
    ...     labels[rows] = is_outlier[rows]
    ...     detector = detector.fit(X, labels=labels)
    >>> np.sort(detector.training_scores_.argsort()[:10])
    array([190, 191, 192, 193, 194, 195, 196, 197, 198, 199])
    """

    _parameter_constraints: dict = {
        "detector": [HasMethods(["fit", "score_samples", "feature_space"]), None],
        "contamination": CONTAMINATION[:2],
        "random_state": ["random_state"],
    }

    training_rows_ = None  # labels number the rows, so all of them are scored
    detector_: Any
    _fingerprint: str | None = None
    _losses: NDArray[np.float64]

    def __init__(self, detector=None, *, contamination="auto", random_state=None):
        self.detector = detector
        self.contamination = contamination
        self.random_state = random_state

    @classmethod
    def paper(cls, **params: Any) -> Self:
        """Make a detector with the settings of the original method.

        Parameters
        ----------
        **params : dict
            Parameters to override; those that IMBoostDetector does not have are for
            its detector.

        Returns
        -------
        detector : IMBoostDetector
        """
        schedule = IMBoostSchedule(
            learning_rate=1e-3,
            max_batch_size=20_000,
            truncate_after=10,
            burn_in=0.0,
            n_snapshots=1,
        )
        settings = {
            "n_estimators": 1,
            "network": published_vae(n_importance=2),
            "schedule": schedule,
            "stopping": None,
        }
        names = ("contamination", "random_state")
        own = {name: params.pop(name) for name in names if name in params}
        return cls(ALTBIDetector(**(settings | params)), **own)

    # Fitting -------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: ArrayLike, y: object = None, *, labels: ArrayLike | None = None
    ) -> Self:
        """Fit the detector to data of which some labels may be known.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training data, outliers included. Missing cells are NaN.

        y : Ignored
            Not used, present for API consistency by convention.

        labels : array-like of shape (n_samples,), default=None
            1 for outliers, 0 for inliers, and NaN, None or ``pandas.NA`` where
            unknown. They may be all of one kind.

        Returns
        -------
        self : object
        """
        labels = _checked_labels(labels, _num_samples(X))
        self._learn(X, labels, *self._trained(X, labels))
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_oracle(
        self,
        X: ArrayLike,
        oracle: Callable[[NDArray[np.intp]], ArrayLike],
        *,
        n_rounds: int = 5,
        n_per_round: int | None = None,
        among: ArrayLike | None = None,
    ) -> Self:
        """Fit the detector and ask for labels on the way.

        If labels enter the training of the networks, questions are asked at the end of
        the warm-up and at even intervals after it, as in the original method.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in :meth:`fit`.

        oracle : callable
            Called with an array of row numbers; returns the label of each row, missing
            where it has no answer.

        n_rounds : int, default=5
            Number of times that questions are asked.

        n_per_round : int or None, default=None
            Number of questions at a time. None means 1 % of the rows, or 6 if there are
            at most 500 rows.

        among : array-like of int or of bool, default=None
            The rows that may be asked about, all by default.

        Returns
        -------
        self : object
            The fitted detector, with the answers among its `labels_`. If the oracle
            raises an error, the answers of earlier rounds remain there, unless labels
            enter the training.
        """
        n_rows = _num_samples(X)
        if n_per_round is None:
            n_per_round = 6 if n_rows <= 500 else round(n_rows / 100)
        labels, is_open = np.full(n_rows, np.nan), _mask_of(among, n_rows)

        def ask(rows):
            """Ask about rows, and never again."""
            is_open[rows] = False
            if len(rows):
                labels[rows] = _checked_labels(oracle(rows), len(rows))

        def ask_while_training(losses):
            rows = _hard_to_assign(losses, np.flatnonzero(is_open), self._seed())
            ask(rows[:n_per_round])
            return None if np.isnan(labels).all() else labels

        if self._labels_enter_training():
            questions = {"ask": ask_while_training, "n_rounds": n_rounds}
            self._learn(X, labels, *self._trained(X, labels, **questions))
            return self
        self.fit(X)
        for _ in range(n_rounds):
            ask(self.query(n_per_round, among=is_open))
            self.fit(X, labels=labels)
        return self

    def _trained(self, X, labels, **questions):
        """Return a fitted detector, perhaps that of the previous fit, and the losses.

        Also what tells whether the detector would be fitted to the same again.
        """
        X, detector, fingerprint = unmasked(X), self._new_detector(), None
        if self._labels_enter_training():
            schedule = detector.schedule
            during = IMBoostSchedule() if schedule == "imboost" else schedule
            known = None if np.isnan(labels).all() else labels
            during = replace(during, labels=known, **questions)
            detector.set_params(schedule=during).fit(X)
            detector.set_params(schedule=schedule)
        else:
            fingerprint = _fingerprint(detector, X)
            if fingerprint and fingerprint == self._fingerprint:
                return self.detector_, self._losses, fingerprint
            detector.fit(X)
        if getattr(detector, "training_rows_", None) is None:
            losses = -detector.training_scores_
        else:
            losses = -detector.score_samples(X)
        return detector, losses, fingerprint

    def _learn(self, X, labels, detector, losses, fingerprint):
        """Learn labels, and set all attributes when that is done."""
        X = unmasked(X if hasattr(X, "shape") else np.asarray(X))

        def values_of(rows):
            return detector.feature_space(_safe_indexing(X, rows))

        sample = evenly_spaced(len(losses), N_TYPICAL_ROWS)
        is_ordinary = getattr(detector, "is_ordinary_", None)
        limit = -offset_of(-losses, None, "auto", is_ordinary)
        model = LabelModel(losses, limit, values_of(sample))
        is_known = ~np.isnan(labels)
        if is_known.any() and not self._labels_enter_training():
            used, known = usable_labels(labels, losses, self._seed())
            with nets.compute():
                model.fit(used, known, values_of(used), losses[used])
        log_odds = _log_odds(model, detector, X, losses)
        doubt = np.where(is_known, np.inf, np.abs(log_odds))
        listed = np.sort(np.argsort(doubt, kind="stable")[:N_LISTED])
        shortlist = listed, values_of(listed)

        scores = -log_odds if len(model.rows) else -losses
        set_verdict(self, detector, scores, None, is_ordinary)
        self.detector_ = detector
        self.labels_ = labels
        self.label_rows_ = model.rows
        self._losses, self._log_odds = losses, log_odds
        self._label_model, self._shortlist = model, shortlist
        self._fingerprint = fingerprint
        self._set_offset(self.contamination)

    def _new_detector(self):
        detector = ALTBIDetector() if self.detector is None else clone(self.detector)
        if getattr(detector, "random_state", 0) is None:
            detector.set_params(random_state=self.random_state)
        return detector

    def _labels_enter_training(self):
        schedule = getattr(self.detector, "schedule", None)
        return isinstance(schedule, IMBoostSchedule) or schedule == "imboost"

    def _seed(self):
        """Return the seed of random choices among rows, by the first that is set."""
        random_state = self.random_state
        if random_state is None:
            random_state = getattr(self.detector, "random_state", None)
        return check_random_state(random_state or 0).randint(2**31 - 1)

    def _set_offset(self, contamination):
        super()._set_offset(contamination)
        by_loss, self.offset_without_labels_ = (
            self._label_model.by_loss(self._losses),
            0.0,
        )
        if contamination != "auto":
            self.offset_without_labels_ = threshold(-by_loss, contamination)
        elif len(self.label_rows_):
            self.offset_ = self._offset_by_labels(by_loss)

    def _offset_by_labels(self, by_loss):
        """Return the score at even odds, unless that changes the verdict too much.

        By how much the number of outliers may change grows with the number of labels,
        above all of the rarer kind: labels of one kind say little about it.
        """
        labels = self.labels_[~np.isnan(self.labels_)]
        n_outliers = int(labels.sum())
        n_rarer = min(n_outliers, len(labels) - n_outliers)
        factor = min(1 + len(labels) / 5, 2 + n_rarer)
        n_before = int(np.sum(by_loss > 0))
        n_now = int(np.sum(self.training_scores_ < 0))
        n_allowed = round(np.clip(n_now, n_before / factor, max(n_before, 1) * factor))
        if n_allowed == n_now:
            return 0.0
        share = min(n_allowed / len(self.training_scores_), 0.5)
        return threshold(self.training_scores_, share)

    # Asking --------------------------------------------------------------------

    def query(self, n: int = 10, *, among: ArrayLike | None = None) -> NDArray[np.intp]:
        """Name the rows of the training data whose labels would help most.

        These are rows near the threshold that resemble neither each other nor labelled
        rows. If labels enter the training of the networks, they are rows that two
        Gaussians, fitted to the losses, cannot tell apart, as in the original method.

        Parameters
        ----------
        n : int, default=10
            Number of rows; fewer are returned if there are fewer unlabelled rows.

        among : array-like of int or of bool, default=None
            The rows that may be asked about, by number or as a mask; all by default.

        Returns
        -------
        rows : ndarray of int
            Numbers of rows without a label, the most valuable first. How they resemble
            each other is considered for up to 500 of them.
        """
        check_is_fitted(self)
        check_scalar(n, "n", Integral, min_val=0)
        is_open = _mask_of(among, len(self.labels_)) & np.isnan(self.labels_)
        rows = np.flatnonzero(is_open)
        if self._labels_enter_training():
            return _hard_to_assign(self._losses, rows, self._seed())[:n]
        listed, values = self._shortlist
        is_listed = is_open[listed]
        listed, log_odds = listed[is_listed], self._log_odds
        with nets.compute():
            places = self._label_model.most_informative(
                log_odds[listed], values[is_listed], n
            )
        chosen = listed[places]
        others = rows[~np.isin(rows, chosen)]
        others = others[np.argsort(np.abs(log_odds[others]), kind="stable")]
        return np.r_[chosen, others][:n]

    # Scoring and explaining ----------------------------------------------------

    def score_samples(self, X: ArrayLike) -> NDArray[np.float64]:
        """Score rows: the lower, the more abnormal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Those of the detector or, with labels, the negated log-odds of an outlier.
        """
        check_is_fitted(self)
        scores = self.detector_.score_samples(X)
        if not len(self.label_rows_):
            return scores
        return -_log_odds(self._label_model, self.detector_, X, -scores)

    def label_influences(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the contribution of each label to the log-odds of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to explain.

        Returns
        -------
        influences : ndarray of shape (n_samples, n_labels)
            The columns belong to the training rows `label_rows_`. Values are positive
            where a label makes a row more likely to be an outlier. With labels,
            ``-score_samples(X)`` is the sum over a row, plus a function of its loss.
        """
        check_is_fitted(self)
        return self._label_model.influences(self.detector_.feature_space(X))

    def explain(self, X: ArrayLike, **params: Any) -> Any:
        """Split the loss of each row over its features, as the detector does.

        See :meth:`ALTBIDetector.explain`.
        """
        check_is_fitted(self)
        return self.detector_.explain(X, **params)

    def reasons(self, X: ArrayLike, **params: Any) -> Any:
        """Compare the cells that make rows abnormal with what to expect in them.

        See :meth:`ALTBIDetector.reasons`.
        """
        check_is_fitted(self)
        return self.detector_.reasons(X, **params)


def _checked_labels(labels, n_rows):
    """Return labels as floats, NaN where unknown."""
    if labels is None:
        return np.full(n_rows, np.nan)
    values = np.array(labels)
    if values.shape != (n_rows,):
        raise ValueError(
            f"labels has shape {values.shape}, but there are {n_rows} rows; pass one "
            "label per row, NaN where it is unknown."
        )
    if values.dtype == object:
        is_missing = [value is None or is_pandas_na(value) for value in values]
        values = np.where(is_missing, np.nan, values)
    meaning = "1 is an outlier, 0 an inlier and NaN unknown"
    try:
        values = values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"labels must be numbers: {meaning}.") from None
    wrong = values[~np.isin(values, (0, 1)) & ~np.isnan(values)]
    if len(wrong):
        raise ValueError(f"labels contains {wrong[0]:g}: {meaning}.")
    return values


def _mask_of(rows, n_rows):
    """Return a mask of rows, given by number or as a mask; None means all."""
    mask = np.zeros(n_rows, dtype=bool)
    mask[slice(None) if rows is None else rows] = True
    return mask


def _hard_to_assign(losses, rows, seed):
    """Sort rows by how hard it is to assign them to one of two Gaussians."""
    mixture = fit_two_gaussians(losses)
    variances = np.maximum(mixture.variances, np.finfo(np.float64).tiny)
    squares = (losses[:, None] - mixture.means) ** 2
    with np.errstate(divide="ignore"):
        log_density = np.log(mixture.weights) - 0.5 * np.log(variances)
    log_density = log_density - 0.5 * squares / variances
    posterior = expit(-np.abs(np.diff(log_density, axis=1)[:, 0]))
    order = np.random.default_rng(seed).permutation(len(losses))
    shuffled = rows[np.argsort(order[rows])]
    distance = np.abs(posterior - MIXTURE_POSTERIOR)
    return shuffled[np.argsort(distance[shuffled], kind="stable")]


def _log_odds(model, detector, X, losses):
    """Return the log-odds of rows by their losses and the labels together."""
    if not len(model.rows):
        return model.by_loss(losses)
    found = []
    for start in range(0, len(losses), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        values = detector.feature_space(_safe_indexing(X, block))
        found.append(model.log_odds(losses[block], values))
    return np.concatenate(found)


def _fingerprint(detector, X):
    """Return what tells whether a detector would be fitted to the same data again."""
    if hasattr(X, "items"):  # frames of the same columns can have other hashes
        X = list(X.items())
    try:
        return joblib.hash((type(detector).__name__, detector.get_params(), X))
    except (pickle.PicklingError, AttributeError, TypeError):  # of what it contains
        return None
