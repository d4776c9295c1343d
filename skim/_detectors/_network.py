"""The schedule of ALTBI with any network."""

import pickle
import warnings
from typing import Any, Self

from sklearn.utils._param_validation import StrOptions

from skim import _nets as nets
from skim._detectors._altbi import ALTBIDetector
from skim._detectors._base import IMDetector

NOT_OF_NETWORKS = ("n_importance", "max_width", "n_components")


class NetworkDetector(ALTBIDetector):
    """Outlier detector that trains any network as ALTBI trains its own.

    The inlier-memorization effect is a property of training, not of one network. Here
    the network is a torch module that gives every row a loss: a built-in one, or one of
    your own. An ensemble of them is trained side by side, with the truncated loss,
    the growing batches, the early stopping and the snapshots of
    :class:`ALTBIDetector`. A row's score is its negated loss, averaged over the members
    and the snapshots.

    Read more in :doc:`the page on networks </networks>`.

    Parameters
    ----------
    network : {"flow", "autoencoder", "vae"} or callable, default="flow"
        A network of :mod:`skim.networks` by its name, or a callable that makes a
        :class:`torch.nn.Module` for a number of features, such as the class itself. Its
        `forward` takes rows, a tensor of shape (n_rows, n_features) with values in
        [0, 1], and returns one loss per row, best on the scale of a negative
        log-likelihood. See the notes.

    n_estimators : int, default=5
        Number of networks, trained side by side.

    epochs : int, default=100
        Number of epochs or, if `stopping` chooses when to stop, the largest number.
        How long to train is the choice that matters most.

    updates_per_epoch : int, default=5
        Number of updates per epoch, whatever the number of rows.

    batch_size : int, default=128
        Rows per batch until truncation begins.

    batch_growth : float, default=1.03
        Factor by which the batch grows in every epoch after that.

    max_batch_size : int, default=256
        Largest batch.

    truncate_after : int, default=3
        Number of epochs after which truncation and the growth of the batches begin.

    keep_quantile : float, default=0.92
        Share of each batch, the rows with the smaller losses, that trains the
        networks once truncation has begun.

    stopping : str or None, default="entropy"
        Early-stopping criterion: "separation", "entropy", "cohesion", "excess_mass",
        "mass_volume" or None. The best epoch is the one at which the losses of a
        sample of rows are best by this criterion of :mod:`skim.metrics`; None means
        the last epoch.

    min_epochs : int or "auto", default="auto"
        The first epoch that `stopping` may choose. Losses say little before. "auto"
        is 25, or the epoch by which rows have been seen 50 times on average, if that
        comes first, as in small tables; but always later than `truncate_after`.

    patience : float or None, default=2.5
        Training stops after `patience` times as many epochs as the best epoch so far.
        With 2.5 and a best epoch of 30, that is after epoch 75, unless a better epoch
        is found by then. None trains for all `epochs`, as does ``stopping=None``.

    burn_in : float, default=0.4
        Share of the epochs, up to the best one, before the first snapshot.

    n_snapshots : int, default=11
        Number of evenly spaced snapshots that rows are scored with; at most this
        many with early stopping. The last one is the best epoch.

    normalize_losses : bool, default=False
        Whether to scale the losses of each snapshot to [0, 1], by their range on
        the training data, before they are averaged.

    learning_rate : float, default=3e-3
        Step size of Adam.

    weight_decay : float, default=5e-7
        L2 penalty of Adam.

    scaling : {"squash", "minmax"}, default="squash"
        How features are scaled. "squash" maps standardised values z to
        ``(tanh(z / 3) + 1) / 2``, "minmax" the training range to [0, 1]. With
        "squash", a cell far from all others of its column adds its distance to the
        loss, which squashing would hide.

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
        Controls the initial weights, the batches and what the networks draw. Pass an
        int for reproducible scores.

    n_jobs : int, default=None
        Number of threads that score rows; training uses one. None means 1 unless in
        a :obj:`joblib.parallel_config` context, -1 all processors. Scores do not
        depend on it.

    device : str, default="cpu"
        Where to compute: any device of torch, or "auto" for a GPU if there is one.

    store_stages : bool, default=False
        Whether to keep the weights after every epoch, for
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

    history_ : dict of str to ndarray
        Record of the training run, with one element per epoch: "epoch", "update",
        "batch_size", the quantiles of the batch's losses "loss_q05", "loss_q25",
        "loss_q50", "loss_q75" and "loss_q95", and the "criterion" for early stopping,
        which is evaluated less and less often and NaN otherwise.
        ``pandas.DataFrame(detector.history_)`` makes it a table.

    best_epoch_ : int
        The best epoch, or the last one without early stopping.

    snapshot_epochs_ : ndarray of int
        The epochs, counted from 1, of the snapshots.

    weights_ : ndarray of shape (n_kept, n_estimators, n_weights)
        Weights of the snapshots, `n_snapshots` of them unless the training run was
        too short for that.

    typical_contributions_ : ndarray of shape (n_features,)
        Mean contributions of the features in a sample of the training data.

    explained_by_ : {"feature_losses", "gradients"}
        Where the contributions of features come from: the module's own
        `feature_losses`, or integrated gradients.

    device_ : str
        The device that was used.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only when `X` has
        feature names that are all strings.

    See Also
    --------
    ALTBIDetector : The same with a variational autoencoder; much faster.
    skim.networks : The built-in networks.

    Notes
    -----
    The members are stacked by :func:`torch.func.vmap`, which forbids Python code that
    depends on values, such as ``if loss > 1``. Buffers are kept for each member,
    so batch normalization works. In evaluation mode, the loss of a row must be
    deterministic and independent of other rows: random numbers are for
    ``self.training``, or drawn once in the constructor and registered as a buffer. All
    this is checked before training.

    A module may have a method `feature_losses` that returns what each cell adds to
    the loss, a tensor of shape (n_rows, n_features). :meth:`explain` then returns these
    terms, and missing cells are left out of the loss. Without it, missing cells are
    replaced by ordinary ones, and :meth:`explain` returns integrated gradients [1]_,
    which add up to the difference between the loss of a row and that of a row of
    ordinary cells. `explained_by_` tells which.

    The detector can be pickled if the callable can, as those defined at the top level
    of a module can.

    References
    ----------
    .. [1] M. Sundararajan, A. Taly and Q. Yan, "Axiomatic Attribution for Deep
           Networks", International Conference on Machine Learning, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from skim import NetworkDetector
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(500, 3)), [[6.0, -6.0, 6.0]]]
    >>> detector = NetworkDetector("flow", contamination=0.005, random_state=0).fit(X)
    >>> detector.predict([[0.0, 0.0, 0.0], [6.0, -6.0, 6.0]])
    array([ 1, -1])

    A flow with fewer couplings:

    >>> from functools import partial
    >>> from skim.networks import Flow
    >>> detector = NetworkDetector(partial(Flow, n_couplings=2), random_state=0).fit(X)
    >>> int(detector.score_samples(X).argmin())
    500
    """

    _parameter_constraints: dict = {
        name: constraint
        for name, constraint in ALTBIDetector._parameter_constraints.items()
        if name not in NOT_OF_NETWORKS
    } | {
        "network": [StrOptions({"flow", "autoencoder", "vae"}), callable],
        "n_estimators": IMDetector._parameter_constraints["n_estimators"],
    }

    n_components = None  # networks see the features as they are
    _shape_name = "ModuleShape"
    _fixed_params = (*IMDetector._fixed_params, "network")

    def __init__(
        self,
        network="flow",
        *,
        n_estimators=5,
        epochs=100,
        updates_per_epoch=5,
        batch_size=128,
        batch_growth=1.03,
        max_batch_size=256,
        truncate_after=3,
        keep_quantile=0.92,
        stopping="entropy",
        min_epochs="auto",
        patience=2.5,
        burn_in=0.4,
        n_snapshots=11,
        normalize_losses=False,
        learning_rate=3e-3,
        weight_decay=5e-7,
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
        self.network = network
        self.n_estimators = n_estimators
        self.epochs = epochs
        self.updates_per_epoch = updates_per_epoch
        self.batch_size = batch_size
        self.batch_growth = batch_growth
        self.max_batch_size = max_batch_size
        self.truncate_after = truncate_after
        self.keep_quantile = keep_quantile
        self.stopping = stopping
        self.min_epochs = min_epochs
        self.patience = patience
        self.burn_in = burn_in
        self.n_snapshots = n_snapshots
        self.normalize_losses = normalize_losses
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
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
    def paper(cls, network: Any = "vae", **params: Any) -> Self:
        """Make a detector with the schedule of the original ALTBI.

        Parameters
        ----------
        network : str or callable, default="vae"
            As in the constructor.

        **params : dict
            Parameters to override.

        Returns
        -------
        detector : NetworkDetector
        """
        settings = ALTBIDetector.paper().get_params()
        for name in NOT_OF_NETWORKS:
            del settings[name]
        return cls(network, **(settings | params))

    def _shape_params(self, n_features):
        return {"network": self.network, "n_features": n_features}

    def _set_up(self, X):
        super()._set_up(X)
        try:
            pickle.dumps(self.network)
        except (pickle.PicklingError, AttributeError, TypeError):
            warnings.warn(
                f"pickle cannot store network={self.network!r}, nor this detector; "
                "define the network at the top level of a module.",
                stacklevel=5,
            )
        shape = self._shape()
        nets.check_module(shape)
        by_module = shape.has_feature_losses
        self.explained_by_ = "feature_losses" if by_module else "gradients"
