"""Accuracy and speed of many detectors on ADBench."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from benchmarks._shared.detectors import FAMILIES, choose
from benchmarks._shared.options import Seeds
from benchmarks._shared.results import Store
from benchmarks._shared.tables import choose_tables
from benchmarks._shared.tasks import run_tasks

MAX_ERRORS = 10  # that are shown at the end


def adbench(
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="A data set or a group: tabular, image, text, image-vit, "
            "text-roberta, all, keel; or an .npz file of your own with arrays X and y "
            "(1 for outliers). May be repeated."
        ),
    ] = None,
    detector: Annotated[
        list[str] | None,
        typer.Option(
            help="A detector, 'skim', 'pyod', or package.module:Class for one of "
            "your own. May be repeated."
        ),
    ] = None,
    seeds: Seeds = 3,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at a time.")] = 1,
    timeout: Annotated[
        float, typer.Option(min=0, help="Processor seconds per task; 0 for no limit.")
    ] = 600,
    output: Annotated[Path, typer.Option(help="Folder of the results.")] = Path(
        "adbench-results"
    ),
    local: Annotated[
        bool, typer.Option("--local", help="Leave out data that is not here yet.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try again what failed before.")
    ] = False,
):
    """Measure detectors on ADBench with several seeds, and keep every result.

    Detectors are fitted to all rows and score the same rows; labels only serve the
    metrics. Results are added to results.jsonl in the output folder. If a run is
    interrupted, the same command resumes it. SKIM_DATA_HOME names the folder of the
    data.
    """
    try:
        tables = choose_tables(data or ["tabular"], local=local)
        if not tables:
            raise ValueError("no such data here; set SKIM_DATA_HOME to its folder.")
        detectors = choose(detector or list(FAMILIES))
        for each in detectors:
            _check(each)
    except (ValueError, OSError) as error:
        raise typer.BadParameter(str(error)) from error
    store = Store(output / "results.jsonl")
    counts: Counter = Counter()
    errors: Counter = Counter()
    for record in run_tasks(
        store,
        tables,
        detectors,
        seeds,
        timeout=timeout or None,
        jobs=jobs,
        retry=retry_failed,
    ):
        counts[record["status"]] += 1
        if record["status"] != "ok":
            name, status = record["detector"], record["status"]
            errors[f"{name}: {status}: {record['error']}"] += 1
    for error, n in errors.most_common(MAX_ERRORS):
        typer.echo(f"{n} × {error}")
    told = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
    typer.echo(f"New tasks: {told or 'none'}. Results are in {store.path}")


def _check(detector):
    """Fail early, with the detector's name, if it cannot be constructed."""
    try:
        detector.build(seed=0)
    except ModuleNotFoundError as error:
        if error.name == "pyod":
            raise
        raise ValueError(f"{detector.name} ({detector.path}): {error}") from error
    except Exception as error:  # whatever a module of the user's own raises
        what = f"{detector.name} ({detector.path})"
        raise ValueError(f"{what} cannot be constructed: {error}") from error
