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
    A Bunch with `data`, `target` (0 for inliers, 1 for outliers), `feature_names` and
    `DESCR`."""
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
    return _rare_class(load_breast_cancer(as_frame=as_frame), 21, return_X_y)


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
    return _rare_class(load_wine(as_frame=as_frame), 10, return_X_y)


@with_shared_docs
def load_digits_outliers(
    *, return_X_y: bool = False, as_frame: bool = False
) -> "Bunch | tuple[NDArray | pd.DataFrame, NDArray | pd.Series]":
    """Load the digits data set with few zeros.

    The 1,619 images of the digits 1 to 9 are the inliers, and 45 evenly spaced images
    of the digit 0 are the outliers.

    <options>
    """
    return _rare_class(load_digits(as_frame=as_frame), 45, return_X_y)


def _rare_class(source, n_outliers, return_X_y):
    """Keep all classes but the first, of which some evenly spaced rows are kept."""
    data, target = source.data, (source.target == 0).astype(int)
    rare = np.flatnonzero(target)
    kept = np.ones(len(target), dtype=bool)
    kept[np.delete(rare, evenly_spaced(len(rare), n_outliers))] = False
    data, target = data[kept], target[kept]
    if hasattr(data, "columns"):
        data = data.reset_index(drop=True)
        target = target.reset_index(drop=True).rename("outlier")
    if return_X_y:
        return data, target
    names = list(source.feature_names)
    about = f"{n_outliers} rows of the first class are the outliers.\n\n{source.DESCR}"
    return Bunch(data=data, target=target, feature_names=names, DESCR=about)
