"""A search over epochs equals a grid search."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import skim._detectors._base
from skim import ALTBIDetector, IMAutoencoderDetector
from skim._nets import NonFiniteLossError
from skim._training._train import History
from skim.metrics import get_scorer
from skim.metrics._scorers import SCORERS as NAMED
from skim.model_selection import EpochSearchCV
from skim.schedules import ALTBISchedule
from tests.conftest import make_quick

CV = StratifiedKFold(2)
AUC = get_scorer("outlier_roc_auc")
ENTROPY = get_scorer("neg_loss_entropy")  # differs wherever a score does
SMALL = IMAutoencoderDetector(n_estimators=2, random_state=0)


def pipeline_of(detector):
    return Pipeline(
        [("scale", StandardScaler()), ("skip", "passthrough"), ("detect", detector)]
    )


def assert_same_search(estimator, grid, X, y, *, fit_params=None, **params):
    """Assert that both searches agree to the last bit; return ours."""
    params = {"cv": CV, "scoring": ENTROPY} | params
    theirs, ours = (
        search(clone(estimator), grid, **params).fit(X, y, **(fit_params or {}))
        for search in (GridSearchCV, EpochSearchCV)
    )
    assert list(ours.cv_results_) == list(theirs.cv_results_)
    assert str(ours.cv_results_["params"]) == str(theirs.cv_results_["params"])
    for name, column in theirs.cv_results_.items():
        if name in ("params", "param_scale") or name.endswith("_time"):
            continue
        np.testing.assert_array_equal(ours.cv_results_[name], column, err_msg=name)
        mask = np.ma.getmaskarray(column)
        np.testing.assert_array_equal(np.ma.getmaskarray(ours.cv_results_[name]), mask)
    for name in ("best_params_", "best_score_", "best_index_", "multimetric_"):
        assert hasattr(ours, name) == hasattr(theirs, name)
        assert str(getattr(ours, name, None)) == str(getattr(theirs, name, None))
    assert ours.n_splits_ == theirs.n_splits_
    if params.get("refit", True):
        np.testing.assert_array_equal(ours.score_samples(X), theirs.score_samples(X))
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        assert ours.score(X, y) == theirs.score(X, y)
    return ours


# The same results ------------------------------------------------------------------


def test_results_are_those_of_a_grid_search(quick, table, is_outlier):
    grid = {"epochs": [4, 1, 5], "schedule__learning_rate": [1e-3, 1e-2]}
    search = assert_same_search(quick(), grid, table, np.where(is_outlier, -1, 1))
    assert len(set(search.cv_results_["mean_test_score"])) > 3


def test_results_are_the_same_with_clean_data(table, is_outlier):
    detector = ALTBIDetector(n_estimators=2, random_state=0, contamination=0.0)
    assert_same_search(detector, {"epochs": [2, 5]}, table, is_outlier)


def test_epochs_beyond_early_stopping_change_nothing(table, is_outlier):
    schedule = ALTBISchedule(min_epochs=2, patience=2)
    detector = ALTBIDetector(n_estimators=2, schedule=schedule, random_state=0)
    grid = {"epochs": [1, 20, 30]}
    search = assert_same_search(detector, grid, table, is_outlier)
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] != scores[1] == scores[2]


def test_scorers_training_scores_pipelines_grids_frames_and_processes(
    table, is_outlier
):
    search = assert_same_search(
        pipeline_of(make_quick("altbi")),
        [
            {"detect__epochs": [5, 1], "scale": [StandardScaler(), "passthrough"]},
            {"detect__ema_steps": [0, 3]},
        ],
        pd.DataFrame(table, columns=list("abcdef")),
        is_outlier,
        scoring={name: get_scorer(name) for name in NAMED},
        refit="outlier_average_precision",
        return_train_score=True,
        n_jobs=2,
    )
    assert list(search.feature_names_in_) == list("abcdef")


# What scorers see ------------------------------------------------------------------


def fingerprint(estimator, X, y):
    """Sum up all that a fit has set."""
    history = sum(np.nansum(column) for column in estimator.history_.values())
    arrays = estimator.model_.snapshots.weights, estimator.model_.typical.by_column
    fitted = estimator.offset_, estimator.n_features_in_, estimator.epochs
    sums = sum(float(part.sum()) for part in (*arrays, estimator.training_scores_))
    return float(history + sums + sum(fitted))


def in_place(estimator, X, y):
    """Score, spoil the data and score again."""
    before = estimator.score_samples(X).sum()
    X[:, 0] = 0.0
    return before - 2 * estimator.score_samples(X).sum()


def by_stages(estimator, X, y):
    return sum(scores.sum() for scores in estimator.staged_score_samples(X))


SCORERS = [fingerprint, in_place, by_stages]


@pytest.mark.parametrize("scorer", SCORERS, ids=lambda scorer: scorer.__name__)
@pytest.mark.parametrize("which", ["altbi", "odim", "autoencoder"])
def test_scorers_see_a_detector_as_a_shorter_fit_leaves_it(
    which, table, is_outlier, scorer
):
    assert_same_search(
        make_quick(which, store_snapshots=scorer is by_stages),
        {"epochs": [2, 3, 5]},
        table,
        is_outlier,
        scoring=scorer,
        return_train_score=True,
        error_score="raise",
        refit=False,
    )


# One training run ------------------------------------------------------------------


def test_there_is_one_run_per_fold(quick, table, is_outlier, monkeypatch):
    trained, train = [], skim._detectors._base.train

    def counted(run, schedule, stopping, epochs, *args, **kwargs):
        trained.append(epochs)
        return train(run, schedule, stopping, epochs, *args, **kwargs)

    monkeypatch.setattr(skim._detectors._base, "train", counted)
    grid = {"detect__epochs": [1, 2, 5]}
    search = EpochSearchCV(pipeline_of(quick()), grid, cv=CV, scoring=AUC, refit=False)
    search.fit(table, is_outlier)
    assert trained == [5, 5]


# Failures --------------------------------------------------------------------------


def test_a_run_that_diverges_late_spoils_no_shorter_one(table, is_outlier, monkeypatch):
    record = History.record

    def fail_late(self, epoch, *args, **kwargs):
        if epoch > 3:
            raise NonFiniteLossError
        return record(self, epoch, *args, **kwargs)

    monkeypatch.setattr(History, "record", fail_late)
    grid = {"epochs": [2, 4, 3]}
    with (
        pytest.warns(FitFailedWarning, match="diverged"),
        pytest.warns(UserWarning, match="non-finite"),
    ):
        search = assert_same_search(SMALL, grid, table, is_outlier)
    failed = np.isnan(search.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(failed, [False, True, False])
    with pytest.raises(ValueError, match="diverged"):
        search.set_params(error_score="raise").fit(table, is_outlier)


# Scorers, labels and grids ---------------------------------------------------------


@pytest.mark.parametrize("cv", [None, [(np.arange(300), np.arange(300))]])
def test_by_default_no_labels_are_needed(table, cv):
    grid = {"epochs": [1, 3, 5]}
    search = EpochSearchCV(SMALL, grid, cv=cv).fit(table)
    by_name = EpochSearchCV(SMALL, grid, scoring="neg_loss_entropy", cv=cv).fit(table)
    scores = search.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(by_name.cv_results_["mean_test_score"], scores)
    assert len(set(scores)) > 1
    assert search.best_params_ == {"epochs": [1, 3, 5][scores.argmax()]}
    alone = clone(SMALL).set_params(**search.best_params_).fit(table)
    np.testing.assert_array_equal(search.score_samples(table), alone.training_scores_)


BAD_GRIDS = {
    "epochs must be positive integers; param_grid has 0": {"epochs": [0, 5]},
    "positive integers; param_grid has 2.5": {"epochs": [2.5]},
    "positive integers; param_grid has 'ten'": {"epochs": ["ten"]},
    "Invalid parameter 'depth'": {"epochs": [1], "depth": [3]},
}


def test_bad_grids_and_scorers_are_refused(table, is_outlier):
    for message, grid in BAD_GRIDS.items():
        search = EpochSearchCV(SMALL, grid, cv=CV, scoring=AUC)
        with pytest.raises(ValueError, match=message):
            search.fit(table, is_outlier)
    with pytest.raises(ValueError, match="'no_such' is not a valid scoring value"):
        EpochSearchCV(SMALL, {"epochs": [1]}, scoring="no_such").fit(table)


def test_epochs_must_be_those_of_the_last_step_and_of_a_detector_of_skim(table):
    with pytest.raises(ValueError, match="Invalid parameter 'epochs'"):
        EpochSearchCV(pipeline_of(SMALL), {"epochs": [1, 2]}).fit(table)
    for other in (
        IsolationForest(),
        make_pipeline(StandardScaler(), IsolationForest()),
    ):
        with pytest.raises(TypeError, match="not IsolationForest"):
            EpochSearchCV(other, {"epochs": [1]}).fit(table)


@pytest.mark.filterwarnings("ignore:.*non-finite")
def test_unusable_labels_are_warned_of_as_in_a_grid_search(table, is_outlier):
    for y, message in ((np.zeros(300), "one class only"), (None, "1d array")):
        with pytest.warns(UserWarning, match=message):
            assert_same_search(
                SMALL, {"epochs": [1]}, table, y, cv=2, scoring=AUC, refit=False
            )
