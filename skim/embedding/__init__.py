"""Transformers that put data into a compact representation before detection."""

from importlib import import_module
from typing import TYPE_CHECKING

from skim.embedding._weights import MissingWeightsError, weights_home

if TYPE_CHECKING:
    from skim.embedding._contrastive import ContrastiveEmbedder
    from skim.embedding._tabpfn import TabPFNEmbedder
    from skim.embedding._text import TextEmbedder
    from skim.embedding._vit import ViTEmbedder

__all__ = [
    "ContrastiveEmbedder",
    "MissingWeightsError",
    "TabPFNEmbedder",
    "TextEmbedder",
    "ViTEmbedder",
    "weights_home",
]

_MODULES = {
    "ContrastiveEmbedder": "skim.embedding._contrastive",
    "TabPFNEmbedder": "skim.embedding._tabpfn",
    "TextEmbedder": "skim.embedding._text",
    "ViTEmbedder": "skim.embedding._vit",
}


def __getattr__(name):
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
