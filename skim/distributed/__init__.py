"""Detectors for data that does not fit into memory, on the local cores or a cluster."""

from skim.distributed._detector import DaskDetector

__all__ = ["DaskDetector"]
