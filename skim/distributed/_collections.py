"""Dask's collections, and files as such, seen as numbered and named parts."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from skim.distributed._parts import find_parts, read_header, read_part


class Collection(NamedTuple):
    """A Dask DataFrame or Array of rows.

    Attributes
    ----------
    data : dask DataFrame or Array
    names : list of str
        Names of the partitions in messages.
    name : str
        Of the whole.
    columns : list or None
        None for an Array.
    """

    data: Any
    names: list[str]
    name: str
    columns: list | None

    @classmethod
    def of(cls, X, storage_options=None):
        """Return the collection that `X` is, or that its files are."""
        import dask.array as da
        import dask.dataframe as dd

        if isinstance(X, str | os.PathLike):
            parts = find_parts(X, storage_options)
            meta = read_header(parts[0])
            data = dd.from_map(
                read_part,
                parts,
                meta=meta,
                label="read",
                enforce_metadata=False,
            )
            return cls(data, [p.name for p in parts], str(X), list(meta.columns))
        if isinstance(X, dd.DataFrame):
            return cls(X, _numbered(X.npartitions), "X", list(X.columns))
        if isinstance(X, da.Array):
            if X.ndim != 2:
                raise ValueError(
                    f"X must be two-dimensional, but it has {X.ndim} dimensions."
                )
            X = X.rechunk({1: -1})
            return cls(X, _numbered(X.numblocks[0]), "X", None)
        raise TypeError(
            "X must be a Dask DataFrame or Array, or the path of Parquet or CSV files, "
            f"not {type(X).__name__}; fit a table in memory with the detector itself."
        )

    def delayed(self):
        """Return the partitions as delayed objects."""
        delayed = self.data.to_delayed()
        return list(delayed.ravel()) if self.columns is None else delayed

    def map(self, scoring, estimator):
        """Return the results of a scoring of all partitions by an estimator."""
        import dask
        import dask.dataframe as dd
        import pandas as pd

        token = dask.base.tokenize(estimator)
        model = dask.delayed(estimator, name=f"model-{token}", traverse=False)
        if self.columns is None:
            meta = scoring.empty()
            chunks = self.data.chunks[0]
            return self.data.map_blocks(
                _score_block,
                model,
                scoring,
                dtype=meta.dtype,
                meta=meta,
                **(
                    {"drop_axis": 1}
                    if meta.ndim == 1
                    else {"chunks": (chunks, (meta.shape[1],))}
                ),
            )
        names = dd.from_map(
            _name_frame, self.names, meta=_name_frame(""), enforce_metadata=False
        )
        return dd.map_partitions(
            _score_partition,
            self.data,
            names,
            model,
            scoring,
            meta=scoring.empty(
                pd.DataFrame(index=self.data.head(0, npartitions=-1).index)
            ),
            align_dataframes=False,
            enforce_metadata=False,
        )


def _numbered(n):
    return [f"partition {i}" for i in range(n)]


def _name_frame(name):
    import pandas as pd

    return pd.DataFrame({"name": [name]}, dtype=object)


def _score_partition(part, name, model, scoring):
    return scoring(part, str(name["name"].iloc[0]), model)


def _score_block(block, model, scoring, block_id=None):
    return scoring(block, f"partition {block_id[0]}", model)
