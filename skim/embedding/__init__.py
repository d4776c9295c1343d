"""Transformers that turn data into a compact representation before detection."""

from skim.embedding._contrastive import ContrastiveEmbedder
from skim.embedding._tabpfn import TabPFNEmbedder
from skim.embedding._text import TextEmbedder
from skim.embedding._vit import ViTEmbedder
from skim.embedding._weights import MissingWeightsError, weights_home

__all__ = [
    "ContrastiveEmbedder",
    "MissingWeightsError",
    "TabPFNEmbedder",
    "TextEmbedder",
    "ViTEmbedder",
    "weights_home",
]
