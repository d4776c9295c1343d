"""Speed and memory of the detectors, with one thread."""

from typing import Annotated

import typer

from benchmarks._shared.detectors import DETECTORS
from benchmarks._shared.processes import in_process, peak_megabytes, run_code, seconds
from benchmarks._shared.results import print_table
from skim import ALTBIDetector
from skim.datasets import fetch_adbench

CASES = [
    ("ALTBI", "cardio"),
    ("ALTBI-paper", "cardio"),
    ("ODIM", "cardio"),
    ("IMAutoencoder", "cardio"),
    ("ALTBI", "shuttle"),
    ("ODIM", "shuttle"),
    ("IMAutoencoder", "shuttle"),
    ("ALTBI", "donors"),
]
IMPORTS = ["import skim", "from skim import ALTBIDetector", "import sklearn"]
TIMED = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"


def fit_one(name, dataset):
    """Return the seconds of a fit and the peak memory of this process in MB."""
    X, _ = fetch_adbench(dataset, return_X_y=True)
    ALTBIDetector(epochs=1).fit(X[:200])  # loads torch
    took = seconds(lambda: DETECTORS[name].build(seed=0).fit(X))
    return took, peak_megabytes()


def speed(
    repeat: Annotated[int, typer.Option(help="Number of runs; the best counts.")] = 3,
):
    """Time fits with their training scores, each in a process of its own."""
    rows = []
    for name, dataset in CASES:
        took, peak = min(in_process(fit_one, name, dataset) for _ in range(repeat))
        rows.append((name, dataset, took, f"{peak:.0f}"))
    for statement in IMPORTS:
        took = min(float(run_code(TIMED.format(statement))) for _ in range(repeat))
        rows.append((statement, "", took, ""))
    title = "Fit and training scores, one thread"
    columns = ("detector", "data set", "seconds", "peak MB")
    print_table(columns, rows, title, digits=".2f")
