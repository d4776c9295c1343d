"""Scorers of fitted detectors, with labels and without."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skim.metrics import get_scorer, get_scorer_names
from tests.conftest import make_quick

LABELLED = ["outlier_average_precision", "outlier_roc_auc"]
LABEL_FREE = sorted(set(get_scorer_names()) - set(LABELLED))


def test_other_detectors_are_scored_by_all_but_cohesion(table, is_outlier):
    model = make_pipeline(StandardScaler(), IsolationForest(random_state=0)).fit(table)
    for name in LABELLED:
        area = get_scorer(name)(model, table, is_outlier)
        assert area > 0.8
        assert get_scorer(name)(model, table, np.where(is_outlier, -1, 1)) == area
    for name in LABEL_FREE[1:]:
        assert np.isfinite(get_scorer(name)(model, table))
    with pytest.raises(TypeError, match=r"skim's own.*not with IsolationForest"):
        get_scorer("gradient_cohesion")(model, table)


def test_scikit_learns_searches_accept_the_scorers(table, is_outlier):
    search = GridSearchCV(
        make_quick("autoencoder"),
        {"epochs": [1, 2]},
        scoring={name: get_scorer(name) for name in get_scorer_names()},
        refit=False,
        cv=StratifiedKFold(2),
        error_score="raise",
    ).fit(table, is_outlier)
    for name in get_scorer_names():
        assert np.isfinite(search.cv_results_[f"mean_test_{name}"]).all()


def test_importing_the_scorers_leaves_scikit_learns_alone():
    code = (
        "from sklearn.metrics import get_scorer_names as names\n"
        "before = names()\n"
        "import skim.metrics, skim.model_selection\n"
        "assert names() == before\n"
        "assert not set(before) & set(skim.metrics.get_scorer_names())\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pyod_detectors_are_refused(table, is_outlier):
    pyod = pytest.importorskip("skim.pyod")
    detector = pyod.ALTBI(epochs=2).fit(table)
    with pytest.raises(TypeError, match="from_pyod"):
        get_scorer("outlier_roc_auc")(detector, table, is_outlier)


@pytest.mark.parametrize("name", LABEL_FREE)
def test_label_free_scorers_see_what_the_last_step_sees(name, table):
    step = FunctionTransformer(np.cbrt)
    pipeline = make_pipeline(step, make_quick("autoencoder")).fit(table)
    scaled = pipeline[0].transform(table)
    alone = clone(pipeline[-1]).fit(scaled)
    expected = get_scorer(name)(alone, scaled)
    assert get_scorer(name)(alone, scaled, np.arange(300) % 2) == expected
    assert get_scorer(name)(pipeline, table) == expected
    assert get_scorer(name)(alone, table) != expected
