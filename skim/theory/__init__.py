"""Cluster geometry and the theorem on the inlier-memorization effect."""

from skim.theory._geometry import ClusterGeometry, cluster_geometry
from skim.theory._theorem import TheoremQuantities, theorem_quantities

__all__ = [
    "ClusterGeometry",
    "TheoremQuantities",
    "cluster_geometry",
    "theorem_quantities",
]
