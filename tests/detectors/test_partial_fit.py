"""Training on data that comes in parts."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from skim import ALTBIDetector, IMAutoencoderDetector

RESUMABLE = {
    "altbi": ALTBIDetector(n_estimators=2, random_state=0),
    "paper": ALTBIDetector.paper(n_importance=2, ema_steps=3, random_state=0),
    "autoencoder": IMAutoencoderDetector(n_estimators=2, random_state=0),
    "theorem": IMAutoencoderDetector.theorem(random_state=0),
}


@pytest.fixture(params=RESUMABLE)
def detector(request):
    return clone(RESUMABLE[request.param])


def test_a_part_that_fails_changes_nothing(detector, table):
    if getattr(detector, "solver", "adam") == "gd":
        pytest.skip("with a fixed decoder, no step is too long to be finite")
    detector.partial_fit(table)
    before = detector.score_samples(table)
    n_seen = detector._scaler.n_seen_
    rate = detector.learning_rate
    with pytest.raises(ValueError, match="diverged"):
        detector.set_params(learning_rate=1e30).partial_fit(table * 50)
    np.testing.assert_array_equal(detector.score_samples(table), before)
    assert detector._scaler.n_seen_ == n_seen
    detector.set_params(learning_rate=rate).partial_fit(table)
    with pytest.raises(ValueError, match="n_estimators was"):
        detector.set_params(n_estimators=7).partial_fit(table)


def test_a_part_after_a_failed_fit_starts_over(detector, table):
    expected = clone(detector).partial_fit(table[:50, :3]).score_samples(table[:, :3])
    detector.partial_fit(table)
    with pytest.raises(ValueError, match="infinity"):
        detector.fit(np.full((5, 6), np.inf))
    detector.partial_fit(table[:50, :3])
    np.testing.assert_array_equal(detector.score_samples(table[:, :3]), expected)
    assert len(detector.training_scores_) == 50
    assert len(detector.history_["epoch"]) == 1


def test_a_stream_is_learned(detector, table, is_outlier):
    rows = np.random.default_rng(1).permutation(table)
    for part in np.split(rows, 5) * 8:
        detector.partial_fit(part)
    assert detector._scaler.n_seen_ == 8 * len(table)
    assert len(detector.history_["epoch"]) == 40
    if getattr(detector, "solver", "adam") == "adam":  # else 40 updates are nothing
        assert roc_auc_score(is_outlier, -detector.score_samples(table)) > 0.8
        assert (detector.predict(table[is_outlier]) == -1).mean() > 0.2
    assert np.isfinite(detector.explain(table, relative=True)).all()


def test_the_same_parts_give_the_same_scores_even_after_pickling(detector, table):
    a, b = clone(detector), clone(detector)
    for part in np.split(table, 6):
        a.partial_fit(part)
        b = pickle.loads(pickle.dumps(b)).partial_fit(part)
    np.testing.assert_array_equal(a.score_samples(table), b.score_samples(table))


def test_parts_may_follow_a_fit(detector, table):
    detector.set_params(epochs=5).fit(table)
    before = detector.score_samples(table)
    n_updates = detector.history_["update"][-1]
    detector.partial_fit(table[:100])
    assert detector.history_["update"][-1] > n_updates
    assert not np.array_equal(detector.score_samples(table), before)
    assert not hasattr(detector, "_stages")
    # A later fit starts over, even a warm one.
    detector.set_params(warm_start=True).fit(table)
    fresh = clone(detector).fit(table)
    np.testing.assert_array_equal(detector.training_scores_, fresh.training_scores_)


def test_the_scaling_covers_all_parts(table):
    detector = ALTBIDetector(n_estimators=1, scaling="minmax", random_state=0)
    detector.partial_fit(table[:50]).partial_fit(table[50:] * 3)
    every = np.r_[table[:50], table[50:] * 3]
    np.testing.assert_array_equal(2 * detector._scaler.half_min_, every.min(axis=0))
    np.testing.assert_array_equal(2 * detector._scaler.half_max_, every.max(axis=0))


def test_the_threshold_is_set_by_a_sample_of_all_parts(table, monkeypatch):
    monkeypatch.setattr("skim._detectors._partial_fit.MAX_REMEMBERED_ROWS", 80)
    detector = ALTBIDetector(n_estimators=1, contamination=0.1, random_state=0)
    for part in np.split(table, 6):
        detector.partial_fit(part)
    assert detector.training_scores_.shape == (80,)
    assert (detector.training_scores_ < detector.offset_).sum() == 8
    remembered = {tuple(row) for row in detector._past["remembered"]}
    assert len(remembered) == 80
    for part in np.split(table, 6):
        assert 3 <= len(remembered & {tuple(row) for row in part}) <= 30


@pytest.mark.parametrize("bad", [np.ones((1, 6)), np.full((5, 6), np.inf)])
def test_bad_parts_are_refused_and_change_nothing(detector, table, bad):
    detector.partial_fit(table)
    before = detector.score_samples(table)
    for part in (bad, table[:, :3]):
        with pytest.raises(ValueError, match=r"minimum of 2|infinity|features"):
            detector.partial_fit(part)
    np.testing.assert_array_equal(detector.score_samples(table), before)


def test_parameters_of_the_networks_cannot_change_after_a_fit(table):
    detector = ALTBIDetector(epochs=3, n_estimators=2, random_state=0).fit(table)
    with pytest.raises(ValueError, match=r"n_estimators was 2 .* cannot become 3"):
        detector.set_params(n_estimators=3).partial_fit(table)
