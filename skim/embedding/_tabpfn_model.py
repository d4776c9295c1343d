"""TabPFN conditioned on context rows, and where its weights are found."""

import contextlib
import logging
import warnings
from pathlib import Path

import numpy as np

from skim.embedding._checkpoints import (
    MissingWeightsError,
    from_hub,
    require,
    weights_home,
)

# No added columns: this halves the time and embeds rows as they are.
AS_GIVEN = {
    "PREPROCESS_TRANSFORMS": [{"name": "none", "categorical_name": "numeric"}],
    "FINGERPRINT_FEATURE": False,
}
# The layers to average, as a fraction of the depth. In earlier ones, cells know little
# of each other; later ones only serve the prediction (`python -m benchmarks tabpfn`).
DEPTHS = 1 / 2, 5 / 6
BLOCK = 32  # rows that the attention processes at once


def find_regressor(model):
    """Return the checkpoint file of "v2" or of a path, downloading v2 if necessary."""
    if str(model) != "v2":
        path = Path(model).expanduser()
        if not path.is_file():
            raise MissingWeightsError(
                f"There is no checkpoint {str(model)!r}: model must be a file or 'v2'."
            )
        return path
    loading = require("tabpfn.model_loading", "tabpfn")
    (usual, *_), *_ = loading.resolve_model_path(None, "regressor", "v2")
    home = weights_home()
    for path in (home / usual.name, usual, *home.glob("tabpfn-v2-regressor*.ckpt")):
        if path.is_file():
            return path
    folder = from_hub("Prior-Labs/TabPFN-v2-reg", [usual.name], "tabpfn")
    if folder is not None:
        return folder / usual.name
    raise MissingWeightsError(
        "The weights of TabPFN v2 were not found and cannot be downloaded: get "
        f"{usual.name} from Prior-Labs/TabPFN-v2-reg on the Hugging Face hub, then "
        f"pass its path as model or copy it to $SKIM_WEIGHTS_HOME ({home})."
    )


class ContextModel:
    """TabPFN conditioned on context rows, which embeds other rows.

    The context consists of `features`, of shape (m, p), and `target`, of shape (m,).
    """

    def __init__(self, checkpoint, features, target, *, pooling, device, seed):
        import torch

        tabpfn = require("tabpfn", "tabpfn")
        self._model = tabpfn.TabPFNRegressor(
            model_path=str(checkpoint),
            n_estimators=1,
            device=device,
            fit_mode="fit_with_cache",
            ignore_pretraining_limits=True,
            # On some CPUs, "auto" means bfloat16, which numpy does not support.
            inference_precision=torch.float32 if device == "cpu" else "auto",
            inference_config=AS_GIVEN,
            random_state=seed,
        )
        try:
            with _quietly():
                self._model.fit(features, target)
            network = self._model.models_[0]
            self._layers = choose_layers(network) if pooling == "mean" else []
        except Exception as error:  # torch raises almost anything for other files
            raise ValueError(
                f"Cannot run TabPFN with {str(checkpoint)!r}: {error}"
            ) from error

    def embed(self, features):
        """Return the embeddings of rows, of shape (n, d)."""
        n_rows = len(features)
        # With whole blocks, a row's embedding does not depend on the rest of its batch.
        padding = np.repeat(features[-1:], -n_rows % BLOCK, axis=0)
        means = []  # over the cells of each row but the target's, one per layer

        def keep(layer, inputs, output):
            cells = output[0]  # (1, n, columns and target, d)
            means.append(cells[0, :, :-1].mean(dim=1).float().cpu().numpy())

        with contextlib.ExitStack() as stack:
            stack.enter_context(_quietly())
            for layer in self._layers:
                stack.enter_context(layer.register_forward_hook(keep))
            last = self._model.get_embeddings(np.concatenate([features, padding]))
        embedding = np.mean(means, axis=0) if means else np.asarray(last)
        return embedding.reshape(n_rows + len(padding), -1)[:n_rows]


def choose_layers(network):
    """Return the layers to average."""
    layers = getattr(network, "blocks", None)
    if layers is None:
        raise ValueError(
            "unlike v2, v2.5 and v2.6, this network has no cell per column in its "
            "layers; use pooling='target'."
        )
    first, last = (max(1, round(depth * len(layers))) for depth in DEPTHS)
    return list(layers)[first - 1 : last]


@contextlib.contextmanager
def _quietly():
    """Silence tabpfn's log and warnings; errors still come through."""
    logger = logging.getLogger("tabpfn")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logger.setLevel(level)
