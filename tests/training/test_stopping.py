"""Stopping by criteria that need no labels."""

import numpy as np
import pytest
from sklearn.base import clone

from skim import ALTBIDetector, IMAutoencoderDetector, ODIMDetector
from skim._training._stopping import CRITERIA, moments_until
from skim.metrics import loss_entropy, separation


@pytest.fixture(params=CRITERIA)
def criterion(request):
    return request.param


@pytest.fixture
def stopped(quick, criterion):
    """Makes a quick detector that stops by a criterion."""

    def make(**params):
        detector = quick(stopping=criterion, **params)
        if isinstance(detector, ALTBIDetector):
            detector.set_params(min_epochs=4)
        return detector

    return make


def test_every_detector_can_stop_by_every_criterion(stopped, table):
    detector = stopped().fit(table)
    assert np.isfinite(detector.score_samples(table)).all()
    values = detector.history_["criterion"]
    assert np.isfinite(values[4])
    again = clone(detector).fit(table)
    np.testing.assert_array_equal(detector.training_scores_, again.training_scores_)


def test_every_stage_of_few_rows_equals_a_shorter_training(table):
    few = table[-40:]
    detector = ALTBIDetector(epochs=16, n_estimators=2, random_state=0).fit(few)
    assert detector.best_epoch_ > 10
    for n_epochs, scores in enumerate(detector.staged_score_samples(few), start=1):
        shorter = clone(detector).set_params(epochs=n_epochs).fit(few)
        np.testing.assert_array_equal(scores, shorter.score_samples(few))


def test_every_stage_equals_a_shorter_training(stopped, table):
    detector = stopped(store_stages=True).fit(table)
    stages = list(detector.staged_score_samples(table[:50]))
    for n_epochs in range(1, detector.epochs + 1):
        last = np.flatnonzero(detector.history_["epoch"] <= n_epochs)[-1]
        shorter = clone(detector).set_params(epochs=n_epochs).fit(table)
        np.testing.assert_array_equal(stages[last], shorter.score_samples(table[:50]))


def test_without_a_criterion_the_last_moment_counts(table):
    detector = IMAutoencoderDetector(epochs=7, stopping=None, random_state=0).fit(table)
    assert (detector.best_epochs_ == 7).all()
    assert np.isnan(detector.history_["criterion"]).all()
    detector = ODIMDetector(epochs=7, stopping=None, random_state=0).fit(table)
    assert (detector.best_updates_ == detector.history_["update"][-1]).all()
    detector = ALTBIDetector(epochs=7, stopping=None, random_state=0).fit(table)
    assert detector.snapshot_epochs_[-1] == 7


def test_altbi_ends_where_the_criterion_is_best(table, criterion):
    detector = ALTBIDetector(
        epochs=45, min_epochs=25, stopping=criterion, random_state=0
    ).fit(table)
    values = detector.history_["criterion"]
    looked_at = np.flatnonzero(~np.isnan(values)) + 1
    assert looked_at.tolist() == [m for m in moments_until(45) if m >= 25]
    best = 1 + np.nanargmax(values)
    assert detector.snapshot_epochs_[-1] == best
    assert (detector.snapshot_epochs_ > 0.4 * best).all()
    assert len(detector.snapshot_epochs_) <= detector.n_snapshots
    assert len(detector.weights_) == len(detector.snapshot_epochs_)


@pytest.mark.parametrize("patience", [1.01, 1.3, 2])
def test_a_training_is_over_when_nothing_better_came_for_long(table, patience):
    few = table[-40:]
    detector = ALTBIDetector(patience=None, n_estimators=2, random_state=0).fit(few)
    assert len(detector.history_["epoch"]) == 100
    ended = clone(detector).set_params(patience=patience).fit(few)
    n_epochs = len(ended.history_["epoch"])
    criterion = detector.history_["criterion"][:n_epochs]
    np.testing.assert_array_equal(ended.history_["criterion"], criterion)
    assert ended.best_epoch_ == 1 + np.nanargmax(criterion)
    assert n_epochs - 1 < patience * ended.best_epoch_ <= n_epochs < 100
    stages = list(detector.staged_score_samples(few))
    np.testing.assert_array_equal(ended.score_samples(few), stages[n_epochs - 1])


def test_without_a_criterion_there_is_nothing_to_wait_for(table):
    detector = ALTBIDetector(
        epochs=60, stopping=None, patience=1.01, n_estimators=1, random_state=0
    ).fit(table[-40:])
    assert detector.best_epoch_ == 60


def test_a_training_that_cannot_choose_yet_is_not_over(table):
    detector = ALTBIDetector(epochs=6, patience=1.01, n_estimators=1, random_state=0)
    assert detector.fit(table).best_epoch_ == 6


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
def test_the_end_may_come_earlier_where_rows_are_few(n_rows, params, first):
    assert ALTBIDetector(**params)._earliest_end(n_rows) == first


def test_no_criterion_looks_before_the_first_epoch_to_choose(table):
    detector = ALTBIDetector(epochs=14, random_state=0).fit(table[:50])
    looked_at = np.flatnonzero(~np.isnan(detector.history_["criterion"])) + 1
    assert looked_at.tolist() == [10, 11, 12, 13, 14]


@pytest.mark.parametrize("n_snapshots", [1, 2, 5])
def test_no_more_snapshots_than_asked_for(table, n_snapshots):
    detector = ALTBIDetector(
        epochs=30, min_epochs=1, n_snapshots=n_snapshots, burn_in=0.0, random_state=0
    ).fit(table)
    best = 1 + np.nanargmax(detector.history_["criterion"])
    assert len(detector.snapshot_epochs_) == min(n_snapshots, best)
    assert detector.snapshot_epochs_[-1] == best


def test_the_entropy_is_that_of_the_rows_losses(table):
    # All rows are watched here; the last stage's losses are those of one snapshot.
    detector = ALTBIDetector(
        epochs=1, min_epochs=1, stopping="entropy", n_estimators=3, random_state=0
    ).fit(table)
    losses = -detector.training_scores_
    expected = -loss_entropy(losses)
    assert detector.history_["criterion"][0] == pytest.approx(expected, rel=1e-5)
    detector.set_params(stopping="separation").fit(table)
    expected = separation(-detector.training_scores_)
    assert detector.history_["criterion"][0] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("epochs", [1, 5, 23, 25])
def test_a_training_that_is_too_short_to_choose_from_counts_to_its_end(table, epochs):
    detector = ALTBIDetector(epochs=epochs, min_epochs=26, random_state=0).fit(table)
    assert detector.snapshot_epochs_[-1] == epochs
    assert np.isnan(detector.history_["criterion"]).all()


def test_members_of_the_autoencoder_stop_each_at_its_best(table):
    detector = IMAutoencoderDetector(
        epochs=30, stopping="separation", n_estimators=4, random_state=0
    ).fit(table)
    assert len(set(detector.best_epochs_)) > 1


def test_moments_get_sparser():
    moments = moments_until(300)
    assert moments[:20] == list(range(1, 21))
    assert np.diff(moments).max() <= 30
    assert 40 < len(moments) < 60
    assert moments_until(50) == [moment for moment in moments if moment <= 50]
    assert moments_until(1) == [1]


def test_unknown_criteria_are_refused(quick, table):
    with pytest.raises(ValueError, match="stopping"):
        quick(stopping="patience").fit(table)
