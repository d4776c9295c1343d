"""scikit-learn's callbacks."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skim import ODIMDetector

callback = pytest.importorskip("sklearn.callback")


class Listener:
    """Counts epochs and asks to stop after some."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.events = []
        self.scores = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
        self.events.append(f"end {context.task_name}")
        if fitted_estimator is not None:
            self.scores.append(fitted_estimator.decision_function(X))
        if context.task_name == "epoch" and self.stop_after is not None:
            return self.events.count("end epoch") >= self.stop_after
        return False

    def teardown(self, estimator, context):
        self.events.append("teardown")


def test_callbacks_hear_every_epoch(quick, table):
    listener = Listener()
    detector = quick().set_callbacks(listener).fit(table)
    n_entries = len(detector.history_["epoch"])
    assert listener.events[:2] == ["setup", "begin fit"]
    assert listener.events[-2:] == ["end fit", "teardown"]
    assert listener.events.count("end epoch") == n_entries
    assert len(listener.scores) == n_entries
    assert np.isfinite(listener.scores).all()
    assert not np.array_equal(listener.scores[0], listener.scores[-1])


def test_callbacks_can_score_while_members_drop_out(table):
    listener = Listener()
    detector = ODIMDetector(patience=10, random_state=0).set_callbacks(listener)
    detector.fit(table)
    assert len(np.unique(detector.best_updates_)) > 1
    assert np.isfinite(listener.scores).all()


def test_callbacks_do_not_change_the_result(quick, table):
    expected = quick().fit(table).training_scores_
    heard = quick().set_callbacks(Listener()).fit(table).training_scores_
    assert np.array_equal(heard, expected)


def test_a_callback_can_stop_the_training(quick, table):
    detector = quick().set_callbacks(Listener(stop_after=2)).fit(table)
    assert len(detector.history_["epoch"]) == 2
    assert np.isfinite(detector.score_samples(table)).all()


def test_callbacks_reach_a_detector_in_a_pipeline(quick, table, capfd):
    pipeline = make_pipeline(StandardScaler(), quick())
    pipeline[-1].set_callbacks(listener := Listener())
    pipeline.fit(table)
    assert "end epoch" in listener.events
