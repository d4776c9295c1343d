"""Encoders of single columns, with missing values as NaN."""

import datetime

import numpy as np

from skim.tables._text import (
    PLAIN,
    days_since_1970,
    on_unique,
    parse_dates,
    parse_numbers,
    to_text,
)

MIN_UNREADABLE = 10  # fewer unreadable numbers than this are never an error
FEW_LEVELS = 20  # levels whose texts are kept, and up to which a new one is told
BEYOND = 100.0  # ranges between an infinite value and the most extreme finite one
DAY_PARTS = ("day", "weekday", "hour")
WEEKDAYS = (
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
)  # fmt: skip
MAX_DIGITS = 6  # significant digits of numbers with a fraction
DAY_0 = datetime.date(1970, 1, 1).toordinal()


class NumberEncoder:
    """Encode numbers as they are, and infinite ones as numbers far beyond the rest.

    All encoders have the same interface.

    Parameters
    ----------
    name : str
        The name of the column, for error messages.
    form : dict
        How its text is written.
    column : Series
        The column to fit, possibly parsed.

    Attributes
    ----------
    suffixes : list of str
        What the names of the features add to that of the column.
    """

    def __init__(self, name, form, column):
        import pandas as pd

        self.name = name
        self.form = form
        self.suffixes = [""]
        values = to_numbers(column, form)
        finite = values[np.isfinite(values)]
        limit = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            reach = BEYOND * (finite.max() - finite.min())
            ends = np.array([finite.min() - reach, finite.max() + reach])
        self.low, self.high = np.clip(ends, -limit, limit).tolist()
        self.n_decimals = n_decimals(finite)
        self.is_boolean = bool(pd.api.types.is_bool_dtype(column.dtype))
        self.is_duration = bool(form.get("is_duration")) or bool(
            pd.api.types.is_timedelta64_dtype(column.dtype)
        )

    def parsed(self, column):
        """Return the column with its text parsed, None if there is none."""
        import pandas as pd

        if column.dtype.kind in "iufb":
            return None
        return pd.Series(to_numbers(column, self.form), index=column.index)

    def unseen(self, column):
        """Return which values are unheard of; None if none can be."""
        if column.dtype.kind in "iufb":
            return None
        return np.isnan(to_numbers(column, self.form)) & ~is_missing(column)

    def transform(self, column):
        """Return the features, an ndarray of shape (n, n_features)."""
        values = to_numbers(column, self.form)
        self._check_readable(column, np.isnan(values))
        infinite = np.isinf(values)
        values[infinite] = np.where(values[infinite] < 0, self.low, self.high)
        return values[:, None]

    def describe(self, k, value):
        """Return the text of a value of the k-th feature."""
        if self.low < self.high and not self.low < value < self.high:
            return "-inf" if value <= self.low else "inf"
        if self.is_boolean:
            return str(bool(value >= 0.5))
        if self.is_duration:
            return duration_text(value)
        text = number_text(value, self.n_decimals)
        if self.form.get("decimal") == ",":
            text = text.replace(".", ",")
        sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
        return sign + self.form.get("template", "{}").replace("{}", digits)

    def _check_readable(self, column, missing):
        """Raise if most of the text in a column is not numeric."""
        if column.dtype.kind in "iufb" or not missing.any():
            return
        present = ~is_missing(column)
        lost = missing & present
        n_lost, n_values = int(lost.sum()), int(present.sum())
        if n_lost >= MIN_UNREADABLE and n_lost > n_values / 2:
            raise ValueError(
                f"{n_lost} of {n_values} values in column {self.name!r} cannot be read "
                f"as numbers, such as {str(column[lost].iloc[0])!r}; use the number "
                "format of the training data."
            )


class FrequencyEncoder:
    """Encode values by the logarithm of their frequency.

    Values are stored as hashes, so long text takes little memory. A value not seen
    during `fit` counts as rarer than any that was.
    """

    def __init__(self, name, form, column):
        counts = to_text(column).value_counts()
        n_known = int(counts.sum())
        hashes = _hashes(counts.index)
        order = np.argsort(hashes)
        logs = np.log(counts.to_numpy(np.float64) / n_known)
        # The most common levels; equally common ones in alphabetical order.
        common = counts.iloc[: 10 * FEW_LEVELS]
        common = sorted(zip(-common.to_numpy(np.int64), common.index, strict=True))
        common = common[:FEW_LEVELS]
        self.suffixes = ["_frequency"]
        self.hashes, self.logs = hashes[order], logs[order]
        self.unseen_log = float(np.log(0.5 / n_known))
        self.texts = [str(text) for _, text in common]
        self.text_logs = np.log([-count / n_known for count, _ in common])

    def parsed(self, column):
        """Return None: there is nothing to parse."""

    def unseen(self, column):
        """Return which values were not seen, None if there were too many to tell."""
        if len(self.hashes) > FEW_LEVELS:
            return None
        text = to_text(column)
        return ~self._find(text)[1] & text.notna().to_numpy(bool)

    def transform(self, column):
        """Return the feature, an ndarray of shape (n, 1)."""
        text = to_text(column)
        place, found = self._find(text)
        out = np.where(found, self.logs[place], self.unseen_log)
        out[text.isna().to_numpy(bool)] = np.nan
        return out[:, None]

    def _find(self, text):
        hashes = on_unique(text, _hashes, np.uint64(0))
        place = np.searchsorted(self.hashes, hashes).clip(max=len(self.hashes) - 1)
        return place, self.hashes[place] == hashes

    def describe(self, k, value):
        """Return the most common level whose frequency is nearest."""
        logs = self.text_logs
        if value < (self.unseen_log + self.logs.min()) / 2:
            return "a new value"
        if value < logs[-1] - 1e-9 and len(self.logs) > len(logs):
            others = np.unique(self.logs[self.logs < logs[-1]])
            if len(others) and np.abs(others - value).min() < logs[-1] - value:
                return "a rare value"
        return self.texts[int(np.argmin(np.abs(logs - value)))]


class DateEncoder:
    """Encode dates as day, weekday and hour.

    Days are counted from 1970. A day outside the period of the training data counts
    as its first or last day, unless it is further away than the period is long.
    """

    def __init__(self, name, form, column):
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
            return None
        days = to_days(column, self.form)
        return pd.Series(
            pd.to_datetime(days, unit="D", errors="coerce"), index=column.index
        )

    def unseen(self, column):
        """Return which values are not dates, None if all are."""
        if column.dtype.kind == "M":
            return None
        return np.isnan(to_days(column, self.form)) & ~is_missing(column)

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

    def describe(self, k, value):
        """Return the text of a day, a weekday or a time."""
        part = self.parts[k]
        if part == "day":
            last = datetime.date.max.toordinal()
            day = int(np.clip(round(value) + DAY_0, 1, last))
            return datetime.date.fromordinal(day).isoformat()
        if part == "weekday":
            return WEEKDAYS[round(float(np.clip(value, 0, 6)))]
        minutes = round(float(np.clip(value, 0, 24)) * 60)
        return f"{minutes // 60:02d}:{minutes % 60:02d}"


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


def duration_text(seconds):
    """Write a duration as hours, minutes and seconds."""
    sign, seconds = "-" * (seconds < 0), abs(seconds)
    whole = int(seconds)
    fraction = f"{seconds - whole:.3f}"[1:].rstrip("0").rstrip(".")
    minutes, whole = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{hours}:{minutes:02d}:{whole:02d}{fraction}"


def _part(days, part):
    whole = np.floor(days)
    if part == "day":
        return whole
    if part == "weekday":
        return (whole + 3) % 7  # 1970 began on a Thursday; Monday is 0
    return np.round((days - whole) * 24, 6)  # equal hours on different days are equal


def _hashes(text):
    import pandas as pd

    return pd.util.hash_array(np.array(text, dtype=object), categorize=False)
