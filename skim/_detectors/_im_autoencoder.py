"""A one-hidden-layer autoencoder, stopped where its losses separate best."""

from numbers import Integral
from typing import Any, Self

from sklearn.utils._param_validation import Interval, StrOptions

from skim import _nets as nets
from skim._detectors._partial_fit import ResumableDetector
from skim._detectors._scaling import InputScaler
from skim._training._stopping import BestStates, Watch

N_WATCHED_ROWS = 256  # whose losses tell when to stop


class IMAutoencoderDetector(ResumableDetector):
    r"""Outlier detector built on a one-hidden-layer autoencoder.

    The network is :math:`F(x) = A\,\phi(W x)`, without biases, and a row's loss is
    its squared reconstruction error :math:`\|x - F(x)\|^2`. Early in training the
    errors of inliers shrink before those of outliers do. Each member is kept at
    the epoch where a mixture of two Gaussians separates the errors best, and
    a row's score is its negated error, averaged over the members. This is the
    network for which the inlier-memorization effect has been proved [1]_.

    Read more in the :doc:`user guide </user_guide>`.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of networks, trained side by side.

    hidden_units : int, default=8
        Number of hidden units.

    activation : {"tanh", "relu", "sigmoid", "identity"}, default="tanh"
        The function :math:`\phi`.

    train_decoder : bool, default=True
        Whether :math:`A` is trained along with :math:`W`. The theorem keeps it
        fixed.

    epochs : int, default=100
        Largest number of epochs.

    updates_per_epoch : int or None, default=5
        Number of updates per epoch. None means one pass over the data.

    batch_size : int or None, default=500
        Rows per batch. None means all rows.

    solver : {"adam", "gd"}, default="adam"
        The optimiser: Adam on the mean loss of a batch, or plain gradient descent
        on half the sum of the losses, as in the theorem.

    stopping : str or None, default="separation"
        Early-stopping criterion: "separation", "entropy", "cohesion", "excess_mass",
        "mass_volume" or None. Each member is kept at the epoch where the losses of a
        sample of rows are best by this criterion of :mod:`skim.metrics`; None means
        the last epoch.

    learning_rate : float, default=1e-3
        Step size of the optimiser.

    scaling : {"squash", "minmax"}, default="squash"
        How features are scaled. "squash" maps standardised values z to
        ``tanh(z / 3)``, "minmax" the training range to [0, 1]. Both are then divided
        by the square root of the number of features, so that no training row is
        longer than 1. With "squash", a cell far from all others of its column adds
        its distance to the loss, which squashing would hide.

    ema_steps : int, default=0
        Number of updates of the warm-up of :class:`EMAWarmStart`; 0 disables it.

    ema_decay : float, default=0.999
        Decay of the warm-up's moving average.

    contamination : "auto" or float, default="auto"
        Share of outliers in the training data, in (0, 0.5], which sets the
        threshold. With "auto", the threshold lies where the losses of the training
        data thin out: in a gap of their upper tail if there is a wide one, and else so
        that about 1 to 3 % of the rows are outliers.

    warm_start : bool, default=False
        Whether `fit` resumes the previous training run, up to a larger number of
        `epochs`, instead of starting a new one. On the same rows, the result is that
        of one long run. The detector keeps the weights of all epochs for this.

    random_state : int, RandomState instance or None, default=None
        Controls the initial weights and the batches. Pass an int for reproducible
        scores.

    n_jobs : int, default=None
        Number of threads that score rows; training uses one. None means 1 unless in
        a :obj:`joblib.parallel_config` context, -1 all processors. Scores do not
        depend on it.

    device : str, default="cpu"
        Where to compute: any device of torch, or "auto" for a GPU if there is one.

    store_stages : bool, default=False
        Whether to keep the weights of all stages of the training run, for
        :meth:`staged_score_samples`.

    verbose : int, default=0
        Whether to show a progress bar on standard error.

    Attributes
    ----------
    offset_ : float
        Threshold: ``decision_function = score_samples - offset_``.

    training_scores_ : ndarray of shape (n_samples,)
        Scores of the training data, as `score_samples` returns them; of the rows
        `training_rows_` if there are more than a million, and after `partial_fit`, of
        a sample of all rows seen.

    training_rows_ : ndarray of shape (n_sampled,) or None
        Of more than a million rows, 200,000 are drawn at random, which train the
        networks and set the threshold; all rows set the scaling. These are their
        indices, in the order of `training_scores_`. None for smaller tables.

    best_epochs_ : ndarray of shape (n_estimators,)
        The epoch at which each member was kept.

    history_ : dict of str to ndarray
        Record of the training run, with one element per epoch: "epoch", "update",
        "batch_size", the quantiles of the losses of a sample of rows "loss_q05",
        "loss_q25", "loss_q50", "loss_q75" and "loss_q95", and the "criterion" for
        early stopping. ``pandas.DataFrame(detector.history_)`` makes it a table.

    weights_ : ndarray of shape (1, n_estimators, n_weights)
        Weights of the kept states.

    typical_contributions_ : ndarray of shape (n_features,)
        Mean contributions of the features in a sample of the training data.

    device_ : str
        The device that was used.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only when `X` has
        feature names that are all strings.

    See Also
    --------
    ALTBIDetector : Usually the more accurate choice.
    ODIMDetector : The same stopping rule on a variational autoencoder.

    Notes
    -----
    :meth:`paper` gives the network of the paper's simulation study, :meth:`theorem`
    the setting of its theorem: full-batch gradient descent with a fixed decoder.

    References
    ----------
    .. [1] K. Kim and D. Kim, "What Drives the Inlier-Memorization Effect? A Theory
           of Outlier Detection via Early Training Dynamics", 2026.

    Examples
    --------
    >>> import numpy as np
    >>> from skim import IMAutoencoderDetector
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(200, 3)), [[6.0, -6.0, 6.0]]]
    >>> detector = IMAutoencoderDetector(contamination=0.005, random_state=0).fit(X)
    >>> detector.predict([[0.0, 0.0, 0.0], [6.0, -6.0, 6.0]])
    array([ 1, -1])
    """

    _parameter_constraints: dict = {
        **ResumableDetector._parameter_constraints,
        "hidden_units": [Interval(Integral, 1, None, closed="left")],
        "activation": [StrOptions({"tanh", "relu", "sigmoid", "identity"})],
        "train_decoder": ["boolean"],
        "updates_per_epoch": [Interval(Integral, 1, None, closed="left"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "solver": [StrOptions({"adam", "gd"})],
    }

    def __init__(
        self,
        *,
        n_estimators=10,
        hidden_units=8,
        activation="tanh",
        train_decoder=True,
        epochs=100,
        updates_per_epoch=5,
        batch_size=500,
        solver="adam",
        stopping="separation",
        learning_rate=1e-3,
        scaling="squash",
        ema_steps=0,
        ema_decay=0.999,
        contamination="auto",
        warm_start=False,
        random_state=None,
        n_jobs=None,
        device="cpu",
        store_stages=False,
        verbose=0,
    ):
        self.n_estimators = n_estimators
        self.hidden_units = hidden_units
        self.activation = activation
        self.train_decoder = train_decoder
        self.epochs = epochs
        self.updates_per_epoch = updates_per_epoch
        self.batch_size = batch_size
        self.solver = solver
        self.stopping = stopping
        self.learning_rate = learning_rate
        self.scaling = scaling
        self.ema_steps = ema_steps
        self.ema_decay = ema_decay
        self.contamination = contamination
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.store_stages = store_stages
        self.verbose = verbose

    @classmethod
    def paper(cls, **params: Any) -> Self:
        """Make a detector with the network of the paper's simulation study.

        Parameters
        ----------
        **params : dict
            Parameters to override.

        Returns
        -------
        detector : IMAutoencoderDetector
        """
        settings = {
            "n_estimators": 1,
            "hidden_units": 32,
            "epochs": 1000,
            "updates_per_epoch": None,
            "learning_rate": 2e-4,
            "scaling": "minmax",
        }
        return cls(**(settings | params))

    @classmethod
    def theorem(cls, **params: Any) -> Self:
        """Make a detector in the setting of the theorem.

        Gradient descent on all rows at once, with the decoder fixed. The loss is
        summed over the rows, so a good learning rate is about one over their
        number; the default is for about a thousand rows. If `best_epochs_` is 1 or
        the losses in `history_` grow, it is too large.

        Parameters
        ----------
        **params : dict
            Parameters to override.

        Returns
        -------
        detector : IMAutoencoderDetector
        """
        settings = {
            "n_estimators": 1,
            "hidden_units": 32,
            "train_decoder": False,
            "epochs": 1000,
            "updates_per_epoch": 1,
            "batch_size": None,
            "solver": "gd",
            "scaling": "minmax",
        }
        return cls(**(settings | params))

    _shape_name = "AutoencoderShape"
    _fixed_params = (
        *ResumableDetector._fixed_params,
        "hidden_units",
        "activation",
        "train_decoder",
        "solver",
    )

    def _shape_params(self, n_features):
        return {
            "n_features": n_features,
            "n_hidden": self.hidden_units,
            "activation": self.activation,
            "train_decoder": self.train_decoder,
        }

    def _new_optimiser(self, weights):
        optimiser = nets.Adam if self.solver == "adam" else nets.GradientDescent
        return optimiser(weights, learning_rate=self.learning_rate)

    def _new_scaler(self, n_features):
        # Without biases, a row at the origin is always reconstructed, so the origin
        # should be an ordinary row.
        # A far cell costs the squared error of a saturated cell for each tail's length.
        return InputScaler(
            self.scaling, centred=True, factor=n_features**-0.5, far_loss=1 / n_features
        )

    def _update(self, run, epoch):
        weigh = nets.half_sum if self.solver == "gd" else None
        return run.update(self.batch_size, weigh)

    def _train(self, run, history):
        batch_size = min(self.batch_size or run.n_rows, run.n_rows)
        n_updates = self.updates_per_epoch or run.n_rows // batch_size
        watch = Watch(self.stopping or "separation", run, N_WATCHED_ROWS)
        best = BestStates(run, watch, history, by_time=self.stopping is None)
        for epoch in range(run.n_epochs + 1, self.epochs + 1):
            for _ in range(n_updates):
                self._update(run, epoch)
            run.n_epochs = epoch
            best.add(
                run, epoch, epoch=epoch, update=run.n_updates, batch_size=batch_size
            )
            if best.stop:
                break
        best.finish(run)
        self.best_epochs_ = best.moments
