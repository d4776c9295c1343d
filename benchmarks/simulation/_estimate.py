"""The clusters and outliers of a table whose clusters are not known."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.metrics.cluster import contingency_matrix

from skim.metrics import split_point
from skim.theory import cluster_geometry

GOOD_STRENGTH = 0.8
MAX_CLUSTERS = 8
N_TRIMS = 5


def estimate_geometry(X, seed):
    """Estimate the geometry of unlabelled data.

    Rows are clustered by k-means; those far from their centre are outliers, and left
    out when the centres are computed again. The number of clusters is the largest with
    a prediction strength of at least 0.8 (Tibshirani and Walther, 2005).
    """
    rng = np.random.RandomState(seed)
    strength = _prediction_strength(X, rng)
    n_clusters = int(np.flatnonzero(strength >= GOOD_STRENGTH)[-1]) + 1
    centers, reach = _trimmed_kmeans(X, n_clusters, rng)
    clusters, distances = pairwise_distances_argmin_min(X, centers)
    return cluster_geometry(X, clusters, distances >= reach)


def _prediction_strength(X, rng, n_splits=5):
    """Return how well 1, 2, ... clusters of one half of the rows predict the other."""
    strengths = np.zeros((n_splits, MAX_CLUSTERS))
    strengths[:, 0] = 1.0
    for split in range(n_splits):
        order = rng.permutation(len(X))
        halves = X[order[: len(X) // 2]], X[order[len(X) // 2 :]]
        for k in range(2, MAX_CLUSTERS + 1):
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
