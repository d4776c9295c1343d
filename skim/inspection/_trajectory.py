"""The losses of all rows while a detector trains."""

from dataclasses import dataclass, field
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils._param_validation import Interval, validate_params

from skim._detectors._base import BaseDetector
from skim._training._criteria import thinned
from skim._training._mixture import separation
from skim._training._train import QUANTILES
from skim._utils import outlier_mask


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


@validate_params(
    {"threshold": [Interval(Real, 0, 1, closed="neither")]},
    prefer_skip_nested_validation=True,
)
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
        Both ends are inclusive. Among runs of equal length, it is the first one.

    Examples
    --------
    >>> from skim.inspection import im_window
    >>> im_window([0.5, 0.92, 0.95, 0.8, 0.91])
    IMWindow(start=1, stop=2, length=2)
    >>> im_window([0.5, 0.6])
    IMWindow(start=None, stop=None, length=0)
    """
    values = column_or_1d(auroc)
    epochs = np.arange(len(values)) if epochs is None else np.asarray(epochs)
    check_consistent_length(values, epochs)
    inside = np.r_[False, values >= threshold, False]
    starts, ends = np.flatnonzero(inside[1:] != inside[:-1]).reshape(-1, 2).T
    if len(starts) == 0:
        return IMWindow(None, None, 0)
    longest = np.argmax(ends - starts)
    start, end = starts[longest], ends[longest]
    return IMWindow(int(epochs[start]), int(epochs[end - 1]), int(end - start))


@dataclass(frozen=True)
class Trajectory:
    """The losses of all rows over a training run.

    Each element, or row, of the arrays belongs to one entry: an epoch, or a check of
    :class:`~skim.ODIMDetector`. What depends on labels is None without them.

    Attributes
    ----------
    epoch, update, batch_size : ndarray of int of shape (n_entries,)
        Number of epochs and updates so far, and of rows in the latest batch.
    separation : ndarray of shape (n_entries,)
        How well the losses separate; see :func:`skim.metrics.separation`.
    levels : ndarray of shape (n_levels,)
        Levels of the quantiles.
    quantiles : ndarray of shape (n_entries, n_levels)
        Quantiles of the losses of all rows.
    inlier_quantiles, outlier_quantiles : ndarray of shape (n_entries, n_levels)
        The same of the inliers and of the outliers alone.
    auroc, auprc : ndarray of shape (n_entries,)
        Area under the ROC curve, and average precision, with outliers as the
        positive class.
    losses : ndarray of shape (n_entries, n_samples)
        The losses themselves, with ``store_losses=True``.
    detector : BaseDetector
        The fitted detector.
    """

    epoch: np.ndarray
    update: np.ndarray
    batch_size: np.ndarray
    separation: np.ndarray
    levels: np.ndarray
    quantiles: np.ndarray
    detector: BaseDetector = field(repr=False)
    inlier_quantiles: np.ndarray | None = None
    outlier_quantiles: np.ndarray | None = None
    auroc: np.ndarray | None = None
    auprc: np.ndarray | None = None
    losses: np.ndarray | None = field(default=None, repr=False)


def trajectory(
    detector: BaseDetector,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    store_losses: bool = False,
) -> Trajectory:
    """Train a detector once and record the losses of all rows.

    After every epoch, each row gets its mean loss over the members being trained, of
    which the final score combines several snapshots. Nothing is recorded after early
    stopping; ``ALTBIDetector(schedule=ALTBISchedule(patience=None))`` shows all epochs.

    Parameters
    ----------
    detector : ALTBIDetector, ODIMDetector, IMAutoencoderDetector or NetworkDetector
        A clone of it is fitted.

    X : array-like of shape (n_samples, n_features)
        The data, outliers included.

    y : array-like of shape (n_samples,), default=None
        Labels, for evaluation only: 0/1 with outliers as 1, or +1/-1 with outliers
        as -1.

    store_losses : bool, default=False
        Whether to keep the losses of all rows after every epoch; of more than a
        million rows, those of the sample ``detector.training_rows_``.

    Returns
    -------
    trajectory : Trajectory

    Examples
    --------
    >>> from skim import ALTBIDetector
    >>> from skim.datasets import load_wine_outliers
    >>> from skim.inspection import trajectory
    >>> X, y = load_wine_outliers(return_X_y=True)
    >>> detector = ALTBIDetector(epochs=30, stopping=None, random_state=0)
    >>> path = trajectory(detector, X, y)
    >>> path.auroc.shape
    (30,)
    >>> bool(path.auroc.max() > 0.9)
    True
    """
    if not isinstance(detector, BaseDetector):
        raise TypeError(
            f"trajectory needs a detector of skim, not {type(detector).__name__}."
        )
    is_outlier = None if y is None else outlier_mask(y, np.shape(X)[0])
    entries = []

    def record(model, rows):
        losses, known = model.losses(rows), is_outlier
        if known is not None and model.training_rows is not None:
            known = known[model.training_rows]
        entry = {
            "separation": separation(thinned(losses)),
            "quantiles": np.quantile(losses, QUANTILES),
        }
        if known is not None:
            entry["inlier_quantiles"] = np.quantile(losses[~known], QUANTILES)
            entry["outlier_quantiles"] = np.quantile(losses[known], QUANTILES)
            entry["auroc"] = roc_auc_score(known, losses)
            entry["auprc"] = average_precision_score(known, losses)
        if store_losses:
            entry["losses"] = losses.astype(np.float32)
        entries.append(entry)

    fitted = clone(detector).fit(X, observe=record)
    return Trajectory(
        **{name: fitted.history_[name] for name in ("epoch", "update", "batch_size")},
        **{name: np.array([entry[name] for entry in entries]) for name in entries[0]},
        levels=np.array(QUANTILES),
        detector=fitted,
    )
