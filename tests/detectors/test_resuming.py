"""Going on with a training: more epochs, or more rows."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from skim import ALTBIDetector, IMAutoencoderDetector

RESUMABLE = {
    "altbi": ALTBIDetector(n_estimators=2, stopping=None, random_state=0),
    "altbi by default": ALTBIDetector(n_estimators=2, random_state=0),
    "altbi by entropy": ALTBIDetector(n_estimators=2, min_epochs=3, random_state=0),
    "altbi by mass": ALTBIDetector(
        n_estimators=2,
        min_epochs=3,
        stopping="excess_mass",
        patience=None,
        random_state=0,
    ),
    "paper": ALTBIDetector.paper(n_importance=2, ema_steps=3, random_state=0),
    "autoencoder": IMAutoencoderDetector(n_estimators=2, random_state=0),
    "last": IMAutoencoderDetector(n_estimators=2, stopping=None, random_state=0),
    "theorem": IMAutoencoderDetector.theorem(random_state=0),
}


@pytest.fixture(params=RESUMABLE)
def detector(request):
    return clone(RESUMABLE[request.param])


def test_more_epochs_are_as_one_long_training(detector, table):
    whole = clone(detector).set_params(epochs=25).fit(table)
    parts = detector.set_params(warm_start=True)
    for epochs in (4, 15, 25):
        parts.set_params(epochs=epochs).fit(table)
        assert len(parts.history_["epoch"]) == epochs
    np.testing.assert_array_equal(parts.training_scores_, whole.training_scores_)
    np.testing.assert_array_equal(
        parts.score_samples(table + 0.1), whole.score_samples(table + 0.1)
    )
    for name, column in whole.history_.items():
        np.testing.assert_array_equal(parts.history_[name], column)
    for name in ("snapshot_epochs_", "best_epoch_", "best_epochs_"):
        if hasattr(whole, name):
            np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_a_training_that_is_over_stays_so_until_patience_is_without_end(table):
    few = table[-40:]
    parts = ALTBIDetector(n_estimators=2, patience=1.5, random_state=0)
    whole = clone(parts).fit(few)
    n_epochs = len(whole.history_["epoch"])
    assert n_epochs < 100
    parts.set_params(warm_start=True, epochs=n_epochs - 1).fit(few)
    parts.set_params(epochs=90).fit(few)
    assert len(parts.history_["epoch"]) == n_epochs
    np.testing.assert_array_equal(parts.training_scores_, whole.training_scores_)
    with pytest.warns(UserWarning, match=f"over after epoch {n_epochs}, .*patience"):
        parts.set_params(epochs=100).fit(few)
    np.testing.assert_array_equal(parts.training_scores_, whole.training_scores_)
    for patience in (3, None):
        parts.set_params(patience=patience).fit(few)
        whole.set_params(patience=patience).fit(few)
        assert len(whole.history_["epoch"]) > n_epochs
        for name, column in whole.history_.items():
            np.testing.assert_array_equal(parts.history_[name], column)
        np.testing.assert_array_equal(parts.training_scores_, whole.training_scores_)
        n_epochs = len(whole.history_["epoch"])
    assert n_epochs == 100


@pytest.mark.parametrize("before", [3, None])
def test_patience_cannot_become_less_while_a_training_goes_on(table, before):
    detector = ALTBIDetector(
        n_estimators=1, epochs=3, patience=before, warm_start=True, random_state=0
    ).fit(table)
    with pytest.raises(ValueError, match=f"patience was {before} .*cannot become 2"):
        detector.set_params(patience=2, epochs=5).fit(table)
    detector.set_params(patience=before).fit(table)
    assert len(detector.history_["epoch"]) == 5


@pytest.mark.parametrize(
    ("n_first", "expected"),
    [(40, [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22]), (300, [20, 22])],
)
def test_the_end_is_chosen_as_for_the_rows_at_the_beginning(table, n_first, expected):
    detector = ALTBIDetector(n_estimators=2, warm_start=True, random_state=0)
    detector.set_params(epochs=12).fit(table[-n_first:])
    stored = pickle.loads(pickle.dumps(detector))
    for each in (detector, stored):
        each.set_params(epochs=22).fit(table if n_first == 40 else table[-40:])
        judged = np.flatnonzero(~np.isnan(each.history_["criterion"])) + 1
        assert judged.tolist() == expected


def test_a_training_goes_on_after_it_was_stored(detector, table):
    detector.set_params(epochs=5, warm_start=True).fit(table)
    stored = pickle.loads(pickle.dumps(detector))
    a, b = (d.set_params(epochs=9).fit(table) for d in (detector, stored))
    np.testing.assert_array_equal(a.training_scores_, b.training_scores_)


def test_only_the_new_epochs_are_trained(detector, table, monkeypatch):
    from skim._nets import Run

    detector.set_params(epochs=8, warm_start=True).fit(table)
    updates = []
    update = Run.update

    def counted(*args):
        updates.append(1)
        return update(*args)

    monkeypatch.setattr(Run, "update", counted)
    detector.set_params(epochs=10).fit(table)
    assert len(updates) == 2 * (detector.updates_per_epoch or 1)


def test_training_goes_on_with_other_rows(detector, table):
    detector.set_params(epochs=5, warm_start=True).fit(table)
    scaler = detector._scaler
    detector.set_params(epochs=8).fit(table[::2])
    assert detector._scaler is scaler
    assert len(detector.training_scores_) == 150
    assert len(detector.history_["epoch"]) == 8


def test_without_warm_start_all_begins_anew(detector, table):
    expected = clone(detector).set_params(epochs=6).fit(table).training_scores_
    detector.set_params(epochs=3).fit(table)
    assert not hasattr(detector, "_past")
    detector.set_params(epochs=6).fit(table)
    np.testing.assert_array_equal(detector.training_scores_, expected)


def test_fewer_epochs_cannot_be_asked_for(detector, table):
    detector.set_params(epochs=5, warm_start=True).fit(table)
    with pytest.raises(ValueError, match="5 epochs were trained already"):
        detector.set_params(epochs=4).fit(table)


def test_as_many_epochs_train_nothing(detector, table):
    detector.set_params(epochs=5, warm_start=True).fit(table)
    before = detector.training_scores_
    with pytest.warns(UserWarning, match="trains nothing"):
        detector.fit(table)
    np.testing.assert_array_equal(detector.training_scores_, before)


@pytest.mark.parametrize(
    "change", [{"n_estimators": 3}, {"scaling": "other"}, {"stopping": "cohesion"}]
)
def test_settings_cannot_change_on_the_way(detector, table, change):
    detector.set_params(epochs=3, warm_start=True).fit(table)
    if change == {"scaling": "other"}:
        kinds = {"squash", "minmax"} - {detector.scaling}
        change = {"scaling": kinds.pop()}
    before = detector.score_samples(table)
    was = detector.get_params()
    (name,) = change
    with pytest.raises(ValueError, match=f"{name} was .* cannot become"):
        detector.set_params(epochs=5, **change).fit(table)
    # Nothing is lost: it scores as before, and goes on.
    np.testing.assert_array_equal(detector.score_samples(table), before)
    detector.set_params(**was).set_params(epochs=5).fit(table)
    assert len(detector.history_["epoch"]) == 5


def test_a_refused_warm_fit_loses_nothing(detector, table):
    detector.set_params(epochs=3, warm_start=True).fit(table)
    before = detector.score_samples(table)
    for bad in (table[:, :4], np.full_like(table, np.nan)):
        with pytest.raises(ValueError, match=r"features|NaN"):
            detector.set_params(epochs=5).fit(bad)
    np.testing.assert_array_equal(detector.score_samples(table), before)
    detector.fit(table)
    assert len(detector.history_["epoch"]) == 5


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


def test_a_stream_after_a_fit_that_failed_is_a_new_one(detector, table):
    expected = clone(detector).partial_fit(table[:50, :3]).score_samples(table[:, :3])
    detector.partial_fit(table)
    with pytest.raises(ValueError, match="NaN"):
        detector.fit(np.full((5, 6), np.nan))
    detector.partial_fit(table[:50, :3])
    np.testing.assert_array_equal(detector.score_samples(table[:, :3]), expected)
    assert len(detector.training_scores_) == 50
    assert len(detector.history_["epoch"]) == 1


def stream(table, size=60):
    rows = np.random.default_rng(1).permutation(table)
    for _ in range(8):
        for start in range(0, len(rows), size):
            yield rows[start : start + size]


def test_a_stream_is_learned(detector, table, is_outlier):
    for part in stream(table):
        detector.partial_fit(part)
    assert detector._scaler.n_seen_ == 8 * len(table)
    assert len(detector.history_["epoch"]) == 40
    if getattr(detector, "solver", "adam") == "adam":  # else 40 updates are nothing
        assert roc_auc_score(is_outlier, -detector.score_samples(table)) > 0.8
        assert (detector.predict(table[is_outlier]) == -1).mean() > 0.3
    assert np.isfinite(detector.explain(table, relative=True)).all()


def test_the_same_stream_gives_the_same_scores(detector, table):
    a, b = clone(detector), clone(detector)
    for number, part in enumerate(stream(table)):
        a.partial_fit(part)
        b = pickle.loads(pickle.dumps(b)).partial_fit(part)
        if number == 5:
            break
    np.testing.assert_array_equal(a.score_samples(table), b.score_samples(table))


def test_a_stream_may_follow_a_fit(detector, table):
    detector.set_params(epochs=5).fit(table)
    before = detector.score_samples(table)
    n_updates = detector.history_["update"][-1]
    detector.partial_fit(table[:100])
    assert detector.history_["update"][-1] > n_updates
    assert not np.array_equal(detector.score_samples(table), before)
    assert not hasattr(detector, "_stages")
    # And a fit starts anew, even a warm one.
    detector.set_params(warm_start=True).fit(table)
    fresh = clone(detector).fit(table)
    np.testing.assert_array_equal(detector.training_scores_, fresh.training_scores_)


def test_the_range_follows_the_stream(table):
    detector = ALTBIDetector(n_estimators=1, scaling="minmax", random_state=0)
    detector.partial_fit(table[:50]).partial_fit(table[50:] * 3)
    every = np.r_[table[:50], table[50:] * 3]
    np.testing.assert_array_equal(2 * detector._scaler.half_min_, every.min(axis=0))
    np.testing.assert_array_equal(2 * detector._scaler.half_max_, every.max(axis=0))


def test_the_threshold_is_set_by_a_sample_of_the_stream(table, monkeypatch):
    monkeypatch.setattr("skim._detectors._resuming.MAX_REMEMBERED_ROWS", 80)
    detector = ALTBIDetector(n_estimators=1, contamination=0.1, random_state=0)
    for part in np.split(table, 6):
        detector.partial_fit(part)
    assert detector.training_scores_.shape == (80,)
    assert (detector.training_scores_ < detector.offset_).sum() == 8
    remembered = {tuple(row) for row in detector._past["remembered"]}
    assert len(remembered) == 80
    for part in np.split(table, 6):
        assert 3 <= len(remembered & {tuple(row) for row in part}) <= 30


@pytest.mark.parametrize("bad", [np.ones((1, 6)), np.full((5, 6), np.nan)])
def test_bad_parts_are_refused_and_change_nothing(detector, table, bad):
    detector.partial_fit(table)
    before = detector.score_samples(table)
    for part in (bad, table[:, :3]):
        with pytest.raises(ValueError, match=r"minimum of 2|NaN|features"):
            detector.partial_fit(part)
    np.testing.assert_array_equal(detector.score_samples(table), before)


def test_stored_states_need_no_trust_beyond_our_own(table):
    skops = pytest.importorskip("skops.io")
    detector = ALTBIDetector(n_estimators=1, epochs=3, warm_start=True, random_state=0)
    stored = skops.dumps(detector.fit(table))
    types = skops.get_untrusted_types(data=stored)
    assert all(name.startswith("skim.") for name in types)
    again = skops.loads(stored, trusted=types).set_params(epochs=5).fit(table)
    expected = detector.set_params(epochs=5).fit(table).training_scores_
    np.testing.assert_array_equal(again.training_scores_, expected)
