"""The window of epochs that shows the inlier-memorization effect."""

from __future__ import annotations

from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_scalar


class IMWindow(NamedTuple):
    """The longest run of epochs in which losses distinguish outliers from inliers.

    Attributes
    ----------
    start, stop : int or None
        First and last epoch of the window, T1 and T2; None if there is no window.
    length : int
        Number of epochs in the window; 0 if there is no window.
    """

    start: int | None
    stop: int | None
    length: int


def im_window(
    auroc: ArrayLike, threshold: float = 0.9, *, epochs: ArrayLike | None = None
) -> IMWindow:
    """Find the longest run of epochs whose AUROC reaches a threshold.

    Parameters
    ----------
    auroc : array-like of shape (n_epochs,)
        The AUROC after each epoch. A NaN counts as below the threshold.

    threshold : float, default=0.9
        Smallest AUROC inside the window, in (0, 1).

    epochs : array-like of shape (n_epochs,), default=None
        Epoch numbers. By default, they start from 0.

    Returns
    -------
    window : IMWindow
        Named tuple of `start`, `stop` and `length`. Both ends are inclusive, so a
        single epoch is a window of length 1. Among runs of equal length, the first
        one is returned. A window that ends with the last epoch might have continued.

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
        raise ValueError(
            f"auroc must be one-dimensional, but its shape is {values.shape}."
        )
    epochs = np.arange(len(values)) if epochs is None else np.asarray(epochs)
    if len(epochs) != len(values):
        raise ValueError(
            f"epochs has {len(epochs)} elements, but auroc has {len(values)}."
        )
    inside = np.r_[False, values >= threshold, False]
    starts, ends = np.flatnonzero(inside[1:] != inside[:-1]).reshape(-1, 2).T
    if len(starts) == 0:
        return IMWindow(None, None, 0)
    longest = np.argmax(ends - starts)
    start, end = starts[longest], ends[longest]
    return IMWindow(int(epochs[start]), int(epochs[end - 1]), int(end - start))


def check_threshold(threshold):
    """Raise unless the threshold is a number in (0, 1)."""
    check_scalar(threshold, "threshold", Real)
    if not 0 < threshold < 1:
        raise ValueError(f"threshold must be in (0, 1), not {threshold}.")
