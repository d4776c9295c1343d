"""Metrics that know outliers in whichever convention they are labelled."""

from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.utils import column_or_1d

from skim._utils import outlier_mask

ADVICE = (
    " In cross-validation, skim.model_selection.OutlierKFold gives both to all folds."
)


def outlier_roc_auc_score(y_true, y_score, *, sample_weight=None):
    """Compute the area under the ROC curve, outliers being what is looked for.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels: 0 and 1 for outliers, or +1 and -1 for outliers. Which of the two it
        is, is seen from the values.

    y_score : array-like of shape (n_samples,)
        Scores as of `decision_function` or `score_samples`: the lower, the more of an
        outlier.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

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
    return _with_outliers_positive(roc_auc_score, y_true, y_score, sample_weight)


def outlier_average_precision_score(y_true, y_score, *, sample_weight=None):
    """Compute the average precision, outliers being what is looked for.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels: 0 and 1 for outliers, or +1 and -1 for outliers. Which of the two it
        is, is seen from the values.

    y_score : array-like of shape (n_samples,)
        Scores as of `decision_function` or `score_samples`: the lower, the more of an
        outlier.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

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
    return _with_outliers_positive(
        average_precision_score, y_true, y_score, sample_weight
    )


def _with_outliers_positive(metric, y_true, y_score, sample_weight):
    y_score = column_or_1d(y_score)
    is_outlier = outlier_mask(y_true, len(y_score), name="y_true", advice=ADVICE)
    return float(metric(is_outlier, -y_score, sample_weight=sample_weight))
