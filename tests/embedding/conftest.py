"""Tiny checkpoints, made with the classes of transformers."""

import logging
import pickle
import random
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers

from skim.embedding import TabPFNEmbedder, TextEmbedder, ViTEmbedder
from tests.embedding.tabpfn_checkpoints import save_tiny_checkpoint

WORDS = ["paid", "in", "full", "by", "card", "the", "cat", "sat", "on", "mat"]


def global_state():
    """All global state that embedders must leave as it was."""
    return (
        pickle.dumps(np.random.get_state()),  # noqa: NPY002
        torch.get_rng_state().tolist(),
        random.getstate(),
        torch.get_num_threads(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        list(warnings.filters),
        logging.getLogger("tabpfn").level,
    )


def save_quietly(folder, *parts):
    log = transformers.utils.logging
    log.disable_progress_bar()
    for part in parts:
        part.save_pretrained(folder)
    log.enable_progress_bar()
    return str(folder)


def vit_config(**settings):
    small = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    small |= {"intermediate_size": 32, "image_size": 16, "patch_size": 8}
    return transformers.ViTConfig(**small | settings)


@pytest.fixture(scope="session")
def vit_processor():
    return transformers.ViTImageProcessorPil(size={"height": 16, "width": 16})


@pytest.fixture(scope="session")
def vit_folder(tmp_path_factory, vit_processor):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = transformers.ViTModel(vit_config(), add_pooling_layer=False)
    return save_quietly(tmp_path_factory.mktemp("vit"), network, vit_processor)


@pytest.fixture(scope="session")
def images():
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (7, 20, 24, 3), dtype=np.uint8)


@pytest.fixture(scope="session")
def text_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"))
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=24,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = transformers.BertModel(config, add_pooling_layer=False)
    return save_quietly(folder, network, tokenizer)


@pytest.fixture(scope="session")
def texts():
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, size=n)) for n in (3, 9, 1, 5, 12, 2, 7)]


@pytest.fixture(scope="session")
def regressor(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tabpfn")
    return str(save_tiny_checkpoint(folder / "tabpfn-v2-regressor-tiny.ckpt"))


@pytest.fixture(scope="session")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(70, 3)) @ rng.normal(size=(3, 5))


@pytest.fixture(scope="session")
def arguments(regressor, text_folder, vit_folder):
    """Arguments that make each embedder quick and deterministic."""
    return {
        TabPFNEmbedder: {"model": regressor, "max_context": 50, "random_state": 0},
        TextEmbedder: {"model": text_folder},
        ViTEmbedder: {"model": vit_folder},
    }


@pytest.fixture(
    scope="session",
    params=[TabPFNEmbedder, TextEmbedder, ViTEmbedder],
    ids=lambda cls: cls.__name__,
)
def case(request):
    """An embedder, its input and its output."""
    cls = request.param
    inputs = {TextEmbedder: "texts", ViTEmbedder: "images"}
    X = request.getfixturevalue(inputs.get(cls, "rows"))
    own = request.getfixturevalue("arguments")[cls]

    def make(**params):
        return cls(**own | params)

    fitted = make().fit(X)
    return SimpleNamespace(
        cls=cls, X=X, make=make, fitted=fitted, expected=fitted.transform(X)
    )
