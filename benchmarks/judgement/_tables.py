"""The tables of the study, and their families and sources."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn import datasets

from benchmarks._shared.sources import source_of
from benchmarks._shared.tables import choose_tables, sample
from skim.datasets import fetch_adbench

MAX_COLUMNS = 300
MAX_ROWS = 5_000
WIDE, MAX_ROWS_IF_WIDE = 100, 2_000  # wide tables have wide networks, which take long
MIN_OUTLIERS = 10  # that a sample keeps, where the table has so many
TASKS_PER_FAMILY = 2
OWN = ("breast_cancer", "diabetes", "digits", "iris", "wine")


class Table(NamedTuple):
    """A table of the study; only tasks in files of their own have a path."""

    name: str
    family: str
    source: str
    path: str | None = None


def tables_of(keel=None):
    """Return the tables at hand: ADBench's, KEEL's tasks and scikit-learn's own.

    `keel` is a folder of files ``FAMILY__TASK.npz``; two tasks of each family count.
    """
    found = []
    for table in choose_tables(["tabular"], local=True):
        if table.p <= MAX_COLUMNS:
            found.append((f"adbench/{table.file}", f"adbench/{table.file}", None))
    tasks: dict = {}
    for path in sorted(Path(keel).glob("*__*.npz")) if keel else []:
        tasks.setdefault(path.stem.split("__")[0], []).append(path)
    for family, paths in tasks.items():
        for path in paths[:TASKS_PER_FAMILY]:
            task = path.stem.split("__")[1]
            found.append((f"keel/{task}", f"keel/{family}", str(path)))
    found += [(f"sklearn/{name}", f"sklearn/{name}", None) for name in OWN]
    return [
        Table(name, family, source_of(family), path) for name, family, path in found
    ]


def load(table):
    """Return the rows of a table, or a sample of them, and which are outliers."""
    suite, name = table.name.split("/")
    if suite == "keel":
        with np.load(table.path) as file:
            X, y = file["X"], file["y"]
    elif suite == "sklearn":
        X, _ = getattr(datasets, f"load_{name}")(return_X_y=True)
        y = np.zeros(len(X))
    else:
        X, y = fetch_adbench(name, return_X_y=True)
    n_rows = MAX_ROWS if X.shape[1] < WIDE else MAX_ROWS_IF_WIDE
    rows = sample(y == 1, n_rows, MIN_OUTLIERS)
    return np.asarray(X, dtype=np.float64)[rows], np.asarray(y)[rows] == 1


def first_of_sources(tables):
    """Return the first table of each source, sorted by their sources."""
    first = {table.source: table for table in reversed(tables)}
    return [first[source] for source in sorted(first)]
