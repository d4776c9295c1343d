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
    X: ArrayLike, clusters: ArrayLike, outliers: ArrayLike | None = None
) -> ClusterGeometry:
    """Measure the geometry of data with known clusters and outliers.

    The theorem assumes rows of length at most 1. Scale the data as the network will
    see it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data.

    clusters : array-like of shape (n_samples,)
        Cluster label of each row. The centre of a cluster is the mean of its inliers.
        Outliers of no such cluster, such as those labelled -1, are assigned to the
        nearest centre.

    outliers : array-like of shape (n_samples,), default=None
        Which rows are outliers, as booleans, as 1 among 0 or as -1 among +1. By
        default, there are none.

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
    rows = check_floats(X)
    given = column_or_1d(clusters)
    check_consistent_length(rows, given)
    is_outlier = np.asarray(np.zeros(len(rows), bool) if outliers is None else outliers)
    if is_outlier.dtype != bool or is_outlier.shape != (len(rows),):
        is_outlier = outlier_mask(outliers, len(rows), "outliers")
    labels = np.unique(given[~is_outlier])
    if len(labels) == 0 or NO_CLUSTER in labels:
        raise ValueError("Every inlier needs a cluster; -1 is a label of outliers.")
    own = np.equal.outer(given, labels)
    centers = np.stack([rows[mine & ~is_outlier].mean(axis=0) for mine in own.T])
    nearest = cdist(rows, centers).argmin(axis=1)
    places = np.where(own.any(axis=1), own.argmax(axis=1), nearest)
    distances = np.linalg.norm(rows - centers[places], axis=1)
    sizes = np.bincount(places)
    n_outliers = np.bincount(places[is_outlier], minlength=len(labels))
    return ClusterGeometry(
        centers=centers,
        clusters=places,
        is_outlier=is_outlier,
        distances=distances,
        sizes=sizes,
        rho=n_outliers / sizes,
        delta=float(pdist(centers).min(initial=np.inf)),
        eps_c=float(distances[~is_outlier].max(initial=0.0)),
        eps_o=float(distances[is_outlier].max(initial=0.0)),
    )


def check_floats(X: ArrayLike) -> NDArray[np.float64]:
    """Return a valid 2-D array in double precision."""
    return check_array(X, dtype=np.float64)
