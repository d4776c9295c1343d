"""Embedding tables with TabPFN."""

import contextlib
import logging
import os
import warnings
from numbers import Integral
from pathlib import Path
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from skim import _nets as nets
from skim._utils import own_random_state
from skim.embedding._base import PretrainedEmbedder
from skim.embedding._checkpoints import (
    MissingWeightsError,
    from_hub,
    require,
    weights_home,
)

# What TabPFN was made for.
MAX_COLUMNS = 501  # with the target
MAX_CONTEXT = 10_000
# Columns vary if their standard deviation exceeds this fraction of their range.
MIN_VARIATION = 0.01
# Columns with larger values are scaled down: TabPFN works in single precision.
LARGE = 1e15
# No added columns: this halves the time and embeds rows as they are.
AS_GIVEN = {
    "PREPROCESS_TRANSFORMS": [{"name": "none", "categorical_name": "numeric"}],
    "FINGERPRINT_FEATURE": False,
}
# The layers to average, as a fraction of the depth. In earlier ones, cells know little
# of each other; later ones only serve the prediction (`python -m benchmarks tabpfn`).
DEPTHS = 1 / 2, 5 / 6
BLOCK = 32  # rows that the attention processes at once


class TabPFNEmbedder(PretrainedEmbedder):
    """Embed the rows of a table with TabPFN.

    TabPFN is a transformer trained on millions of synthetic tables to predict one
    column from the others. The embedding of a row is its internal representation
    in that network.

    As there are no labels, one of the columns serves as the target: the first one that
    varies and is known in at least half of the rows. A row's own target value is not
    part of its embedding, so anomalies in that column alone cannot be found.

    Needs ``pip install 'skim-od[tabpfn]'``. The weights of TabPFN v2 are downloaded
    once unless they are found (see `model`); nothing else uses the network.

    Read more in the :doc:`user guide </embedding>`.

    Parameters
    ----------
    model : str or path, default="v2"
        "v2" or a checkpoint file of a regressor. "v2" is looked up in
        :func:`weights_home` and in TabPFN's own cache (``TABPFN_MODEL_CACHE_DIR``)
        before it is downloaded.

    max_context : int, default=1000
        Number of rows that TabPFN sees with their target, drawn at random if there
        are more. At most 10,000.

    pooling : {"mean", "target"}, default="mean"
        "mean" averages the cells of a row over layers 6 to 10 of 12, which represents
        the row as a whole. "target" is the cell of the target in the last layer, which
        TabPFN itself returns as the embedding.

    batch_size : int, default=256
        Number of rows that are embedded at a time.

    random_state : int, RandomState instance or None, default=None
        Controls the context and the randomness of TabPFN. Pass an int for
        reproducible results across multiple function calls.

    device : str, default="auto"
        Any device of torch, or "auto" for a GPU if there is one.

    Attributes
    ----------
    target_ : int
        Position of the column that is predicted.

    context_ : ndarray of shape (n_context, n_features)
        The rows that TabPFN sees with their target.

    device_ : str
        The device that was used.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only when `X` has
        feature names that are all strings.

    Notes
    -----
    The time is proportional to rows times columns: about 0.2 ms per cell on one
    processor. Values may be missing; rows without a target value are left out of the
    context. Embedding does not help on every table; the user guide has results.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from skim import ALTBIDetector
    >>> from skim.datasets import load_breast_cancer_outliers
    >>> from skim.embedding import TabPFNEmbedder
    >>> X, y = load_breast_cancer_outliers(return_X_y=True)
    >>> detector = make_pipeline(TabPFNEmbedder(random_state=0), ALTBIDetector())
    >>> detector.fit_predict(X)  # doctest: +SKIP
    array([1, 1, 1, ..., 1, -1, 1])
    """

    _parameter_constraints: dict = {
        **PretrainedEmbedder._parameter_constraints,
        "max_context": [Interval(Integral, 2, MAX_CONTEXT, closed="both")],
        "pooling": [StrOptions({"mean", "target"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        model: str | os.PathLike = "v2",
        max_context: int = 1000,
        pooling: Literal["mean", "target"] = "mean",
        batch_size: int = 256,
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
    ) -> None:
        self.model = model
        self.max_context = max_context
        self.pooling = pooling
        self.batch_size = batch_size
        self.random_state = random_state
        self.device = device

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Choose the target and the context, and load the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to draw the context from.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
        """
        least = {"ensure_min_samples": 2, "ensure_min_features": 2}
        rows = self._check_input(X, reset=True, **least)
        n_columns = rows.shape[1]
        if n_columns > MAX_COLUMNS:
            raise ValueError(
                f"X has {n_columns} columns, but TabPFN takes at most {MAX_COLUMNS}: "
                "reduce them, for example with PCA."
            )
        random_state = own_random_state(self.random_state)
        largest = np.fmax.reduce(np.abs(rows), axis=0, initial=0.0)
        self._scale = np.where(largest > LARGE, largest, 1.0)
        self.target_ = choose_target(rows / self._scale)
        self._seed = int(random_state.randint(2**31 - 1))
        values = rows[:, self.target_]
        self.context_ = rows[draw_context(values, self.max_context, random_state)]
        return self._fit_network(self.context_[:1])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def _check_input(self, X, reset=False, **options):
        options |= {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}
        return validate_data(self, X, reset=reset, **options)

    def _load(self):
        """Return TabPFN, fitted to the context, and the layers to average."""
        import torch

        checkpoint = find_regressor(self.model)
        device = nets.device_or_cpu(self.device_)
        model = require("tabpfn", "tabpfn").TabPFNRegressor(
            model_path=str(checkpoint),
            n_estimators=1,
            device=device,
            fit_mode="fit_with_cache",
            ignore_pretraining_limits=True,
            # On some CPUs, "auto" means bfloat16, which numpy does not support.
            inference_precision=torch.float32 if device == "cpu" else "auto",
            inference_config=AS_GIVEN,
            random_state=self._seed,
        )
        context = self.context_ / self._scale
        try:
            with _quietly():
                model.fit(self._features(self.context_), context[:, self.target_])
            layers = choose_layers(model.models_[0]) if self.pooling == "mean" else []
        except Exception as error:  # torch raises almost anything for other files
            raise ValueError(
                f"Cannot run TabPFN with {str(checkpoint)!r}: {error}"
            ) from error
        return model, layers

    def _features(self, rows):
        return np.delete(rows / self._scale, self.target_, axis=1)

    def _run(self, rows):
        model, layers = self._loaded
        # With whole blocks, a row's embedding does not depend on the rest of its batch.
        padding = np.repeat(rows[-1:], -len(rows) % BLOCK, axis=0)
        padded = np.concatenate([rows, padding])
        means = []  # over the cells of each row but the target's, one per layer

        def keep(layer, inputs, output):
            cells = output[0]  # (1, n, columns and target, d)
            means.append(cells[0, :, :-1].mean(dim=1).float().cpu().numpy())

        with contextlib.ExitStack() as stack:
            stack.enter_context(_quietly())
            for layer in layers:
                stack.enter_context(layer.register_forward_hook(keep))
            last = model.get_embeddings(self._features(padded))
        embedding = np.mean(means, axis=0) if means else np.asarray(last)
        return embedding.reshape(len(padded), -1)[: len(rows)]


def choose_target(X):
    """Return the position of the column to predict."""
    low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    known = np.isfinite(X)
    n_known = np.maximum(known.sum(axis=0), 1)
    unit = (X - low) / np.where(high > low, high - low, 1.0)
    mean = np.nansum(unit, axis=0) / n_known
    std = np.sqrt(np.nansum((unit - mean) ** 2, axis=0) / n_known)
    varies = std > MIN_VARIATION
    for good in (varies & (known.mean(axis=0) >= 0.5), varies, high > low):
        if good.any():
            return int(good.argmax())
    raise ValueError("Every column of X is constant, so there is nothing to predict.")


def draw_context(values, max_context, random_state):
    """Draw at most `max_context` rows with a known target value, in order.

    If these are all alike, a row with another value replaces one of them.
    """
    drawn = random_state.permutation(np.flatnonzero(np.isfinite(values)))
    context, rest = drawn[:max_context], drawn[max_context:]
    others = rest[values[rest] != values[context[0]]]
    if (values[context] == values[context[0]]).all() and len(others):
        context[-1] = others[0]
    return np.sort(context)


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
