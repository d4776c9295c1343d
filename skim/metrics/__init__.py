"""Metrics and scorers of outlier detectors, with labels and without."""

from skim._training._criteria import gradient_cohesion, loss_entropy
from skim._training._mixture import separation
from skim.metrics._labelled import (
    outlier_average_precision_score,
    outlier_roc_auc_score,
)
from skim.metrics._scorers import get_scorer

__all__ = [
    "get_scorer",
    "gradient_cohesion",
    "loss_entropy",
    "outlier_average_precision_score",
    "outlier_roc_auc_score",
    "separation",
]
