"""Searches over the number of epochs."""

from skim.model_selection._search import EpochSearchCV

__all__ = ["EpochSearchCV"]
