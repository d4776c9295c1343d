"""Metrics and scorers that know outliers in either convention."""

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skim.metrics import (
    get_scorer,
    get_scorer_names,
    outlier_average_precision_score,
    outlier_roc_auc_score,
)
from skim.model_selection import OutlierKFold

METRICS = {
    outlier_roc_auc_score: roc_auc_score,
    outlier_average_precision_score: average_precision_score,
}


@pytest.fixture
def scores(is_outlier):
    return np.random.default_rng(0).normal(size=300) - is_outlier


def conventions(is_outlier):
    return [
        is_outlier,
        is_outlier.astype(int),
        is_outlier.astype(float),
        np.where(is_outlier, -1, 1),
        list(np.where(is_outlier, -1.0, 1.0)),
    ]


@pytest.mark.parametrize("metric", METRICS)
def test_conventions_make_no_difference(metric, scores, is_outlier):
    expected = METRICS[metric](is_outlier, -scores)
    for labels in conventions(is_outlier):
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
    with pytest.raises(ValueError, match=r"one class only.*OutlierKFold"):
        outlier_roc_auc_score(labels, [1.0, 2.0, 3.0])


def test_scores_and_labels_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="2 labels, but there are 3 rows"):
        outlier_roc_auc_score([0, 1], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("name", ["outlier_roc_auc", "outlier_average_precision"])
def test_scorers_serve_detectors_of_others_and_pipelines(name, table, is_outlier):
    model = make_pipeline(StandardScaler(), IsolationForest(random_state=0)).fit(table)
    values = {get_scorer(name)(model, table, y) for y in conventions(is_outlier)}
    assert len(values) == 1
    assert values.pop() > 0.8


def test_plain_roc_auc_is_turned_around_and_ours_is_not(quick, table, is_outlier):
    detector = quick().fit(table)
    plain = get_scorer("roc_auc")(detector, table, is_outlier.astype(int))
    ours = get_scorer("outlier_roc_auc")(detector, table, is_outlier.astype(int))
    assert ours == pytest.approx(1 - plain)
    assert ours > 0.5


def test_cross_validation_takes_the_scorer(quick, table, is_outlier):
    values = cross_val_score(
        quick(),
        table,
        is_outlier,
        scoring=get_scorer("outlier_roc_auc"),
        cv=OutlierKFold(3),
    )
    assert np.isfinite(values).all()


def test_scikit_learn_knows_the_names():
    from sklearn.metrics import get_scorer as get_scorer_of_sklearn
    from sklearn.metrics import get_scorer_names as names_of_sklearn

    assert set(get_scorer_names()) <= set(names_of_sklearn())
    for name in get_scorer_names():
        assert repr(get_scorer_of_sklearn(name)) == repr(get_scorer(name))


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="no_such_scorer"):
        get_scorer("no_such_scorer")


def test_detectors_of_pyod_are_refused(table, is_outlier):
    pyod = pytest.importorskip("skim.pyod")
    detector = pyod.ALTBI(epochs=2).fit(table)
    for name in ("outlier_roc_auc", "loss_separation"):
        with pytest.raises(TypeError, match="from_pyod"):
            get_scorer(name)(detector, table, is_outlier)
