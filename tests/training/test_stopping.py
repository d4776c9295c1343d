"""Stopping by criteria that need no labels."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

import skim._training._stopping
from skim import ALTBIDetector, IMAutoencoderDetector, ODIMDetector
from skim._nets import Adam, AutoencoderShape, Run
from skim._training._history import History
from skim._training._stopping import CRITERIA, BestStates, checkpoint_epochs
from skim.metrics import loss_entropy, separation


@pytest.fixture(params=CRITERIA)
def criterion(request):
    return request.param


def test_quick_detectors_evaluate_their_criterion_and_altbi_stops_early(quick, table):
    detector = quick().fit(table)
    assert np.isfinite(detector.history_["criterion"][-1])
    if type(detector) is ALTBIDetector:
        n_epochs = len(detector.history_["epoch"])
        assert detector.min_epochs <= detector.best_epoch_ < n_epochs < detector.epochs


def test_every_detector_can_stop_by_every_criterion(quick, criterion, table):
    detector = quick(stopping=criterion, store_stages=True).fit(table)
    assert np.isfinite(detector.history_["criterion"][4])
    stages = list(detector.staged_score_samples(table[:50]))
    for n_epochs in range(1, detector.epochs + 1):
        last = np.flatnonzero(detector.history_["epoch"] <= n_epochs)[-1]
        shorter = clone(detector).set_params(epochs=n_epochs).fit(table)
        np.testing.assert_array_equal(stages[last], shorter.score_samples(table[:50]))


def test_few_rows_may_end_the_run_at_any_epoch(table):
    few = table[-40:]
    detector = ALTBIDetector(
        epochs=16, n_estimators=2, store_stages=True, random_state=0
    ).fit(few)
    assert detector.best_epoch_ > 10
    for n_epochs, scores in enumerate(detector.staged_score_samples(few), start=1):
        shorter = clone(detector).set_params(epochs=n_epochs).fit(few)
        np.testing.assert_array_equal(scores, shorter.score_samples(few))


def test_without_a_criterion_the_last_state_counts(table):
    params = {"epochs": 7, "stopping": None, "random_state": 0}
    detector = IMAutoencoderDetector(**params).fit(table)
    assert (detector.best_epochs_ == 7).all()
    assert np.isnan(detector.history_["criterion"]).all()
    detector = ODIMDetector(**params).fit(table)
    assert (detector.best_updates_ == detector.history_["update"][-1]).all()
    detector = ALTBIDetector(patience=1.01, **params).fit(table)  # nothing to wait for
    assert detector.snapshot_epochs_[-1] == 7


def test_altbi_ends_where_the_criterion_is_best(table, criterion):
    detector = ALTBIDetector(
        epochs=45, min_epochs=25, stopping=criterion, random_state=0
    ).fit(table)
    values = detector.history_["criterion"]
    evaluated = np.flatnonzero(~np.isnan(values)) + 1
    assert evaluated.tolist() == [e for e in checkpoint_epochs(45) if e >= 25]
    best = 1 + np.nanargmax(values)
    assert detector.best_epoch_ == detector.snapshot_epochs_[-1] == best
    assert (detector.snapshot_epochs_ > 0.4 * best).all()
    assert len(detector.weights_) == len(detector.snapshot_epochs_)
    assert len(detector.weights_) <= detector.n_snapshots


@pytest.mark.parametrize("patience", [1.01, 1.3, 2])
def test_altbi_stops_when_no_better_epoch_came_for_long(table, patience):
    few = table[-40:]
    detector = ALTBIDetector(
        patience=None, n_estimators=2, store_stages=True, random_state=0
    ).fit(few)
    assert len(detector.history_["epoch"]) == 100
    ended = clone(detector).set_params(patience=patience).fit(few)
    n_epochs = len(ended.history_["epoch"])
    criterion = detector.history_["criterion"][:n_epochs]
    np.testing.assert_array_equal(ended.history_["criterion"], criterion)
    assert ended.best_epoch_ == 1 + np.nanargmax(criterion)
    assert n_epochs - 1 < patience * ended.best_epoch_ <= n_epochs < 100
    stages = list(detector.staged_score_samples(few))
    np.testing.assert_array_equal(ended.score_samples(few), stages[n_epochs - 1])


@pytest.mark.parametrize("epochs", [1, 5, 23, 25])
def test_a_run_too_short_for_the_criterion_counts_to_its_end(table, epochs):
    detector = ALTBIDetector(
        epochs=epochs, min_epochs=26, patience=1.01, n_estimators=1, random_state=0
    ).fit(table)
    assert detector.snapshot_epochs_[-1] == epochs
    assert np.isnan(detector.history_["criterion"]).all()


@pytest.mark.parametrize(
    ("n_rows", "params", "first"),
    [
        (20, {}, 10),  # five passes an epoch
        (20, {"updates_per_epoch": 50}, 4),  # not before losses are truncated
        (20, {"truncate_after": 40}, 41),
        (20, {"min_epochs": 13}, 13),
        (256, {"max_batch_size": 128}, 20),  # two and a half an epoch
        (100_000, {}, 25),
    ],
)
def test_the_run_may_end_earlier_where_rows_are_few(n_rows, params, first):
    assert ALTBIDetector(**params)._earliest_end(n_rows) == first


@pytest.mark.parametrize("n_snapshots", [1, 2, 5])
def test_no_more_snapshots_than_asked_for(table, n_snapshots):
    detector = ALTBIDetector(
        epochs=30, min_epochs=1, n_snapshots=n_snapshots, burn_in=0.0, random_state=0
    ).fit(table)
    assert len(detector.snapshot_epochs_) == min(n_snapshots, detector.best_epoch_)


@pytest.mark.parametrize(
    ("stopping", "of_losses"),
    [("entropy", lambda losses: -loss_entropy(losses)), ("separation", separation)],
)
def test_the_criterion_is_that_of_the_losses_of_rows(table, stopping, of_losses):
    # All rows are watched here, and the only snapshot is that of the only epoch.
    detector = ALTBIDetector(
        epochs=1, min_epochs=1, stopping=stopping, n_estimators=3, random_state=0
    ).fit(table)
    expected = of_losses(-detector.training_scores_)
    assert detector.history_["criterion"][0] == pytest.approx(expected, rel=1e-4)


def test_checkpoints_get_sparser():
    epochs = checkpoint_epochs(300)
    assert epochs[:20] == list(range(1, 21))
    assert np.diff(epochs).max() <= 30
    assert 40 < len(epochs) < 60
    assert checkpoint_epochs(50) == [epoch for epoch in epochs if epoch <= 50]
    assert checkpoint_epochs(1) == [1]


def test_unknown_criteria_are_refused(quick, table):
    with pytest.raises(ValueError, match="'stopping' parameter"):
        quick(stopping="patience").fit(table)


def test_cohesion_needs_four_rows(quick):
    with pytest.raises(ValueError, match="at least four rows, got 3"):
        quick(stopping="cohesion").fit(np.eye(3))


# Best states ---------------------------------------------------------------------


class Scripted:
    """A watch whose judgements are known beforehand."""

    judges_by_losses_alone = True

    def __init__(self, rows, criteria):
        self.rows = rows
        self.criteria = np.array(criteria)

    def judge(self, run, losses):
        return self.criteria


def test_each_member_is_kept_at_its_own_best():
    shape = AutoencoderShape(2, 3, "tanh")
    generator = torch.Generator().manual_seed(0)
    weights = shape.weights.draw(2, generator)
    X = torch.rand(20, 2, generator=generator)
    run = Run(shape, weights, Adam(weights, learning_rate=0.01), X, generator)
    watch = Scripted(run.draw_rows(5), [[1.0, 5.0], [3.0, 2.0], [3.0, 4.0]])
    best = BestStates(run, watch, history := History("run", 3), by_time=False)
    states = []
    for moment in range(3):
        run.update(5)
        states.append(run.state()[0])
        best.add(run, moment, epoch=moment, update=moment, batch_size=5)
    best.finish(run)
    assert best.moments.tolist() == [1, 0]  # the first of equal ones
    ((kept, _),) = run.snapshots
    np.testing.assert_array_equal(kept, [states[1][0], states[0][1]])
    assert history.columns()["criterion"].tolist() == [3.0, 2.5, 3.5]


DETECTORS = [
    ODIMDetector(n_estimators=6, patience_updates=15, epochs=60),
    ODIMDetector(n_estimators=3, n_importance=3, patience_updates=20, epochs=20),
    ODIMDetector(n_estimators=1, patience_updates=20, epochs=20),
    ODIMDetector(n_estimators=3, patience_updates=20, epochs=20, stopping="entropy"),
    ODIMDetector(n_estimators=3, epochs=5, stopping=None),
    IMAutoencoderDetector(n_estimators=3, epochs=12),
    IMAutoencoderDetector(n_estimators=1, epochs=12),
]


@pytest.mark.parametrize("detector", DETECTORS, ids=str)
def test_checks_judged_together_end_as_if_judged_alone(detector, table, monkeypatch):
    n_judged = []
    judge = BestStates.judge

    def counted(self, run):
        n_judged.append(len(self._held))
        judge(self, run)

    def results():
        n_judged.clear()
        fitted = clone(detector).set_params(random_state=0, store_stages=True)
        fitted.fit(table[::4])
        arrays = vars(fitted) | fitted.history_ | fitted._stages
        return {k: v for k, v in arrays.items() if isinstance(v, np.ndarray)}

    monkeypatch.setattr(BestStates, "judge", counted)
    together = results()
    assert max(n_judged) > 1
    monkeypatch.setattr(skim._training._stopping, "MAX_HELD_BYTES", 0)
    alone = results()
    assert max(n_judged) == 1
    assert alone.keys() == together.keys()
    for name, expected in alone.items():
        np.testing.assert_array_equal(together[name], expected, err_msg=name)


def test_divergence_among_held_checks_is_noticed(table):
    detector = ODIMDetector(learning_rate=1e30, epochs=20, random_state=0)
    with pytest.raises(ValueError, match="diverged"):
        detector.fit(table)
