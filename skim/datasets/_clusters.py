"""Simulated clusters with outliers between and around them."""

from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.utils._param_validation import Interval, validate_params

from skim._utils import own_random_state

CENTERS = np.array([[-10.0, -10.0], [0.0, 2.5], [10.0, -10.0]])
REACH = 18.0  # of outliers, in each feature
MIN_DISTANCE = 10.0  # of outliers from every centre


@validate_params(
    {
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "cluster_std": [Interval(Real, 0, None, closed="left")],
        "weights": ["array-like", None],
        "outlier_rate": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_im_clusters(
    n_samples: int = 2000,
    *,
    cluster_std: float = 1.0,
    weights: ArrayLike | None = None,
    outlier_rate: float = 0.05,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
    """Generate clusters and outliers, as in simulations of the IM effect.

    Inliers are Gaussian around (-10, -10), (0, 2.5) and (10, -10). Outliers are uniform
    in [-18, 18]², but at least 10 from every centre. Features are then scaled to
    [0, 1/sqrt(2)], so that no row is longer than 1 [1]_. The paper does not state its
    centres; these are at least 16 apart, as its own.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of rows, including outliers.

    cluster_std : float, default=1.0
        Standard deviation of the clusters.

    weights : array-like of shape (3,), default=None
        Relative sizes of the clusters, equal by default.

    outlier_rate : float, default=0.05
        Fraction of outliers, in [0, 1).

    random_state : int, RandomState instance or None, default=None
        Pass an int for reproducible output across multiple function calls.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
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
    rng = own_random_state(random_state)
    n_outliers = round(outlier_rate * n_samples)
    sizes = _sizes(n_samples - n_outliers, weights)
    inliers = np.repeat(CENTERS, sizes, axis=0)
    inliers += cluster_std * rng.standard_normal(inliers.shape)
    X = np.concatenate([inliers, _outliers(n_outliers, rng)])
    X -= X.min(axis=0)
    X /= np.maximum(X.max(axis=0), np.finfo(float).tiny) * np.sqrt(2)
    clusters = np.repeat([0, 1, 2, -1], [*sizes, n_outliers])
    order = rng.permutation(n_samples)
    clusters = clusters[order]
    return X[order], (clusters == -1).astype(int), clusters


def _sizes(n_inliers, weights):
    weights = np.asarray([1, 1, 1] if weights is None else weights, float)
    if weights.shape != (3,) or not (np.isfinite(weights) & (weights > 0)).all():
        raise ValueError(f"weights must be 3 positive numbers, got {weights.tolist()}.")
    ends = np.round(np.cumsum(weights) / weights.sum() * n_inliers).astype(int)
    return np.diff(ends, prepend=0)


def _outliers(n, rng):
    found = np.empty((0, 2))
    while len(found) < n:
        drawn = rng.uniform(-REACH, REACH, size=(2 * n, 2))
        far = cdist(drawn, CENTERS).min(axis=1) >= MIN_DISTANCE
        found = np.concatenate([found, drawn[far]])
    return found[:n]
