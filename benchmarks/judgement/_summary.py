"""From the results on all tables to one table of figures beside their aims."""

from functools import partial

import numpy as np
import pandas as pd

from benchmarks._shared.sources import HALVES, half_of
from benchmarks.judgement._measures import KINDS, PLANTED, SHARES

COLUMNS = ("quantity", "all", "half 1", "half 2", "aim")
FACTOR = 1.5  # by which flagged shares may differ from planted ones


def by_family(frame, column):
    """Return the mean over families of a column's mean over their tables."""
    return frame.groupby("family")[column].mean().mean()


def mean(column):
    """Return the function that averages a column by family."""
    return partial(by_family, column=column)


def figures(folder):
    """Return all figures of a folder of results, on all sources and on both halves."""
    frames = {
        part: pd.read_csv(folder / f"{part}.csv")
        for part in PARTS
        if (folder / f"{part}.csv").exists()
    }
    rows = []
    for part, found in frames.items():
        for quantity, aim, frame, figure in PARTS[part](found, frames):
            half = frame["source"].map(half_of)
            parts = frame, *(frame[half == each] for each in HALVES)
            values = [figure(each) if len(each) else np.nan for each in parts]
            rows.append([quantity, *values, aim])
    return pd.DataFrame(rows, columns=COLUMNS)


def _cells(frame, frames):
    aims = {10: ".92", 30: ".97", 1000: ".999"}
    for where in ("training", "new"):
        for k, aim in aims.items():
            own = frame[(frame["where"] == where) & (frame["sd"] == k)]
            name = f"cell at {k} sd, {where} rows"
            yield f"{name}: AUROC", aim, own, mean("auroc")
            wanted = ".90" if k >= 30 else ""
            yield f"{name}: share flagged", wanted, own, mean("flagged")
            yield f"{name}: first in reasons", ".95", own, mean("by_reasons")
            yield f"{name}: first in explain", "", own, mean("by_explain")


def _labelled(frame, frames):
    frame = frame.dropna(subset=["auroc"])
    yield "AUROC", "", frame, mean("auroc")
    yield "AUPRC", "", frame, mean("auprc")
    yield "F1 of the verdict", "", frame, mean("f1")
    yield "F1 of the best threshold", "", frame, mean("best_f1")

    def relative(each):
        return by_family(each, "f1") / by_family(each, "best_f1")

    yield "F1 / best F1", ".60", frame, relative
    if "clean" in frames:
        flagged = by_family(frames["clean"], "flagged")

        def constant(each):
            at = [by_family(each, f"f1_at_{share:g}") for share in SHARES]
            return float(np.interp(flagged, SHARES, at))

        name = "F1 of the constant share that flags as much of clean data"
        yield name, "", frame, constant


def _clean(frame, frames):
    yield "flagged of clean data, mean", ".03", frame, mean("flagged")
    name = "flagged of clean data, 90th percentile"
    yield name, ".06", frame, lambda each: each["flagged"].quantile(0.9)
    if "seeds" in frames:
        repeated = frames["seeds"].dropna(subset=["flagged"])
        is_repeated = frame["table"].isin(repeated["table"])
        every = pd.concat([repeated, frame[is_repeated]])

        def deviation(each):
            own = each.groupby(["family", "table"])["flagged"].std()
            return by_family(own.reset_index(), "flagged")

        yield "its standard deviation over seeds", ".01", every, deviation


def _planting(frame, frames):
    shares = np.array(PLANTED)
    nearest = np.abs(frame["planted"].to_numpy()[:, None] - shares).argmin(axis=1)
    ratio = frame["flagged"] / frame["planted"]
    near = ratio.between(1 / FACTOR, FACTOR).astype(float)
    frame = frame.assign(about=shares[nearest], ratio=ratio, near=near)
    for kind in KINDS:
        for share in PLANTED:
            own = frame[(frame["kind"] == kind) & (frame["about"] == share)]
            name = f"{share:.0%} planted, {kind}"
            yield f"{name}: flagged", "", own, mean("flagged")
            title = f"{name}: flagged / planted, median"
            yield title, "1/1.5 to 1.5", own, lambda each: each["ratio"].median()
            title = f"{name}: tables within a factor of 1.5"
            yield title, "", own, lambda each: each["near"].mean()
            yield f"{name}: planted rows flagged", "", own, mean("found")


def _gaps(frame, frames):
    for share, own in frame.groupby("gaps"):
        known = own.dropna(subset=["ours_lost"])
        name = f"{share:.0%} of the cells missing"
        aim = f"{by_family(known, 'forest_lost'):.3f} (IsolationForest)"
        yield f"{name}: AUROC lost", aim, known, mean("ours_lost")
        title = f"{name}: AUROC lost by IsolationForest"
        yield title, "", known, mean("forest_lost")
        title = f"{name}: rank correlation of loss and gaps"
        yield title, "-.05 to .05", own, mean("correlation")
        title = f"{name}: its largest size in a table"
        yield title, "", own, lambda each: each["correlation"].abs().max()


def _expected(frame, frames):
    for where, own in frame.dropna(subset=["error"]).groupby("where", sort=False):
        name = f"expected values, {where} rows"
        aim = f"{by_family(own, 'imputer_error'):.3f} (imputer)"
        for column, label, wanted in (
            ("error", "mean error in sd", aim),
            ("imputer_error", "mean error of the imputer", ""),
            ("median_error", "median error in sd", ""),
            ("imputer_median_error", "median error of the imputer", ""),
            ("covered", "true values of spoilt cells in their range", ".85 to .95"),
            ("covered_usual", "untouched cells in their range", ".85 to .95"),
        ):
            yield f"{name}: {label}", wanted, own, mean(column)
        own = own.assign(ratio=own["error"] / own["imputer_error"])
        title = f"{name}: error / imputer's, median of tables"
        yield title, "1", own, lambda each: each["ratio"].median()
        title = f"{name}: tables with no larger error"
        yield title, "", own, lambda each: (each["ratio"] <= 1).mean()


PARTS = {
    "cells": _cells,
    "labelled": _labelled,
    "clean": _clean,
    "seeds": lambda frame, frames: (),
    "planting": _planting,
    "gaps": _gaps,
    "expected": _expected,
}
