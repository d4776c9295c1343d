"""Outlier detectors built on the inlier-memorization effect."""

from skim._altbi import ALTBIDetector
from skim._autoencoder import IMAutoencoderDetector
from skim._ema import EMAWarmStart
from skim._odim import ODIMDetector

__version__ = "0.1.0"

__all__ = ["ALTBIDetector", "EMAWarmStart", "IMAutoencoderDetector", "ODIMDetector"]
