"""Deciding how to encode a column, and saying why."""

import re
from typing import NamedTuple

import numpy as np

from skim.tables._columns import is_missing, to_days, to_numbers, varying_parts
from skim.tables._text import (
    ISO_DATES,
    MOST,
    PLAIN,
    Found,
    find_dates,
    find_numbers,
    to_text,
)

MANY_DISTINCT = 0.9  # share of distinct values in a column that is named like an ID
MIN_COUNTING = 5  # fewer consecutive integers may be a coincidence
ID_WORDS = {"id", "uuid", "guid"}

# Mean length, and mean number of words, of text that is too long for a name.
LONG_TEXT = 50
MANY_WORDS = 8


class ColumnDecision(NamedTuple):
    """How :class:`TableEncoder` treats a column, and why.

    Attributes
    ----------
    column : str
        The column's name.
    treatment : str
        "number", "frequency", "date", "identifier" or "dropped".
    reason : str
        Why, in a few words, such as "constant: EUR".
    """

    column: str
    treatment: str
    reason: str


class Outcome(NamedTuple):
    """A decision on a column, and what else to remember.

    `form` says how numbers or dates in text are written, and `warning` what the user
    should know.
    """

    treatment: str
    reason: str
    form: dict = {}
    warning: str = ""


NO_VALUES = Outcome("dropped", "no values")


def decide(column, name, dates):
    """Return the outcome for a column, whose name may suggest an identifier."""
    import pandas as pd

    column = _plain(column)
    if column is None:
        return Outcome("dropped", "contains lists or objects")
    types = pd.api.types
    if column.isna().all():
        return NO_VALUES
    if types.is_datetime64_any_dtype(column.dtype):
        days = to_days(column, ISO_DATES)
        return _date(column, Found(ISO_DATES, 1.0, "dates", parsed=days))
    what = "numbers"
    if types.is_bool_dtype(column.dtype):
        what = "true or false"
    elif types.is_timedelta64_dtype(column.dtype):
        what = "durations, in seconds"
    elif not types.is_numeric_dtype(column.dtype):
        return _text(column, name, dates)
    outcome = _identifier(column, name) if what == "numbers" else None
    return outcome or _number(
        column, Found(PLAIN, 1.0, what, parsed=to_numbers(column))
    )


def decide_category(column):
    """Return the outcome for a categorical column."""
    text = to_text(column)
    levels, gaps = text.dropna().unique(), _gaps(text.isna())
    if not len(levels):
        return NO_VALUES
    if len(levels) == 1:
        return Outcome("dropped", f"constant: {levels[0]}{gaps}")
    return Outcome("frequency", f"{len(levels):,} levels{gaps}")


def _plain(column):
    """Return the column with a dtype that fits its values, None if they are nested."""
    import pandas as pd

    if isinstance(column.dtype, pd.PeriodDtype):
        return column.dt.to_timestamp()
    if column.dtype != object:
        return column
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in ("date", "datetime", "datetime64"):
        return pd.to_datetime(column, errors="coerce")
    if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
        return pd.to_numeric(column, errors="coerce").astype(np.float64)
    if kind == "boolean":
        return column.astype("boolean")
    nested = (list, tuple, dict, set, np.ndarray)
    if kind == "mixed" and any(isinstance(value, nested) for value in column):
        return None
    return column


def _text(column, name, dates):
    import pandas as pd

    text = to_text(column)
    if text.isna().all():
        return NO_VALUES
    numbers = find_numbers(text)
    if numbers.form:
        values = pd.Series(numbers.parsed, index=column.index)
        return _identifier(values, name) or _number(text, numbers)
    found = find_dates(text, dates)
    if found.form:
        return _date(text, found)
    outcome = (
        _nearly_unique(text) or _named_identifier(text, name) or decide_category(text)
    )
    nearest, kind = max(
        (numbers, "numbers"), (found, "dates"), key=lambda f: f[0].share
    )
    if outcome.treatment != "dropped" and nearest.share > MOST:
        treated = "an identifier" if outcome.treatment == "identifier" else "a category"
        warning = (
            f"{nearest.share:.0%} of the values are {kind}, but the column is treated "
            f"as {treated} because of {nearest.n_obstacles:,} others, such as "
            f"{nearest.obstacle!r}"
        )
        outcome = outcome._replace(warning=warning)
    return outcome


def _nearly_unique(text):
    """Return the outcome for text whose values hardly repeat, else None.

    Where the value of a typical row occurs only a few times, being rare is nothing
    special, and the repeated values would stand out. How many times are few grows
    with the logarithm of the number of rows.
    """
    present = text.dropna()
    n = len(present)
    counts = present.value_counts()
    few = max(1, int(np.log10(n)))
    n_rare_rows = int(counts[counts <= few].sum())
    if n < 2 or n_rare_rows <= n / 2:
        return None
    how = f"{len(counts):,} values in {n:,} rows"
    how = ("all different" if len(counts) == n else how) + _gaps(text.isna())
    sample = present.iloc[:: max(n // 1000, 1)]
    if sample.str.len().mean() > LONG_TEXT or (
        sample.str.count(r"\s+").mean() + 1 > MANY_WORDS
    ):
        advice = "skim.embedding.TextEmbedder turns it into features"
        return Outcome("dropped", f"free text, {how}; {advice}")
    return Outcome("identifier", how)


def _identifier(numbers, name):
    """Return the outcome for numbers that are identifiers or codes, else None."""
    values = to_numbers(numbers)
    if not np.isfinite(values).all() or not (values == np.floor(values)).all():
        return None
    if counts_up(values):
        return Outcome("identifier", "counts up")
    outcome = _named_identifier(numbers, name)
    if outcome is None and _is_id_name(name) and values.min() < values.max():
        text = to_text(numbers)
        outcome = _nearly_unique(text) or decide_category(text)
        outcome = outcome._replace(reason=f"named like a code; {outcome.reason}")
    return outcome


def counts_up(values):
    """Whether integers are consecutive, in any order, without repetition."""
    n = len(values)
    if n < MIN_COUNTING or values.max() - n + 1 != values.min():
        return False
    return len(np.unique(values)) == n


def _named_identifier(column, name):
    if _is_id_name(name) and column.nunique() >= MANY_DISTINCT * len(column):
        return Outcome("identifier", "named like one, nearly all different")
    return None


def _is_id_name(name):
    """Whether a name contains "id" as a word: order_id, OrderID, id."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return any(word.lower() in ID_WORDS for word in words)


def _number(column, found):
    finite = np.isfinite(found.parsed)
    if not finite.any():
        return Outcome("dropped", "no finite values")
    if found.parsed[finite].min() == found.parsed[finite].max():
        return decide_category(column)
    n_infinite = int(np.isinf(found.parsed).sum())
    infinite = f"; {n_infinite:,} infinite" if n_infinite else ""
    reason = f"{found.what}{infinite}{_notes(column, found)}"
    return Outcome("number", reason, found.form)


def _date(column, found):
    if np.isnan(found.parsed).all():
        return NO_VALUES
    parts = varying_parts(found.parsed)
    if not parts:
        return decide_category(column)
    reason = f"{found.what}: {', '.join(parts)}{_notes(column, found)}"
    return Outcome("date", reason, found.form, warning=found.warning)


def _notes(column, found):
    """Return notes on values that are not what the others are, and on gaps."""
    notes = _gaps(is_missing(column))
    if found.n_obstacles:
        example = f"such as {found.obstacle!r}"
        return f"; {found.n_obstacles:,} unreadable, {example}{notes}"
    return notes


def _gaps(missing):
    """Return a note on the share of missing values, empty if there are none."""
    share = np.mean(missing)
    if share == 0:
        return ""
    return f"; {share:.1%} missing" if share >= 0.0005 else "; a few missing"
