"""A uniform sample of the rows of a table that is seen part by part."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skim._utils import import_pandas

RARE = 0.01  # largest share of the rows of a part with a value that a sample can miss


class Sample(NamedTuple):
    """Rows of one or several parts, those with the smallest random keys.

    Of a union of samples, the smallest keys are again a uniform sample, and the same
    one in whatever order the samples are merged.

    Attributes
    ----------
    rows : DataFrame of shape (n, p)
        The index is the number of the part and the place of the row there.
    keys : ndarray of shape (n,)
    rare : DataFrame
        Rows that show a second value of columns that nearly always have the same.
    n_seen : int
        Number of rows that the sample was drawn from.
    """

    rows: Any
    keys: np.ndarray
    rare: Any
    n_seen: int


def draw(part, number, seed, n_rows, below=1.0):
    """Draw from a part.

    Parameters
    ----------
    part : DataFrame or ndarray
    number : int
        Of the part.
    seed : int
    n_rows : int
        Number of rows to draw at most.
    below : float, default=1.0
        Rows with larger keys are left out, as it is known that they will be later.
    """
    pd = import_pandas()
    keys = np.random.default_rng((seed, number)).random(len(part))
    part = pd.DataFrame(part).set_axis(
        pd.MultiIndex.from_product([[number], np.arange(len(part))]), axis=0
    )
    few = keys <= below
    return _smallest(Sample(part[few], keys[few], _rare_rows(part), len(part)), n_rows)


def merge(samples, n_rows):
    """Merge samples into one of at most `n_rows` rows."""
    pd = import_pandas()
    filled = [sample for sample in samples if sample.n_seen] or samples[:1]
    merged = Sample(
        pd.concat([sample.rows for sample in filled]),
        np.concatenate([sample.keys for sample in filled]),
        pd.concat([sample.rare for sample in filled]),
        sum(sample.n_seen for sample in filled),
    )
    return _smallest(merged, n_rows)


def _smallest(sample, n_rows):
    if len(sample.keys) <= n_rows:
        return sample
    chosen = np.sort(np.argpartition(sample.keys, n_rows)[:n_rows])
    return sample._replace(rows=sample.rows.iloc[chosen], keys=sample.keys[chosen])


def sampled_rows(sample):
    """Return the rows in order, with a value that differs where there is only one.

    A column that is constant in the sample, but not in the table, would not be a
    feature otherwise.
    """
    pd = import_pandas()
    rows = sample.rows.sort_index()
    added = []
    for name in rows:
        if len(rows) and not _differs(rows[name], rows[name].iloc[0]).any():
            differs = _differs(sample.rare[name], rows[name].iloc[0])
            added += sample.rare.index[differs][:1].tolist()
    if not added:
        return rows
    rare = sample.rare.sort_index()
    return pd.concat([rows, rare[rare.index.isin(added)]])


def _rare_rows(part):
    """Return the first row, and one for each column that nearly always has its value.

    If it is the first row that is the odd one, other parts have the usual value.
    """
    places = {0}
    for j in range(part.shape[1] if len(part) else 0):
        differs = _differs(part.iloc[:, j], part.iat[0, j])
        if 0 < differs.sum() <= max(RARE * len(part), 1):
            places.add(int(np.argmax(differs)))
    return part.iloc[sorted(places)[: len(part)]]


def _differs(values, value):
    """Return which values differ from one of them; gaps are all the same."""
    pd = import_pandas()
    missing = values.isna().to_numpy(bool)
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return ~missing
    return missing | (values != value).fillna(True).to_numpy(bool)
