"""Accuracy and speed of many detectors on ADBench."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks._shared.detectors import FAMILIES, choose
from benchmarks._shared.options import Seeds
from benchmarks._shared.results import Store
from benchmarks._shared.runner import Plan, execute, watch
from benchmarks._shared.tables import choose_tables
from benchmarks._shared.worker import Limits
from skim.datasets._adbench import data_home_of


def adbench(
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="A data set, its number, or a group: tabular, image, text, "
            "image-vit, text-roberta, all, keel; or an .npz file of your own with "
            "arrays X and y (1 for outliers). May be repeated."
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
    jobs: Annotated[int, typer.Option(min=1, help="Tasks at a time.")] = 1,
    threads: Annotated[int, typer.Option(min=1, help="Threads per task.")] = 1,
    timeout: Annotated[
        float,
        typer.Option(
            min=0, help="Processor seconds per thread and task; 0 means no limit."
        ),
    ] = 600,
    memory: Annotated[
        float, typer.Option(min=0, help="Gigabytes per task; 0 means no limit.")
    ] = 0,
    output: Annotated[Path, typer.Option(help="Folder of the results.")] = Path(
        "adbench-results"
    ),
    data_home: Annotated[
        Path | None, typer.Option(help="Folder of the data, instead of SKIM_DATA_HOME.")
    ] = None,
    local: Annotated[
        bool, typer.Option("--local", help="Leave out data that is not here yet.")
    ] = False,
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to run on.")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try again what failed before.")
    ] = False,
):
    """Measure detectors on ADBench with several seeds, and keep every result.

    Detectors are fitted to all rows and score the same rows; labels only serve the
    metrics. Results are added to results.jsonl in the output folder. If a run is
    interrupted, the same command resumes it.
    """
    console = Console()
    home = None if data_home is None else str(data_home.resolve())
    limits = Limits(threads, timeout or None, memory or None)
    store = Store(output / "results.jsonl")
    plan = None
    try:
        tables = choose_tables(data or ["tabular"], data_home=home, local=local)
        if not tables:
            raise ValueError(
                f"none of these data sets is in {data_home_of(home)}; put them there "
                "in ADBench's own layout, or leave out --local to download them"
            )
        detectors = choose(detector or list(FAMILIES))
        for each in detectors:
            _check(each)
        with store.lock():
            plan = Plan(
                tables, detectors, seeds, store.read(), limits, retry=retry_failed
            )
            n_done = len(plan.all) - len(plan.todo)
            console.print(
                f"{len(tables)} tables, {len(detectors)} detectors: {len(plan.all)} "
                f"tasks, {n_done} of them done before"
            )
            start = time.perf_counter()
            options = {"jobs": jobs, "dask": dask, "data_home": home}
            counts = watch(plan, execute(plan, store, **options), console)
    except (ValueError, OSError, RuntimeError) as error:
        if plan is None:
            raise typer.BadParameter(str(error)) from error
        _stop(console, store, 1, error)
    except KeyboardInterrupt:
        _stop(console, store, 130)
    seconds = time.perf_counter() - start
    told = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
    console.print(
        f"{sum(counts.values())} tasks in {seconds:.0f} s ({told or 'none'}). "
        f"Results are in {store.path}"
    )


def _stop(console, store, code, error=None):
    why = "" if error is None else f": {error}"
    kept = f"Finished tasks are in {store.path}; the same command resumes."
    console.print(f"Stopped{why}. {kept}", markup=False, highlight=False)
    raise typer.Exit(code) from error


def _check(detector):
    """Fail early, with the detector's name, if it cannot be constructed."""
    try:
        detector.build(seed=0)
    except Exception as error:  # whatever a module of the user's own raises
        what = f"{detector.name} ({detector.path})"
        raise ValueError(f"{what} cannot be constructed: {error}") from error
