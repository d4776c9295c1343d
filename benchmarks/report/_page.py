"""Write the report: an HTML page, tables as CSV, pictures as SVG and PNG."""

import base64
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from jinja2 import Environment, PackageLoader

from benchmarks._shared.detectors import DEEP, DETECTORS
from benchmarks._shared.results import save_svg
from benchmarks.report._ablation import ablation
from benchmarks.report._compare import compare_with_published
from benchmarks.report._figures import figures
from benchmarks.report._summary import REFERENCE, Summary
from benchmarks.tabpfn import read_embedded
from skim.datasets._adbench import nearest
from skim.datasets._published import METRICS

CAPTIONS = {
    "averages": "Means of the detectors with a result on every set. Hatched bars are "
    "published values of baselines that were not run.",
    "critical_difference": "Mean ranks of the detectors that were run, best to the "
    "left. A bar joins those whose ranks the data cannot tell apart.",
    "accuracy_and_time": "Accuracy against time. Up and to the left is better.",
    "time_and_size": "Time against the size of the data; medians of half powers of "
    "ten. Tasks that ran out of time are not shown.",
    "embeddings": "The other data sets, by AUROC; only detectors with a result on "
    "every part that was run.",
    "ablation": "The original methods, with the EMA warm-up, with TabPFN's embeddings "
    "of some tables as well, and skim's defaults. Bars are missing where nothing was "
    "run or published.",
}


def report(
    results: Annotated[
        Path, typer.Argument(help="Folder or results.jsonl of a benchmark.")
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
    embedded: Annotated[
        Path | None,
        typer.Option(
            help="What 'python -m benchmarks tabpfn' wrote, for the ablation.",
        ),
    ] = None,
):
    """Summarise the results of a benchmark as HTML, CSV and pictures."""
    folder = results if results.is_dir() else results.parent
    try:
        summary = Summary.read(results, reference)
        if reference not in summary.families and reference != REFERENCE:
            near = nearest(reference, list(summary.families))
            raise ValueError(f"There is no result of {reference!r}. {near}")
        known = None if embedded is None else read_embedded(embedded)
        page = write_report(summary, output or folder / "report", embedded=known)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    typer.echo(f"Report written to {page}")


def write_report(summary, folder, *, embedded=None):
    """Write a report and return the path of its self-contained HTML page.

    `embedded` has the AUROC of embedded tables by method, for the ablation.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in CAPTIONS:
        for suffix in ("csv", "svg", "png"):
            (folder / f"{name}.{suffix}").unlink(missing_ok=True)
    steps = ablation(summary, embedded)
    tables = _write_tables(summary, steps, folder)
    pictures = []
    for name, figure in figures(summary, steps).items():
        svg = folder / f"{name}.svg"
        save_svg(figure, svg)
        figure.savefig(svg.with_suffix(".png"), dpi=150)
        data = base64.b64encode(svg.read_bytes()).decode()
        pictures.append({"name": name, "data": data, "caption": CAPTIONS[name]})
    environment = Environment(
        loader=PackageLoader("benchmarks.report", "templates"), autoescape=True
    )
    html = environment.get_template("report.html").render(
        findings=findings(summary),
        averages=summary.averages.to_dict("records"),
        group_name=summary.group_name,
        left_out=summary.left_out,
        reference=summary.reference,
        has_reference=summary.reference in summary.families,
        pictures=pictures,
        replaced=summary.replaced,
        comparisons={
            metric: _cells(summary.results, tables[metric], metric)
            for metric in METRICS
        },
        failures=summary.failures.to_dict("records"),
        duels=summary.duels().to_dict("records"),
    )
    page = folder / "report.html"
    page.write_text(html, encoding="utf-8")
    return page


def _write_tables(summary, steps, folder):
    summary.averages.to_csv(folder / "averages.csv", index=False, float_format="%.5f")
    summary.results.to_csv(folder / "results.csv", index=False, float_format="%.5f")
    summary.failures.to_csv(folder / "failures.csv", index=False)
    if not steps.empty:
        steps.to_csv(folder / "ablation.csv", index=False, float_format="%.5f")
    comparisons = {}
    for metric in METRICS:
        table = summary.table(metric)
        table.to_csv(folder / f"{summary.group}_{metric}.csv", float_format="%.4f")
        comparison = compare_with_published(summary.results, metric)
        path = folder / f"published_{metric}.csv"
        comparison.to_csv(path, index=False, float_format="%.4f")
        comparisons[metric] = comparison
    return comparisons


def _cells(results, comparison, metric):
    """Arrange results as rows of data sets and columns of detectors."""
    names = ["title", "group", "detector"]
    titles = comparison.merge(results[["dataset", "group", "detector", "title"]])
    differences = titles.set_index(names)["difference"].to_dict()
    detectors = sorted(results["detector"].unique(), key=_order)
    rows = []
    for (title, group), mine in results.groupby(["title", "group"], sort=False):
        by_detector = mine.set_index("detector").to_dict("index")
        cells = [
            name in by_detector
            and {
                "measured": by_detector[name][metric],
                "difference": differences.get((title, group, name)),
                "parts": by_detector[name]["parts"],
                "seeds": by_detector[name]["seeds"],
            }
            for name in detectors
        ]
        rows.append({"title": title, "cells": cells})
    return {"detectors": detectors, "rows": rows}


def _order(name):
    return list(DETECTORS).index(name) if name in DETECTORS else len(DETECTORS)


def findings(summary):
    """Return sentences on where the reference stands."""
    reference = summary.reference
    averages = summary.averages
    if reference not in set(averages["detector"]):
        return []
    complete = averages[averages["complete"]]
    measured = complete[complete["family"] != "published"]
    mine = averages.set_index("detector").loc[reference]
    sentences = []
    if mine["complete"]:
        for metric in METRICS:
            place = 1 + int((measured[metric] > mine[metric]).sum())
            sentences.append(
                f"By mean {metric.upper()} over {mine['n_sets']} {summary.group_name}, "
                f"{reference} ({mine[metric]:.4f}) is number {place} of the "
                f"{len(measured)} detectors with a result on all of them."
            )
            if summary.published:
                best = complete[complete["family"] == "published"]
                best = best.loc[best[metric].idxmax()]
                sentences.append(
                    f"The best of the {len(summary.published)} baselines known only "
                    f"from their published {metric.upper()} is {best['detector']}, "
                    f"with {best[metric]:.3f}."
                )
    sentences += _incomplete(averages[~averages["complete"]], reference)
    sentences += _ratios(summary)
    duels = summary.duels()
    rivals = duels[duels["detector"].isin(measured["detector"])]
    if len(rivals):
        rival = rivals.iloc[0]
        sentences.append(
            f"The strongest rival is {rival['detector']}: {reference} is better on "
            f"{rival['wins']} sets, equal on {rival['ties']} and worse on "
            f"{rival['losses']}."
        )
    if losses := _largest_losses(summary):
        sentences.append(
            f"{reference} is furthest behind the best measured detector on {losses}."
        )
    return sentences


def _incomplete(rows, reference):
    for row in rows.itertuples():
        beside = (
            f", where {reference} has {row.reference_auroc:.4f} on the same ones"
            if row.detector != reference and not np.isnan(row.reference_auroc)
            else ""
        )
        yield (
            f"{row.detector} has results on only {row.n_sets} sets: AUROC "
            f"{row.auroc:.4f}{beside}."
        )


def _ratios(summary):
    """Compare median times, each on the files that both were tried on."""
    reference = summary.reference
    mine = summary.seconds(reference)
    told = []
    for name in DEEP:
        theirs = summary.seconds(name)
        common = mine.index.intersection(theirs.index)
        if len(common):
            ratio = theirs[common].median() / mine[common].median()
            told.append(f"{name} {ratio:.1f} times ({len(common)} sets)")
    if told:
        yield (
            f"The median time of {reference} is {mine.median():.1f} s. PyOD's deep "
            f"models take, on the same sets: {', '.join(told)}."
        )


def _largest_losses(summary, n=5):
    reference = summary.reference
    results = summary.results[summary.results["group"] == summary.group]
    best = results.loc[results.groupby("dataset")["auroc"].idxmax()]
    best = best.set_index("dataset")
    mine = results[results["detector"] == reference].set_index("dataset")["auroc"]
    gap = (best["auroc"] - mine).dropna().nlargest(n)
    return ", ".join(
        f"{name} ({mine[name]:.3f}, {best.loc[name, 'detector']} "
        f"{best.loc[name, 'auroc']:.3f})"
        for name in gap.index[gap > 0]
    )
