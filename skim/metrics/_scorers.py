"""Scorers by name, for searches and cross-validation."""

import copy
from collections.abc import Callable

import numpy as np
from sklearn.metrics import get_scorer as get_scorer_of_sklearn
from sklearn.metrics._scorer import _Scorer
from sklearn.pipeline import Pipeline

from skim._detectors._base import BaseDetector, scaled_table
from skim._training._criteria import gradient_cohesion, loss_entropy, thinned
from skim._training._mixture import separation
from skim.metrics._labelled import (
    outlier_average_precision_score,
    outlier_roc_auc_score,
)

RESPONSES = ("score_samples", "decision_function")
N_GRADIENTS = 256  # rows whose gradients are compared
SEED = 0


class LabelFreeScorer:
    """A scorer that looks at an estimator and at data, never at labels."""

    def __init__(self, name, function):
        self.name = name
        self.function = function

    def __call__(self, estimator, X, y=None):
        """Judge an estimator by data; labels are ignored."""
        return float(self.function(estimator, X))

    def __repr__(self):
        return f"{type(self).__name__}({self.name!r})"

    def _accept_sample_weight(self):
        return False


class LossScorer(LabelFreeScorer):
    """A scorer that judges the losses of rows, the negated scores."""

    def __call__(self, estimator, X, y=None):
        """Judge an estimator by data; labels are ignored."""
        return self.of_scores(_scores(estimator, X))

    def of_scores(self, scores, y=None):
        """Judge the scores of rows; labels are ignored."""
        return float(self.function(-scores))


class OutlierScorer(_Scorer):
    """A scorer that understands both conventions of labelling outliers."""

    def of_scores(self, scores, y):
        """Judge the scores of rows by their labels."""
        return self._sign * self._score_func(y, scores, **self._kwargs)

    def _score(self, method_caller, estimator, X, y_true, **kwargs):
        refuse_pyod(estimator)
        return super()._score(method_caller, estimator, X, y_true, **kwargs)


def refuse_pyod(estimator):
    """Raise for PyOD detectors, whose scores are high for outliers."""
    if any(cls.__module__ == "pyod.models.base" for cls in type(estimator).__mro__):
        raise TypeError(
            f"{type(estimator).__name__} is a PyOD detector, whose scores are high for "
            "outliers; wrap it with skim.pyod.from_pyod, or use skim's own detector."
        )


def _separation(losses):
    return separation(thinned(losses))


def _neg_loss_entropy(losses):
    return -loss_entropy(losses)


def _gradient_cohesion(estimator, X):
    detector, X = _last_step_and_data(estimator, X)
    if not isinstance(detector, BaseDetector):
        raise TypeError(
            "gradient_cohesion works with skim's own detectors only, not with "
            f"{type(detector).__name__}."
        )
    n_rows = X.shape[0]
    if n_rows > N_GRADIENTS:
        chosen = np.random.RandomState(SEED).choice(n_rows, N_GRADIENTS, replace=False)
        X = X.iloc[chosen] if hasattr(X, "iloc") else X[chosen]
    return gradient_cohesion(
        detector.model_.gradient_products(scaled_table(detector, X).values())
    ).mean()


def _scores(estimator, X):
    refuse_pyod(estimator)
    for name in RESPONSES:
        if hasattr(estimator, name):
            return np.asarray(getattr(estimator, name)(X), dtype=np.float64)
    raise TypeError(f"{type(estimator).__name__} has none of {', '.join(RESPONSES)}.")


def _last_step_and_data(estimator, X):
    """Return the detector at the end of a Pipeline, and the data as it sees it."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    if isinstance(estimator, Pipeline):
        if len(estimator.steps) > 1:
            X = estimator[:-1].transform(X)
        estimator = estimator[-1]
    return estimator, X if hasattr(X, "shape") else np.asarray(X)


_LABELLED = {
    "outlier_roc_auc": outlier_roc_auc_score,
    "outlier_average_precision": outlier_average_precision_score,
}

_BY_LOSSES = {
    "loss_separation": _separation,
    "neg_loss_entropy": _neg_loss_entropy,
}

_LABEL_FREE = {
    "gradient_cohesion": _gradient_cohesion,
}

_SCORERS: dict[str, Callable] = {
    **{
        name: OutlierScorer(metric, 1, {}, response_method=RESPONSES)
        for name, metric in _LABELLED.items()
    },
    **{name: LossScorer(name, judge) for name, judge in _BY_LOSSES.items()},
    **{name: LabelFreeScorer(name, judge) for name, judge in _LABEL_FREE.items()},
}


def get_scorer_names() -> list[str]:
    """Get the names of the scorers of this package.

    Returns
    -------
    names : list of str
        Names that :func:`get_scorer` and the `scoring` of
        :class:`~skim.model_selection.EpochSearchCV` accept. scikit-learn's own tools,
        such as `GridSearchCV`, take the scorer itself:
        ``scoring=get_scorer("outlier_roc_auc")``.

    Examples
    --------
    >>> from skim.metrics import get_scorer_names
    >>> "outlier_roc_auc" in get_scorer_names()
    True
    """
    return sorted(_SCORERS)


def get_scorer(scoring: str | Callable) -> Callable:
    """Get a scorer by its name.

    Parameters
    ----------
    scoring : str or callable
        One of :func:`get_scorer_names` or of scikit-learn's names; a callable is
        returned unchanged.

    Returns
    -------
    scorer : callable
        Called with a fitted estimator, data and, if it needs them, labels.

    Examples
    --------
    >>> from skim import ALTBIDetector
    >>> from skim.datasets import load_wine_outliers
    >>> from skim.metrics import get_scorer
    >>> X, y = load_wine_outliers(return_X_y=True)
    >>> detector = ALTBIDetector(random_state=0).fit(X)
    >>> get_scorer("outlier_roc_auc")(detector, X, y) > 0.9
    True
    """
    if isinstance(scoring, str) and scoring in _SCORERS:
        return copy.deepcopy(_SCORERS[scoring])
    return get_scorer_of_sklearn(scoring)
