"""Cells that lie absurdly far from all others in their column."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skim import (
    ALTBIDetector,
    IMAutoencoderDetector,
    NetworkDetector,
    ODIMDetector,
)
from skim._model._scaling import InputScaler
from skim.inspection import trajectory
from skim.schedules import ALTBISchedule

FLOAT32_MAX = float(np.finfo(np.float32).max)


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


@pytest.mark.parametrize(("n_features", "value"), [(5, 1000.0), (100, -1000.0)])
def test_a_row_with_an_absurd_cell_is_the_strangest(quick, n_features, value):
    X = rows_with(value, n_features=n_features)
    detector = quick().fit(X)
    assert detector.training_scores_.argmin() == 7
    assert detector.predict(X[[7]]).item() == -1
    assert detector.explain(X[[7]], relative=True).argmax() == 2
    first = detector.reasons(X[[7]]).iloc[0]
    assert first["feature"] == "x2"
    assert first["is_outside"]
    assert abs(first["expected"]) < 4


@pytest.mark.parametrize("n_features", [5, 100])
def test_a_new_row_is_the_stranger_the_further_its_cell(quick, n_features):
    X = normal_rows(n_features=n_features)
    detector = quick().fit(X)
    for sign in (1, -1):
        new = np.repeat(X[[7]], 4, axis=0)
        new[:, 2] = sign * np.array([30.0, 100.0, 1000.0, 1e6])
        scores = detector.score_samples(new)
        assert (np.diff(scores) < 0).all()
        assert scores[2] < detector.training_scores_.min()
        assert (detector.explain(new, relative=True).argmax(axis=1) == 2).all()
        assert (detector.reasons(new, n_reasons=1)["feature"] == "x2").all()


@pytest.mark.parametrize("share", [0.3, 0.9, 0.98])
def test_columns_that_are_mostly_one_value_can_have_far_cells(quick, share):
    X = normal_rows()
    X[np.random.default_rng(1).random(1000) < share, 2] = 0.0
    X[7, 2] = 1000.0
    detector = quick().fit(X)
    assert detector.training_scores_.argmin() == 7
    assert detector.explain(X[[7]], relative=True).argmax() == 2
    assert detector.reasons(X[[7]])["feature"].iloc[0] == "x2"


def test_a_rare_one_among_zeros_is_not_far(quick):
    X = normal_rows()
    X[:, 2] = 0.0
    X[7, 2] = 1.0
    detector = quick().fit(X)
    assert (far_terms(detector, X) == 0).all()
    X[7, 2] = 1000.0  # but it is by the standard of that 1
    assert far_terms(detector, X).nonzero() == ([7], [2])
    assert detector.score_samples(X).argmin() == 7


def test_a_value_far_from_the_only_one_is_far(quick):
    X = normal_rows()
    X[:, 2] = 3.0
    detector = quick().fit(X)
    new = X[:3].copy()
    new[1, 2], new[2, 2] = 3.1, 3000.0
    assert far_terms(detector, new).nonzero() == ([2], [2])
    assert detector.score_samples(new)[2] < detector.training_scores_.min()


@pytest.mark.parametrize(
    "detector",
    [
        ALTBIDetector.paper(epochs=5, random_state=0),
        ODIMDetector.paper(epochs=2, random_state=0),
        IMAutoencoderDetector.paper(epochs=5, random_state=0),
        NetworkDetector.paper("autoencoder", epochs=2, random_state=0),
    ],
    ids=["altbi", "odim", "autoencoder", "network"],
)
def test_without_squashing_there_is_no_such_loss(detector):
    X = rows_with(1000.0, n_rows=300)
    detector.fit(X)
    assert detector.model_.scaler.scale(1e6 * X).far is None
    scores = detector.score_samples(X)
    detector.model_.scaler.far_loss = 0.0
    assert_array_equal(detector.score_samples(X), scores)


def test_nothing_else_depends_on_far_cells(quick):
    X = rows_with(1000.0)
    detector = quick().fit(X)
    scores, contributions = detector.score_samples(X), detector.explain(X)
    terms = far_terms(detector, X)
    assert terms.nonzero() == ([7], [2])
    detector.model_.scaler.far_loss = 0.0
    assert_allclose(scores, detector.score_samples(X) - terms.sum(axis=1))
    assert_array_equal(contributions, detector.explain(X) + terms)


@pytest.mark.parametrize("value", [1e308, -FLOAT32_MAX])
def test_the_largest_numbers_get_finite_scores(quick, value):
    X = rows_with(value)
    detector = quick().fit(X)
    assert np.isfinite(detector.training_scores_).all()
    assert detector.training_scores_.argmin() == 7
    assert np.isfinite(detector.explain(X)).all()
    assert detector.reasons(X[[7]])["feature"].iloc[0] == "x2"
    new = normal_rows(3, seed=1)
    new[0] = value
    clean = quick().fit(normal_rows())
    assert np.isfinite(clean.score_samples(new)).all()
    assert clean.score_samples(new)[0] < clean.training_scores_.min()
    assert np.isfinite(clean.explain(new)).all()
    assert np.isfinite(clean.reasons(new)[["expected", "low", "high"]].to_numpy()).all()


def test_opposite_giants_do_not_hide_what_is_ordinary(quick):
    X = rows_with(1e308)
    X[8, 2] = -1e308
    X[9, 2] = 50.0
    scores = quick().fit(X).training_scores_
    assert set(np.argsort(scores)[:3]) == {7, 8, 9}


def test_autoencoder_contributions_of_gaps_and_far_cells_sum_to_the_loss():
    X = rows_with(1000.0)
    X[100:200][np.random.default_rng(1).random((100, 5)) < 0.5] = np.nan
    X[7, 3] = np.nan
    X[8] = np.nan
    detector = IMAutoencoderDetector(epochs=5, random_state=0).fit(X)
    assert_allclose(
        detector.explain(X).sum(axis=1), -detector.training_scores_, rtol=1e-5
    )


def test_staged_scores_and_trajectory_count_far_cells(quick):
    X = rows_with(1000.0)
    detector = quick(store_snapshots=True).fit(X)
    stages = list(detector.staged_score_samples(X))
    assert all(scores.argmin() == 7 for scores in stages)
    assert_array_equal(stages[-1], detector.score_samples(X))
    losses = trajectory(quick(), X, store_losses=True).losses
    assert (losses.argmax(axis=1) == 7).all()


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
    widths = detector.model_.ranges[:, 1]
    assert added == pytest.approx(far * np.mean(1 / widths))


@pytest.mark.parametrize("heavy", ["lognormal", "pareto", "cauchy"])
def test_heavy_tails_are_not_all_far(heavy):
    rng = np.random.default_rng(0)
    draw = {
        "lognormal": rng.lognormal,
        "pareto": lambda size: rng.pareto(2.0, size),
        "cauchy": lambda size: rng.standard_cauchy(size),
    }[heavy]
    X = draw(size=(2000, 5))
    far = InputScaler("squash", far_loss=1.0).fit(X).scale(X).far
    assert far is None or len(far[0]) < 0.01 * X.size
