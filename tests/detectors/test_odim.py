import numpy as np
import pytest

from skim import ODIMDetector
from skim.schedules import ODIMSchedule


def patient(updates, **params):
    schedule = ODIMSchedule(patience_updates=updates)
    return ODIMDetector(schedule=schedule, random_state=0, **params)


@pytest.mark.parametrize(
    ("n_rows", "check_every"), [(30, 1), (64, 1), (300, 4), (2000, 10)]
)
def test_checks_come_every_ten_updates_or_once_per_epoch(n_rows, check_every):
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    detector = ODIMDetector(n_estimators=1, epochs=3, random_state=0).fit(X)
    updates = detector.history_["update"]
    assert updates[0] == check_every
    per_epoch = max(n_rows // 64, 1)
    in_epoch = (updates - 1) % per_epoch + 1
    assert (in_epoch % check_every == 0).all()
    assert (detector.history_["batch_size"] == min(64, n_rows)).all()


def test_members_stop_after_their_patience(table):
    detector = patient(20).fit(table)
    updates = detector.history_["update"]
    best = updates[detector.model_.snapshots.entries[-1]]
    assert updates[-1] == best.max() + 20
    assert len(np.unique(best)) > 1
