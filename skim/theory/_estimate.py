"""The geometry of data without labels, and how sure it is."""

import warnings
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_distances_argmin_min
from sklearn.utils import check_array, check_scalar

from skim._training._mixture import split_point
from skim._utils import own_random_state
from skim.theory._geometry import ClusterGeometry, cluster_geometry

QUANTITIES = ("delta", "eps_c", "eps_o", "persistence", "strength", "n_min", "n_max")
GOOD_STRENGTH = 0.8
N_TRIMS = 5


@dataclass(frozen=True)
class GeometryEstimate:
    """A geometry that was found by clustering.

    Attributes
    ----------
    geometry : ClusterGeometry
        The best guess.
    prediction_strength : ndarray of shape (max_clusters,)
        For 1, 2, ... clusters: how well clusters found in one half of the data
        predict which rows of the other half belong together, from 0 to 1. NaN
        where it was not needed.
    stability : float
        Mean adjusted Rand index between the clusters and those found again in
        subsamples: 1 where always the same clusters are found, 0 where they are as
        good as random. NaN where there is one cluster, and so nothing to compare.
    intervals : dict of str to tuple of two floats
        For each quantity, the range of the middle nine tenths over the subsamples.
    """

    geometry: ClusterGeometry
    prediction_strength: np.ndarray
    stability: float
    intervals: dict

    @property
    def is_sure(self):
        """Whether there are clusters, and the same are found again, by and large."""
        return bool(self.stability >= GOOD_STRENGTH)


def estimate_geometry(
    X,
    *,
    n_clusters="auto",
    max_clusters=8,
    n_resamples=20,
    max_samples=5000,
    random_state=None,
):
    """Estimate clusters, outliers and their geometry from unlabelled data.

    Rows are grouped by k-means. Rows whose distance to their centre lies beyond
    :func:`skim.metrics.split_point` count as outliers and are left out when the
    centres are found again, a few times. The number of clusters is the largest
    whose prediction strength is at least 0.8 [1]_.

    This is a guess. Real tables need not have clusters, and in high dimensions
    distances say little: look at `stability` and at `intervals` before you believe
    it. The largest variation within a cluster, in particular, is decided by where
    outliers are taken to begin.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data, scaled as the network will see it.

    n_clusters : int or "auto", default="auto"
        Number of clusters, if it is known.

    max_clusters : int, default=8
        Largest number that "auto" tries.

    n_resamples : int, default=20
        Number of subsamples of half the rows that tell how sure the estimate is.

    max_samples : int, default=5000
        Clusters are found in at most that many rows, drawn at random. All rows are
        then assigned.

    random_state : int, RandomState instance or None, default=None
        Controls the subsamples and the starts of k-means.

    Returns
    -------
    estimate : GeometryEstimate

    References
    ----------
    .. [1] R. Tibshirani and G. Walther, "Cluster Validation by Prediction
           Strength", Journal of Computational and Graphical Statistics, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from skim.theory import estimate_geometry
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(scale=0.05, size=(200, 2))
    >>> X[::2] += 1
    >>> estimate = estimate_geometry(X, random_state=0)
    >>> len(estimate.geometry.centers), estimate.is_sure
    (2, True)
    """
    X = check_array(X, dtype=np.float64, ensure_min_samples=4)
    if np.abs(X).max() > 1e100:
        raise ValueError("Distances are too large for a float; scale the data first.")
    check_scalar(max_clusters, "max_clusters", Integral, min_val=1)
    check_scalar(n_resamples, "n_resamples", Integral, min_val=1)
    check_scalar(max_samples, "max_samples", Integral, min_val=4)
    if n_clusters != "auto":
        most = min(len(X), max_samples) // 2  # so that a subsample has as many rows
        check_scalar(n_clusters, "n_clusters", Integral, min_val=1, max_val=most)
    rng = own_random_state(random_state)
    sample = X if len(X) <= max_samples else X[_draw(rng, len(X), max_samples)]
    strength = np.full(max_clusters, np.nan)
    if n_clusters == "auto":
        strength = prediction_strength(sample, max_clusters, rng)
        n_clusters = int(np.flatnonzero(strength >= GOOD_STRENGTH)[-1]) + 1
    centers, reach = _trimmed_kmeans(sample, n_clusters, rng)
    geometry = _geometry_of(X, centers, reach)
    scores, values = [], []
    for _ in range(n_resamples):
        rows = _draw(rng, len(sample), len(sample) // 2)
        again, its_reach = _trimmed_kmeans(sample[rows], n_clusters, rng)
        values.append(_geometry_of(X, again, its_reach))
        inliers = ~geometry.is_outlier
        scores.append(
            adjusted_rand_score(
                geometry.clusters[inliers], values[-1].clusters[inliers]
            )
        )
    return GeometryEstimate(
        geometry=geometry,
        prediction_strength=strength,
        stability=float(np.mean(scores)) if len(geometry.centers) > 1 else np.nan,
        intervals={name: _interval(values, name) for name in QUANTITIES},
    )


def prediction_strength(X, max_clusters, rng, n_splits=5):
    """Tell how well the clusters of one half of the rows predict the other's.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    max_clusters : int
    rng : RandomState
    n_splits : int, default=5

    Returns
    -------
    strength : ndarray of shape (max_clusters,)
        One value for 1, 2, ... clusters; 1 for one cluster.
    """
    strengths = np.zeros((n_splits, max_clusters))
    strengths[:, 0] = 1.0
    for split in range(n_splits):
        order = rng.permutation(len(X))
        halves = X[order[: len(X) // 2]], X[order[len(X) // 2 :]]
        for k in range(2, min(max_clusters, len(X) // 2) + 1):
            found = [_kmeans(half, k, rng) for half in halves]
            strengths[split, k - 1] = _strength(halves[1], *found)
    return strengths.mean(axis=0)


def _strength(X, other, own):
    """Least share, over the own clusters, of pairs that are together in `other`."""
    predicted = pairwise_distances_argmin_min(X, other)[0]
    labels = pairwise_distances_argmin_min(X, own)[0]
    shares = []
    for k in range(len(own)):
        counts = np.bincount(predicted[labels == k])
        n = counts.sum()
        if n > 1:
            shares.append((counts * (counts - 1)).sum() / (n * (n - 1)))
        else:
            shares.append(0.0)  # a row by itself is no cluster
    return min(shares)


def _kmeans(X, n_clusters, rng, init="k-means++"):
    n_init = 4 if isinstance(init, str) else 1
    seed = rng.randint(2**31 - 1)
    model = KMeans(n_clusters, init=init, n_init=n_init, random_state=seed)
    with warnings.catch_warnings():
        # Fewer distinct rows than clusters: the strength will tell.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X).cluster_centers_


def _trimmed_kmeans(X, n_clusters, rng):
    """Return the centres, and the distance from which on rows are outliers."""
    centers = _kmeans(X, n_clusters, rng)
    reach = np.inf
    for _ in range(N_TRIMS):
        distances = pairwise_distances_argmin_min(X, centers)[1]
        previous, reach = reach, split_point(distances)
        inliers = X[distances < reach]
        if reach == previous or len(inliers) < n_clusters:
            break
        centers = _kmeans(inliers, n_clusters, rng, init=centers)
    return centers, reach


def _geometry_of(X, centers, reach):
    clusters, distances = pairwise_distances_argmin_min(X, centers)
    is_outlier = distances >= reach
    # A cluster that has lost all its rows is none.
    present = np.unique(clusters[~is_outlier])
    if len(present) < len(centers):
        return _geometry_of(X, centers[present], reach)
    return cluster_geometry(X, clusters, is_outlier, centers=centers)


def _interval(geometries, name):
    values = [getattr(geometry, name) for geometry in geometries]
    low, high = np.quantile(values, [0.05, 0.95], method="nearest")
    return float(low), float(high)


def _draw(rng, n, size):
    return np.sort(rng.permutation(n)[:size])
