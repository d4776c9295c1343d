"""Which rows are strange for the same reason."""

from __future__ import annotations

import re

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

    first = reasons.drop_duplicates("row")
    named = first.assign(cause=[_cause(line) for line in first.itertuples()])
    causes = [
        (cause, kind, column, len(own), own["row"].tolist())
        for (cause, kind, column), own in named.groupby(
            ["cause", "kind", "column"], sort=False
        )
    ]
    return pd.DataFrame(causes, columns=["cause", "kind", "column", "n_rows", "rows"])


def _cause(line):
    if line.kind in ("high", "low"):
        low, _, high = line.expected.partition(" to ")
        above, below = ("after", "before") if DATE.match(low) else ("above", "below")
        bound = f"{above} {high or low}" if line.kind == "high" else f"{below} {low}"
        return f"{line.column} {bound}"
    return WORDS[line.kind].format(**line._asdict())
