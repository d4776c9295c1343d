"""A picture of the training."""

from functools import partial

from skim.inspection._drawing import ALL, INLIER, OUTLIER, SHADE, new_axes, tidy
from skim.inspection._trajectory import trajectory
from skim.inspection._window import check_threshold, im_window


class IMTrajectoryDisplay:
    """Picture of what becomes of the losses while a detector trains.

    Above, the losses: their median as a line and the middle half and the middle
    nine tenths as bands, of inliers and outliers apart if there are labels. Below,
    how far the losses have parted. With labels, the AUROC after every epoch comes
    between them, with the window shaded in which it is at least `threshold`.

    It is recommended to use :meth:`from_estimator` to make one.

    Parameters
    ----------
    trajectory : Trajectory
        From :func:`skim.inspection.trajectory`.

    Attributes
    ----------
    axes_ : list of Axes
        The two axes, with labels three, after :meth:`plot`.
    figure_ : Figure
        The figure they are in.

    See Also
    --------
    LossHistogramDisplay : The losses at the end.

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

    def __init__(self, trajectory):
        self.trajectory = trajectory

    @classmethod
    def from_estimator(cls, estimator, X, y=None, *, threshold=0.9, axes=None):
        """Train a clone of a detector and draw what happens.

        Parameters
        ----------
        estimator : ALTBIDetector, ODIMDetector, IMAutoencoderDetector or Pipeline
            Need not be fitted.

        X : array-like of shape (n_samples, n_features)
            The data, outliers included.

        y : array-like of shape (n_samples,), default=None
            Labels: 0 and 1 for outliers, or +1 and -1 for outliers.

        threshold : float, default=0.9
            AUROC from which on an epoch belongs to the window.

        axes : sequence of Axes, default=None
            Where to draw: two axes, with labels three. By default in a new figure.

        Returns
        -------
        display : IMTrajectoryDisplay
        """
        check_threshold(threshold)
        path = trajectory(estimator, X, y)
        return cls(path).plot(threshold=threshold, axes=axes)

    def plot(self, *, threshold=0.9, axes=None):
        """Draw the picture.

        Parameters
        ----------
        threshold : float, default=0.9
            AUROC from which on an epoch belongs to the window.

        axes : sequence of Axes, default=None
            Where to draw: two axes, with labels three. By default in a new figure.

        Returns
        -------
        display : IMTrajectoryDisplay
        """
        check_threshold(threshold)
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
