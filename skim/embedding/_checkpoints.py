"""Checkpoints of transformers: where they are found and how they are loaded."""

import contextlib
import copy
import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from skim.embedding._quiet import random_states_restored
from skim.embedding._weights import (
    MissingWeightsError,
    may_download,
    require,
    weights_home,
)

# The small files of a checkpoint.
TEXTS = ("*.json", "*.txt", "*.model", "*.jinja")


class Loaded(NamedTuple):
    """A network on its device, with the preprocessing of its input."""

    network: Any
    prepare: Any
    texts: dict

    def weights(self):
        """Return the weights as numpy arrays, by name."""
        state = self.network.state_dict()
        return {name: np.array(_as_numpy(tensor)) for name, tensor in state.items()}

    def fingerprint(self):
        """Return a hash of the weights and of the small files of the checkpoint."""
        content = hashlib.sha256(json.dumps(self.texts, sort_keys=True).encode())
        for name, tensor in self.network.state_dict().items():
            array = np.ascontiguousarray(_as_numpy(tensor))
            content.update(f"{name}{tensor.dtype}{array.shape}".encode())
            content.update(array.reshape(-1).view(np.uint8).data)
        return content.hexdigest()


def _as_numpy(tensor):
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def place(network, device, dtype):
    """Move a network to a device, for inference only."""
    if dtype == "auto":
        dtype = "float16" if device.startswith("cuda") else "float32"
    network = network.to(device=device, dtype=getattr(torch, dtype))
    return network.eval().requires_grad_(False)


def own_network(model, device, dtype):
    """Return a copy of a torch module for inference; other callables as they are."""
    if isinstance(model, torch.nn.Module):
        return place(copy.deepcopy(model), device, dtype)
    return model


# Finding --------------------------------------------------------------------------


def find_checkpoint(name, extra):
    """Return the folder of a checkpoint, which is downloaded if necessary.

    The places to look are the folder `name`, the folders of that name and of its
    last part in :func:`weights_home`, the local cache of the Hugging Face hub, and
    the hub itself, in this order.
    """
    name = str(name)
    given = Path(name).expanduser()
    home = weights_home()
    for folder in (given, home / name, home / Path(name).name):
        if (folder / "config.json").is_file():
            return folder
    if given.is_dir():
        raise MissingWeightsError(
            f"The folder {name!r} is not a checkpoint: it contains no config.json."
        )
    hub = require("huggingface_hub", extra)
    with contextlib.suppress(OSError, ValueError):
        folder = Path(hub.snapshot_download(name, local_files_only=True))
        if list(folder.glob("*.safetensors")):
            return folder
    if may_download(hub, name):
        with contextlib.suppress(Exception):  # the advice below covers every failure
            wanted = ["*.safetensors", *TEXTS]
            return Path(hub.snapshot_download(name, allow_patterns=wanted))
    raise MissingWeightsError(
        f"The weights of {name!r} were not found and cannot be downloaded: run `hf "
        f"download {name} --local-dir DIR` on a machine with internet access, then "
        f"pass model=DIR or copy the folder to $SKIM_WEIGHTS_HOME ({home})."
    )


# Loading --------------------------------------------------------------------------


@contextlib.contextmanager
def quiet_transformers(extra):
    """Yield transformers with its output silenced and random states restored."""
    transformers = require("transformers", extra)
    log = transformers.utils.logging
    with random_states_restored:
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
    _check_safetensors(folder)
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
            f"The weights in {folder} do not match its config.json: {len(missing)} are "
            f"missing, such as {missing[0]!r}; download the checkpoint again."
        )
    return network


def rebuild_network(transformers, folder, weights, part_of):
    """Return a network with given weights, from the small files in a folder.

    `part_of` returns the part of a whole network that the weights belong to.
    """
    config = transformers.AutoConfig.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False
    )
    network = transformers.AutoModel.from_config(config, trust_remote_code=False)
    network = part_of(network)
    network.load_state_dict(
        {name: torch.from_numpy(array) for name, array in weights.items()}
    )
    return network


def _check_safetensors(folder):
    if list(folder.glob("*.safetensors")):
        return
    pickles = sorted(path.name for path in folder.glob("pytorch_model*.bin"))
    if not pickles:
        raise MissingWeightsError(f"There are no weights (*.safetensors) in {folder}.")
    raise MissingWeightsError(
        f"The weights in {folder} are a pickle ({pickles[0]}), which can run code when "
        "loaded; if you trust it, convert it once with transformers.AutoModel."
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
def folder_of(texts):
    """Yield a temporary folder with these files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            (Path(folder) / Path(name).name).write_text(text, encoding="utf-8")
        yield Path(folder)
