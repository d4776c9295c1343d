import numpy as np
import pytest
from scipy.spatial.distance import cdist

from skim.datasets import make_im_clusters
from skim.datasets._clusters import CENTERS


def test_rows_follow_the_parameters():
    X, y, clusters = make_im_clusters(
        1000, cluster_std=0.5, outlier_rate=0.1, scaled=False, random_state=0
    )
    assert X.shape == (1000, 2)
    assert y.sum() == 100
    np.testing.assert_array_equal(clusters == -1, y == 1)
    np.testing.assert_array_equal(np.bincount(clusters[y == 0]), [300, 300, 300])
    outliers = X[y == 1]
    assert np.abs(outliers).max() <= 18
    assert cdist(outliers, CENTERS).min() >= 10
    for k, center in enumerate(CENTERS):
        deviations = X[clusters == k] - center
        assert np.abs(deviations.mean(axis=0)).max() < 0.1
        assert deviations.std() == pytest.approx(0.5, rel=0.1)


def test_rows_are_scaled_and_weights_are_relative_sizes():
    X, _, clusters = make_im_clusters(
        220,
        centers=np.eye(3),
        weights=[8, 1, 1],
        outlier_rate=0.5,
        outlier_distance=2,
        random_state=0,
    )
    assert np.linalg.norm(X, axis=1).max() <= 1
    np.testing.assert_allclose(X.min(axis=0), 0)
    np.testing.assert_allclose(X.max(axis=0), 3**-0.5)
    np.testing.assert_array_equal(np.bincount(clusters[clusters >= 0]), [88, 11, 11])


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
        ({"outlier_distance": 100}, "no room for outliers"),
    ):
        with pytest.raises(ValueError, match=message):
            make_im_clusters(100, **params)
