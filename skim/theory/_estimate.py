"""Cluster geometry of unlabelled data, and how reliable it is."""

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_distances_argmin_min
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import check_array, check_scalar

from skim._training._mixture import split_point
from skim._utils import own_random_state
from skim.theory._geometry import ClusterGeometry, cluster_geometry

QUANTITIES = ("delta", "eps_c", "eps_o", "persistence", "strength", "n_min", "n_max")
GOOD_STRENGTH = 0.8
N_TRIMS = 5


@dataclass(frozen=True)
class GeometryEstimate:
    """Cluster geometry estimated by clustering.

    Attributes
    ----------
    geometry : ClusterGeometry
        The estimate.
    prediction_strength : ndarray of shape (max_clusters,)
        For 1, 2, ... clusters, how well clusters found in one half of the data
        predict which rows of the other half belong together, from 0 to 1. NaN if
        the number of clusters was given.
    stability : float
        Mean adjusted Rand index between the clusters and those found in subsamples:
        1 if they always agree, 0 if they agree by chance. NaN for a single cluster.
    intervals : dict of str to tuple of two floats
        For each quantity, the 5 % and 95 % quantiles over the subsamples.
    """

    geometry: ClusterGeometry
    prediction_strength: NDArray[np.float64]
    stability: float
    intervals: dict[str, tuple[float, float]]

    @property
    def is_sure(self) -> bool:
        """Whether there are several clusters and subsamples mostly agree on them."""
        return bool(self.stability >= GOOD_STRENGTH)


def estimate_geometry(
    X: ArrayLike,
    *,
    n_clusters: int | Literal["auto"] = "auto",
    max_clusters: int = 8,
    n_resamples: int = 20,
    max_samples: int = 5000,
    random_state: int | np.random.RandomState | None = None,
) -> GeometryEstimate:
    """Estimate clusters, outliers and their geometry from unlabelled data.

    Rows are clustered by k-means. Rows whose distance to their centre lies above the
    bulk of a mixture of two Gaussians are considered outliers and left out when the
    centres are recomputed, several times. The number of clusters is the largest
    with a prediction strength of at least 0.8 [1]_.

    The estimate is not always reliable: real tables may have no clusters, and
    distances mean little in high dimensions. Check `stability` and `intervals`. The
    largest variation within a cluster, in particular, depends on the boundary
    between inliers and outliers.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data, scaled as the network will see it.

    n_clusters : int or "auto", default="auto"
        Number of clusters, if known.

    max_clusters : int, default=8
        Largest number of clusters that "auto" tries.

    n_resamples : int, default=20
        Number of subsamples of half the rows, used to assess reliability.

    max_samples : int, default=5000
        Maximum number of rows to cluster, drawn at random. All rows are then
        assigned to a cluster.

    random_state : int, RandomState instance or None, default=None
        Controls the subsamples and the initialisation of k-means. Pass an int for
        reproducible results across multiple function calls.

    Returns
    -------
    estimate : GeometryEstimate
        The geometry, with measures of its reliability.

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
    rows: NDArray[np.float64] = check_array(X, dtype=np.float64, ensure_min_samples=4)
    if np.abs(rows).max() > 1e100:
        raise ValueError("The distances of X overflow: scale the data first.")
    check_scalar(max_clusters, "max_clusters", Integral, min_val=1)
    check_scalar(n_resamples, "n_resamples", Integral, min_val=1)
    check_scalar(max_samples, "max_samples", Integral, min_val=4)
    rng = own_random_state(random_state)
    sample = rows
    if len(rows) > max_samples:
        sample = rows[_draw(rng, len(rows), max_samples)]
    strength = np.full(max_clusters, np.nan)
    if n_clusters == "auto":
        strength = _prediction_strength(sample, max_clusters, rng)
        n_clusters = int(np.flatnonzero(strength >= GOOD_STRENGTH)[-1]) + 1
    else:
        most = len(sample) // 2  # the size of a subsample
        check_scalar(n_clusters, "n_clusters", Integral, min_val=1, max_val=most)
    geometry = _geometry_of(rows, *_trimmed_kmeans(sample, n_clusters, rng))
    inliers = ~geometry.is_outlier
    scores, values = [], []
    for _ in range(n_resamples):
        half = sample[_draw(rng, len(sample), len(sample) // 2)]
        again = _geometry_of(rows, *_trimmed_kmeans(half, n_clusters, rng))
        values.append([getattr(again, name) for name in QUANTITIES])
        scores.append(
            adjusted_rand_score(geometry.clusters[inliers], again.clusters[inliers])
        )
    ends = np.quantile(values, [0.05, 0.95], axis=0, method="nearest").T.tolist()
    return GeometryEstimate(
        geometry=geometry,
        prediction_strength=strength,
        stability=float(np.mean(scores)) if len(geometry.centers) > 1 else np.nan,
        intervals=dict(zip(QUANTITIES, map(tuple, ends), strict=True)),
    )


def _prediction_strength(X, max_clusters, rng, n_splits=5):
    """Return how well 1, 2, ... clusters of one half of the rows predict the other."""
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
    """Return the smallest share, over clusters, of pairs that `other` also joins."""
    predicted = pairwise_distances_argmin_min(X, other)[0]
    labels = pairwise_distances_argmin_min(X, own)[0]
    table = contingency_matrix(labels, predicted)
    sizes = table.sum(axis=1)
    if len(table) < len(own) or sizes.min() < 2:
        return 0.0  # a single row is not a cluster
    joined = (table * (table - 1)).sum(axis=1)
    return (joined / (sizes * (sizes - 1))).min()


def _kmeans(X, n_clusters, rng, init="k-means++"):
    n_init = 4 if isinstance(init, str) else 1
    seed = rng.randint(2**31 - 1)
    model = KMeans(n_clusters, init=init, n_init=n_init, random_state=seed)
    with warnings.catch_warnings():
        # With fewer distinct rows than clusters, the prediction strength is low.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X).cluster_centers_


def _trimmed_kmeans(X, n_clusters, rng):
    """Return the centres, and the distance from which rows are outliers."""
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
    present = np.unique(clusters[~is_outlier])
    if len(present) < len(centers):  # drop clusters without inliers
        return _geometry_of(X, centers[present], reach)
    return cluster_geometry(X, clusters, is_outlier, centers=centers)


def _draw(rng, n, size):
    return np.sort(rng.permutation(n)[:size])
