"""Errors of known kinds, planted in a few rows of a table of text."""

import re
import string
import zlib
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.tables._sources import typed

SHARE = 0.01  # of the rows
MIN_PLANTED = 5
MIN_COUNT = 10  # rows of a level that can be told from its misspelling
MANY_LEVELS = 0.5  # distinct values per row of text that is not a category
YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")


class Columns(NamedTuple):
    """The columns that errors are planted in.

    `numbers` have more than two distinct values and do not just number the rows.
    """

    table: pd.DataFrame
    numbers: list
    levels: list
    dates: list

    @classmethod
    def of(cls, text):
        """Sort the columns of a table of text."""
        table = typed(text)
        table.columns = text.columns
        numbers, levels, dates = [], [], []
        for name in table:
            column = table[name].dropna()
            if pd.api.types.is_bool_dtype(column):
                continue
            if pd.api.types.is_numeric_dtype(column):
                if column.nunique() > 2 and not _counts(column):
                    numbers.append(name)
            elif column.astype(str).str.match(r"\d{4}[-/]\d").mean() > 0.9:
                dates.append(name)
            elif len(column) and column.nunique() <= MANY_LEVELS * len(column):
                levels.append(name)
        return cls(table, numbers, levels, dates)


def _counts(column):
    steps = np.diff(np.sort(column.to_numpy(float)))
    return len(steps) > 0 and bool((steps == 1).all())


def applies(kind, columns):
    """Whether a table has the columns for a kind of error."""
    if kind == "misspelt":
        return bool(columns.levels)
    if kind == "date":
        return bool(columns.dates)
    return len(columns.numbers) >= (2 if kind == "swapped" else 1)


def plant(text, kind, seed, name="", columns=None):
    """Return a copy of a table of text with errors, and the positions of their rows.

    One error of the given kind goes into each of 1 % of the rows, at least 5. Which
    rows and cells, and what is written there, depends on the name of the table, the
    kind and the seed.
    """
    rng = np.random.default_rng([seed, zlib.crc32(f"{name} {kind}".encode())])
    columns = columns or Columns.of(text)
    spoil = KINDS[kind]
    cells = text.to_numpy(object, copy=True)
    place = {name: j for j, name in enumerate(text.columns)}
    table = _Table(text, cells, columns, place)
    wanted = max(MIN_PLANTED, round(SHARE * len(text)))
    planted = []
    for row in rng.permutation(len(text)):
        if spoil(table, row, rng):
            planted.append(row)
        if len(planted) == wanted:
            break
    spoilt = pd.DataFrame(cells, columns=text.columns)
    return spoilt, np.sort(np.array(planted, dtype=int))


class _Table:
    """A table whose cells are being spoilt."""

    def __init__(self, text, cells, columns, place):
        self.cells = cells
        self.columns = columns
        self.place = place
        self.values = columns.table[columns.numbers].to_numpy(float, na_value=np.nan)
        self.is_whole = [_is_whole(v[np.isfinite(v)]) for v in self.values.T]
        self.spread = [_spread(v[np.isfinite(v)]) for v in self.values.T]
        self.counts = {name: text[name].value_counts() for name in columns.levels}

    def numbers(self, row, where=np.isfinite):
        """Return the numeric cells of a row, as positions among the numbers."""
        return np.flatnonzero(where(self.values[row]))

    def write(self, row, k, value):
        """Write a number, without decimals where the column has none."""
        text = str(round(value)) if self.is_whole[k] else repr(float(f"{value:.6g}"))
        return self.put(row, self.columns.numbers[k], text)

    def put(self, row, name, text):
        """Write a cell; return whether that changed it."""
        changed = self.cells[row, self.place[name]] != text
        self.cells[row, self.place[name]] = text
        return changed


def _is_whole(values):
    return bool((values == np.round(values)).all())


def _spread(values):
    """Return the median and the robust standard deviation, the plain one if it is 0."""
    low, middle, high = np.percentile(values, [25, 50, 75])
    return middle, (high - low) / 1.349 or values.std()


def _not_zero(values):
    return np.isfinite(values) & (values != 0)


def _absurd(size, table, row, rng):
    found = table.numbers(row)
    if not len(found):
        return False
    k = rng.choice(found)
    middle, spread = table.spread[k]
    return table.write(row, k, middle + rng.choice([-1, 1]) * size * spread)


def _times(factor, table, row, rng):
    found = table.numbers(row, _not_zero)
    if not len(found):
        return False
    k = rng.choice(found)
    return table.write(row, k, table.values[row, k] * factor)


def _swapped(table, row, rng):
    found = table.numbers(row)
    pairs = [
        (a, b)
        for a in found
        for b in found
        if a < b and table.values[row, a] != table.values[row, b]
    ]
    if not pairs:
        return False
    first, second = (table.place[table.columns.numbers[k]] for k in rng.choice(pairs))
    cells = table.cells[row]
    cells[first], cells[second] = cells[second], cells[first]
    return True


def _misspelt(table, row, rng):
    names = [
        name
        for name, counts in table.counts.items()
        if counts[level := table.cells[row, table.place[name]]] >= MIN_COUNT
        and any(letter in string.ascii_letters for letter in level)
    ]
    if not names:
        return False
    name = str(rng.choice(names))
    level = table.cells[row, table.place[name]]
    letters = [at for at, c in enumerate(level) if c in string.ascii_letters]
    at = int(rng.choice(letters))
    alphabet = "uppercase" if level[at].isupper() else "lowercase"
    others = [
        level[:at] + letter + level[at + 1 :]
        for letter in getattr(string, f"ascii_{alphabet}")
    ]
    others = [other for other in others if other not in table.counts[name]]
    return bool(others) and table.put(row, name, str(rng.choice(others)))


def _date(table, row, rng):
    names = [
        name
        for name in table.columns.dates
        if YEAR.search(table.cells[row, table.place[name]])
    ]
    if not names:
        return False
    name = str(rng.choice(names))
    years = int(rng.choice([-100, 100]))
    text = table.cells[row, table.place[name]]
    return table.put(row, name, YEAR.sub(lambda y: str(int(y[0]) + years), text, 1))


def _copied(table, row, rng):
    """Overwrite a row by a copy of another, with one number changed."""
    cells = table.cells[int(rng.integers(len(table.cells)))].copy()
    table.cells[row] = cells
    found = table.numbers(row)
    if not len(found):
        return False
    k = rng.choice(found)
    other = table.values[int(rng.integers(len(table.cells))), k]
    return bool(np.isfinite(other)) and table.write(row, k, float(other))


def _mixed(table, row, rng):
    """Make an error of a random kind, another one if that does not apply here."""
    return any(KINDS[kind](table, row, rng) for kind in rng.permutation(MIXED))


def _shifted(table, row, rng):
    table.cells[row, 1:] = table.cells[row, :-1].copy()
    table.cells[row, 0] = ""
    return True


def _kind(function, *arguments):
    return lambda table, row, rng: function(*arguments, table, row, rng)


KINDS = {
    "10 sd": _kind(_absurd, 10),
    "30 sd": _kind(_absurd, 30),
    "1000 sd": _kind(_absurd, 1000),
    "unit 10": _kind(_times, 10),
    "unit 100": _kind(_times, 100),
    "unit 1000": _kind(_times, 1000),
    "sign": _kind(_times, -1),
    "swapped": _swapped,
    "misspelt": _misspelt,
    "date": _date,
    "shifted": _shifted,
    "copied": _copied,
    "mixed": _mixed,
}
MIXED = (
    *("10 sd", "unit 10", "unit 100", "sign", "swapped", "misspelt", "date"),
    *("shifted", "copied"),
)
