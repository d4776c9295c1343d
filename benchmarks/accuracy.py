"""Accuracy of the detectors on the tabular sets of ADBench."""

import csv
import hashlib
import os
from pathlib import Path
from statistics import mean, median
from typing import Annotated

import numpy as np
import typer
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks._measure import measure
from skim import ALTBIDetector, IMAutoencoderDetector, ODIMDetector

DETECTORS = {
    "altbi": ALTBIDetector,
    "altbi-paper": ALTBIDetector.paper,
    "odim": ODIMDetector,
    "odim-paper": ODIMDetector.paper,
    "autoencoder": IMAutoencoderDetector,
    "autoencoder-paper": IMAutoencoderDetector.paper,
}


def load(path):
    """Return data and labels of one of ADBench's files."""
    with np.load(path, allow_pickle=False) as file:
        return file["X"], file["y"].astype(int)


def settings_of(name):
    """Return a short fingerprint of a detector's parameters."""
    params = repr(sorted(DETECTORS[name]().get_params().items()))
    return hashlib.sha256(params.encode()).hexdigest()[:8]


def _task(path, name, seed):
    X, y = load(path)
    result = measure(DETECTORS[name](random_state=seed), X, y)
    return {
        "detector": name,
        "settings": settings_of(name),
        "dataset": path.stem,
        "seed": seed,
    } | {field: round(value, 5) for field, value in result._asdict().items()}


def accuracy(
    detector: Annotated[list[str], typer.Option(help=f"Any of {list(DETECTORS)}.")],
    seeds: Annotated[int, typer.Option(help="Number of seeds, from 0 on.")] = 3,
    jobs: Annotated[int, typer.Option(help="Processes, one thread each.")] = 1,
    only: Annotated[str, typer.Option(help="Only data sets named like this.")] = "",
    output: Annotated[Path, typer.Option(help="CSV file to add results to.")] = Path(
        "accuracy.csv"
    ),
):
    """Measure AUROC and AUPRC on ADBench's tabular sets under SKIM_DATA_HOME.

    Results that the output file holds already, for the same parameters, are not
    computed again.
    """
    home = Path(os.environ.get("SKIM_DATA_HOME", "."))
    paths = [path for path in (home / "Classical").glob("*.npz") if only in path.stem]
    paths.sort(key=lambda path: path.stat().st_size)
    if not paths:
        raise typer.BadParameter(
            f"no .npz files like {only!r} in {home / 'Classical'}; set SKIM_DATA_HOME "
            "to a folder with ADBench's data in its own layout"
        )
    if unknown := set(detector) - set(DETECTORS):
        raise typer.BadParameter(f"unknown {unknown}; any of {list(DETECTORS)}")
    done = {_key(row) for row in _read(output)}
    tasks = [
        (path, name, seed)
        for seed in range(seeds)
        for name in detector
        for path in paths
        if (name, settings_of(name), path.stem, seed) not in done
    ]
    running = Parallel(jobs, return_as="generator_unordered")(
        delayed(_task)(*task) for task in tasks
    )
    for row in track(running, description="Fitting", total=len(tasks)):
        _append(output, row)
    wanted = {
        (name, settings_of(name), path.stem, seed)
        for name in detector
        for path in paths
        for seed in range(seeds)
    }
    rows = [row for row in _read(output) if _key(row) in wanted]
    Console().print(_table(rows, detector))


def _key(row):
    return row["detector"], row["settings"], row["dataset"], int(row["seed"])


def _read(path):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _append(path, row):
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)


def _table(rows, detectors):
    table = Table(title="Means over data sets, of means over seeds")
    for column in ("detector", "data sets", "seeds", "AUROC", "AUPRC", "median s"):
        table.add_column(column, justify="left" if column == "detector" else "right")
    for name in detectors:
        chosen = [row for row in rows if row["detector"] == name]
        datasets = {row["dataset"] for row in chosen}
        means = [
            [
                mean(float(row[field]) for row in chosen if row["dataset"] == dataset)
                for dataset in datasets
            ]
            for field in ("auroc", "auprc", "seconds")
        ]
        table.add_row(
            name,
            str(len(datasets)),
            f"{len(chosen) / max(len(datasets), 1):.1f}",
            f"{mean(means[0]):.4f}",
            f"{mean(means[1]):.4f}",
            f"{median(means[2]):.2f}",
        )
    return table
