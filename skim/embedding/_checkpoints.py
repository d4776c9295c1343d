"""Checkpoints of transformers: where they are found and how they are loaded."""

import contextlib
import hashlib
import json
import os
import tempfile
import threading
from pathlib import Path

import numpy as np

from skim.embedding._base import untouched_random_states
from skim.embedding._weights import MissingWeightsError, require, weights_home

# What a checkpoint has beside its weights.
TEXTS = ("*.json", "*.txt", "*.model", "*.jinja")

_PATIENCE = 5  # seconds to wait for a server that does not answer
_loading = threading.RLock()


# Finding --------------------------------------------------------------------------


def find_checkpoint(name, extra):
    """Return the folder of a checkpoint, downloaded only if it is nowhere here.

    Looked at are, in this order, the folder `name`, the folders of that name and of
    its last part in :func:`weights_home`, the cache of the Hugging Face hub, and the
    hub itself.
    """
    name = str(name)
    given = Path(name).expanduser()
    home = weights_home()
    for folder in (given, home / name, home / Path(name).name):
        if (folder / "config.json").is_file():
            return folder
    if given.is_dir():
        raise MissingWeightsError(
            f"The folder {name!r} holds no checkpoint: there is no config.json in it."
        )
    hub = require("huggingface_hub", extra)
    with contextlib.suppress(OSError, ValueError):
        folder = Path(hub.snapshot_download(name, local_files_only=True))
        if list(folder.glob("*.safetensors")):
            return folder
    return _download(hub, name)


def _download(hub, name):
    try:
        if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
            raise ConnectionError("HF_HUB_OFFLINE forbids to download")
        hub.HfApi().model_info(name, timeout=_PATIENCE)
        wanted = ["*.safetensors", *TEXTS]
        return Path(hub.snapshot_download(name, allow_patterns=wanted))
    except Exception as error:
        raise MissingWeightsError(
            f"The weights of {name!r} are not here and cannot be downloaded. On a "
            f"machine with internet, run `hf download {name} --local-dir DIR`; then "
            "pass model=DIR, or put the folder into $SKIM_WEIGHTS_HOME "
            f"({weights_home()})."
        ) from error


# Loading --------------------------------------------------------------------------


@contextlib.contextmanager
def quiet_loading(extra):
    """Load one checkpoint at a time, without a word, and leave no trace."""
    transformers = require("transformers", extra)
    log = transformers.utils.logging
    with _loading, untouched_random_states():
        verbosity, bars = log.get_verbosity(), log.is_progress_bar_enabled()
        log.set_verbosity(log.CRITICAL)
        log.disable_progress_bar()
        try:
            yield transformers
        finally:
            log.set_verbosity(verbosity)
            if bars:
                log.enable_progress_bar()


def load_network(transformers, folder):
    """Return the network of a checkpoint, in single precision."""
    import torch

    _refuse_pickles(folder)
    try:
        network, report = transformers.AutoModel.from_pretrained(
            folder,
            dtype=torch.float32,
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise ValueError(f"Cannot load the checkpoint in {folder}: {error}") from error
    missing = sorted(name for name in report["missing_keys"] if "pooler." not in name)
    if missing:
        raise ValueError(
            f"The weights in {folder} are not those of its config.json: {len(missing)} "
            f"are missing, such as {missing[0]!r}. Get the folder anew."
        )
    return network


def _refuse_pickles(folder):
    pickles = sorted(path.name for path in folder.glob("pytorch_model*.bin"))
    if list(folder.glob("*.safetensors")):
        return
    if not pickles:
        raise MissingWeightsError(f"There are no weights (*.safetensors) in {folder}.")
    raise MissingWeightsError(
        f"The weights in {folder} are a pickle ({pickles[0]}), which could run code "
        "when it is loaded. If you trust it, convert it once: transformers.AutoModel."
        f"from_pretrained({str(folder)!r}).save_pretrained({str(folder)!r})."
    )


def read_texts(folder):
    """Return the small files of a checkpoint, by name."""
    paths = [path for pattern in TEXTS for path in folder.glob(pattern)]
    return {
        path.name: path.read_text(encoding="utf-8")
        for path in sorted(paths)
        if not path.name.endswith(".safetensors.index.json")
    }


@contextlib.contextmanager
def written_texts(texts):
    """Yield a folder, for a while, with these files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            (Path(folder) / Path(name).name).write_text(text, encoding="utf-8")
        yield Path(folder)


def rebuild_network(transformers, folder):
    """Return a network of a checkpoint's architecture with any weights."""
    config = transformers.AutoConfig.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False
    )
    return transformers.AutoModel.from_config(config, trust_remote_code=False)


def setting_of(texts, file, name):
    """Return a setting of one of a checkpoint's files, or None."""
    return json.loads(texts[file]).get(name) if file in texts else None


# Weights as arrays ----------------------------------------------------------------


def weights_of(network):
    """Return the weights of a network as numpy arrays, by name."""
    weights = network.state_dict()
    return {name: np.array(_as_numpy(weights[name])) for name in weights}


def put_weights(network, weights):
    """Give a network the weights that `weights_of` returned."""
    import torch

    tensors = {name: torch.from_numpy(array) for name, array in weights.items()}
    network.load_state_dict(tensors)
    return network


def fingerprint(network, texts):
    """Return a hash of a network's weights and of a checkpoint's small files."""
    content = hashlib.sha256(json.dumps(texts, sort_keys=True).encode())
    for name, tensor in network.state_dict().items():
        array = np.ascontiguousarray(_as_numpy(tensor))
        content.update(f"{name}{tensor.dtype}{array.shape}".encode())
        content.update(array.reshape(-1).view(np.uint8).data)
    return content.hexdigest()


def _as_numpy(tensor):
    import torch

    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
