"""The split that scores the training rows."""

import numpy as np
from sklearn.utils.validation import _num_samples


class InSampleSplit:
    """The split that trains on all rows and scores all of them.

    This is how outliers are found in a given table: the training rows are the rows of
    interest. Use it as the `cv` of a search with a scorer that needs no labels, or to
    evaluate as benchmarks of outlier detection do.

    See Also
    --------
    sklearn.model_selection.StratifiedKFold : Folds that spread the outliers evenly.

    Examples
    --------
    >>> from skim.model_selection import InSampleSplit
    >>> list(InSampleSplit().split([[1.0], [2.0]]))
    [(array([0, 1]), array([0, 1]))]
    """

    def __repr__(self):
        return f"{type(self).__name__}()"

    def get_n_splits(self, X=None, y=None, groups=None):
        """Return the number of splits, 1."""
        return 1

    def split(self, X, y=None, groups=None):
        """Generate the indices of all rows, twice."""
        rows = np.arange(_num_samples(X))
        yield rows, rows.copy()
