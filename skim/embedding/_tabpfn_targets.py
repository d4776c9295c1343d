"""The columns that TabPFN predicts, and the context rows it predicts them from."""

from numbers import Integral

import numpy as np

# What the pretrained networks were made for.
MAX_FEATURES = 500
MAX_CLASSES = 10
MAX_CONTEXT = 10_000
# Columns vary if their standard deviation exceeds this fraction of their range.
MIN_VARIATION = 0.01
# Columns with larger values are scaled down: TabPFN works in single precision.
LARGE = 1e15


def check_size(X, max_context):
    """Raise an error if a table or context is too large for TabPFN."""
    n_columns = X.shape[1]
    if n_columns - 1 > MAX_FEATURES:
        raise ValueError(
            f"X has {n_columns} columns, but TabPFN takes at most {MAX_FEATURES} "
            "besides the target: reduce them, for example with PCA, or pass such "
            "tables through with apply='auto'."
        )
    if max_context > MAX_CONTEXT:
        raise ValueError(
            f"max_context={max_context} is more than the {MAX_CONTEXT:,} rows that "
            "TabPFN supports; 1,000 are usually enough."
        )


def choose_targets(target, n_targets, X, names):
    """Return the positions of the columns to predict.

    `target` and `n_targets` are those of the embedder. `names` lists the names of the
    columns; it is empty if there are none.
    """
    if isinstance(target, str) and target in ("auto", "all"):
        varied = varies(X)
        known = np.isfinite(X).mean(axis=0) >= 0.5
        chosen = np.flatnonzero(varied & known if (varied & known).any() else varied)
        if len(chosen) == 0:
            chosen = np.flatnonzero(differs(X))  # a rare value is better than nothing
        if len(chosen) == 0:
            raise ValueError(
                "Every column of X is constant, so there is nothing to predict."
            )
        return chosen if target == "all" else chosen[:n_targets]
    given = target if isinstance(target, list | tuple) else [target]
    if len(given) == 0:
        raise ValueError("target is empty: pass at least one column, or 'auto'.")
    chosen = np.array([_position(column, X.shape[1], names) for column in given])
    for position, column in zip(chosen, given, strict=True):
        if not differs(X[:, [position]]).all():
            raise ValueError(
                f"The target {column!r} is constant in X: choose another column, or "
                "target='auto'."
            )
    return chosen


def _position(column, n_columns, names):
    """Return the position of a column given by position or name."""
    if isinstance(column, str):
        if column not in names:
            known = f"has columns {', '.join(names[:10])}" if names else "has no names"
            raise ValueError(f"target={column!r} is not a column of X, which {known}.")
        return names.index(column)
    if not isinstance(column, Integral) or isinstance(column, bool):
        raise ValueError(
            f"target contains {column!r}, which is neither a position nor a name."
        )
    if not -n_columns <= column < n_columns:
        raise ValueError(f"target={column} is out of range: X has {n_columns} columns.")
    return column % n_columns


def choose_task(task, column, supported, model_path):
    """Return the task of predicting a column: "regression" or "classification".

    `task` may be "auto". `supported` contains the tasks that the weights can do.
    """
    values = np.unique(column[np.isfinite(column)])
    few = len(values) <= MAX_CLASSES
    if task == "auto":
        whole = few and (values == np.round(values)).all()
        task = "classification" if whole else "regression"
        if task not in supported and (few or "regression" in supported):
            (task,) = supported
    if task not in supported:
        raise ValueError(
            f"The checkpoint {str(model_path)!r} does not support {task}: choose "
            f"another one, or task={' or '.join(map(repr, sorted(supported)))}."
        )
    if task == "classification" and not few:
        raise ValueError(
            f"A target has {len(values)} different values, but TabPFN supports at most "
            f"{MAX_CLASSES} classes: choose another target, or task='regression'."
        )
    return task


def draw_context(X, rows, targets, max_context, random_state):
    """Draw at most `max_context` of the given rows, and return them sorted.

    If a target is constant in them, a row with another value replaces one of them.
    """
    rows = rows[np.isfinite(X[np.ix_(rows, targets)]).any(axis=1)]
    if len(rows) < 2:
        raise ValueError(
            f"Only {len(rows)} of the rows to draw a context from have a value in a "
            "target column: choose another target, impute it, or use fewer folds."
        )
    drawn = random_state.permutation(rows)
    context, rest = drawn[:max_context], drawn[max_context:]
    for place, target in enumerate(targets):
        if not differs(X[context, target][:, None])[0]:
            value = np.fmin.reduce(X[context, target])
            others = rest[np.isfinite(X[rest, target]) & (X[rest, target] != value)]
            if len(others):
                context[-1 - place % len(context)] = others[0]
    return np.sort(context)


def split_context(context, target):
    """Return the features and the target of the context rows that have a target."""
    context = context[np.isfinite(context[:, target])]
    features, values = np.delete(context, target, axis=1), context[:, target]
    if len(context) < 2 or not (differs(values[:, None]) & differs(features)).any():
        raise ValueError(
            f"In a context of {len(context)} rows, the target in column {target} or "
            "all other columns are constant: choose another target, a larger "
            "max_context or fewer folds."
        )
    return features, values


def scale_of(X):
    """Return the divisor of each column, which is 1 except for very large values."""
    largest = np.fmax.reduce(np.abs(X), axis=0, initial=0.0)
    return np.where(largest > LARGE, largest, 1.0)


def differs(X):
    """Tell which columns have two different values."""
    return np.fmin.reduce(X, axis=0) < np.fmax.reduce(X, axis=0)


def varies(X):
    """Tell which columns vary enough to be a target."""
    X = X / scale_of(X)
    low = np.fmin.reduce(X, axis=0)
    span = np.fmax.reduce(X, axis=0) - low
    scaled = (X - low) / np.where(span > 0, span, 1.0)
    count = np.maximum(np.isfinite(scaled).sum(axis=0), 1)
    mean = np.nansum(scaled, axis=0) / count
    return np.sqrt(np.nansum((scaled - mean) ** 2, axis=0) / count) > MIN_VARIATION
