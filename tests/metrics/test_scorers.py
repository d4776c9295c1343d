"""Scorers of fitted detectors, with labels and without."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skim.metrics import get_scorer
from skim.metrics._scorers import SCORERS
from tests.conftest import make_quick

LABELLED = ["outlier_average_precision", "outlier_roc_auc"]
LABEL_FREE = ["loss_separation", "neg_loss_entropy"]


def test_other_detectors_are_scored(table, is_outlier):
    model = make_pipeline(StandardScaler(), IsolationForest(random_state=0)).fit(table)
    for name in LABELLED:
        area = get_scorer(name)(model, table, is_outlier)
        assert area > 0.8
        assert get_scorer(name)(model, table, np.where(is_outlier, -1, 1)) == area
    for name in LABEL_FREE:
        assert np.isfinite(get_scorer(name)(model, table))


def test_scikit_learns_searches_accept_the_scorers(table, is_outlier):
    search = GridSearchCV(
        make_quick("autoencoder"),
        {"epochs": [1, 2]},
        scoring={name: get_scorer(name) for name in SCORERS},
        refit=False,
        cv=StratifiedKFold(2),
        error_score="raise",
    ).fit(table, is_outlier)
    for name in SCORERS:
        assert np.isfinite(search.cv_results_[f"mean_test_{name}"]).all()
    assert not set(get_scorer_names()) & set(SCORERS)


@pytest.mark.parametrize("name", LABEL_FREE)
def test_label_free_scorers_see_what_the_last_step_sees(name, table):
    step = FunctionTransformer(np.cbrt)
    pipeline = make_pipeline(step, make_quick("autoencoder")).fit(table)
    scaled = pipeline[0].transform(table)
    alone = clone(pipeline[-1]).fit(scaled)
    expected = get_scorer(name)(alone, scaled)
    assert get_scorer(name)(alone, scaled, np.arange(300) % 2) == expected
    assert get_scorer(name)(pipeline, table) == expected
