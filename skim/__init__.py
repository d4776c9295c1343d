"""Outlier detectors built on the inlier-memorization effect."""

from skim._altbi import ALTBIDetector
from skim._ema import EMAWarmStart

from skim._odim import ODIMDetector

__all__ = ["ALTBIDetector", "EMAWarmStart", "ODIMDetector"]
