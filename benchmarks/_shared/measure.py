"""Fit a detector to a data set and measure accuracy and time."""

import os
import time
from typing import NamedTuple

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.metrics import average_precision_score, roc_auc_score

METRICS = ("auroc", "auprc")


class Result(NamedTuple):
    """How one detector did on one data set."""

    auroc: float
    auprc: float
    seconds: float
    cpu_seconds: float


def measure(detector, X, y):
    """Fit to all rows without labels and score the same rows.

    The seconds are those of fitting and of the training scores together, by the clock
    and in processor time. It is a ValueError if there is not one finite score for every
    row, or no telling whether high scores mean outliers.
    """
    start, cpu_start = time.perf_counter(), _cpu_seconds()
    detector.fit(X)
    scores = np.asarray(_training_scores(detector, X))
    seconds = time.perf_counter() - start
    cpu_seconds = _cpu_seconds() - cpu_start
    if scores.shape != y.shape:
        raise ValueError(f"scores of shape {scores.shape} for {len(y)} rows")
    if not np.isfinite(scores).all():
        n_bad = np.count_nonzero(~np.isfinite(scores))
        raise ValueError(f"{n_bad} of {len(y)} scores are NaN or infinite")
    auroc, auprc = roc_auc_score(y, scores), average_precision_score(y, scores)
    return Result(auroc, auprc, seconds, cpu_seconds)


def _cpu_seconds():
    """Processor time of this process and of those that it waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _training_scores(detector, X):
    """Scores of the training data, high for outliers."""
    if hasattr(detector, "decision_scores_"):  # PyOD
        return detector.decision_scores_
    for attribute in ("training_scores_", "negative_outlier_factor_"):
        if hasattr(detector, attribute):
            return -getattr(detector, attribute)
    if hasattr(detector, "score_samples"):
        return -detector.score_samples(X)
    if isinstance(detector, OutlierMixin):
        return -detector.decision_function(X)
    raise ValueError(
        "a detector needs PyOD's decision_scores_, score_samples, or scikit-learn's "
        "OutlierMixin with a decision_function that is high for inliers"
    )
