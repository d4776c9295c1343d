"""TabPFN itself: finding a checkpoint, and a model that knows context rows."""

import contextlib
import logging
import threading
import warnings
from pathlib import Path

import numpy as np

from skim.embedding._base import Together
from skim.embedding._weights import (
    MissingWeightsError,
    may_download,
    require,
    weights_home,
)

VERSIONS = ("v2", "v2.5", "v2.6", "v3", "v3.5", "v3.5-fast")
# The weights of version 2, which anybody may have.
REPOSITORIES = {
    "regression": "Prior-Labs/TabPFN-v2-reg",
    "classification": "Prior-Labs/TabPFN-v2-clf",
}
# What the pretrained networks were made for.
MAX_FEATURES = 500
MAX_CLASSES = 10
# No columns are added: half of the time, and the rows as they are.
AS_GIVEN = {
    "PREPROCESS_TRANSFORMS": [{"name": "none", "categorical_name": "numeric"}],
    "FINGERPRINT_FEATURE": False,
}
# Where in the network rows are read off, from and to: before, the cells know little of
# each other; at the end, they only serve the prediction of the target.
DEPTHS = 1 / 2, 5 / 6
# Rows that the attention takes at a time.
BLOCK = 32
WHICH = {"regression": "regressor", "classification": "classifier"}


class ContextModel:
    """TabPFN that has seen context rows and embeds others.

    Parameters
    ----------
    checkpoint : Path
    task : {"regression", "classification"}
    features : ndarray of shape (m, p)
        The context rows without their target.
    target : ndarray of shape (m,)
    n_estimators : int
    preprocessing : {"none", "default"}
    pooling : {"mean", "target"}
    layers : sequence of int or None
    device : str
    seed : int
    """

    def __init__(
        self,
        checkpoint,
        task,
        features,
        target,
        *,
        n_estimators,
        preprocessing,
        pooling,
        layers,
        device,
        seed,
    ):
        import torch

        tabpfn = require("tabpfn", "tabpfn")
        cls = getattr(tabpfn, f"TabPFN{WHICH[task].capitalize()}")
        self.n_estimators = n_estimators
        self._model = cls(
            model_path=str(checkpoint),
            n_estimators=n_estimators,
            device=device,
            fit_mode="fit_with_cache",
            ignore_pretraining_limits=True,
            # On a CPU, "auto" may mean bfloat16, which numpy does not have.
            inference_precision=torch.float32 if device == "cpu" else "auto",
            inference_config=AS_GIVEN if preprocessing == "none" else None,
            random_state=seed,
        )
        with _quietly():
            self._model.fit(features, target)
        self._blocks = []
        if pooling == "mean":
            self._blocks = _choose_blocks(self._model.models_[0], layers)

    def embed(self, features):
        """Return the embeddings of rows, of shape (n_estimators, n, d)."""
        n_rows = len(features)
        # Whole blocks, so that the arithmetic of a row is the same in any company.
        n_more = -n_rows % BLOCK
        features = np.concatenate([features, np.repeat(features[-1:], n_more, axis=0)])
        with _quietly(), _means_over_cells(self._blocks) as means:
            last = self._model.get_embeddings(features)
        embedding = np.asarray(np.mean(means, axis=0) if self._blocks else last)
        return embedding.reshape(self.n_estimators, n_rows + n_more, -1)[:, :n_rows]


def _choose_blocks(network, layers):
    """Return layers by their numbers from 1, or those that are taken by default."""
    blocks = getattr(network, "blocks", None)
    if blocks is None:
        raise ValueError(
            "this network does not carry a cell for every column through its layers, "
            "as v2, v2.5 and v2.6 do; use pooling='target'."
        )
    n_layers = len(blocks)
    if layers is None:
        first, last = (max(1, round(depth * n_layers)) for depth in DEPTHS)
        layers = range(first, last + 1)
    if max(layers) > n_layers:
        raise ValueError(
            f"layers={list(layers)!r}, and the network has {n_layers} layers."
        )
    return [blocks[layer - 1] for layer in layers]


@contextlib.contextmanager
def _means_over_cells(blocks):
    """Give what layers put out, as means over each row's cells.

    A list for each layer, with an array of shape (n, d) for each pass. The target's
    cell is not among those averaged.
    """
    here = threading.get_ident()
    means: list[list] = [[] for _ in blocks]

    def keep(place, output):
        if threading.get_ident() == here:  # others may use the network meanwhile
            cells = output[0]  # (1, n, columns and target, d)
            means[place].append(cells[0, :, :-1].mean(dim=1).float().cpu().numpy())

    handles = [
        block.register_forward_hook(lambda *call, place=place: keep(place, call[2]))
        for place, block in enumerate(blocks)
    ]
    try:
        yield means
    finally:
        for handle in handles:
            handle.remove()


def find_checkpoint(model_path, task):
    """Return the file of a version or a path, downloaded if it has to be.

    Parameters
    ----------
    model_path : str or path
        One of `VERSIONS`, or a file.
    task : {"regression", "classification"}
    """
    if str(model_path) not in VERSIONS:
        path = Path(model_path).expanduser()
        if not path.is_file():
            raise MissingWeightsError(
                f"There is no checkpoint {str(model_path)!r}. model_path is a file, or "
                f"a version: one of {', '.join(VERSIONS)}."
            )
        return path
    loading = require("tabpfn.model_loading", "tabpfn")
    which = WHICH[task]
    paths, *_ = loading.resolve_model_path(None, which, model_path)
    usual = paths[0]
    home = weights_home()
    here = [home / usual.name, usual]
    if model_path == "v2":
        here += sorted(home.glob(f"tabpfn-v2-{which}*.ckpt"))
    for path in here:
        if path.is_file():
            return path
    if model_path == "v2":
        path = _from_hub(REPOSITORIES[task], usual.name)
        if path is not None:
            return path
    raise MissingWeightsError(
        f"The weights of TabPFN {model_path} ({which}) are not here and cannot be "
        f"downloaded. Get {usual.name} on another machine (from the Hugging Face hub) "
        "and pass its path as model_path, or put it into the folder "
        f"$SKIM_WEIGHTS_HOME ({home})."
        + " A regressor may be here: task='regression'."
        * (task != "regression")
    )


def _from_hub(repository, name):
    """Return a file of the Hugging Face hub, cached or downloaded, else None."""
    hub = require("huggingface_hub", "tabpfn")
    with contextlib.suppress(OSError, ValueError):
        return Path(hub.hf_hub_download(repository, name, local_files_only=True))
    if may_download(hub, repository):
        with contextlib.suppress(Exception):  # what to do is said where this is used
            return Path(hub.hf_hub_download(repository, name))
    return None


def tasks_of(checkpoint):
    """Return what a checkpoint can do: regression, classification, or both."""
    load = require("tabpfn.checkpoint", "tabpfn").Checkpoint
    try:
        content = load(checkpoint).load()
        config, names = content["config"], content["state_dict"].keys()
    except Exception as error:  # whatever torch says of a file that is none
        raise ValueError(
            f"{str(checkpoint)!r} is not a checkpoint of TabPFN that can be loaded "
            "safely (tensors and plain values only)."
        ) from error
    tasks = set()
    if any(
        name.endswith(("criterion.borders", "regression_borders")) for name in names
    ):
        tasks.add("regression")
    if config.get("max_num_classes", 0) > 0:
        tasks.add("classification")
    return tasks


@contextlib.contextmanager
def _quietly():
    """Keep tabpfn's remarks to itself; errors still come through."""
    import torch

    # What tabpfn keeps for later callers must not be tied to inference.
    with _silence, torch.inference_mode(False), torch.no_grad():
        yield


@contextlib.contextmanager
def _no_remarks():
    logger = logging.getLogger("tabpfn")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


_silence = Together(_no_remarks)
