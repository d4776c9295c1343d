"""The report on a benchmark's results: tables, pictures and an HTML page."""

from benchmarks.report._compare import compare_with_published
from benchmarks.report._page import report, write_report
from benchmarks.report._summary import Summary

__all__ = ["Summary", "compare_with_published", "report", "write_report"]
