"""The report on a run of adbench: tables as CSV, and pictures."""

from pathlib import Path
from typing import Annotated

import typer

from benchmarks._shared.measure import METRICS
from benchmarks._shared.results import save_svg
from benchmarks._shared.tables import unknown
from benchmarks.report._compare import compare_with_published
from benchmarks.report._summary import REFERENCE, Summary

__all__ = ["Summary", "compare_with_published", "report"]


def report(
    results: Annotated[
        Path, typer.Argument(help="Folder or results.jsonl of a run of adbench.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            help="Folder to write to; by default 'report' beside the results."
        ),
    ] = None,
    reference: Annotated[
        str, typer.Option(help="The detector that the others are compared with.")
    ] = REFERENCE,
):
    """Summarise the results of adbench as tables and pictures."""
    from benchmarks.report._figures import figures

    folder = output or (results if results.is_dir() else results.parent) / "report"
    try:
        summary = Summary.read(results, reference)
        if reference not in summary.families:
            raise unknown(reference, list(summary.families))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    folder.mkdir(parents=True, exist_ok=True)
    tables = {
        "averages": summary.averages,
        "summary": summary.brief(),
        "embeddings": summary.embeddings(),
        "results": summary.results,
        "failures": summary.failures,
        "duels": summary.duels(),
    }
    for metric in METRICS:
        tables[f"{summary.group}_{metric}"] = summary.table(metric).reset_index()
        tables[f"published_{metric}"] = compare_with_published(summary.results, metric)
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, float_format="%.4f")
    for name, figure in figures(summary).items():
        save_svg(figure, folder / f"{name}.svg")
    typer.echo(f"Report written to {folder}")
