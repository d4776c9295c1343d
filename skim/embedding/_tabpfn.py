"""Embedding tables with TabPFN."""

import os
from collections.abc import Sequence
from numbers import Integral
from typing import Literal, Self

import numpy as np
from joblib import Memory
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.model_selection import KFold
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    validate_data,
)

from skim import _nets as nets
from skim._utils import own_random_state
from skim.embedding import _tabpfn_targets as targeting
from skim.embedding import _tabpfn_weights as weights
from skim.embedding._base import Embedder
from skim.embedding._tabpfn_recipe import Recipe, check_layers

# The paper embeds tables with rows between these and fewer columns than that.
MIN_ROWS, MAX_ROWS, MAX_COLUMNS = 4_000, 50_000, 50


class TabPFNEmbedder(Embedder):
    """Embed the rows of a table with TabPFN.

    TabPFN is a transformer trained on millions of synthetic tables to predict one
    column from the others. The embedding of a row is its internal representation
    in that network.

    As there are no labels, one of the columns serves as the target: the first, or
    the next one that varies if the first hardly does. A row's own target value is
    not part of its embedding, so anomalies in that column alone cannot be found.
    Several targets (`n_targets` or ``target="all"``) cover every column.

    Needs ``pip install 'skim-od[tabpfn]'``. The weights of TabPFN v2 are downloaded
    once unless they are found (see `model_path`); nothing else uses the network.

    Read more in the :doc:`user guide </embedding>`.

    Parameters
    ----------
    target : "auto", "all", int, str or list of these, default="auto"
        Columns to predict: by position, or by name if X is a data frame. "all"
        means every column that varies, and "auto" the first `n_targets` of them.

    n_targets : int, default=1
        Number of columns to predict with ``target="auto"``.

    task : {"auto", "regression", "classification"}, default="auto"
        How to predict the target. "auto" uses classification for targets with at
        most ten different values, all of them integers, unless the checkpoint
        supports only one task.

    model_path : str or path, default="v2"
        A version of TabPFN ("v2", "v2.5", "v2.6", "v3", "v3.5") or a checkpoint
        file. A version is looked up in :func:`weights_home`, then in TabPFN's own
        cache (``TABPFN_MODEL_CACHE_DIR``). Only v2 is downloaded if it is missing;
        the others require a licence agreement.

    apply : {"always", "auto"}, default="always"
        With "auto", only tables for which the paper recommends it are embedded:
        those with more than 4,000 and fewer than 50,000 rows and fewer than 50
        columns. Others pass through unchanged, including missing values. The rows
        are those seen in `fit`.

    max_context : int, default=1000
        Number of rows that TabPFN sees with their target, drawn at random if there
        are more.

    n_folds : int, default=None
        If given, `fit_transform` embeds each row with a context from the other
        folds. If None, the context may contain the row itself and its target.

    n_estimators : int, default=1
        Size of TabPFN's own ensemble, whose members shuffle and preprocess columns
        differently.

    preprocessing : {"none", "default"}, default="none"
        Whether TabPFN adds columns (quantiles, singular vectors), as it does for
        predictions. This more than doubles the time.

    pooling : {"mean", "target"}, default="mean"
        "mean" averages the cells of a row over some layers, which represents the row
        as a whole. "target" is the cell of the target in the last layer, which
        TabPFN itself returns as the embedding.

    layers : array-like of int, default=None
        Layers to average with ``pooling="mean"``, counted from 1. None uses those
        from one half to five sixths of the depth: 6 to 10 of the 12 layers of v2.

    combine : {"mean", "concat"}, default="mean"
        How to combine the embeddings of several targets and estimators.

    batch_size : int, default=256
        Number of rows that are embedded at a time.

    keep_weights : bool, default=False
        Whether pickles contain the checkpoint. If False, they are small, and the
        checkpoint must be available where they are loaded.

    random_state : int, RandomState instance or None, default=None
        Controls the context, the folds and the randomness of TabPFN. Pass an int
        for reproducible results across multiple function calls.

    memory : str, object with the joblib.Memory interface or None, default=None
        Used to cache embeddings. By default, nothing is cached.

    device : str, default="auto"
        Any device of torch, or "auto" for a GPU if there is one.

    n_jobs : int, default=None
        Number of threads. None uses the default of torch, -1 all processors.

    verbose : int, default=0
        Whether to show a progress bar on standard error.

    Attributes
    ----------
    is_applied_ : bool
        Whether rows are embedded rather than passed through.

    targets_ : ndarray of shape (n_targets,)
        Positions of the columns that are predicted.

    tasks_ : list of str
        Task for each target.

    context_ : ndarray of shape (n_context, n_features)
        The rows that TabPFN sees with their target.

    checkpoints_ : dict of str to str
        Checkpoint file for each task.

    weights_ : dict of str to ndarray
        Content of the checkpoint files. Only with `keep_weights`.

    device_ : str
        The device that was used.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only when `X` has
        feature names that are all strings.

    See Also
    --------
    ContrastiveEmbedder : Needs no pretrained network.

    Notes
    -----
    The time is proportional to rows times columns: about 0.2 ms per cell on one
    processor. With several targets, the context is processed again in every
    `transform`, to avoid keeping all of them in memory.

    With `n_folds`, `fit_transform` and `transform` differ on the training rows, as
    in :class:`~sklearn.preprocessing.TargetEncoder`. In a pipeline, the detector is
    fitted on the output of `fit_transform`.

    Columns that are not predicted may have missing values.

    Embedding does not help on every table. On eight tables of ADBench, the AUROC of
    :class:`skim.ALTBIDetector` rose on five and fell on three, from 0.69 to 0.71 on
    average; on others, such as pendigits, it drops considerably.
    `python -m benchmarks tabpfn` reproduces this comparison.

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
        **Embedder._parameter_constraints,
        "target": [Integral, str, list, tuple],
        "n_targets": [Interval(Integral, 1, None, closed="left")],
        "task": [StrOptions({"auto", "regression", "classification"})],
        "model_path": [str, os.PathLike],
        "apply": [StrOptions({"always", "auto"})],
        "max_context": [Interval(Integral, 2, None, closed="left")],
        "n_folds": [Interval(Integral, 2, None, closed="left"), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "preprocessing": [StrOptions({"none", "default"})],
        "pooling": [StrOptions({"mean", "target"})],
        "layers": ["array-like", None],
        "combine": [StrOptions({"mean", "concat"})],
        "keep_weights": ["boolean"],
        "random_state": ["random_state"],
    }

    _recipe: Recipe

    def __init__(
        self,
        *,
        target: str | int | Sequence[str | int] = "auto",
        n_targets: int = 1,
        task: Literal["auto", "regression", "classification"] = "auto",
        model_path: str | os.PathLike = "v2",
        apply: Literal["always", "auto"] = "always",
        max_context: int = 1000,
        n_folds: int | None = None,
        n_estimators: int = 1,
        preprocessing: Literal["none", "default"] = "none",
        pooling: Literal["mean", "target"] = "mean",
        layers: ArrayLike | None = None,
        combine: Literal["mean", "concat"] = "mean",
        batch_size: int = 256,
        keep_weights: bool = False,
        random_state: int | np.random.RandomState | None = None,
        memory: str | Memory | None = None,
        device: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.target = target
        self.n_targets = n_targets
        self.task = task
        self.model_path = model_path
        self.apply = apply
        self.max_context = max_context
        self.n_folds = n_folds
        self.n_estimators = n_estimators
        self.preprocessing = preprocessing
        self.pooling = pooling
        self.layers = layers
        self.combine = combine
        self.batch_size = batch_size
        self.keep_weights = keep_weights
        self.random_state = random_state
        self.memory = memory
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
            Fitted embedder.
        """
        self._reset()
        self._fit(self._validate(X, reset=True))
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: ArrayLike, y: object = None) -> NDArray[np.floating]:
        """Fit, and embed the same rows, out of fold if `n_folds` is given.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to embed.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
            Embedded rows; X itself if it passes through.
        """
        self._reset()
        rows = self._validate(X, reset=True)
        if self.n_folds is not None and self.n_folds > len(rows):
            raise ValueError(
                f"n_folds={self.n_folds} is more than the {len(rows)} rows of X; lower "
                "it."
            )
        random_state = self._fit(rows)
        if self.n_folds is None or not self.is_applied_:
            return self._transform(rows)
        return self._out_of_fold(rows, random_state)

    def transform(self, X: ArrayLike) -> NDArray[np.floating]:
        """Embed rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to embed.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
            Embedded rows; X itself if it passes through.
        """
        check_is_fitted(self)
        return self._transform(self._validate(X, reset=False))

    def get_feature_names_out(
        self, input_features: ArrayLike | None = None
    ) -> NDArray[np.object_]:
        """Get output feature names.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the features of X, for tables that pass through.

        Returns
        -------
        names : ndarray of str objects
            ``tabpfnembedder0`` and so on, or the names of X if it passes through.
        """
        check_is_fitted(self)
        if self.is_applied_:
            return super().get_feature_names_out(input_features)
        return _check_feature_names_in(self, input_features)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    # Fitting --------------------------------------------------------------------

    def _validate(self, X, *, reset):
        return validate_data(
            self,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            ensure_min_samples=2 if reset else 1,
            ensure_min_features=2 if reset and self.apply == "always" else 1,
        )

    def _fit(self, X):
        """Fit to validated rows; return the random state for further draws."""
        random_state = own_random_state(self.random_state)
        n_rows, n_columns = X.shape
        self.is_applied_ = self.apply == "always" or (
            MIN_ROWS < n_rows < MAX_ROWS and 1 < n_columns < MAX_COLUMNS
        )
        if self.is_applied_:
            self._choose(X, random_state)
            with self._computing():
                model = self._model(self.context_, 0)
                n_columns = self._recipe.n_features_out(model, self.context_)
        self._n_features_out = n_columns
        return random_state

    def _choose(self, X, random_state):
        """Choose what TabPFN predicts, from which rows and with which weights."""
        targeting.check_size(X, self.max_context)
        self.device_ = nets.resolve_device(self.device)
        names = list(getattr(self, "feature_names_in_", []))
        self.targets_ = targeting.choose_targets(self.target, self.n_targets, X, names)
        seed = int(random_state.randint(2**31 - 1))
        self.context_ = X[self._draw_context(X, np.arange(len(X)), random_state)]
        supported = weights.supported_tasks(self.model_path)
        self.tasks_ = [
            targeting.choose_task(self.task, X[:, j], supported, self.model_path)
            for j in self.targets_
        ]
        if self.combine == "mean" and len(set(self.tasks_)) > 1:
            # Embeddings of two different networks cannot be averaged.
            self.tasks_ = ["regression"] * len(self.tasks_)
        self.checkpoints_ = {
            task: str(weights.find_checkpoint(self.model_path, task).absolute())
            for task in set(self.tasks_)
        }
        if self.keep_weights:
            self.weights_ = weights.read_weights(self.checkpoints_.values())
        self._recipe = Recipe(
            targets=self.targets_,
            tasks=self.tasks_,
            model_path=self.model_path,
            checkpoints=self.checkpoints_,
            weights=getattr(self, "weights_", None),
            scale=targeting.scale_of(X),
            settings={
                "n_estimators": self.n_estimators,
                "preprocessing": self.preprocessing,
                "pooling": self.pooling,
                "layers": check_layers(self.layers),
            },
            combine=self.combine,
            device=self.device_,
            seed=seed,
        )

    def _draw_context(self, X, rows, random_state):
        return targeting.draw_context(
            X, rows, self.targets_, self.max_context, random_state
        )

    # Embedding ------------------------------------------------------------------

    def _transform(self, X):
        if not self.is_applied_:
            return X
        return self._cached(
            lambda: self._check_finite(self._embed_with(self.context_, X)),
            lambda: (*self._recipe.key(), self.context_, X),
        )

    def _out_of_fold(self, X, random_state):
        """Embed each row with a context from the other folds."""
        folds = KFold(self.n_folds, shuffle=True, random_state=random_state)
        parts = [
            (X[self._draw_context(X, others, random_state)], rows)
            for others, rows in folds.split(X)
        ]

        def compute():
            embedding = np.empty((len(X), self._n_features_out), np.float32)
            for context, rows in parts:
                embedding[rows] = self._embed_with(context, X[rows])
            return self._check_finite(embedding)

        return self._cached(compute, lambda: (*self._recipe.key(), parts, X))

    def _embed_with(self, context, X):
        with self._computing():
            return self._recipe.embed(
                X,
                np.zeros((len(X), self._n_features_out), np.float32),
                lambda place: self._model(context, place),
                self.batch_size,
                self._show_progress,
            )

    def _model(self, context, place):
        """Return the network for one target, which is kept if it is the only one."""
        if len(self.targets_) == 1 and context is self.context_:
            return self._ready()
        return self._recipe.new_model(context, place)

    def _load(self):
        return self._recipe.new_model(self.context_, 0)
