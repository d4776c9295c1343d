"""Metrics that accept outliers labelled by either convention."""

from numpy.typing import ArrayLike
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.utils import column_or_1d

from skim._utils import outlier_mask


def outlier_roc_auc_score(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Compute the area under the ROC curve, with outliers as the positive class.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels: 0/1 with outliers as 1, or +1/-1 with outliers as -1. The convention is
        inferred from the values.

    y_score : array-like of shape (n_samples,)
        Scores from `decision_function` or `score_samples`: the lower, the more
        abnormal.

    Returns
    -------
    area : float
        1 where all outliers score lower than all inliers.

    Examples
    --------
    >>> from skim.metrics import outlier_roc_auc_score
    >>> scores = [0.9, 0.8, -3.0, 0.7]
    >>> outlier_roc_auc_score([0, 0, 1, 0], scores)
    1.0
    >>> outlier_roc_auc_score([1, 1, -1, 1], scores)
    1.0
    """
    return _with_outliers_positive(roc_auc_score, y_true, y_score)


def outlier_average_precision_score(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Compute the average precision, with outliers as the positive class.

    Parameters
    ----------
    y_true, y_score
        As in :func:`outlier_roc_auc_score`.

    Returns
    -------
    precision : float
        1 where all outliers score lower than all inliers.

    Examples
    --------
    >>> from skim.metrics import outlier_average_precision_score
    >>> outlier_average_precision_score([1, 1, -1, 1], [0.9, -4.0, -3.0, 0.7])
    0.5
    """
    return _with_outliers_positive(average_precision_score, y_true, y_score)


def _with_outliers_positive(metric, y_true, y_score):
    y_score = column_or_1d(y_score)
    is_outlier = outlier_mask(y_true, len(y_score), "y_true")
    return float(metric(is_outlier, -y_score))
