import numpy as np
import pytest

from skim.theory import cluster_geometry

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
    for others in (-1, 7):  # labels of no inlier
        nearest = cluster_geometry(SQUARE, [0, 0, 1, 1, others, others], OUTLIERS)
        np.testing.assert_array_equal(nearest.clusters, CLUSTERS)
    near = np.r_[SQUARE[:4], [[0.1, 1.1], [0.1, 1.3]]]
    far = cluster_geometry(near, CLUSTERS, OUTLIERS).well_separated
    assert far.nonzero()[0].tolist() == [5]
    assert cluster_geometry(SQUARE, np.zeros(6)).delta == np.inf


def test_labels_may_be_words_and_all_rows_inliers():
    geometry = cluster_geometry(SQUARE[:4], ["b", "b", "a", "a"])
    np.testing.assert_array_equal(geometry.clusters, [1, 1, 0, 0])
    assert geometry.eps_c == pytest.approx(0.1)
    assert geometry.eps_o == 0
    assert not geometry.well_separated.any()


def test_bad_labels_and_data_are_refused():
    for clusters, outliers, message in (
        ([0, 1], OUTLIERS, "inconsistent numbers"),
        (CLUSTERS, [0, 1], "outliers has 2 labels"),
        (CLUSTERS, np.zeros(6, int), "one class only"),
        ([0] * 6, [True] * 6, "Every inlier needs a cluster"),
        ([0, 0, -1, 0, 0, 0], OUTLIERS, "Every inlier needs a cluster"),
    ):
        with pytest.raises(ValueError, match=message):
            cluster_geometry(SQUARE, clusters, outliers)
    with pytest.raises(ValueError, match="NaN"):
        cluster_geometry([[np.nan, 1.0]], [0])
