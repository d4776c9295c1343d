"""A picture of the losses of a fitted detector."""

import numpy as np
from sklearn.pipeline import Pipeline

from skim._training._mixture import fit_two_gaussians, thinned, weighted_densities
from skim._utils import outlier_mask
from skim.inspection._drawing import ALL, INLIER, OUTLIER, new_axes, tidy


class LossHistogramDisplay:
    """Histogram of the losses, with the threshold and the mixture behind it.

    It is recommended to use :meth:`from_estimator` to make one.

    Parameters
    ----------
    losses : ndarray of shape (n_samples,)
        Negated scores of rows.

    threshold : float
        The loss above which a row is an outlier.

    is_outlier : ndarray of bool of shape (n_samples,), default=None
        Which rows really are outliers, if that is known.

    Attributes
    ----------
    ax_ : Axes
        The axes, after :meth:`plot`.
    figure_ : Figure
        The figure they are in.

    See Also
    --------
    IMTrajectoryDisplay : The losses over the training.
    ExplanationDisplay : What a row's loss is made of.

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

    def __init__(self, losses, threshold, is_outlier=None):
        self.losses = losses
        self.threshold = threshold
        self.is_outlier = is_outlier

    @classmethod
    def from_estimator(cls, estimator, X, y=None, *, bins=50, ax=None):
        """Score rows and draw the histogram of their losses.

        Parameters
        ----------
        estimator : detector or Pipeline
            Fitted; anything with `score_samples` and `offset_` in scikit-learn's
            manner, or a Pipeline that ends with it.

        X : array-like of shape (n_samples, n_features)
            Rows to score.

        y : array-like of shape (n_samples,), default=None
            Labels: 0 and 1 for outliers, or +1 and -1 for outliers.

        bins : int, default=50
            Number of bars.

        ax : Axes, default=None
            Where to draw. By default in a new figure.

        Returns
        -------
        display : LossHistogramDisplay
        """
        scores = estimator.score_samples(X)
        is_outlier = None if y is None else outlier_mask(y, len(scores))
        detector = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        return cls(-scores, -detector.offset_, is_outlier).plot(bins=bins, ax=ax)

    def plot(self, *, bins=50, ax=None):
        """Draw the picture.

        Parameters
        ----------
        bins : int, default=50
            Number of bars.

        ax : Axes, default=None
            Where to draw. By default in a new figure.

        Returns
        -------
        display : LossHistogramDisplay
        """
        (self.ax_,) = new_axes(ax, figsize=(7, 4))
        self.figure_ = self.ax_.figure
        edges = np.histogram_bin_edges(self.losses, bins)
        if self.is_outlier is None:
            self.ax_.hist(self.losses, edges, color=INLIER, label="Rows")
        else:
            groups = [self.losses[~self.is_outlier], self.losses[self.is_outlier]]
            bars = self.ax_.hist(
                groups,
                edges,
                stacked=True,
                color=[INLIER, OUTLIER],
                label=["Inliers", "Outliers"],
            )[2]
            for bar in bars[1]:
                bar.set_hatch("//")
        self._draw_mixture(edges)
        self.ax_.axvline(self.threshold, color=ALL, ls="--", label="Threshold")
        # A single outlier is a bar of height one, and should be seen.
        self.ax_.set_yscale("function", functions=(_root, np.square))
        self.ax_.set_ylim(bottom=0)
        tidy(self.ax_).set(xlabel="Loss", ylabel="Rows")
        self.ax_.legend(frameon=False)
        return self

    def _draw_mixture(self, edges):
        mixture = fit_two_gaussians(thinned(self.losses))
        grid = np.linspace(edges[0], edges[-1], 500)
        density = weighted_densities(mixture, grid).sum(axis=0)
        rows = len(self.losses) * (edges[1] - edges[0]) * density
        self.ax_.plot(grid, rows, color=ALL, lw=1, label="Two Gaussians")


def _root(x):
    return np.sqrt(np.maximum(x, 0))
