"""How clusters and outliers lie to each other."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist, pdist
from sklearn.utils import check_array, column_or_1d

from skim._utils import outlier_mask

NO_CLUSTER = -1  # scikit-learn's label of rows that belong nowhere


@dataclass(frozen=True)
class ClusterGeometry:
    r"""What the theorem needs to know about the data.

    Every row is :math:`x_i = \mu_{g(i)} + \xi_i + o_i`: the centre of its cluster,
    a variation within the cluster and, in outliers only, a perturbation. In an
    outlier the last two cannot be told apart; all of it counts as :math:`o_i`.

    Attributes
    ----------
    centers : ndarray of shape (K, p)
        The centres :math:`\mu_k`.
    clusters : ndarray of int of shape (n,)
        The cluster :math:`g(i)` of each row, outliers included.
    is_outlier : ndarray of bool of shape (n,)
    distances : ndarray of shape (n,)
        Of each row to its centre: :math:`\|\xi_i\|` or :math:`\|o_i\|`.
    sizes : ndarray of int of shape (K,)
        Rows of each cluster, :math:`n_k`, outliers included.
    rho : ndarray of shape (K,)
        Share of outliers in each cluster; the theorem's :math:`\rho` is the largest.
    delta : float
        Smallest distance :math:`\delta` between two centres; infinite if there is
        only one.
    eps_c : float
        Largest variation within a cluster, :math:`\varepsilon_c`.
    eps_o : float
        Largest perturbation of an outlier, :math:`\varepsilon_o`; 0 if there is none.
    """

    centers: np.ndarray
    clusters: np.ndarray
    is_outlier: np.ndarray
    distances: np.ndarray
    sizes: np.ndarray
    rho: np.ndarray
    delta: float
    eps_c: float
    eps_o: float

    @property
    def n_min(self):
        """Size of the smallest cluster."""
        return int(self.sizes.min())

    @property
    def n_max(self):
        """Size of the largest cluster."""
        return int(self.sizes.max())

    @property
    def persistence(self):
        r"""Indicator :math:`\delta - 4 \varepsilon_c`: large for a lasting effect."""
        return self.delta - 4 * self.eps_c

    @property
    def strength(self):
        r"""Indicator :math:`\delta + 2 \varepsilon_c`: small for a strong effect."""
        return self.delta + 2 * self.eps_c

    @property
    def well_separated(self):
        r"""Which rows are outliers with :math:`\|o_i\| > \delta + 2 \varepsilon_c`."""
        return self.is_outlier & (self.distances > self.strength)


def cluster_geometry(X, clusters, outliers=None, *, centers=None):
    """Measure the geometry of data whose clusters and outliers are known.

    The theorem is about rows of length at most 1. Scale the data as the network
    will see it before you measure.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)

    clusters : array-like of shape (n_samples,)
        The label of each row's cluster. Outliers may be labelled -1; they are put
        to the nearest centre.

    outliers : array-like of shape (n_samples,), default=None
        Which rows are outliers: booleans, 0 and 1 for outliers, or +1 and -1 for
        outliers. By default there are none. Labels of one class only could mean
        either; give booleans then.

    centers : array-like of shape (n_clusters, n_features), default=None
        The centres in the order of the sorted labels. By default the means of the
        clusters' inliers.

    Returns
    -------
    geometry : ClusterGeometry

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
    X = check_array(X, dtype=np.float64)
    is_outlier = _mask(outliers, len(X))
    labels, places = _places(clusters, is_outlier)
    if centers is None:
        centers = np.stack(
            [
                _mean(X[(places == k) & ~is_outlier], labels[k])
                for k in range(len(labels))
            ]
        )
    centers = check_array(centers, dtype=np.float64)
    if centers.shape != (len(labels), X.shape[1]):
        raise ValueError(
            f"centers has shape {centers.shape}; {len(labels)} clusters of "
            f"{X.shape[1]} features need {(len(labels), X.shape[1])}."
        )
    homeless = places == NO_CLUSTER
    if homeless.any():
        places[homeless] = cdist(X[homeless], centers).argmin(axis=1)
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


def _mask(outliers, n_samples):
    if outliers is None:
        return np.zeros(n_samples, dtype=bool)
    outliers = np.asarray(outliers)
    if outliers.dtype == bool and outliers.shape == (n_samples,):
        return outliers
    return outlier_mask(outliers, n_samples, "outliers")


def _places(clusters, is_outlier):
    """Return the clusters' labels, and the place of each row's one among them."""
    clusters = column_or_1d(clusters)
    if len(clusters) != len(is_outlier):
        raise ValueError(
            f"clusters has {len(clusters)} labels, but there are {len(is_outlier)} "
            "rows."
        )
    homeless = clusters == NO_CLUSTER
    if (homeless & ~is_outlier).any():
        raise ValueError("Only outliers may be without a cluster, that is labelled -1.")
    if homeless.all():
        raise ValueError("There are no clusters: all rows are labelled -1.")
    labels, places = np.unique(clusters[~homeless], return_inverse=True)
    all_places = np.full(len(clusters), NO_CLUSTER)
    all_places[~homeless] = places
    return labels, all_places


def _mean(inliers, label):
    if len(inliers) == 0:
        raise ValueError(f"Cluster {label} has no inliers, so no centre.")
    return inliers.mean(axis=0)
