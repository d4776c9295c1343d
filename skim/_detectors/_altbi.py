"""ALTBI: truncated losses, growing batches, an ensemble over late epochs."""

import math
import warnings
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from skim import _nets as nets
from skim._detectors._partial_fit import ResumableDetector
from skim._detectors._vae_base import VAEDetector
from skim._training._stopping import Watch, best_epoch, checkpoint_epochs
from skim._utils import evenly_spaced

N_WATCHED_ROWS = 1024  # whose losses tell when to stop

# What `min_epochs="auto"` waits for: this many epochs or passes over the rows.
MIN_EPOCHS = 25
MIN_PASSES = 50


class ALTBIDetector(ResumableDetector, VAEDetector):
    """Outlier detector that memorises the inliers under a truncated loss.

    Several small variational autoencoders are trained side by side for a limited
    number of updates. After a few epochs, only the rows with the smaller losses
    of each batch train the networks, and the batches grow. Rows that are still
    poorly explained are outliers: a row's score is its negated loss, averaged over
    the members and over snapshots of the later training [1]_.

    The number of updates does not depend on the number of rows, so large tables take
    hardly longer to fit than small ones.

    Read more in the :doc:`user guide </user_guide>`.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Number of networks, trained side by side. "auto" is 10 for fewer than 500
        rows, where chance weighs more and networks cost less, and 5 for more.

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
        Controls the initial weights, the batches and the latent noise. Pass an int
        for reproducible scores.

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

    device_ : str
        The device that was used.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only when `X` has
        feature names that are all strings.

    See Also
    --------
    ODIMDetector : Stops each member where its losses separate best.
    IMAutoencoderDetector : A plain one-hidden-layer autoencoder.
    sklearn.ensemble.IsolationForest : Detector based on random trees.

    Notes
    -----
    :meth:`paper` gives the settings of the original method: one member, 50 latent
    codes, min-max scaled features, and the last 19 of 90 epochs, with normalized
    losses. When you score with labels, mind that inliers are +1 here: scikit-learn's
    "roc_auc" with outliers labelled 1 gives one minus the area.

    References
    ----------
    .. [1] S. Cho, J. Hwang, K.-Y. Bak and D. Kim, "ALTBI: Constructing Improved Outlier
           Detection Models via Optimization of Inlier-Memorization Effect", AAAI
           Conference on Artificial Intelligence, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skim import ALTBIDetector
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(200, 3)), [[6.0, -6.0, 6.0]]]
    >>> detector = ALTBIDetector(contamination=0.005, random_state=0).fit(X)
    >>> detector.predict([[0.0, 0.0, 0.0], [6.0, -6.0, 6.0]])
    array([ 1, -1])
    """

    _parameter_constraints: dict = {
        **VAEDetector._parameter_constraints,
        **ResumableDetector._parameter_constraints,
        "n_estimators": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "updates_per_epoch": [Interval(Integral, 1, None, closed="left")],
        "batch_growth": [Interval(Real, 1, None, closed="left")],
        "max_batch_size": [Interval(Integral, 2, None, closed="left")],
        "truncate_after": [Interval(Integral, 0, None, closed="left")],
        "keep_quantile": [Interval(Real, 0, 1, closed="right")],
        "min_epochs": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "patience": [Interval(Real, 1, None, closed="neither"), None],
        "burn_in": [Interval(Real, 0, 1, closed="left")],
        "n_snapshots": [Interval(Integral, 1, None, closed="left")],
        "normalize_losses": ["boolean"],
    }

    _fixed_in_fit: tuple = ("stopping", "min_epochs", "normalize_losses")

    def __init__(
        self,
        *,
        n_estimators="auto",
        n_importance=1,
        max_width=128,
        n_components="auto",
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
        self.n_estimators = n_estimators
        self.n_importance = n_importance
        self.max_width = max_width
        self.n_components = n_components
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
    def paper(cls, **params: Any) -> Self:
        """Make a detector with the settings of the original method.

        Parameters
        ----------
        **params : dict
            Parameters to override, for example
            ``ALTBIDetector.paper(ema_steps=50)`` for the warm-up.

        Returns
        -------
        detector : ALTBIDetector
        """
        settings = {
            "n_estimators": 1,
            "n_importance": 50,
            "max_width": 512,
            "n_components": None,
            "epochs": 90,
            "max_batch_size": 20_000,
            "truncate_after": 10,
            "stopping": None,
            "min_epochs": 25,
            "patience": None,
            "burn_in": 71 / 90,
            "n_snapshots": 19,
            "normalize_losses": True,
            "learning_rate": 1e-3,
            "scaling": "minmax",
        }
        return cls(**(settings | params))

    def _train(self, run, history):
        criterion = []  # of every epoch; NaN where it is not evaluated
        if self.stopping is None:
            watch, checkpoints = None, self._snapshot_epochs(self.epochs)
        else:
            checkpoints = checkpoint_epochs(self.epochs)
            watch = Watch(self.stopping, run, N_WATCHED_ROWS)
            # As it was for the rows that a resumed run began with.
            earliest = run.carried.setdefault(
                "watched_from", self._earliest_end(run.n_rows)
            )
        states = {}
        if run.n_epochs:
            criterion = self.history_["criterion"].tolist()
            past = sorted({*checkpoints, self.epochs} & set(range(run.n_epochs + 1)))
            states = {epoch: run.stages.state(epoch - 1) for epoch in past}
            if watch is not None and self._is_over(criterion):
                warnings.warn(
                    f"Training already stopped at epoch {run.n_epochs}; increase "
                    "`patience` to continue.",
                    stacklevel=5,
                )
        for epoch in range(run.n_epochs + 1, self.epochs + 1):
            if watch is not None and self._is_over(criterion):
                reason = f"no better epoch than {best_epoch(criterion)}"
                history.ended_because = f"{reason}; patience={self.patience}"
                break
            for _ in range(self.updates_per_epoch):
                losses = self._update(run, epoch)
            run.check_finite(losses)
            run.n_epochs = epoch
            value = np.nan
            if watch is not None and epoch >= earliest and epoch in checkpoints:
                value = watch.judge(run, run.losses(watch.rows), together=True)
            criterion.append(float(value))
            stop = history.record(
                epoch, run.n_updates, losses.shape[1], losses, criterion[-1]
            )
            if run.stages is not None:
                run.stages.put(run.members, *run.state())
                run.stages.end_stage()
            if stop or epoch in checkpoints or epoch == self.epochs:
                states[epoch] = run.state()
                if watch is not None:
                    states = self._still_needed(states, criterion)
            if stop:
                break
        kept = list(states)
        if watch is not None:
            kept = self._snapshots_until(best_epoch(criterion))
        self.snapshot_epochs_ = np.array(kept)
        self.best_epoch_ = int(kept[-1])
        run.snapshots = [states[epoch] for epoch in kept]

    def _update(self, run, epoch):
        weigh = None
        if epoch > self.truncate_after and self.keep_quantile < 1:
            weigh = partial(nets.low_loss_weights, quantile=self.keep_quantile)
        return run.update(self._batch_size_of(epoch), weigh)

    def _batch_size_of(self, epoch):
        """Return the batch size of an epoch, counted from 1."""
        limit = max(self.max_batch_size, self.batch_size)
        n_growths = max(epoch - 1 - self.truncate_after, 0)
        if n_growths * math.log(self.batch_growth) > math.log(limit / self.batch_size):
            return limit
        return int(self.batch_size * self.batch_growth**n_growths)

    def _earliest_end(self, n_rows):
        """Return the first epoch that the stopping criterion may choose."""
        if self.min_epochs != "auto":
            return self.min_epochs
        n_seen = 0
        for epoch in range(1, MIN_EPOCHS + 1):
            n_seen += self.updates_per_epoch * min(self._batch_size_of(epoch), n_rows)
            if n_seen >= MIN_PASSES * n_rows:
                break
        return max(epoch, self.truncate_after + 1)

    def _is_over(self, criterion):
        """Whether training has waited long enough for a better epoch than the best."""
        if self.patience is None or np.isnan(criterion).all():
            return False
        return len(criterion) >= self.patience * best_epoch(criterion)

    def _snapshot_epochs(self, epochs):
        """Return the epochs whose snapshots count if there is no criterion."""
        first = min(round(self.burn_in * epochs) + 1, epochs)
        n_snapshots = min(self.n_snapshots, epochs - first + 1)
        if n_snapshots == 1:
            return [epochs]
        return np.linspace(first, epochs, n_snapshots).round().astype(int).tolist()

    def _snapshots_until(self, best):
        """Return the epochs whose snapshots count if `best` is the best one."""
        epochs = sorted({*checkpoint_epochs(best), best})
        epochs = [epoch for epoch in epochs if epoch > self.burn_in * best]
        if self.n_snapshots == 1:
            return [best]
        return [epochs[i] for i in evenly_spaced(len(epochs), self.n_snapshots)]

    def _still_needed(self, states, criterion):
        """Return the states that count now, or may count later."""
        now = self._snapshots_until(best_epoch(criterion))
        early = self.burn_in * len(criterion)
        return {e: state for e, state in states.items() if e in now or e > early}

    def _kept_stages(self, stage):
        if stage == len(self._stages["index"]) - 1:
            epochs = self.snapshot_epochs_
        elif self.stopping is None:
            epochs = self._snapshot_epochs(stage + 1)
        else:
            best = best_epoch(self.history_["criterion"][: stage + 1])
            epochs = self._snapshots_until(best)
        return [int(epoch) - 1 for epoch in epochs]
