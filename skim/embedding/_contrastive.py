"""A representation of tables that is learnt from the table itself."""

from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from skim._detectors._scaling import InputScaler
from skim._utils import own_random_state
from skim.embedding._base import Embedder, quiet_compute


class ContrastiveEmbedder(Embedder):
    """Representation of a table that is learnt from the table itself.

    For tables when no foundation model is at hand. A small network learns, without
    labels, to recognise two corrupted views of the same row among views of other
    rows [1]_. A view is the row with some of its values replaced by those of another
    row that is close. Rows are told only from rows that are far away, so that close
    ones may come together: the variation within clusters becomes smaller relative to
    the distances between them, which is when the inlier-memorization effect lasts
    longest.

    The number of updates does not depend on the number of rows, so large tables
    take hardly longer to fit than small ones.

    Parameters
    ----------
    n_components : int, default=16
        Number of features that come out.

    hidden_units : int, default=64
        Width of each of the encoder's two hidden layers.

    n_updates : int, default=200
        Number of updates of the training.

    batch_size : int, default=128
        Number of rows in an update, or all rows if there are fewer.

    corruption : float, default=0.5
        Share of a row's values that are replaced in each view, in [0, 1].

    n_candidates : int, default=10
        The values come from the closest of so many rows, drawn at random from the
        batch. 1 takes any row.

    far : float, default=0.5
        Share of a batch that a row is told from, in (0, 1]: the rows furthest from
        it. 1 takes all rows.

    temperature : float, default=0.5
        Of the loss. The smaller, the more the most similar of the far rows count.

    learning_rate : float, default=3e-3
        Step size of Adam.

    scaling : {"squash", "minmax"}, default="squash"
        How features are scaled. "squash" maps standardised values z to
        ``3 tanh(z / 3)``, "minmax" the training range to [0, 3].

    random_state : int, RandomState instance or None, default=None
        Controls the initial weights, the batches and the views. Pass an int for the
        same representation in every call.

    memory : str or object with the joblib.Memory interface, default=None
        Where to keep the results of trainings and transformations, if anywhere.

    device : str, default="cpu"
        Where to compute: any device of torch, or "auto" for a GPU if there is one.

    n_jobs : int, default=None
        Number of threads to compute with. None means 1 unless in a
        :obj:`joblib.parallel_config` context, -1 all processors.

    verbose : int, default=0
        Whether to show a progress bar on standard error.

    Attributes
    ----------
    coefs_ : list of ndarray of shape (n_out, n_in)
        Weights of the encoder's three layers, between which values below 0 become 0.

    intercepts_ : list of ndarray of shape (n_out,)
        Biases of the layers.

    loss_curve_ : ndarray of shape (n_updates,)
        Loss at each update.

    scaler_ : InputScaler
        What scales the features.

    device_ : str
        The device that was used.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only when `X` has
        feature names that are all strings.

    See Also
    --------
    skim.theory.cluster_geometry : Measures clusters before and after.

    Notes
    -----
    Unlike in [1]_, there is no projection head, and values and rows to be told from
    are chosen by distance. Without these three, the clusters of low-dimensional
    tables became wider rather than tighter.

    Tighter clusters do not mean that outliers are found more easily. On 21 small
    tables of ADBench, clusters became tighter on 19, but the mean AUROC of
    :class:`skim.ALTBIDetector` fell from 0.813 to 0.786 (one seed): gains of up to
    0.04 on 8 tables, losses of 0.12 to 0.17 on 4. Compare both where labels
    allow. `python -m benchmarks contrastive` makes the comparison.

    References
    ----------
    .. [1] D. Bahri, H. Jiang, Y. Tay and D. Metzler, "SCARF: Self-Supervised
           Contrastive Learning using Random Feature Corruption", International
           Conference on Learning Representations, 2022.

    Examples
    --------
    >>> from skim.datasets import load_wine_outliers
    >>> from skim.embedding import ContrastiveEmbedder
    >>> X, y = load_wine_outliers(return_X_y=True)
    >>> ContrastiveEmbedder(random_state=0).fit_transform(X).shape
    (129, 16)
    """

    _parameter_constraints: dict = {
        **Embedder._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "hidden_units": [Interval(Integral, 1, None, closed="left")],
        "n_updates": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "corruption": [Interval(Real, 0, 1, closed="both")],
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "far": [Interval(Real, 0, 1, closed="right")],
        "temperature": [Interval(Real, 0, None, closed="neither")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "scaling": [StrOptions({"squash", "minmax"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        n_components=16,
        hidden_units=64,
        n_updates=200,
        batch_size=128,
        corruption=0.5,
        n_candidates=10,
        far=0.5,
        temperature=0.5,
        learning_rate=3e-3,
        scaling="squash",
        random_state=None,
        memory=None,
        device="cpu",
        n_jobs=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.hidden_units = hidden_units
        self.n_updates = n_updates
        self.batch_size = batch_size
        self.corruption = corruption
        self.n_candidates = n_candidates
        self.far = far
        self.temperature = temperature
        self.learning_rate = learning_rate
        self.scaling = scaling
        self.random_state = random_state
        self.memory = memory
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the representation from unlabelled data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training data, outliers included.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        from skim import _nets as nets

        # A fit that fails must not leave a transformer that counts as fitted.
        self.__dict__.pop("coefs_", None)
        X = self._validate(X, reset=True, ensure_min_samples=2)
        self.device_ = nets.resolve_device(self.device)
        # Centred, and of about unit variance.
        self.scaler_ = InputScaler(self.scaling, centred=True, factor=3.0).fit(X)
        seed = own_random_state(self.random_state).randint(2**31 - 1)
        rows, params = self.scaler_.transform(X), self._training_params()
        layers, losses = self._remember(
            lambda: self._train(rows, params, seed),
            lambda: (rows, params, seed, self.device_),
        )
        self.loss_curve_ = np.array(losses)
        self.intercepts_ = [bias for _, bias in layers]
        self.coefs_ = [weight for weight, _ in layers]
        self._n_features_out = self.n_components
        return self

    def transform(self, X):
        """Put rows into the learnt representation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to embed.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
            In single precision if `X` is, in double precision otherwise.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        rows = self.scaler_.transform(X)
        embedding = self._embed(
            len(rows),
            lambda: self._encode(rows),
            lambda: (rows, self.coefs_, self.intercepts_),
        )
        return embedding.astype(X.dtype, copy=False)

    def _train(self, rows, params, seed):
        """Train on scaled rows; return the encoder's layers and the losses."""
        import torch

        from skim import _nets as nets
        from skim._nets._contrastive import train_encoder

        def show(done):
            self._show(done, self.n_updates)

        with quiet_compute(self._n_threads()), torch.inference_mode(False):
            generator = torch.Generator(self.device_).manual_seed(seed)
            data = torch.from_numpy(rows).to(self.device_)
            try:
                return train_encoder(
                    data, generator=generator, on_update=show, **params
                )
            except nets.NonFiniteLossError:
                raise ValueError(
                    "ContrastiveEmbedder diverged: its loss is no longer finite. Lower "
                    f"learning_rate (now {self.learning_rate}) and fit again."
                ) from None

    def _encode(self, rows):
        import torch

        from skim import _nets as nets
        from skim._nets._contrastive import encode

        device = nets.device_or_cpu(self.device_)
        layers = [
            tuple(torch.tensor(part, device=device) for part in layer)
            for layer in zip(self.coefs_, self.intercepts_, strict=True)
        ]
        return encode(torch.from_numpy(rows).to(device), layers)

    def _training_params(self):
        names = (
            "n_components",
            "hidden_units",
            "n_updates",
            "batch_size",
            "corruption",
            "n_candidates",
            "far",
            "temperature",
            "learning_rate",
        )
        return {name: getattr(self, name) for name in names}

    def _validate(self, X, **options):
        return validate_data(self, X, dtype=[np.float64, np.float32], **options)

    def _n_threads(self):
        return effective_n_jobs(self.n_jobs)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "coefs_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
