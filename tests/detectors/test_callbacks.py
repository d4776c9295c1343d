"""scikit-learn's callbacks."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skim import ALTBIDetector, ODIMDetector
from skim.schedules import ODIMSchedule

callback = pytest.importorskip("sklearn.callback")


class Listener:
    """Counts epochs and asks to stop after some."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.events = []
        self.scores = []
        self.flagged = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
        self.events.append(f"end {context.task_name}")
        if fitted_estimator is not None:
            self.scores.append(fitted_estimator.decision_function(X))
            self.flagged.append((fitted_estimator.predict(X) == -1).mean())
            fitted_estimator.explain(X, relative=True)
        if context.task_name == "epoch" and self.stop_after is not None:
            return self.events.count("end epoch") >= self.stop_after
        return False

    def teardown(self, estimator, context):
        self.events.append("teardown")


def test_callbacks_are_called_after_every_epoch(quick, table):
    listener = Listener()
    detector = quick().set_callbacks(listener).fit(table)
    n_entries = len(detector.history_["epoch"])
    assert listener.events[:2] == ["setup", "begin fit"]
    assert listener.events[-2:] == ["end fit", "teardown"]
    assert listener.events.count("end epoch") == n_entries
    assert np.isfinite(listener.scores).all()
    *by_epoch, final = listener.scores
    assert len(by_epoch) == n_entries
    assert not np.array_equal(by_epoch[0], by_epoch[-1])
    assert np.array_equal(final, detector.decision_function(table))


def test_callbacks_see_a_threshold_for_each_epoch(quick, table):
    quick(contamination=0.1).set_callbacks(listener := Listener()).fit(table)
    assert set(listener.flagged) == {0.1}


def test_scoring_monitor_gets_labels_and_names(quick, table, is_outlier):
    frame = pd.DataFrame(table, columns=list("abcdef"))
    monitor = callback.ScoringMonitor(scoring="roc_auc")
    detector = quick().set_callbacks(monitor)
    detector.fit_predict(frame, np.where(is_outlier, -1, 1))
    (log,) = monitor.get_logs(select="all")
    areas = log.data_as_pandas["roc_auc"].dropna()
    assert len(areas) == len(detector.history_["epoch"]) + 1
    final = roc_auc_score(~is_outlier, detector.decision_function(frame))
    assert np.isclose(areas, final).any()


def test_callbacks_can_score_while_members_drop_out(table):
    listener = Listener()
    detector = ODIMDetector(
        schedule=ODIMSchedule(patience_updates=10), random_state=0
    ).set_callbacks(listener)
    detector.fit(table)
    assert len(np.unique(detector.best_updates_)) > 1
    assert np.isfinite(listener.scores).all()


def test_callbacks_do_not_change_the_result(quick):
    # Wide enough for the number of threads to matter.
    X = np.random.default_rng(0).normal(size=(600, 200))
    expected = quick().fit(X).training_scores_
    found = quick().set_callbacks(Listener()).fit(X).training_scores_
    assert np.array_equal(found, expected)


def test_callbacks_may_use_gradients(quick, table):
    class Differentiates(Listener):
        def on_fit_task_end(self, estimator, context):
            x = torch.ones(2, requires_grad=True)
            x.square().sum().backward()

    quick().set_callbacks(Differentiates()).fit(table)


def test_a_failing_callback_leaves_the_previous_fit(quick, table):
    class Fails(Listener):
        def on_fit_task_end(self, estimator, context):
            raise KeyboardInterrupt

    detector = quick().fit(table)
    before = detector.training_scores_
    with pytest.raises(KeyboardInterrupt):
        detector.set_callbacks(Fails()).fit(table[:50])
    assert np.array_equal(detector.score_samples(table), before)


def test_a_callback_can_end_the_run(quick, table, capsys):
    detector = quick(verbose=1, store_snapshots=True)
    detector.set_callbacks(Listener(stop_after=2)).fit(table)
    assert capsys.readouterr().err.endswith("(stopped by a callback)\n")
    assert len(detector.history_["epoch"]) == 2
    if isinstance(detector, ALTBIDetector):
        assert detector.best_epoch_ == 2
    *_, last = detector.staged_score_samples(table)
    np.testing.assert_array_equal(last, detector.score_samples(table))


def test_callbacks_reach_a_detector_in_a_pipeline(quick, table):
    pipeline = make_pipeline(StandardScaler(), quick())
    pipeline[-1].set_callbacks(listener := Listener())
    pipeline.fit(table)
    assert "end epoch" in listener.events
