"""Features as values and as ranks, and training data without outliers."""

import numpy as np
import pytest
from scipy.special import ndtri

from skim import ALTBIDetector, ODIMDetector
from skim._model._scaling import Ranks
from skim.networks import VAEConfig
from skim.schedules import ALTBISchedule


@pytest.fixture(scope="module")
def skewed():
    """A table with gaps and columns of very different shapes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[:, 1] = np.exp(3 * X[:, 1])
    X[:, 2] = X[:, 2] > 1
    X[::11, 3] = np.nan
    return X


@pytest.fixture(scope="module")
def detector(skewed):
    return ALTBIDetector(
        n_estimators=2,
        epochs=12,
        store_snapshots=True,
        random_state=0,
    ).fit(skewed)


def test_rows_are_scored_alike_in_training_and_later(detector, skewed):
    scores = detector.score_samples(skewed)
    np.testing.assert_array_equal(scores, detector.training_scores_)
    np.testing.assert_array_equal(detector.score_samples(skewed[7:9]), scores[7:9])
    *_, last = detector.staged_score_samples(skewed)
    np.testing.assert_allclose(last, scores)


def test_ranks_are_the_same_for_any_monotone_scale(skewed):
    scaler = VAEConfig().scaler(4).fit(skewed)
    stretched = np.sign(skewed) * np.abs(skewed) ** 3
    other = VAEConfig().scaler(4).fit(stretched)
    np.testing.assert_array_equal(
        scaler.transform(skewed)[:, 4:], other.transform(stretched)[:, 4:]
    )


def test_values_and_ranks_of_a_column_are_explained_together(detector, skewed):
    rows = skewed[np.arange(1, 9)]  # without gaps
    contributions = detector.explain(rows)
    assert contributions.shape == rows.shape
    rest = -detector.score_samples(rows) - contributions.sum(axis=1)
    assert np.ptp(rest) < 0.1 * np.ptp(detector.training_scores_)
    assert detector.feature_space(rows).shape == rows.shape


def test_equal_values_have_their_middle_rank():
    X = np.array([[1.0, 7.0], [1.0, 7.0], [3.0, 7.0]])
    ranks = Ranks.of(X).transform(np.vstack([X, [2.0, 7.0]]))
    low, high = ndtri([1 / 3, 5 / 6])
    np.testing.assert_allclose(ranks[:, 0], [low, low, high, (low + high) / 2])
    assert (ranks[:, 1] == 0).all()


def test_stages_of_single_rows_are_those_of_many(skewed):
    schedule = ALTBISchedule(n_snapshots=19, normalize_losses=True)
    detector = ALTBIDetector(
        n_estimators=2,
        epochs=40,
        schedule=schedule,
        stopping=None,
        store_snapshots=True,
        random_state=0,
    ).fit(skewed)
    *_, last = detector.staged_score_samples(skewed[:1])
    assert last == detector.training_scores_[0]


def test_latent_codes_are_as_wide_as_all_inputs_allow(skewed):
    network = VAEConfig()
    shape = network.shape(network.scaler(4).fit(skewed))
    assert (shape.n_features, shape.n_latent) == (8, 8)
    assert shape.widths["encode_1"] == 32


@pytest.fixture(scope="module")
def clean():
    return np.random.default_rng(1).normal(size=(3000, 3)) @ np.diag([1, 5, 0.1])


def test_few_new_clean_rows_are_flagged(clean):
    detector = ALTBIDetector(contamination=0.0, epochs=20, random_state=0)
    detector.fit(clean[:1000])
    assert 0.005 < np.mean(detector.predict(clean[1000:]) == -1) < 0.02
    assert np.mean(detector.held_out_scores_ < detector.offset_) == 0.01
    far = np.array([[6.0, 0.0, 0.0], [0.0, 0.0, 0.6]])
    assert detector.predict(far).tolist() == [-1, -1]


def test_all_rows_count_and_training_does_not_stop_early(clean):
    detector = ALTBIDetector(contamination=0.0, epochs=8, random_state=0)
    detector.fit(clean[:200])
    assert detector.model_.schedule.keep_quantile == 1
    assert detector.best_epoch_ == 8
    assert detector.history_["update"][-1] == 8 * 15


def test_no_member_is_judged_by_rows_that_it_has_seen(clean):
    X = clean[:60].copy()
    X[0] = [30.0, 0.0, 0.0]
    detector = ALTBIDetector(
        contamination=0.0, epochs=30, n_estimators=2, random_state=0
    ).fit(X)
    seen, held_out = detector.training_scores_[0], detector.held_out_scores_[0]
    assert held_out < seen


def test_clean_data_is_said_before_training(clean):
    detector = ALTBIDetector(epochs=3, random_state=0).fit(clean[:50])
    assert detector.held_out_scores_ is None
    with pytest.raises(ValueError, match="fit again"):
        detector.set_contamination(0.0)


@pytest.mark.parametrize(
    ("detector", "message"),
    [
        (ODIMDetector(contamination=0.0), "needs an ALTBISchedule"),
        (ALTBIDetector(contamination=0.0, n_estimators=1), "at least 2"),
    ],
)
def test_what_cannot_be_combined_is_refused(clean, detector, message):
    with pytest.raises(ValueError, match=message):
        detector.fit(clean[:50])
