"""Choosing how long to train, and splitting data that contains outliers."""

from skim.model_selection._search import EpochSearchCV
from skim.model_selection._splitters import InSampleSplit, OutlierKFold

__all__ = ["EpochSearchCV", "InSampleSplit", "OutlierKFold"]
