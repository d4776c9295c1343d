"""Tables of any size, made in parts by a seed."""

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from skim._utils import replacing

N_FACTORS = 4  # behind the columns
SHARE = 0.01  # of outliers, which have nothing in common


def make_part(number, n_rows, n_columns, seed=0):
    """Return a part of a table, in single precision.

    Inliers are linear in a few factors, with noise; outliers have the same columns,
    each by itself.
    """
    mixing = np.random.default_rng(seed).normal(size=(N_FACTORS, n_columns))
    rng = np.random.default_rng((seed, number))
    factors = rng.normal(size=(n_rows, N_FACTORS))
    rows = factors @ mixing + 0.3 * rng.normal(size=(n_rows, n_columns))
    outliers = np.flatnonzero(rng.random(n_rows) < SHARE)
    rows[outliers] = rng.permuted(rows[outliers], axis=0)
    return rows.astype(np.float32)


def make_table(n_rows, n_columns, part_rows=1_000_000):
    """Return a table in memory, made part by part."""
    table = np.empty((n_rows, n_columns), dtype=np.float32)
    for number, start in enumerate(range(0, n_rows, part_rows)):
        rows = min(part_rows, n_rows - start)
        table[start : start + rows] = make_part(number, rows, n_columns)
    return table


def write_parts(folder, n_rows, n_columns, part_rows):
    """Write a table as Parquet files, as far as they are not there, into a folder.

    Returns the folder for this size.
    """
    folder = folder / f"{n_rows}x{n_columns} in parts of {part_rows}"
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"x{j}" for j in range(n_columns)]
    for number, start in enumerate(range(0, n_rows, part_rows)):
        path = folder / f"part-{number:05d}.parquet"
        if path.exists():
            continue
        part = make_part(number, min(part_rows, n_rows - start), n_columns)
        with replacing(path) as draft:
            parquet.write_table(pa.table(list(part.T), names=names), draft)
    return folder
