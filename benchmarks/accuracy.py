"""Accuracy of the detectors on the tabular sets of ADBench."""

import csv
import os
from pathlib import Path
from statistics import mean
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


def _task(path, name, seed):
    X, y = load(path)
    number, dataset = path.stem.split("_", maxsplit=1)
    result = measure(DETECTORS[name](random_state=seed), X, y)
    return {
        "detector": name,
        "number": int(number),
        "dataset": dataset,
        "seed": seed,
    } | (result._asdict())


def accuracy(
    detector: Annotated[
        list[str], typer.Option(help="Any of: " + ", ".join(DETECTORS))
    ],
    seeds: Annotated[int, typer.Option(help="Number of seeds, from 0 on.")] = 3,
    jobs: Annotated[int, typer.Option(help="Processes, one thread each.")] = 1,
    only: Annotated[str, typer.Option(help="Only data sets named like this.")] = "",
    output: Annotated[Path, typer.Option(help="CSV file to add results to.")] = Path(
        "accuracy.csv"
    ),
):
    """Measure AUROC and AUPRC on ADBench's tabular sets under SKIM_DATA_HOME."""
    home = Path(os.environ.get("SKIM_DATA_HOME", "."))
    paths = sorted((home / "Classical").glob(f"*{only}*.npz"))
    if not paths:
        raise typer.BadParameter(
            f"no .npz files like {only!r} in {home / 'Classical'}; set SKIM_DATA_HOME "
            "to a folder with ADBench's data in its own layout"
        )
    tasks = [
        delayed(_task)(path, name, seed)
        for name in detector
        for path in sorted(paths, key=lambda path: -path.stat().st_size)
        for seed in range(seeds)
    ]
    results = []
    running = Parallel(jobs, return_as="generator_unordered")(tasks)
    new = not output.exists()
    with output.open("a", newline="") as file:
        for result in track(running, description="Fitting", total=len(tasks)):
            writer = csv.DictWriter(file, list(result))
            if new:
                writer.writeheader()
                new = False
            writer.writerow(result)
            file.flush()
            results.append(result)
    Console().print(_table(results))


def _table(results):
    table = Table(title="Means over data sets and seeds")
    for column in ("detector", "data sets", "AUROC", "AUPRC", "median seconds"):
        table.add_column(column, justify="left" if column == "detector" else "right")
    for name in dict.fromkeys(result["detector"] for result in results):
        rows = [result for result in results if result["detector"] == name]
        table.add_row(
            name,
            str(len({row["dataset"] for row in rows})),
            f"{mean(row['auroc'] for row in rows):.4f}",
            f"{mean(row['auprc'] for row in rows):.4f}",
            f"{np.median([row['seconds'] for row in rows]):.2f}",
        )
    return table
