"""Wide tables: embeddings of images and texts, and a hundred rows of each."""

import hashlib

import numpy as np
import pandas as pd

from benchmarks._shared.detectors import DETECTORS
from benchmarks._shared.tables import Table, choose_tables
from skim.datasets import fetch_adbench
from skim.datasets._published import METRICS

GROUPS = ("image", "image-vit", "text")
N_ROWS, N_CUTS = 100, 10
MIN_OUTLIERS = 5
CUT = "cut"  # the group of tables that are cut
NEIGHBOURS = DETECTORS["kNN"]._replace(name="PyOD's KNN")


def embeddings():
    """Return the files of embeddings that are here."""
    return choose_tables(GROUPS, local=True)


def cuts(tables, folder):
    """Write draws of a hundred rows of each table, and return them as tables.

    A draw keeps the share of outliers, but has at least five.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for table in tables:
        names = [f"{table.file.replace('/', '-')}-{draw}" for draw in range(N_CUTS)]
        paths = [folder / f"{name}.npz" for name in names]
        if not all(path.exists() for path in paths):
            X, y = fetch_adbench(table.file, return_X_y=True)
            for draw, path in enumerate(paths):
                rows = draw_rows(y, np.random.default_rng([draw, *_digest(table)]))
                whole = path.with_suffix(".part.npz")
                np.savez(whole, X=X[rows], y=y[rows])
                whole.replace(path)
        found += [
            Table(f"{CUT}/{name}", table.dataset, CUT, N_ROWS, table.p, str(path))
            for name, path in zip(names, paths, strict=True)
        ]
    return found


def _digest(table):
    return hashlib.sha256(table.file.encode()).digest()[:4]


def draw_rows(y, rng, n_rows=N_ROWS):
    """Return so many rows in random order, with the share of outliers of all rows."""
    n_outliers = max(round(n_rows * np.mean(y)), MIN_OUTLIERS)
    kinds = [rng.permutation(np.flatnonzero(y == kind)) for kind in (0, 1)]
    return rng.permutation(
        np.r_[kinds[0][: n_rows - n_outliers], kinds[1][:n_outliers]]
    )


def wide_table(results, name):
    """Return mean metrics by set, of whole files and of a hundred rows of them.

    Files, or draws, are averaged within a set, and the last row of either kind is the
    mean over sets. Seconds are processor time, median over the files.
    """
    results = results[results["group"].isin([*GROUPS, CUT])]
    results = results[results["detector"].isin([name, NEIGHBOURS.name])]
    rows = []
    for cut, own in results.groupby(results["group"] == CUT):
        tasks = own.groupby(["dataset", "file", "detector"])[[*METRICS, "cpu_seconds"]]
        tasks = tasks.mean().unstack("detector").dropna()
        if not len(tasks):
            continue
        sets = tasks.groupby("dataset").mean()
        sets["cpu_seconds"] = tasks["cpu_seconds"].groupby("dataset").median()
        sets.loc["mean of sets"] = sets.mean()
        size = f"{N_ROWS} rows" if cut else "all rows"
        for title, values in sets.iterrows():
            row = {"rows": size, "set": title}
            for metric, shown in zip(METRICS, ("AUROC", "AUPRC"), strict=True):
                row[f"{shown}, ALTBI"] = values[metric, name]
                row[f"{shown}, kNN"] = values[metric, NEIGHBOURS.name]
            rows.append(row | {"seconds, ALTBI": values["cpu_seconds", name]})
    return pd.DataFrame(rows)
