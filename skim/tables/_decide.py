"""Deciding how to encode a column, and saying why."""

import re
from typing import NamedTuple

import numpy as np

from skim.tables._columns import to_days, to_numbers, varying_parts
from skim.tables._text import ISO, find_date_format, find_decimal, to_text

MANY_DISTINCT = 0.9  # share of distinct values in a column that is named like an ID
MIN_COUNTING = 5  # fewer consecutive integers may be a coincidence
FREE_TEXT = 50  # mean length of text that is too long for an identifier
ID_WORDS = {"id", "uuid", "guid"}


class ColumnDecision(NamedTuple):
    """How :class:`TableEncoder` treats a column, and why.

    Attributes
    ----------
    column : str
        The column's name.
    treatment : str
        "number", "category", "frequency", "date", "identifier" or "dropped".
    reason : str
        Why, in a few words.
    """

    column: str
    treatment: str
    reason: str


class Outcome(NamedTuple):
    """A treatment, its reason, and the decimal separator or date format of the text."""

    treatment: str
    reason: str
    written: str = ""


def decide(column, name, max_levels):
    """Return the outcome for a column, whose name may suggest an identifier."""
    import pandas as pd

    column = _plain(column)
    if column is None:
        return Outcome("dropped", "contains lists or objects")
    dtype = column.dtype
    if column.isna().all():
        return Outcome("dropped", "no values")
    if pd.api.types.is_bool_dtype(dtype):
        return _number(column, ".", "true or false", max_levels)
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return _date(column, ISO, "dates", max_levels)
    if pd.api.types.is_timedelta64_dtype(dtype):
        return _number(column, ".", "durations, in seconds", max_levels)
    if pd.api.types.is_numeric_dtype(dtype):
        found = _identifier(column, name, max_levels)
        return found or _number(column, ".", "numbers", max_levels)
    return _text(column, name, max_levels)


def decide_category(column, max_levels):
    """Return the outcome for a categorical column."""
    text = to_text(column)
    n_levels = text.nunique()
    gaps = _gaps(text.isna())
    if n_levels + bool(gaps) < 2:
        return Outcome("dropped", "constant" if n_levels else "no values")
    treatment = "category" if n_levels <= max_levels else "frequency"
    return Outcome(treatment, f"{n_levels:,} level{'s' * (n_levels > 1)}{gaps}")


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


def _text(column, name, max_levels):
    import pandas as pd

    text = to_text(column)
    if text.isna().all():
        return Outcome("dropped", "no values")
    decimal = find_decimal(text)
    if decimal:
        numbers = pd.Series(to_numbers(text, decimal))
        what = "numbers in text" + " with a decimal comma" * (decimal == ",")
        found = _identifier(numbers, name, max_levels)
        return found or _number(text, decimal, what, max_levels)
    date_format = find_date_format(text)
    if date_format:
        return _date(text, date_format, "dates in text", max_levels)
    if len(text) > 1 and text.is_unique:
        if text.str.len().mean() > FREE_TEXT:
            return Outcome("dropped", "free text, all different")
        return Outcome("identifier", "all different")
    return _named_identifier(text, name) or decide_category(text, max_levels)


def _identifier(numbers, name, max_levels):
    """Return the outcome for numbers that are identifiers or codes, else None."""
    values = to_numbers(numbers, ".")
    if np.isnan(values).any() or not (values == np.floor(values)).all():
        return None
    if _counts_up(values):
        return Outcome("identifier", "counts up")
    outcome = _named_identifier(numbers, name)
    if outcome is None and _is_id_name(name) and values.min() < values.max():
        outcome = decide_category(numbers, max_levels)
        outcome = outcome._replace(reason=f"named like a code; {outcome.reason}")
    return outcome


def _counts_up(values):
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


def _number(column, decimal, what, max_levels):
    values = to_numbers(column, decimal)
    missing = np.isnan(values)
    if missing.all():
        return Outcome("dropped", "no finite values")
    if np.nanmin(values) == np.nanmax(values):
        return decide_category(column, max_levels)
    return Outcome("number", f"{what}{_gaps(missing)}", decimal)


def _date(column, date_format, what, max_levels):
    days = to_days(column, date_format)
    missing = np.isnan(days)
    if missing.all():
        return Outcome("dropped", "no values")
    parts = varying_parts(days)
    if not parts:
        return decide_category(column, max_levels)
    return Outcome("date", f"{what}: {', '.join(parts)}{_gaps(missing)}", date_format)


def _gaps(missing):
    """Return a note on the share of missing values, empty if there are none."""
    share = np.mean(missing)
    if share == 0:
        return ""
    return f"; {share:.1%} missing" if share >= 0.0005 else "; a few missing"
