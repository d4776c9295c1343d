"""The published IMBoost: labels that enter the training of the networks."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real

import numpy as np

from skim import _nets as nets
from skim._training._schedules import ALTBISchedule, Schedule

N_RECENT_EPOCHS = 10  # whose losses say which rows to ask about


@dataclass(kw_only=True, repr=False)
class IMBoostSchedule(ALTBISchedule):
    """The schedule of ALTBI, with labels that enter the training after a warm-up.

    Parameters
    ----------
    learning_rate, weight_decay, updates_per_epoch, batch_size, batch_growth, \
            max_batch_size, truncate_after, keep_quantile, min_epochs, patience, \
            burn_in, n_snapshots, normalize_losses
        As in :class:`ALTBISchedule`.

    warm_up : int, default=50
        Number of epochs after which labels enter the training of the networks.

    inlier_weight : float, default=2.0
        Weight of the loss of labelled inliers.

    outlier_weight : float, default=1.0
        Weight of the likelihood of labelled outliers, which is made small.

    inlier_share : float, default=0.4
        How far the truncation moves from the quantile of the batch's losses to the mean
        loss of labelled inliers.

    labels : ndarray of shape (n_samples,) or None, default=None
        1 for outliers, 0 for inliers, NaN where unknown; set by
        :class:`~skim.IMBoostDetector`.

    ask : callable or None, default=None
        Called at even intervals after the warm-up with the losses of all rows; returns
        the labels known from then on.

    n_rounds : int, default=5
        Number of times that `ask` is called.
    """

    warm_up: int = 50
    inlier_weight: float = 2.0
    outlier_weight: float = 1.0
    inlier_share: float = 0.4
    labels: np.ndarray | None = None
    ask: Callable | None = None
    n_rounds: int = 5

    def validate(self, epochs, stopping):
        super().validate(epochs, stopping)
        self.check("warm_up", Integral, 1)
        self.check("inlier_weight", Real, 0)
        self.check("outlier_weight", Real, 0)
        self.check("inlier_share", Real, 0, 1)
        if stopping is not None:
            raise ValueError(
                "IMBoostSchedule needs stopping=None: training must not end before "
                "labels are used."
            )
        if self.warm_up >= epochs:
            raise ValueError(
                f"warm_up={self.warm_up} leaves no epoch for labels; it must be less "
                f"than epochs={epochs}."
            )

    def settings(self):
        """Return a copy without labels and questions."""
        return replace(self, labels=None, ask=None)

    for_clean_data = Schedule.for_clean_data  # refuses it: there is nothing to ask

    def start(self, run, epochs):
        return _Boosting(self, run, epochs).update


class _Boosting:
    """The labels of one training run: when they enter it, and when to ask for more."""

    def __init__(self, schedule, run, epochs):
        has_labels = schedule.labels is not None or schedule.ask is not None
        if has_labels and not isinstance(run.network, nets.StackedVAE):
            raise ValueError(
                "IMBoostSchedule can learn labels with network='vae' or VAEConfig "
                "only; use another schedule, or no labels."
            )
        self.schedule = schedule
        self.epochs = epochs
        self.labels = schedule.labels
        self.rows = run.all_rows()
        self._labelled = None  # the labelled rows, once they are used
        self._epoch = 0
        self._recent: deque = deque(maxlen=N_RECENT_EPOCHS)

    def update(self, run, epoch):
        """Take one step of an epoch, counted from 1; return the losses of the batch."""
        schedule = self.schedule
        if epoch > self._epoch:
            self._epoch = epoch
            self._begin(run, epoch - 1 - schedule.warm_up)
        if self._labelled is None:
            return schedule.update(run, epoch)
        is_truncated = epoch > schedule.truncate_after
        return self._labelled.update(
            run,
            schedule.batch_size_of(epoch),
            quantile=schedule.keep_quantile if is_truncated else 1.0,
            inlier_share=schedule.inlier_share,
        )

    def _begin(self, run, n_epochs):
        """Prepare the next epoch, `n_epochs` after the warm-up."""
        schedule = self.schedule
        if schedule.ask is not None:
            self._recent.append(run.state())
        if n_epochs == 0:
            self._use_labels(run)
        if schedule.ask is None or n_epochs < 0:
            return
        interval = max((self.epochs - schedule.warm_up) // schedule.n_rounds, 1)
        if n_epochs % interval == 0 and n_epochs // interval < schedule.n_rounds:
            losses = run.mean_losses(self.rows, self._recent)
            with nets.outside_compute():
                self.labels = schedule.ask(losses)
            self._use_labels(run)

    def _use_labels(self, run):
        if self.labels is not None:
            self._labelled = nets.LabelledRows(
                run,
                self.rows,
                self.labels,
                inlier_weight=self.schedule.inlier_weight,
                outlier_weight=self.schedule.outlier_weight,
            )
