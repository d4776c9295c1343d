"""A search over epochs equals a grid search."""

import copy
import pickle

import numpy as np
import pytest
import sklearn
from skim.model_selection._trainer import EpochTrainer
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from skim import ALTBIDetector, IMAutoencoderDetector
from skim._nets import NonFiniteLossError
from skim._training._history import History
from skim.metrics import get_scorer, get_scorer_names
from skim.model_selection import EpochSearchCV, InSampleSplit, OutlierKFold

CV = OutlierKFold(2)
AUC = get_scorer("outlier_roc_auc")


def assert_same_search(estimator, grid, X, y, **params):
    """Assert that both searches agree to the last bit; return ours."""
    params = {"cv": CV, "scoring": AUC} | params
    fit_params = params.pop("fit_params", {})
    theirs = GridSearchCV(clone(estimator), grid, **params).fit(X, y, **fit_params)
    ours = EpochSearchCV(clone(estimator), grid, **params).fit(X, y, **fit_params)
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


@pytest.mark.parametrize("labels", [(0, 1), (1, -1)])
def test_results_are_those_of_a_grid_search(quick, table, is_outlier, labels):
    y = np.where(is_outlier, labels[1], labels[0])
    grid = {"epochs": [4, 1, 5], "learning_rate": [1e-3, 1e-2]}
    assert_same_search(quick(), grid, table, y)


def test_paper_settings_can_be_searched(table, is_outlier):
    detector = ALTBIDetector.paper(n_importance=2, random_state=0)
    assert_same_search(detector, {"epochs": [2, 6]}, table, is_outlier)


def test_epochs_beyond_early_stopping_change_nothing(table, is_outlier):
    detector = ALTBIDetector(
        n_estimators=2, stopping="excess_mass", min_epochs=2, patience=2, random_state=0
    )
    grid, scorer = {"epochs": [1, 3, 20, 30]}, get_scorer("neg_loss_entropy")
    search = assert_same_search(detector, grid, table, is_outlier, scoring=scorer)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(scores[:3])) == 3
    assert scores[2] == scores[3]


def test_several_scorers_and_training_scores(quick, table, is_outlier):
    scoring = {name: get_scorer(name) for name in get_scorer_names()}
    assert_same_search(
        quick(),
        {"epochs": [1, 5]},
        table,
        is_outlier,
        scoring=scoring,
        refit="outlier_average_precision",
        return_train_score=True,
    )


def flagged(y_true, y_pred):
    return f1_score(y_true, y_pred == -1, zero_division=0.0)


@pytest.mark.parametrize("contamination", ["auto", 0.05])
def test_thresholds_are_those_of_the_shorter_run(
    quick, table, is_outlier, contamination
):
    detector = quick(contamination=contamination)
    grid, scoring = {"epochs": [1, 3, 5]}, make_scorer(flagged)
    assert_same_search(detector, grid, table, is_outlier, scoring=scoring)


def attributes(detector):
    """Return all that an estimator holds, parameters included."""
    return vars(detector) | {"_scaler": vars(detector._scaler)}


@pytest.mark.parametrize("store_stages", [False, True])
def test_scorers_see_a_detector_as_a_shorter_fit_leaves_it(quick, table, store_stages):
    detector = quick(store_stages=store_stages)
    assert_models_equal_shorter_fits(detector, [2, 3, 5, 6], table)


def test_scorers_see_a_paper_detector_as_a_shorter_fit_leaves_it(table):
    detector = ALTBIDetector.paper(n_importance=2, random_state=0, store_stages=True)
    gappy = table.copy()
    gappy[::9, 1] = np.nan
    assert_models_equal_shorter_fits(detector, [2, 4], gappy)


def assert_models_equal_shorter_fits(detector, epochs, X):
    for n_epochs, model in EpochTrainer(detector, epochs).fit(X).models():
        shorter = clone(detector).set_params(epochs=n_epochs).fit(X)
        assert type(model) is type(shorter)
        np.testing.assert_equal(attributes(model), attributes(shorter))


@pytest.mark.parametrize("name", get_scorer_names())
def test_every_scorer_sees_through_a_pipeline(quick, table, is_outlier, name):
    assert_same_search(
        pipeline_of(quick()),
        {"detect__epochs": [2, 5]},
        table,
        is_outlier,
        scoring=get_scorer(name),
    )


def in_place(estimator, X, y):
    """Score, spoil the data and score again."""
    before = estimator.score_samples(X).sum()
    X[:, 0] = 0.0
    return before - 2 * estimator.score_samples(X).sum()


def in_a_new_process(estimator, X, y):
    """Score by what comes out of a pickle, and by a clone."""
    stored = pickle.loads(pickle.dumps(estimator))
    copied = copy.deepcopy(estimator)
    scores = stored.decision_function(X), copied.decision_function(X)
    np.testing.assert_array_equal(*scores)
    return scores[0].sum() + clone(estimator).fit(X).score_samples(X).sum()


def by_stages(estimator, X, y):
    return len(list(estimator.staged_score_samples(X)))


@pytest.mark.parametrize("scorer", [in_place, in_a_new_process, by_stages])
def test_scorers_may_do_what_they_like(quick, table, is_outlier, scorer):
    detector = quick(store_stages=True)
    params = {"scoring": scorer, "error_score": "raise", "refit": False}
    assert_same_search(detector, {"epochs": [2, 3, 5]}, table, is_outlier, **params)
    if scorer is not by_stages:  # which a Pipeline does not have
        grid = {"detect__epochs": [2, 5]}
        assert_same_search(pipeline_of(detector), grid, table, is_outlier, **params)


@pytest.mark.parametrize("name", ["outlier_roc_auc", "excess_mass"])
def test_a_scaler_may_work_in_place(quick, table, is_outlier, name):
    pipeline = pipeline_of(quick()).set_params(scale__copy=False)
    grid, scoring = {"detect__epochs": [1, 5]}, get_scorer(name)
    assert_same_search(pipeline, grid, table, is_outlier, scoring=scoring, refit=False)


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


def test_a_divergence_that_only_scores_show_is_a_failure(table, is_outlier):
    detector = ALTBIDetector(n_estimators=1, learning_rate=1e9, random_state=0)
    params = {"cv": CV, "scoring": AUC, "refit": False}
    with pytest.raises(ValueError, match="fits failed"):
        GridSearchCV(detector, {"epochs": [2, 4]}, **params).fit(table, is_outlier)
    search = EpochSearchCV(detector, {"epochs": [2, 4]}, **params)
    with (
        pytest.warns(FitFailedWarning, match="diverged"),
        pytest.warns(UserWarning, match="non-finite"),
    ):
        search.fit(table, is_outlier)
    assert np.isnan(search.cv_results_["mean_test_score"]).all()


class FailsOnTestRows(StandardScaler):
    """Cannot transform what it was not fitted to."""

    def transform(self, X, copy=None):
        if len(X) != self.n_samples_seen_:
            raise ValueError("cannot see these rows")
        return super().transform(X, copy=copy)


def test_several_scores_may_all_fail(quick, table, is_outlier):
    rows, y = np.r_[table, table[:1]], np.r_[is_outlier, False]
    pipeline = Pipeline([("scale", FailsOnTestRows()), ("detect", quick())])
    names = ["outlier_roc_auc", "loss_separation"]
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


def pipeline_of(detector):
    return Pipeline(
        [("scale", StandardScaler()), ("skip", "passthrough"), ("detect", detector)]
    )


def test_a_pipeline_is_searched_by_its_last_step(quick, table, is_outlier):
    grid = {
        "detect__epochs": [1, 5],
        "scale": [StandardScaler(), MinMaxScaler(), "passthrough"],
    }
    assert_same_search(pipeline_of(quick()), grid, table, is_outlier)


def test_a_list_of_grids_and_a_frame(quick, table, is_outlier):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(table, columns=list("abcdef"))
    grid = [
        {"detect__epochs": [5, 2], "detect__learning_rate": [1e-3]},
        {"detect__ema_steps": [0, 3]},
    ]
    search = assert_same_search(pipeline_of(quick()), grid, frame, is_outlier)
    assert list(search.feature_names_in_) == list("abcdef")


def test_the_detector_itself_may_be_searched(quick, table, is_outlier):
    grid = {
        "detect": [quick(), ALTBIDetector(random_state=1)],
        "detect__epochs": [1, 3],
    }
    params = {"cv": CV, "scoring": AUC}
    theirs, ours = (
        search(pipeline_of(quick()), grid, **params).fit(table, is_outlier)
        for search in (GridSearchCV, EpochSearchCV)
    )
    expected = theirs.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], expected)


class Counting(TransformerMixin, BaseEstimator):
    """Counts its calls; is the same object in all of a fold's candidates."""

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
    trained = []
    cls = type(quick())
    fit = cls._fit
    monkeypatch.setattr(
        cls,
        "_fit",
        lambda self, *a, **k: (trained.append(self.epochs), fit(self, *a, **k))[1],
    )
    pipeline = Pipeline([("count", Counting()), ("detect", quick())])
    grid = {"detect__epochs": [1, 2, 5]}
    search = EpochSearchCV(pipeline, grid, cv=CV, scoring=AUC, refit=False)
    search.fit(table, is_outlier)
    assert trained == [5, 5]
    # A fold's rows are prepared once to train and once to be scored.
    assert Counting.calls == ["fit", "transform", "transform"] * 2


@pytest.mark.parametrize(
    "scoring", ["outlier_roc_auc", ["outlier_roc_auc", "loss_separation"]]
)
def test_scorers_may_be_given_by_name(quick, table, is_outlier, scoring):
    search = EpochSearchCV(
        quick(), {"epochs": [1, 5]}, cv=CV, scoring=scoring, refit="outlier_roc_auc"
    ).fit(table, is_outlier)
    assert search.best_score_ > 0.5


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        ("no_such", "Unknown scorer 'no_such'; use one of excess_mass, "),
        (None, "scoring=None; choose one of excess_mass, "),
        (["excess_mass"] * 2, "scoring has repeated names"),
    ],
)
def test_bad_scorers_are_refused(quick, table, scoring, message):
    with pytest.raises(ValueError, match=message):
        EpochSearchCV(quick(), {"epochs": [1]}, scoring=scoring).fit(table)


@pytest.mark.parametrize("cv", [None, 2, InSampleSplit()])
def test_no_labels_are_needed(quick, table, cv):
    search = EpochSearchCV(
        quick(), {"epochs": [1, 3, 5]}, scoring="neg_loss_entropy", cv=cv
    ).fit(table)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(scores)) > 1
    assert search.best_params_ == {"epochs": [1, 3, 5][scores.argmax()]}
    alone = quick(**search.best_params_).fit(table)
    np.testing.assert_array_equal(search.score_samples(table), alone.training_scores_)


def test_processes_make_no_difference(quick, table, is_outlier):
    assert_same_search(quick(), {"epochs": [2, 5]}, table, is_outlier, n_jobs=2)


def test_a_run_that_diverges_late_spoils_no_shorter_one(table, is_outlier, monkeypatch):
    record = History.record

    def fail_late(self, *, epoch, **entry):
        if epoch > 3:
            raise NonFiniteLossError
        return record(self, epoch=epoch, **entry)

    monkeypatch.setattr(History, "record", fail_late)
    detector = IMAutoencoderDetector(n_estimators=1, random_state=0)
    grid = {"epochs": [2, 4, 3]}
    params = {"cv": CV, "scoring": AUC}
    with (
        pytest.warns(FitFailedWarning, match="diverged"),
        pytest.warns(UserWarning, match="non-finite"),
    ):
        theirs = GridSearchCV(detector, grid, **params).fit(table, is_outlier)
    with (
        pytest.warns(FitFailedWarning, match=r"epochs=4 failed.*diverged"),
        pytest.warns(UserWarning, match="non-finite"),
    ):
        ours = EpochSearchCV(detector, grid, **params).fit(table, is_outlier)
    expected = theirs.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(np.isnan(expected), [False, True, False])
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], expected)
    assert ours.best_params_ == theirs.best_params_
    with pytest.raises(ValueError, match="diverged"):
        EpochSearchCV(detector, grid, error_score="raise", **params).fit(
            table, is_outlier
        )


def test_an_error_is_raised_if_all_fits_fail(quick, table, is_outlier):
    search = EpochSearchCV(
        quick(learning_rate=-1.0), {"epochs": [1, 2]}, cv=CV, scoring=AUC
    )
    with pytest.raises(ValueError, match="fits failed"):
        search.fit(table, is_outlier)


BAD_GRIDS = {
    "epochs must be positive integers; param_grid has 0": {"epochs": [0, 5]},
    "positive integers; param_grid has 2.5": {"epochs": [2.5]},
    "positive integers; param_grid has True": {"epochs": [True]},
    "positive integers; param_grid has 'ten'": {"epochs": ["ten"]},
    "repeated values": {"epochs": [3, 5, 3]},
    r"no 'epochs'.*\['learning_rate'\].*use GridSearchCV": {"learning_rate": [1e-3]},
    "Invalid parameter 'depth'": {"epochs": [1], "depth": [3]},
}


@pytest.mark.parametrize("message", BAD_GRIDS)
def test_bad_grids_are_refused(quick, table, is_outlier, message):
    search = EpochSearchCV(quick(), BAD_GRIDS[message], cv=CV, scoring=AUC)
    with pytest.raises(ValueError, match=message):
        search.fit(table, is_outlier)


def test_epochs_must_be_those_of_the_last_step(quick, table, is_outlier):
    search = EpochSearchCV(pipeline_of(quick()), {"epochs": [1, 2]}, scoring=AUC)
    with pytest.raises(ValueError, match="no 'detect__epochs'"):
        search.fit(table, is_outlier)


@pytest.mark.parametrize(
    "estimator", [IsolationForest(), make_pipeline(StandardScaler(), IsolationForest())]
)
def test_other_detectors_are_refused(estimator, table):
    with pytest.raises(TypeError, match="not IsolationForest"):
        EpochSearchCV(estimator, {"epochs": [1]}).fit(table)


def test_unusable_labels_are_refused(quick, table):
    search = EpochSearchCV(quick(), {"epochs": [1, 2]}, cv=2, scoring=AUC)
    with pytest.raises(ValueError, match="one class only"):
        search.fit(table, np.zeros(len(table)))
    with pytest.raises(ValueError, match="needs labels y"):
        search.fit(table)
    with pytest.raises(ValueError, match="not 'a', 'b'"):
        search.fit(table, np.where(np.arange(len(table)) < 9, "a", "b"))
    search.set_params(scoring="loss_separation").fit(table, np.zeros(len(table)))


def test_sorted_labels_and_plain_folds_get_advice(quick, table, is_outlier):
    search = EpochSearchCV(
        quick(), {"epochs": [1]}, cv=5, scoring=AUC, error_score="raise"
    )
    with pytest.raises(ValueError, match="OutlierKFold"):
        search.fit(table, is_outlier)


def test_metadata_is_routed(quick, table, is_outlier):
    """Weights reach the scorer, and groups the splitter, the scikit-learn way."""
    weights = np.where(np.arange(len(table)) % 3, 1.0, 0.25)
    groups = np.arange(len(table)) % 2
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        assert_same_search(
            make_pipeline(scaler, quick().set_params(n_estimators=1)),
            {f"{type(quick()).__name__.lower()}__epochs": [1, 4]},
            table,
            is_outlier,
            scoring=get_scorer("outlier_roc_auc").set_score_request(sample_weight=True),
            cv=GroupKFold(2),
            fit_params={"sample_weight": weights, "groups": groups},
        )


def test_callbacks_are_told_of_the_search(quick, table):
    pytest.importorskip("sklearn.callback")
    events = []

    class Listener:
        def setup(self, estimator, context):
            events.append("setup")

        def on_fit_task_begin(self, estimator, context):
            events.append(f"begin {type(estimator).__name__}")

        def on_fit_task_end(self, estimator, context):
            events.append(f"end {type(estimator).__name__}")

        def teardown(self, estimator, context):
            events.append("teardown")

    search = EpochSearchCV(quick(), {"epochs": [1, 2]}, scoring="loss_separation", cv=2)
    search.set_callbacks(Listener()).fit(table)
    assert events[:2] == ["setup", "begin EpochSearchCV"]
    assert events[-2:] == ["end EpochSearchCV", "teardown"]


def test_verbose_says_how_many_fits(quick, table, capsys):
    EpochSearchCV(
        quick(), {"epochs": [1, 2, 3]}, scoring="loss_separation", cv=2, verbose=1
    ).fit(table)
    assert "2 fits for 3 candidates" in capsys.readouterr().out


def test_a_search_can_be_cloned_and_pickled(quick, table):
    search = EpochSearchCV(quick(), {"epochs": [1, 2]}, scoring="excess_mass", cv=2)
    fitted = pickle.loads(pickle.dumps(clone(search).fit(table)))
    np.testing.assert_array_equal(
        fitted.score_samples(table), search.fit(table).score_samples(table)
    )
