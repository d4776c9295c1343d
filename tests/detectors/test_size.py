"""Tables of any size: blocks, samples, memory and threads."""

import tracemalloc

import numpy as np
import pytest
import torch

from skim import ALTBIDetector
from skim._detectors import _base
from skim._model import _components, _scaling
from skim.networks import VAEConfig
from skim.schedules import ALTBISchedule, ODIMSchedule


@pytest.fixture
def large(monkeypatch):
    """Call tables of more than 1,000 rows large, and sample 500 of their rows."""
    monkeypatch.setattr(_base, "MAX_ROWS", 1000)
    monkeypatch.setattr(_base, "N_SAMPLED_ROWS", 500)
    X = np.random.default_rng(0).normal(size=(3000, 4)).astype(np.float32)
    X[::50] *= 4
    return X


def table_with_gaps_and_far_cells():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 5)) @ rng.normal(size=(5, 5))
    X[rng.random(X.shape) < 0.05] = np.nan
    X[[3, 300, 650], [0, 2, 4]] = 1e4
    return X


def quick(**params):
    return ALTBIDetector(**{"epochs": 8, "random_state": 0} | params)


def in_small_blocks(monkeypatch):
    monkeypatch.setattr(_scaling, "BLOCK_CELLS", 5 * 64)
    monkeypatch.setattr(_scaling, "MAX_KEPT_VALUES", 0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: quick(store_snapshots=True),
        lambda: quick(
            network="vae",
            schedule=ODIMSchedule(patience_updates=9),
            store_snapshots=True,
        ),
        lambda: ALTBIDetector.paper(epochs=3, random_state=0, store_snapshots=True),
    ],
)
def test_scores_do_not_depend_on_blocks(monkeypatch, make):
    X = table_with_gaps_and_far_cells()
    whole = make().fit(X)
    explained = whole.explain(X)
    stages = list(whole.staged_score_samples(X))
    in_small_blocks(monkeypatch)
    parts = make().fit(X)
    np.testing.assert_allclose(parts.training_scores_, whole.training_scores_, 1e-6)
    np.testing.assert_allclose(parts.offset_, whole.offset_, 1e-6)
    np.testing.assert_array_equal(parts.score_samples(X), parts.training_scores_)
    # Under the same weights, nothing is rounded differently.
    np.testing.assert_array_equal(whole.score_samples(X), whole.training_scores_)
    np.testing.assert_array_equal(whole.explain(X), explained)
    for expected, found in zip(stages, whole.staged_score_samples(X), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("dtype", "n_components"), [(np.float32, "auto"), (np.float64, None)]
)
def test_no_table_is_copied_as_a_whole(monkeypatch, tmp_path, dtype, n_components):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(8000, 4)) @ rng.normal(size=(4, 200))).astype(dtype)
    np.save(tmp_path / "table.npy", X)
    mapped = np.load(tmp_path / "table.npy", mmap_mode="r")
    monkeypatch.setattr(_scaling, "MAX_KEPT_VALUES", 2**14)
    monkeypatch.setattr(_scaling, "BLOCK_CELLS", 2**14)
    monkeypatch.setattr(_scaling, "MAX_ROWS_FOR_QUANTILES", 100)
    monkeypatch.setattr(_base, "N_TYPICAL_ROWS", 50)
    monkeypatch.setattr(_components, "MAX_ROWS", 50)
    detector = quick(
        n_estimators=1,
        epochs=2,
        schedule=ALTBISchedule(updates_per_epoch=1),
        stopping=None,
        network=VAEConfig(max_width=8, n_components=n_components),
    )
    tracemalloc.start()
    try:
        detector.fit(mapped).score_samples(mapped)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < X.nbytes / 4
    np.testing.assert_array_equal(detector.score_samples(X), detector.training_scores_)


def test_a_sample_stands_for_a_large_table(large):
    detector = quick(contamination=0.1).fit(large)
    rows = detector.training_rows_
    assert len(np.unique(rows)) == 500
    assert rows.max() < 3000
    scores = detector.score_samples(large)
    np.testing.assert_array_equal(detector.training_scores_, scores[rows])
    error = 2 * np.sqrt(0.1 * 0.9 / 500)
    assert np.mean(scores < detector.offset_) == pytest.approx(0.1, abs=error)
    np.testing.assert_array_equal(quick().fit(large).training_rows_, rows)
    assert not np.array_equal(quick(random_state=1).fit(large).training_rows_, rows)
    np.testing.assert_array_equal(detector.fit_predict(large), detector.predict(large))
    # Scaling sees every row.
    low = 2 * detector.model_.scaler.half_min_
    np.testing.assert_array_equal(low, large.min(axis=0))


def test_scores_do_not_depend_on_the_number_of_threads():
    X = np.random.default_rng(0).normal(size=(20_000, 4))
    one = quick().fit(X)
    n_threads = torch.get_num_threads()
    two = quick(n_jobs=2).fit(X)
    assert torch.get_num_threads() == n_threads
    np.testing.assert_array_equal(two.training_scores_, one.training_scores_)
    np.testing.assert_array_equal(
        two.model_.snapshots.weights, one.model_.snapshots.weights
    )
    np.testing.assert_array_equal(two.explain(X[:15_000]), one.explain(X[:15_000]))
