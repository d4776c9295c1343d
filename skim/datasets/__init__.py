"""Data sets with known outliers, and published results on them."""

from skim.datasets._adbench import fetch_adbench, list_adbench
from skim.datasets._clusters import make_im_clusters
from skim.datasets._embedded import (
    load_breast_cancer_outliers,
    load_digits_outliers,
    load_wine_outliers,
)
from skim.datasets._published import load_published_scores

__all__ = [
    "fetch_adbench",
    "list_adbench",
    "load_breast_cancer_outliers",
    "load_digits_outliers",
    "load_published_scores",
    "load_wine_outliers",
    "make_im_clusters",
]
