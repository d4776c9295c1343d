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
    conventions = [
        is_outlier,
        is_outlier.astype(int),
        is_outlier.astype(float),
        np.where(is_outlier, -1, 1),
        list(np.where(is_outlier, -1.0, 1.0)),
    ]
    for labels in conventions:
        assert metric(labels, scores) == expected


@pytest.mark.parametrize("metric", METRICS)
def test_sample_weights_count(metric, scores, is_outlier):
    weights = np.where(np.arange(300) % 2, 1.0, 0.0)
    odd = weights > 0
    assert metric(is_outlier, scores, sample_weight=weights) == pytest.approx(
        metric(is_outlier[odd], scores[odd])
    )


@pytest.mark.parametrize("labels", [[0, 0, 0], [1, 1, 1], [-1, -1, -1]])
def test_one_class_is_refused_with_advice(labels):
    with pytest.raises(ValueError, match=r"one class only.*StratifiedKFold"):
        outlier_roc_auc_score(labels, [1.0, 2.0, 3.0])


def test_scores_and_labels_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="2 labels, but there are 3 rows"):
        outlier_roc_auc_score([0, 1], [1.0, 2.0, 3.0])
