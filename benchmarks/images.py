"""Outliers among images: raw pixels, the warm-up, and embeddings."""

import csv
import os
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks._images import DATA, N_CLASSES, NETWORKS, embed, one_class
from benchmarks._measure import measure
from benchmarks.detectors import DETECTORS
from skim.datasets import load_published_scores
from skim.embedding import MissingWeightsError

RAW = "raw"
METRICS = ("auroc", "auprc")
KEY = ("data", "inliers", "seed", "representation", "detector")
FIELDS = (*KEY, *METRICS, "cpu_seconds")
METHODS = ("ALTBI", "ODIM")

# The paper draws 50 codes a row and update. On the 3,072 columns of CIFAR-10 that would
# take most of an hour a fit, so here it is 2, as the detectors' names in the results
# say; all else is as in the paper.
N_CODES = 2
PAPER = f"-paper K={N_CODES}"
PAPER_EMA = f"-paper+EMA K={N_CODES}"

# Mean AUROC over the ten classes that Table B.3 of the paper gives for raw pixels; for
# features of a ViT, it gives what `load_published_scores` has.
PUBLISHED_RAW = {
    ("CIFAR10", "ALTBI"): (0.576, 0.576),
    ("CIFAR10", "ODIM"): (0.578, 0.579),
    ("FashionMNIST", "ALTBI"): (0.901, 0.902),
    ("FashionMNIST", "ODIM"): (0.893, 0.892),
}


def plan(data, representations, methods, classes, seeds):
    """Yield the runs of the study, first those of the first seed.

    Parameters
    ----------
    data, representations, methods : list of str
    classes : list of int
    seeds : int

    Yields
    ------
    key : tuple
        As in `KEY`.
    """
    for seed in range(seeds):
        for method in methods:
            for representation in representations:
                suffixes = [PAPER] if representation == RAW else []
                suffixes += [PAPER_EMA, ""]
                for inliers in classes:
                    for name in data:
                        for suffix in suffixes:
                            yield name, inliers, seed, representation, method + suffix


def build(name, seed):
    """Make a detector of the benchmark, with "K=" for another number of codes."""
    name, _, n_codes = name.partition(" K=")
    detector = DETECTORS[name].build(seed=seed)
    return detector.set_params(n_importance=int(n_codes)) if n_codes else detector


def run(images, labels, key):
    """Return the metrics and the processor seconds of one run.

    Parameters
    ----------
    images : ndarray of shape (n, ...)
        Pixels or features of the whole set.
    labels : ndarray of shape (n,)
    key : tuple
        As in `KEY`.
    """
    _, inliers, seed, representation, detector = key
    rows, y = one_class(labels, inliers, seed)
    X = images[rows].reshape(len(rows), -1).astype(np.float32)
    if representation == RAW:
        X /= 255
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
            key = row["data"], int(row["inliers"]), int(row["seed"])
            key = (*key, row["representation"], row["detector"])
            results[key] = {metric: float(row[metric]) for metric in METRICS}
    return results


def append(path, key, values):
    """Add a line to a results file and return once it is on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists() or not path.stat().st_size
    is_cut = not is_new and not path.read_bytes().endswith(b"\n")
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_cut:
            file.write("\n")
        if is_new:
            writer.writerow(FIELDS)
        writer.writerow([*key, *(f"{value:.6g}" for value in values)])
        file.flush()
        os.fsync(file.fileno())


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


def columns():
    """Return what the summary compares, ``{title: (representation, suffix)}``."""
    paper = {"raw": (RAW, PAPER), "+EMA": (RAW, PAPER_EMA)}
    paper |= {f"+EMA +{name}": (name, PAPER_EMA) for name in NETWORKS}
    default = {"default, raw": (RAW, "")}
    default |= {f"default, {name}": (name, "") for name in NETWORKS}
    return paper | default


def published(data, method, metric):
    """Return what the paper reports for raw, +EMA and +EMA +ViT; None where nothing."""
    raw = PUBLISHED_RAW[data, method] if metric == "auroc" else (None, None)
    return *raw, load_published_scores(metric)[f"{method}+EMA+embedding"][data]


def summary(results, metric):
    """Yield the rows of the summary: data, detector, and a mean for every column."""
    for data in DATA:
        for method in METHODS:
            cells = [
                mean_over_classes(
                    results, data, representation, method + suffix, metric
                )
                for representation, suffix in columns().values()
            ]
            yield data, method, cells, published(data, method, metric)


PAPER_TITLES = ("published raw", "published +EMA", "published +EMA +ViT")


def write_summary(results, path):
    """Write the means of both metrics, and of how many runs, to a CSV file."""
    titles = [title for each in columns() for title in (each, f"runs of {each}")]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["metric", "data", "detector", *titles, *PAPER_TITLES])
        for metric in METRICS:
            for data, method, cells, paper in summary(results, metric):
                ours = [
                    part
                    for mean, n in cells
                    for part in ("" if mean is None else f"{mean:.4f}", n)
                ]
                told = ["" if value is None else value for value in paper]
                writer.writerow([metric, data, method, *ours, *told])


def show(results, console):
    """Print a table a metric."""
    for metric in METRICS:
        table = Table("data", "detector", title=f"Mean {metric.upper()} over classes")
        for title in (*columns(), *PAPER_TITLES):
            table.add_column(title)
        for data, method, cells, paper in summary(results, metric):
            means = [mean for mean, _ in cells] + list(paper)
            texts = ["" if mean is None else f"{mean:.3f}" for mean in means]
            table.add_row(data, method, *texts)
        console.print(table)


class Source:
    """Pixels or features of whole sets, loaded when they are needed first."""

    def __init__(self, memory=None):
        self.memory = memory
        self.sets: dict = {}
        self.features: dict = {}

    def __call__(self, data, representation):
        """Return images, or their features, and labels."""
        if data not in self.sets:
            self.sets[data] = DATA[data]()
        images, labels = self.sets[data]
        if representation == RAW:
            return images, labels
        if (data, representation) not in self.features:
            features = embed(images, representation, self.memory)
            self.features[data, representation] = features
        return self.features[data, representation], labels


def images(
    data: Annotated[
        list[str] | None, typer.Option(help=f"{' or '.join(DATA)}; both if none.")
    ] = None,
    representation: Annotated[
        list[str] | None,
        typer.Option(help=f"Some of {RAW}, {', '.join(NETWORKS)}; all if none."),
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help=f"{' or '.join(METHODS)}; both if none.")
    ] = None,
    classes: Annotated[
        int, typer.Option(min=1, max=N_CLASSES, help="The first so many classes.")
    ] = N_CLASSES,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 3,
    output: Annotated[
        Path, typer.Option(help="Results file; what is in it is not done again.")
    ] = Path("images-results/results.csv"),
):
    """Find images of other classes among those of one class, as in the paper.

    Each class of the test sets in turn is the inliers, and 5 % of all rows are images
    of the other classes. Needs what `python -m benchmarks weights` downloads. The
    paper's settings are used with 2 codes instead of 50, and the defaults.
    """
    _check(data, DATA, "--data")
    _check(representation, (RAW, *NETWORKS), "--representation")
    _check(method, METHODS, "--method")
    done = read(output)
    every = plan(
        data or list(DATA),
        representation or [RAW, *NETWORKS],
        method or METHODS,
        list(range(classes)),
        seeds,
    )
    todo = [key for key in every if key not in done]
    source = Source()
    try:
        for key in track(todo, console=Console(stderr=True)):
            X, labels = source(key[0], key[3])
            append(output, key, run(X, labels, key))
    except MissingWeightsError as error:
        raise typer.BadParameter(str(error)) from None
    results = read(output)
    write_summary(results, output.with_name("summary.csv"))
    show(results, Console())


def _check(names, known, option):
    for name in names or ():
        if name not in known:
            raise typer.BadParameter(
                f"{name!r} is none of {', '.join(known)}.", param_hint=option
            )
