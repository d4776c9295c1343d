"""ODIM: stop each member where its losses separate best."""

import math
from itertools import product
from numbers import Integral
from typing import Any, Self

from sklearn.utils._param_validation import Interval

from skim._detectors._vae_base import VAEDetector
from skim._training._stopping import BestStates, Watch

MAX_UPDATES_BETWEEN_CHECKS = 10
N_WATCHED_ROWS = 256  # whose losses tell when to stop, unless the batch's do


class ODIMDetector(VAEDetector):
    """Outlier detector that stops training where the losses separate best.

    Several small variational autoencoders are trained side by side. Every few
    updates, a mixture of two Gaussians is fitted to the losses of the current
    batch; the distance between its components tells, without labels, how well
    inliers and outliers are separated. Each member is kept at its best update,
    and a row's score is its negated loss, averaged over the members [1]_.

    Read more in the :doc:`user guide </user_guide>`.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of networks, trained side by side.

    n_importance : int, default=1
        Number of latent codes drawn per row and update. With 1, rows are scored
        at the mean of their code.

    max_width : int, default=128
        Largest width of the networks. Up to this limit, their first block has 32
        units for fewer than 100 features, 128 for fewer than 400, 256 for fewer than
        1500 and 512 beyond; the second block has half and the latent code a
        quarter of that.

    n_components : int, "auto" or None, default="auto"
        Largest number of principal components that the networks see instead of the
        features; there is at most one for every three rows. "auto" means 128 for
        tables of 200 or more features, and None for narrower ones; None disables the
        reduction. Components are min-max scaled, whatever `scaling` is.

    epochs : int, default=1000
        Largest number of passes over the data. Most members stop much earlier.

    batch_size : int, default=64
        Rows per batch.

    stopping : str or None, default="separation"
        Early-stopping criterion: "separation", "entropy", "cohesion", "excess_mass",
        "mass_volume" or None. Each member is kept where its losses are best by this
        criterion of :mod:`skim.metrics`; None means at the end. The separation is
        that of the current batch; all others are evaluated on a fixed sample of rows.

    patience_updates : int, default=300
        Number of updates without improvement after which a member stops. It has no
        effect if `stopping` is None.

    learning_rate : float, default=1e-3
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

    random_state : int, RandomState instance or None, default=None
        Controls the initial weights, the batches and the latent noise. Pass an int
        for reproducible scores.

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
        Whether to show progress on standard error.

    Attributes
    ----------
    offset_ : float
        Threshold: ``decision_function = score_samples - offset_``.

    training_scores_ : ndarray of shape (n_samples,)
        Scores of the training data, as `score_samples` returns them; of the rows
        `training_rows_` if there are more than a million.

    training_rows_ : ndarray of shape (n_sampled,) or None
        Of more than a million rows, 200,000 are drawn at random, which train the
        networks and set the threshold; all rows set the scaling. These are their
        indices, in the order of `training_scores_`. None for smaller tables.

    best_updates_ : ndarray of shape (n_estimators,)
        The update after which each member was kept.

    history_ : dict of str to ndarray
        Record of the training run, with one element per check: "epoch", "update",
        "batch_size", the quantiles of the losses "loss_q05", "loss_q25", "loss_q50",
        "loss_q75" and "loss_q95", and the "criterion" for early stopping, averaged
        over the members still being trained.
        ``pandas.DataFrame(detector.history_)`` makes it a table.

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
    ALTBIDetector : Trains under a truncated loss; usually more accurate.
    IMAutoencoderDetector : The same stopping rule on a plain autoencoder.

    Notes
    -----
    :meth:`paper` gives the settings of the original method: ten members, 50 latent
    codes, min-max scaled features and a patience of 100 updates. The original sums
    the members' losses where this class averages them, which gives the same ranking.

    References
    ----------
    .. [1] D. Kim, J. Hwang, J. Lee, K. Kim and Y. Kim, "ODIM: Outlier Detection via
           Likelihood of Under-fitted Generative Models", International Conference
           on Machine Learning, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from skim import ODIMDetector
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(200, 3)), [[6.0, -6.0, 6.0]]]
    >>> detector = ODIMDetector(contamination=0.005, random_state=0).fit(X)
    >>> detector.predict([[0.0, 0.0, 0.0], [6.0, -6.0, 6.0]])
    array([ 1, -1])
    """

    _parameter_constraints: dict = {
        **VAEDetector._parameter_constraints,
        "patience_updates": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        n_estimators=10,
        n_importance=1,
        max_width=128,
        n_components="auto",
        epochs=1000,
        batch_size=64,
        stopping="separation",
        patience_updates=300,
        learning_rate=1e-3,
        weight_decay=5e-7,
        scaling="squash",
        ema_steps=0,
        ema_decay=0.999,
        contamination="auto",
        random_state=None,
        n_jobs=None,
        device="cpu",
        store_stages=False,
        verbose=0,
    ):
        self.n_estimators = n_estimators
        self.n_importance = n_importance
        self.max_width = max_width
        self.n_components = n_components
        self.epochs = epochs
        self.batch_size = batch_size
        self.stopping = stopping
        self.patience_updates = patience_updates
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.scaling = scaling
        self.ema_steps = ema_steps
        self.ema_decay = ema_decay
        self.contamination = contamination
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.store_stages = store_stages
        self.verbose = verbose

    @classmethod
    def paper(cls, **params: Any) -> Self:
        """Make a detector with the settings of the original method.

        Parameters
        ----------
        **params : dict
            Parameters to override, for example
            ``ODIMDetector.paper(ema_steps=50)`` for the warm-up.

        Returns
        -------
        detector : ODIMDetector
        """
        settings = {
            "n_importance": 50,
            "max_width": 512,
            "n_components": None,
            "patience_updates": 100,
            "scaling": "minmax",
        }
        return cls(**(settings | params))

    _entries_are_epochs = False

    def _update(self, run, epoch):
        return run.update(self.batch_size)

    def _train(self, run, history):
        batches_per_epoch = max(run.n_rows // self.batch_size, 1)
        check_every = min(MAX_UPDATES_BETWEEN_CHECKS, batches_per_epoch)
        patience = check_every * math.ceil(self.patience_updates / check_every)
        by_batch = self.stopping in ("separation", None)
        n_watched = None if by_batch else N_WATCHED_ROWS
        watch = Watch(self.stopping or "separation", run, n_watched)
        best = BestStates(run, watch, history, by_time=self.stopping is None)
        schedule = product(range(1, self.epochs + 1), range(1, batches_per_epoch + 1))
        for epoch, batch in schedule:
            self._update(run, epoch)
            if batch % check_every:
                continue
            if by_batch:
                watch.rows = run.batch
            best.add(
                run,
                run.n_updates,
                epoch=epoch,
                update=run.n_updates,
                batch_size=watch.rows.shape[-1],
            )
            if (run.n_updates - best.moments[run.members]).max() >= patience:
                best.judge(run)
            hopeful = run.n_updates - best.moments[run.members] < patience
            if best.stop:
                break
            if not hopeful.any():
                patience = f"patience_updates={self.patience_updates}"
                history.ended_because = f"no member improved; {patience}"
                break
            if not hopeful.all():
                run.select(hopeful)
        best.finish(run)
        self.best_updates_ = best.moments
