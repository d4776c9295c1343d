"""Data sets with known outliers."""

from skim.datasets._embedded import (
    load_breast_cancer_outliers,
    load_digits_outliers,
    load_wine_outliers,
)

__all__ = [
    "load_breast_cancer_outliers",
    "load_digits_outliers",
    "load_wine_outliers",
]
