"""Histogram of the losses of a fitted detector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from skim._utils import outlier_mask
from skim.inspection._drawing import ALL, INLIER, OUTLIER, new_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


REACH = 2.0  # of the axis beyond the middle 98 % of the losses, in their range


@dataclass(eq=False)
class LossHistogramDisplay:
    """Histogram of the losses, with the threshold.

    The last bar includes rows whose losses are far larger than those of all others.

    It is recommended to use :meth:`from_estimator` to create a display.

    Parameters
    ----------
    losses : ndarray of shape (n_samples,)
        Negated scores of the rows.

    threshold : float
        The loss above which a row is an outlier.

    is_outlier : ndarray of bool of shape (n_samples,), default=None
        True labels, if known.

    Attributes
    ----------
    ax_ : Axes
        Axes with the histogram.
    figure_ : Figure
        Figure containing the histogram.

    See Also
    --------
    IMTrajectoryDisplay : The losses during training.
    ExplanationDisplay : What each feature adds to a row's loss.

    Examples
    --------
    >>> from skim import ALTBIDetector
    >>> from skim.datasets import load_wine_outliers
    >>> from skim.inspection import LossHistogramDisplay
    >>> X, y = load_wine_outliers(return_X_y=True)
    >>> detector = ALTBIDetector(random_state=0).fit(X)
    >>> display = LossHistogramDisplay.from_estimator(detector, X, y)
    >>> display.figure_.savefig("losses.png")  # doctest: +SKIP
    """

    losses: NDArray[np.float64]
    threshold: float
    is_outlier: NDArray[np.bool_] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Score rows and plot the histogram of their losses.

        Parameters
        ----------
        estimator : detector or Pipeline
            Fitted outlier detector with `score_samples` and `offset_`, as in
            scikit-learn, or a fitted Pipeline that ends with one.

        X : array-like of shape (n_samples, n_features)
            Rows to score.

        y : array-like of shape (n_samples,), default=None
            Labels: 0 for inliers and 1 for outliers, or +1 and -1.

        **params : dict
            Passed on to :meth:`plot`.

        Returns
        -------
        display : LossHistogramDisplay
        """
        scores = estimator.score_samples(X)
        is_outlier = None if y is None else outlier_mask(y, len(scores))
        detector = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        return cls(-scores, -detector.offset_, is_outlier).plot(**params)

    def plot(self, *, bins: int = 50, ax: Axes | None = None) -> Self:
        """Plot the histogram.

        Parameters
        ----------
        bins : int, default=50
            Number of bins.

        ax : Axes, default=None
            Axes to plot on. By default, a new figure is created.

        Returns
        -------
        display : LossHistogramDisplay
        """
        (self.ax_,) = new_axes(ax, figsize=(7, 4))
        self.figure_ = self.ax_.figure
        losses = self._clipped()
        edges = np.histogram_bin_edges(losses, bins)
        if self.is_outlier is None:
            self.ax_.hist(losses, edges, color=INLIER, label="Rows")
        else:
            groups = [losses[~self.is_outlier], losses[self.is_outlier]]
            bars = self.ax_.hist(
                groups,
                edges,
                stacked=True,
                color=[INLIER, OUTLIER],
                label=["Inliers", "Outliers"],
            )[2]
            for bar in bars[1]:
                bar.set_hatch("//")
        self.ax_.axvline(self.threshold, color=ALL, ls="--", label="Threshold")
        # A square-root scale, so that a bar of a single outlier is visible.
        self.ax_.set_yscale("function", functions=(_root, np.square))
        self.ax_.set_ylim(bottom=0)
        tidy(self.ax_).set(xlabel="Loss", ylabel="Rows")
        self.ax_.legend(frameon=False)
        return self

    def _clipped(self):
        """Return the losses, but huge ones only as far as leaves room for the rest."""
        losses = np.asarray(self.losses)
        low, high = np.quantile(losses, [0.01, 0.99])
        end = max(high + REACH * (high - low), self.threshold)
        return np.minimum(losses, end) if high > low else losses


def _root(x):
    return np.sqrt(np.maximum(x, 0))
