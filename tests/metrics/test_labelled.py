"""Metrics that accept either convention of labelling outliers."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from skim.metrics import outlier_average_precision_score, outlier_roc_auc_score

METRICS = {
    outlier_roc_auc_score: roc_auc_score,
    outlier_average_precision_score: average_precision_score,
}


@pytest.fixture
def scores(is_outlier):
    return np.random.default_rng(0).normal(size=300) - is_outlier


@pytest.mark.parametrize("metric", METRICS)
def test_conventions_make_no_difference(metric, scores, is_outlier):
    expected = METRICS[metric](is_outlier, -scores)
    for labels in (
        is_outlier,
        is_outlier.astype(float),
        list(np.where(is_outlier, -1, 1)),
    ):
        assert metric(labels, scores) == expected


def test_unusable_labels_are_refused():
    for label in (0, 1, -1):
        with pytest.raises(ValueError, match=r"one class only.*StratifiedKFold"):
            outlier_roc_auc_score([label] * 3, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="2 labels, but there are 3 rows"):
        outlier_roc_auc_score([0, 1], [1.0, 2.0, 3.0])
