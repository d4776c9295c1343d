"""Embedding tables with TabPFN."""

import os
import tempfile
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path

import numpy as np
from sklearn.base import _fit_context
from sklearn.model_selection import KFold
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from skim._utils import own_random_state
from skim.embedding import _tabpfn_model as tabpfn_model
from skim.embedding._base import Embedder, quiet_compute
from skim.embedding._tabpfn_targets import (
    choose_targets,
    choose_task,
    differs,
    scale_of,
)

# Where the paper embeds: rows between these, and fewer columns than that.
MIN_ROWS, MAX_ROWS, MAX_COLUMNS = 4_000, 50_000, 50


class TabPFNEmbedder(Embedder):
    """Embed the rows of a table with TabPFN.

    TabPFN is a transformer that was trained on millions of synthetic tables to
    predict one column from the others. What it makes of a row on the way to that
    prediction is the embedding: rows that look alike to a network that has seen
    many tables come to lie close together.

    There is no label here, so that one of the columns is the target: the first, or
    the next one that varies where the first hardly does. A row's own value in the
    target is not part of its embedding: what is odd only there cannot be found by
    it. Several targets (`n_targets`, ``target="all"``) see every column.

    Needs ``pip install 'skim-od[tabpfn]'``. The weights of TabPFN v2 are downloaded
    once unless they are found (see `model_path`). Nothing else ever uses the
    network.

    Parameters
    ----------
    target : "auto", "all", int, str or list of these, default="auto"
        Columns to be predicted: by position, by name if X is a data frame, "all"
        for every column that varies, and "auto" for the first `n_targets` columns
        that vary.

    n_targets : int, default=1
        How many columns are predicted with ``target="auto"``.

    task : {"auto", "regression", "classification"}, default="auto"
        What predicting is. "auto" takes classification for a target of at most ten
        different whole numbers, and whatever a checkpoint of one's own can do.

    model_path : str or path, default="v2"
        A version of TabPFN ("v2", "v2.5", "v2.6", "v3", "v3.5") or the file of a
        checkpoint. A version is looked for in the folder that the environment
        variable ``SKIM_WEIGHTS_HOME`` names (``~/.cache/skim/weights``), then in
        TabPFN's own cache (``TABPFN_MODEL_CACHE_DIR``). Only v2 is downloaded if it
        is missing: it may be used by anybody, the others ask for a licence.

    apply : {"always", "auto"}, default="always"
        With "auto", tables are embedded only where that is worth its time by the
        paper's rule, which is more than 4,000 and fewer than 50,000 rows and fewer
        than 50 columns; others pass through unchanged, gaps included. So one
        pipeline serves all tables. In a search, the rows of a training part count.

    max_context : int, default=1000
        Number of rows that TabPFN sees with their target; they are drawn at random
        where there are more.

    n_folds : int, default=None
        With a number, `fit_transform` embeds each row by a context that it is not
        in. None means that rows of the context are embedded like all others,
        though TabPFN has seen their target.

    n_estimators : int, default=1
        TabPFN's own ensemble: how often columns are shuffled and prepared in
        another way.

    preprocessing : {"none", "default"}, default="none"
        Whether TabPFN adds columns (quantiles, singular vectors) before it embeds,
        as it does for predictions. That takes more than twice the time.

    pooling : {"mean", "target"}, default="mean"
        What of the network is taken. "mean" is the mean over a row's cells and some
        layers, which stands for the row as a whole; "target" the cell of the value to
        be predicted in the last layer, which TabPFN itself calls the embedding.

    layers : array-like of int, default=None
        The layers, counted from 1, whose cells are averaged with ``pooling="mean"``.
        None takes those from the middle to five sixths of the way: 6 to 10 of v2's 12.

    combine : {"mean", "concat"}, default="mean"
        What becomes of the embeddings of several targets and estimators.

    batch_size : int, default=256
        Rows embedded at a time.

    keep_weights : bool, default=False
        Whether pickles hold the checkpoint. Without it they are small, and the
        checkpoint must be found again where they are loaded.

    random_state : int, RandomState instance or None, default=None
        Draws the context, the folds and what TabPFN draws itself.

    memory : str or object with the joblib.Memory interface, default=None
        Where embeddings are kept. By default they are not.

    device : str, default="auto"
        The device to compute on. "auto" takes a GPU if there is one.

    n_jobs : int, default=None
        Number of threads. None means as many as torch uses, -1 all processors.

    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    is_applied_ : bool
        Whether rows are embedded, and do not pass through.

    targets_ : ndarray of shape (n_targets,)
        Positions of the columns that are predicted.

    tasks_ : list of str
        What predicting each of them is.

    context_ : ndarray of shape (n_context, n_features)
        The rows that TabPFN sees with their target.

    checkpoints_ : dict of str to str
        File of the weights for each task.

    device_ : str
        The device that was used.

    n_features_in_ : int
        Number of features seen during fit.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, if X has string names for all of them.

    See Also
    --------
    ContrastiveEmbedder : Needs no pretrained network.

    Notes
    -----
    The time grows with rows times columns: about 0.2 ms of one processor for each
    cell. A target is fitted anew in every `transform` where there are several, so
    as not to hold all of them in memory.

    With `n_folds`, `fit_transform` and `transform` differ for the training rows,
    as they do in :class:`~sklearn.preprocessing.TargetEncoder`. In a pipeline,
    the detector is fitted on the former.

    Values may be missing in the columns that are not predicted.

    Embedding does not help on every table. On eight tables of ADBench, the AUROC of
    :class:`skim.ALTBIDetector` rose on five and fell on three, in the mean from 0.69 to
    0.71; on others, such as pendigits, it loses much. `python -m benchmarks tabpfn`
    makes the comparison.

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

    _live = ("_model",)

    def __init__(
        self,
        *,
        target="auto",
        n_targets=1,
        task="auto",
        model_path="v2",
        apply="always",
        max_context=1000,
        n_folds=None,
        n_estimators=1,
        preprocessing="none",
        pooling="mean",
        layers=None,
        combine="mean",
        batch_size=256,
        keep_weights=False,
        random_state=None,
        memory=None,
        device="auto",
        n_jobs=None,
        verbose=0,
    ):
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

    # Fitting --------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Choose the target and the context, and load the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that the context is drawn from.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The fitted embedder.
        """
        self._forget()
        self._fit(self._validate(X, reset=True))
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None):
        """Fit, and embed the same rows; by `n_folds`, if given.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
            The embedded rows.
        """
        self._forget()
        X = self._validate(X, reset=True)
        if self.n_folds is not None and self.n_folds > len(X):
            raise ValueError(
                f"n_folds={self.n_folds} is more than the {len(X)} rows of X."
            )
        random_state = self._fit(X)
        if self.n_folds is None or not self.is_applied_:
            return self._transform(X)
        return self._out_of_fold(X, random_state)

    def _forget(self):
        """Leave nothing of an earlier fit: this one may fail."""
        fitted = ("targets_", "tasks_", "context_", "scale_", "device_", "is_applied_")
        weights = ("checkpoints_", "checkpoint_", "_model")
        for name in (*fitted, *weights, "_n_features_out", "_how", "_combine"):
            self.__dict__.pop(name, None)

    def _fit(self, X):
        """Fit to valid rows; return what goes on drawing at random."""
        random_state = own_random_state(self.random_state)
        is_applied = self._is_worth_it(X)
        if is_applied:
            self._set_up(X, random_state)
        self.is_applied_ = is_applied
        return random_state

    def _set_up(self, X, random_state):
        """Choose what TabPFN is to predict and to see, and try it."""
        from skim import _nets as nets

        self._check_size(X)
        self.device_ = nets.resolve_device(self.device)
        names = list(getattr(self, "feature_names_in_", []))
        self.targets_ = choose_targets(self.target, self.n_targets, X, names)
        self.scale_ = scale_of(X)
        self._seed = int(random_state.randint(2**31 - 1))
        rows = np.arange(len(X))
        self.context_ = X[self._draw_context(X, rows, random_state)]
        self._find_tasks(X)
        if self.keep_weights:
            self.checkpoint_ = {
                name: np.frombuffer(Path(name).read_bytes(), dtype=np.uint8)
                for name in set(self.checkpoints_.values())
            }
        self._how = {
            "n_estimators": self.n_estimators,
            "preprocessing": self.preprocessing,
            "pooling": self.pooling,
            "layers": self._check_layers(),
        }
        self._combine = self.combine
        with quiet_compute(self.n_jobs):
            model = self._new_model(self.context_, 0)
            probe = np.delete(self.context_[:1] / self.scale_, self.targets_[0], axis=1)
            width = model.embed(probe).shape[2]
        if len(self.targets_) == 1:
            self._model = model
        n_parts = self.n_estimators * len(self.targets_)
        self._n_features_out = width * (n_parts if self.combine == "concat" else 1)

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

    def _is_worth_it(self, X):
        n_rows, n_columns = X.shape
        return self.apply == "always" or (
            MIN_ROWS < n_rows < MAX_ROWS and 1 < n_columns < MAX_COLUMNS
        )

    def _check_size(self, X):
        n_columns = X.shape[1]
        if n_columns - 1 > tabpfn_model.MAX_FEATURES:
            raise ValueError(
                f"TabPFN takes at most {tabpfn_model.MAX_FEATURES} columns beside the "
                f"target, and X has {n_columns}. Choose or combine columns first, for "
                "example with PCA, or let such tables through with apply='auto'."
            )
        if self.max_context > 10_000:
            raise ValueError(
                f"max_context={self.max_context} is more than the 10,000 rows that "
                "TabPFN was made for. 1,000 are usually enough."
            )

    def _check_layers(self):
        """Return the layers as a list of whole numbers from 1, or None."""
        if self.layers is None:
            return None
        layers = np.unique(self.layers)
        if len(layers) == 0 or layers.dtype.kind not in "iu" or layers[0] < 1:
            raise ValueError(
                "layers must be some of the numbers 1, 2, ... of the network's layers; "
                f"got {self.layers!r}."
            )
        return layers.tolist()

    def _find_tasks(self, X):
        """Decide what predicting each target is, and find weights for it."""
        own = str(self.model_path) not in tabpfn_model.VERSIONS
        able = set(tabpfn_model.WHICH)
        if own:
            file = tabpfn_model.find_checkpoint(self.model_path, "regression")
            able = tabpfn_model.tasks_of(file)
        self.tasks_ = [
            choose_task(self.task, X[:, j], able, self.model_path)
            for j in self.targets_
        ]
        if self.combine == "mean" and len(set(self.tasks_)) > 1:
            # Two networks' embeddings have no common mean.
            self.tasks_ = ["regression"] * len(self.tasks_)
        self.checkpoints_ = {
            task: str(tabpfn_model.find_checkpoint(self.model_path, task).absolute())
            for task in set(self.tasks_)
        }

    # Context --------------------------------------------------------------------

    def _draw_context(self, X, rows, random_state):
        """Draw context rows, so that every target differs."""
        known = np.isfinite(X[np.ix_(rows, self.targets_)]).any(axis=1)
        rows = rows[known]
        if len(rows) < 2:
            raise ValueError(
                f"Only {len(rows)} of the rows that a context is drawn from have a "
                "value in a target column. Choose another target, fill the gaps, or "
                "use fewer folds."
            )
        drawn = random_state.permutation(rows)
        context, rest = drawn[: self.max_context], drawn[self.max_context :]
        for place, target in enumerate(self.targets_):
            if not differs(X[context, target][:, None])[0]:
                value = np.fmin.reduce(X[context, target])
                others = rest[np.isfinite(X[rest, target]) & (X[rest, target] != value)]
                if len(others):
                    context[-1 - place % len(context)] = others[0]
        return np.sort(context)

    def _new_model(self, context, place):
        """Return TabPFN after it has seen a context, for one of the targets."""
        from skim import _nets as nets

        target = self.targets_[place]
        task = self.tasks_[place]
        context = context[np.isfinite(context[:, target])] / self.scale_
        features, values = np.delete(context, target, axis=1), context[:, target]
        if len(context) < 2 or not (differs(values[:, None]) & differs(features)).any():
            raise ValueError(
                f"In the {len(context)} rows of a context, the target in column "
                f"{target} or all other columns are constant. Choose another target, "
                "a larger max_context or fewer folds."
            )
        try:
            with self._file(task) as file:
                return tabpfn_model.ContextModel(
                    file,
                    task,
                    features,
                    values,
                    **self._how,
                    device=nets.device_or_cpu(self.device_),
                    seed=self._seed,
                )
        except (RuntimeError, KeyError, ValueError) as error:
            raise ValueError(
                f"TabPFN could not be run with {self.checkpoints_[task]!r}: {error}"
            ) from error

    @contextmanager
    def _file(self, task):
        """Give the path at which a checkpoint can be read now."""
        name = self.checkpoints_[task]
        kept = getattr(self, "checkpoint_", None)
        if kept is None:
            if not Path(name).is_file():
                name = tabpfn_model.find_checkpoint(self.model_path, task)
            yield name
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / Path(name).name
            path.write_bytes(kept[name].tobytes())
            yield path

    # Transforming ---------------------------------------------------------------

    def transform(self, X):
        """Embed rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
            The embedded rows; X itself where it passes through.
        """
        check_is_fitted(self)
        return self._transform(self._validate(X, reset=False))

    def _transform(self, X):
        if not self.is_applied_:
            return X
        return self._remember(
            lambda: self._check_finite(self._embed_with(self.context_, X)),
            lambda: (*self._settings(), self.context_, X),
        )

    def _out_of_fold(self, X, random_state):
        """Embed every row by a context from the other folds."""
        folds = KFold(self.n_folds, shuffle=True, random_state=random_state)
        parts = [
            (X[self._draw_context(X, others, random_state)], rows)
            for others, rows in folds.split(X)
        ]

        def compute():
            embedding = np.empty((len(X), self._n_features_out), np.float32)
            for context, rows in parts:
                embedding[rows] = self._embed_with(context, X[rows], fresh=True)
            return self._check_finite(embedding)

        return self._remember(compute, lambda: (*self._settings(), parts, X))

    def _embed_with(self, context, X, *, fresh=False):
        """Embed rows by a context, one target after the other."""
        embedding = np.zeros((len(X), self._n_features_out), np.float32)
        n_targets = len(self.targets_)
        with quiet_compute(self.n_jobs):
            for place, target in enumerate(self.targets_):
                model = self._ready() if n_targets == 1 and not fresh else None
                model = model or self._new_model(context, place)
                for start in range(0, len(X), self.batch_size):
                    rows = slice(start, start + self.batch_size)
                    features = np.delete(X[rows] / self.scale_, target, axis=1)
                    self._put(embedding[rows], model.embed(features), place)
                    done = place * len(X) + min(start + self.batch_size, len(X))
                    self._show(done, n_targets * len(X))
        return embedding

    def _put(self, embedding, members, place):
        """Put one target's embeddings, of shape (members, n, d), where they belong."""
        n_members, n_rows, width = members.shape
        if self._combine == "mean":
            embedding += members.mean(axis=0) / len(self.targets_)
        else:
            first = place * n_members * width
            side_by_side = members.transpose(1, 0, 2).reshape(n_rows, -1)
            embedding[:, first : first + n_members * width] = side_by_side

    def _ready(self):
        """Return the model of the only target, made if it is not there yet."""
        return self._alive("_model", lambda: self._new_model(self.context_, 0))

    def _settings(self):
        """Return what decides what an embedding is, beside the rows."""
        files = sorted(self.checkpoints_.values())
        stats = [
            (Path(file).stat().st_size, Path(file).stat().st_mtime_ns)
            for file in files
            if Path(file).exists()
        ]
        return (
            (files, stats, self.tasks_, self.targets_),
            (self._how, self._combine, self._seed, self.scale_),
        )

    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns that come out.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the features of X, for tables that pass through.

        Returns
        -------
        names : ndarray of str objects
            ``tabpfnembedder0`` and so on, or the names of X where it passes through.
        """
        check_is_fitted(self)
        if self.is_applied_:
            return super().get_feature_names_out(input_features)
        from sklearn.utils.validation import _check_feature_names_in

        return _check_feature_names_in(self, input_features)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "is_applied_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
