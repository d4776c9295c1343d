"""The losses of all rows while a detector trains."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.pipeline import Pipeline

from skim._detectors._base import BaseDetector
from skim._training._criteria import thinned
from skim._training._mixture import separation
from skim._training._train import QUANTILES
from skim._utils import import_pandas, outlier_mask
from skim.inspection._window import IMWindow, im_window

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Trajectory:
    """The losses of all rows over a training run.

    Each element, or row, of the arrays belongs to one entry: an epoch, or a check of
    :class:`~skim.ODIMDetector`. What depends on labels is None without them.

    Attributes
    ----------
    epoch, update : ndarray of int of shape (n_entries,)
        Number of epochs and updates so far.
    batch_size : ndarray of int of shape (n_entries,)
        Rows in the latest batch.
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

    def window(self, threshold: float = 0.9) -> IMWindow:
        """Find the longest run of entries whose AUROC reaches a threshold.

        Parameters
        ----------
        threshold : float, default=0.9

        Returns
        -------
        window : IMWindow
            As returned by :func:`im_window`; its ends are epochs, its length is a
            number of entries.
        """
        if self.auroc is None:
            raise ValueError("The window needs labels; pass y to trajectory.")
        return im_window(self.auroc, threshold, epochs=self.epoch)

    def to_frame(self) -> "pd.DataFrame":
        """Return a pandas DataFrame with one row per entry.

        Returns
        -------
        frame : DataFrame
        """
        names = ["epoch", "update", "batch_size", "separation", "auroc", "auprc"]
        columns = {name: getattr(self, name) for name in names}
        for name in ("quantiles", "inlier_quantiles", "outlier_quantiles"):
            values = getattr(self, name)
            if values is not None:
                prefix = name.removesuffix("quantiles") + "loss_q"
                for level, column in zip(self.levels, values.T, strict=True):
                    columns[f"{prefix}{round(100 * level):02d}"] = column
        return import_pandas().DataFrame(
            {k: v for k, v in columns.items() if v is not None}
        )


def trajectory(
    detector: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    store_losses: bool = False,
) -> Trajectory:
    """Train a detector once and record the losses of all rows.

    After every epoch, each row gets its mean loss over the members being trained. This
    is not the detector's final score, which combines several snapshots, but what that
    is made of. Nothing is recorded after early stopping;
    ``ALTBIDetector(schedule=ALTBISchedule(patience=None))`` shows all epochs.

    Parameters
    ----------
    detector : ALTBIDetector, ODIMDetector, IMAutoencoderDetector or Pipeline
        A detector, or a Pipeline that ends with one. A clone is fitted.

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
    fitted, data = _detector_and_data(detector, X)
    is_outlier = None if y is None else outlier_mask(y, len(data))
    entries = []

    def record(model, rows):
        losses, known = model.losses(rows), is_outlier
        if known is not None and model.training_rows is not None:
            known = known[model.training_rows]
        entries.append(_entry(losses, known, store_losses))

    history = fitted.fit(data, observe=record).history_
    return Trajectory(
        **{name: history[name] for name in ("epoch", "update", "batch_size")},
        levels=np.array(QUANTILES),
        detector=fitted,
        **{name: np.array([entry[name] for entry in entries]) for name in entries[0]},
    )


def _detector_and_data(model, X):
    """Return a clone of the detector, and the data as it will see it."""
    model = clone(model)
    if isinstance(model, Pipeline):
        *steps, (_, model) = model.steps
        if steps:
            X = Pipeline(steps).fit_transform(X)
    if not isinstance(model, BaseDetector):
        raise TypeError(
            f"trajectory needs a detector of skim, not {type(model).__name__}."
        )
    return model, X if hasattr(X, "shape") else np.asarray(X)


def _entry(losses, is_outlier, store_losses):
    """Return what a trajectory holds of one entry of the training run."""
    entry = {
        "separation": separation(thinned(losses)),
        "quantiles": np.quantile(losses, QUANTILES),
    }
    if is_outlier is not None:
        entry["inlier_quantiles"] = np.quantile(losses[~is_outlier], QUANTILES)
        entry["outlier_quantiles"] = np.quantile(losses[is_outlier], QUANTILES)
        entry["auroc"] = roc_auc_score(is_outlier, losses)
        entry["auprc"] = average_precision_score(is_outlier, losses)
    if store_losses:
        entry["losses"] = losses.astype(np.float32)
    return entry
