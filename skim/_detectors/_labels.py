"""Partial labels: reading them and asking for them."""

import warnings

import numpy as np
from scipy.special import expit
from sklearn.utils._missing import is_pandas_na

from skim._training._mixture import fit_two_gaussians

MIXTURE_POSTERIOR = 0.4  # smaller posterior of the rows that "mixture" asks about

STRATEGIES = ("informative", "random", "mixture")


def check_labels(labels, n_rows):
    """Return labels as floats, NaN where unknown; None if all of them are."""
    if labels is None:
        return None
    values = np.asarray(labels)
    if values.shape != (n_rows,):
        raise ValueError(
            f"labels has shape {values.shape}, but there are {n_rows} rows; pass one "
            "label per row, NaN where it is unknown."
        )
    if np.iscomplexobj(values):
        raise ValueError("labels must not be complex numbers.")
    if values.dtype == object:
        is_missing = [value is None or is_pandas_na(value) for value in values]
        values = np.where(is_missing, np.nan, values)
    meaning = "1 is an outlier, 0 an inlier and NaN unknown"
    try:
        values = values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"labels must be numbers: {meaning}.") from None
    known = values[~np.isnan(values)]
    wrong = known[(known != 0) & (known != 1)]
    if len(wrong):
        raise ValueError(f"labels contains {wrong[0]:g}: {meaning}.")
    return values if len(known) else None


def looks_partial(y):
    """Whether what was passed as `y` has 0, 1 and unknown values, as labels have."""
    try:
        labels = check_labels(y, len(y))
    except (TypeError, ValueError):
        return False
    return labels is not None and bool(np.isnan(labels).any())


def warn_of_contradictions(values, labels):
    """Warn if rows with the same values, of shape (n, p), have different labels."""
    _, groups = np.unique(np.nan_to_num(values), axis=0, return_inverse=True)
    shares = np.bincount(groups.ravel(), labels) / np.bincount(groups.ravel())
    n_mixed = np.count_nonzero((shares > 0) & (shares < 1))
    if n_mixed:
        cases = "1 case" if n_mixed == 1 else f"{n_mixed} cases"
        warnings.warn(
            f"labels contradict each other in {cases}: rows that the detector cannot "
            "tell apart are labelled both 0 and 1.",
            stacklevel=5,
        )


def check_rows(among, n_rows):
    """Return the rows that may be asked about, as a mask."""
    if among is None:
        return np.ones(n_rows, dtype=bool)
    among = np.asarray(among)
    mask = np.zeros(n_rows, dtype=bool)
    if among.size == 0:
        return mask
    try:
        mask[among] = True
    except IndexError:
        raise ValueError(
            f"among must be row numbers below {n_rows} or a mask of {n_rows} values."
        ) from None
    return mask


def most_valuable(strategy, rows, n, *, losses, seed):
    """Return the `n` rows most worth asking about, the most valuable first."""
    order = np.random.default_rng(seed).permutation(len(losses))
    at_random = rows[np.argsort(order[rows])]
    if strategy == "random":
        return at_random[:n]
    distance = np.abs(_smaller_posterior(losses) - MIXTURE_POSTERIOR)
    return at_random[np.argsort(distance[at_random], kind="stable")][:n]


def _smaller_posterior(losses):
    """Return the posterior of the less likely of two Gaussians of the losses."""
    mixture = fit_two_gaussians(losses)
    variances = np.maximum(mixture.variances, np.finfo(np.float64).tiny)
    squares = (losses[:, None] - mixture.means) ** 2
    with np.errstate(divide="ignore"):
        log_density = np.log(mixture.weights) - 0.5 * np.log(variances)
    log_density = log_density - 0.5 * squares / variances
    return expit(-np.abs(np.diff(log_density, axis=1)[:, 0]))
