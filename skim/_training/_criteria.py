"""Criteria that judge losses and scores without labels."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skim._utils import evenly_spaced

MAX_VALUES = 10_000  # beyond this, evenly spaced order statistics stand for all
LIKELY_OUTLIERS = 0.1  # share of the rows, those with the largest gradients
LIKELY_INLIERS = 0.5  # share of the rows, those with the smallest gradients


def loss_entropy(losses: ArrayLike) -> NDArray[np.float64]:
    r"""Measure how evenly the losses are spread over the rows.

    With :math:`u_i` the losses, scaled to sum to one, this is

    .. math:: H = -\sum_i u_i \log u_i.

    Where a few rows carry most of the loss, as outliers do in a network that has
    memorised the inliers, the entropy is low [1]_.

    Parameters
    ----------
    losses : array-like of shape (..., n)
        Losses, along the last axis. Where some are negative, as log-likelihoods
        can be, the smallest is subtracted from all.

    Returns
    -------
    entropy : ndarray of shape (...)
        Between 0 and ``log(n)``, which stands for equal losses.

    References
    ----------
    .. [1] Y. Huang, Y. Zhang, L. Wang, F. Zhang and X. Lin, "EntropyStop:
           Unsupervised Deep Outlier Detection with Loss Entropy", KDD, 2024.

    Examples
    --------
    >>> from skim.metrics import loss_entropy
    >>> bool(loss_entropy([1, 1, 1, 9]) < loss_entropy([1, 2, 3, 4]))
    True
    """
    values = validate_rows(losses)
    values = values - np.minimum(values.min(axis=-1, keepdims=True), 0)
    largest = values.max(axis=-1, keepdims=True)
    shares = np.where(largest > 0, values / np.where(largest > 0, largest, 1), 1.0)
    shares /= shares.sum(axis=-1, keepdims=True)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return -(shares * logs).sum(axis=-1)


def gradient_cohesion(products):
    """Measure how different the gradients of likely inliers and outliers are.

    The tenth of the rows with the longest gradients is rich in outliers; the half
    with the shortest ones consists mostly of inliers. The criterion is the mean cosine
    of two gradients within each group, averaged over the groups, minus that between
    the groups. It is large while the two groups pull a network in different directions,
    after an idea of Zhang et al., "GradStop: Exploring Training Dynamics in
    Unsupervised Outlier Detection through Gradient Cohesion", 2024.

    `products` are the inner products, (..., n, n), of the gradients of rows' losses.
    """
    inner = np.asarray(products, dtype=np.float64)
    n_rows = inner.shape[-1]
    n_outliers = max(round(LIKELY_OUTLIERS * n_rows), 2)
    n_inliers = max(round(LIKELY_INLIERS * n_rows), 2)
    lengths = np.sqrt(np.maximum(np.diagonal(inner, axis1=-2, axis2=-1), 0))
    order = np.argsort(lengths, axis=-1, kind="stable")
    inverse = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    cosines = inner * inverse[..., None] * inverse[..., None, :]
    cosines = np.take_along_axis(cosines, order[..., None], axis=-2)
    cosines = np.take_along_axis(cosines, order[..., None, :], axis=-1)
    inliers, outliers = slice(None, n_inliers), slice(-n_outliers, None)
    within = _mean_of_pairs(cosines[..., inliers, inliers])
    within += _mean_of_pairs(cosines[..., outliers, outliers])
    return within / 2 - cosines[..., outliers, inliers].mean(axis=(-2, -1))


def _mean_of_pairs(cosines):
    """Return the mean of the entries off the diagonal."""
    n = cosines.shape[-1]
    trace = np.trace(cosines, axis1=-2, axis2=-1)
    return (cosines.sum(axis=(-2, -1)) - trace) / (n * (n - 1))


def thinned(values):
    """Sort values; of very many, return evenly spaced order statistics."""
    values = np.sort(values)
    return values[evenly_spaced(len(values), MAX_VALUES)]


def validate_rows(values):
    """Return rows of at least two finite values as float64."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 0 or values.shape[-1] < 2 or not np.isfinite(values).all():
        raise ValueError("Expected at least two finite values per row.")
    return values
