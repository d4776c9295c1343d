"""Encoders for columns of a single kind, with finite numbers as output."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skim.tables._text import ISO, days_since_1970, parse_dates, parse_numbers, to_text

MIN_UNREADABLE = 10  # fewer unreadable numbers than this are never an error
RARE_SHARE = 0.01  # rarer levels are grouped
DAY_PARTS = ("day", "weekday", "hour")


class ColumnsEncoder(TransformerMixin, BaseEstimator):
    """Base class of encoders that handle each column on its own.

    Subclasses implement `_learn`, which returns the feature suffixes of a column and
    what to remember about it (plain values and arrays), and `_encode`, which writes
    the features.

    Attributes
    ----------
    suffixes_ : list of list of str
        For each column, the suffixes that its feature names add to its own name.
    """

    def fit(self, X, y=None):
        """Fit to a DataFrame, column by column."""
        columns = [self._learn(X.iloc[:, j], j) for j in range(X.shape[1])]
        self.suffixes_ = [suffixes for suffixes, _ in columns]
        self.learned_ = [learned for _, learned in columns]
        return self

    def transform(self, X):
        """Return the features, an ndarray of shape (n_samples, n_features_out)."""
        check_is_fitted(self)
        ends = np.cumsum([len(suffixes) for suffixes in self.suffixes_])
        out = np.zeros((len(X), ends[-1]))
        for j, (learned, end) in enumerate(zip(self.learned_, ends, strict=True)):
            features = out[:, end - len(self.suffixes_[j]) : end]
            self._encode(X.iloc[:, j], j, learned, features)
        return out

    def parsed(self, column, j):
        """Return the j-th column with its text parsed."""
        return column

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
    """Impute missing numbers by the median and flag them.

    In a column without missing values during `fit`, a missing value becomes a number
    beyond the largest.

    Parameters
    ----------
    decimals : list of {".", ","}
        For each column, the decimal separator of numbers in text.
    names : list of str
        For each column, its name in error messages.
    """

    def __init__(self, decimals, names):
        self.decimals = decimals
        self.names = names

    def parsed(self, column, j):
        if column.dtype.kind in "iufb":
            return column
        return to_numbers(column, self.decimals[j])

    def _learn(self, column, j):
        values = to_numbers(column, self.decimals[j])
        suffixes = ["", "_missing"] if np.isnan(values).any() else [""]
        return suffixes, _fill(values)

    def _encode(self, column, j, fill, out):
        values = to_numbers(column, self.decimals[j])
        missing = np.isnan(values)
        self._check_readable(column, j, missing)
        out[:, 0] = np.where(missing, fill, values)
        if out.shape[1] > 1:
            out[:, 1] = missing

    def _check_readable(self, column, j, missing):
        """Raise if most of the text in a column is not numeric."""
        if column.dtype.kind in "iufb":
            return
        present = column.notna().to_numpy(bool)
        lost = missing & present
        n_lost, n_values = int(lost.sum()), int(present.sum())
        if n_lost >= MIN_UNREADABLE and n_lost > n_values / 2:
            raise ValueError(
                f"{n_lost} of {n_values} values in column {self.names[j]!r} cannot be "
                f"read as numbers, such as {str(column[lost].iloc[0])!r}; use the "
                "number format of the training data."
            )


class CategoryEncoder(ColumnsEncoder):
    """One-hot encode levels, with one feature for rare levels and one for missing.

    A level not seen during `fit` counts as rare. If there were no rare levels, all
    features are -1, because all zeros would be too easy to reconstruct.
    """

    def _learn(self, column, j):
        text = to_text(column)
        counts = text.value_counts()
        common = counts.index[counts >= RARE_SHARE * len(text)]
        levels = sorted(common.tolist())
        suffixes = [f"_{level}" for level in levels]
        special = []
        if len(levels) < len(counts):
            special.append("rare")
        if text.isna().any():
            special.append("missing")
        suffixes += [f"_({name})" for name in special]
        return suffixes, {"levels": levels, "special": special}

    def _encode(self, column, j, learned, out):
        import pandas as pd

        levels, special = learned["levels"], learned["special"]
        text = to_text(column)
        place = pd.Index(levels, dtype="string").get_indexer(text)
        missing = text.isna().to_numpy(bool)
        if "rare" in special:
            place[place < 0] = len(levels) + special.index("rare")
        place[missing] = -1
        if "missing" in special:
            place[missing] = len(levels) + special.index("missing")
        unknown = place < 0
        out[unknown] = -1.0
        out[~unknown, place[~unknown]] = 1.0


class FrequencyEncoder(ColumnsEncoder):
    """Encode values by the logarithm of their frequency.

    Values are stored as hashes, so long text takes little memory. A value not seen
    during `fit` counts as seen once.
    """

    def _learn(self, column, j):
        hashes, counts = np.unique(_hashes(column), return_counts=True)
        repeated = counts > 1
        learned = {
            "hashes": hashes[repeated],
            "logs": np.log(counts[repeated] / len(column)),
            "once": -np.log(len(column)),
        }
        return ["_frequency"], learned

    def _encode(self, column, j, learned, out):
        known = learned["hashes"]
        out[:, 0] = learned["once"]
        if len(known):
            hashes = _hashes(column)
            place = np.searchsorted(known, hashes).clip(max=len(known) - 1)
            found = known[place] == hashes
            out[found, 0] = learned["logs"][place[found]]


class DateEncoder(ColumnsEncoder):
    """Encode dates as day, weekday and hour, and flag missing ones.

    Days are counted from 1970. A day outside the period of the training data counts
    as its first or last day, unless it is further away than the period is long.

    Parameters
    ----------
    formats : list of str
        For each column, the format of dates in text.
    """

    def __init__(self, formats):
        self.formats = formats

    def parsed(self, column, j):
        import pandas as pd

        return pd.to_datetime(to_days(column, self.formats[j]), unit="D")

    def _learn(self, column, j):
        days = to_days(column, self.formats[j])
        parts = varying_parts(days)
        learned = {
            "first": float(np.floor(np.nanmin(days))),
            "last": float(np.floor(np.nanmax(days))),
            "parts": parts,
            "fills": [_fill(_part(days, part)) for part in parts],
        }
        suffixes = [f"_{part}" for part in parts]
        return suffixes + ["_missing"] * bool(np.isnan(days).any()), learned

    def _encode(self, column, j, learned, out):
        days = to_days(column, self.formats[j])
        missing = np.isnan(days)
        first, last = learned["first"], learned["last"]
        reach = last - first
        parts = zip(learned["parts"], learned["fills"], strict=True)
        for k, (part, fill) in enumerate(parts):
            values = _part(days, part)
            if part == "day":
                later = np.maximum(np.minimum(values, last), values - reach)
                values = np.minimum(np.maximum(later, first), later + reach)
            out[:, k] = np.where(missing, fill, values)
        if out.shape[1] > len(learned["parts"]):
            out[:, -1] = missing


def to_numbers(column, decimal):
    """Return the numbers in a column, NaN for missing and infinite values."""
    import pandas as pd

    if pd.api.types.is_timedelta64_dtype(column.dtype):
        numbers = column.dt.total_seconds().to_numpy(np.float64)
    elif pd.api.types.is_numeric_dtype(column.dtype):
        numbers = column.to_numpy(np.float64, na_value=np.nan)
    else:
        text = to_text(column)
        words = text.str.lower().map({"true": 1.0, "false": 0.0})
        numbers = words.to_numpy(np.float64, na_value=np.nan)
        if np.isnan(numbers).any():
            parsed = parse_numbers(text, decimal)
            numbers = np.where(np.isnan(numbers), parsed, numbers)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def to_days(column, date_format):
    """Return the dates in a column as days since 1970, NaN where missing."""
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return days_since_1970(column)
    text = to_text(column)
    days = parse_dates(text, date_format)
    lost = np.isnan(days) & text.notna().to_numpy(bool)
    if lost.any() and date_format != ISO:
        days[lost] = parse_dates(text[lost], ISO)
    return days


def varying_parts(days):
    """Return the date parts that are not constant."""
    days = days[np.isfinite(days)]
    return [part for part in DAY_PARTS if np.ptp(_part(days, part)) > 0]


def _fill(values):
    """Return the value to impute: the median if any value is missing.

    Otherwise missing values are unheard of, and get a number far beyond the largest.
    """
    present = values[~np.isnan(values)]
    if len(present) < len(values):
        return float(np.median(present))
    largest, smallest = float(present.max()), float(present.min())
    with np.errstate(over="ignore"):
        beyond = largest + (np.float64(largest) - smallest or 1.0)
    return float(min(beyond, np.finfo(np.float64).max))


def _part(days, part):
    whole = np.floor(days)
    if part == "day":
        return whole
    if part == "weekday":
        return (whole + 3) % 7  # 1970 began on a Thursday; Monday is 0
    return np.round((days - whole) * 24, 6)  # equal hours on different days are equal


def _hashes(column):
    import pandas as pd

    return pd.util.hash_array(to_text(column).fillna("").astype(object).to_numpy())
