"""Tiny checkpoints, made with transformers' own classes."""

import pickle
import random

import numpy as np
import pytest
from sklearn.utils import estimator_checks

WORDS = ["paid", "in", "full", "by", "card", "the", "cat", "sat", "on", "mat"]

# scikit-learn skips these for estimators of images or texts, but they need no data.
CHECKS = [
    estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
    estimator_checks.check_estimator_repr,
    estimator_checks.check_get_params_invariance,
    estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_param_validation,
    estimator_checks.check_parameters_default_constructible,
    estimator_checks.check_set_params,
    estimator_checks.check_valid_tag_types,
]


def global_state():
    """All global state that embedders must leave as it was."""
    import torch

    return (
        pickle.dumps(np.random.get_state()),  # noqa: NPY002
        torch.get_rng_state().tolist(),
        random.getstate(),
        torch.get_num_threads(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
    )


def save_quietly(folder, *parts):
    import transformers

    log = transformers.utils.logging
    log.disable_progress_bar()
    for part in parts:
        part.save_pretrained(folder)
    log.enable_progress_bar()
    return str(folder)


def vit_config(**settings):
    import transformers

    return transformers.ViTConfig(
        **{
            "hidden_size": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 32,
            "image_size": 16,
            "patch_size": 8,
        }
        | settings
    )


@pytest.fixture(scope="session")
def vit_processor():
    transformers = pytest.importorskip("transformers")
    side = {"height": 16, "width": 16}
    return transformers.ViTImageProcessorPil(size=side)


@pytest.fixture(scope="session")
def vit_folder(tmp_path_factory, vit_processor):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = transformers.ViTModel(vit_config(), add_pooling_layer=False)
    folder = tmp_path_factory.mktemp("vit")
    return save_quietly(folder, network, vit_processor)


@pytest.fixture(scope="session")
def vit_images():
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (7, 20, 24, 3), dtype=np.uint8)


@pytest.fixture(scope="session")
def text_folder(tmp_path_factory):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
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
def text_texts():
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, size=n)) for n in (3, 9, 1, 5, 12, 2, 7)]
