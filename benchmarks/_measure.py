"""Fit one detector to one data set and say how well and how fast it did."""

import time
from typing import NamedTuple

from sklearn.metrics import average_precision_score, roc_auc_score


class Result(NamedTuple):
    """How one detector did on one data set."""

    auroc: float
    auprc: float
    seconds: float


def measure(detector, X, y):
    """Fit to all rows without labels and score the same rows.

    Parameters
    ----------
    detector : estimator
        A detector of skim (which has `training_scores_`, high for inliers) or of
        PyOD (which has `decision_scores_`, high for outliers).
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
        1 for outliers, used for the metrics only.

    Returns
    -------
    result : Result
        The seconds are those of fitting and of the training scores together.
    """
    start = time.perf_counter()
    detector.fit(X)
    seconds = time.perf_counter() - start
    if hasattr(detector, "training_scores_"):
        scores = -detector.training_scores_
    else:
        scores = detector.decision_scores_
    return Result(roc_auc_score(y, scores), average_precision_score(y, scores), seconds)
