"""Which rows are strange for the same reason."""

from __future__ import annotations

import re

import numpy as np

from skim._model._reasons import Reason, RowReasons, deciding_labels

WORDS = {
    "sign": "{column}: the sign of {value}",
    "code": "{column} {value}, a code for a missing value",
    "unreadable": "{column}: not {expected}",
    "misspelling": "{column} {value}, a misspelling of {expected}",
    "rare": "{column} {value}",
    "missing": "{column} missing",
    "order": "{column}: dates in the wrong order",
    "conflict": "{column} at odds with another column",
    "context": "{column} unlike that of similar rows",
    "combination": "an unusual combination of {column}",
}
DATE = re.compile(r"\d+([-/.])\d+\1\d+|\d\d:\d\d$")


def list_causes(reasons):
    """List what makes rows strange, one line for all rows with the same cause.

    Parameters
    ----------
    reasons : DataFrame
        From :meth:`skim.TableDetector.reasons`. Only the most important reason of
        each row counts.

    Returns
    -------
    causes : DataFrame
        One line per cause, in the order of their strangest rows, with the columns
        "cause", such as "price above 120", "kind", "column", "n_rows" and "rows",
        the list of the rows as they are named in `reasons`.
    """
    import pandas as pd

    if "kind" not in reasons:
        raise ValueError("list_causes needs the result of TableDetector.reasons.")
    first = reasons.drop_duplicates("row")
    named = first.assign(cause=[_cause(line) for line in first.itertuples()])
    by_cause = named.groupby(["cause", "kind", "column"], sort=False)
    causes = [(*key, len(own), own["row"].tolist()) for key, own in by_cause]
    return pd.DataFrame(causes, columns=["cause", "kind", "column", "n_rows", "rows"])


def _cause(line):
    if line.kind in ("high", "low"):
        if line.expected in ("True", "False"):
            return f"{line.column} {line.value}"
        low, _, high = line.expected.partition(" to ")
        above, below = ("after", "before") if DATE.match(low) else ("above", "below")
        bound = f"{above} {high or low}" if line.kind == "high" else f"{below} {low}"
        return f"{line.column} {bound}"
    return WORDS[line.kind].format(**line._asdict())


def row_reasons(detector, X, scores, reasons):
    """Return why rows are strange, one RowReasons for each.

    The detector may have learned labels; `reasons` are its reasons, with the rows
    numbered from 0.
    """
    is_outlier = scores < detector.offset_
    # A row that is not flagged is hardly an unusual combination.
    is_said = reasons["kind"] != "combination"
    is_said |= is_outlier[reasons["row"].to_numpy(np.intp)]
    reasons = reasons[is_said]
    cells: list[list[Reason]] = [[] for _ in scores]
    for line in reasons.itertuples():
        told = Reason(line.kind, line.column, line.value, line.expected)
        cells[line.row].append(told)
    causes = [""] * len(scores)
    for cause in list_causes(reasons).itertuples():
        for row in cause.rows:
            causes[row] = cause.cause
    likes = deciding_labels(detector, X, scores)
    return list(map(RowReasons, cells, likes, causes))
