"""Labels of outliers, in whichever convention they come."""

import numpy as np
from sklearn.utils import column_or_1d


def outlier_mask(y, n_samples, name="y", advice=""):
    """Tell which rows are outliers.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Booleans or 0/1 with outliers as 1, as PyOD and ADBench have it, or +1/-1
        with outliers as -1, as scikit-learn has it.
    n_samples : int
        The expected length.
    name : str, default="y"
        What to call the labels in an error.
    advice : str, default=""
        What to add to the error if they are all alike.

    Returns
    -------
    is_outlier : ndarray of bool of shape (n_samples,)
    """
    labels = column_or_1d(y)
    if len(labels) != n_samples:
        raise ValueError(
            f"{name} has {len(labels)} labels, but there are {n_samples} rows."
        )
    try:
        values = set(np.unique(labels).tolist())
    except TypeError:
        values = set()
    if values == {0, 1}:
        return labels == 1
    if values == {-1, 1}:
        return labels == -1
    if len(values) == 1 and values <= {-1, 0, 1}:
        raise ValueError(
            f"{name} has one class only; both inliers and outliers are needed.{advice}"
        )
    found = ", ".join(map(repr, sorted(values, key=str)[:5])) or "what cannot be sorted"
    raise ValueError(
        f"{name} must be 0 and 1 (outliers), or +1 and -1 (outliers), not {found}; "
        "for example, y == 'outlier' makes such labels."
    )
