import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from skim.datasets import make_im_clusters
from skim.theory import cluster_geometry, estimate_geometry


@pytest.fixture(autouse=True)
def _one_thread():
    """Threads that wait for each other take most of the time of a small k-means."""
    with threadpool_limits(1):
        yield


SQUARE = np.array([[0.0, 0.0], [0.2, 0.0], [1.1, 0.0], [1.1, 0.0], [0.1, 3.0], [5, 0]])
CLUSTERS = [0, 0, 1, 1, 0, 1]
OUTLIERS = np.array([0, 0, 0, 0, 1, 1])


def test_every_quantity_is_what_it_is_defined_to_be():
    geometry = cluster_geometry(SQUARE, CLUSTERS, OUTLIERS)
    np.testing.assert_allclose(geometry.centers, [[0.1, 0], [1.1, 0]])
    np.testing.assert_array_equal(geometry.sizes, [3, 3])
    np.testing.assert_allclose(geometry.rho, [1 / 3, 1 / 3])
    assert (geometry.n_min, geometry.n_max) == (3, 3)
    assert geometry.delta == pytest.approx(1.0)
    assert geometry.eps_c == pytest.approx(0.1)
    assert geometry.eps_o == pytest.approx(3.9)
    assert geometry.persistence == pytest.approx(0.6)
    assert geometry.strength == pytest.approx(1.2)
    np.testing.assert_array_equal(geometry.well_separated, OUTLIERS == 1)
    for outliers in (OUTLIERS == 1, np.where(OUTLIERS, -1, 1)):
        assert cluster_geometry(SQUARE, CLUSTERS, outliers).eps_c == geometry.eps_c
    nearest = cluster_geometry(SQUARE, [0, 0, 1, 1, -1, -1], OUTLIERS)
    np.testing.assert_array_equal(nearest.clusters, CLUSTERS)
    near = np.r_[SQUARE[:4], [[0.1, 1.1], [0.1, 1.3]]]
    far = cluster_geometry(near, CLUSTERS, OUTLIERS).well_separated
    assert far.nonzero()[0].tolist() == [5]
    assert cluster_geometry(SQUARE, np.zeros(6)).delta == np.inf


def test_labels_may_be_words_and_centres_given():
    geometry = cluster_geometry(
        SQUARE[:4], ["b", "b", "a", "a"], centers=[[1.0, 0.0], [0.0, 0.0]]
    )
    assert geometry.eps_c == pytest.approx(0.2)
    assert geometry.eps_o == 0
    assert not geometry.well_separated.any()


def test_bad_labels_data_and_centres_are_refused():
    for clusters, outliers, message in (
        ([0, 1], OUTLIERS, "inconsistent numbers"),
        (CLUSTERS, [0, 1], "outliers has 2 labels"),
        (CLUSTERS, np.zeros(6, int), "one class only"),
        ([-1] * 6, [True] * 6, "no clusters"),
        ([0, 0, -1, 0, 0, 0], OUTLIERS, "Only outliers may have the label -1"),
        ([0, 0, 0, 0, 1, 1], OUTLIERS, "Cluster 1 has no inliers"),
    ):
        with pytest.raises(ValueError, match=message):
            cluster_geometry(SQUARE, clusters, outliers)
    with pytest.raises(ValueError, match="NaN"):
        cluster_geometry([[np.nan, 1.0]], [0])
    with pytest.raises(ValueError, match=r"need \(2, 2\)"):
        cluster_geometry(SQUARE, CLUSTERS, centers=[[0.0, 0.0]])


def test_the_estimate_finds_plain_clusters():
    X, y, clusters = make_im_clusters(600, cluster_std=0.8, random_state=0)
    truth = cluster_geometry(X, clusters, y)
    estimate = estimate_geometry(X, n_resamples=8, random_state=0)
    found = estimate.geometry
    assert len(found.centers) == 3
    assert estimate.stability > 0.95
    assert estimate.is_sure
    assert found.delta == pytest.approx(truth.delta, rel=0.05)
    low, high = estimate.intervals["delta"]
    assert low <= found.delta * 1.01
    assert high >= found.delta * 0.99
    assert np.mean(found.is_outlier == (y == 1)) > 0.97
    X, *_ = make_im_clusters(1000, cluster_std=0.5, random_state=0)
    some = estimate_geometry(X, max_samples=200, n_resamples=2, random_state=0)
    assert len(some.geometry.clusters) == 1000
    assert len(some.geometry.centers) == 3


def test_the_estimate_admits_that_there_are_no_clusters():
    X = np.random.default_rng(0).uniform(size=(400, 4))
    few = {"n_resamples": 5, "max_clusters": 4, "random_state": 0}
    assert not estimate_geometry(X, n_clusters=5, **few).is_sure
    estimate = estimate_geometry(X, **few)
    assert len(estimate.geometry.centers) == 1
    assert np.isnan(estimate.stability)
    assert not estimate.is_sure


def test_the_estimate_is_repeatable_and_leaves_the_global_state_alone():
    X, *_ = make_im_clusters(200, random_state=0)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    few = {"n_resamples": 2, "max_clusters": 4}
    one, other = (estimate_geometry(X, random_state=3, **few) for _ in "ab")
    assert one.stability == other.stability
    assert one.intervals == other.intervals
    estimate_geometry(X, n_clusters=2, n_resamples=1)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_the_estimate_of_few_distinct_rows_does_not_fail():
    few = {"n_resamples": 2, "max_clusters": 4, "random_state": 0}
    assert not estimate_geometry(np.ones((50, 2)), **few).is_sure
    X = np.repeat(np.eye(3), 20, axis=0)
    estimate = estimate_geometry(X, **few)
    assert len(estimate.geometry.centers) == 3
    with pytest.raises(ValueError, match="scale the data"):
        estimate_geometry(X * 1e200)


def test_the_estimate_refuses_bad_numbers():
    for params in (
        {"n_clusters": 0},
        {"n_clusters": 50},
        {"n_clusters": 8, "max_samples": 10},
        {"n_resamples": 0},
        {"max_clusters": 0},
        {"max_samples": 3},
    ):
        with pytest.raises(ValueError, match=next(iter(params))):
            estimate_geometry(np.eye(20), **params)
