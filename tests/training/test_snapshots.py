"""The model as if training had ended earlier."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skim import ALTBIDetector, ODIMDetector
from skim._training._stopping import CRITERIA
from skim.networks import VAEConfig
from skim.schedules import ODIMSchedule


def assert_same_model(found, expected):
    """Assert that two models are equal, but for what was stored of the run."""
    for name in ("weights", "statistics"):
        np.testing.assert_array_equal(
            getattr(found.snapshots, name), getattr(expected.snapshots, name)
        )
    assert found.history.keys() == expected.history.keys()
    for name, column in expected.history.items():
        np.testing.assert_array_equal(found.history[name], column)
    np.testing.assert_equal(found.snapshots.ranges, expected.snapshots.ranges)
    np.testing.assert_equal(found.typical, expected.typical)


def assert_every_entry_equals_a_shorter_run(detector, X, all_epochs=None):
    staged = list(detector.staged_score_samples(X[:50]))
    epochs = detector.history_["epoch"]
    assert len(staged) == len(epochs)
    np.testing.assert_array_equal(staged[-1], detector.score_samples(X[:50]))
    for n_epochs in all_epochs or range(1, detector.epochs + 1):
        last = np.flatnonzero(epochs <= n_epochs)[-1]
        shorter = clone(detector).set_params(epochs=n_epochs, store_snapshots=False)
        shorter.fit(X)
        np.testing.assert_array_equal(staged[last], shorter.score_samples(X[:50]))
        assert_same_model(detector.model_.at(n_epochs), shorter.model_)


@pytest.mark.parametrize("stopping", [*CRITERIA, None])
def test_every_entry_equals_a_shorter_run(quick, table, stopping):
    detector = quick(stopping=stopping, store_snapshots=True).fit(table)
    is_judged = np.isfinite(detector.history_["criterion"][4:])
    assert is_judged.all() == is_judged.any() == (stopping is not None)
    some = (4, 9, 14) if detector.epochs == 14 else None
    assert_every_entry_equals_a_shorter_run(detector, table, some)


def test_earlier_models_have_normalized_losses_several_codes_and_gaps(table):
    gappy = table.copy()
    gappy[::9, 1] = np.nan
    network = VAEConfig(n_importance=2, scaling="minmax")
    detector = ALTBIDetector.paper(
        epochs=6, network=network, random_state=0, store_snapshots=True
    ).fit(gappy)
    assert detector.model_.snapshots.ranges.shape == (1, 2, 1)
    assert_every_entry_equals_a_shorter_run(detector, gappy)


def test_members_that_have_stopped_keep_their_state(table):
    detector = ODIMDetector(
        epochs=40,
        n_estimators=6,
        network=VAEConfig(n_importance=2),
        schedule=ODIMSchedule(patience_updates=10),
        random_state=0,
        store_snapshots=True,
    ).fit(table)
    assert len(set(detector.model_.snapshots.entries[-1])) > 1
    assert_every_entry_equals_a_shorter_run(detector, table, (1, 3, 8, 20, 40))


def test_an_error_says_how_to_get_earlier_scores(quick, fitted, table):
    with pytest.raises(NotFittedError):
        next(quick(store_snapshots=True).staged_score_samples(table))
    with pytest.raises(ValueError, match="3 features"):
        next(fitted.staged_score_samples(table[:, :3]))
    forgetful = clone(fitted).fit(table).set_params(store_snapshots=False).fit(table)
    with pytest.raises(ValueError, match="set store_snapshots=True and fit again"):
        next(forgetful.staged_score_samples(table))
