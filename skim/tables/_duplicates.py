"""Rows that repeat another one."""

from __future__ import annotations

import numpy as np

USUAL_SHARE = 0.01  # of rows that repeat another, beyond which it is in their nature
FEW = 3  # rows that are named whatever their share is
MIN_COLUMNS = 4  # that two rows must share for it to mean something


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
        codes = pd.Series(pd.factorize(table[name])[0])
        rows, others = _repeated(codes.where(codes >= 0, -1 - codes.index))
        found += _few(rows, others, "identifier", [name] * len(rows), len(table))
    return pd.DataFrame(
        found + _copies(table.drop(columns=list(ids))),
        columns=["row", "other", "kind", "column"],
    )


def _copies(table):
    """Return the rows that agree with an earlier one in all columns but one."""
    if table.shape[1] < MIN_COLUMNS:
        return []
    cells = [_hashed(table.iloc[:, j], j) for j in range(table.shape[1])]
    whole = np.sum(cells, axis=0, dtype=np.uint64)
    rows, others = _repeated(whole)
    columns = [None] * len(rows)
    is_copy = np.isin(np.arange(len(table)), rows)
    for own, name in zip(cells, table.columns, strict=True):
        if len(columns) > max(FEW, USUAL_SHARE * len(table)):
            return []
        again, first = _repeated(whole - own)
        new = ~is_copy[again]
        rows, others = np.append(rows, again[new]), np.append(others, first[new])
        columns += [name] * int(new.sum())
    return _few(rows, others, "copy", columns, len(table))


def _hashed(column, j):
    """Return a number for each cell, by which two cells of a column differ."""
    import pandas as pd

    codes = pd.factorize(column)[0].astype(np.uint64)
    return pd.util.hash_array(codes + np.uint64(j << 40))


def _repeated(keys):
    """Return the rows whose key an earlier row has, and the first row that has it."""
    import pandas as pd

    again = pd.Series(keys).duplicated().to_numpy()
    rows, first = np.flatnonzero(again), np.flatnonzero(~again)
    return rows, first[pd.factorize(keys)[0][rows]]


def _few(rows, others, kind, columns, n_rows):
    if len(rows) > max(FEW, USUAL_SHARE * n_rows):
        return []
    kinds = [kind] * len(rows)
    found = zip(rows.tolist(), others.tolist(), kinds, columns, strict=True)
    return sorted(found, key=lambda line: line[:2])
