"""Outlier tasks made of the data that ships inside scikit-learn.

Each takes a classification task, calls some of its classes the inliers and a
small sample of another class the outliers, which is how most benchmark data sets
of the field were made.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.utils import Bunch

from skim._utils import evenly_spaced

N_OUTLIERS = {"breast_cancer": 21, "wine": 10, "digits": 45}


def load_breast_cancer_outliers(*, return_X_y=False, as_frame=False):
    """Load breast cancer data with few malignant cases.

    The 357 benign cases are the inliers; 21 malignant ones, evenly spaced among
    all of them, are the outliers.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    as_frame : bool, default=False
        Whether the data is a pandas DataFrame and the target a Series.

    Returns
    -------
    data : Bunch or tuple
        With `data` of shape (378, 30), `target` (0 for inliers, 1 for outliers),
        `feature_names`, `target_names` and `DESCR`.

    Examples
    --------
    >>> from skim.datasets import load_breast_cancer_outliers
    >>> X, y = load_breast_cancer_outliers(return_X_y=True)
    >>> X.shape, int(y.sum())
    ((378, 30), 21)
    """
    return _rare_class(
        "breast_cancer",
        load_breast_cancer,
        inliers=[1],
        outliers=[0],
        description="Benign cases, and 21 of the malignant ones as outliers.",
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def load_wine_outliers(*, return_X_y=False, as_frame=False):
    """Load wine data with few wines of the first cultivar.

    The 119 wines of the second and third cultivars are the inliers; 10 of the
    first, evenly spaced among all of them, are the outliers.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    as_frame : bool, default=False
        Whether the data is a pandas DataFrame and the target a Series.

    Returns
    -------
    data : Bunch or tuple
        With `data` of shape (129, 13), `target` (0 for inliers, 1 for outliers),
        `feature_names`, `target_names` and `DESCR`.

    Examples
    --------
    >>> from skim.datasets import load_wine_outliers
    >>> X, y = load_wine_outliers(return_X_y=True)
    >>> X.shape, int(y.sum())
    ((129, 13), 10)
    """
    return _rare_class(
        "wine",
        load_wine,
        inliers=[1, 2],
        outliers=[0],
        description="Wines of two cultivars, and 10 of the other one as outliers.",
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def load_digits_outliers(*, return_X_y=False, as_frame=False):
    """Load images of handwritten digits with few zeros.

    The 1,619 images of the digits 1 to 9 are the inliers; 45 of the digit 0, evenly
    spaced among all of them, are the outliers.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    as_frame : bool, default=False
        Whether the data is a pandas DataFrame and the target a Series.

    Returns
    -------
    data : Bunch or tuple
        With `data` of shape (1664, 64), `target` (0 for inliers, 1 for outliers),
        `feature_names`, `target_names` and `DESCR`.

    Examples
    --------
    >>> from skim.datasets import load_digits_outliers
    >>> X, y = load_digits_outliers(return_X_y=True)
    >>> X.shape, int(y.sum())
    ((1664, 64), 45)
    """
    return _rare_class(
        "digits",
        load_digits,
        inliers=range(1, 10),
        outliers=[0],
        description="Images of the digits 1 to 9, and 45 of the digit 0 as outliers.",
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def _rare_class(name, load, *, inliers, outliers, description, return_X_y, as_frame):
    """Keep the inlier classes and an even sample of the outlier classes."""
    source = load(as_frame=as_frame)
    classes = np.asarray(source.target)
    rare = np.flatnonzero(np.isin(classes, list(outliers)))
    chosen = evenly_spaced(len(rare), N_OUTLIERS[name])
    is_outlier = np.zeros(len(classes), dtype=bool)
    is_outlier[rare[chosen]] = True
    rows = np.flatnonzero(np.isin(classes, list(inliers)) | is_outlier)
    target = is_outlier[rows].astype(int)
    if as_frame:
        import pandas as pd

        data = source.data.iloc[rows].reset_index(drop=True)
        target = pd.Series(target, name="outlier")
    else:
        data = source.data[rows]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        feature_names=list(source.feature_names),
        target_names=["inlier", "outlier"],
        DESCR=f"{description}\n\nMade of:\n\n{source.DESCR}",
    )
