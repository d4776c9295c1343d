"""Resuming a training run with more epochs."""

import pickle

import numpy as np
import pytest
import skops.io
from sklearn.base import clone

from skim import ALTBIDetector, IMAutoencoderDetector
from skim._nets import Run

RESUMABLE = {
    "altbi": ALTBIDetector(n_estimators=2, stopping=None),
    "altbi by default": ALTBIDetector(n_estimators=2),
    "altbi by entropy": ALTBIDetector(n_estimators=2, min_epochs=3),
    "altbi by mass": ALTBIDetector(
        n_estimators=2, min_epochs=3, stopping="excess_mass", patience=None
    ),
    "paper": ALTBIDetector.paper(n_importance=2, ema_steps=3),
    "autoencoder": IMAutoencoderDetector(n_estimators=2),
    "last": IMAutoencoderDetector(n_estimators=2, stopping=None),
    "theorem": IMAutoencoderDetector.theorem(),
}


@pytest.fixture(params=RESUMABLE)
def detector(request):
    return clone(RESUMABLE[request.param]).set_params(warm_start=True, random_state=0)


@pytest.fixture
def begun(detector, table):
    """A detector after the first five epochs."""
    return detector.set_params(epochs=5).fit(table)


def assert_same_run(found, expected):
    np.testing.assert_equal(found.history_, expected.history_)
    np.testing.assert_array_equal(found.training_scores_, expected.training_scores_)
    for name in ("snapshot_epochs_", "best_epoch_", "best_epochs_"):
        np.testing.assert_equal(
            getattr(found, name, None), getattr(expected, name, None)
        )


def test_several_fits_are_as_one_long_run(detector, table):
    whole = clone(detector).set_params(epochs=25).fit(table)
    for epochs in (4, 15, 25):
        detector.set_params(epochs=epochs).fit(table)
        assert len(detector.history_["epoch"]) == epochs
    assert_same_run(detector, whole)
    np.testing.assert_array_equal(
        detector.score_samples(table + 0.1), whole.score_samples(table + 0.1)
    )


def test_a_run_that_stopped_early_continues_with_more_patience_only(table):
    few = table[-40:]
    whole = ALTBIDetector(n_estimators=2, patience=1.5, random_state=0).fit(few)
    n_epochs = len(whole.history_["epoch"])
    assert n_epochs < 100
    parts = clone(whole).set_params(warm_start=True, epochs=n_epochs - 1).fit(few)
    assert_same_run(parts.set_params(epochs=90).fit(few), whole)
    message = f"already stopped at epoch {n_epochs}; increase `patience`"
    with pytest.warns(UserWarning, match=message):
        parts.set_params(epochs=100).fit(few)
    assert_same_run(parts, whole)
    for patience in (3, None):
        whole.set_params(patience=patience).fit(few)
        assert len(whole.history_["epoch"]) > n_epochs
        assert_same_run(parts.set_params(patience=patience).fit(few), whole)
        n_epochs = len(whole.history_["epoch"])
    assert n_epochs == 100


@pytest.mark.parametrize("before", [3, None])
def test_patience_cannot_be_lowered(table, before):
    detector = ALTBIDetector(
        n_estimators=1, epochs=3, patience=before, warm_start=True, random_state=0
    ).fit(table)
    message = f"patience=2 is less than the patience={before} of"
    with pytest.raises(ValueError, match=message):
        detector.set_params(patience=2, epochs=5).fit(table)
    detector.set_params(patience=before).fit(table)
    assert len(detector.history_["epoch"]) == 5


@pytest.mark.parametrize(
    ("n_first", "expected"),
    [(40, [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22]), (300, [20, 22])],
)
def test_checks_begin_as_for_the_rows_of_the_first_fit(table, n_first, expected):
    detector = ALTBIDetector(n_estimators=2, warm_start=True, random_state=0)
    detector.set_params(epochs=12).fit(table[-n_first:])
    stored = pickle.loads(pickle.dumps(detector))
    for each in (detector, stored):
        each.set_params(epochs=22).fit(table if n_first == 40 else table[-40:])
        judged = np.flatnonzero(~np.isnan(each.history_["criterion"])) + 1
        assert judged.tolist() == expected


def test_a_run_continues_after_pickling(begun, table):
    stored = pickle.loads(pickle.dumps(begun)).set_params(epochs=9).fit(table)
    assert_same_run(stored, begun.set_params(epochs=9).fit(table))


def test_a_run_continues_after_skops_without_trust_in_others(table):
    detector = ALTBIDetector(n_estimators=1, epochs=3, warm_start=True, random_state=0)
    data = skops.io.dumps(detector.fit(table))
    untrusted = skops.io.get_untrusted_types(data=data)
    assert all(name.startswith("skim.") for name in untrusted)
    stored = skops.io.loads(data, trusted=untrusted).set_params(epochs=5).fit(table)
    assert_same_run(stored, detector.set_params(epochs=5).fit(table))


def test_only_the_new_epochs_are_trained(begun, table, monkeypatch):
    updates = []
    update = Run.update

    def counted(*args):
        updates.append(1)
        return update(*args)

    monkeypatch.setattr(Run, "update", counted)
    begun.set_params(epochs=7).fit(table)
    assert len(updates) == 2 * (begun.updates_per_epoch or 1)


def test_a_run_continues_on_other_rows(begun, table):
    scaler = begun._scaler
    begun.set_params(epochs=8).fit(table[::2])
    assert begun._scaler is scaler
    assert len(begun.training_scores_) == 150
    assert len(begun.history_["epoch"]) == 8


def test_without_warm_start_a_fit_starts_over(detector, table):
    detector.set_params(warm_start=False)
    expected = clone(detector).set_params(epochs=6).fit(table)
    detector.set_params(epochs=3).fit(table)
    assert not hasattr(detector, "_past")
    assert_same_run(detector.set_params(epochs=6).fit(table), expected)


def test_epochs_cannot_be_lowered(begun, table):
    with pytest.raises(ValueError, match="epochs=4, but 5 epochs were already trained"):
        begun.set_params(epochs=4).fit(table)


def test_as_many_epochs_train_nothing(begun, table):
    before = begun.training_scores_
    with pytest.warns(UserWarning, match="nothing to train"):
        begun.fit(table)
    np.testing.assert_array_equal(begun.training_scores_, before)


def other_scaling(detector):
    return "minmax" if detector.scaling == "squash" else "squash"


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_estimators", 3), ("scaling", other_scaling), ("stopping", "cohesion")],
)
def test_a_refused_change_of_parameters_loses_nothing(begun, table, name, value):
    before, scores = getattr(begun, name), begun.score_samples(table)
    new = value(begun) if callable(value) else value
    message = f"{name} was {before!r} .* cannot become {new!r}"
    with pytest.raises(ValueError, match=message):
        begun.set_params(epochs=7, **{name: new}).fit(table)
    np.testing.assert_array_equal(begun.score_samples(table), scores)
    begun.set_params(**{name: before}).fit(table)
    assert len(begun.history_["epoch"]) == 7


def test_refused_data_lose_nothing(begun, table):
    scores = begun.score_samples(table)
    for bad in (table[:, :4], np.full_like(table, np.inf)):
        with pytest.raises(ValueError, match=r"features|infinity"):
            begun.set_params(epochs=7).fit(bad)
    np.testing.assert_array_equal(begun.score_samples(table), scores)
    begun.fit(table)
    assert len(begun.history_["epoch"]) == 7
