"""Embedding tables with TabPFN."""

import os
from numbers import Integral
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from skim import _nets as nets
from skim._utils import own_random_state
from skim.embedding._base import PretrainedEmbedder, with_shared_docs
from skim.embedding._tabpfn_model import ContextModel, find_regressor

# What TabPFN was made for.
MAX_COLUMNS = 501  # with the target
MAX_CONTEXT = 10_000
# Columns vary if their standard deviation exceeds this fraction of their range.
MIN_VARIATION = 0.01
# Columns with larger values are scaled down: TabPFN works in single precision.
LARGE = 1e15


@with_shared_docs
class TabPFNEmbedder(PretrainedEmbedder):
    """Embed the rows of a table with TabPFN.

    TabPFN is a transformer trained on millions of synthetic tables to predict one
    column from the others. The embedding of a row is its internal representation
    in that network.

    As there are no labels, one of the columns serves as the target: the first, or
    the next one that varies if the first hardly does. A row's own target value is
    not part of its embedding, so anomalies in that column alone cannot be found.

    Needs ``pip install 'skim-od[tabpfn]'``. The weights of TabPFN v2 are downloaded
    once unless they are found (see `model`); nothing else uses the network.

    Read more in the :doc:`user guide </embedding>`.

    Parameters
    ----------
    target : "auto", int or str, default="auto"
        The column to predict: its position, or its name if X is a data frame. "auto"
        is the first column that varies and is known in at least half of the rows.

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

    <parameters>

    Attributes
    ----------
    target_ : int
        Position of the column that is predicted.

    context_ : ndarray of shape (n_context, n_features)
        The rows that TabPFN sees with their target.

    <attributes>

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only when `X` has
        feature names that are all strings.

    Notes
    -----
    The time is proportional to rows times columns: about 0.2 ms per cell on one
    processor. Values may be missing; rows without a target value are left out of the
    context.

    Embedding does not help on every table; the user guide has results.

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
        "target": [Integral, str],
        "max_context": [Interval(Integral, 2, MAX_CONTEXT, closed="both")],
        "pooling": [StrOptions({"mean", "target"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        target: str | int = "auto",
        model: str | os.PathLike = "v2",
        max_context: int = 1000,
        pooling: Literal["mean", "target"] = "mean",
        batch_size: int = 256,
        keep_weights: bool = False,
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.target = target
        self.model = model
        self.max_context = max_context
        self.pooling = pooling
        self.batch_size = batch_size
        self.keep_weights = keep_weights
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose

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
        names = list(getattr(self, "feature_names_in_", []))
        self.target_ = choose_target(self.target, rows / self._scale, names)
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

    def _find(self):
        return find_regressor(self.model)

    def _load(self):
        context = self.context_ / self._scale
        with self._checkpoint() as file:
            return ContextModel(
                file,
                np.delete(context, self.target_, axis=1),
                context[:, self.target_],
                pooling=self.pooling,
                device=nets.device_or_cpu(self.device_),
                seed=self._seed,
            )

    def _run(self, X):
        return self._loaded.embed(np.delete(X / self._scale, self.target_, axis=1))


def choose_target(target, X, names):
    """Return the position of the column to predict."""
    low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    if target == "auto":
        known = np.isfinite(X)
        n_known = np.maximum(known.sum(axis=0), 1)
        unit = (X - low) / np.where(high > low, high - low, 1.0)
        mean = np.nansum(unit, axis=0) / n_known
        std = np.sqrt(np.nansum((unit - mean) ** 2, axis=0) / n_known)
        varies = std > MIN_VARIATION
        for good in (varies & (known.mean(axis=0) >= 0.5), varies, high > low):
            if good.any():
                return int(good.argmax())
        raise ValueError(
            "Every column of X is constant, so there is nothing to predict."
        )
    if isinstance(target, str):
        if target not in names:
            columns = f"columns {', '.join(names[:10])}" if names else "no names"
            raise ValueError(
                f"target={target!r} is not a column of X, which has {columns}."
            )
        position = names.index(target)
    elif -len(low) <= target < len(low):
        position = int(target) % len(low)
    else:
        raise ValueError(f"target={target} is out of range: X has {len(low)} columns.")
    if not high[position] > low[position]:
        raise ValueError(
            f"The target {target!r} is constant in X: choose another column, or 'auto'."
        )
    return position


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
