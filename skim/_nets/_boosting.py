"""Labels that enter the training of the networks, after the published IMBoost."""

from collections import deque
from functools import partial

import numpy as np
import torch

from skim._nets._memory import linear, outside_compute
from skim._nets._run import RowStream, low_loss_weights
from skim._nets._scoring import snapshot_losses
from skim._nets._vae import StackedVAE

N_RECENT_EPOCHS = 10  # whose losses say which rows to ask about
CUBO_ORDER = 2  # of the upper bound of the likelihood of labelled outliers
WEIGHTS = {0: 2.0, 1: -1.0}  # of the losses of labelled inliers and outliers
INLIER_SHARE = 0.4  # how far truncation moves to the mean loss of labelled inliers


class Boosting:
    """The labels of one training run: when they enter it, and when to ask for more."""

    def __init__(self, schedule, run, epochs):
        has_labels = schedule.labels is not None or schedule.ask is not None
        if has_labels and not isinstance(run.network, StackedVAE):
            raise ValueError(
                "IMBoostSchedule can learn labels with network='vae' or VAEConfig "
                "only; use another schedule, or no labels."
            )
        self.schedule = schedule
        self.epochs = epochs
        self.labels = schedule.labels
        self.rows = run.all_rows()
        self._streams: dict = {}  # of the labelled rows of each kind, once in use
        self._epoch = 0
        self._recent: deque = deque(maxlen=N_RECENT_EPOCHS)

    def update(self, run, epoch):
        """Take one step of an epoch, counted from 1; return the losses of the batch.

        Rows of the batch count up to a threshold: the quantile of their losses, mixed
        with the mean loss of the labelled inliers.
        """
        schedule = self.schedule
        if epoch > self._epoch:
            self._epoch = epoch
            self._begin(run, epoch - 1 - schedule.warm_up)
        if not self._streams:
            return schedule.update(run, epoch)
        batch_size = schedule.batch_size_of(epoch)
        grad, inlier_loss = self._gradient(run.network, batch_size)
        is_truncated = epoch > schedule.truncate_after
        weigh = partial(
            low_loss_weights,
            quantile=schedule.keep_quantile if is_truncated else 1.0,
            towards=inlier_loss,
            share=INLIER_SHARE,
        )
        return run.update(batch_size, weigh, grad)

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
            losses = self._recent_losses(run)
            with outside_compute():
                self.labels = schedule.ask(losses)
            self._use_labels(run)

    def _recent_losses(self, run):
        """Return the mean losses, (n,), of all rows over the recent epochs."""
        weights, statistics = map(np.stack, zip(*self._recent, strict=True))
        by_epoch = snapshot_losses(
            run.network.shape,
            weights,
            statistics,
            None if run.noise is None else run.noise.cpu().numpy(),
            self.rows,
            device=run.device,
        )
        return np.mean([losses.mean(axis=0) for losses, _ in by_epoch], axis=0)

    def _use_labels(self, run):
        """Draw batches of unlabelled rows and of each kind of label from now on."""
        if self.labels is None:
            return
        labels = torch.as_tensor(self.labels, device=self.rows.device)
        n_members, generator = len(run.members), run.network.generator
        self._streams = {
            kind: RowStream(self.rows[labels == kind], n_members, generator)
            for kind in (0, 1)
            if (labels == kind).any()
        }
        unlabelled = self.rows[labels.isnan()]
        run.draw_from(unlabelled if len(unlabelled) > 1 else self.rows)

    def _gradient(self, network, batch_size):
        """Return the gradient of the labelled rows' terms, and the inliers' loss.

        Labelled rows are scored with the running batch statistics. Outliers enter by
        an upper bound of their likelihood, which is to become small.
        """
        shape = network.shape
        terms, inlier_loss = [], None
        with outside_compute(), torch.enable_grad():
            weights = network.weights.clone().requires_grad_()
            statistics = network.statistics.clone()
            layer = partial(linear, shape.weights.views(weights))
            for kind, stream in self._streams.items():
                x = stream.take(min(batch_size, len(stream.X))).clone()
                noise_shape = len(weights), shape.n_latent, shape.n_samples
                noise = torch.empty(noise_shape, device=x.device)
                noise.normal_(generator=network.generator)
                order = CUBO_ORDER if kind == 1 else 1
                losses = shape.traced_losses(layer, statistics, x, noise, order=order)
                mean = losses.mean(1, keepdim=True)
                terms.append(WEIGHTS[kind] * mean)
                inlier_loss = mean.detach() if kind == 0 else inlier_loss
            (grad,) = torch.autograd.grad(sum(term.sum() for term in terms), weights)
        return grad, inlier_loss
