"""Searches over the number of epochs."""

from skim.model_selection._search import EpochSearchCV, InSampleSplit

__all__ = ["EpochSearchCV", "InSampleSplit"]
