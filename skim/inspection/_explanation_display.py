"""A picture of why a row is strange."""

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from skim._utils import feature_names as names_of_features
from skim.inspection._drawing import ALL, INLIER, OUTLIER, new_axes, tidy


class ExplanationDisplay:
    """Bars that show what each feature adds to a row's loss.

    Features that make the row stranger than a usual one point to the right, those
    that make it less strange to the left.

    It is recommended to use :meth:`from_estimator` to make one.

    Parameters
    ----------
    contributions : ndarray of shape (n_features,)
        From ``explain(X, relative=True)`` of a detector, for one row.

    feature_names : sequence of str
        One for each feature.

    values : sequence, default=None
        The row's values, to be shown beside the names.

    Attributes
    ----------
    ax_ : Axes
        The axes, after :meth:`plot`.
    figure_ : Figure
        The figure they are in.

    See Also
    --------
    LossHistogramDisplay : How strange a row is among the others.

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

    def __init__(self, contributions, feature_names, values=None):
        self.contributions = contributions
        self.feature_names = feature_names
        self.values = values

    @classmethod
    def from_estimator(
        cls, estimator, X, row, *, feature_names=None, n_features=10, ax=None
    ):
        """Explain a row and draw the result.

        Parameters
        ----------
        estimator : ALTBIDetector, ODIMDetector, IMAutoencoderDetector or Pipeline
            Fitted. Of a Pipeline, the features are those that its last step sees.

        X : array-like of shape (n_samples, n_features)
            Data with the row.

        row : int
            Position of the row in `X`.

        feature_names : sequence of str, default=None
            Names to show. By default those seen in `fit`, or x0, x1 and so on.

        n_features : int, default=10
            How many features to show: those that add most.

        ax : Axes, default=None
            Where to draw. By default in a new figure.

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
                f"There are {len(feature_names)} feature names for "
                f"{len(contributions)} features."
            )
        values = np.asarray(X)[0]
        display = cls(contributions, feature_names, values)
        return display.plot(n_features=n_features, ax=ax)

    def plot(self, *, n_features=10, ax=None):
        """Draw the picture.

        Parameters
        ----------
        n_features : int, default=10
            How many features to show: those that add most.

        ax : Axes, default=None
            Where to draw. By default in a new figure.

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
        tidy(self.ax_).set_xlabel("Added to the loss, beyond what is usual")
        return self

    def _label(self, j):
        name = str(self.feature_names[j])
        if self.values is None:
            return name
        value = self.values[j]
        return (
            f"{name} = {value}" if isinstance(value, str) else f"{name} = {value:.4g}"
        )
