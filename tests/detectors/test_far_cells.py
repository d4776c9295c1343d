"""Cells that lie absurdly far from all others in their column."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skim import ALTBIDetector, IMAutoencoderDetector
from skim._model._scaling import InputScaler
from skim.inspection import trajectory
from skim.schedules import ALTBISchedule
from tests.conftest import make_quick


def normal_rows(n_rows=1000, n_features=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features))


def rows_with(value, column=2, **kwargs):
    """Ordinary rows with one cell replaced, in row 7."""
    X = normal_rows(**kwargs)
    X[7, column] = value
    return X


def far_terms(detector, X):
    """The loss that far cells add, as a dense array."""
    far = detector.model_.scaler.scale(np.asarray(X, dtype=np.float64)).far
    dense = np.zeros(np.shape(X))
    if far is not None:
        rows, columns, losses = far
        dense[rows, columns] = losses
    return dense


def test_far_cells_count_on_the_scale_of_normalized_losses():
    schedule = ALTBISchedule(min_epochs=4, normalize_losses=True)
    detector = ALTBIDetector(epochs=10, schedule=schedule, random_state=0)
    X = rows_with(1000.0)
    losses = -detector.fit(X).training_scores_
    others = np.delete(losses, 7)
    assert 0 <= others.min() < others.max() <= 1  # but for the far cell
    assert losses[7] > 1
    contributions = detector.explain(X)
    far = far_terms(detector, X)[7, 2]
    detector.model_.scaler.far_loss = 0.0
    assert 0 <= -detector.score_samples(X)[7] <= 1
    added = losses[7] + detector.score_samples(X)[7]
    assert contributions[7, 2] - detector.explain(X)[7, 2] == pytest.approx(added)
    widths = detector.model_.snapshots.ranges[:, 1]
    assert added == pytest.approx(far * np.mean(1 / widths))


@pytest.fixture(scope="module")
def clean(kind):
    """A detector of each kind, fitted to ordinary rows; not to be changed."""
    return make_quick(kind).fit(normal_rows())


@pytest.fixture(scope="module")
def spoilt(kind):
    """A detector fitted to rows of which one has a far cell; not to be changed."""
    return make_quick(kind, store_snapshots=True).fit(rows_with(1000.0))


def assert_strangest(detector, X):
    assert detector.score_samples(X).argmin() == 7
    assert detector.predict(X[[7]]).item() == -1
    assert detector.explain(X[[7]], relative=True).argmax() == 2
    first = detector.reasons(X[[7]]).iloc[0]
    assert first["feature"] == "x2"
    assert first["is_outside"]
    assert abs(first["expected"]) < 4


def test_a_row_with_an_absurd_cell_is_the_strangest(spoilt):
    X = rows_with(1000.0)
    assert_strangest(spoilt, X)
    losses = trajectory(spoilt, X, store_losses=True).losses
    assert (losses.argmax(axis=1) == 7).all()
    stages = list(spoilt.staged_score_samples(X))
    assert all(scores.argmin() == 7 for scores in stages)
    assert_array_equal(stages[-1], spoilt.score_samples(X))


def test_a_new_row_is_the_stranger_the_further_its_cell(clean):
    for sign in (1, -1):
        new = np.repeat(normal_rows()[[7]], 5, axis=0)
        new[:, 2] = sign * np.array([30.0, 100.0, 1000.0, 1e6, 1e308])
        scores = clean.score_samples(new)
        assert np.isfinite(scores).all()
        assert (np.diff(scores) < 0).all()
        assert scores[2] < clean.training_scores_.min()
        explained = clean.explain(new, relative=True)
        assert np.isfinite(explained).all()
        assert (explained.argmax(axis=1) == 2).all()
        assert (clean.reasons(new, n_reasons=1)["feature"] == "x2").all()


@pytest.mark.parametrize("share", [0.3, 0.98])
def test_columns_that_are_mostly_one_value_can_have_far_cells(share):
    X = rows_with(1000.0)
    X[np.random.default_rng(1).random(1000) < share, 2] = 0.0
    X[7, 2] = 1000.0
    assert_strangest(make_quick("altbi").fit(X), X)


def test_values_far_from_the_only_others_are_far():
    X = rows_with(1.0)
    X[:, 2] = np.arange(1000) == 7
    detector = make_quick("altbi").fit(X)
    assert (far_terms(detector, X) == 0).all()  # a rare one among zeros
    X[7, 2] = 1000.0  # but this is, by the standard of that 1
    assert far_terms(detector, X).nonzero() == ([7], [2])
    assert detector.score_samples(X).argmin() == 7
    X[:, 2] = 3.0
    detector.fit(X)
    new = X[:3].copy()
    new[1, 2], new[2, 2] = 3.1, 3000.0
    assert far_terms(detector, new).nonzero() == ([2], [2])
    assert detector.score_samples(new)[2] < detector.training_scores_.min()


def test_nothing_else_depends_on_far_cells(clean, spoilt):
    assert clean.model_.scaler.scale(normal_rows(seed=1)).far is None
    X, detector = rows_with(1000.0), pickle.loads(pickle.dumps(spoilt))
    terms = far_terms(detector, X)
    assert terms.nonzero() == ([7], [2])
    detector.model_.scaler.far_loss = 0.0
    without = detector.score_samples(X)
    assert_allclose(spoilt.score_samples(X), without - terms.sum(axis=1))
    assert_array_equal(spoilt.explain(X), detector.explain(X) + terms)


def test_opposite_giants_do_not_hide_what_is_ordinary():
    X = rows_with(1e308)
    X[8, 2], X[9, 2] = -1e308, 50.0
    scores = make_quick("altbi").fit(X).training_scores_
    assert set(np.argsort(scores)[:3]) == {7, 8, 9}


def test_autoencoder_contributions_of_gaps_and_far_cells_sum_to_the_loss():
    X = rows_with(1000.0)
    X[100:200][np.random.default_rng(1).random((100, 5)) < 0.5] = np.nan
    X[7, 3] = np.nan
    X[8] = np.nan
    detector = IMAutoencoderDetector(epochs=5, random_state=0).fit(X)
    total = detector.explain(X).sum(axis=1)
    assert_allclose(total, -detector.training_scores_, rtol=1e-5)


@pytest.mark.parametrize("shape", ["standard_normal", "lognormal", "standard_cauchy"])
def test_heavy_tails_are_not_all_far(shape):
    X = getattr(np.random.default_rng(0), shape)(size=(2000, 5))
    far = InputScaler("squash", far_loss=1.0).fit(X).scale(X).far
    assert far is None or len(far[0]) < 0.01 * X.size
