"""A detector is a network, a schedule and a stopping rule; any of them go together."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from skim import (
    ALTBIDetector,
    IMBoostDetector,
    NetworkDetector,
    ODIMDetector,
)
from skim.networks import AutoencoderConfig, VAEConfig
from skim.schedules import (
    ALTBISchedule,
    BestEpochSchedule,
    IMBoostSchedule,
    ODIMSchedule,
)
from tests.conftest import make_quick

SCHEDULES = {
    "altbi": ALTBISchedule(min_epochs=4, patience=1.5, n_snapshots=3),
    "normalized": ALTBISchedule(min_epochs=4, normalize_losses=True),
    "odim": ODIMSchedule(patience_updates=4),
    "best": BestEpochSchedule(),
    "descent": BestEpochSchedule(batch_size=None, updates_per_epoch=1, solver="gd"),
    "imboost": IMBoostSchedule(warm_up=3),
}
NETWORKS = {
    "vae": VAEConfig(),
    "codes": VAEConfig(n_importance=3),
    "autoencoder": AutoencoderConfig(),
    "flow": "flow",
}
# Every schedule with every kind of network, and every criterion with some of both.
COMBINATIONS = [
    ("altbi", "autoencoder", "entropy"),
    ("altbi", "flow", "cohesion"),
    ("normalized", "autoencoder", "separation"),
    ("odim", "vae", "cohesion"),
    ("odim", "autoencoder", "separation"),
    ("odim", "flow", "entropy"),
    ("best", "vae", "separation"),
    ("best", "codes", "entropy"),
    ("best", "flow", "separation"),
    ("descent", "autoencoder", "cohesion"),
    ("imboost", "autoencoder", None),
    ("imboost", "flow", None),
]


def combined(schedule, network, stopping, **params):
    network = NETWORKS[network]
    cls = NetworkDetector if isinstance(network, str) else ALTBIDetector
    return clone(
        cls(
            network=network,
            schedule=SCHEDULES[schedule],
            stopping=stopping,
            **{"epochs": 8, "n_estimators": 3, "random_state": 0} | params,
        )
    )


@pytest.mark.parametrize(("schedule", "network", "stopping"), COMBINATIONS)
def test_any_schedule_trains_any_network(schedule, network, stopping, table):
    X = table.copy()
    X[3, 2] = np.nan
    detector = combined(schedule, network, stopping, store_snapshots=True).fit(X)
    scores = detector.score_samples(X)
    assert_array_equal(scores, detector.training_scores_)
    *_, last = detector.staged_score_samples(X)
    assert_array_equal(last, scores)
    assert np.isfinite(detector.history_["criterion"]).any() == (stopping is not None)
    assert detector.explain(X, relative=True)[3, 2] == 0  # nothing is known of it
    warm = combined(schedule, network, stopping, ema_steps=2).fit(X)
    assert not np.array_equal(warm.training_scores_, scores)
    assert warm.history_["update"][0] == detector.history_["update"][0]


def test_labels_train_the_variational_autoencoder_only(table):
    boosted = IMBoostDetector(combined("imboost", "autoencoder", None)).fit(table)
    with pytest.raises(ValueError, match="IMBoostSchedule can learn labels with"):
        boosted.fit(table, labels=np.arange(300) >= 285)
    with pytest.raises(ValueError, match="IMBoostSchedule can learn labels with"):
        boosted.fit_oracle(table, np.zeros_like)


# As scikit-learn's parameters -----------------------------------------------------


def test_settings_are_searched_over_by_their_names(table, is_outlier):
    detector = ALTBIDetector(
        epochs=5, n_estimators=1, schedule=ALTBISchedule(), network=VAEConfig()
    ).set_params(random_state=0)
    grid = {"schedule__batch_size": [8, 64], "network__scaling": ["squash", "minmax"]}
    search = GridSearchCV(detector, grid, scoring="roc_auc", cv=StratifiedKFold(2))
    search.fit(table, np.where(is_outlier, -1, 1))
    assert len(set(search.cv_results_["mean_test_score"])) == 4
    best = search.best_estimator_
    assert best.schedule.batch_size == search.best_params_["schedule__batch_size"]
    assert best.history_["batch_size"][0] == best.schedule.batch_size
    assert (detector.schedule, detector.network) == (ALTBISchedule(), VAEConfig())


def test_settings_of_a_part_given_by_name_can_be_set():
    detector = ALTBIDetector().set_params(schedule__batch_size=64, network__max_width=8)
    assert (detector.schedule.batch_size, detector.network.max_width) == (64, 8)
    assert ALTBIDetector().schedule == "altbi"
    assert repr(detector.schedule) == "ALTBISchedule(batch_size=64)"
    assert repr(detector.network) in repr(detector)
    with pytest.raises(ValueError, match="no parameter 'bach_size'"):
        ALTBIDetector().set_params(schedule__bach_size=64)
    with pytest.raises(ValueError, match="ODIMSchedule has no parameter 'patience'"):
        ODIMDetector(schedule=ODIMSchedule()).set_params(schedule__patience=2)
    with pytest.raises(TypeError, match="n_snapshots"):
        ODIMSchedule(n_snapshots=2)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (ALTBISchedule(keep_quantile=1.5), "keep_quantile=1.5 of ALTBISchedule must"),
        (ALTBISchedule(patience=1.0), "patience=1.0 .* or None"),
        (ALTBISchedule(n_snapshots=2.5), "n_snapshots=2.5 .* must be an integer"),
        (BestEpochSchedule(solver="sgd"), "solver='sgd' .* must be 'adam' or 'gd'"),
        (VAEConfig(n_components="all"), "n_components='all' .* must be 'auto' or None"),
        (AutoencoderConfig(hidden_units=True), "hidden_units=True"),
    ],
)
def test_settings_out_of_their_limits_are_named(part, message, table):
    name = "schedule" if hasattr(part, "optimiser") else "network"
    with pytest.raises(ValueError, match=message):
        ALTBIDetector(**{name: part}).fit(table)


# A fit is all or nothing ----------------------------------------------------------


def test_nothing_that_changes_after_a_fit_changes_the_model(table):
    detector = make_quick("altbi", store_snapshots=True).fit(table)
    scores, stages = detector.score_samples(table), staged(detector, table)
    explained = detector.explain(table[:5])
    detector.schedule.set_params(learning_rate=0.5, burn_in=0.9, normalize_losses=True)
    detector.network.set_params(n_importance=9, max_width=16, scaling="minmax")
    detector.set_params(n_estimators=7, epochs=1, stopping=None)
    for copied in (detector, pickle.loads(pickle.dumps(detector))):
        assert_array_equal(copied.score_samples(table), scores)
        assert_array_equal(staged(copied, table), stages)
        assert_array_equal(copied.explain(table[:5]), explained)


def staged(detector, X):
    return list(detector.staged_score_samples(X))


class Interrupting:
    """An observer that interrupts training after some entries of the history."""

    def __init__(self, n_entries):
        self.n_left = n_entries

    def __call__(self, model, rows):
        self.n_left -= 1
        if self.n_left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("altbi", "interrupted"),
        ("altbi", "infinite"),
        ("altbi", "diverged"),
        ("network", "diverged"),
        ("autoencoder", "diverged"),
    ],
)
def test_a_fit_that_fails_leaves_the_previous_one(kind, reason, table):
    detector = make_quick(kind).fit(table)
    before = copy.copy(vars(detector))
    bad, error, message, observe = table[:, :3], ValueError, "infinity", None
    if reason == "interrupted":
        error, message, observe = KeyboardInterrupt, None, Interrupting(2)
    elif reason == "diverged":
        message = "diverged.* Lower the learning_rate of its schedule"
        detector.set_params(schedule__learning_rate=1e38)
    else:
        bad = np.where(bad == bad.max(), np.inf, bad)
    with pytest.raises(error, match=message):
        detector.fit(bad, observe=observe)
    assert (
        vars(detector).items()
        >= {name: value for name, value in before.items() if name.endswith("_")}.items()
    )
    assert_array_equal(detector.score_samples(table), before["training_scores_"])


# Observers ------------------------------------------------------------------------


def test_an_observer_sees_every_entry_and_can_end_training(
    quick, fitted, table, capsys
):
    seen = []

    def observe(model, rows):
        seen.append(model.losses(rows))
        return len(seen) == n_entries

    n_entries = 1000
    detector = quick().fit(table, observe=observe)
    assert np.shape(seen) == (len(detector.history_["epoch"]), len(table))
    assert_array_equal(detector.training_scores_, fitted.training_scores_)
    n_entries = len(seen) + 2
    detector = quick(verbose=1, store_snapshots=True).fit(table, observe=observe)
    assert capsys.readouterr().err.endswith("\n")
    assert len(detector.history_["epoch"]) == 2
    assert_array_equal(staged(detector, table)[-1], detector.training_scores_)
