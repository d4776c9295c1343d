import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from skim.datasets import make_im_clusters


def test_rows_follow_the_parameters():
    X, y, clusters = make_im_clusters(
        1000, cluster_std=0.5, outlier_rate=0.1, random_state=0
    )
    assert X.shape == (1000, 2)
    np.testing.assert_allclose(X.min(axis=0), 0)
    np.testing.assert_allclose(X.max(axis=0), 2**-0.5)
    np.testing.assert_array_equal(clusters == -1, y == 1)
    np.testing.assert_array_equal(np.bincount(clusters[y == 0]), [300, 300, 300])
    centers = np.stack([X[clusters == k].mean(axis=0) for k in range(3)])
    unit = np.ptp(centers, axis=0) / [20, 12.5]
    deviations = (X[y == 0] - centers[clusters[y == 0]]) / unit
    assert deviations.std(axis=0) == pytest.approx([0.5, 0.5], rel=0.1)
    np.testing.assert_allclose(pdist(centers / unit), [16, 20, 16], atol=0.2)
    assert cdist(X[y == 1] / unit, centers / unit).min() > 9.8
    sizes = make_im_clusters(220, weights=[8, 1, 1], outlier_rate=0.5)[2]
    np.testing.assert_array_equal(np.bincount(sizes[sizes >= 0]), [88, 11, 11])


def test_same_seed_gives_the_same_rows_and_no_global_state_is_touched():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    for one, other in zip(
        make_im_clusters(50, random_state=1),
        make_im_clusters(50, random_state=1),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    make_im_clusters(50)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_bad_parameters_are_refused():
    for params, message in (
        ({"outlier_rate": 1.0}, "outlier_rate"),
        ({"weights": [1, 2]}, "3 positive numbers"),
        ({"weights": [1, 2, 0]}, "3 positive numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            make_im_clusters(100, **params)
