"""Transformers that turn data into a compact representation before detection."""

from skim.embedding._checkpoints import MissingWeightsError, weights_home
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
