"""Early stopping without labels: what each criterion would have chosen."""

from functools import partial
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks._shared.options import ResultsFile, Seeds, Tables, some_of
from benchmarks._shared.results import Runs, print_table
from benchmarks._shared.sources import halves
from benchmarks._shared.tables import draw_rows, tables_at_hand
from skim import ALTBIDetector, IMAutoencoderDetector, ODIMDetector
from skim._detectors._altbi import MIN_EPOCHS
from skim._training._stopping import CRITERIA, Watch, checkpoint_epochs
from skim.datasets import fetch_adbench

N_CHECKS = 200  # of ODIM
KEY = ("detector", "dataset", "seed")
VALUES = ("moment", "auroc", "auprc", *CRITERIA)


def new_detector(name, n_rows, seed):
    """Return a detector that is trained for all epochs."""
    if name == "ALTBI":
        return ALTBIDetector(patience=None, random_state=seed)
    if name == "IMAutoencoder":
        return IMAutoencoderDetector(stopping=None, random_state=seed)
    detector = ODIMDetector(stopping=None, random_state=seed)
    batches = max(n_rows // detector.batch_size, 1)
    n_updates = N_CHECKS * min(batches, 10)
    return detector.set_params(epochs=max(round(n_updates / batches), 1))


DETECTORS = ("ALTBI", "IMAutoencoder", "ODIM")
EARLIEST = {"ALTBI": MIN_EPOCHS}


class Recorder:
    """Called at every entry of the history; scores rows by all criteria."""

    def __init__(self, detector, y, seed):
        self.detector = detector
        self.scored, self.watched = draw_rows(y, seed)
        self.is_outlier = y[self.scored]
        self.n_entries = 0
        self.losses = {}
        self.criteria = {}

    def __call__(self, run, rows):
        """Record the losses and the criteria, if the moment counts."""
        self.n_entries += 1
        rows = np.concatenate([part.values for _, part in rows])
        if self.n_entries not in checkpoint_epochs(self.n_entries):
            return
        losses = self.detector._losses(rows[self.scored], *run.state(), run.members)
        self.losses[self.n_entries] = losses.mean(axis=0)
        self.criteria[self.n_entries] = [
            float(watch.judge(run, run.losses(watch.rows), together=True))
            for watch in self._watches(run, rows)
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
                watch = Watch(criterion, run, None)
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


def record(task):
    """Return the path of one training run, as lines of the results file."""
    name, dataset, seed = task
    X, y = fetch_adbench(dataset, return_X_y=True)
    detector = new_detector(name, len(X), seed)
    detector._validate_params()
    recorder = Recorder(detector, np.asarray(y), seed)
    detector._fit(X, observe=recorder)
    return list(recorder.path())


def choices(runs, earliest=1):
    """Return what each rule gives, ``{rule: {(dataset, seed): (auroc, auprc)}}``.

    Parameters
    ----------
    runs : dict of (dataset, seed) to DataFrame
        The paths of one detector.
    earliest : int, default=1
        The first moment that criteria may choose.
    """
    length = min(map(len, runs.values()))
    by_moment = np.mean([run["auroc"][:length] for run in runs.values()], axis=0)
    best = int(np.argmax(by_moment))
    moment = next(iter(runs.values()))["moment"].iloc[best]
    rules = {
        "the best moment of each table (oracle)": lambda run: np.argmax(run["auroc"]),
        f"the best moment for all ({moment})": lambda run: best,
        "the end": lambda run: len(run) - 1,
    }
    for criterion in CRITERIA:
        rules[criterion] = partial(_best, criterion, earliest)
    return {
        rule: {
            key: run[["auroc", "auprc"]].iloc[choose(run)].to_numpy()
            for key, run in runs.items()
        }
        for rule, choose in rules.items()
    }


def _best(criterion, earliest, run):
    return np.argmax(run[criterion].where(run["moment"] >= earliest, -np.inf))


def summary(paths):
    """Yield the mean metrics and the regret of every rule, for one detector."""
    name = paths["detector"].iloc[0]
    runs = dict(list(paths.groupby(["dataset", "seed"], sort=False)))
    parts = halves({dataset for dataset, _ in runs})
    oracle = None
    for rule, chosen in choices(runs, EARLIEST.get(name, 1)).items():
        mean = _mean(chosen, parts["chosen on"] + parts["confirmed on"])
        oracle = mean if oracle is None else oracle
        of_halves = [_mean(chosen, half)[0] if half else "" for half in parts.values()]
        yield [rule, *mean, oracle[0] - mean[0], *of_halves]


def _mean(chosen, datasets):
    """Average over the seeds, then over the data sets."""
    by_dataset = [
        np.mean([value for key, value in chosen.items() if key[0] == dataset], axis=0)
        for dataset in datasets
    ]
    return np.mean(by_dataset, axis=0)


COLUMNS = ("stopped by", "AUROC", "AUPRC", "regret", "AUROC, half 1", "AUROC, half 2")


def stopping(
    data: Tables = None,
    detector: some_of(DETECTORS) = None,
    seeds: Seeds = 3,
    output: ResultsFile = Path("stopping.csv"),
):
    """Compare criteria for early stopping with the best epochs, over many tables.

    Labels only serve the comparison. SKIM_DATA_HOME names the folder of ADBench's data.
    """
    tables = tables_at_hand(data)
    tasks = [
        (name, table.file, seed)
        for name in detector
        for seed in range(seeds)
        for table in tables
    ]
    paths = Runs(output, KEY, VALUES).complete(tasks, record)
    for name, own in paths.groupby("detector", sort=False):
        print_table(COLUMNS, summary(own), f"{name}: when to stop", digits=".4f")
