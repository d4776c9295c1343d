"""HTML reports on fitted detectors and their data."""

from skim.report._page import write_report

__all__ = ["write_report"]
