"""Simulated clusters with outliers between and around them."""

from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, validate_params

from skim._utils import own_random_state

CENTERS = ((-10.0, -10.0), (0.0, 2.5), (10.0, -10.0))
MAX_DRAWS = 1000  # attempts to draw a batch of outliers


@validate_params(
    {
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "centers": ["array-like", None],
        "cluster_std": [Interval(Real, 0, None, closed="left")],
        "weights": ["array-like", None],
        "outlier_rate": [Interval(Real, 0, 1, closed="left")],
        "outlier_range": [Interval(Real, 0, None, closed="neither")],
        "outlier_distance": [Interval(Real, 0, None, closed="left")],
        "scaled": ["boolean"],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_im_clusters(
    n_samples: int = 2000,
    *,
    centers: ArrayLike | None = None,
    cluster_std: float = 1.0,
    weights: ArrayLike | None = None,
    outlier_rate: float = 0.05,
    outlier_range: float = 18.0,
    outlier_distance: float = 10.0,
    scaled: bool = True,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
    """Generate clusters and outliers, as in simulations of the IM effect.

    Inliers are Gaussian around the centres. Outliers are uniform in a box, except
    near the centres [1]_.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of rows, including outliers.

    centers : array-like of shape (n_clusters, n_features), default=None
        Centres of the clusters. By default (-10, -10), (0, 2.5) and (10, -10), which
        are at least 16 apart. The paper does not state its centres.

    cluster_std : float, default=1.0
        Standard deviation of the clusters.

    weights : array-like of shape (n_clusters,), default=None
        Relative sizes of the clusters, equal by default.

    outlier_rate : float, default=0.05
        Fraction of outliers, in [0, 1).

    outlier_range : float, default=18.0
        Outliers are drawn from ``[-outlier_range, outlier_range]`` in each feature.

    outlier_distance : float, default=10.0
        Minimum distance between an outlier and every centre.

    scaled : bool, default=True
        Whether to scale each feature to [0, 1/sqrt(n_features)], so that no row is
        longer than 1.

    random_state : int, RandomState instance or None, default=None
        Pass an int for reproducible output across multiple function calls.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows, in random order.

    y : ndarray of int of shape (n_samples,)
        1 for outliers, 0 for inliers.

    clusters : ndarray of int of shape (n_samples,)
        Cluster of each inlier, -1 for outliers.

    References
    ----------
    .. [1] K. Kim and D. Kim, "What Drives the Inlier-Memorization Effect? A Theory
           of Outlier Detection via Early Training Dynamics", 2026.

    Examples
    --------
    >>> from skim.datasets import make_im_clusters
    >>> X, y, clusters = make_im_clusters(100, random_state=0)
    >>> X.shape, int(y.sum())
    ((100, 2), 5)
    """
    mu = check_array(CENTERS if centers is None else centers, dtype=np.float64)
    rng = own_random_state(random_state)
    n_outliers = round(outlier_rate * n_samples)
    sizes = _sizes(n_samples - n_outliers, weights, len(mu))
    clusters = np.repeat([*range(len(mu)), -1], [*sizes, n_outliers])
    inliers = np.repeat(mu, sizes, axis=0)
    inliers += cluster_std * rng.standard_normal(inliers.shape)
    outliers = _outliers(n_outliers, mu, outlier_range, outlier_distance, rng)
    X = np.concatenate([inliers, outliers])
    if scaled:
        X = unit_rows(X)
    order = rng.permutation(n_samples)
    clusters = clusters[order]
    return X[order], (clusters == -1).astype(int), clusters


def unit_rows(X):
    """Scale features to [0, 1/sqrt(n_features)], so that no row is longer than 1."""
    X = X - X.min(axis=0)
    X /= np.maximum(X.max(axis=0), np.finfo(float).tiny) * np.sqrt(X.shape[1])
    return X


def _sizes(n_inliers, weights, n_clusters):
    weights = np.ones(n_clusters) if weights is None else np.asarray(weights, float)
    if (
        weights.shape != (n_clusters,)
        or not (np.isfinite(weights) & (weights > 0)).all()
    ):
        raise ValueError(
            f"weights must be {n_clusters} positive numbers, got {weights.tolist()}."
        )
    ends = np.round(np.cumsum(weights) / weights.sum() * n_inliers).astype(int)
    return np.diff(ends, prepend=0)


def _outliers(n, centers, reach, distance, rng):
    found = np.empty((0, centers.shape[1]))
    for _ in range(MAX_DRAWS):
        if len(found) >= n:
            return found[:n]
        drawn = rng.uniform(-reach, reach, size=(2 * n, centers.shape[1]))
        far = cdist(drawn, centers).min(axis=1) >= distance
        found = np.concatenate([found, drawn[far]])
    raise ValueError(
        f"There is no room for outliers at outlier_distance={distance} within "
        f"outlier_range={reach}: lower the former or raise the latter."
    )
