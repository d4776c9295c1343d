"""How accurate ALTBI is, beside IsolationForest and kNN, on ADBench and KEEL."""

from pathlib import Path
from typing import Annotated

import typer

from benchmarks._shared.detectors import Detector, choose
from benchmarks._shared.options import Seeds
from benchmarks._shared.results import Store, last_settings, print_table
from benchmarks._shared.tables import TABLES, choose_tables
from benchmarks._shared.tasks import run_tasks
from benchmarks.accuracy import _summary as summary
from benchmarks.accuracy._references import REFERENCES

DEFAULT = Detector("default", "skim:ALTBIDetector", {}, "skim")


def accuracy(
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="A table of ADBench, 'keel', or a family or task of it such as "
            "keel/glass; may be repeated. All local tables and tasks by default."
        ),
    ] = None,
    detector: Annotated[
        list[str] | None,
        typer.Option(help="A variant to compare, NAME=package.module:Class."),
    ] = None,
    seeds: Seeds = 3,
    jobs: Annotated[int, typer.Option(min=1, help="Fits at a time.")] = 1,
    output: Annotated[
        Path, typer.Option(help="Folder; runs that are in it are not repeated.")
    ] = Path("accuracy"),
):
    """Compare ALTBI with IsolationForest and kNN, and variants of it with its default.

    Labels only serve the comparison. SKIM_DATA_HOME names the folder of ADBench's data,
    SKIM_KEEL_HOME that of KEEL's tasks, which are made there if it has none.
    """
    try:
        tables = _tables(data)
        variants = choose(detector or ())
    except (ValueError, OSError, ImportError) as error:
        raise typer.BadParameter(str(error)) from None
    store = Store(output / "results.jsonl")
    for record in run_tasks(
        store, tables, [DEFAULT, *REFERENCES, *variants], seeds, jobs=jobs
    ):
        if record["status"] != "ok":
            typer.echo(f"{record['detector']} on {record['file']}: {record['error']}")
    names = [variant.name for variant in variants]
    for name, table in summaries(store.read(), names).items():
        table.to_csv(output / f"{name}.csv", index=False)
        print_table(table.columns, table.itertuples(index=False), name)


def _tables(names):
    """Return the tables of the study that are here, making KEEL's tasks."""
    names = names or [*TABLES, "keel"]
    keel = [name for name in names if name.split("/")[0] == "keel"]
    others = [name for name in names if name not in keel]
    tables = choose_tables(others, local=True) + choose_tables(keel)
    if any(table.group not in ("tabular", "keel") for table in tables):
        raise ValueError("only tables of ADBench and tasks of KEEL take part.")
    if not tables:
        raise ValueError("no such data here; set SKIM_DATA_HOME to its folder.")
    return tables


def summaries(records, variants=()):
    """Return the tables of the study by their names."""
    results = last_settings(records)
    results = results[results["group"].isin(["tabular", "keel"])]
    expected, gains = summary.against(results, DEFAULT.name)
    found = {
        "expected": expected,
        "gains": gains,
        "by_source": summary.by_source(results, DEFAULT.name),
        "variants": summary.differences(results, variants, DEFAULT.name),
        "time": summary.times(results, DEFAULT.name),
    }
    return {name: table for name, table in found.items() if len(table)}
