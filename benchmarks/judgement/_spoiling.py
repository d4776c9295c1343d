"""How tables are spoilt: absurd cells, planted outliers, gaps."""

import numpy as np


def robust_sd(X):
    """Return the median absolute deviation of each column, for normal data the sd."""
    return 1.4826 * np.median(np.abs(X - np.median(X, axis=0)), axis=0)


def spoil_cells(X, rows, k, seed):
    """Move one random cell of some rows to median ± k robust standard deviations.

    Returns a spoilt copy, and the column of each row. Only columns with a robust
    standard deviation count. A seed chooses the same cells and signs for every `k`.
    """
    rng = np.random.default_rng(seed)
    sd = robust_sd(X)
    usable = np.flatnonzero(sd > 0)
    spoilt = X.copy()
    if not len(usable):
        return spoilt, usable
    columns = rng.choice(usable, size=len(rows))
    signs = rng.choice([-1, 1], size=len(rows))
    spoilt[rows, columns] = np.median(X, axis=0)[columns] + k * signs * sd[columns]
    return spoilt, columns


def plant(X, share, kind, seed, distance=6.0):
    """Add outliers so that they are a share of the rows; they come last.

    "cluster" shifts random rows by 6 robust standard deviations in every column, up or
    down, in the same direction for all; "scattered" draws uniformly from a box of three
    times the range of each column.
    """
    rng = np.random.default_rng(seed)
    n_planted = max(round(share * len(X) / (1 - share)), 1) if share else 0
    if kind == "cluster":
        sd = robust_sd(X)
        sd = np.where(sd > 0, sd, X.std(axis=0))
        signs = rng.choice([-1, 1], size=X.shape[1])
        rows = X[rng.choice(len(X), n_planted)] + distance * sd * signs
    else:
        low, high = X.min(axis=0), X.max(axis=0)
        margin = high - low
        size = n_planted, X.shape[1]
        rows = rng.uniform(low - margin, high + margin, size=size)
    return np.concatenate([X, rows])


def delete_cells(X, share, seed):
    """Return a copy with missing values in a share of the cells, at random."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(X.shape) < share, np.nan, X)
