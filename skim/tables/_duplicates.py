"""Rows that repeat another one."""

from __future__ import annotations

import numpy as np

USUAL_SHARE = 0.01  # of rows that repeat another, beyond which it is in their nature
FEW = 3  # rows that are named whatever their share is
MIN_COLUMNS = 4  # that two rows must share for it to mean something


def find_duplicates(table, ids=()):
    """Find rows that repeat an earlier one, unless that is usual in the table.

    Returns
    -------
    duplicates : DataFrame
        With the columns "row" and "other", the positions of a row and of an earlier
        one, and "column", the one of `ids` that both have in common, or None if they
        have the same values in all other columns.
    """
    import pandas as pd

    others = table.columns.drop(list(ids))
    shared = {name: [name] for name in ids}
    if len(others) >= MIN_COLUMNS:
        shared[None] = list(others)
    found = []
    for column, names in shared.items():
        own = table[names].reset_index(drop=True)
        own = own if column is None else own.dropna()
        keys = pd.util.hash_pandas_object(own, index=False).to_numpy()
        rows = own.index.to_numpy()
        first = pd.Series(rows).groupby(keys).transform("first").to_numpy()
        again = np.flatnonzero(rows != first)
        if len(again) <= max(FEW, USUAL_SHARE * len(table)):
            found += [(rows[i], first[i], column) for i in again]
    return pd.DataFrame(found, columns=["row", "other", "column"])
