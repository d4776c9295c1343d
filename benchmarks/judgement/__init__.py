"""Absurd cells, gaps, thresholds and expected values: how well the detector judges."""

from pathlib import Path
from typing import Annotated

import typer

from benchmarks._shared.options import some_of
from benchmarks._shared.results import Runs, print_table
from benchmarks.judgement import _measures as measures
from benchmarks.judgement._summary import figures
from benchmarks.judgement._tables import first_of_sources, tables_of

# Of each part: its function, and the columns of its results.
PARTS = {
    "cells": (measures.cells, measures.CELLS),
    "labelled": (measures.labelled, measures.LABELLED),
    "clean": (measures.clean, measures.CLEAN),
    "seeds": (measures.seeds, measures.CLEAN),
    "gaps": (measures.gaps, measures.GAP_VALUES),
    "expected": (measures.expected, measures.EXPECTED),
    "planting": (measures.planting, measures.PLANTING),
}
KEY = ("table", "family", "source")


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
    part: some_of(tuple(PARTS)) = None,
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
    """Measure absurd cells, thresholds, gaps and expected values.

    SKIM_DATA_HOME names the folder of ADBench's data.
    """
    tables = tables_of(keel)
    names = [table.name for table in tables]
    for name in data or ():
        if name not in names:
            raise typer.BadParameter(f"{name!r} is not one of {', '.join(names)}.")
    tables = [table for table in tables if not data or table.name in data]
    if every is not None:
        tables = first_of_sources(tables)[::every]
    by_name = {table.name: table for table in tables}
    for each in part:
        measure, columns = PARTS[each]
        Runs(output / f"{each}.csv", KEY, columns).complete(
            [table[:3] for table in tables],
            lambda task, measure=measure: measure(by_name[task[0]]),
        )
    summary = figures(output)
    summary.to_csv(output / "summary.csv", index=False, float_format="%.4g")
    print_table(summary.columns, summary.itertuples(index=False), digits=".4f")
