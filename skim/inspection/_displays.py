"""Plots of a training run, of losses and of explanations."""

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
from skim.inspection._trajectory import Trajectory, im_window, trajectory

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
class IMTrajectoryDisplay(Display):
    """Plot of the losses while a detector trains.

    The first panel shows the losses: the median as a line, and the middle 50% and 90%
    as bands, separately for inliers and outliers if there are labels. The last panel
    shows the separation of the losses. With labels, a panel in between shows the
    AUROC, with a shaded window in which it is at least `threshold`.

    It is recommended to use :meth:`from_estimator` to create a display.

    Parameters
    ----------
    trajectory : Trajectory
        Result of :func:`skim.inspection.trajectory`.

    Attributes
    ----------
    axes_ : list of Axes
        The two panels, or three with labels.
    figure_ : Figure
        Figure containing the panels.

    Examples
    --------
    >>> from skim import IMAutoencoderDetector
    >>> from skim.datasets import load_wine_outliers
    >>> from skim.inspection import IMTrajectoryDisplay
    >>> X, y = load_wine_outliers(return_X_y=True)
    >>> display = IMTrajectoryDisplay.from_estimator(
    ...     IMAutoencoderDetector(random_state=0), X, y
    ... )
    >>> display.figure_.savefig("trajectory.png")  # doctest: +SKIP
    """

    trajectory: Trajectory

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, y: ArrayLike | None = None, **params: Any
    ) -> Self:
        """Fit a clone of a detector and plot the losses during training.

        Parameters
        ----------
        estimator, X, y
            As in :func:`skim.inspection.trajectory`.

        **params : dict
            Passed on to :meth:`plot`.

        Returns
        -------
        display : IMTrajectoryDisplay
        """
        return cls(trajectory(estimator, X, y)).plot(**params)

    def plot(
        self, *, threshold: float = 0.9, axes: Sequence[Axes] | None = None
    ) -> Self:
        """Plot the panels.

        Parameters
        ----------
        threshold : float, default=0.9
            Smallest AUROC inside the window.

        axes : sequence of Axes, default=None
            Two axes to plot on, or three with labels. By default, a new figure is
            created.

        Returns
        -------
        display : IMTrajectoryDisplay
        """
        path = self.trajectory
        n_rows = 2 if path.auroc is None else 3
        panels = self._set_axes(axes, n_rows, (7, 2.7 * n_rows))
        in_epochs = len(set(path.epoch.tolist())) == len(path.epoch)
        time = path.epoch if in_epochs else path.update
        self._draw_losses(time, panels[0])
        if path.auroc is not None:
            self._draw_auroc(time, panels[1], threshold)
        panels[-1].plot(time, path.separation, color=ALL)
        panels[-1].set_ylabel("Separation")
        panels[-1].set_ylim(bottom=0)
        panels[-1].set_xlabel("Epoch" if in_epochs else "Update")
        return self

    def _draw_losses(self, time, ax):
        path = self.trajectory
        groups: list[Any] = [("All rows", path.quantiles, ALL, "-")]
        if path.auroc is not None:
            groups = [
                ("Inliers", path.inlier_quantiles, INLIER, "-"),
                ("Outliers", path.outlier_quantiles, OUTLIER, "--"),
            ]
        for name, quantiles, colour, style in groups:
            low, lower, median, upper, high = quantiles.T
            ax.fill_between(time, low, high, color=colour, alpha=0.15, lw=0)
            ax.fill_between(time, lower, upper, color=colour, alpha=0.3, lw=0)
            ax.plot(time, median, color=colour, ls=style, label=name)
        if all((quantiles > 0).all() for _, quantiles, _, _ in groups):
            ax.set_yscale("log")
        ax.set_ylabel("Loss")
        ax.legend(frameon=False)

    def _draw_auroc(self, time, ax, threshold):
        auroc = self.trajectory.auroc
        window = im_window(auroc, threshold, epochs=time)
        ax.plot(time, auroc, color=OUTLIER)
        ax.axhline(threshold, color=ALL, lw=0.8)
        if window.length > 0:
            label = f"AUROC ≥ {threshold:g}"
            ax.axvspan(window.start, window.stop, color=SHADE, zorder=0, label=label)
            ax.legend(frameon=False)
        ax.set_ylabel("AUROC")
        ax.set_ylim(top=1.02)


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
