"""A uniform sample of the rows of many parts, drawn while they are read once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skim._utils import import_pandas
from skim.distributed._rare import (
    RareRow,
    merge_witnesses,
    missing_rows,
    rare_rows_of,
)
from skim.tables._decide import counts_up
from skim.tables._many import check_same_columns


class Sample(NamedTuple):
    """Rows of one or several parts, those with the smallest random keys.

    The rows of a part get keys that depend on nothing but the seed and the number of
    the part. Of a union of samples, the smallest keys are again a uniform sample, and
    the same one in whatever order the samples are merged.

    Attributes
    ----------
    rows : DataFrame or ndarray of shape (n, p)
        In the order of the parts, and of the rows in them.
    keys : ndarray of uint64 of shape (n,)
    parts, numbers : ndarray of int of shape (n,)
        The part that each row comes from, and its place there.
    n_seen : int
        Number of rows that the sample was drawn from.
    kinds : dict
        From each column whose type is known to its kind, and a part in which it is.
    counters : frozenset of str or None
        Columns that count up in each part; None if there were no rows.
    rare_rows : dict
        Rows with different values in columns that are nearly constant.
    """

    rows: Any
    keys: NDArray[np.uint64]
    parts: NDArray[np.intp]
    numbers: NDArray[np.intp]
    n_seen: int
    kinds: dict[str, tuple[str, str]]
    counters: frozenset[str] | None = None
    rare_rows: dict[str, list[RareRow]] = {}

    def smallest(self, n_rows):
        """Return a sample of at most `n_rows` of these rows."""
        if len(self.keys) <= n_rows:
            return self
        limit = np.partition(self.keys, n_rows - 1)[n_rows - 1]
        chosen = np.flatnonzero(self.keys <= limit)
        if len(chosen) > n_rows:  # of equal keys, those in the first parts
            places = self.numbers[chosen], self.parts[chosen], self.keys[chosen]
            chosen = np.sort(chosen[np.lexsort(places)[:n_rows]])
        return self._replace(
            rows=take(self.rows, chosen),
            keys=self.keys[chosen],
            parts=self.parts[chosen],
            numbers=self.numbers[chosen],
        )


def draw(part, name, number, *, seed, n_rows, below=None):
    """Draw from a part.

    Parameters
    ----------
    part : DataFrame or ndarray
    name : str
        Of the part.
    number : int
        Of the part; decides about the keys, together with `seed`.
    seed : int
    n_rows : int
        Number of rows to draw at most.
    below : int, default=None
        If given, rows with larger keys are left out: it is known that they will not
        be in the end.

    Returns
    -------
    sample : Sample
    """
    n_seen = len(part)
    generator = np.random.default_rng((seed, number))
    keys = generator.integers(2**64, size=n_seen, dtype=np.uint64)
    chosen = np.arange(n_seen)
    if below is not None:
        chosen = np.flatnonzero(keys <= np.uint64(below))
    sample = Sample(
        None, keys[chosen], np.full(len(chosen), number), chosen, n_seen, {}
    ).smallest(n_rows)
    kinds = {
        column: (kind, name) for column, kind in kinds_of(part).items() if kind != ""
    }
    counters = None
    if n_seen:
        counters = frozenset(
            str(column)
            for j, column in enumerate(getattr(part, "columns", ()))
            if is_counter(part.iloc[:, j])
        )
    rows = take(part, sample.numbers)
    return sample._replace(
        rows=rows,
        kinds=kinds,
        counters=counters,
        rare_rows=rare_rows_of(part, number),
    )


def is_counter(column):
    """Tell whether a column numbers the rows, which a sample of it does not show."""
    if column.dtype.kind not in "iu" or column.isna().any():
        return False
    return counts_up(column.to_numpy())


def merge(samples, n_rows):
    """Merge samples into one of at most `n_rows` rows.

    Raises a ValueError, which names the part, if columns are of different kinds.
    """
    samples = sorted(samples, key=lambda sample: sample.parts[:1].tolist())
    kinds: dict = {}
    for sample in samples:
        check_kinds(sample.kinds, kinds)
        kinds = sample.kinds | kinds
    counters = [sample.counters for sample in samples if sample.counters is not None]
    merged = Sample(
        rows=concatenate([sample.rows for sample in samples]),
        keys=np.concatenate([sample.keys for sample in samples]),
        parts=np.concatenate([sample.parts for sample in samples]),
        numbers=np.concatenate([sample.numbers for sample in samples]),
        n_seen=sum(sample.n_seen for sample in samples),
        kinds=kinds,
        counters=frozenset.intersection(*counters) if counters else None,
        rare_rows=merge_witnesses([sample.rare_rows for sample in samples]),
    ).smallest(n_rows)
    order = np.lexsort((merged.numbers, merged.parts))
    if (order == np.arange(len(order))).all():
        return merged
    return merged._replace(
        rows=take(merged.rows, order),
        keys=merged.keys[order],
        parts=merged.parts[order],
        numbers=merged.numbers[order],
    )


def with_rare_values(sample):
    """Add a row for each column that is constant in the sample, but not in the data."""
    if not sample.rare_rows or not len(sample.rows):
        return sample
    new = missing_rows(sample.rows, sample.rare_rows)
    if not new:
        return sample
    return sample._replace(
        rows=concatenate([sample.rows, *(row.row for row in new)]),
        keys=np.r_[sample.keys, np.zeros(len(new), np.uint64)],
        parts=np.r_[sample.parts, [row.part for row in new]],
        numbers=np.r_[sample.numbers, [row.number for row in new]],
    )


def take(rows, chosen):
    """Return some rows, or None of None."""
    if rows is None:
        return None
    if hasattr(rows, "iloc"):
        return rows.iloc[chosen].reset_index(drop=True)
    return rows[chosen]


def concatenate(tables):
    """Put the rows of tables below each other; those without rows have no say."""
    tables = [table for table in tables if len(table)] or tables[:1]
    if len(tables) == 1:
        return tables[0]
    if not hasattr(tables[0], "iloc"):
        return np.concatenate(tables)
    pd = import_pandas()
    if any(not table.dtypes.equals(tables[0].dtypes) for table in tables):
        # A column without values in one part has the type that it has in the others.
        columns = tables[0].columns
        tables = [table.dropna(axis=1, how="all") for table in tables]
        return pd.concat(tables, ignore_index=True).reindex(columns=columns)
    return pd.concat(tables, ignore_index=True)


# Checks ---------------------------------------------------------------------------


def kinds_of(part):
    """Return the kind of values in each column of a part, "" where there are none."""
    if not hasattr(part, "iloc"):
        return {}
    return {str(name): _kind(part.iloc[:, j]) for j, name in enumerate(part.columns)}


def _kind(column):
    from pandas.api import types

    if not column.notna().any():
        return ""
    dtype = column.dtype
    if types.is_object_dtype(dtype):
        found = types.infer_dtype(column, skipna=True)
        return {
            "string": "text",
            "integer": "numbers",
            "floating": "numbers",
            "mixed-integer-float": "numbers",
            "decimal": "numbers",
            "boolean": "numbers",
            "datetime": "dates",
            "date": "dates",
            "timedelta": "durations",
        }.get(found, "values of several types")
    if isinstance(dtype, import_pandas().CategoricalDtype):
        return _kind(dtype.categories.to_series())
    if types.is_numeric_dtype(dtype) or types.is_bool_dtype(dtype):
        return "numbers"
    if types.is_datetime64_any_dtype(dtype):
        return "dates"
    return "durations" if types.is_timedelta64_dtype(dtype) else "text"


def check_kinds(kinds, known):
    """Raise if columns are of another kind than is known from other parts."""
    for column, (kind, part) in kinds.items():
        usual, other = known.get(column, (kind, part))
        if kind != usual:
            raise ValueError(
                f"{part} has {kind} in column {column!r}, but {other} has {usual}; "
                "use the same type in all parts."
            )


def checked(part, name, columns, other, *, allow_infinite):
    """Return a part with its columns in order, or raise an error that names it.

    Parameters
    ----------
    part : DataFrame or ndarray
    name : str
        Of the part.
    columns : list or None
        The columns that it should have; None for arrays.
    other : str
        What has these columns, for the error.
    allow_infinite : bool
    """
    if columns is not None and list(part.columns) != list(columns):
        check_same_columns(name, list(part.columns), other, list(columns))
        part = part[list(columns)]
    if not allow_infinite:
        _check_finite(part, name)
    return part


def _check_finite(part, name):
    if not hasattr(part, "iloc"):
        if part.dtype.kind == "f" and np.isinf(part).any():
            raise ValueError(f"{name} contains infinity; {ADVICE}.")
        return
    for column, values in part.items():
        if values.dtype.kind == "f":
            array = values.to_numpy(na_value=np.nan)
            if np.isinf(array).any():
                raise ValueError(
                    f"{name} contains infinity in column {str(column)!r}; {ADVICE}."
                )


ADVICE = "replace or drop such values"
