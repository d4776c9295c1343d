"""Scores as if the training had ended earlier."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skim import ALTBIDetector, ODIMDetector
from skim._detectors._callbacks import FitHooks
from skim._training._staging import MAX_AUTO_BYTES


def stages_of(detector, X):
    return list(detector.staged_score_samples(X))


def test_every_stage_equals_a_shorter_training(quick, table):
    detector = quick().fit(table)
    stages = stages_of(detector, table[:50])
    epochs = detector.history_["epoch"]
    assert len(stages) == len(epochs)
    for n_epochs in range(1, detector.epochs + 1):
        last = np.flatnonzero(epochs <= n_epochs)[-1]
        shorter = clone(detector).set_params(epochs=n_epochs).fit(table)
        np.testing.assert_array_equal(stages[last], shorter.score_samples(table[:50]))


def test_the_last_stage_is_the_score(quick, table):
    detector = quick().fit(table)
    last = stages_of(detector, table)[-1]
    np.testing.assert_array_equal(last, detector.score_samples(table))


def test_rescaled_losses_have_stages_if_asked(table):
    detector = ALTBIDetector.paper(
        epochs=6, n_importance=2, random_state=0, store_stages=True
    )
    stages = stages_of(detector.fit(table), table[:20])
    for n_epochs in (1, 4, 6):
        shorter = clone(detector).set_params(epochs=n_epochs).fit(table)
        np.testing.assert_array_equal(
            stages[n_epochs - 1], shorter.score_samples(table[:20])
        )


def test_members_that_have_stopped_keep_their_state(table):
    detector = ODIMDetector(epochs=40, n_estimators=6, patience_updates=10, random_state=0)
    detector.fit(table)
    assert len(set(detector.best_updates_)) > 1
    stages = stages_of(detector, table[:20])
    epochs = detector.history_["epoch"]
    for n_epochs in np.unique(epochs):
        shorter = clone(detector).set_params(epochs=int(n_epochs)).fit(table)
        last = np.flatnonzero(epochs <= n_epochs)[-1]
        np.testing.assert_array_equal(stages[last], shorter.score_samples(table[:20]))


def test_a_training_that_was_stopped_ends_with_its_score(quick, table, monkeypatch):
    seen = []
    monkeypatch.setattr(FitHooks, "are_heard", True)
    monkeypatch.setattr(
        FitHooks, "epoch", lambda self, state: seen.append(1) or len(seen) >= 3
    )
    detector = quick().fit(table)
    stages = stages_of(detector, table)
    assert len(stages) == 3
    np.testing.assert_array_equal(stages[-1], detector.score_samples(table))


def test_several_codes_have_stages(table):
    detector = ODIMDetector(epochs=3, n_estimators=2, n_importance=3, random_state=0)
    stages = stages_of(detector.fit(table), table)
    np.testing.assert_array_equal(stages[-1], detector.score_samples(table))


@pytest.mark.parametrize(
    "detector",
    [
        ALTBIDetector(epochs=3, store_stages=False),
        ALTBIDetector.paper(epochs=3, n_importance=2),
    ],
    ids=["not wanted", "costly"],
)
def test_without_stages_it_is_said_how_to_get_them(detector, table):
    detector.fit(table)
    with pytest.raises(ValueError, match="store_stages=True"):
        detector.staged_score_samples(table)


def test_auto_forgets_stages_that_take_too_much(table):
    wide = np.tile(table, 400)[:20]
    detector = ALTBIDetector(epochs=20, n_snapshots=1, random_state=0).fit(wide)
    assert detector.weights_.nbytes * 20 > MAX_AUTO_BYTES
    assert not hasattr(detector, "_stages")


def test_a_new_fit_forgets_the_stages_of_the_last_one(quick, table):
    detector = quick().fit(table)
    detector.set_params(store_stages=False).fit(table)
    assert not hasattr(detector, "_stages")


def test_storing_stages_changes_no_score(quick, table):
    with_stages = quick(store_stages=True).fit(table).training_scores_
    without = quick(store_stages=False).fit(table).training_scores_
    np.testing.assert_array_equal(with_stages, without)


def test_stages_survive_pickling(quick, table):
    detector = quick().fit(table)
    again = pickle.loads(pickle.dumps(detector))
    for before, after in zip(
        stages_of(detector, table), stages_of(again, table), strict=True
    ):
        np.testing.assert_array_equal(before, after)


def test_bad_rows_are_refused_at_the_call(quick, table):
    with pytest.raises(NotFittedError):
        quick().staged_score_samples(table)
    with pytest.raises(ValueError, match="features"):
        quick().fit(table).staged_score_samples(table[:, :3])
