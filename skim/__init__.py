"""Outlier detectors built on the inlier-memorization effect."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skim._detectors._altbi import ALTBIDetector
    from skim._detectors._ema import EMAWarmStart
    from skim._detectors._im_autoencoder import IMAutoencoderDetector
    from skim._detectors._imboost import IMBoostDetector
    from skim._detectors._network import NetworkDetector
    from skim._detectors._odim import ODIMDetector
    from skim.tables._detector import TableDetector

__version__ = "0.1.0"

__all__ = [
    "ALTBIDetector",
    "EMAWarmStart",
    "IMAutoencoderDetector",
    "IMBoostDetector",
    "NetworkDetector",
    "ODIMDetector",
    "TableDetector",
]

_MODULES = {
    "ALTBIDetector": "skim._detectors._altbi",
    "EMAWarmStart": "skim._detectors._ema",
    "IMAutoencoderDetector": "skim._detectors._im_autoencoder",
    "IMBoostDetector": "skim._detectors._imboost",
    "NetworkDetector": "skim._detectors._network",
    "ODIMDetector": "skim._detectors._odim",
    "TableDetector": "skim.tables._detector",
}

_SUBMODULES = (
    "datasets",
    "distributed",
    "embedding",
    "inspection",
    "metrics",
    "model_selection",
    "networks",
    "pyod",
    "report",
    "schedules",
    "tables",
    "theory",
)


def __getattr__(name):
    # scikit-learn takes seconds to import; whoever asks for the version only, or
    # for a submodule, need not wait for it.
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    if name in _SUBMODULES:
        return import_module(f"skim.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*__all__, *_SUBMODULES, "__version__"])
