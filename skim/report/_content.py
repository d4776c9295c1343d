"""What the page says, gathered from a fitted detector and its rows."""

import math
import re
from typing import Any, NamedTuple

import numpy as np

from skim._model._threshold import probability
from skim._utils import import_pandas
from skim.report import _charts
from skim.report._summary import agreement, verdict
from skim.tables._causes import list_causes, row_reasons

MAX_EXPLAINED = 2_000  # flagged rows whose causes are listed
MAX_CAUSES = 100
MAX_ROWS = 50  # listed for a cause
MAX_COLUMNS = 200  # described
MAX_CELLS = 100  # of a row
MAX_LENGTH = 60  # of a text from the table
LABELS = {1.0: "labelled outlier", 0.0: "labelled inlier"}


def content(detector, rows, n_rows):
    """Return the variables of the page: Rows, of which `n_rows` are described."""
    is_flagged = rows.scores < detector.offset_
    n_flagged = int(is_flagged.sum())
    n_caused = min(n_flagged, MAX_EXPLAINED)
    strangest = np.argsort(rows.scores, kind="stable")[: max(n_rows, n_caused)]
    chosen = rows.take(strangest)
    found = _reasons(detector, chosen)
    reasons = row_reasons(detector, chosen, rows.scores[strangest], found)
    causes = list_causes(found[found["row"] < n_caused])
    trained = detector.training_scores_
    is_training = len(trained) == len(rows.scores)
    is_training = is_training and np.allclose(rows.scores, trained, rtol=1e-5)
    labels = getattr(detector, "labels_", None) if is_training else None
    if labels is not None and np.isnan(labels).all():
        labels = None
    threshold = float(-detector.offset_)
    histogram, n_beyond = _charts.histogram(-rows.scores, is_flagged, threshold)
    parts = list(_parts(detector))
    networks = next((part for part in parts if hasattr(part, "history_")), None)
    table = next((part for part in parts if hasattr(part, "encoder_")), None)
    return {
        "detector": detector,
        "is_table": table is not None,
        "n_rows": len(rows.scores),
        "n_columns": len(rows.names),
        "n_flagged": n_flagged,
        "n_training": len(trained),
        "threshold": threshold,
        "verdict": verdict(detector, -rows.scores, is_training=is_training),
        "agreement": "" if labels is None else agreement(labels, is_flagged),
        "causes": [
            {
                "cause": cause.cause,
                "n_rows": cause.n_rows,
                "rows": [
                    rows.name(strangest[k])
                    | {"is_described": k < n_rows, "why": str(reasons[k].cells[0])}
                    for k in cause.rows[:MAX_ROWS]
                ],
            }
            for cause in causes[:MAX_CAUSES].itertuples()
        ],
        "n_causes": len(causes),
        "n_caused": n_caused,
        "top": _described(
            detector, rows, strangest[:n_rows], reasons, is_flagged, labels
        ),
        "columns": _columns(table, rows),
        "histogram": histogram,
        "n_beyond": n_beyond,
        "training": networks and _charts.training(networks.history_),
    }


def _parts(detector):
    """Yield a detector, the one in it, and so on."""
    while detector is not None:
        yield detector
        detector = getattr(detector, "detector_", None)


def visible(text):
    """Return text on one line, with characters that act on others escaped."""
    return "".join(
        c if c.isprintable() else " " if c.isspace() else ascii(c)[1:-1] for c in text
    )


def shorten(text, length=MAX_LENGTH):
    """Cut a text that is too long to be read."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def cell_text(value, length=MAX_LENGTH):
    """Return a cell as it is shown. Numbers are never cut."""
    import pandas as pd

    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "missing"
    if isinstance(value, (int, float)):
        return f"{value:.15g}" if isinstance(value, float) else str(value)
    return shorten(str(value).removesuffix(" 00:00:00"), length)


# Rows -----------------------------------------------------------------------------


class Rows(NamedTuple):
    """The rows to report on.

    Attributes
    ----------
    X : DataFrame or ndarray of shape (n_rows, n_columns)
        As the detector takes them.
    frame : DataFrame
        The same, to be shown.
    scores : ndarray of shape (n_rows,)
    numbers : sequence of int of length n_rows
    ids : list or None
    """

    X: Any
    frame: Any
    scores: np.ndarray
    numbers: Any
    ids: list | None

    @classmethod
    def of(cls, detector, X, *, ids, numbers, scores):
        """Check rows, and score them unless that is done."""
        pd = import_pandas("write_report needs pandas: pip install 'skim-od[report]'")
        if hasattr(X, "to_pandas"):  # polars, pyarrow
            X = X.to_pandas()
        elif not hasattr(X, "shape"):
            X = np.asarray(X)
        if scores is None:
            scores = detector.score_samples(X)
        frame = X
        if not isinstance(X, pd.DataFrame):
            names = [f"x{j}" for j in range(X.shape[1])]
            frame = pd.DataFrame(
                X, columns=getattr(detector, "feature_names_in_", names)
            )
        elif ids is None and not isinstance(X.index, pd.RangeIndex):
            ids = X.index
        ids = None if ids is None else list(ids)
        numbers = range(1, len(X) + 1) if numbers is None else numbers
        given = {"ids": ids, "row_numbers": numbers, "scores": scores}
        for name, values in given.items():
            if values is not None and len(values) != len(X):
                raise ValueError(
                    f"{name} has {len(values):,} elements, but X has {len(X):,} rows."
                )
        return cls(X, frame, np.asarray(scores, dtype=np.float64), numbers, ids)

    @property
    def names(self):
        """Names of the columns."""
        return [str(name) for name in self.frame.columns]

    def take(self, rows):
        """Return some rows as the detector takes them, numbered from 0."""
        if self.X is self.frame:
            return self.frame.iloc[rows].reset_index(drop=True)
        return self.X[rows]

    def name(self, row):
        """Return the number of a row and its identifier, empty if it has none."""
        number = str(self.numbers[row])
        name = "" if self.ids is None else cell_text(self.ids[row], 2 * MAX_LENGTH)
        return {"number": number, "id": "" if name == number else name}


def _described(detector, rows, top, reasons, is_flagged, labels):
    """Describe the strangest rows, and list their cells."""
    scores = rows.scores[top]
    chances = probability(scores, detector.offset_, detector.training_scores_)
    names = rows.names[:MAX_CELLS]
    cells = [rows.frame.iloc[top, j].map(cell_text).array for j in range(len(names))]
    described = []
    for k, row in enumerate(top):
        blamed = {reason.column for reason in reasons[k].cells}
        described.append(
            rows.name(row)
            | {
                "loss": -scores[k],
                "probability": chances[k],
                "is_flagged": is_flagged[row],
                "label": "" if labels is None else LABELS.get(labels[row], ""),
                "reasons": reasons[k],
                "cells": [
                    {"column": name, "value": own[k], "is_blamed": name in blamed}
                    for name, own in zip(names, cells, strict=True)
                ],
            }
        )
    return described


def _reasons(detector, X):
    """Return the reasons of rows, in the form of ``TableDetector.reasons``."""
    import pandas as pd

    found = detector.reasons(X)
    if "kind" in found:
        return found
    lines = []
    for row, cells in found.groupby("row", sort=False):
        outside = cells[cells["is_outside"]]
        for cell in outside.itertuples():
            expected = _interval(cell.low, cell.high)
            value = cell_text(cell.value)
            lines.append((row, "context", str(cell.feature), value, expected))
        if outside.empty:
            names = ", ".join(map(str, cells["feature"]))
            values = ", ".join(map(cell_text, cells["value"]))
            lines.append((row, "combination", names, values, ""))
    return pd.DataFrame(lines, columns=["row", "kind", "column", "value", "expected"])


def _interval(low, high):
    """Return a range, with two digits of its width."""
    width = high - low
    if not 1e-12 < width < 1e15 or max(-low, high) > 1e15:
        return f"{low:.6g} to {high:.6g}"
    decimals = max(1 - math.floor(math.log10(width)), 0)
    return f"{low:.{decimals}f} to {high:.{decimals}f}"


def _columns(table, rows):
    """Say how columns are treated, and how many of their cells are missing."""
    decisions, names = {}, rows.names
    if table is not None:
        decisions = {d.column: d for d in table.encoder_.decisions_}
        by = table.by if isinstance(table.by, str | None) else names[table.by]
    described = []
    for j, name in enumerate(names[:MAX_COLUMNS]):
        treatment, reason = "number", ""
        if name in decisions:
            _, treatment, reason = decisions[name]
            # Of the training data; those of these rows have a column of their own.
            reason = re.sub(r"; (\d+\.\d%|a few) missing", "", reason)
            if name == by:
                treatment, reason = "group", "numbers are judged within their group"
        described.append(
            {
                "name": name,
                "treatment": treatment,
                "reason": reason,
                "n_missing": int(rows.frame.iloc[:, j].isna().sum()),
            }
        )
    return described
