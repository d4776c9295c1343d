"""Stopping by criteria that need no labels."""

from itertools import islice

import numpy as np
import pytest
from sklearn.base import clone

from skim import ALTBIDetector, IMAutoencoderDetector, ODIMDetector
from skim._training._stopping import CRITERIA, checked_epochs
from skim.metrics import loss_entropy, separation
from skim.schedules import ALTBISchedule
from tests.conftest import make_quick


def test_without_a_criterion_the_last_state_counts(table):
    params = {"epochs": 7, "stopping": None, "random_state": 0}
    detector = IMAutoencoderDetector(**params).fit(table)
    assert (detector.best_epochs_ == 7).all()
    assert np.isnan(detector.history_["criterion"]).all()
    detector = ODIMDetector(**params).fit(table)
    assert (
        detector.model_.snapshots.entries[-1] == len(detector.history_["update"]) - 1
    ).all()
    schedule = ALTBISchedule(patience=1.01)  # nothing to wait for
    detector = ALTBIDetector(schedule=schedule, **params).fit(table)
    assert detector.snapshot_epochs_[-1] == 7


@pytest.mark.parametrize("criterion", CRITERIA)
def test_altbi_ends_where_the_criterion_is_best(table, criterion):
    detector = ALTBIDetector(
        epochs=45,
        schedule=ALTBISchedule(min_epochs=25),
        stopping=criterion,
        random_state=0,
    ).fit(table)
    values = detector.history_["criterion"]
    evaluated = np.flatnonzero(~np.isnan(values)) + 1
    assert evaluated.tolist() == [e for e in checked_epochs(45) if e >= 25]
    best = 1 + np.nanargmax(values)
    assert detector.best_epoch_ == detector.snapshot_epochs_[-1] == best
    assert (detector.snapshot_epochs_ > detector.schedule.burn_in * best).all()
    assert len(detector.model_.snapshots.weights) == len(detector.snapshot_epochs_) == 4


def test_altbi_stops_when_no_better_epoch_came_for_long(table):
    few = table[-40:]
    patient = ALTBIDetector(
        epochs=60,
        n_estimators=2,
        schedule=ALTBISchedule(patience=None),
        store_snapshots=True,
        random_state=0,
    ).fit(few)
    assert len(patient.history_["epoch"]) == 60
    ended = clone(patient).set_params(schedule__patience=1.3).fit(few)
    n_epochs = len(ended.history_["epoch"])
    criterion = patient.history_["criterion"][:n_epochs]
    np.testing.assert_array_equal(ended.history_["criterion"], criterion)
    assert ended.best_epoch_ == 1 + np.nanargmax(criterion)
    assert n_epochs - 1 < 1.3 * ended.best_epoch_ <= n_epochs < 60
    *_, staged = islice(patient.staged_score_samples(few), n_epochs)
    np.testing.assert_array_equal(ended.score_samples(few), staged)


@pytest.mark.parametrize("epochs", [1, 5, 25])
def test_a_run_too_short_for_the_criterion_counts_to_its_end(table, epochs):
    schedule = ALTBISchedule(min_epochs=26, patience=1.01)
    detector = ALTBIDetector(
        epochs=epochs, schedule=schedule, n_estimators=1, random_state=0
    ).fit(table)
    assert detector.snapshot_epochs_[-1] == epochs
    assert np.isnan(detector.history_["criterion"]).all()


@pytest.mark.parametrize(
    ("n_rows", "params", "first"),
    [
        (20, {}, 10),  # five passes an epoch
        (20, {"updates_per_epoch": 50}, 4),  # not before losses are truncated
        (20, {"min_epochs": 13}, 13),
        (256, {"max_batch_size": 128}, 20),  # two and a half an epoch
        (100_000, {}, 25),
    ],
)
def test_the_run_may_end_earlier_where_rows_are_few(n_rows, params, first):
    assert ALTBISchedule(**params).earliest_end(n_rows) == first


@pytest.mark.parametrize(
    ("stopping", "of_losses"),
    [("entropy", lambda losses: -loss_entropy(losses)), ("separation", separation)],
)
def test_the_criterion_is_that_of_the_losses_of_rows(table, stopping, of_losses):
    # All rows are monitored here, and the only snapshot is that of the only epoch.
    detector = ALTBIDetector(
        epochs=1,
        schedule=ALTBISchedule(min_epochs=1),
        stopping=stopping,
        n_estimators=3,
        random_state=0,
    ).fit(table)
    expected = of_losses(-detector.training_scores_)
    assert detector.history_["criterion"][0] == pytest.approx(expected, rel=1e-4)


def test_unknown_criteria_and_too_few_rows_are_refused(table):
    with pytest.raises(ValueError, match="'stopping' parameter"):
        make_quick("altbi", stopping="patience").fit(table)
    with pytest.raises(ValueError, match="at least four rows, got 3"):
        make_quick("altbi", stopping="cohesion").fit(np.eye(3))
