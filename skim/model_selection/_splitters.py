"""Splitters for data that contains outliers."""

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import _num_samples

from skim._utils import outlier_mask, own_random_state


class OutlierKFold(StratifiedKFold):
    """Folds that spread the outliers evenly.

    Outliers are few, and files often have them at one end, so plain folds may
    have none at all. `GridSearchCV` and `cross_val_score` use plain folds for
    outlier detectors by default.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at most the number of outliers.

    shuffle : bool, default=False
        Whether to shuffle the inliers and the outliers before splitting.

    random_state : int, RandomState instance or None, default=None
        Controls the shuffling. Pass an int for reproducible folds.

    See Also
    --------
    InSampleSplit : Train on all rows and score all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from skim.model_selection import OutlierKFold
    >>> y = np.array([0] * 10 + [1] * 2)
    >>> for train, test in OutlierKFold(n_splits=2).split(np.zeros((12, 1)), y):
    ...     print(y[train].sum(), y[test].sum())
    1 1
    1 1
    """

    def __init__(self, n_splits=5, *, shuffle=False, random_state=None):
        super().__init__(n_splits, shuffle=shuffle, random_state=random_state)

    def split(self, X, y=None, groups=None):
        """Generate indices of the rows to train on and to test on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data; only its length matters.

        y : array-like of shape (n_samples,)
            Labels: 0/1 with outliers as 1, or +1/-1 with outliers as -1.

        groups : Ignored
            Not used, present for API consistency by convention.

        Yields
        ------
        train : ndarray
            Indices of the rows to train on.

        test : ndarray
            Indices of the rows to test on.
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} needs labels y; without labels, use KFold or "
                "InSampleSplit."
            )
        is_outlier = outlier_mask(y, _num_samples(X))
        for kind, n_rows in (
            ("outliers", is_outlier.sum()),
            ("inliers", (~is_outlier).sum()),
        ):
            if n_rows < self.n_splits:
                raise ValueError(
                    f"n_splits={self.n_splits} is greater than the number of {kind} in "
                    f"y, {n_rows}."
                )
        state = own_random_state(self.random_state) if self.shuffle else None
        folds = StratifiedKFold(self.n_splits, shuffle=self.shuffle, random_state=state)
        yield from folds.split(np.zeros(len(is_outlier)), is_outlier)


class InSampleSplit:
    """The split that trains on all rows and scores all of them.

    This is how outliers are found in a given table: the training rows are the rows of
    interest. Use it as the `cv` of a search with a scorer that needs no labels, or to
    evaluate as benchmarks of outlier detection do.

    See Also
    --------
    OutlierKFold : Folds that spread the outliers evenly.

    Examples
    --------
    >>> from skim.model_selection import InSampleSplit
    >>> list(InSampleSplit().split([[1.0], [2.0]]))
    [(array([0, 1]), array([0, 1]))]
    """

    def __repr__(self):
        return f"{type(self).__name__}()"

    def get_n_splits(self, X=None, y=None, groups=None):
        """Return the number of splits, 1.

        Parameters
        ----------
        X, y, groups : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        n_splits : int
        """
        return 1

    def split(self, X, y=None, groups=None):
        """Generate the indices of all rows, twice.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data; only its length matters.

        y, groups : Ignored
            Not used, present for API consistency by convention.

        Yields
        ------
        train, test : ndarray
            Indices of all rows.
        """
        rows = np.arange(_num_samples(X))
        yield rows, rows.copy()
