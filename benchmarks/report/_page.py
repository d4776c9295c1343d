"""Write the report: one page of HTML, tables as CSV, pictures as SVG and PNG."""

import base64
import io
from pathlib import Path
from typing import Annotated

import typer
from jinja2 import Environment, PackageLoader

from benchmarks.detectors import DEEP, DETECTORS
from benchmarks.report._compare import compare_with_published
from benchmarks.report._figures import figures
from benchmarks.report._summary import METRICS, REFERENCE, Summary

CAPTIONS = {
    "averages": "Means over the tabular sets, of the detectors that finished all of "
    "them. Hatched bars are published values of methods that were not run.",
    "critical_difference": "Mean ranks over the tabular sets, best to the left. A bar "
    "joins detectors whose ranks the data cannot tell apart.",
    "accuracy_and_time": "Accuracy against time. Up and to the left is better.",
    "time_and_size": "Time against the size of the data; medians of half powers of "
    "ten.",
    "embeddings": "Embeddings of images and texts.",
    "ablation": "The original method, with the EMA warm-up, and skim's default.",
}


def report(
    results: Annotated[
        Path, typer.Argument(help="Folder or results.jsonl of a benchmark.")
    ],
    output: Annotated[
        Path | None, typer.Option(help="Folder to write to; by default beside it.")
    ] = None,
):
    """Write what the results of a benchmark say, as HTML, CSV and pictures."""
    folder = results if results.is_dir() else results.parent
    try:
        page = write_report(Summary.read(results), output or folder / "report")
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    typer.echo(f"Report written to {page}")


def write_report(summary, folder):
    """Write a report.

    Parameters
    ----------
    summary : Summary
    folder : Path

    Returns
    -------
    page : Path
        The page of HTML, which needs no other file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tables = _write_tables(summary, folder)
    pictures = []
    for name, figure in figures(summary).items():
        for suffix in ("svg", "png"):
            metadata = {"Date": None} if suffix == "svg" else None
            figure.savefig(folder / f"{name}.{suffix}", dpi=150, metadata=metadata)
        stream = io.BytesIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
        data = base64.b64encode(stream.getvalue()).decode()
        pictures.append({"name": name, "data": data, "caption": CAPTIONS[name]})
    environment = Environment(
        loader=PackageLoader("benchmarks.report", "templates"), autoescape=True
    )
    html = environment.get_template("report.html").render(
        findings=findings(summary),
        averages=summary.averages.to_dict("records"),
        reference=REFERENCE,
        pictures=pictures,
        comparisons={metric: _cells(tables[metric]) for metric in METRICS},
        failures=summary.failures.to_dict("records"),
        duels=summary.duels().to_dict("records"),
    )
    page = folder / "report.html"
    page.write_text(html, encoding="utf-8")
    return page


def _write_tables(summary, folder):
    summary.averages.to_csv(folder / "averages.csv", index=False, float_format="%.5f")
    summary.results.to_csv(folder / "results.csv", index=False, float_format="%.5f")
    summary.failures.to_csv(folder / "failures.csv", index=False)
    comparisons = {}
    for metric in METRICS:
        table = summary.table(metric)
        table.to_csv(folder / f"tabular_{metric}.csv", float_format="%.4f")
        comparison = compare_with_published(summary.results, metric)
        path = folder / f"published_{metric}.csv"
        comparison.to_csv(path, index=False, float_format="%.4f")
        comparisons[metric] = comparison
    return comparisons


def _cells(comparison):
    """Arrange a comparison as rows of data sets and columns of detectors."""
    detectors = sorted(comparison["detector"].unique(), key=_order)
    rows = []
    for (dataset, group), mine in comparison.groupby(["dataset", "group"], sort=False):
        by_detector = mine.set_index("detector").to_dict("index")
        cells = [by_detector.get(name) for name in detectors]
        rows.append({"dataset": dataset, "group": group, "cells": cells})
    return {"detectors": detectors, "rows": rows}


def _order(name):
    return list(DETECTORS).index(name) if name in DETECTORS else len(DETECTORS)


def findings(summary):
    """Say in sentences where the default ALTBI stands."""
    averages = summary.averages
    if REFERENCE not in set(averages["detector"]):
        return []
    complete = averages[averages["complete"]]
    measured = complete[complete["family"] != "published"]
    mine = averages.set_index("detector").loc[REFERENCE]
    sentences = []
    if mine["complete"]:
        for metric in METRICS:
            place = 1 + int((measured[metric] > mine[metric]).sum())
            overall = 1 + int((complete[metric] > mine[metric]).sum())
            sentences.append(
                f"By mean {metric.upper()} over {mine['n_sets']} tables, {REFERENCE} "
                f"({mine[metric]:.4f}) is number {place} of the {len(measured)} "
                f"detectors measured on all of them, and number {overall} of "
                f"{len(complete)} with the published ones."
            )
    sentences += _incomplete(averages[~averages["complete"]])
    deep = averages[averages["detector"].isin(DEEP)].dropna(subset="median_seconds")
    if len(deep) and mine["median_seconds"] > 0:
        ratios = deep.set_index("detector")["median_seconds"] / mine["median_seconds"]
        told = ", ".join(f"{name} {ratio:.1f}" for name, ratio in ratios.items())
        sentences.append(
            f"The median time of {REFERENCE} on a table is "
            f"{mine['median_seconds']:.1f} s. PyOD's deep models take so many times "
            f"as long: {told}."
        )
    duels = summary.duels()
    worst = duels[duels["detector"].isin(measured["detector"])]
    if len(worst):
        closest = worst.iloc[0]
        sentences.append(
            f"Closest is {closest['detector']}: {REFERENCE} is better on "
            f"{closest['wins']} tables, equal on {closest['ties']} and worse on "
            f"{closest['losses']}."
        )
    gaps = _largest_losses(summary)
    if gaps:
        sentences.append(f"{REFERENCE} loses most to the best measured on {gaps}.")
    return sentences


def _incomplete(rows):
    for row in rows.itertuples():
        yield (
            f"{row.detector} has results on {row.n_sets} tables only: AUROC "
            f"{row.auroc:.4f}, where {REFERENCE} has {row.reference_auroc:.4f} on the "
            "same ones."
        )


def _largest_losses(summary, n=5):
    results = summary.results[summary.results["group"] == summary.group]
    best = results.loc[results.groupby("dataset")["auroc"].idxmax()]
    best = best.set_index("dataset")
    mine = results[results["detector"] == REFERENCE].set_index("dataset")["auroc"]
    gap = (best["auroc"] - mine).dropna().nlargest(n)
    return ", ".join(
        f"{name} ({mine[name]:.3f}, {best.loc[name, 'detector']} "
        f"{best.loc[name, 'auroc']:.3f})"
        for name in gap.index[gap > 0]
    )
