"""Speed and memory of the detectors, with one thread."""

import os
import resource
import subprocess
import sys
import time
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.detectors import DETECTORS
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


def measure_one(name, dataset):
    """Print the seconds of a fit and the peak memory of this process in MB."""
    X, _ = fetch_adbench(dataset, return_X_y=True)
    ALTBIDetector(epochs=1).fit(X[:200])  # loads torch
    start = time.perf_counter()
    DETECTORS[name].build(seed=0).fit(X)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(seconds, peak)


def speed(
    repeat: Annotated[int, typer.Option(help="The best of so many runs counts.")] = 3,
):
    """Measure fit and training scores together, each in a process of its own."""
    table = Table(title="Fit and training scores, one thread")
    for column in ("detector", "data set", "seconds", "peak MB"):
        table.add_column(column)
    code = "import sys; from benchmarks.speed import *; "
    code += "measure_one(*sys.argv[1:])"
    for name, dataset in CASES:
        runs = [_in_process(code, name, dataset) for _ in range(repeat)]
        seconds, peak = min(runs)
        table.add_row(name, dataset, f"{seconds:.2f}", f"{peak:.0f}")
    for statement in IMPORTS:
        code = f"import time; t = time.perf_counter(); {statement}; "
        code += "print(time.perf_counter() - t, 0)"
        seconds, _ = min(_in_process(code) for _ in range(repeat))
        table.add_row(statement, "", f"{seconds:.2f}", "")
    Console().print(table)


def _in_process(code, *arguments):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    output = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    ).stdout
    seconds, peak = map(float, output.split())
    return seconds, peak
