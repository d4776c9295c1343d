"""Scores as if training had ended earlier."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skim import ALTBIDetector, ODIMDetector


@pytest.fixture
def fitted(quick, table):
    return quick(store_stages=True).fit(table)


def assert_stages_equal_shorter_runs(detector, table):
    stages = list(detector.staged_score_samples(table[:50]))
    epochs = detector.history_["epoch"]
    assert len(stages) == len(epochs)
    np.testing.assert_array_equal(stages[-1], detector.score_samples(table[:50]))
    for n_epochs in range(1, len(epochs)):
        last = np.flatnonzero(epochs <= n_epochs)[-1]
        shorter = clone(detector).set_params(epochs=n_epochs).fit(table)
        np.testing.assert_array_equal(stages[last], shorter.score_samples(table[:50]))


def test_every_stage_equals_a_shorter_run(fitted, table):
    assert_stages_equal_shorter_runs(fitted, table)


def test_stages_have_normalized_losses_and_several_codes(table):
    detector = ALTBIDetector.paper(
        epochs=6, n_importance=2, random_state=0, store_stages=True
    ).fit(table)
    assert_stages_equal_shorter_runs(detector, table)


def test_members_that_have_stopped_keep_their_state(table):
    detector = ODIMDetector(
        epochs=40,
        n_estimators=6,
        n_importance=2,
        patience_updates=10,
        random_state=0,
        store_stages=True,
    ).fit(table)
    assert len(set(detector.best_updates_)) > 1
    assert_stages_equal_shorter_runs(detector, table)


def test_an_error_says_how_to_get_stages(quick, table):
    detector = quick().fit(table)
    with pytest.raises(ValueError, match="set store_stages=True and fit again"):
        detector.staged_score_samples(table)


def test_a_new_fit_forgets_the_stages_of_the_last_one(fitted, table):
    fitted.set_params(store_stages=False).fit(table)
    assert not hasattr(fitted, "_stages")


def test_storing_stages_changes_no_score(fitted, quick, table):
    without = quick().fit(table).training_scores_
    np.testing.assert_array_equal(fitted.training_scores_, without)


def test_stages_survive_pickling(fitted, table):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(
        list(again.staged_score_samples(table)),
        list(fitted.staged_score_samples(table)),
    )


def test_bad_rows_are_refused_at_the_call(quick, fitted, table):
    with pytest.raises(NotFittedError):
        quick(store_stages=True).staged_score_samples(table)
    with pytest.raises(ValueError, match="3 features"):
        fitted.staged_score_samples(table[:, :3])
