"""Absurd cells, gaps, thresholds and expected values: how well the detector judges."""

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from benchmarks._shared.options import some_of
from benchmarks._shared.processes import run_code
from benchmarks._shared.results import Runs
from benchmarks.judgement import _measures as measures
from benchmarks.judgement import _timing as timing
from benchmarks.judgement._tables import Table, first_of_sources, tables_of

# Of each part: its function, the columns of its results, and whether versions without
# missing values and reasons can be measured too.
PARTS = {
    "cells": (measures.cells, measures.CELLS, True),
    "labelled": (measures.labelled, measures.LABELLED, True),
    "clean": (measures.clean, measures.CLEAN, True),
    "seeds": (measures.seeds, measures.CLEAN, True),
    "gaps": (measures.gaps, measures.GAP_VALUES, False),
    "expected": (measures.expected, measures.EXPECTED, False),
    "planting": (measures.planting, measures.PLANTING, True),
}
TIMING = "time"
TIMED = ("cardio", "shuttle", "made")
REPEATS = 3
KEY = ("version", "table", "family", "source")

# The package is imported from the folder first; then this study uses it.
OTHER_VERSION = """
import importlib, json, sys
folder, module, name, arguments = json.loads(sys.argv[1])
sys.path.insert(0, folder)
import skim
sys.path.remove(folder)
print(json.dumps(getattr(importlib.import_module(module), name)(*arguments)))
"""


def with_version(folder, function, *arguments):
    """Call a function in a new process, with the package in a folder, or with ours."""
    folder = os.fspath(Path.cwd() if folder is None else Path(folder).resolve())
    call = [folder, function.__module__, function.__name__, arguments]
    return json.loads(run_code(OTHER_VERSION, json.dumps(call)))


def complete(part, version, tables, output):
    """Measure what is not in the results of a part yet; return how many lines it has.

    Parameters
    ----------
    part : str
    version : {"before", "now"}
    tables : list of Table
    output : str
        The folder of the results.
    """
    measure, columns, _ = PARTS[part]
    tables = [Table(*table) for table in tables]
    by_name = {table.name: table for table in tables}
    runs = Runs(Path(output) / f"{part}.csv", KEY, columns)
    tasks = [(version, *table[:3]) for table in tables]
    return len(runs.complete(tasks, lambda task: measure(by_name[task[1]])))


def complete_times(before, output):
    """Time fits of both versions, one after the other, each in its own process."""
    key, values = ("version", "table", "run"), ("seconds", "verdict_seconds")
    versions = {"now": None} if before is None else {"before": before, "now": None}

    def run(task):
        version, table, _ = task
        return [with_version(versions[version], timing.time_fit, table)]

    tasks = [(v, name, i) for name in TIMED for i in range(REPEATS) for v in versions]
    Runs(output / f"{TIMING}.csv", key, values).complete(tasks, run)


def judgement(
    keel: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            file_okay=False,
            envvar="SKIM_KEEL_HOME",
            help="Folder of KEEL's tasks; left out by default.",
        ),
    ] = None,
    part: some_of((*PARTS, TIMING)) = None,
    before: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            file_okay=False,
            help="A checkout of an earlier version, to be measured too.",
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="A table such as sklearn/iris, may be repeated; default all."
        ),
    ] = None,
    every: Annotated[
        int | None,
        typer.Option(min=1, help="Only one table of every so many sources."),
    ] = None,
    output: Annotated[
        Path, typer.Option(help="Folder; what is in it is not measured again.")
    ] = Path("judgement"),
):
    """Measure absurd cells, thresholds, gaps, expected values and time.

    SKIM_DATA_HOME names the folder of ADBench's data.
    """
    from benchmarks.judgement._summary import report

    tables = tables_of(keel)
    names = [table.name for table in tables]
    for name in data or ():
        if name not in names:
            raise typer.BadParameter(f"{name!r} is not one of {', '.join(names)}.")
    tables = [table for table in tables if not data or table.name in data]
    if every is not None:
        tables = first_of_sources(tables)[::every]
    for each in part:
        if each == TIMING:
            complete_times(before, output)
            continue
        arguments = [list(table) for table in tables], os.fspath(output.resolve())
        if before is not None and PARTS[each][2]:
            with_version(before, complete, each, "before", *arguments)
        complete(each, "now", *arguments)
    report(output)
