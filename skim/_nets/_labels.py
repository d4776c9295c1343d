"""What labelled rows add to the objective of a training run."""

from functools import partial

import torch

from skim._nets._memory import linear
from skim._nets._run import RowStream, low_loss_weights

CUBO_ORDER = 2  # of the upper bound of the likelihood of labelled outliers


class LabelledRows:
    """The labelled rows of a run, which leave the rows that it draws batches from."""

    def __init__(self, run, X, labels, *, inlier_weight, outlier_weight):
        labels = torch.as_tensor(labels, device=X.device)
        self._weights = {0: inlier_weight, 1: outlier_weight}
        self._streams = {
            kind: RowStream(X[labels == kind], len(run.members), run.network.generator)
            for kind in (0, 1)
            if (labels == kind).any()
        }
        unlabelled = X[labels.isnan()]
        run.draw_from(unlabelled if len(unlabelled) > 1 else X)

    def update(self, run, batch_size, *, quantile, inlier_share):
        """Take one optimiser step on the next batch and on labelled rows.

        Rows of the batch count up to a threshold: the quantile of their losses, mixed
        with the mean loss of the labelled inliers.
        """
        grad, inlier_loss = self._gradient(run.network, batch_size)
        weigh = partial(
            low_loss_weights, quantile=quantile, towards=inlier_loss, share=inlier_share
        )
        return run.update(batch_size, weigh, grad)

    def _gradient(self, network, batch_size):
        """Return the gradient of the labelled rows' terms, and the inliers' loss.

        Labelled rows are scored with the running batch statistics. Outliers enter by
        an upper bound of their likelihood, which is to become small.
        """
        shape, generator = network.shape, network.generator
        terms, inlier_loss = [], None
        with torch.inference_mode(False), torch.enable_grad():
            weights = network.weights.clone().requires_grad_()
            statistics = network.statistics.clone()
            layer = partial(linear, shape.weights.views(weights))
            for kind, stream in self._streams.items():
                x = stream.take(min(batch_size, len(stream.X))).clone()
                noise_shape = len(weights), shape.n_latent, shape.n_samples
                noise = torch.empty(noise_shape, device=x.device)
                noise.normal_(generator=generator)
                order = CUBO_ORDER if kind == 1 else 1
                losses = shape.traced_losses(layer, statistics, x, noise, order=order)
                mean = losses.mean(1, keepdim=True)
                terms.append(self._weights[kind] * (mean if kind == 0 else -mean))
                inlier_loss = mean.detach() if kind == 0 else inlier_loss
            (grad,) = torch.autograd.grad(sum(term.sum() for term in terms), weights)
        return grad, inlier_loss
