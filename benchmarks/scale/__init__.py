"""Time, memory and accuracy on tables of any size, in memory and out of core."""

import os
from pathlib import Path
from typing import Annotated

import typer

from benchmarks._shared.options import some_of
from benchmarks._shared.processes import in_process
from benchmarks._shared.results import Runs, print_table
from benchmarks.scale import _steps

STEPS = ("memory", "parquet", "workers", "accuracy", "killed")
TABLES = ("cover", "http", "donors", "shuttle")
RESULTS = Path("benchmarks/results/scale/results.csv")

Steps = some_of(STEPS)
Data = some_of(TABLES)


def scale(
    step: Steps = None,
    data: Data = None,
    rows: Annotated[
        list[int] | None,
        typer.Option(help="Rows of a table in memory; may be repeated."),
    ] = None,
    parquet_rows: Annotated[
        int, typer.Option(min=100, help="Rows of the table in Parquet files.")
    ] = 100_000_000,
    part_rows: Annotated[
        int, typer.Option(min=10, help="Rows of each Parquet file.")
    ] = 1_000_000,
    columns: Annotated[int, typer.Option(min=2, help="Number of columns.")] = 10,
    sample: Annotated[
        int, typer.Option(min=10, help="Rows to train on, in the step accuracy.")
    ] = 200_000,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of that step.")] = 3,
    tries: Annotated[int, typer.Option(min=1, help="Workers to kill.")] = 10,
    folder: Annotated[
        Path, typer.Option(help="Where to make the data, of which 1e8 rows are 5 GB.")
    ] = Path("scale-data"),
    output: Annotated[Path, typer.Option(help="Table of the results.")] = RESULTS,
):
    """Measure fits and scores of large tables, out of core as well.

    The steps `workers` and `killed` use a tenth of the Parquet files. Results that are
    in the output are not measured again.
    """
    if set(step) != {"memory"}:
        import distributed  # noqa: F401  (before processes are started that need it)
    place = str(folder.resolve())
    few = max(parquet_rows // 10 // part_rows, 4) * part_rows
    tasks = {
        "memory": [(n, columns) for n in rows or (1_000_000, 5_000_000)],
        "parquet": [(place, parquet_rows, columns, part_rows)],
        "workers": [(place, few, columns, part_rows)],
        "accuracy": [(name, sample, seed) for name in data for seed in range(seeds)],
        "killed": [(place, few, columns, part_rows, tries)],
    }
    functions = {
        "memory": _steps.fit_in_memory,
        "parquet": _steps.parquet_on_threads,
        "workers": _steps.workers,
        "accuracy": _steps.accuracy,
        "killed": _steps.killed,
    }
    runs = Runs(output, ("step", "what"), ("quantity", "unit", "value", "load"))
    calls = {
        (name, _label(name, arguments)): (functions[name], arguments)
        for name in step
        for arguments in tasks[name]
    }

    def measure(task):
        function, arguments = calls[task]
        load = os.getloadavg()[0]  # other processes make all of it slower
        found = in_process(function, *arguments)
        return [(*line, load) for line in found]

    found = runs.complete(calls, measure)
    shown = found[[*found.columns[:-1]]].itertuples(index=False, name=None)
    print_table(found.columns[:-1], shown, digits=".5g")


def _label(step, arguments):
    """Return the size of a task, or its table and seed."""
    if step == "accuracy":
        name, n_rows, seed = arguments
        return f"{name} of {n_rows} rows seed {seed}"
    if step == "memory":
        return "{} x {}".format(*arguments)
    return "{} x {}".format(*arguments[1:3])
