"""The network of TabPFN, conditioned on context rows."""

import contextlib
import logging
import threading
import warnings

import numpy as np
import torch

from skim.embedding._quiet import SharedContext
from skim.embedding._tabpfn_weights import WHICH
from skim.embedding._weights import require

# No added columns: this halves the time and embeds rows as they are.
AS_GIVEN = {
    "PREPROCESS_TRANSFORMS": [{"name": "none", "categorical_name": "numeric"}],
    "FINGERPRINT_FEATURE": False,
}
# The default layers, as a fraction of the depth. In earlier layers, the cells know
# little of each other; in later ones, they only serve the prediction of the target.
DEPTHS = 1 / 2, 5 / 6
# The attention processes rows in blocks of this size.
BLOCK = 32


class ContextModel:
    """TabPFN conditioned on context rows, which embeds other rows.

    The context consists of `features`, of shape (m, p), and `target`, of shape (m,).
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
        tabpfn = require("tabpfn", "tabpfn")
        cls = getattr(tabpfn, f"TabPFN{WHICH[task].capitalize()}")
        self.n_estimators = n_estimators
        self._model = cls(
            model_path=str(checkpoint),
            n_estimators=n_estimators,
            device=device,
            fit_mode="fit_with_cache",
            ignore_pretraining_limits=True,
            # On some CPUs, "auto" means bfloat16, which numpy does not support.
            inference_precision=torch.float32 if device == "cpu" else "auto",
            inference_config=AS_GIVEN if preprocessing == "none" else None,
            random_state=seed,
        )
        with _quietly():
            self._model.fit(features, target)
        network = self._model.models_[0]
        self._blocks = _choose_blocks(network, layers) if pooling == "mean" else []

    def embed(self, features):
        """Return the embeddings of rows, of shape (n_estimators, n, d)."""
        n_rows = len(features)
        # With whole blocks, a row's embedding does not depend on the rest of its batch.
        n_more = -n_rows % BLOCK
        features = np.concatenate([features, np.repeat(features[-1:], n_more, axis=0)])
        with _quietly(), _means_over_cells(self._blocks) as means:
            last = self._model.get_embeddings(features)
        embedding = np.asarray(np.mean(means, axis=0) if self._blocks else last)
        return embedding.reshape(self.n_estimators, n_rows + n_more, -1)[:, :n_rows]


def _choose_blocks(network, layers):
    """Return the layers with the given numbers, counted from 1, or the default ones."""
    blocks = getattr(network, "blocks", None)
    if blocks is None:
        raise ValueError(
            "unlike v2, v2.5 and v2.6, this network has no cell per column in its "
            "layers; use pooling='target'."
        )
    n_layers = len(blocks)
    if layers is None:
        first, last = (max(1, round(depth * n_layers)) for depth in DEPTHS)
        layers = range(first, last + 1)
    if max(layers) > n_layers:
        raise ValueError(
            f"layers={list(layers)!r}, but the network has {n_layers} layers."
        )
    return [blocks[layer - 1] for layer in layers]


@contextlib.contextmanager
def _means_over_cells(blocks):
    """Record the output of layers, averaged over each row's cells but the target's.

    Yields one list per layer, with one array of shape (n, d) per forward pass.
    """
    here = threading.get_ident()
    means: list[list] = [[] for _ in blocks]

    def keep(place, output):
        if threading.get_ident() == here:  # others may share the network
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


@contextlib.contextmanager
def _quietly():
    """Silence tabpfn's log and warnings; errors still come through."""
    # Tensors that tabpfn caches must be usable outside of inference mode.
    with _silence, torch.inference_mode(False), torch.no_grad():
        yield


@contextlib.contextmanager
def _no_warnings():
    logger = logging.getLogger("tabpfn")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


_silence = SharedContext(_no_warnings)
