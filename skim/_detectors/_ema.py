"""The moving-average warm-up of the initial weights."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval


class EMAWarmStart:
    r"""Mixin that starts training from an average of early weights.

    From the initial weights :math:`W_0`, `ema_steps` ordinary updates are made
    while an exponential moving average of the weights is kept,

    .. math:: \bar W_t = d\,\bar W_{t-1} + (1 - d)\,W_t, \qquad \bar W_0 = W_0,

    with the decay :math:`d` given by `ema_decay`. The average becomes the initial
    weights of the main training run, which starts with a fresh optimiser. Averaging
    dampens the effect of single batches, and so of single outliers, on the weights,
    while what most batches agree on remains [1]_.

    All detectors that train networks themselves have it. To add it to a detector of
    your own, inherit from the mixin, take `ema_steps` and `ema_decay` in the
    constructor and call `ema_warm_up` before the main training run.

    Parameters
    ----------
    ema_steps : int
        Number of updates of the warm-up; 0 disables it. The paper uses 50.

    ema_decay : float
        Decay of the average, in (0, 1). The paper uses 0.999.

    References
    ----------
    .. [1] K. Kim and D. Kim, "What Drives the Inlier-Memorization Effect? A Theory
           of Outlier Detection via Early Training Dynamics", 2026.

    Examples
    --------
    A detector that fits the mean of the data by gradient descent:

    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator, OutlierMixin
    >>> from skim import EMAWarmStart
    >>> class MeanDetector(EMAWarmStart, OutlierMixin, BaseEstimator):
    ...     def __init__(self, *, ema_steps=50, ema_decay=0.9):
    ...         self.ema_steps = ema_steps
    ...         self.ema_decay = ema_decay
    ...
    ...     def fit(self, X, y=None):
    ...         self.mean_ = np.zeros(X.shape[1])
    ...
    ...         def update():
    ...             self.mean_ += 0.1 * (X - self.mean_).mean(axis=0)
    ...
    ...         self.ema_warm_up(self.mean_, update)
    ...         for _ in range(10):
    ...             update()
    ...         return self
    >>> X = np.full((5, 2), 3.0)
    >>> MeanDetector().fit(X).mean_.round(1)
    array([3., 3.])
    """

    ema_steps: int
    ema_decay: float

    _parameter_constraints: dict = {
        "ema_steps": [Interval(Integral, 0, None, closed="left")],
        "ema_decay": [Interval(Real, 0, 1, closed="neither")],
    }

    def ema_warm_up(self, weights: Any, update: Callable[[], Any]) -> None:
        """Run the warm-up and leave the averaged weights in `weights`.

        Parameters
        ----------
        weights : ndarray or Tensor
            The trainable weights, which `update` changes in place. For a network
            with several parameters, pass one flat tensor that they are views of.
        update : callable
            Makes one training update; called without arguments.
        """
        if self.ema_steps == 0:
            return
        if hasattr(weights, "detach"):
            weights = weights.detach()  # a view that is outside of any graph
        average = weights + 0
        for _ in range(self.ema_steps):
            update()
            average *= self.ema_decay
            average += (1 - self.ema_decay) * weights
        weights[...] = average
