"""Distances between clusters and outliers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist, pdist
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from skim._utils import outlier_mask

NO_CLUSTER = -1  # as in scikit-learn's clustering


@dataclass(frozen=True)
class ClusterGeometry:
    r"""Geometry of clusters and outliers, as used in the theorem.

    Every row is :math:`x_i = \mu_{g(i)} + \xi_i + o_i`: the centre of its cluster,
    a variation within the cluster and, for outliers, a perturbation. For outliers,
    the last two cannot be distinguished, and their sum counts as :math:`o_i`.

    Attributes
    ----------
    centers : ndarray of shape (K, p)
        The centres :math:`\mu_k`.
    clusters : ndarray of int of shape (n,)
        The cluster :math:`g(i)` of each row, outliers included.
    is_outlier : ndarray of bool of shape (n,)
        Whether each row is an outlier.
    distances : ndarray of shape (n,)
        Distance of each row to its centre: :math:`\|\xi_i\|` or :math:`\|o_i\|`.
    sizes : ndarray of int of shape (K,)
        Number of rows of each cluster, :math:`n_k`, outliers included.
    rho : ndarray of shape (K,)
        Fraction of outliers in each cluster; :math:`\rho` in the theorem is the
        largest.
    delta : float
        Smallest distance :math:`\delta` between two centres; infinite if there is
        only one.
    eps_c : float
        Largest variation within a cluster, :math:`\varepsilon_c`.
    eps_o : float
        Largest perturbation of an outlier, :math:`\varepsilon_o`; 0 if there is none.
    """

    centers: NDArray[np.float64]
    clusters: NDArray[np.intp]
    is_outlier: NDArray[np.bool_]
    distances: NDArray[np.float64]
    sizes: NDArray[np.intp]
    rho: NDArray[np.float64]
    delta: float
    eps_c: float
    eps_o: float

    @property
    def n_min(self) -> int:
        """Size of the smallest cluster."""
        return int(self.sizes.min())

    @property
    def n_max(self) -> int:
        """Size of the largest cluster."""
        return int(self.sizes.max())

    @property
    def persistence(self) -> float:
        r"""Indicator :math:`\delta - 4 \varepsilon_c`, large if the effect lasts."""
        return self.delta - 4 * self.eps_c

    @property
    def strength(self) -> float:
        r"""Indicator :math:`\delta + 2 \varepsilon_c`, small for a strong effect."""
        return self.delta + 2 * self.eps_c

    @property
    def well_separated(self) -> NDArray[np.bool_]:
        r"""Mask of the outliers with :math:`\|o_i\| > \delta + 2 \varepsilon_c`."""
        return self.is_outlier & (self.distances > self.strength)


def cluster_geometry(
    X: ArrayLike,
    clusters: ArrayLike,
    outliers: ArrayLike | None = None,
    *,
    centers: ArrayLike | None = None,
) -> ClusterGeometry:
    """Measure the geometry of data with known clusters and outliers.

    The theorem assumes rows of length at most 1. Scale the data as the network will
    see it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data.

    clusters : array-like of shape (n_samples,)
        Cluster label of each row. Outliers labelled -1 are assigned to the nearest
        centre.

    outliers : array-like of shape (n_samples,), default=None
        Which rows are outliers, as booleans, as 1 among 0 or as -1 among +1. By
        default, there are none. If all labels are equal, they must be booleans.

    centers : array-like of shape (n_clusters, n_features), default=None
        Centres in the order of the sorted labels. By default, the means of the
        inliers of each cluster.

    Returns
    -------
    geometry : ClusterGeometry
        The measured quantities.

    Examples
    --------
    >>> from skim.theory import cluster_geometry
    >>> X = [[0.0, 0.0], [0.1, 0.0], [1.0, 0.0], [1.1, 0.0], [0.0, 3.0]]
    >>> geometry = cluster_geometry(X, [0, 0, 1, 1, -1], [0, 0, 0, 0, 1])
    >>> geometry.delta
    1.0
    >>> geometry.well_separated
    array([False, False, False, False,  True])
    """
    X = check_floats(X)
    is_outlier = _mask(outliers, len(X))
    labels, places = _places(clusters, is_outlier)
    if centers is None:
        own = [(places == k) & ~is_outlier for k in range(len(labels))]
        for label, rows in zip(labels, own, strict=True):
            if not rows.any():
                raise ValueError(
                    f"Cluster {label} has no inliers: pass its centre in centers."
                )
        centers = np.stack([X[rows].mean(axis=0) for rows in own])
    centers = check_floats(centers)
    if centers.shape != (len(labels), X.shape[1]):
        raise ValueError(
            f"centers has shape {centers.shape}, but {len(labels)} clusters of "
            f"{X.shape[1]} features need {(len(labels), X.shape[1])}."
        )
    unassigned = places == NO_CLUSTER
    if unassigned.any():
        places[unassigned] = cdist(X[unassigned], centers).argmin(axis=1)
    distances = np.linalg.norm(X - centers[places], axis=1)
    sizes = np.bincount(places, minlength=len(labels))
    n_outliers = np.bincount(places[is_outlier], minlength=len(labels))
    return ClusterGeometry(
        centers=centers,
        clusters=places,
        is_outlier=is_outlier,
        distances=distances,
        sizes=sizes,
        rho=n_outliers / np.maximum(sizes, 1),
        delta=float(pdist(centers).min(initial=np.inf)),
        eps_c=float(distances[~is_outlier].max(initial=0.0)),
        eps_o=float(distances[is_outlier].max(initial=0.0)),
    )


def check_floats(X: ArrayLike) -> NDArray[np.float64]:
    """Return a valid 2-D array in double precision."""
    return check_array(X, dtype=np.float64)


def _mask(outliers, n_samples):
    if outliers is None:
        return np.zeros(n_samples, dtype=bool)
    outliers = np.asarray(outliers)
    if outliers.dtype == bool and outliers.shape == (n_samples,):
        return outliers
    return outlier_mask(outliers, n_samples, "outliers")


def _places(clusters, is_outlier):
    """Return the labels of the clusters, and the index of each row's label."""
    clusters = column_or_1d(clusters)
    check_consistent_length(clusters, is_outlier)
    unassigned = clusters == NO_CLUSTER
    if (unassigned & ~is_outlier).any():
        raise ValueError(
            "Only outliers may have the label -1; assign a cluster to all others."
        )
    if unassigned.all():
        raise ValueError("There are no clusters: all rows have the label -1.")
    labels, places = np.unique(clusters[~unassigned], return_inverse=True)
    all_places = np.full(len(clusters), NO_CLUSTER)
    all_places[~unassigned] = places
    return labels, all_places
