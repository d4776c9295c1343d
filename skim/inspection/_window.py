"""The window of epochs in which the effect shows."""

from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_scalar


class IMWindow(NamedTuple):
    """The longest time for which outliers are told from inliers.

    Attributes
    ----------
    start, stop : int or None
        The first and the last epoch of the window, T1 and T2; None if there is no
        window.
    length : int
        Number of epochs in the window, 0 if there is none.
    """

    start: int | None
    stop: int | None
    length: int


def im_window(auroc, threshold=0.9, *, epochs=None):
    """Find the longest run of epochs with an AUROC of at least a threshold.

    Parameters
    ----------
    auroc : array-like of shape (n_epochs,)
        The AUROC after each epoch. A NaN counts as below the threshold.

    threshold : float, default=0.9
        In (0, 1).

    epochs : array-like of shape (n_epochs,), default=None
        The number of each epoch. By default they are counted from 0.

    Returns
    -------
    window : IMWindow
        Named tuple of `start`, `stop` and `length`. Both ends belong to the
        window, so one epoch is a window of length 1. Of several longest runs the
        earliest counts. A window that is open at the end stops at the last epoch;
        it might have gone on.

    Examples
    --------
    >>> from skim.inspection import im_window
    >>> im_window([0.5, 0.92, 0.95, 0.8, 0.91])
    IMWindow(start=1, stop=2, length=2)
    >>> im_window([0.5, 0.6])
    IMWindow(start=None, stop=None, length=0)
    """
    check_threshold(threshold)
    values = np.asarray(auroc, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError("auroc must have one value an epoch, in one dimension.")
    epochs = np.arange(len(values)) if epochs is None else np.asarray(epochs)
    if len(epochs) != len(values):
        raise ValueError(f"There are {len(epochs)} epochs for {len(values)} values.")
    inside = np.r_[False, values >= threshold, False]
    starts, ends = np.flatnonzero(inside[1:] != inside[:-1]).reshape(-1, 2).T
    if len(starts) == 0:
        return IMWindow(None, None, 0)
    longest = np.argmax(ends - starts)
    start, end = starts[longest], ends[longest]
    return IMWindow(int(epochs[start]), int(epochs[end - 1]), int(end - start))


def check_threshold(threshold):
    """Raise unless it is a number in (0, 1)."""
    check_scalar(threshold, "threshold", Real)
    if not 0 < threshold < 1:
        raise ValueError(f"threshold must be in (0, 1), not {threshold}.")
