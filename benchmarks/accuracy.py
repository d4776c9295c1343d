"""What moves the accuracy of ALTBI, and what does not."""

import csv
from contextlib import ExitStack
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
from benchmarks._store import Store
from benchmarks._variants import DEFAULT, RECOMBINED, VARIANTS, recombined
from benchmarks._worker import Limits
from benchmarks.adbench import tables_at_hand, watch
from benchmarks.stopping import draw_rows, halves
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
USES = [list(variant) for variant in RECOMBINED]  # as they are when read from a file


def interval(differences, n_draws=N_DRAWS, seed=0):
    """Return a bootstrap interval of 95 % for a mean difference over tables.

    Tables are drawn with replacement, and in each of them its seeds. Where seeds
    differ more than tables, that is wider than it need be, by up to a third.

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


def recombine(datasets, seeds, store):
    """Do what is missing in a store of other uses of the default's training."""
    settings = DEFAULT.detector().fingerprint()
    done = {
        (record["file"], record["seed"])
        for record in store.read()
        if (record["settings"], record["variants"]) == (settings, USES)
    }
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
    """Return the metrics of scores of some rows, as if they were of all rows."""
    share = np.bincount(y[rows]) / np.bincount(y)
    judge = {"auroc": roc_auc_score, "auprc": average_precision_score}
    options = {"sample_weight": 1 / share[y[rows]]}
    return {
        metric: [round(float(judge[metric](y[rows], s, **options)), 6) for s in scores]
        for metric in METRICS
    }


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
        self.files, self.seeds = _most_complete(own.keys() & default.keys())

        def values(records, field):
            return np.array(
                [
                    [records[file, seed].get(field, np.nan) for seed in self.seeds]
                    for file in self.files
                ]
            )

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
                by_table = dict(zip(self.files, differences.mean(axis=1), strict=True))
                for half in halves(self.files).values():
                    mean = np.mean([by_table[file] for file in half]) if half else None
                    cells.append("" if mean is None else f"{mean:+.4f}")
        signs = np.sign(self.differences["auroc"].mean(axis=1))
        cells.append(f"{(signs > 0).sum()} / {(signs < 0).sum()}")
        cells.append(f"{len(self.files)} × {len(self.seeds)}")
        slowdown = np.median(self.slowdowns.mean(axis=1))
        cells.append("" if np.isnan(slowdown) else f"{slowdown:.2f}")
        return cells


def others(path):
    """Return other detectors beside ALTBI, by the results of the benchmark."""
    by_detector: dict = {}
    for record in Store(path).read():
        if record["status"] == "ok" and record["group"] == "tabular":
            settings = by_detector.setdefault(record["detector"], {})
            own = settings.setdefault(record["settings"], {})
            # Times are left to the benchmark's report.
            metrics = {metric: record[metric] for metric in METRICS}
            own[record["file"], record["seed"]] = metrics
    default = by_detector.pop("ALTBI", {}).get(DEFAULT.detector().fingerprint(), {})
    tables = {file for file, _ in default}
    found = []
    for name, settings in by_detector.items():
        *_, own = settings.values()  # the last ones count
        seeds = {seed for _, seed in own}
        whole = {s for s in seeds if all((file, s) in own for file in tables)}
        own = {task: metrics for task, metrics in own.items() if task[1] in whole}
        if own:
            found.append(Comparison("another detector", name, own, default))
    return found


def _most_complete(tasks):
    """Return files and seeds, all of whose pairs are among the tasks: most of them."""
    seeds = sorted({seed for _, seed in tasks})
    files = sorted({file for file, _ in tasks}, key=str.lower)
    options = []
    for n_seeds in range(len(seeds) + 1):
        first = seeds[:n_seeds]
        whole = [file for file in files if all((file, s) in tasks for s in first)]
        options.append((whole, first))
    return max(options, key=lambda option: len(option[0]) * len(option[1]))


def comparisons(folder):
    """Return every variant in a folder of results beside the default there.

    Results of other settings than the present ones do not count.
    """
    trained: dict = {}
    for record in _store(folder, "results").read():
        if record["status"] == "ok":
            own = trained.setdefault((record["detector"], record["settings"]), {})
            own[record["file"], record["seed"]] = record
    by_training = {
        variant[:2]: trained.get((variant.name, variant.detector().fingerprint()), {})
        for variant in (DEFAULT, *VARIANTS)
    }
    by_use: dict = {variant: {} for variant in RECOMBINED}
    settings = DEFAULT.detector().fingerprint()
    for record in _store(folder, "recombined").read():
        if (record["settings"], record["variants"]) == (settings, USES):
            for place, own in enumerate(by_use.values()):
                metrics = {metric: record[metric][place] for metric in METRICS}
                own[record["file"], record["seed"]] = metrics
    found = [
        Comparison(*variant, own, results[DEFAULT[:2]])
        for results in (by_training, by_use)
        for variant, own in results.items()
        if variant != DEFAULT[:2]
    ]
    order = list(dict.fromkeys(each.topic for each in found))
    known = [each for each in found if each.seeds]
    return sorted(known, key=lambda each: order.index(each.topic))


def _store(folder, name):
    return Store(folder / f"{name}.jsonl")


def write_summary(rows, path):
    """Write the rows of all comparisons to a CSV file."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)


def accuracy(
    data: Annotated[
        list[str] | None, typer.Option(help="A data set; all tables at hand if none.")
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(help="What to vary by a training of its own; all if none."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 3,
    jobs: Annotated[int, typer.Option(min=1, help="Trainings at a time.")] = 1,
    output: Annotated[
        Path, typer.Option(help="Folder; what is in it is not done again.")
    ] = Path("accuracy"),
    beside: Annotated[
        Path | None,
        typer.Option(help="A results file of the ADBench benchmark, to add others."),
    ] = None,
):
    """Compare variants of ALTBI with its default, with bootstrap intervals.

    Labels only serve to judge. SKIM_DATA_HOME names the folder of ADBench's data.
    """
    topics = list(dict.fromkeys(variant.topic for variant in VARIANTS))
    check_names(topic, topics, "--topic")
    tables = tables_at_hand(data)
    if any(table.path for table in tables):
        raise typer.BadParameter("only ADBench's own data sets can be compared here.")
    variants = [each for each in VARIANTS if each.topic in (topic or topics)]
    detectors = [variant.detector() for variant in (DEFAULT, *variants)]
    store = _store(output, "results")
    limits = Limits(1, None, None)
    with ExitStack() as stack:
        try:
            stack.enter_context(store.lock())
        except (ValueError, OSError) as error:
            raise typer.BadParameter(str(error)) from None
        plan = Plan(tables, detectors, seeds, store.read(), limits)
        watch(plan, execute(plan, store, jobs=jobs), Console(stderr=True))
        names = [table.file for table in tables]
        recombine(names, seeds, _store(output, "recombined"))
    found = comparisons(output) + ([] if beside is None else others(beside))
    rows = [each.row() for each in found]
    write_summary(rows, output / "summary.csv")
    table = Table(*COLUMNS, title="Differences from the default")
    for row in rows:
        table.add_row(*row)
    Console().print(table)
