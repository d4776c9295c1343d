"""Encoders for columns of a single kind, with missing values as NaN."""

import datetime

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skim.tables._text import (
    PLAIN,
    days_since_1970,
    parse_dates,
    parse_numbers,
    to_text,
)

MIN_UNREADABLE = 10  # fewer unreadable numbers than this are never an error
RARE_SHARE = 0.01  # rarer levels are grouped
MANY_GAPS = 0.5  # where more is missing, a gap is no evidence
FEW_LEVELS = 20  # levels whose texts are kept, and so many that a new one is news
BEYOND = 100.0  # ranges between an infinite value and the most extreme finite one
DAY_PARTS = ("day", "weekday", "hour")
WEEKDAYS = (
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
)  # fmt: skip
MAX_DIGITS = 6  # significant digits of numbers with a fraction
DAY_0 = datetime.date(1970, 1, 1).toordinal()


class ColumnsEncoder(TransformerMixin, BaseEstimator):
    """Base class of encoders that handle each column on its own.

    Subclasses implement `_learn`, which returns the feature suffixes of a column, what
    to remember about it (plain values and arrays), and which values are missing;
    `_encode`, which writes the features; and `_describe`.

    Parameters
    ----------
    names : list of str
        For each column, its name in error messages.
    forms : list of dict
        For each column, how its text is written.
    flag : bool
        Whether missing values get a feature of their own.

    Attributes
    ----------
    suffixes_ : list of list of str
        For each column, the suffixes that its feature names add to its own name.
    """

    def __init__(self, names, forms, flag):
        self.names = names
        self.forms = forms
        self.flag = flag

    def fit(self, X, y=None):
        """Fit to a DataFrame, column by column."""
        self.suffixes_, self.learned_ = [], []
        for j in range(X.shape[1]):
            suffixes, learned, missing = self._learn(X.iloc[:, j], j)
            flagged = self.flag and is_informative(missing)
            self.suffixes_.append(suffixes + ["_missing"] * flagged)
            self.learned_.append(learned)
        return self

    def transform(self, X):
        """Return the features, an ndarray of shape (n_samples, n_features_out)."""
        check_is_fitted(self)
        ends = np.cumsum([len(suffixes) for suffixes in self.suffixes_])
        out = np.zeros((len(X), ends[-1]))
        for j, (suffixes, end) in enumerate(zip(self.suffixes_, ends, strict=True)):
            column, features = X.iloc[:, j], out[:, end - len(suffixes) : end]
            if suffixes == ["_missing"]:
                features[:, 0] = is_missing(column)
            elif suffixes[-1] == "_missing":
                self._encode(column, j, self.learned_[j], features[:, :-1])
                features[:, -1] = np.isnan(features[:, 0])
            else:
                self._encode(column, j, self.learned_[j], features)
        return out

    def describe(self, j, k, value):
        """Return the text of a value of the k-th feature of the j-th column."""
        if np.isnan(value):
            return "missing"
        if self.suffixes_[j][k] == "_missing":
            return "missing" if value >= 0.5 else "present"
        return self._describe(j, k, value)

    def parsed(self, column, j):
        """Return the j-th column with its text parsed."""
        return column

    def unseen(self, column, j):
        """Return which values of the j-th column are unheard of."""
        lost = np.isnan(self.parsed(column, j).to_numpy(np.float64, na_value=np.nan))
        return lost & ~is_missing(column)

    def get_feature_names_out(self, input_features):
        """Return the names of the features."""
        return np.array(
            [
                f"{name}{suffix}"
                for name, suffixes in zip(input_features, self.suffixes_, strict=True)
                for suffix in suffixes
            ],
            dtype=object,
        )


class NumberEncoder(ColumnsEncoder):
    """Encode numbers as they are, and infinite ones as numbers far beyond the rest."""

    def parsed(self, column, j):
        import pandas as pd

        if column.dtype.kind in "iufb":
            return column
        return pd.Series(to_numbers(column, self.forms[j]), index=column.index)

    def _learn(self, column, j):
        import pandas as pd

        values = to_numbers(column, self.forms[j])
        finite = values[np.isfinite(values)]
        limit = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            reach = BEYOND * (finite.max() - finite.min())
            ends = [finite.min() - reach, finite.max() + reach]
        form = self.forms[j]
        learned = {
            "infinite": [float(np.clip(end, -limit, limit)) for end in ends],
            "n_decimals": n_decimals(finite),
            "is_boolean": bool(pd.api.types.is_bool_dtype(column.dtype)),
            "is_duration": bool(form.get("is_duration"))
            or bool(pd.api.types.is_timedelta64_dtype(column.dtype)),
        }
        return [""], learned, np.isnan(values)

    def _encode(self, column, j, learned, out):
        values = to_numbers(column, self.forms[j])
        self._check_readable(column, j, np.isnan(values))
        low, high = learned["infinite"]
        infinite = np.isinf(values)
        values[infinite] = np.where(values[infinite] < 0, low, high)
        out[:, 0] = values

    def _describe(self, j, k, value):
        learned, form = self.learned_[j], self.forms[j]
        low, high = learned["infinite"]
        if low == high:
            low, high = -np.inf, np.inf
        if not low < value < high:
            return "-inf" if value <= low else "inf"
        if learned["is_boolean"]:
            return str(bool(value >= 0.5))
        if learned["is_duration"]:
            return duration_text(value)
        text = number_text(value, learned["n_decimals"])
        if form.get("decimal") == ",":
            text = text.replace(".", ",")
        sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
        return sign + form.get("template", "{}").replace("{}", digits)

    def _check_readable(self, column, j, missing):
        """Raise if most of the text in a column is not numeric."""
        if column.dtype.kind in "iufb" or not missing.any():
            return
        present = ~is_missing(column)
        lost = missing & present
        n_lost, n_values = int(lost.sum()), int(present.sum())
        if n_lost >= MIN_UNREADABLE and n_lost > n_values / 2:
            raise ValueError(
                f"{n_lost} of {n_values} values in column {self.names[j]!r} cannot be "
                f"read as numbers, such as {str(column[lost].iloc[0])!r}; use the "
                "number format of the training data."
            )


class CategoryEncoder(ColumnsEncoder):
    """One-hot encode levels, with one feature for rare levels.

    A level not seen during `fit` counts as rare. If there were no rare levels, all
    features are -1, because all zeros would be too easy to reconstruct.
    """

    def _learn(self, column, j):
        text = to_text(column)
        counts = text.value_counts()
        if len(counts) < 2:
            levels = counts.index.tolist()
            return [], {"levels": levels, "rare": []}, text.isna().to_numpy(bool)
        common = counts.index[counts >= RARE_SHARE * len(text)]
        levels = sorted(common.tolist())
        rare = sorted(set(counts.index.tolist()) - set(levels))
        suffixes = [f"_{level}" for level in levels] + ["_(rare)"] * bool(rare)
        learned = {"levels": levels, "rare": rare}
        return suffixes, learned, text.isna().to_numpy(bool)

    def _encode(self, column, j, learned, out):
        import pandas as pd

        levels = learned["levels"]
        text = to_text(column)
        place = pd.Index(levels, dtype="string").get_indexer(text)
        if learned["rare"]:
            place[place < 0] = len(levels)
        unknown = place < 0
        out[unknown] = -1.0
        out[~unknown, place[~unknown]] = 1.0
        out[text.isna().to_numpy(bool)] = np.nan

    def _describe(self, j, k, value):
        levels = self.learned_[j]["levels"]
        level = levels[k] if k < len(levels) else "a rare level"
        return level if value >= 0.5 else f"not {level}"

    def unseen(self, column, j):
        """Return which values of the j-th column were not seen in `fit`."""
        learned = self.learned_[j]
        text = to_text(column)
        return (
            text.notna() & ~text.isin(learned["levels"] + learned["rare"])
        ).to_numpy(bool)


class FrequencyEncoder(ColumnsEncoder):
    """Encode values by the logarithm of their frequency.

    Values are stored as hashes, so long text takes little memory. A value not seen
    during `fit` counts as rarer than any that was.
    """

    def _learn(self, column, j):
        text = to_text(column)
        counts = text.value_counts()
        n_known = int(counts.sum())
        hashes = _hashes(counts.index)
        order = np.argsort(hashes)
        logs = np.log(counts.to_numpy(np.float64) / n_known)
        # The most common levels; equally common ones in alphabetical order.
        common = counts.iloc[: 10 * FEW_LEVELS]
        common = sorted(zip(-common.to_numpy(np.int64), common.index, strict=True))
        common = common[:FEW_LEVELS]
        learned = {
            "hashes": hashes[order],
            "logs": logs[order],
            "unseen": float(np.log(0.5 / n_known)),
            "texts": [str(text) for _, text in common],
            "text_logs": np.log([-count / n_known for count, _ in common]),
        }
        suffixes = ["_frequency"] if len(counts) > 1 else []
        return suffixes, learned, text.isna().to_numpy(bool)

    def _encode(self, column, j, learned, out):
        text = to_text(column)
        place, found = self._places(text, learned)
        out[:, 0] = np.where(found, learned["logs"][place], learned["unseen"])
        out[text.isna().to_numpy(bool), 0] = np.nan

    def _places(self, text, learned):
        known, hashes = learned["hashes"], _hashes(text.fillna(""))
        place = np.searchsorted(known, hashes).clip(max=len(known) - 1)
        return place, known[place] == hashes

    def _describe(self, j, k, value):
        learned = self.learned_[j]
        logs = learned["text_logs"]
        if value < (learned["unseen"] + learned["logs"].min()) / 2:
            return "a new value"
        if value < logs[-1] - 1e-9 and len(learned["logs"]) > len(logs):
            others = np.unique(learned["logs"][learned["logs"] < logs[-1]])
            if len(others) and np.abs(others - value).min() < logs[-1] - value:
                return "a rare value"
        return learned["texts"][int(np.argmin(np.abs(logs - value)))]

    def unseen(self, column, j):
        """Return which values were not seen in `fit`, if there were few levels."""
        learned = self.learned_[j]
        if len(learned["hashes"]) > FEW_LEVELS:
            return np.zeros(len(column), bool)
        text = to_text(column)
        _, found = self._places(text, learned)
        return ~found & text.notna().to_numpy(bool)


class DateEncoder(ColumnsEncoder):
    """Encode dates as day, weekday and hour.

    Days are counted from 1970. A day outside the period of the training data counts
    as its first or last day, unless it is further away than the period is long.
    """

    def parsed(self, column, j):
        import pandas as pd

        days = to_days(column, self.forms[j])
        dates = pd.to_datetime(days, unit="D", errors="coerce")
        return pd.Series(dates, index=column.index)

    def unseen(self, column, j):
        """Return which values of the j-th column are not dates."""
        return np.isnan(to_days(column, self.forms[j])) & ~is_missing(column)

    def _learn(self, column, j):
        days = to_days(column, self.forms[j])
        parts = varying_parts(days)
        learned = {
            "first": float(np.floor(np.nanmin(days))),
            "last": float(np.floor(np.nanmax(days))),
            "parts": parts,
        }
        return [f"_{part}" for part in parts], learned, np.isnan(days)

    def _encode(self, column, j, learned, out):
        days = to_days(column, self.forms[j])
        first, last = learned["first"], learned["last"]
        reach = last - first
        for k, part in enumerate(learned["parts"]):
            values = _part(days, part)
            if part == "day":
                later = np.maximum(np.minimum(values, last), values - reach)
                values = np.minimum(np.maximum(later, first), later + reach)
            out[:, k] = values

    def _describe(self, j, k, value):
        part = self.learned_[j]["parts"][k]
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
    if column.dtype.kind in "iufbmM":
        return column.isna().to_numpy(bool)
    return to_text(column).isna().to_numpy(bool)


def is_informative(missing):
    """Whether gaps tell something: there are some, but not in most rows."""
    return bool(missing.any() and missing.mean() <= MANY_GAPS)


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

    return pd.util.hash_array(text.astype(object).to_numpy())
