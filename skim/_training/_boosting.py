"""The published IMBoost: labels that enter the training of the networks."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real

import numpy as np

from skim import _nets as nets
from skim._training._schedules import ALTBISchedule, Schedule
from skim._utils import parameter


@dataclass(kw_only=True, repr=False)
class IMBoostSchedule(ALTBISchedule):
    """The schedule of ALTBI, with labels that enter the training after a warm-up.

    Other parameters are those of :class:`ALTBISchedule`, except that `burn_in` is 0.5,
    so that snapshots are taken after labels have entered.

    Parameters
    ----------
    warm_up : int, default=50
        Number of epochs after which labels enter the training of the networks.

    labels : ndarray of shape (n_samples,) or None, default=None
        1 for outliers, 0 for inliers, NaN where unknown; set by
        :class:`~skim.IMBoostDetector`.

    ask : callable or None, default=None
        Called at even intervals after the warm-up with the losses of all rows; returns
        the labels known from then on.

    n_rounds : int, default=5
        Number of times that `ask` is called.
    """

    burn_in: float = parameter(0.5, Real, 0, math.nextafter(1, 0))
    warm_up: int = parameter(50, Integral, 1)
    labels: np.ndarray | None = None
    ask: Callable | None = None
    n_rounds: int = 5

    def validate(self, epochs, stopping):
        super().validate(epochs, stopping)
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
        return nets.Boosting(self, run, epochs).update
