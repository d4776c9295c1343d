"""Rows that repeat another one."""

from __future__ import annotations

import numpy as np

USUAL_SHARE = 0.01  # of rows that repeat another, beyond which it is in their nature
FEW = 3  # rows that are named whatever their share is
MIN_COLUMNS = 4  # that two rows must share for it to mean something
MIX = np.uint64(0x9E3779B97F4A7C15)


def find_duplicates(table, ids=()):
    """Find rows that repeat an earlier one, in time linear in the number of cells.

    Nothing is found in a table in which that is usual, such as one whose rows are
    combinations of a few levels.

    Parameters
    ----------
    table : DataFrame
    ids : sequence of str, default=()
        Columns that identify rows.

    Returns
    -------
    duplicates : DataFrame
        With the columns "row" and "other", the positions of a row and of an earlier
        one; "kind", which is "identifier" if the two have the same identifier and
        "copy" if they agree in all other columns but one, or in all; and "column",
        the identifier, or the column in which they differ, if any.
    """
    import pandas as pd

    found = []
    for name in ids:
        column = table[name].reset_index(drop=True)
        codes = pd.factorize(column)[0]
        rows = np.flatnonzero(pd.Series(codes).duplicated() & (codes >= 0))
        found += _few(rows, _first(codes, rows), "identifier", name, len(table))
    return pd.DataFrame(
        found + _copies(table.drop(columns=list(ids))),
        columns=["row", "other", "kind", "column"],
    )


def _copies(table):
    """Return the rows that agree with an earlier one in all columns but one."""
    import pandas as pd

    if table.shape[1] < MIN_COLUMNS:
        return []
    cells = [_hashed(table.iloc[:, j], j) for j in range(table.shape[1])]
    whole = np.sum(cells, axis=0, dtype=np.uint64)
    is_copy = pd.Series(whole).duplicated().to_numpy()
    rows, others, columns = [], [], []
    groups = [(whole, None)] + [
        (whole - own, name) for own, name in zip(cells, table.columns, strict=True)
    ]
    for rest, name in groups:
        again = np.flatnonzero(pd.Series(rest).duplicated())
        again = again[~is_copy[again]] if name is not None else again
        rows.append(again)
        others.append(_first(rest, again))
        columns += [name] * len(again)
        if sum(map(len, rows)) > max(FEW, USUAL_SHARE * len(table)):
            return []
    return _few(
        np.concatenate(rows), np.concatenate(others), "copy", columns, len(table)
    )


def _hashed(column, j):
    """Return a number for each cell, by which two cells of a column differ."""
    import pandas as pd

    codes = pd.factorize(column)[0].astype(np.uint64) + np.uint64(j << 40)
    for shift in (30, 27):
        codes = (codes ^ (codes >> np.uint64(shift))) * MIX
    return codes ^ (codes >> np.uint64(31))


def _first(keys, rows):
    """Return the first row with the key of each of the rows."""
    if not len(rows):
        return rows
    wanted = np.unique(keys[rows])
    candidates = np.flatnonzero(np.isin(keys, wanted))
    first = np.full(len(wanted), len(keys))
    np.minimum.at(first, np.searchsorted(wanted, keys[candidates]), candidates)
    return first[np.searchsorted(wanted, keys[rows])]


def _few(rows, others, kind, columns, n_rows):
    if len(rows) > max(FEW, USUAL_SHARE * n_rows):
        return []
    columns = columns if isinstance(columns, list) else [columns] * len(rows)
    return sorted(
        zip(rows.tolist(), others.tolist(), [kind] * len(rows), columns, strict=True),
        key=lambda line: line[:2],
    )
