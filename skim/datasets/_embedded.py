"""Outlier detection tasks made from the data sets of scikit-learn.

Some classes of a classification task are the inliers and a small sample of another
class the outliers, as in most benchmark data sets of the field.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.utils import Bunch

from skim._utils import evenly_spaced, shared_docs
from skim.datasets._adbench import as_bunch

if TYPE_CHECKING:
    import pandas as pd

with_shared_docs = shared_docs(
    options="""Parameters
----------
return_X_y : bool, default=False
    Whether to return ``(data, target)`` instead of a Bunch.

as_frame : bool, default=False
    Whether the data is a pandas DataFrame and the target a Series.

Returns
-------
data : Bunch or tuple
    A Bunch with `data`, `target` (0 for inliers, 1 for outliers), `frame`,
    `feature_names`, `target_names` and `DESCR`."""
)


@with_shared_docs
def load_breast_cancer_outliers(
    *, return_X_y: bool = False, as_frame: bool = False
) -> "Bunch | tuple[NDArray | pd.DataFrame, NDArray | pd.Series]":
    """Load the breast cancer data set with few malignant cases.

    The 357 benign cases are the inliers, and 21 evenly spaced malignant cases are the
    outliers.

    <options>
    """
    about = "Benign cases, and 21 of the malignant ones as outliers."
    return _rare_class(load_breast_cancer(), 21, about, return_X_y, as_frame)


@with_shared_docs
def load_wine_outliers(
    *, return_X_y: bool = False, as_frame: bool = False
) -> "Bunch | tuple[NDArray | pd.DataFrame, NDArray | pd.Series]":
    """Load the wine data set with few wines of the first cultivar.

    The 119 wines of the second and third cultivars are the inliers, and 10 evenly
    spaced wines of the first are the outliers.

    <options>

    Examples
    --------
    >>> from skim.datasets import load_wine_outliers
    >>> X, y = load_wine_outliers(return_X_y=True)
    >>> X.shape, int(y.sum())
    ((129, 13), 10)
    """
    about = "Wines of two cultivars, and 10 of the other one as outliers."
    return _rare_class(load_wine(), 10, about, return_X_y, as_frame)


@with_shared_docs
def load_digits_outliers(
    *, return_X_y: bool = False, as_frame: bool = False
) -> "Bunch | tuple[NDArray | pd.DataFrame, NDArray | pd.Series]":
    """Load the digits data set with few zeros.

    The 1,619 images of the digits 1 to 9 are the inliers, and 45 evenly spaced images
    of the digit 0 are the outliers.

    <options>
    """
    about = "Images of the digits 1 to 9, and 45 of the digit 0 as outliers."
    return _rare_class(load_digits(), 45, about, return_X_y, as_frame)


def _rare_class(source, n_outliers, description, return_X_y, as_frame):
    """Keep all classes but the first, of which some evenly spaced rows are kept."""
    rare = np.flatnonzero(source.target == 0)
    is_outlier = np.zeros(len(source.target), dtype=bool)
    is_outlier[rare[evenly_spaced(len(rare), n_outliers)]] = True
    rows = np.flatnonzero((source.target != 0) | is_outlier)
    return as_bunch(
        source.data[rows],
        is_outlier[rows].astype(int),
        return_X_y=return_X_y,
        as_frame=as_frame,
        feature_names=list(source.feature_names),
        DESCR=f"{description}\n\nMade of:\n\n{source.DESCR}",
    )
