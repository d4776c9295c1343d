"""When to stop without labels: what each criterion would have chosen."""

import csv
import time
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks._one_class import check_names
from benchmarks.adbench import tables_at_hand
from skim import ALTBIDetector, IMAutoencoderDetector, ODIMDetector
from skim._detectors._altbi import MIN_EPOCHS
from skim._training._stopping import CRITERIA, N_WATCHED_ROWS, Watch, is_moment
from skim.datasets import fetch_adbench

MAX_ROWS = 10_000  # of either kind that are scored at every moment
N_CHECKS = 200  # of ODIM
FIELDS = ("detector", "dataset", "seed", "moment", "auroc", "auprc", *CRITERIA)


def new_detector(name, n_rows, seed):
    """Return a detector that trains to the end, whatever the criteria say."""
    if name == "ALTBI":
        return ALTBIDetector(patience=None, random_state=seed)
    if name == "IMAutoencoder":
        return IMAutoencoderDetector(stopping=None, random_state=seed)
    detector = ODIMDetector(stopping=None, random_state=seed)
    batches = max(n_rows // detector.batch_size, 1)
    n_updates = N_CHECKS * min(batches, 10)
    return detector.set_params(epochs=max(round(n_updates / batches), 1))


DETECTORS = ("ALTBI", "IMAutoencoder", "ODIM")
# The tables that choices were made with; every second one was to confirm them.
TABLES = [
    "ALOI",
    "breastw",
    "campaign",
    "cardio",
    "cover",
    "donors",
    "glass",
    "Hepatitis",
    "http",
    "InternetAds",
    "landsat",
    "letter",
    "Lymphography",
    "magic.gamma",
    "mnist",
    "musk",
    "PageBlocks",
    "pendigits",
    "Pima",
    "satimage-2",
    "shuttle",
    "smtp",
    "SpamBase",
    "thyroid",
    "vertebral",
    "WBC",
    "WDBC",
    "wine",
    "WPBC",
    "yeast",
]
EARLIEST = {"ALTBI": MIN_EPOCHS}


def draw_rows(y, seed):
    """Draw rows to score, at most `MAX_ROWS` of either kind, and others to watch."""
    rng = np.random.default_rng(seed)
    kinds = [rng.permutation(np.flatnonzero(y == kind))[:MAX_ROWS] for kind in (0, 1)]
    return np.concatenate(kinds), rng.permutation(len(y))[:N_WATCHED_ROWS]


class Recorder:
    """Called at every entry of a training; scores rows and asks all criteria.

    Parameters
    ----------
    detector : IMDetector
    y : ndarray of shape (n,)
        1 for outliers.
    seed : int
    """

    def __init__(self, detector, y, seed):
        self.detector = detector
        self.scored, self.watched = draw_rows(y, seed)
        self.is_outlier = y[self.scored]
        self.n_entries = 0
        self.losses = {}
        self.criteria = {}

    def __call__(self, run, rows):
        """Look at a moment of the training."""
        self.n_entries += 1
        if not is_moment(self.n_entries):
            return
        losses = self.detector._present_losses(rows[self.scored], run)
        self.losses[self.n_entries] = losses
        self.criteria[self.n_entries] = [
            watch.judge_together(run) for watch in self._watches(run, rows)
        ]

    def _watches(self, run, rows):
        import torch

        if not hasattr(self, "watches"):
            low, high = rows.min(axis=0), rows.max(axis=0)
            rng = np.random.default_rng(0)
            size = len(self.watched), rows.shape[1]
            points = rng.uniform(low, high, size=size).astype(np.float32)
            self.watches = []
            for criterion in CRITERIA:
                watch = Watch(criterion, run, None, self.detector.noise_)
                watch.rows = torch.from_numpy(rows[self.watched].T.copy())
                if criterion in ("excess_mass", "mass_volume"):
                    watch.reference = torch.from_numpy(points.T.copy())
                self.watches.append(watch)
        return self.watches

    def path(self):
        """Yield the moments with the metrics and criteria of each."""
        for moment in self.losses:
            counted = [moment]
            if isinstance(self.detector, ALTBIDetector):
                counted = self.detector._snapshots_until(moment)
            losses = np.mean([self.losses[each] for each in counted], axis=0)
            metrics = (
                roc_auc_score(self.is_outlier, losses),
                average_precision_score(self.is_outlier, losses),
            )
            yield moment, *metrics, *self.criteria[moment]


def record(name, dataset, seed):
    """Return the path of one training, as rows of the results file."""
    X, y = fetch_adbench(dataset, return_X_y=True)
    detector = new_detector(name, len(X), seed)
    detector._validate_params()
    recorder = Recorder(detector, np.asarray(y), seed)
    detector._fit(X, watch=recorder)
    path = [(name, dataset, seed, *row) for row in recorder.path()]
    return [[f"{v:.6g}" if isinstance(v, float) else v for v in row] for row in path]


def read(path):
    """Read a results file into ``{(detector, dataset, seed): {field: array}}``."""
    runs = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            key = row["detector"], row["dataset"], int(row["seed"])
            runs.setdefault(key, []).append(row)
    return {
        key: {
            field: np.array([float(row[field]) for row in rows]) for field in FIELDS[3:]
        }
        for key, rows in runs.items()
    }


def halves(names):
    """Split names in two: the first, third, fifth by the alphabet, and the rest.

    A table is in the same half however many of `TABLES` are among the names.
    """
    others = sorted({*names} - {*TABLES}, key=str.lower)
    order = [*TABLES, *others]
    return {
        "chosen on": [name for name in order[::2] if name in names],
        "confirmed on": [name for name in order[1::2] if name in names],
    }


def choices(runs, earliest=1):
    """Return what each rule gives, ``{rule: {(dataset, seed): (auroc, auprc)}}``.

    Parameters
    ----------
    runs : dict
        As from `read`, of one detector.
    earliest : int, default=1
        The first moment that criteria may choose.
    """
    length = min(len(run["auroc"]) for run in runs.values())
    by_moment = np.mean([run["auroc"][:length] for run in runs.values()], axis=0)
    best = int(np.argmax(by_moment))
    moment = int(next(iter(runs.values()))["moment"][best])
    rules = {
        "the best moment of each table (oracle)": lambda run: np.argmax(run["auroc"]),
        f"the best moment for all ({moment})": lambda run: best,
        "the end": lambda run: len(run["auroc"]) - 1,
    }
    for criterion in CRITERIA:
        rules[criterion] = partial(_best, criterion, earliest)
    return {
        rule: {
            key: (run["auroc"][choose(run)], run["auprc"][choose(run)])
            for key, run in runs.items()
        }
        for rule, choose in rules.items()
    }


def _best(criterion, earliest, run):
    late = run["moment"] >= earliest
    return np.argmax(np.where(late, run[criterion], -np.inf))


def summary(runs, detector):
    """Return a table of mean metrics and regrets of one detector, as rows of text."""
    runs = {key[1:]: run for key, run in runs.items() if key[0] == detector}
    parts = halves({dataset for dataset, _ in runs})
    oracle = None
    for rule, chosen in choices(runs, EARLIEST.get(detector, 1)).items():
        mean = _mean(chosen, parts["chosen on"] + parts["confirmed on"])
        oracle = mean if oracle is None else oracle
        values = [*mean, oracle[0] - mean[0]]
        values += [_mean(chosen, half)[0] if half else None for half in parts.values()]
        yield [rule, *("" if value is None else f"{value:.4f}" for value in values)]


def _mean(chosen, datasets):
    """Average over the seeds, then over the data sets."""
    by_dataset = [
        np.mean([value for key, value in chosen.items() if key[0] == dataset], axis=0)
        for dataset in datasets
    ]
    return np.mean(by_dataset, axis=0)


COLUMNS = ("stopped by", "AUROC", "AUPRC", "regret", "AUROC, half 1", "AUROC, half 2")


def stopping(
    data: Annotated[
        list[str] | None, typer.Option(help="A data set; all tables at hand if none.")
    ] = None,
    detector: Annotated[
        list[str] | None,
        typer.Option(help=f"One of {', '.join(DETECTORS)}; all if none."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 3,
    output: Annotated[
        Path, typer.Option(help="Results file; what is in it is not done again.")
    ] = Path("stopping.csv"),
):
    """Compare the criteria for stopping with the best moments, over many tables.

    Labels only serve to judge. SKIM_DATA_HOME names the folder of ADBench's data.
    """
    check_names(detector, DETECTORS, "--detector")
    tables = tables_at_hand(data)
    done = read(output) if output.exists() else {}
    tasks = [
        (name, dataset, seed)
        for name in detector or DETECTORS
        for seed in range(seeds)
        for dataset in [table.file for table in tables]
        if (name, dataset, seed) not in done
    ]
    if not output.exists():
        output.write_text(",".join(FIELDS) + "\n")
    start = time.perf_counter()
    for task in track(tasks, console=Console(stderr=True)):
        rows = record(*task)
        with output.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
    runs = read(output)
    for name in dict.fromkeys(key[0] for key in runs):
        table = Table(*COLUMNS, title=f"{name}: when to stop")
        for row in summary(runs, name):
            table.add_row(*row)
        Console().print(table)
    if tasks:
        print(f"{time.perf_counter() - start:.0f} s")
