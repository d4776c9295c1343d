"""Plot of the contributions of features to a row's loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from skim._utils import feature_names as names_of_features
from skim.inspection._drawing import ALL, INLIER, OUTLIER, new_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False)
class ExplanationDisplay:
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

    See Also
    --------
    LossHistogramDisplay : Distribution of the losses.

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
        cls,
        estimator: Any,
        X: ArrayLike,
        row: int,
        *,
        feature_names: Sequence[str] | None = None,
        **params: Any,
    ) -> Self:
        """Explain a row and plot the contributions.

        Parameters
        ----------
        estimator : ALTBIDetector, ODIMDetector, IMAutoencoderDetector or Pipeline
            Fitted detector, or a fitted Pipeline that ends with one; the features are
            then those of its last step.

        X : array-like of shape (n_samples, n_features)
            The data.

        row : int
            Position of the row in `X`.

        feature_names : sequence of str, default=None
            Names to show. By default, those seen during `fit`, or x0, x1 and so on.

        **params : dict
            Passed on to :meth:`plot`.

        Returns
        -------
        display : ExplanationDisplay
        """
        X = _safe_indexing(X, [row])
        if isinstance(estimator, Pipeline):
            if len(estimator) > 1:
                X = estimator[:-1].transform(X)
                if feature_names is None:
                    feature_names = names_of_features(estimator[:-1], estimator[-1])
            estimator = estimator[-1]
        contributions = estimator.explain(X, relative=True)[0]
        if feature_names is None:
            default = [f"x{j}" for j in range(len(contributions))]
            feature_names = getattr(estimator, "feature_names_in_", default)
        if len(feature_names) != len(contributions):
            raise ValueError(
                f"feature_names has {len(feature_names)} elements, but there are "
                f"{len(contributions)} features."
            )
        display = cls(contributions, feature_names, np.asarray(X)[0])
        return display.plot(**params)

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
        (self.ax_,) = new_axes(ax, figsize=(7, 1 + 0.35 * len(order)))
        self.figure_ = self.ax_.figure
        shown = contributions[order]
        colours = np.where(shown > 0, OUTLIER, INLIER)
        self.ax_.barh(range(len(order)), shown, color=colours)
        self.ax_.axvline(0, color=ALL, lw=0.8)
        self.ax_.set_yticks(range(len(order)), [self._label(j) for j in order])
        self.ax_.invert_yaxis()
        tidy(self.ax_).set_xlabel("Contribution to the loss, relative to a typical row")
        return self

    def _label(self, j):
        name = str(self.feature_names[j])
        if self.values is None:
            return name
        value = self.values[j]
        if not isinstance(value, str):
            value = "missing" if value != value else format(value, ".4g")
        return f"{name} = {value}"
