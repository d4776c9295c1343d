"""What moves the accuracy of ALTBI, and what does not."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from rich.console import Console
from rich.progress import track
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks._shared.options import Seeds, Tables, some_of
from benchmarks._shared.results import Store, print_table
from benchmarks._shared.runner import Plan, execute, watch
from benchmarks._shared.sources import halves
from benchmarks._shared.tables import draw_rows, tables_at_hand
from benchmarks._shared.worker import Limits
from benchmarks.accuracy._variants import DEFAULT, RECOMBINED, VARIANTS, recombined
from skim.datasets import fetch_adbench
from skim.datasets._published import METRICS

N_DRAWS = 10_000
COLUMNS = (
    "topic",
    "variant",
    "AUROC",
    "interval",
    "half 1",
    "half 2",
    "AUPRC",
    "its interval",
    "better / worse",
    "tables × seeds",
    "time",
)
TOPICS = tuple(dict.fromkeys(variant.topic for variant in VARIANTS))
USES = [list(variant) for variant in RECOMBINED]  # as they are when read from a file


def interval(differences, n_draws=N_DRAWS, seed=0):
    """Return a 95 % bootstrap interval for a mean difference over tables.

    Tables are drawn with replacement, and in each of them its seeds. Where seeds
    differ more than tables, it is up to a third too wide. `differences`, of two
    detectors with the same seed, has the shape (n_tables, n_seeds).
    """
    rng = np.random.default_rng(seed)
    n_tables, n_seeds = differences.shape
    tables = rng.integers(n_tables, size=(n_draws, n_tables, 1))
    seeds = rng.integers(n_seeds, size=(n_draws, n_tables, n_seeds))
    means = differences[tables, seeds].mean(axis=(1, 2))
    return tuple(np.quantile(means, [0.025, 0.975]))


def recombine(datasets, seeds, store):
    """Add the other uses of the default's snapshots that a store does not have yet."""
    settings = DEFAULT.detector().fingerprint()
    done = {(record["file"], record["seed"]) for record in _current(store)}
    tasks = [(name, seed) for seed in range(seeds) for name in datasets]
    todo = [task for task in tasks if task not in done]
    for name, seed in track(todo, "Recombining", console=Console(stderr=True)):
        X, y = fetch_adbench(name, return_X_y=True)
        rows, watched = draw_rows(y, seed)
        detector = DEFAULT.detector().build(seed=seed)
        found = recombined(detector, X, rows, watched)
        store.append(
            {
                "file": name,
                "seed": seed,
                "detector": DEFAULT.name,
                "settings": settings,
                "threads": 1,
                "variants": USES,
                **_metrics(y, rows, list(found.values())),
            }
        )


def _metrics(y, rows, scores):
    """Return the metrics of scores of some rows, weighted to stand for all rows."""
    share = np.bincount(y[rows]) / np.bincount(y)
    judge = {"auroc": roc_auc_score, "auprc": average_precision_score}
    options = {"sample_weight": 1 / share[y[rows]]}
    return {
        metric: [round(float(judge[metric](y[rows], s, **options)), 6) for s in scores]
        for metric in METRICS
    }


class Comparison:
    """A variant beside the default, on the tables and seeds that both have.

    Both have columns file, seed and the metrics, maybe cpu_seconds.
    """

    def __init__(self, topic, name, own, default):
        self.topic = topic
        self.name = name
        own, default = (each.set_index(["file", "seed"]) for each in (own, default))
        self.files, self.seeds = _most_complete({*own.index} & {*default.index})

        def values(results, field):
            if field not in results:
                return np.full((len(self.files), len(self.seeds)), np.nan)
            wide = results[field].unstack("seed")
            return wide.loc[self.files, self.seeds].to_numpy(float)

        self.differences = {
            metric: values(own, metric) - values(default, metric) for metric in METRICS
        }
        self.slowdowns = values(own, "cpu_seconds") / values(default, "cpu_seconds")

    def row(self):
        """Return it as a row of the summary, as text."""
        cells = [self.topic, self.name]
        for metric, differences in self.differences.items():
            low, high = interval(differences)
            cells += [f"{differences.mean():+.4f}", f"{low:+.4f} to {high:+.4f}"]
            if metric == "auroc":
                means = pd.Series(differences.mean(axis=1), self.files)
                for half in halves(self.files).values():
                    cells.append(f"{means[half].mean():+.4f}" if half else "")
        signs = np.sign(self.differences["auroc"].mean(axis=1))
        cells.append(f"{(signs > 0).sum()} / {(signs < 0).sum()}")
        cells.append(f"{len(self.files)} × {len(self.seeds)}")
        slowdown = np.median(self.slowdowns.mean(axis=1))
        cells.append("" if np.isnan(slowdown) else f"{slowdown:.2f}")
        return cells


def _most_complete(tasks):
    """Return the files and first seeds with most tasks, all pairs being there."""
    seeds = sorted({seed for _, seed in tasks})
    files = sorted({file for file, _ in tasks}, key=str.lower)
    options = []
    for n_seeds in range(len(seeds) + 1):
        first = seeds[:n_seeds]
        whole = [file for file in files if all((file, s) in tasks for s in first)]
        options.append((whole, first))
    return max(options, key=lambda option: len(option[0]) * len(option[1]))


def _read(path):
    """Return the records of successful tasks as a DataFrame."""
    columns = ["file", "group", "detector", "settings", "seed", *METRICS, "cpu_seconds"]
    records = [each for each in Store(path).read() if each["status"] == "ok"]
    return pd.DataFrame(records).reindex(columns=columns)


def others(path):
    """Return other detectors beside ALTBI, by the results of the benchmark."""
    # Times are left to the benchmark's report.
    results = _read(path).drop(columns="cpu_seconds")
    results = results[results["group"] == "tabular"]
    ours = results["detector"] == "ALTBI"
    default = results[ours & (results["settings"] == DEFAULT.detector().fingerprint())]
    found = []
    for name, own in results[~ours].groupby("detector", sort=False):
        own = own[own["settings"] == own["settings"].iloc[-1]]  # the last ones count
        files = own.groupby("seed")["file"].agg(set)
        whole = [seed for seed, known in files.items() if {*default["file"]} <= known]
        own = own[own["seed"].isin(whole)]
        if len(own):
            found.append(Comparison("another detector", name, own, default))
    return found


def comparisons(folder):
    """Return every variant in a folder of results beside the default there.

    Results of other settings than the present ones do not count.
    """
    results = _read(folder / "results.jsonl")
    default, *fitted = (
        results[
            (results["detector"] == variant.name)
            & (results["settings"] == variant.detector().fingerprint())
        ]
        for variant in (DEFAULT, *VARIANTS)
    )
    found = [
        Comparison(*variant[:2], own, default)
        for variant, own in zip(VARIANTS, fitted, strict=True)
    ]
    uses = pd.DataFrame(
        [
            {"use": use, "file": record["file"], "seed": record["seed"]}
            | {metric: record[metric][place] for metric in METRICS}
            for record in _current(Store(folder / "recombined.jsonl"))
            for place, use in enumerate(RECOMBINED)
        ],
        columns=["use", "file", "seed", *METRICS],
    )
    by_use = {use: uses[uses["use"] == use] for use in RECOMBINED}
    default = by_use.pop(DEFAULT[:2])
    found += [Comparison(*use, own, default) for use, own in by_use.items()]
    order = list(dict.fromkeys(each.topic for each in found))
    known = [each for each in found if each.seeds]
    return sorted(known, key=lambda each: order.index(each.topic))


def _current(store):
    """Return the records of the present default and its present uses."""
    present = (DEFAULT.detector().fingerprint(), USES)
    return [r for r in store.read() if (r["settings"], r["variants"]) == present]


def accuracy(
    data: Tables = None,
    topic: some_of(TOPICS) = None,
    seeds: Seeds = 3,
    jobs: Annotated[int, typer.Option(min=1, help="Fits at a time.")] = 1,
    output: Annotated[
        Path, typer.Option(help="Folder; runs that are in it are not repeated.")
    ] = Path("accuracy"),
    beside: Annotated[
        Path | None,
        typer.Option(help="A results file of the ADBench benchmark, to add others."),
    ] = None,
):
    """Compare variants of ALTBI with its default, with bootstrap intervals.

    Labels only serve the comparison. SKIM_DATA_HOME names the folder of ADBench's data.
    """
    tables = tables_at_hand(data)
    if any(table.path for table in tables):
        raise typer.BadParameter("only ADBench's own data sets can be compared here.")
    variants = [each for each in VARIANTS if each.topic in topic]
    detectors = [variant.detector() for variant in (DEFAULT, *variants)]
    store = Store(output / "results.jsonl")
    with ExitStack() as stack:
        try:
            stack.enter_context(store.lock())
        except (ValueError, OSError) as error:
            raise typer.BadParameter(str(error)) from None
        plan = Plan(tables, detectors, seeds, store.read(), Limits())
        watch(plan, execute(plan, store, jobs=jobs), Console(stderr=True))
        names = [table.file for table in tables]
        recombine(names, seeds, Store(output / "recombined.jsonl"))
    found = comparisons(output) + ([] if beside is None else others(beside))
    rows = [each.row() for each in found]
    summary = pd.DataFrame(rows, columns=COLUMNS)
    summary.to_csv(output / "summary.csv", index=False)
    print_table(COLUMNS, rows, "Differences from the default")
