"""Access to tables of any kind, one column at a time."""

from abc import ABC, abstractmethod
from collections import Counter
from functools import cached_property
from numbers import Real

import numpy as np
from scipy.sparse import issparse

from skim.report._charts import MAX_VALUE, bar_path, limits
from skim.report._text import count, date, interval, number, percent, rows, shorten

N_BINS = 24
N_CATEGORIES = 12  # with a bar each
STRIP = (120, 28)  # size of a column's histogram


class Table:
    """The columns of a pandas or polars DataFrame, or of an array.

    Parameters
    ----------
    data : DataFrame or array-like of shape (n_rows, n_columns)
    names : list of str, default=None
        Names of the columns. By default, those of the DataFrame, or x0, x1, ...
    """

    def __init__(self, data, names=None):
        if issparse(data):
            raise TypeError("X is sparse; pass a dense table or array.")
        if not hasattr(data, "columns"):
            data = np.asarray(data)
        if len(data.shape) != 2:
            raise ValueError(
                f"X must be two-dimensional, but its shape is {tuple(data.shape)}."
            )
        self.data = data
        self.n_rows, self.n_columns = data.shape
        if names is None:
            names = getattr(data, "columns", None)
        if names is None:
            names = [f"x{j}" for j in range(self.n_columns)]
        self.names = [str(name) for name in names]

    def row_names(self):
        """Return the index of a pandas DataFrame, or else the row positions."""
        index = getattr(self.data, "index", None)
        return range(self.n_rows) if index is None else index

    def column(self, j):
        """Return the j-th column."""
        if hasattr(self.data, "iloc"):
            column = self.data.iloc[:, j]
        elif hasattr(self.data, "to_series"):
            column = self.data.to_series(j)
        else:
            column = self.data[:, j]
        values = np.asarray(column)
        missing = _missing(column, values)
        kind = values.dtype.kind
        if kind not in "iufmM" and not _all_numbers(values[~missing]):
            return Categories(values, missing)
        numeric = np.full(len(values), np.nan)
        numeric[~missing] = values[~missing].astype(np.float64)
        return Numbers(values, missing, numeric, date if kind in "mM" else number)


def _missing(column, values):
    if hasattr(column, "isna"):  # handles pandas.NA
        return np.asarray(column.isna(), dtype=bool)
    if values.dtype.kind in "fmM":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    return np.array([value is None or value != value for value in values], dtype=bool)


def _all_numbers(values):
    """Whether objects are numbers, as in nullable integer columns."""
    if values.dtype.kind != "O" or not len(values):
        return False
    return all(isinstance(v, Real) and not isinstance(v, bool) for v in values)


class Column(ABC):
    """A column, and where each value lies in its distribution.

    Attributes
    ----------
    bars : str
        SVG path of the histogram, of size `STRIP`.
    summary : str
        The distribution in words.
    is_ordered : bool
        Whether a range of values means something.
    """

    is_ordered = False

    def __init__(self, values, missing):
        self._values = values
        self._missing = missing
        self.n_rows = len(values)
        self.n_missing = int(missing.sum())

    @abstractmethod
    def _show(self, i):
        """Return the text of a value that is not missing."""

    @abstractmethod
    def _place(self, i):
        """Describe where a value that is not missing lies."""

    @abstractmethod
    def _rarity(self, rows):
        """Return the share of rows with such values, which are not missing."""

    @abstractmethod
    def _mark(self, i):
        """Return where on the histogram a value that is not missing lies."""

    def describe(self, i):
        """Return the value in row `i` as text, its place and its mark, if any."""
        if self._missing[i]:
            share = percent(self.n_missing / self.n_rows)
            return {
                "value": "missing",
                "place": f"missing in {share} of rows",
                "mark": None,
            }
        mark = round(self._mark(i), 1)
        return {"value": self._show(i), "place": self._place(i), "mark": mark}

    def holds(self, values, rows):
        """Whether `values` are the numbers in some rows, where these have any."""
        return False

    def expectation(self, i, low, high):
        """Return the range expected in row `i` as text, and its band, if any."""
        return {"expected": None, "band": None}

    def rarity(self, rows):
        """Return, for each of some rows, the share of rows with a value like its."""
        shares = np.full(len(rows), self.n_missing / self.n_rows)
        known = ~self._missing[rows]
        shares[known] = self._rarity(rows[known])
        return shares


class Numbers(Column):
    """A column of numbers or dates."""

    is_ordered = True

    def __init__(self, values, missing, numeric, write):
        super().__init__(values, missing)
        self._numeric = numeric
        self._write = write
        self._order = np.argsort(numeric, kind="stable")  # missing values come last
        self._sorted = numeric[self._order]
        self._sorted = self._sorted[: len(values) - int(np.isnan(numeric).sum())]
        drawn = self._sorted[np.isfinite(self._sorted)]
        self._is_whole = bool((np.rint(drawn) == drawn).all())
        if not len(drawn):
            drawn = np.zeros(1)
        self._drawn = drawn
        self._low, self._high = limits(drawn)

    @cached_property
    def bars(self):
        clipped = np.clip(self._drawn, self._low, self._high)
        counts, _ = np.histogram(clipped, N_BINS, (self._low, self._high))
        return bar_path(counts, *STRIP)

    @property
    def summary(self):
        n = len(self._sorted)
        if n == 0:
            return "no values"
        low, middle, high = (self._show(self._order[k]) for k in (0, n // 2, n - 1))
        if low == high:
            return f"always {low}"
        return f"{low} to {high}, median {middle}"

    def _show(self, i):
        return self._write(self._values[i])

    def _around(self, rows):
        """Return the numbers of smaller and of larger values."""
        values = self._numeric[rows]
        below = np.searchsorted(self._sorted, values, side="left")
        above = np.searchsorted(self._sorted, values, side="right")
        return below, len(self._sorted) - above

    def _rarity(self, rows):
        n = len(self._sorted)
        return np.minimum(2 * (n - np.maximum(*self._around(rows))) / n, 1.0)

    def _place(self, i):
        n = len(self._sorted)
        below, above = self._around(i)
        if n - below - above > n / 2:
            return f"as in {percent((n - below - above) / n)} of rows"
        if below == n - 1:
            return "the highest value"
        if above == n - 1:
            return "the lowest value"
        if below >= above:
            return f"above {percent(below / n)} of rows"
        return f"below {percent(above / n)} of rows"

    def _mark(self, i):
        return self._pixel(self._numeric[i])

    def _pixel(self, value):
        value = np.clip(value, -MAX_VALUE, MAX_VALUE)
        share = (value - self._low) / (self._high - self._low)
        return STRIP[0] * float(np.clip(share, 0, 1))

    def holds(self, values, rows):
        if self._write is not number:
            return False
        mine = self._numeric[rows]
        known = np.isfinite(mine)
        same = np.isclose(mine[known], values[known], rtol=1e-6, atol=0)
        return bool(known.any() and same.all())

    def expectation(self, i, low, high):
        if not (np.isfinite(low) and np.isfinite(high)):
            return super().expectation(i, low, high)
        start, end = self._pixel(low), self._pixel(high)
        ends, value = (float(low), float(high)), float(self._numeric[i])
        return {
            "expected": interval(*ends, value, self._is_whole),
            "band": (round(start, 1), round(max(end - start, 1.0), 1)),
        }


class Categories(Column):
    """A column of anything else, with values compared as text."""

    def __init__(self, values, missing):
        super().__init__(values, missing)
        self._counts = Counter(map(str, values[~missing]))
        common = self._counts.most_common(N_CATEGORIES)
        self._bar_of = {name: k for k, (name, _) in enumerate(common)}
        heights = [n for _, n in common]
        if len(self._counts) > len(common):
            heights.append(0)  # room to mark rarer values
        self._n_bars = len(heights)
        self.bars = bar_path(heights, *STRIP, gap=2)

    @property
    def summary(self):
        n = len(self._counts)
        if n == 0:
            return "no values"
        name, size = self._counts.most_common(1)[0]
        share = percent(size / self._counts.total())
        if n == 1:
            return f"always {shorten(name)}"
        return f"{count(n)} values, most often {shorten(name)} ({share})"

    def _show(self, i):
        return str(self._values[i])

    def _rarity(self, rows):
        sizes = [self._counts[str(value)] for value in self._values[rows]]
        return np.array(sizes) / self._counts.total()

    def _place(self, i):
        size = self._counts[str(self._values[i])]
        total = self._counts.total()
        if size == 1:
            return f"the only one in {rows(total)}"
        return f"as in {percent(size / total)} of rows"

    def _mark(self, i):
        bar = self._bar_of.get(str(self._values[i]), self._n_bars - 1)
        return STRIP[0] * (bar + 0.5) / self._n_bars
