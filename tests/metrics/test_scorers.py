"""Scorers of fitted detectors, with labels and without."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skim.metrics import get_scorer, get_scorer_names
from skim.model_selection import OutlierKFold

LABELLED = ["outlier_average_precision", "outlier_roc_auc"]
LABEL_FREE = sorted(set(get_scorer_names()) - set(LABELLED))


@pytest.mark.parametrize("name", LABELLED)
def test_labelled_scorers_accept_other_detectors_and_both_conventions(
    name, table, is_outlier
):
    model = make_pipeline(StandardScaler(), IsolationForest(random_state=0)).fit(table)
    area = get_scorer(name)(model, table, is_outlier)
    assert area > 0.8
    assert get_scorer(name)(model, table, np.where(is_outlier, -1, 1)) == area


def test_plain_roc_auc_is_one_minus_ours(quick, table, is_outlier):
    detector = quick().fit(table)
    plain = get_scorer("roc_auc")(detector, table, is_outlier.astype(int))
    ours = get_scorer("outlier_roc_auc")(detector, table, is_outlier.astype(int))
    assert ours == pytest.approx(1 - plain)
    assert ours > 0.5


@pytest.mark.parametrize("name", get_scorer_names())
def test_scikit_learns_searches_accept_the_scorer(name, table, is_outlier, quick):
    search = GridSearchCV(
        quick(),
        {"epochs": [1, 2]},
        scoring=get_scorer(name),
        cv=OutlierKFold(2),
        error_score="raise",
    ).fit(table, is_outlier)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_importing_the_scorers_leaves_scikit_learns_alone():
    code = (
        "from sklearn.metrics import get_scorer_names as names\n"
        "before = names()\n"
        "import skim.metrics, skim.model_selection\n"
        "assert names() == before\n"
        "assert not set(before) & set(skim.metrics.get_scorer_names())\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="no_such_scorer"):
        get_scorer("no_such_scorer")


@pytest.mark.parametrize("name", ["outlier_roc_auc", "loss_separation"])
def test_pyod_detectors_are_refused(name, table, is_outlier):
    pyod = pytest.importorskip("skim.pyod")
    detector = pyod.ALTBI(epochs=2).fit(table)
    with pytest.raises(TypeError, match="from_pyod"):
        get_scorer(name)(detector, table, is_outlier)


@pytest.mark.parametrize("name", LABEL_FREE)
def test_label_free_scorers_ignore_labels(name, quick, table, is_outlier):
    detector = quick().fit(table)
    value = get_scorer(name)(detector, table)
    assert np.isfinite(value)
    assert get_scorer(name)(detector, table, is_outlier) == value


@pytest.mark.parametrize("name", LABEL_FREE)
def test_label_free_scorers_see_what_the_last_step_sees(name, quick, table):
    pipeline = make_pipeline(StandardScaler(), quick()).fit(table)
    scaled = pipeline[0].transform(table)
    alone = clone(pipeline[-1]).fit(scaled)
    assert get_scorer(name)(pipeline, table) == get_scorer(name)(alone, scaled)


@pytest.mark.parametrize("name", LABEL_FREE)
def test_only_cohesion_needs_a_detector_of_skim(name, table):
    detector = IsolationForest(random_state=0).fit(table)
    if name == "gradient_cohesion":
        with pytest.raises(TypeError, match=r"skim's own.*not with IsolationForest"):
            get_scorer(name)(detector, table)
    else:
        assert np.isfinite(get_scorer(name)(detector, table))


@pytest.mark.parametrize("name", LABEL_FREE)
def test_frames_score_like_arrays(name, quick, table):
    frame = pd.DataFrame(table, columns=list("abcdef"))
    value = get_scorer(name)(quick().fit(frame), frame)
    assert value == get_scorer(name)(quick().fit(table), table)


@pytest.mark.parametrize("name", LABEL_FREE)
def test_huge_values_get_finite_scores(name, quick):
    table = 1e300 * np.random.default_rng(0).uniform(-1, 1, size=(40, 3))
    assert np.isfinite(get_scorer(name)(quick().fit(table), table))
