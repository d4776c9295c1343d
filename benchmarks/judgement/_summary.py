"""From the results on all tables to one table of figures beside their aims."""

import numpy as np
import pandas as pd

from benchmarks._shared.results import print_table
from benchmarks._shared.sources import HALVES, half_of
from benchmarks.judgement._measures import KINDS, PLANTED, SHARES

COLUMNS = ("quantity", "before", "now", "half 1", "half 2", "aim")
FACTOR = 1.5  # by which flagged shares may differ from planted ones


def by_family(frame, column):
    """Return the mean over families of a column's mean over their tables."""
    return frame.groupby("family")[column].mean().mean()


class Figures:
    """Collects figures of both versions, and of both halves of the present one."""

    def __init__(self, folder):
        self.folder = folder
        self.rows = []

    def _read(self, *parts):
        paths = [self.folder / f"{part}.csv" for part in parts]
        columns = ["version", "table", "family", "source"]
        frames = [pd.read_csv(path) for path in paths if path.exists()]
        return pd.concat(frames) if frames else pd.DataFrame(columns=columns)

    def read(self, part):
        """Return the results of a part, or None if there are none."""
        frame = self._read(part)
        return frame if len(frame) else None

    def add(self, quantity, aim, frame, figure):
        """Add a figure, computed by a function of the lines of results."""
        now = frame[frame["version"] == "now"]
        half = now["source"].map(half_of)
        parts = (
            frame[frame["version"] == "before"],
            now,
            *(now[half == each] for each in HALVES),
        )
        values = [figure(each) if len(each) else np.nan for each in parts]
        self.rows.append([quantity, *values, aim])


def figures(folder):
    """Return all figures of a folder of results as a DataFrame."""
    found = Figures(folder)
    for part, add in ADDERS.items():
        frame = found.read(part)
        if frame is not None:
            add(found, frame)
    return pd.DataFrame(found.rows, columns=COLUMNS)


def _cells(found, frame):
    aims = {10: ".92", 30: ".97", 1000: ".999"}
    for where in ("training", "new"):
        for k, aim in aims.items():
            own = frame[(frame["where"] == where) & (frame["sd"] == k)]
            rows = "training rows" if where == "training" else "new rows"
            for column, label, wanted in (
                ("auroc", "AUROC", aim),
                ("flagged", "share flagged", ".90" if k >= 30 else ""),
                ("by_reasons", "first in reasons", ".95"),
                ("by_explain", "first in explain", ""),
            ):
                found.add(
                    f"cell at {k} sd, {rows}: {label}",
                    wanted,
                    own,
                    lambda each, column=column: by_family(each, column),
                )


def _labelled(found, frame):
    frame = frame.dropna(subset=["auroc"])
    for metric in ("auroc", "auprc"):
        found.add(metric.upper(), "", frame, lambda each, m=metric: by_family(each, m))
    for metric, aim in (("auroc", ".001"), ("auprc", ".003")):

        def lost(each, metric=metric):
            return by_family(each, f"{metric}_without") - by_family(each, metric)

        found.add(f"{metric.upper()} that the term costs", aim, frame, lost)
    found.add("F1 of the verdict", "", frame, lambda each: by_family(each, "f1"))
    found.add("F1 of the best threshold", "", frame, lambda e: by_family(e, "best_f1"))
    found.add("F1 / best F1", ".60", frame, _relative_f1)
    clean = found.read("clean")
    if clean is not None:
        means = {v: by_family(own, "flagged") for v, own in clean.groupby("version")}

        def constant(each):
            share = means[each["version"].iloc[0]]
            at = [by_family(each, f"f1_at_{s:g}") for s in SHARES]
            return float(np.interp(share, SHARES, at))

        found.add(
            "F1 of the constant share that flags as much of clean data",
            "",
            frame,
            constant,
        )


def _relative_f1(each):
    """Return the ratio of mean F1 to the mean of the best."""
    return by_family(each, "f1") / by_family(each, "best_f1")


def _clean(found, frame):
    found.add(
        "flagged of clean data, mean", ".03", frame, lambda e: by_family(e, "flagged")
    )
    found.add(
        "flagged of clean data, 90th percentile",
        ".06",
        frame,
        lambda each: each["flagged"].quantile(0.9),
    )

    more = found.read("seeds")
    if more is None:
        return
    repeated = more.dropna(subset=["flagged"])
    keys = ["version", "table"]
    every = pd.concat(
        [repeated, frame.merge(repeated[keys].drop_duplicates(), on=keys)]
    )

    def deviation(each):
        own = each.groupby(["family", "table"])["flagged"].std()
        return by_family(own.reset_index(), "flagged")

    found.add("its standard deviation over seeds", ".01", every, deviation)


def _planting(found, frame):
    shares = np.array(PLANTED)
    nearest = np.abs(frame["planted"].to_numpy()[:, None] - shares).argmin(axis=1)
    frame = frame.assign(
        about=shares[nearest], ratio=frame["flagged"] / frame["planted"]
    )
    frame["near"] = frame["ratio"].between(1 / FACTOR, FACTOR).astype(float)
    for kind in KINDS:
        for share in PLANTED:
            own = frame[(frame["kind"] == kind) & (frame["about"] == share)]
            name = f"{share:.0%} planted, {kind}"
            found.add(f"{name}: flagged", "", own, lambda e: by_family(e, "flagged"))
            found.add(
                f"{name}: flagged / planted, median",
                "1/1.5 to 1.5",
                own,
                lambda each: each["ratio"].median(),
            )
            found.add(
                f"{name}: tables within a factor of 1.5",
                "",
                own,
                lambda each: each["near"].mean(),
            )
            found.add(
                f"{name}: planted rows flagged",
                "",
                own,
                lambda e: by_family(e, "found"),
            )


def _gaps(found, frame):
    for share, own in frame.groupby("gaps"):
        known = own.dropna(subset=["ours_lost"])
        name = f"{share:.0%} of the cells missing"
        forest = by_family(known, "forest_lost")
        found.add(
            f"{name}: AUROC lost",
            f"{forest:.3f} (IsolationForest)",
            known,
            lambda each: by_family(each, "ours_lost"),
        )
        found.add(
            f"{name}: AUROC lost by IsolationForest",
            "",
            known,
            lambda each: by_family(each, "forest_lost"),
        )
        found.add(
            f"{name}: rank correlation of loss and gaps",
            "-.05 to .05",
            own,
            lambda each: by_family(each, "correlation"),
        )
        found.add(
            f"{name}: its largest size in a table",
            "",
            own,
            lambda each: each["correlation"].abs().max(),
        )


def _expected(found, frame):
    for where, own in frame.dropna(subset=["error"]).groupby("where", sort=False):
        name = f"expected values, {where} rows"
        imputer = by_family(own, "imputer_error")
        for column, label, aim in (
            ("error", "mean error in sd", f"{imputer:.3f} (imputer)"),
            ("imputer_error", "mean error of the imputer", ""),
            ("median_error", "median error in sd", ""),
            ("imputer_median_error", "median error of the imputer", ""),
            ("covered", "true values of spoilt cells in their range", ".85 to .95"),
            ("covered_usual", "untouched cells in their range", ".85 to .95"),
        ):
            found.add(f"{name}: {label}", aim, own, lambda e, c=column: by_family(e, c))

        def ratio(each):
            return (each["error"] / each["imputer_error"]).median()

        def no_larger(each):
            return (each["error"] <= each["imputer_error"]).mean()

        found.add(f"{name}: error / imputer's, median of tables", "1", own, ratio)

        found.add(f"{name}: tables with no larger error", "", own, no_larger)


def _time(found, frame):
    best = frame.groupby(["version", "table"])[["seconds", "verdict_seconds"]].min()
    for table in frame["table"].unique():
        own = best.xs(table, level="table")
        before = own["seconds"].get("before", np.nan)
        now, verdict = own.loc["now"]
        aim = f"{1.15 * before:.2f} (1.15 times)" if before == before else ""
        blank = [np.nan, np.nan]
        found.rows.append([f"seconds of a fit, {table}", before, now, *blank, aim])
        share = [np.nan, verdict / now, *blank]
        found.rows.append([f"share of the verdict in it, {table}", *share, ".05"])


ADDERS = {
    "cells": _cells,
    "labelled": _labelled,
    "clean": _clean,
    "planting": _planting,
    "gaps": _gaps,
    "expected": _expected,
    "time": _time,
}


def report(folder):
    """Write the summary beside the results, and print it."""
    summary = figures(folder)
    summary.to_csv(folder / "summary.csv", index=False, float_format="%.4g")
    print_table(COLUMNS, summary.itertuples(index=False), digits=".4f")
