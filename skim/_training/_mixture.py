"""The mixture of two Gaussians in one dimension, and what can be read off it.

Early in training, the losses of inliers and of outliers separate. A mixture of two
Gaussians, fitted to the losses, measures without labels how well.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skim._training._criteria import thinned, validate_rows

VAR_FLOOR = 1e-6  # for values scaled to [0, 1]
REACH = 3.0  # standard deviations that still belong to the bulk of the losses


class TwoGaussians(NamedTuple):
    """A fitted mixture; along the last axis, the component further left is first."""

    weights: np.ndarray
    means: np.ndarray
    variances: np.ndarray


def fit_two_gaussians(values, *, max_iter=100, tol=1e-3):
    """Fit a mixture of two Gaussians along the last axis.

    Expectation-maximisation starts from the best split of the sorted values into two
    groups. Each row is fitted as if it were alone, and nothing is random.
    """
    scaled, low, width = _scale_to_unit(validate_rows(values))
    weights, means, variances = _fit_unit(scaled, max_iter, tol)
    with np.errstate(over="ignore"):
        means = 2 * (low + width * means)
        variances = (2 * width) ** 2 * variances
    return TwoGaussians(weights, means, variances)


def separation(losses: ArrayLike) -> np.ndarray:
    r"""Measure how far losses have parted into two groups.

    The losses are scaled to [0, 1] and a mixture of two Gaussians is fitted to
    them. Its components' means and variances give

    .. math:: (\mu_1 - \mu_2)^2 + (\sigma_1^2 - \sigma_2^2)^2,

    the criterion by which ODIM chooses when to stop.

    Parameters
    ----------
    losses : array-like of shape (..., n)
        Losses, along the last axis.

    Returns
    -------
    separation : ndarray of shape (...)
        Zero where all losses are equal.

    Examples
    --------
    >>> from skim.metrics import separation
    >>> float(separation([0.0, 0.0, 0.1, 0.9, 1.0])) > 0.6
    True
    """
    scaled, _, _ = _scale_to_unit(validate_rows(losses))
    _, means, variances = _fit_unit(scaled)
    between_means = np.diff(means, axis=-1)[..., 0]
    between_variances = np.diff(variances, axis=-1)[..., 0]
    return between_means**2 + between_variances**2


def split_point(values):
    """Return where outliers begin among values, of shape (n,); infinity if nowhere.

    The heavier of the two Gaussians of the mixture is the bulk of the values. An
    outlier lies more than three standard deviations above its mean and, if the other
    Gaussian is the upper one, is more likely to belong to that one.
    """
    values = thinned(validate_rows(values))
    if values[0] == values[-1]:
        return np.inf
    scaled, _, _ = _scale_to_unit(values)
    weights, means, variances = mixture = _fit_unit(scaled)
    bulk = int(np.argmax(weights))
    outlying = scaled > means[bulk] + REACH * np.sqrt(variances[bulk])
    if bulk == 0:
        lower, upper = _densities(scaled[None], *(part[:, None] for part in mixture))
        outlying &= (upper > lower)[0]
    if not outlying.any():
        return np.inf
    first = np.argmax(outlying)
    return float(values[first - 1] / 2 + values[first] / 2)


def _scale_to_unit(values):
    """Scale rows to [0, 1]; return half the minimum and half the width as well."""
    # Halves, because the width of float64 values need not be a float64.
    low = values.min(axis=-1, keepdims=True) / 2
    width = values.max(axis=-1, keepdims=True) / 2 - low
    width = np.where(width > 0, width, 0.5)
    return (values / 2 - low) / width, low, width


def _fit_unit(values, max_iter=100, tol=1e-3):
    """Fit the mixture to values scaled to [0, 1]."""
    x = np.sort(values.reshape(-1, values.shape[-1]), axis=1)
    squares = x * x
    parts = _moments(x, squares, _best_split(x))
    fitted = [part.copy() for part in parts]
    active = np.arange(len(x))
    likelihood = np.full(len(x), -np.inf)
    for _ in range(max_iter):
        density = _densities(x, *parts)
        total = density[0] + density[1]
        before, likelihood = likelihood, np.log(total).sum(axis=1) / x.shape[1]
        density /= total
        parts = _moments(x, squares, density)
        for whole, part in zip(fitted, parts, strict=True):
            whole[:, active] = part
        goes_on = likelihood - before >= tol
        if not goes_on.any():
            break
        if not goes_on.all():
            x, squares, likelihood, active = (
                part[goes_on] for part in (x, squares, likelihood, active)
            )
            parts = [part[:, goes_on] for part in parts]
    order = np.argsort(fitted[1], axis=0)
    shape = (*values.shape[:-1], 2)
    return TwoGaussians(
        *(np.take_along_axis(part, order, axis=0).T.reshape(shape) for part in fitted)
    )


def _best_split(rows):
    """Group membership, (2, R, n), of the split of sorted rows into two groups
    whose sum of squares within the groups is least.
    """
    n = rows.shape[1]
    size = np.arange(1, n)
    left = np.cumsum(rows, axis=1)
    total, left = left[:, -1:], left[:, :-1]
    between = (left - size / n * total) ** 2 / (size * (n - size))
    n_left = 1 + np.argmax(between, axis=1)
    in_left = np.arange(n) < n_left[:, None]
    return np.stack([in_left, ~in_left]).astype(np.float64)


def _moments(x, squares, responsibility):
    """Weights, means and variances, each (2, R), of the mixture of rows `x`, (R, n)."""
    size = responsibility.sum(axis=2)
    size += 10 * np.finfo(np.float64).eps
    means = np.einsum("krn,rn->kr", responsibility, x) / size
    variances = np.einsum("krn,rn->kr", responsibility, squares) / size
    variances -= means * means
    np.maximum(variances, 0.0, out=variances)
    variances += VAR_FLOOR
    return size / (size[0] + size[1]), means, variances


def _densities(x, weights, means, variances):
    """Weighted densities, (2, R, n), of rows `x`, (R, n); never quite zero."""
    density = x - means[:, :, None]
    density *= density
    density *= -0.5
    density /= variances[:, :, None]
    np.exp(density, out=density)
    density *= weights[:, :, None]
    density /= np.sqrt(2 * np.pi * variances)[:, :, None]
    density += np.finfo(np.float64).tiny
    return density
