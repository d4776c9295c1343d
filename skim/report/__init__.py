"""A page of HTML about a fitted detector and its data."""

from skim.report._page import write_report

__all__ = ["write_report"]
