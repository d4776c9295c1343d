"""Searches over the number of epochs."""

from skim.model_selection._search import EpochSearchCV
from skim.model_selection._splitters import InSampleSplit

__all__ = ["EpochSearchCV", "InSampleSplit"]
