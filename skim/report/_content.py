"""What the page says, gathered from a fitted detector and its rows."""

import re

import numpy as np

from skim._model._threshold import probability
from skim.report import _charts
from skim.report._summary import agreement, verdict
from skim.tables._causes import list_causes, row_reasons
from skim.tables._columns import is_missing
from skim.tables._reasons import cell_text

MAX_EXPLAINED = 2_000  # flagged rows whose causes are listed
MAX_CAUSES = 100
N_ROWS = 50  # that are described, and that are listed for a cause
MAX_COLUMNS = 200  # described
MAX_CELLS = 100  # of a row
MAX_NAME = 120  # characters of an identifier
LABELS = {1.0: "labelled outlier", 0.0: "labelled inlier"}


def content(detector, table, frame, scores, ids):
    """Return the variables of the page.

    `table` is the TableDetector of a detector, itself or that which learned labels, and
    `frame` has the rows with their `scores` and `ids`, which may be None.
    """
    is_flagged = scores < detector.offset_
    n_flagged = int(is_flagged.sum())
    n_caused = min(n_flagged, MAX_EXPLAINED)
    strangest = np.argsort(scores, kind="stable")[: max(N_ROWS, n_caused)]
    chosen = frame.iloc[strangest].reset_index(drop=True)
    if not hasattr(table, "feature_names_in_"):  # fitted to an array
        chosen = chosen.to_numpy()
    found = detector.reasons(chosen)
    reasons = row_reasons(detector, chosen, scores[strangest], found)
    causes = list_causes(found[found["row"] < n_caused])
    trained = detector.training_scores_
    is_training = len(trained) == len(scores)
    is_training = is_training and np.allclose(scores, trained, rtol=1e-5)
    labels = getattr(detector, "labels_", None) if is_training else None
    if labels is not None and np.isnan(labels).all():
        labels = None
    chances = probability(scores, detector.offset_, trained)
    histogram = _charts.histogram(-scores, is_flagged, -detector.offset_)

    def named(row):
        number = str(row + 1)
        name = "" if ids is None else cell_text(ids[row], MAX_NAME)
        return {"number": number, "id": "" if name == number else name}

    def described(k, row):
        blamed = {reason.column for reason in reasons[k].cells}
        return named(row) | {
            "loss": -scores[row],
            "probability": chances[row],
            "is_flagged": is_flagged[row],
            "label": "" if labels is None else LABELS.get(labels[row], ""),
            "reasons": reasons[k],
            "cells": [
                {"column": name, "value": cell_text(value), "is_blamed": name in blamed}
                for name in frame.columns[:MAX_CELLS]
                for value in [frame[name].iloc[row]]
            ],
        }

    return {
        "detector": detector,
        "n_rows": len(scores),
        "n_columns": frame.shape[1],
        "n_flagged": n_flagged,
        "n_training": len(trained),
        "threshold": float(-detector.offset_),
        "verdict": verdict(detector, -scores, is_training=is_training),
        "agreement": "" if labels is None else agreement(labels, is_flagged),
        "causes": [
            {
                "cause": cause.cause,
                "n_rows": cause.n_rows,
                "rows": [
                    named(strangest[k])
                    | {"is_described": k < N_ROWS, "why": str(reasons[k].cells[0])}
                    for k in cause.rows[:N_ROWS]
                ],
            }
            for cause in causes[:MAX_CAUSES].itertuples()
        ],
        "n_causes": len(causes),
        "n_caused": n_caused,
        "top": [described(k, row) for k, row in enumerate(strangest[:N_ROWS])],
        "columns": list(_columns(table, frame)),
        "histogram": histogram,
        "training": _charts.training(table.detector_.history_),
    }


def visible(text):
    """Return text on one line, with characters that act on others escaped."""
    return "".join(
        c if c.isprintable() else " " if c.isspace() else ascii(c)[1:-1] for c in text
    )


def _columns(table, frame):
    """Yield how columns are treated, and how many of their cells are missing."""
    decisions = {d.column: d for d in table.encoder_.decisions_}
    by = table.by if isinstance(table.by, str | None) else frame.columns[table.by]
    for name in frame.columns[:MAX_COLUMNS]:
        _, treatment, reason = decisions[name]
        # Of the training data; those of these rows have a column of their own.
        reason = re.sub(r"; (\d+\.\d%|a few) missing", "", reason)
        if name == by:
            treatment, reason = "group", "numbers are judged within their group"
        yield {
            "name": name,
            "treatment": treatment,
            "reason": reason,
            "n_missing": int(is_missing(frame[name]).sum()),
        }
