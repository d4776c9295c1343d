"""Early stopping without labels: how accurate ALTBI is with each criterion."""

from pathlib import Path

from benchmarks._shared.measure import METRICS, measure
from benchmarks._shared.options import ResultsFile, Seeds, Tables, some_of
from benchmarks._shared.results import Runs, print_table
from benchmarks._shared.sources import HALVES, half_of, source_means
from benchmarks._shared.tables import tables_at_hand
from skim import ALTBIDetector

LAST_EPOCH = "last epoch"
CRITERIA = ("entropy", "separation", "cohesion", LAST_EPOCH)


def summary(runs):
    """Return mean metrics by criterion, over all sources and those of each half."""
    tasks = runs.groupby(["criterion", "table"])[list(METRICS)].mean().reset_index()
    rows = []
    for criterion, own in tasks.groupby("criterion", sort=False):
        means = source_means(own[list(METRICS)], own["table"])
        halves = [means[means.index.map(half_of) == half]["auroc"] for half in HALVES]
        rows.append((criterion, *means.mean(), *(half.mean() for half in halves)))
    return rows


def stopping(
    data: Tables = None,
    criterion: some_of(CRITERIA) = None,
    seeds: Seeds = 3,
    output: ResultsFile = Path("stopping.csv"),
):
    """Compare criteria for early stopping, over many tables.

    Labels only serve the comparison. SKIM_DATA_HOME names the folder of ADBench's data.
    """
    tables = {table.file: table for table in tables_at_hand(data)}

    def run(task):
        name, file, seed = task
        stop = None if name == LAST_EPOCH else name
        detector = ALTBIDetector(stopping=stop, random_state=seed)
        return [measure(detector, *tables[file].load())[:2]]

    tasks = [
        (c, file, seed) for seed in range(seeds) for file in tables for c in criterion
    ]
    runs = Runs(output, ("criterion", "table", "seed"), METRICS).complete(tasks, run)
    columns = ("stopped by", "AUROC", "AUPRC", *(f"AUROC, {half}" for half in HALVES))
    print_table(columns, summary(runs), digits=".4f")
