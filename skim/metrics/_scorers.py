"""Scorers by name, for searches and cross-validation."""

import copy
from collections.abc import Callable

import numpy as np
from sklearn.metrics import get_scorer as get_scorer_of_sklearn
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

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


class OutlierScorer:
    """A scorer that judges the scores of rows, by labels if it needs them."""

    def __init__(self, name, judge, needs_labels=True):
        self.name = name
        self.judge = judge
        self.needs_labels = needs_labels

    def __call__(self, estimator, X, y=None, **params):
        """Judge an estimator by data and, if they are needed, by labels."""
        refuse_pyod(estimator)
        method = next((name for name in RESPONSES if hasattr(estimator, name)), None)
        if method is None:
            found = type(estimator).__name__
            raise TypeError(f"{found} has none of {', '.join(RESPONSES)}.")
        scores = np.asarray(getattr(estimator, method)(X), dtype=np.float64)
        return self.of_scores(scores, y, **params)

    def of_scores(self, scores, y=None, **params):
        """Judge the scores of rows."""
        return float(self.judge(y, scores, **params))

    def __repr__(self):
        return f"get_scorer({self.name!r})"

    def _accept_sample_weight(self):  # asked by scikit-learn's searches
        return False


class CohesionScorer:
    """A scorer that judges the gradients of rows; labels are ignored."""

    needs_labels = False

    def __call__(self, estimator, X, y=None):
        """Judge a detector of skim by data."""
        estimator = getattr(estimator, "best_estimator_", estimator)
        if isinstance(estimator, Pipeline):
            X = estimator[:-1].transform(X) if len(estimator.steps) > 1 else X
            estimator = estimator[-1]
        if not isinstance(estimator, BaseDetector):
            raise TypeError(
                "gradient_cohesion works with skim's own detectors only, not with "
                f"{type(estimator).__name__}."
            )
        n_rows = _num_samples(X)
        if n_rows > N_GRADIENTS:
            random_state = np.random.RandomState(SEED)
            X = _safe_indexing(
                X, random_state.choice(n_rows, N_GRADIENTS, replace=False)
            )
        values = scaled_table(estimator, X).values()
        return float(
            gradient_cohesion(estimator.model_.gradient_products(values)).mean()
        )

    def __repr__(self):
        return "get_scorer('gradient_cohesion')"

    def _accept_sample_weight(self):  # asked by scikit-learn's searches
        return False


def refuse_pyod(estimator):
    """Raise for PyOD detectors, whose scores are high for outliers."""
    if any(cls.__module__ == "pyod.models.base" for cls in type(estimator).__mro__):
        raise TypeError(
            f"{type(estimator).__name__} is a PyOD detector, whose scores are high for "
            "outliers; wrap it with skim.pyod.from_pyod, or use skim's own detector."
        )


def _separation(y, scores, **params):
    return separation(thinned(-scores))


def _neg_loss_entropy(y, scores, **params):
    return -loss_entropy(-scores)


_SCORERS: dict[str, Callable] = {"gradient_cohesion": CohesionScorer()} | {
    scorer.name: scorer
    for scorer in (
        OutlierScorer("loss_separation", _separation, needs_labels=False),
        OutlierScorer("neg_loss_entropy", _neg_loss_entropy, needs_labels=False),
        OutlierScorer("outlier_average_precision", outlier_average_precision_score),
        OutlierScorer("outlier_roc_auc", outlier_roc_auc_score),
    )
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
