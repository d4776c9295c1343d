"""Rare values of columns that are constant but for them, which a sample can miss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skim._utils import import_pandas

MAJORITY = 0.5  # of the rows of a part with the same value


class RareRow(NamedTuple):
    """A row that shows a value of a column.

    Attributes
    ----------
    part, number : int
        Where it is from.
    value : object
    row : DataFrame of one row
    """

    part: int
    number: int
    value: Any
    row: Any


def rare_rows_of(part, number):
    """Return two rows that differ in a column, for each column of mostly one value.

    Parameters
    ----------
    part : DataFrame or ndarray
        There are none for an array.
    number : int
        Of the part.

    Returns
    -------
    rare_rows : dict of str to list of RareRow
        One row for a constant column.
    """
    found: dict = {}
    if not hasattr(part, "iloc"):
        return found
    for j, column in enumerate(part.columns if len(part) else ()):
        values = part.iloc[:, j]
        for place in (0, len(part) // 2):
            differs = _differs(values, values.iloc[place])
            if differs is not None and differs.mean() < MAJORITY:
                places = [place, int(np.argmax(differs))][: 1 + bool(differs.any())]
                found[str(column)] = [
                    RareRow(number, p, values.iloc[p], part.iloc[[p]])
                    for p in sorted(places)
                ]
                break
    return found


def merge_witnesses(every):
    """Keep the first row for each column, and the first one that differs from it.

    These are the same in whatever order parts are merged.
    """
    merged: dict = {}
    for column in {name for rare_rows in every for name in rare_rows}:
        rows = [row for rare_rows in every for row in rare_rows.get(column, ())]
        first, *others = sorted(rows, key=lambda row: row[:2])
        other = [row for row in others if not _same(row.value, first.value)]
        merged[column] = [first, *other[:1]]
    return merged


def missing_rows(rows, rare_rows):
    """Return the rare_rows of values that columns of a sample lack, if it has only one.

    Parameters
    ----------
    rows : DataFrame
        The sample.
    rare_rows : dict of str to list of RareRow
    """
    found: dict = {}
    for column in rows.columns:
        few = rare_rows.get(str(column), ())
        if len(few) < 2:
            continue
        differs = _differs(rows[column], rows[column].iloc[0])
        if differs is None or differs.any():
            continue
        for row in few:
            if not _same(row.value, rows[column].iloc[0]):
                found[row[:2]] = row
    return [found[place] for place in sorted(found)]


def _differs(values, value):
    """Return which values differ from one of them, None if they cannot be compared."""
    missing = values.isna().to_numpy(bool)
    if _is_missing(value):
        return ~missing
    try:
        return missing | (values != value).fillna(True).to_numpy(bool)
    except (TypeError, ValueError):
        return None


def _same(one, other):
    if _is_missing(one) or _is_missing(other):
        return _is_missing(one) and _is_missing(other)
    return bool(one == other)


def _is_missing(value):
    pd = import_pandas()
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))
