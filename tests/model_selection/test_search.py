"""A search over epochs equals a grid search."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import skim._detectors._base
from skim import ALTBIDetector, IMAutoencoderDetector
from skim._nets import NonFiniteLossError
from skim._training._train import History
from skim.metrics import get_scorer, get_scorer_names
from skim.model_selection import EpochSearchCV, InSampleSplit
from skim.networks import VAEConfig
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
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    for name, column in theirs.cv_results_.items():
        if name == "params" or name.endswith("_time"):
            continue
        np.testing.assert_array_equal(ours.cv_results_[name], column, err_msg=name)
        mask = np.ma.getmaskarray(column)
        np.testing.assert_array_equal(np.ma.getmaskarray(ours.cv_results_[name]), mask)
    for name in ("best_params_", "best_score_", "best_index_", "multimetric_"):
        assert hasattr(ours, name) == hasattr(theirs, name)
        assert getattr(ours, name, None) == getattr(theirs, name, None)
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


def test_paper_settings_can_be_searched(table, is_outlier):
    network = VAEConfig(n_importance=2, scaling="minmax")
    detector = ALTBIDetector.paper(network=network, random_state=0)
    gappy = table.copy()
    gappy[::9, 1] = np.nan
    assert_same_search(detector, {"epochs": [2, 6]}, gappy, is_outlier)


def test_epochs_beyond_early_stopping_change_nothing(table, is_outlier):
    schedule = ALTBISchedule(min_epochs=2, patience=2)
    detector = ALTBIDetector(n_estimators=2, schedule=schedule, random_state=0)
    grid = {"epochs": [1, 20, 30]}
    search = assert_same_search(detector, grid, table, is_outlier)
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] != scores[1] == scores[2]


def flagged(y_true, y_pred):
    return f1_score(y_true, y_pred == -1, zero_division=0.0)


@pytest.mark.parametrize("contamination", ["auto", 0.05])
@pytest.mark.parametrize("which", ["altbi", "odim", "autoencoder"])
def test_thresholds_are_those_of_the_shorter_run(
    which, table, is_outlier, contamination
):
    detector = make_quick(which, contamination=contamination)
    grid, scoring = {"epochs": [1, 3, 5]}, make_scorer(flagged)
    assert_same_search(detector, grid, table, is_outlier, scoring=scoring)


def test_several_scorers_training_scores_a_pipeline_and_processes(table, is_outlier):
    assert_same_search(
        pipeline_of(make_quick("altbi")),
        {"detect__epochs": [1, 5]},
        table,
        is_outlier,
        scoring={name: get_scorer(name) for name in get_scorer_names()},
        refit="outlier_average_precision",
        return_train_score=True,
        n_jobs=2,
    )


def test_steps_and_detectors_of_a_pipeline_may_be_searched(table, is_outlier):
    grid = {
        "detect": [SMALL, ALTBIDetector(n_estimators=1, random_state=1)],
        "detect__epochs": [1, 3],
        "scale": [StandardScaler(), FunctionTransformer(np.cbrt), "passthrough"],
    }
    params = {"cv": CV, "scoring": ENTROPY}
    theirs, ours = (
        search(pipeline_of(SMALL), grid, **params).fit(table, is_outlier)
        for search in (GridSearchCV, EpochSearchCV)
    )
    expected = theirs.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], expected)
    assert len(set(expected)) > 6


def test_a_list_of_grids_and_a_frame(table, is_outlier):
    frame = pd.DataFrame(table, columns=list("abcdef"))
    grid = [
        {"detect__epochs": [5, 2], "detect__schedule__learning_rate": [1e-3]},
        {"detect__ema_steps": [0, 3]},
    ]
    pipeline = pipeline_of(make_quick("odim"))
    search = assert_same_search(pipeline, grid, frame, is_outlier)
    assert list(search.feature_names_in_) == list("abcdef")


def test_groups_reach_the_splitter(table, is_outlier):
    groups = np.arange(len(table)) % 2
    grid, params = {"epochs": [1, 4]}, {"fit_params": {"groups": groups}}
    assert_same_search(SMALL, grid, table, is_outlier, cv=GroupKFold(2), **params)


# What scorers see ------------------------------------------------------------------


def fingerprint(estimator, X, y):
    """Sum up all that a fit has set."""
    history = sum(np.nansum(column) for column in estimator.history_.values())
    arrays = estimator.weights_, estimator.typical_contributions_
    fitted = estimator.offset_, estimator.n_features_in_, estimator.epochs
    sums = sum(float(part.sum()) for part in (*arrays, estimator.training_scores_))
    return float(history + sums + sum(fitted))


def in_place(estimator, X, y):
    """Score, spoil the data and score again."""
    before = estimator.score_samples(X).sum()
    X[:, 0] = 0.0
    return before - 2 * estimator.score_samples(X).sum()


def in_a_new_process(estimator, X, y):
    """Score by what comes out of a pickle, by a copy and by a clone."""
    stored = pickle.loads(pickle.dumps(estimator))
    copied = copy.deepcopy(estimator)
    scores = stored.decision_function(X), copied.decision_function(X)
    np.testing.assert_array_equal(*scores)
    return scores[0].sum() + clone(estimator).fit(X).score_samples(X).sum()


def by_stages(estimator, X, y):
    return sum(scores.sum() for scores in estimator.staged_score_samples(X))


SCORERS = [fingerprint, in_place, in_a_new_process, by_stages]


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


@pytest.mark.parametrize("name", ["outlier_roc_auc", "gradient_cohesion"])
def test_a_scaler_may_work_in_place(table, is_outlier, name):
    pipeline = pipeline_of(SMALL).set_params(scale__copy=False)
    params = {"scoring": get_scorer(name), "refit": False, "return_train_score": True}
    assert_same_search(
        pipeline, {"detect__epochs": [1, 5]}, table, is_outlier, **params
    )


class Halved(IMAutoencoderDetector):
    """A detector with a `fit` of its own."""

    def fit(self, X, y=None):
        return super().fit(X[::2])


class Negated(IMAutoencoderDetector):
    """A detector with a `score_samples` of its own."""

    def score_samples(self, X):
        return -super().score_samples(X)


@pytest.mark.parametrize("cls", [Halved, Negated])
def test_subclasses_keep_their_own_methods(table, is_outlier, cls):
    detector = cls(n_estimators=1, random_state=0)
    assert_same_search(detector, {"epochs": [1, 4]}, table, is_outlier)


# One training run ------------------------------------------------------------------


class Counting(TransformerMixin, BaseEstimator):
    """Counts its calls."""

    calls: list = []

    def fit(self, X, y=None):
        self.calls.append("fit")
        return self

    def transform(self, X):
        self.calls.append("transform")
        return X * 1.0

    def __sklearn_is_fitted__(self):
        return True


def test_there_is_one_run_per_fold(quick, table, is_outlier, monkeypatch):
    Counting.calls.clear()
    trained, train = [], skim._detectors._base.train

    def counted(run, schedule, stopping, epochs, *args, **kwargs):
        trained.append(epochs)
        return train(run, schedule, stopping, epochs, *args, **kwargs)

    monkeypatch.setattr(skim._detectors._base, "train", counted)
    pipeline = Pipeline([("count", Counting()), ("detect", quick())])
    grid = {"detect__epochs": [1, 2, 5]}
    search = EpochSearchCV(pipeline, grid, cv=CV, scoring=AUC, refit=False)
    search.fit(table, is_outlier)
    assert trained == [5, 5]
    # A fold's rows are prepared once to train and once to be scored.
    assert Counting.calls == ["fit", "transform", "transform"] * 2


# Failures --------------------------------------------------------------------------


def test_a_divergence_that_only_scores_show_is_a_failure(table, is_outlier):
    schedule = ALTBISchedule(learning_rate=1e9)
    detector = ALTBIDetector(n_estimators=1, schedule=schedule, random_state=0)
    for search in (GridSearchCV, EpochSearchCV):
        failing = search(detector, {"epochs": [2, 4]}, cv=CV, scoring=AUC, refit=False)
        with pytest.raises(ValueError, match=r"fits failed(.|\n)*diverged"):
            failing.fit(table, is_outlier)


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


class FailsOnTestRows(StandardScaler):
    """Cannot transform what it was not fitted to."""

    def transform(self, X, copy=None):
        if len(X) != self.n_samples_seen_:
            raise ValueError("cannot see these rows")
        return super().transform(X, copy=copy)


@pytest.mark.parametrize("names", [["outlier_roc_auc"], get_scorer_names()])
def test_several_scores_may_all_fail(table, is_outlier, names):
    rows, y = np.r_[table, table[:1]], np.r_[is_outlier, False]
    pipeline = Pipeline([("scale", FailsOnTestRows()), ("detect", SMALL)])
    with (
        pytest.warns(UserWarning, match="cannot see these rows"),
        pytest.warns(UserWarning, match="non-finite"),
    ):
        search = assert_same_search(
            pipeline,
            {"detect__epochs": [1, 2]},
            rows,
            y,
            scoring={name: get_scorer(name) for name in names},
            refit=False,
            return_train_score=True,
        )
    assert np.isnan(search.cv_results_["mean_test_outlier_roc_auc"]).all()
    assert np.isfinite(search.cv_results_["mean_train_outlier_roc_auc"]).all()


# Scorers, labels and grids ---------------------------------------------------------


@pytest.mark.parametrize("cv", [None, 2, InSampleSplit()])
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


def test_scorers_may_be_given_by_name(table, is_outlier):
    for scoring in ("outlier_roc_auc", ["outlier_roc_auc", "loss_separation"]):
        search = EpochSearchCV(
            SMALL, {"epochs": [1, 5]}, cv=CV, scoring=scoring, refit="outlier_roc_auc"
        ).fit(table, is_outlier)
        assert search.best_score_ > 0.5


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        ("no_such", "Unknown scorer 'no_such'; use one of gradient_cohesion, "),
        (["loss_separation"] * 2, "scoring has repeated names"),
    ],
)
def test_bad_scorers_are_refused(table, scoring, message):
    with pytest.raises(ValueError, match=message):
        EpochSearchCV(SMALL, {"epochs": [1]}, scoring=scoring).fit(table)


BAD_GRIDS = {
    "epochs must be positive integers; param_grid has 0": {"epochs": [0, 5]},
    "positive integers; param_grid has 2.5": {"epochs": [2.5]},
    "positive integers; param_grid has True": {"epochs": [True]},
    "positive integers; param_grid has 'ten'": {"epochs": ["ten"]},
    "repeated values": {"epochs": [3, 5, 3]},
    r"no 'epochs'.*\['ema_steps'\].*use GridSearchCV": {"ema_steps": [3]},
    "Invalid parameter 'depth'": {"epochs": [1], "depth": [3]},
}


@pytest.mark.parametrize("message", BAD_GRIDS)
def test_bad_grids_are_refused(table, is_outlier, message):
    search = EpochSearchCV(SMALL, BAD_GRIDS[message], cv=CV, scoring=AUC)
    with pytest.raises(ValueError, match=message):
        search.fit(table, is_outlier)


def test_epochs_must_be_those_of_the_last_step_and_of_a_detector_of_skim(table):
    with pytest.raises(ValueError, match="no 'detect__epochs'"):
        EpochSearchCV(pipeline_of(SMALL), {"epochs": [1, 2]}).fit(table)
    for other in (
        IsolationForest(),
        make_pipeline(StandardScaler(), IsolationForest()),
    ):
        with pytest.raises(TypeError, match="not IsolationForest"):
            EpochSearchCV(other, {"epochs": [1]}).fit(table)


def test_unusable_labels_are_refused(table, is_outlier):
    search = EpochSearchCV(SMALL, {"epochs": [1, 2]}, cv=2, scoring=AUC)
    with pytest.raises(ValueError, match="one class only"):
        search.fit(table, np.zeros(len(table)))
    with pytest.raises(ValueError, match="needs labels y"):
        search.fit(table)
    with pytest.raises(ValueError, match="not 'a', 'b'"):
        search.fit(table, np.where(np.arange(len(table)) < 9, "a", "b"))
    # Sorted labels and plain folds
    with pytest.raises(ValueError, match="StratifiedKFold"):
        search.set_params(cv=5).fit(table, np.where(is_outlier, "x", "y") == "x")
    search.set_params(scoring="loss_separation").fit(table, np.zeros(len(table)))


def test_verbose_says_how_many_fits(table, capsys):
    EpochSearchCV(SMALL, {"epochs": [1, 2, 3]}, cv=2, verbose=1).fit(table)
    assert "2 fits for 3 candidates" in capsys.readouterr().out
