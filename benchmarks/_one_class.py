"""Studies in which one class is the inliers: tasks, detectors, results."""

import csv
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks._measure import measure
from benchmarks._store import append_line
from benchmarks.detectors import DETECTORS
from skim.datasets._published import METRICS
from skim.embedding import MissingWeightsError

RAW = "raw"
KEY = ("data", "inliers", "seed", "representation", "detector")
FIELDS = (*KEY, *METRICS, "cpu_seconds")
METHODS = ("ALTBI", "ODIM")

# The paper draws 50 codes a row and update. On the 3,072 columns of CIFAR-10 that would
# take most of an hour a fit, so here it is 2, as the detectors' names in the results
# say; all else is as in the paper.
N_CODES = 2
PAPER = f"-paper K={N_CODES}"
PAPER_EMA = f"-paper+EMA K={N_CODES}"


class Study(NamedTuple):
    """What the summary of a study compares.

    `columns` maps titles to a representation and what follows the method in the
    detector's name. `published` takes data, method and metric, and returns what was
    reported elsewhere for each of `published_titles`, None where nothing was.
    """

    data: tuple
    columns: dict
    published_titles: tuple = ()
    published: Callable = lambda *key: ()


# Tasks ----------------------------------------------------------------------------


def one_class(labels, inliers, seed, share=0.05):
    """Choose all rows of one class, and outliers from the others.

    Parameters
    ----------
    labels : ndarray of shape (n,)
    inliers : int
        The class.
    seed : int
    share : float, default=0.05
        Share of the outliers among all that are chosen.

    Returns
    -------
    rows : ndarray of int
        In the order of the set.
    y : ndarray of int
        1 for outliers.
    """
    is_inlier = labels == inliers
    n_outliers = round(is_inlier.sum() * share / (1 - share))
    rng = np.random.default_rng([seed, inliers])
    outliers = rng.choice(np.flatnonzero(~is_inlier), n_outliers, replace=False)
    rows = np.sort(np.concatenate([np.flatnonzero(is_inlier), outliers]))
    return rows, (labels[rows] != inliers).astype(int)


def build(name, seed):
    """Make a detector of the benchmark, with "K=" for another number of codes."""
    name, _, n_codes = name.partition(" K=")
    detector = DETECTORS[name].build(seed=seed)
    return detector.set_params(n_importance=int(n_codes)) if n_codes else detector


def score(detector, seed, X, y):
    """Return the metrics and the processor seconds of a detector by its name."""
    result = measure(build(detector, seed), X, y)
    return result.auroc, result.auprc, result.cpu_seconds


# Results --------------------------------------------------------------------------


def read(path):
    """Read a results file into ``{key: {metric: value}}``, whole lines only."""
    if not path.exists():
        return {}
    results = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if not row["cpu_seconds"]:
                continue  # cut off while it was written
            inliers = row["inliers"]
            inliers = int(inliers) if inliers.isdigit() else inliers
            key = row["data"], inliers, int(row["seed"])
            key = (*key, row["representation"], row["detector"])
            results[key] = {metric: float(row[metric]) for metric in METRICS}
    return results


def append(path, key, values):
    """Add a line to a results file and return once it is on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or not path.stat().st_size:
        append_line(path, ",".join(FIELDS))
    texts = [*map(str, key), *(f"{value:.6g}" for value in values)]
    append_line(path, ",".join(texts))


def carry_out(study, plan, run, output):
    """Do what is not in the results file yet, and summarise all that is then there.

    Parameters
    ----------
    study : Study
    plan : iterable of tuple
        Runs, as in `KEY`.
    run : callable
        Takes a key and returns the metrics and the processor seconds.
    output : Path
        Results file. The summary is written beside it, and printed.
    """
    done = read(output)
    todo = [key for key in plan if key not in done]
    try:
        for key in track(todo, console=Console(stderr=True)):
            append(output, key, run(key))
    except MissingWeightsError as error:
        raise typer.BadParameter(str(error)) from None
    results = read(output)
    write_summary(study, results, output.with_name("summary.csv"))
    show(study, results, Console())


# Summary --------------------------------------------------------------------------


def mean_over_classes(results, data, representation, detector, metric):
    """Average over the seeds, then over the classes.

    Returns
    -------
    mean : float or None
        None if there is nothing yet.
    n_runs : int
    """
    by_class: dict = {}
    for key, values in results.items():
        if (key[0], *key[3:]) == (data, representation, detector):
            by_class.setdefault(key[1], []).append(values[metric])
    if not by_class:
        return None, 0
    mean = float(np.mean([np.mean(values) for values in by_class.values()]))
    return mean, sum(len(values) for values in by_class.values())


def summary(study, results, metric):
    """Yield the rows of the summary: data, detector, and a mean for every column."""
    for data in study.data:
        for method in METHODS:
            cells = [
                mean_over_classes(
                    results, data, representation, method + suffix, metric
                )
                for representation, suffix in study.columns.values()
            ]
            yield data, method, cells, study.published(data, method, metric)


def write_summary(study, results, path):
    """Write the means of both metrics, and of how many runs, to a CSV file."""
    titles = [title for each in study.columns for title in (each, f"runs of {each}")]
    titles += study.published_titles
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["metric", "data", "detector", *titles])
        for metric in METRICS:
            for data, method, cells, published in summary(study, results, metric):
                ours = [
                    part
                    for mean, n in cells
                    for part in ("" if mean is None else f"{mean:.4f}", n)
                ]
                told = ["" if value is None else value for value in published]
                writer.writerow([metric, data, method, *ours, *told])


def show(study, results, console):
    """Print a table a metric."""
    for metric in METRICS:
        table = Table("data", "detector", title=f"Mean {metric.upper()} over classes")
        for title in (*study.columns, *study.published_titles):
            table.add_column(title)
        for data, method, cells, published in summary(study, results, metric):
            means = [mean for mean, _ in cells] + list(published)
            texts = ["" if mean is None else f"{mean:.3f}" for mean in means]
            table.add_row(data, method, *texts)
        console.print(table)


def check_names(names, known, option):
    """Refuse names that a command does not know."""
    for name in names or ():
        if name not in known:
            raise typer.BadParameter(
                f"{name!r} is none of {', '.join(known)}.", param_hint=option
            )
