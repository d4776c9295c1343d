"""Plot of the losses during training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from skim.inspection._trajectory import Trajectory, im_window, trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Distinguishable in colour, with colour blindness, and in greyscale.
INLIER = "#56b4e9"
OUTLIER = "#9a3412"
ALL = "#3f3f46"
SHADE = "#e4e4e7"


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
        n_panels = 2 if path.auroc is None else 3
        self.axes_ = list(_new_axes(n_panels) if axes is None else axes)
        if len(self.axes_) != n_panels:
            raise ValueError(
                f"axes must have {n_panels} elements, not {len(self.axes_)}."
            )
        self.figure_ = self.axes_[0].figure
        in_epochs = len(set(path.epoch.tolist())) == len(path.epoch)
        time = path.epoch if in_epochs else path.update
        self._draw_losses(time, self.axes_[0])
        if path.auroc is not None:
            self._draw_auroc(time, self.axes_[1], threshold)
        last = self.axes_[-1]
        last.plot(time, path.separation, color=ALL)
        last.set_ylim(bottom=0)
        last.set(xlabel="Epoch" if in_epochs else "Update", ylabel="Separation")
        for ax in self.axes_:
            ax.spines[["top", "right"]].set_visible(False)
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


def _new_axes(n_panels):
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib: pip install 'skim-od[plot]'"
        ) from error
    size = (7, 2.7 * n_panels)
    return plt.subplots(n_panels, sharex=True, figsize=size, layout="constrained")[1]
