import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from pyod.models.knn import KNN
from sklearn.base import clone

from skim import ALTBIDetector, IMAutoencoderDetector
from skim._model._threshold import probability, threshold
from skim.pyod import from_pyod
from tests.conftest import make_quick


@pytest.mark.parametrize(
    ("contamination", "n_rows"), [(0.0016, 0), (0.0017, 1), (0.05, 15), (0.5, 150)]
)
def test_contamination_is_rounded_to_the_nearest_row(contamination, n_rows):
    scores = np.random.default_rng(0).normal(size=300)
    assert (scores < threshold(scores, contamination)).sum() == n_rows
    assert (np.arange(10) < threshold(np.arange(10.0), 0.05)).sum() == 1


# The share that "auto" finds ------------------------------------------------------


def share_flagged(scores):
    return np.mean(scores < threshold(scores, "auto"))


def with_cluster(share, seed=3):
    """1,000 rows, the first of which are a cluster far from the others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1000, 5))
    n_far = int(share * 1000)
    X[:n_far] = 0.5 * X[:n_far] + 8 * np.array([1, -1, 1, 1, -1])
    return X


def test_auto_flags_few_clean_rows():
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(1000, 5))
        labels = IMAutoencoderDetector(epochs=10, random_state=0).fit_predict(X)
        assert 0 < (labels == -1).mean() <= 0.06


@pytest.mark.parametrize("share", [0.05, 0.2])
@pytest.mark.parametrize(
    "detector",
    [ALTBIDetector(), IMAutoencoderDetector(), make_quick("network", epochs=30)],
)
def test_auto_finds_the_size_of_a_cluster(detector, share):
    detector = clone(detector).set_params(random_state=0)
    labels = detector.fit_predict(with_cluster(share))
    assert share / 1.5 < (labels == -1).mean() < 1.5 * share
    assert (labels[: int(share * 1000)] == -1).mean() > 0.6


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_auto_hardly_depends_on_the_seed(share):
    X = with_cluster(share)
    shares = [
        (make_quick("altbi", epochs=20, random_state=i).fit_predict(X) == -1).mean()
        for i in range(4)
    ]
    assert np.ptp(shares) <= 0.02


@pytest.mark.parametrize(("size", "n_giants"), [(1e3, 5), (1e300, 1)])
def test_gigantic_losses_do_not_hide_a_group(size, n_giants):
    rng = np.random.default_rng(0)
    scores = -np.r_[rng.normal(20, 1, 100), rng.normal(0, 1, 900)]
    assert share_flagged(scores) == pytest.approx(0.1, abs=0.01)
    scores[200 : 200 + n_giants] = -size
    flagged = scores < threshold(scores, "auto")
    assert flagged[:100].all()
    assert flagged[200 : 200 + n_giants].all()
    assert flagged.mean() == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(
    "scores",
    [[3.0] * 100, [1.0, 2.0], [1.0, 2.0, 50.0], [0.0] * 10 + [5e-324] * 10],
    ids=["constant", "two rows", "three rows", "alike"],
)
def test_auto_flags_nothing_that_it_cannot_judge(scores):
    assert share_flagged(np.array(scores)) == 0


def some_scores(n_rows, seed, heaviness):
    """Scores that are multiples of a power of two, some far from the others."""
    rng = np.random.default_rng(seed)
    losses = np.exp(heaviness * rng.normal(size=n_rows)) + rng.normal(size=n_rows)
    return -np.round(1024 * losses) / 1024


SCORES = st.builds(
    some_scores,
    st.integers(4, 300),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 1.0, 3.0]),
)


@settings(max_examples=100, deadline=None)
@given(SCORES, st.sampled_from([0.125, 1.0, 64.0]), st.integers(-1000, 1000))
def test_verdict_does_not_depend_on_the_unit_of_the_scores(scores, factor, shift):
    moved = threshold(factor * scores + shift, "auto")
    assert_allclose(moved, factor * threshold(scores, "auto") + shift, rtol=1e-9)


@settings(max_examples=100, deadline=None)
@given(SCORES, st.one_of(st.just("auto"), st.floats(0.001, 0.5)))
def test_threshold_lies_among_the_scores(scores, contamination):
    offset = threshold(scores, contamination)
    assert scores.min() <= offset <= scores.max()
    assert np.sum(scores < offset) <= (len(scores) + 1) // 2


# Another threshold ----------------------------------------------------------------


def test_contamination_can_be_changed_without_training(table):
    detector = make_quick("altbi").fit(table)
    weights, scores = (
        detector.model_.snapshots.weights.copy(),
        detector.training_scores_.copy(),
    )
    for contamination in (0.1, 0.3, "auto"):
        assert detector.set_contamination(contamination) is detector
        fresh = make_quick("altbi", contamination=contamination).fit(table)
        assert detector.contamination == contamination
        assert detector.offset_ == fresh.offset_
        assert_array_equal(fresh.training_scores_, scores)
        assert_array_equal(detector.predict(table), fresh.predict(table))
    assert_array_equal(detector.model_.snapshots.weights, weights)
    assert_array_equal(detector.training_scores_, scores)
    offset = detector.offset_
    for bad in (0, -0.1, 0.6, np.nan, "all", None, [0.1]):
        with pytest.raises(ValueError, match="contamination"):
            detector.set_contamination(bad)
        assert (detector.contamination, detector.offset_) == ("auto", offset)


# Probabilities --------------------------------------------------------------------


def assert_probable(detector, X):
    scores = detector.score_samples(X)
    found = detector.outlier_probability(X)
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found[np.argsort(scores)]) <= 0).all()
    assert_array_equal(found > 0.5, detector.predict(X) == -1)
    at_threshold = np.array([detector.offset_])
    training = detector.training_scores_
    assert probability(at_threshold, detector.offset_, training) == 0.5


def test_probabilities_agree_with_the_labels(table):
    new = np.r_[table, 3 * table, 1e6 * table, 0 * table[:1]]
    detector = make_quick("altbi").fit(table)
    for contamination in ("auto", 0.0001, 0.1, 0.5):
        assert_probable(detector.set_contamination(contamination), new)


def test_probabilities_of_pyod_detectors_agree_with_the_labels(table):
    assert_probable(from_pyod(KNN()).fit(table), np.r_[table, 3 * table])


def test_probabilities_of_equal_scores():
    X = np.ones((20, 3))
    detector = make_quick("altbi").fit(X)
    assert_array_equal(detector.outlier_probability(X), 0.5)
    assert (detector.predict(X) == 1).all()
    assert_probable(detector, np.r_[X, 50 * X])


def test_odds_say_how_much_rarer_a_score_is():
    scores = np.log((np.arange(10_000) + 0.5) / 10_000)  # an exponential tail
    rarest, rare = np.quantile(scores, [0.001, 0.01])
    found = probability(rarest, rare, scores)
    assert found / (1 - found) == pytest.approx(10, rel=0.05)
