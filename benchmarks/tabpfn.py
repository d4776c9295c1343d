"""The paper's ablation on tables: raw, with the warm-up, and with TabPFN as well."""

import csv
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks._measure import measure
from benchmarks._one_class import METHODS, METRICS, RAW, check_names
from benchmarks._store import Store, key
from benchmarks.detectors import DETECTORS
from skim.datasets import fetch_adbench, load_published_scores
from skim.embedding import MissingWeightsError, TabPFNEmbedder, weights_home

# The tables of the paper's list that ADBench's repository shares, smallest first.
DATA = (
    "yeast",
    "PageBlocks",
    "magic.gamma",
    "landsat",
    "SpamBase",
    "shuttle",
    "ALOI",
    "campaign",
)
# Tables off that list, to see whether a gain carries over: all at hand with fewer than
# 50 columns and 10,000 rows. They take part if they are named.
OTHERS = (
    "breastw",
    "cardio",
    "glass",
    "Hepatitis",
    "letter",
    "Lymphography",
    "pendigits",
    "Pima",
    "satimage-2",
    "thyroid",
    "vertebral",
    "WBC",
    "WDBC",
    "wine",
    "WPBC",
)
MEANS = {"mean": DATA, "mean of others": OTHERS}
LINES = [line for title, tables in MEANS.items() for line in (*tables, title)]
# The embeddings: by the mean over a row's cells, and by the cell of its target.
POOLING = {"TabPFN": "mean", "TabPFN-target": "target"}
PAPERS_STEP = "paper's: +EMA +TabPFN"
# What the summary compares: a title, the representation, and which ALTBI or ODIM.
COLUMNS = {
    "raw": (RAW, ""),
    "+TabPFN": ("TabPFN", ""),
    "+TabPFN, target": ("TabPFN-target", ""),
    "paper's: raw": (RAW, "-paper"),
    "paper's: +EMA": (RAW, "-paper+EMA"),
    PAPERS_STEP: ("TabPFN", "-paper+EMA"),
    "paper's: +EMA +TabPFN, target": ("TabPFN-target", "-paper+EMA"),
}
PUBLISHED = {
    "published: raw": "",
    "published: +EMA": "+EMA",
    "published: +EMA +TabPFN": "+EMA+embedding",
}


def plan(data, methods, columns, seeds):
    """Yield the runs as keys of records, those of the first seed first."""
    for seed in range(seeds):
        for column in columns:
            representation, suffix = COLUMNS[column]
            for method in methods:
                for name in data:
                    yield name, method + suffix, representation, 1, seed


class Tables:
    """Tables as they are or embedded; the last one is kept."""

    def __init__(self, memory):
        self.embedder = TabPFNEmbedder(
            task="regression", random_state=0, n_jobs=1, memory=str(memory)
        )
        self._name = None

    def __call__(self, name, representation):
        """Return the rows and the labels of a table."""
        if (name, representation) != self._name:
            X, self.y = fetch_adbench(name, return_X_y=True)
            self.X = X
            if representation != RAW:
                self.embedder.set_params(pooling=POOLING[representation])
                self.X = self.embedder.fit_transform(X)
            self._name = name, representation
        return self.X, self.y


def run(tables, task):
    """Return the record of one run."""
    name, detector, representation, threads, seed = task
    X, y = tables(name, representation)
    result = measure(DETECTORS[detector].build(seed=seed), X, y)
    return {
        "file": name,
        "detector": detector,
        "settings": representation,
        "threads": threads,
        "seed": seed,
        "auroc": round(result.auroc, 5),
        "auprc": round(result.auprc, 5),
        "cpu_seconds": round(result.cpu_seconds, 2),
    }


def means(records, metric):
    """Return ``{(method, column): {table: mean over the seeds}}``."""
    found: dict = {}
    for method in METHODS:
        for column, (representation, suffix) in COLUMNS.items():
            wanted = method + suffix, representation
            values: dict = {}
            for record in records:
                if (record["detector"], record["settings"]) == wanted:
                    values.setdefault(record["file"], []).append(record[metric])
            found[method, column] = {
                name: float(np.mean(each)) for name, each in values.items()
            }
        for column, suffix in PUBLISHED.items():
            scores = load_published_scores(metric)[method + suffix]
            found[method, column] = {name: scores[name] for name in (*DATA, *OTHERS)}
    return found


def write(records, path):
    """Write the means, a line a metric, method and table, to a CSV file."""
    columns = [*COLUMNS, *PUBLISHED]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["metric", "method", "table", *columns])
        for metric in METRICS:
            found = means(records, metric)
            for method in METHODS:
                for name in LINES:
                    cells = [_cell(found[method, column], name) for column in columns]
                    writer.writerow([metric, method, name, *cells])


def show(records, console):
    """Print a table for each metric and method, of what has been measured."""
    for metric in METRICS:
        found = means(records, metric)
        for method in METHODS:
            columns = [each for each in [*COLUMNS, *PUBLISHED] if found[method, each]]
            table = Table("table", *columns, title=f"{method}, {metric.upper()}")
            for name in LINES:
                cells = [_cell(found[method, column], name) for column in columns]
                last = name in (DATA[-1], OTHERS[-1], *MEANS)
                table.add_row(name, *cells, end_section=last)
            console.print(table)


def _cell(values, name):
    """Return a value as text; a mean only where all of its tables are there."""
    if name in MEANS:
        tables = MEANS[name]
        complete = set(values) >= set(tables)
        return f"{np.mean([values[each] for each in tables]):.4f}" if complete else ""
    return f"{values[name]:.4f}" if name in values else ""


def tabpfn(
    data: Annotated[
        list[str] | None,
        typer.Option(help=f"Some of {', '.join(DATA)}; or {', '.join(OTHERS)}."),
    ] = None,
    method: Annotated[list[str] | None, typer.Option(help="ALTBI or ODIM.")] = None,
    column: Annotated[
        list[str] | None, typer.Option(help=f"Some of {', '.join(COLUMNS)}.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 3,
    output: Annotated[
        Path, typer.Option(help="Results file; what is in it is not done again.")
    ] = Path("tabpfn-results/results.jsonl"),
):
    """Compare raw tables with TabPFN's embeddings, as in the paper's ablation.

    Needs what `python -m benchmarks weights` downloads, and ADBench's data. The
    context of the embeddings is the same for all seeds of a detector. Every table's
    embedding is made once and kept in the folder of the weights.
    """
    check_names(data, (*DATA, *OTHERS), "--data")
    check_names(method, METHODS, "--method")
    check_names(column, COLUMNS, "--column")
    store = Store(output)
    tables = Tables(weights_home() / "embeddings")
    wanted = plan(data or DATA, method or METHODS, column or list(COLUMNS), seeds)
    with store.lock():
        done = {key(record) for record in store.read()}
        todo = [task for task in wanted if task not in done]
        try:
            for task in track(todo, console=Console(stderr=True)):
                start = time.perf_counter()
                record = run(tables, task)
                record["seconds"] = round(time.perf_counter() - start, 2)
                store.append(record)
        except MissingWeightsError as error:
            raise typer.BadParameter(str(error)) from None
        records = store.read()
    write(records, output.with_name("summary.csv"))
    show(records, Console())
