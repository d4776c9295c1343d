"""Which columns TabPFN predicts, and whether they are numbers or classes."""

from numbers import Integral

import numpy as np

from skim.embedding._tabpfn_model import MAX_CLASSES

# A column whose standard deviation is a smaller part of its range hardly varies.
HARDLY = 0.01
# Larger values are scaled down: TabPFN works in single precision.
LARGE = 1e15


def choose_targets(target, n_targets, X, names):
    """Return the positions of the columns that are predicted.

    Parameters
    ----------
    target : "auto", "all", int, str or list of these
    n_targets : int
        How many "auto" takes.
    X : ndarray of shape (n, p)
    names : list of str
        Names of the columns, empty if there are none.

    Returns
    -------
    positions : ndarray of int
    """
    if isinstance(target, str) and target in ("auto", "all"):
        varied = varies(X)
        known = np.isfinite(X).mean(axis=0) >= 0.5
        chosen = np.flatnonzero(varied & known if (varied & known).any() else varied)
        if len(chosen) == 0:
            chosen = np.flatnonzero(differs(X))  # better a rare value than nothing
        if len(chosen) == 0:
            raise ValueError(
                "Every column of X is constant: there is nothing to predict, and no "
                "row differs from another."
            )
        return chosen if target == "all" else chosen[:n_targets]
    given = target if isinstance(target, list | tuple) else [target]
    if len(given) == 0:
        raise ValueError("target is empty; name a column, or use 'auto'.")
    chosen = np.array([_position(column, X.shape[1], names) for column in given])
    for position, column in zip(chosen, given, strict=True):
        if not differs(X[:, [position]]).all():
            raise ValueError(
                f"The target {column!r} is constant in X. Choose another column, or "
                "target='auto'."
            )
    return chosen


def _position(column, n_columns, names):
    """Return where a column is that is given by position or name."""
    if isinstance(column, str):
        if column not in names:
            known = ", ".join(map(str, names[:10])) or "none, X has no names"
            raise ValueError(f"X has no column {column!r}; it has: {known}.")
        return names.index(column)
    if not isinstance(column, Integral) or isinstance(column, bool):
        raise ValueError(
            f"target holds {column!r}, which is neither a position nor a name."
        )
    if not -n_columns <= column < n_columns:
        raise ValueError(
            f"target={column} is no position in a table of {n_columns} columns."
        )
    return column % n_columns


def choose_task(task, column, able, model_path):
    """Return what predicting a column is: "regression" or "classification".

    Parameters
    ----------
    task : {"auto", "regression", "classification"}
    column : ndarray of shape (n,)
    able : set of str
        What the weights can do.
    model_path : str or path
        For messages.
    """
    values = np.unique(column[np.isfinite(column)])
    few = len(values) <= MAX_CLASSES
    wanted = task
    if task == "auto":
        whole = few and (values == np.round(values)).all()
        wanted = "classification" if whole else "regression"
        if wanted not in able and (few or "regression" in able):
            (wanted,) = able
    if wanted not in able:
        raise ValueError(
            f"The checkpoint {str(model_path)!r} cannot do {wanted}; choose another "
            f"one, or task={' or '.join(map(repr, sorted(able)))}."
        )
    if wanted == "classification" and not few:
        raise ValueError(
            f"A target has {len(values)} different values, and TabPFN tells at most "
            f"{MAX_CLASSES} classes apart. Choose another target, or a regressor."
        )
    return wanted


def scale_of(X):
    """Return what very large columns are divided by."""
    largest = np.fmax.reduce(np.abs(X), axis=0, initial=0.0)
    return np.where(largest > LARGE, largest, 1.0)


def differs(X):
    """Return which columns have two different values."""
    return np.fmin.reduce(X, axis=0) < np.fmax.reduce(X, axis=0)


def varies(X):
    """Return which columns vary more than hardly."""
    X = X / scale_of(X)
    low = np.fmin.reduce(X, axis=0)
    span = np.fmax.reduce(X, axis=0) - low
    scaled = (X - low) / np.where(span > 0, span, 1.0)
    count = np.maximum(np.isfinite(scaled).sum(axis=0), 1)
    mean = np.nansum(scaled, axis=0) / count
    return np.sqrt(np.nansum((scaled - mean) ** 2, axis=0) / count) > HARDLY
