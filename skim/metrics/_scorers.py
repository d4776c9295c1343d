"""Scorers by name, for searches and cross-validation."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import get_scorer as get_scorer_of_sklearn

from skim._training._criteria import loss_entropy, thinned
from skim._training._mixture import separation
from skim.metrics._labelled import (
    outlier_average_precision_score,
    outlier_roc_auc_score,
)


@dataclass(frozen=True)
class OutlierScorer:
    """A scorer that judges the scores of rows, by labels if it needs them."""

    judge: Callable

    def __call__(self, estimator, X, y=None):
        """Judge an estimator by data and, if they are needed, by labels."""
        return self.of_scores(estimator.score_samples(X), y)

    def of_scores(self, scores, y=None):
        """Judge the scores of rows."""
        return float(self.judge(y, np.asarray(scores, dtype=np.float64)))


def _separation(y, scores):
    return separation(thinned(-scores))


def _neg_loss_entropy(y, scores):
    return -loss_entropy(-scores)


SCORERS = {
    "loss_separation": OutlierScorer(_separation),
    "neg_loss_entropy": OutlierScorer(_neg_loss_entropy),
    "outlier_average_precision": OutlierScorer(outlier_average_precision_score),
    "outlier_roc_auc": OutlierScorer(outlier_roc_auc_score),
}


def get_scorer(scoring: str | Callable) -> Callable:
    """Get a scorer by its name.

    Parameters
    ----------
    scoring : str or callable
        "outlier_roc_auc" or "outlier_average_precision", which need labels;
        "neg_loss_entropy" or "loss_separation", which need none; or one of
        scikit-learn's names. A callable is returned unchanged.

    Returns
    -------
    scorer : callable
        Called with a fitted estimator, data and, if it needs them, labels.
        scikit-learn's own tools, such as `GridSearchCV`, take the scorer itself.

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
    if isinstance(scoring, str) and scoring in SCORERS:
        return SCORERS[scoring]
    return get_scorer_of_sklearn(scoring)
