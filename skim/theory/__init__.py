"""Cluster geometry and the theorem on the inlier-memorization effect."""

from skim.theory._estimate import GeometryEstimate, estimate_geometry
from skim.theory._geometry import ClusterGeometry, cluster_geometry
from skim.theory._theorem import TheoremQuantities, theorem_quantities

__all__ = [
    "ClusterGeometry",
    "GeometryEstimate",
    "TheoremQuantities",
    "cluster_geometry",
    "estimate_geometry",
    "theorem_quantities",
]
