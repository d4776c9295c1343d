"""The tables of the study, and how detectors are measured on them."""

import time

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks._shared.measure import measure
from benchmarks._shared.tables import (
    Table,
    array_shape,
    choose_tables,
    sample,
    some_tasks,
    unknown,
)

MAX_ROWS = 10_000  # of a table; beyond, a fixed sample
MIN_OUTLIERS = 30  # of such a sample
MAX_CLEAN_ROWS = 4_000  # larger tables are left out of the clean part
CLEAN_TASKS = 2  # of each family, in the clean part
SUITES = {"tabular": "ADBench", "keel": "KEEL", "oddbench": "OddBench"}


def tables_of(part, names, oddbench):
    """Return the tables of a part of the study, small ones first.

    Parameters
    ----------
    part : "contaminated" or "clean"
    names : list of str
        Suites, families, tasks or .npz files; all that is here if there are none.
    oddbench : Path or None
        Folder of OddBench's tables.
    """
    names = names or ["tabular", "keel", *(["oddbench"] if oddbench else [])]
    names = ["tabular" if name == "adbench" else name for name in names]
    odd = [name for name in names if name.split("/")[0] == "oddbench"]
    keel = [name for name in names if name.split("/")[0] == "keel"]
    others = [name for name in names if name not in odd + keel]
    tables = choose_tables(others, local=True) + choose_tables(keel)
    if odd:
        tables += oddbench_tables(odd, oddbench)
    if part == "clean":
        small = [table for table in tables if table.n <= MAX_CLEAN_ROWS]
        tables = some_tasks(small, CLEAN_TASKS)
    if not tables:
        raise ValueError("no such data here; set SKIM_DATA_HOME to its folder.")
    return sorted(tables, key=lambda table: table.n * table.p)


def oddbench_tables(names, folder):
    """Return tables of OddBench, each a family of its own, from a folder."""
    paths = sorted(folder.glob("*.npz")) if folder else []
    if not paths:
        raise ValueError("no tables of OddBench; set --oddbench to their folder.")
    tables = {}
    for path in paths:
        name = f"oddbench/{path.stem}"
        tables[name] = Table(name, name, "oddbench", *array_shape(path), str(path))
    if "oddbench" in names:
        return list(tables.values())
    for name in names:
        if name not in tables:
            raise unknown(name, tables)
    return [tables[name] for name in names]


def load(table):
    """Return the rows of a table, or a sample of them, and 1 for the outliers."""
    X, y = table.load()
    rows = sample(y == 1, MAX_ROWS, MIN_OUTLIERS)
    return np.asarray(X, dtype=np.float64)[rows], np.asarray(y)[rows]


def contaminated(detector, X, y):
    """Fit to all rows and score the same rows.

    Returns AUROC, AUPRC, the share of new inliers that are flagged, which is NaN as
    there are none, and CPU seconds.
    """
    found = measure(detector, X, y)
    return found.auroc, found.auprc, np.nan, found.cpu_seconds


def clean(detector, X, y):
    """Fit to one half of the inliers; score the other half and the outliers.

    Returns the same as `contaminated`. The share is NaN without a threshold.
    """
    inliers = np.random.default_rng(0).permutation(np.flatnonzero(y == 0))
    train, test = np.split(inliers, [len(inliers) // 2])
    rows = np.r_[test, np.flatnonzero(y == 1)]
    start = time.process_time()
    detector.fit(X[train])
    scores = -detector.score_samples(X[rows])
    seconds = time.process_time() - start
    flagged = np.nan
    if hasattr(detector, "predict"):
        flagged = float(np.mean(detector.predict(X[test]) == -1))
    metrics = roc_auc_score(y[rows], scores), average_precision_score(y[rows], scores)
    return *map(float, metrics), flagged, seconds


MEASURES = {"contaminated": contaminated, "clean": clean}
