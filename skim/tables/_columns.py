"""Encoders of single columns, with missing values as NaN."""

import datetime

import numpy as np

from skim.tables._text import (
    PLAIN,
    days_since_1970,
    parse_dates,
    parse_numbers,
    to_text,
)

BEYOND = 100.0  # ranges between an infinite value and the most extreme finite one
DAY_PARTS = ("day", "weekday", "hour")
MAX_DIGITS = 6  # significant digits of numbers with a fraction


class NumberEncoder:
    """Encode numbers as they are, and infinite ones as numbers far beyond the rest.

    An encoder is made of a column to fit and of how its text is written. `suffixes` is
    what the names of the features add to that of the column.
    """

    suffixes = ("",)

    def __init__(self, form, column):
        import pandas as pd

        self.form = form
        values = to_numbers(column, form)
        finite = values[np.isfinite(values)]
        with np.errstate(over="ignore"):
            reach = BEYOND * (finite.max() - finite.min())
            ends = finite.min() - reach, finite.max() + reach
        self.low, self.high = np.nan_to_num(ends).tolist()
        self.n_decimals = n_decimals(finite)
        self.is_boolean = bool(pd.api.types.is_bool_dtype(column.dtype))
        self.is_duration = bool(pd.api.types.is_timedelta64_dtype(column.dtype))

    def parsed(self, column):
        """Return the column with its text parsed."""
        import pandas as pd

        if column.dtype.kind in "iufb":
            return column
        return pd.Series(to_numbers(column, self.form), index=column.index)

    def transform(self, column):
        """Return the features, an ndarray of shape (n, n_features)."""
        values = to_numbers(column, self.form)[:, None]
        return np.nan_to_num(values, nan=np.nan, posinf=self.high, neginf=self.low)

    def describe(self, value):
        """Return a number as the column would have it."""
        if self.is_boolean:
            return str(bool(value >= 0.5))
        if self.is_duration:
            seconds = datetime.timedelta(seconds=round(abs(value), 3))
            return "-" * (value < 0) + str(seconds)
        text = number_text(value, self.n_decimals)
        if self.form.get("decimal") == ",":
            text = text.replace(".", ",")
        sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
        return sign + self.form.get("template", "{}").replace("{}", digits)


class FrequencyEncoder:
    """Encode values by the logarithm of their frequency.

    A value not seen during `fit` counts as rarer than any that was.
    """

    suffixes = ("_frequency",)

    def __init__(self, form, column):
        counts = to_text(column).value_counts()
        n_known = int(counts.sum())
        self.texts = counts.index.astype(str).tolist()
        self.logs = np.log(counts.to_numpy(np.float64) / n_known)
        self.unseen_log = float(np.log(0.5 / n_known))

    def parsed(self, column):
        """Return the column: there is nothing to parse."""
        return column

    def transform(self, column):
        """Return the feature, an ndarray of shape (n, 1)."""
        import pandas as pd

        text = to_text(column)
        codes = pd.Index(self.texts, dtype=object).get_indexer(text.astype(object))
        out = np.append(self.logs, self.unseen_log)[codes]
        out[text.isna().to_numpy(bool)] = np.nan
        return out[:, None]


class DateEncoder:
    """Encode dates as day, weekday and hour.

    Days are counted from 1970. A day outside the period of the training data counts
    as its first or last day, unless it is further away than the period is long.
    """

    def __init__(self, form, column):
        days = to_days(column, form)
        self.form = form
        self.first = float(np.floor(np.nanmin(days)))
        self.last = float(np.floor(np.nanmax(days)))
        self.parts = varying_parts(days)
        self.suffixes = [f"_{part}" for part in self.parts]

    def parsed(self, column):
        """Return the column as dates."""
        import pandas as pd

        if column.dtype.kind == "M":
            return column
        days = to_days(column, self.form)
        return pd.Series(
            pd.to_datetime(days, unit="D", errors="coerce"), index=column.index
        )

    def transform(self, column):
        """Return the features, an ndarray of shape (n, n_features)."""
        days = to_days(column, self.form)
        first, last, reach = self.first, self.last, self.last - self.first
        out = np.column_stack([_part(days, part) for part in self.parts])
        if self.parts[0] == "day":
            day = out[:, 0]
            later = np.maximum(np.minimum(day, last), day - reach)
            out[:, 0] = np.minimum(np.maximum(later, first), later + reach)
        return out


def is_missing(column):
    """Return which values of a column are missing, marks such as "n/a" included."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind == "f":
        return np.isnan(column.to_numpy())  # many times faster, for wide tables
    if column.dtype.kind in "iufbmM":
        return column.isna().to_numpy(bool)
    return to_text(column).isna().to_numpy(bool)


def to_numbers(column, form=PLAIN):
    """Return the numbers in a column as an array, NaN where there is none."""
    import pandas as pd

    if pd.api.types.is_timedelta64_dtype(column.dtype):
        return column.dt.total_seconds().to_numpy(np.float64, copy=True)
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(np.float64, na_value=np.nan, copy=True)
    return parse_numbers(to_text(column), form or PLAIN)


def to_days(column, form):
    """Return the dates in a column as days since 1970, NaN where missing."""
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return days_since_1970(column)
    return parse_dates(to_text(column), form)


def varying_parts(days):
    """Return the date parts that are not constant.

    The weekday of the first of a month says nothing.
    """
    days = days[np.isfinite(days)]
    parts = [part for part in DAY_PARTS if np.ptp(_part(days, part)) > 0]
    whole = np.floor(days).astype("datetime64[D]")
    if "weekday" in parts and (whole == whole.astype("datetime64[M]")).all():
        parts.remove("weekday")
    return parts


def n_decimals(values):
    """Return how many decimals numbers have, as far as a sample shows."""
    sample = np.abs(values[:: max(len(values) // 1000, 1)])
    sample = sample[sample < 1e15]
    for n in range(10):
        if (np.abs(sample - sample.round(n)) <= 1e-9 * np.maximum(sample, 1e-3)).all():
            return n
    return 10


def number_text(value, n_decimals):
    """Write a number with at most so many decimals."""
    if abs(value) >= 1e15:
        return f"{value:.6g}"
    if n_decimals and value:
        digits = int(np.floor(np.log10(abs(value)))) + 1
        n_decimals = min(n_decimals, max(MAX_DIGITS - digits, 0))
    text = f"{value:.{n_decimals}f}"
    text = text.rstrip("0").rstrip(".") if n_decimals else text
    return "0" if text in ("-0", "") else text


def _part(days, part):
    whole = np.floor(days)
    if part == "day":
        return whole
    if part == "weekday":
        return (whole + 3) % 7  # 1970 began on a Thursday; Monday is 0
    return np.round((days - whole) * 24, 6)  # equal hours on different days are equal
