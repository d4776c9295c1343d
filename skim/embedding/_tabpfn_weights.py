"""Checkpoints of TabPFN: where they are found and what they can predict."""

import contextlib
import tempfile
from pathlib import Path

import numpy as np

from skim.embedding._weights import (
    MissingWeightsError,
    may_download,
    require,
    weights_home,
)

VERSIONS = ("v2", "v2.5", "v2.6", "v3", "v3.5", "v3.5-fast")
# The weights of version 2, which need no licence agreement.
REPOSITORIES = {
    "regression": "Prior-Labs/TabPFN-v2-reg",
    "classification": "Prior-Labs/TabPFN-v2-clf",
}
WHICH = {"regression": "regressor", "classification": "classifier"}


def find_checkpoint(model_path, task):
    """Return the checkpoint file of a version or path, downloading it if necessary."""
    if not is_version(model_path):
        path = Path(model_path).expanduser()
        if not path.is_file():
            raise MissingWeightsError(
                f"There is no checkpoint {str(model_path)!r}: model_path must be a "
                f"file or one of {', '.join(VERSIONS)}."
            )
        return path
    loading = require("tabpfn.model_loading", "tabpfn")
    which = WHICH[task]
    (usual, *_), *_ = loading.resolve_model_path(None, which, model_path)
    home = weights_home()
    candidates = [home / usual.name, usual]
    if model_path == "v2":
        candidates += sorted(home.glob(f"tabpfn-v2-{which}*.ckpt"))
    for path in candidates:
        if path.is_file():
            return path
    if model_path == "v2":
        path = _from_hub(REPOSITORIES[task], usual.name)
        if path is not None:
            return path
    advice = "; or use task='regression'" if task == "classification" else ""
    raise MissingWeightsError(
        f"The weights of TabPFN {model_path} ({which}) were not found and cannot be "
        f"downloaded: get {usual.name} from the Hugging Face hub on another machine, "
        "then pass its path as model_path or copy it to $SKIM_WEIGHTS_HOME "
        f"({home}){advice}."
    )


def is_version(model_path):
    """Tell whether `model_path` is the name of a version and not a file."""
    return str(model_path) in VERSIONS


def _from_hub(repository, name):
    """Return a file of the Hugging Face hub, cached or downloaded, else None."""
    hub = require("huggingface_hub", "tabpfn")
    with contextlib.suppress(OSError, ValueError):
        return Path(hub.hf_hub_download(repository, name, local_files_only=True))
    if may_download(hub, repository):
        with contextlib.suppress(Exception):  # the caller gives advice
            return Path(hub.hf_hub_download(repository, name))
    return None


def supported_tasks(model_path):
    """Return the set of tasks that a version or a checkpoint file can do."""
    if is_version(model_path):
        return set(WHICH)
    path = find_checkpoint(model_path, "regression")
    load = require("tabpfn.checkpoint", "tabpfn").Checkpoint
    try:
        content = load(path).load()
        config, names = content["config"], content["state_dict"].keys()
    except Exception as error:  # torch raises almost anything for other files
        raise ValueError(
            f"{str(path)!r} is not a checkpoint of TabPFN that can be loaded safely "
            "(tensors and plain values only)."
        ) from error
    tasks = set()
    borders = ("criterion.borders", "regression_borders")
    if any(name.endswith(borders) for name in names):
        tasks.add("regression")
    if config.get("max_num_classes", 0) > 0:
        tasks.add("classification")
    return tasks


def read_weights(files):
    """Return the bytes of checkpoint files as arrays, by file name."""
    return {
        name: np.frombuffer(Path(name).read_bytes(), dtype=np.uint8)
        for name in set(files)
    }


@contextlib.contextmanager
def written_weights(name, weights):
    """Yield a temporary file with the weights that `read_weights` returned."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(name).name
        path.write_bytes(weights[name].tobytes())
        yield path
