"""Plot of the losses during training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from skim.inspection._drawing import ALL, INLIER, OUTLIER, SHADE, new_axes, tidy
from skim.inspection._trajectory import Trajectory, im_window, trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False)
class IMTrajectoryDisplay:
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

    See Also
    --------
    LossHistogramDisplay : Distribution of the losses after training.

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
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Fit a clone of a detector and plot the losses during training.

        Parameters
        ----------
        estimator : ALTBIDetector, ODIMDetector, IMAutoencoderDetector or Pipeline
            The detector, fitted or not.

        X : array-like of shape (n_samples, n_features)
            The training data, outliers included.

        y : array-like of shape (n_samples,), default=None
            Labels: 0 for inliers and 1 for outliers, or +1 and -1.

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
        drawings = [self._draw_losses, self._draw_separation]
        if self.trajectory.auroc is not None:
            window = im_window(self.trajectory.auroc, threshold)
            drawings.insert(1, partial(self._draw_auroc, threshold, window))
        self.axes_ = new_axes(axes, len(drawings), figsize=(7, 2.7 * len(drawings)))
        self.figure_ = self.axes_[0].figure
        for draw, ax in zip(drawings, self.axes_, strict=True):
            draw(tidy(ax))
        self.axes_[-1].set_xlabel(self._time()[1])
        return self

    def _time(self):
        path = self.trajectory
        if len(set(path.epoch.tolist())) == len(path.epoch):
            return path.epoch, "Epoch"
        return path.update, "Update"

    def _draw_losses(self, ax):
        path = self.trajectory
        time, _ = self._time()
        groups: list[tuple[str, Any, str, str]]
        if path.auroc is None:
            groups = [("All rows", path.quantiles, ALL, "-")]
        else:
            groups = [
                ("Inliers", path.inlier_quantiles, INLIER, "-"),
                ("Outliers", path.outlier_quantiles, OUTLIER, "--"),
            ]
        for label, quantiles, colour, style in groups:
            low, lower, median, upper, high = quantiles.T
            ax.fill_between(time, low, high, color=colour, alpha=0.15, lw=0)
            ax.fill_between(time, lower, upper, color=colour, alpha=0.3, lw=0)
            ax.plot(time, median, color=colour, ls=style, label=label)
        if all((quantiles > 0).all() for _, quantiles, _, _ in groups):
            ax.set_yscale("log")
        ax.set_ylabel("Loss")
        ax.legend(frameon=False)

    def _draw_auroc(self, threshold, window, ax):
        time, _ = self._time()
        ax.plot(time, self.trajectory.auroc, color=OUTLIER)
        ax.axhline(threshold, color=ALL, lw=0.8)
        if window.length > 0:
            ends = time[[window.start, window.stop]]
            ax.axvspan(*ends, color=SHADE, zorder=0, label=f"AUROC ≥ {threshold:g}")
            ax.legend(frameon=False)
        ax.set_ylabel("AUROC")
        ax.set_ylim(top=1.02)

    def _draw_separation(self, ax):
        time, _ = self._time()
        ax.plot(time, self.trajectory.separation, color=ALL)
        ax.set_ylabel("Separation")
        ax.set_ylim(bottom=0)
