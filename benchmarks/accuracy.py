"""What moves the accuracy of ALTBI, and what does not."""

import csv
import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks._one_class import check_names
from benchmarks._runner import Plan, execute
from benchmarks._store import Store, append_line
from benchmarks._variants import DEFAULT, VARIANTS, recombined
from benchmarks._worker import Limits
from benchmarks.adbench import choose_tables, watch
from benchmarks.stopping import halves
from skim.datasets import fetch_adbench

N_DRAWS = 10_000
METRICS = ("auroc", "auprc")
COLUMNS = (
    "topic",
    "variant",
    "AUROC",
    "95 %",
    "half 1",
    "half 2",
    "AUPRC",
    "95 % ",
    "better on",
    "time",
)
TRAINED, RECOMBINED = "results.jsonl", "recombined.jsonl"
KNOWN = {variant.name: variant for variant in (DEFAULT, *VARIANTS)}


def interval(differences, n_draws=N_DRAWS, seed=0):
    """Return a bootstrap interval of 95 % for a mean difference over tables.

    Tables are drawn with replacement, and in each of them its seeds.

    Parameters
    ----------
    differences : ndarray of shape (n_tables, n_seeds)
        Of two detectors on the same table with the same seed.
    n_draws : int
    seed : int

    Returns
    -------
    low, high : float
    """
    rng = np.random.default_rng(seed)
    n_tables, n_seeds = differences.shape
    tables = rng.integers(n_tables, size=(n_draws, n_tables, 1))
    seeds = rng.integers(n_seeds, size=(n_draws, n_tables, n_seeds))
    means = differences[tables, seeds].mean(axis=(1, 2))
    return tuple(np.quantile(means, [0.025, 0.975]))


def recombine(datasets, seeds, path):
    """Do what is missing in a file of other uses of the default's training."""
    settings = DEFAULT.detector().fingerprint()
    done = {
        (record["file"], record["seed"])
        for record in Store(path).read()
        if record["settings"] == settings
    }
    tasks = [(name, seed) for seed in range(seeds) for name in datasets]
    todo = [task for task in tasks if task not in done]
    for name, seed in track(todo, "Recombining", console=Console(stderr=True)):
        X, y = fetch_adbench(name, return_X_y=True)
        detector = DEFAULT.detector().build(seed=seed)
        common = {"file": name, "seed": seed, "settings": settings, "threads": 1}
        lines = [
            common
            | {
                "topic": topic,
                "detector": title,
                "auroc": round(float(roc_auc_score(is_outlier, scores)), 6),
                "auprc": round(float(average_precision_score(is_outlier, scores)), 6),
            }
            for (topic, title), is_outlier, scores in recombined(detector, X, y, seed)
        ]
        append_line(path, "\n".join(map(json.dumps, lines)))


class Comparison:
    """A variant beside the default, on the tables and seeds that both have.

    Parameters
    ----------
    topic, name : str
    own, default : dict of (file, seed) to record
    """

    def __init__(self, topic, name, own, default):
        self.topic = topic
        self.name = name
        both = own.keys() & default.keys()
        seeds = sorted({seed for _, seed in both})
        files = {file for file, _ in both}
        self.files = sorted(
            (f for f in files if all((f, seed) in both for seed in seeds)),
            key=str.lower,
        )

        def values(records, field):
            return np.array(
                [[records[f, s].get(field, np.nan) for s in seeds] for f in self.files]
            )

        self.differences = {
            metric: values(own, metric) - values(default, metric) for metric in METRICS
        }
        self.slowdown = float(
            np.median(values(own, "cpu_seconds") / values(default, "cpu_seconds"))
        )

    def row(self):
        """Return it as a row of the summary, as text."""
        cells = [self.topic, self.name]
        for metric, differences in self.differences.items():
            low, high = interval(differences)
            cells += [f"{differences.mean():+.4f}", f"{low:+.3f} to {high:+.3f}"]
            if metric == "auroc":
                by_table = dict(zip(self.files, differences.mean(axis=1), strict=True))
                for names in halves(self.files).values():
                    mean = np.mean([by_table[name] for name in names])
                    cells.append(f"{mean:+.4f}")
        better = (self.differences["auroc"].mean(axis=1) > 0).sum()
        cells.append(f"{better} of {len(self.files)}")
        cells.append("" if np.isnan(self.slowdown) else f"{self.slowdown:.2f}")
        return cells


def comparisons(folder):
    """Return every variant in a folder of results beside the default there.

    Results of other settings than the present ones do not count.
    """
    trained: dict = {}
    for record in Store(folder / TRAINED).read():
        variant = KNOWN.get(record["detector"])
        if variant is None or record["status"] != "ok":
            continue
        if record["settings"] == variant.detector().fingerprint():
            _add(trained, variant[:2], record)
    again: dict = {}
    settings = DEFAULT.detector().fingerprint()
    for record in Store(folder / RECOMBINED).read():
        if record["settings"] == settings:
            _add(again, (record["topic"], record["detector"]), record)
    found = []
    for results in (trained, again):
        default = results.pop(DEFAULT[:2], {})
        for key, own in results.items():
            comparison = Comparison(*key, own, default)
            if len(comparison.files) > 1:
                found.append(comparison)
    order = list(dict.fromkeys(each.topic for each in found))
    return sorted(found, key=lambda each: order.index(each.topic))


def _add(results, variant, record):
    results.setdefault(variant, {})[record["file"], record["seed"]] = record


def write_summary(found, path):
    """Write the rows of all comparisons to a CSV file."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([title.strip() for title in COLUMNS])
        writer.writerows(each.row() for each in found)


def accuracy(
    data: Annotated[
        list[str] | None, typer.Option(help="A data set; all tables at hand if none.")
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(help="What to vary by a training of its own; all if none."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 3,
    output: Annotated[
        Path, typer.Option(help="Folder; what is in it is not done again.")
    ] = Path("accuracy"),
):
    """Compare variants of ALTBI with its default, with bootstrap intervals.

    Labels only serve to judge. SKIM_DATA_HOME names the folder of ADBench's data.
    """
    topics = list(dict.fromkeys(variant.topic for variant in VARIANTS))
    check_names(topic, topics, "--topic")
    try:
        tables = choose_tables(data or ["tabular"], local=True)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if not tables:
        raise typer.BadParameter("no such data here; set SKIM_DATA_HOME to its folder.")
    variants = [each for each in VARIANTS if each.topic in (topic or topics)]
    detectors = [variant.detector() for variant in (DEFAULT, *variants)]
    store = Store(output / TRAINED)
    limits = Limits(1, None, None)
    with store.lock():
        plan = Plan(tables, detectors, seeds, store.read(), limits)
        watch(plan, execute(plan, store), Console(stderr=True))
        recombine([table.file for table in tables], seeds, output / RECOMBINED)
    found = comparisons(output)
    write_summary(found, output / "summary.csv")
    table = Table(*COLUMNS, title="Differences from the default")
    for each in found:
        table.add_row(*each.row())
    Console().print(table)
