"""Plots of losses and of explanations, and what all displays share."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from skim._utils import outlier_mask

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Distinguishable in colour, with colour blindness, and in greyscale.
INLIER = "#56b4e9"
OUTLIER = "#9a3412"
ALL = "#3f3f46"
SHADE = "#e4e4e7"

REACH = 2.0  # of the axis beyond the middle 98 % of the losses, in their range


class Display:
    """Base class of displays: axes without top and right spines."""

    def _set_axes(self, axes, n_rows, figsize):
        """Set `axes_` to the given axes, or to those of a new figure."""
        if axes is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ImportError(
                    "Plots need matplotlib: pip install 'skim-od[plot]'"
                ) from error
            _, axes = plt.subplots(
                n_rows, sharex=n_rows > 1, figsize=figsize, layout="constrained"
            )
        self.axes_ = np.ravel(axes).tolist()
        if len(self.axes_) != n_rows:
            raise ValueError(
                f"axes must have {n_rows} elements, not {len(self.axes_)}."
            )
        for ax in self.axes_:
            ax.spines[["top", "right"]].set_visible(False)
        self.figure_ = self.axes_[0].figure
        return self.axes_

    def _set_ax(self, ax, figsize) -> Any:
        (self.ax_,) = self._set_axes(ax, 1, figsize)
        return self.ax_


@dataclass(eq=False)
class LossHistogramDisplay(Display):
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
        cls, estimator: Any, X: ArrayLike, y: ArrayLike | None = None, **params: Any
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
        axes = self._set_ax(ax, (7, 4))
        losses = self._clipped()
        edges = np.histogram_bin_edges(losses, bins)
        if self.is_outlier is None:
            axes.hist(losses, edges, color=INLIER, label="Rows")
        else:
            groups = [losses[~self.is_outlier], losses[self.is_outlier]]
            bars = axes.hist(
                groups,
                edges,
                stacked=True,
                color=[INLIER, OUTLIER],
                label=["Inliers", "Outliers"],
            )[2]
            for bar in bars[1]:
                bar.set_hatch("//")
        axes.axvline(self.threshold, color=ALL, ls="--", label="Threshold")
        # A square-root scale, so that a bar of a single outlier is visible.
        axes.set_yscale("function", functions=(_root, np.square))
        axes.set_ylim(bottom=0)
        axes.set(xlabel="Loss", ylabel="Rows")
        axes.legend(frameon=False)
        return self

    def _clipped(self):
        """Return the losses, but huge ones only as far as leaves room for the rest."""
        losses = np.asarray(self.losses)
        low, high = np.quantile(losses, [0.01, 0.99])
        end = max(high + REACH * (high - low), self.threshold)
        return np.minimum(losses, end) if high > low else losses


@dataclass(eq=False)
class ExplanationDisplay(Display):
    """Bar chart of what each feature adds to a row's loss.

    Bars of features that make the row more abnormal than a typical one point to the
    right, the others to the left.

    It is recommended to use :meth:`from_estimator` to create a display.

    Parameters
    ----------
    contributions : ndarray of shape (n_features,)
        The row's contributions, from ``explain(X, relative=True)``.

    feature_names : sequence of str
        Names of the features.

    values : sequence, default=None
        Values of the row, shown next to the names.

    Attributes
    ----------
    ax_ : Axes
        Axes with the bar chart.
    figure_ : Figure
        Figure containing the bar chart.

    Examples
    --------
    >>> from skim import ALTBIDetector
    >>> from skim.datasets import load_wine_outliers
    >>> from skim.inspection import ExplanationDisplay
    >>> wine = load_wine_outliers(as_frame=True)
    >>> detector = ALTBIDetector(random_state=0).fit(wine.data)
    >>> strangest = detector.training_scores_.argmin()
    >>> display = ExplanationDisplay.from_estimator(detector, wine.data, strangest)
    >>> display.figure_.savefig("explanation.png")  # doctest: +SKIP
    """

    contributions: ArrayLike
    feature_names: Sequence[str]
    values: Sequence[Any] | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, row: int, **params: Any
    ) -> Self:
        """Explain a row and plot the contributions.

        Parameters
        ----------
        estimator : detector of skim or Pipeline
            Fitted detector, or a fitted Pipeline that ends with one; the features are
            then those of its last step.

        X : array-like of shape (n_samples, n_features)
            The data. Features are named as in a data frame, or else x0, x1 and so on.

        row : int
            Position of the row in `X`.

        **params : dict
            Passed on to :meth:`plot`.

        Returns
        -------
        display : ExplanationDisplay
        """
        X, names = _safe_indexing(X, [row]), None
        if isinstance(estimator, Pipeline):
            steps, estimator = estimator.steps[:-1], estimator[-1]
            if steps:
                X = Pipeline(steps).transform(X)
                with suppress(AttributeError, ValueError):  # a step knows no names
                    names = Pipeline(steps).get_feature_names_out()
        names = getattr(estimator, "feature_names_in_", names)
        contributions = estimator.explain(X, relative=True)[0]
        if names is None:
            names = [f"x{j}" for j in range(len(contributions))]
        return cls(contributions, names, np.asarray(X)[0]).plot(**params)

    def plot(self, *, n_features: int = 10, ax: Axes | None = None) -> Self:
        """Plot the contributions.

        Parameters
        ----------
        n_features : int, default=10
            Number of features to show: those with the largest contributions.

        ax : Axes, default=None
            Axes to plot on. By default, a new figure is created.

        Returns
        -------
        display : ExplanationDisplay
        """
        if n_features < 1:
            raise ValueError(f"n_features must be at least 1, not {n_features}.")
        contributions = np.asarray(self.contributions)
        order = np.argsort(-contributions, kind="stable")[:n_features]
        axes = self._set_ax(ax, (7, 1 + 0.35 * len(order)))
        shown = contributions[order]
        places = range(len(order))
        axes.barh(places, shown, color=np.where(shown > 0, OUTLIER, INLIER))
        axes.axvline(0, color=ALL, lw=0.8)
        axes.set_yticks(places, [self._label(j) for j in order])
        axes.invert_yaxis()
        axes.set_xlabel("Contribution to the loss, relative to a typical row")
        return self

    def _label(self, j):
        name = str(self.feature_names[j])
        if self.values is None:
            return name
        value = self.values[j]
        if not isinstance(value, str):
            value = "missing" if value != value else format(value, ".4g")
        return f"{name} = {value}"


def _root(x):
    return np.sqrt(np.maximum(x, 0))
