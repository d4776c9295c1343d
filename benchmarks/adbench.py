"""Accuracy and speed of many detectors on ADBench."""

import hashlib
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from benchmarks._runner import Plan, Table, execute
from benchmarks._store import Store, key
from benchmarks._worker import Limits
from benchmarks.detectors import FAMILIES, choose
from skim.datasets import list_adbench
from skim.datasets._adbench import (
    adbench_files,
    data_home_of,
    dataset_of,
    find_adbench,
    group_names,
    load_npz,
    nearest,
    sizes,
)

MAX_ERRORS = 10  # that are shown at the end
LINE_SECONDS = 60  # between lines where nothing can be drawn anew


def choose_tables(names, *, data_home=None, local=False):
    """Return the tables of some names, numbers or groups.

    Parameters
    ----------
    names : list of str
        As for `list_adbench` or `fetch_adbench`, "all", or the path of an .npz file
        of one's own with arrays X and y.
    data_home : str, default=None
        Where to look for files if `local`.
    local : bool, default=False
        Whether to leave out those whose file would have to be downloaded.

    Returns
    -------
    tables : list of Table
        Without repetitions.
    """
    own = [name for name in names if name.endswith(".npz") and Path(name).exists()]
    others = [name for name in names if name not in own]
    chosen = {file.name: file for name in others for file in _files(name)}
    home = data_home_of(data_home)
    size = sizes()
    tables = [
        Table(file.name, file.dataset, file.group, *size[file.dataset])
        for file in chosen.values()
        if not local or (home / file.path).exists()
    ]
    return tables + _own_tables([Path(name) for name in own])


def tables_at_hand(names):
    """Return the tables of some names, all if none, whose files are here.

    For commands: what is wrong with the names is told to the user.
    """
    try:
        tables = choose_tables(names or ["tabular"], local=True)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if not tables:
        raise typer.BadParameter("no such data here; set SKIM_DATA_HOME to its folder.")
    return tables


def _own_tables(paths):
    tables = {}
    for path in paths:
        X, _ = load_npz(path)
        if path.stem in tables:
            raise ValueError(f"two files are called {path.stem}; rename one of them")
        # By its content as well: a file that has changed is another table.
        content = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
        file = f"{path.stem}@{content}"
        tables[path.stem] = Table(file, path.stem, "own", *X.shape, str(path.resolve()))
    return list(tables.values())


def _files(name):
    if name == "all":
        return adbench_files()
    if name.isdecimal():
        return adbench_files(dataset_of(int(name)))
    if name.lower() in [group.lower() for group in group_names()]:
        return adbench_files(name)
    try:
        return [find_adbench(name)]
    except ValueError:
        names = ["all", *group_names(), *list_adbench()]
        raise ValueError(
            f"There is no data set or group {name!r}. {nearest(name, names)}"
        ) from None


def adbench(
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="A data set, its number, or a group: tabular, image, text, "
            "image-vit, text-roberta, all; or an .npz file of your own with arrays "
            "X and y (1 for outliers). May be given several times."
        ),
    ] = None,
    detector: Annotated[
        list[str] | None,
        typer.Option(
            help="A detector, 'skim', 'pyod', or package.module:Class for one of "
            "your own. May be given several times."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 3,
    jobs: Annotated[int, typer.Option(min=1, help="Tasks at a time.")] = 1,
    threads: Annotated[int, typer.Option(min=1, help="Threads of a task.")] = 1,
    timeout: Annotated[
        float,
        typer.Option(
            min=0,
            help="Processor seconds a thread after which a task is ended; 0: never.",
        ),
    ] = 600,
    memory: Annotated[
        float,
        typer.Option(min=0, help="Gigabytes beyond which a task is ended; 0: never."),
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
    """Measure detectors on ADBench, as many seeds each, and keep every result.

    All rows are trained on and scored; labels only serve the metrics. Results are
    added to results.jsonl in the output folder. The same command, given again
    after a run was ended in whatever way, goes on where it stopped.
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
    except (ValueError, OSError) as error:
        if plan is None:
            raise typer.BadParameter(str(error)) from error
        _stop(console, store, 1, error)
    except RuntimeError as error:
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
    kept = f"{store.path} has what is done; the same command goes on."
    console.print(f"Stopped{why}. {kept}", markup=False, highlight=False)
    raise typer.Exit(code) from error


def _check(detector):
    """Say early, and whose fault it is, if a detector cannot be made."""
    try:
        detector.build(seed=0)
    except Exception as error:  # whatever a module of the user's own raises
        what = f"{detector.name} ({detector.path})"
        raise ValueError(f"{what} cannot be made: {error}") from error


def watch(plan, records, console):
    """Show progress, weighing each task by how long it may take."""
    weights = {key(task): plan.expected_seconds(task) for task in plan.todo}
    counts: Counter = Counter()
    errors: Counter = Counter()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[done]} of {task.fields[n]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    # Tasks may take minutes, so the speed is that of the whole run.
    options = {"refresh_per_second": 2, "speed_estimate_period": float("inf")}
    told = console.get_time()
    with Progress(*columns, console=console, **options) as progress:
        total = sum(weights.values())
        bar = progress.add_task("Measuring", total=total, done=0, n=len(weights))
        for record in records:
            counts[record["status"]] += 1
            if record["status"] != "ok":
                name, status = record["detector"], record["status"]
                errors[f"{name}: {status}: {record['error']}"] += 1
            failed = counts.total() - counts["ok"]
            progress.update(
                bar,
                advance=weights[key(record)],
                done=counts.total(),
                description=f"{record['detector']} on {record['file']}"
                + (f" ({failed} failed)" if failed else ""),
            )
            if not console.is_terminal and console.get_time() - told >= LINE_SECONDS:
                told = console.get_time()
                console.print(_line(progress.tasks[0]), highlight=False)
    for error, n in errors.most_common(MAX_ERRORS):
        console.print(f"{n} × {error}", markup=False, highlight=False)
    if len(errors) > MAX_ERRORS:
        console.print(f"... and {len(errors) - MAX_ERRORS} other errors")
    return counts


def _line(task):
    left = task.time_remaining
    more = "" if left is None else f", {timedelta(seconds=left)} left"
    return f"{task.fields['done']} of {task.fields['n']}{more}"
