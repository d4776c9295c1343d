"""What is strange about the rows of a table, in words."""

from __future__ import annotations

import datetime

import numpy as np

from skim.tables._cells import KINDS, UNUSUAL

N_LEVELS = 3  # that are named where a rare one stands
N_COMBINED = 3  # columns of a combination
MAX_LENGTH = 60  # of a cell that is shown
MOST_SIMILAR = 0.75  # share of similar rows that have one level, to expect it
MIN_SHARE = 0.25  # of the strangest cell's surprise that makes another one a reason
COLUMNS = ["row", "kind", "column", "value", "expected", "surprise"]
DAY_0 = datetime.date(1970, 1, 1).toordinal()


def table_reasons(model, frame, n_reasons):
    """Return the reasons of rows, one line each, as a DataFrame.

    Cells that are strange by themselves, or beside others with the same level of
    another column, come first, then those that are among the most
    extreme or rarest 2 % of their column. A row that has none is compared
    with similar rows: a cell that they would not have is a reason ("context"), and if
    there is none either, the columns that set the row apart are named together.
    """
    import pandas as pd

    columns = model.columns(frame)
    codes = model.codes(columns.texts, len(frame))
    judged = model.judge_cells(columns, codes)
    excess = model.excess(judged)
    unusual = np.where(judged.cells > -np.log(UNUSUAL), judged.cells, 0)
    excess = np.where((excess > 0).any(axis=1, keepdims=True), excess, unusual)
    is_strange = np.asarray((excess > 0).any(axis=1))
    comparable = model.comparable(columns.numbers)
    compared = model.neighbours.squares(comparable[~is_strange], codes[~is_strange])
    lines = []
    for i, row in enumerate(frame.index):
        told = Row(model, frame, columns, codes, comparable, i)
        if is_strange[i]:
            found = told.cells(excess[i], judged.kinds[i], n_reasons)
        else:
            squares = next(compared)
            similar = model.neighbours.similar(squares)
            found = told.context(similar) or told.context(similar, clearly=False)
            found = found or [told.combination(squares)]
        found.sort(key=lambda reason: -reason[-1])
        found = [r for r in found if r[-1] >= MIN_SHARE * found[0][-1]]
        lines += [(row, *reason) for reason in found[:n_reasons]]
    return pd.DataFrame(lines, columns=COLUMNS)


class Row:
    """A row whose reasons are sought.

    Parameters
    ----------
    model : TableModel
    frame : DataFrame
    columns : Columns
    codes : ndarray of int of shape (n, q)
    comparable : ndarray of shape (n, p)
        Numbers that can be compared with those of other rows, NaN otherwise.
    i : int
        The place of the row in the table.
    """

    def __init__(self, model, frame, columns, codes, comparable, i):
        self.model = model
        self.names = model.names
        self.frame = frame
        self.numbers = columns.numbers[i]
        self.missing = columns.missing[i]
        self.texts = [text.iloc[i] for text in columns.texts]
        self.codes = codes[i]
        self.comparable = comparable[i]
        self.i = i
        self.group = None
        if model.by is not None:
            self.group = model.groups_of(frame.iloc[[i]])[0]

    def cells(self, excess, kinds, n_reasons):
        """Return the reasons that are single cells."""
        strange = [
            j
            for j in np.flatnonzero(excess > 0)
            if KINDS[kinds[j]] != "order" or not excess[self._earlier_than_own(j)] > 0
        ]
        strange.sort(key=lambda j: -excess[j])
        found = []
        for j in strange[:n_reasons]:
            kind, cell = KINDS[kinds[j]], (self.names[j], self.written(j))
            found.append((kind, *cell, self.expected(j, kind), float(excess[j])))
        return found

    def context(self, similar, clearly=True):
        """Return the cells that similar rows would not have.

        Parameters
        ----------
        similar : ndarray of int of shape (n_similar, p + q)
            For each column, the rows that are similar in the others.
        clearly : bool
            Whether numbers must be far from those of similar rows, and these agree on
            a level.
        """
        found = []
        for j, name in enumerate(self.names):
            compare = self._number_in_context
            if j >= len(self.numbers):
                compare = self._level_in_context
            told = None if self.missing[j] else compare(j, similar[:, j], clearly)
            if told is not None:
                expected, surprise = told
                found.append(("context", name, self.written(j), expected, surprise))
        return found

    def _number_in_context(self, j, similar, clearly):
        values = self.model.neighbours.numbers[similar, j]
        values, value = values[np.isfinite(values)], self.comparable[j]
        if not len(values) or not np.isfinite(value):
            return None
        low, high = values.min(), values.max()
        outside = max(low - value, value - high)
        width = max((high - low) / 2, self.model.neighbours.space.spread[j] / 4)
        if not outside > (width / 2 if clearly else 0):
            return None
        return self._range(j, low, high), float(outside / width)

    def _level_in_context(self, j, similar, clearly):
        k = j - len(self.numbers)
        codes = self.model.neighbours.codes[similar, k]
        usual, counts = np.unique(codes[codes >= 0], return_counts=True)
        if not len(usual) or self.codes[k] in usual:
            return None
        if clearly and counts.max() < MOST_SIMILAR * len(codes):
            return None
        names = list(self.model.levels.values())[k].names
        order = np.argsort(-counts, kind="stable")
        expected = listed([names[code] for code in usual[order]])
        return expected, float(np.log(len(codes) + 1))

    def combination(self, squares):
        """Name the columns in which the row differs most from those like it."""
        differences = self.model.neighbours.differences(squares)
        differences[self.missing] = 0
        differences[: len(self.numbers)][np.isnan(self.comparable)] = 0
        order = np.argsort(-differences, kind="stable")[:N_COMBINED].tolist()
        told = [j for j in order if differences[j] > 0]
        first = sorted(told if len(told) > 1 else order)
        names = [self.names[j] for j in first]
        values = [self.written(j) for j in first]
        expected = "values that go together"
        return "combination", _joined(names), _joined(values), expected, 1.0

    def written(self, j):
        """Return a cell as it is written in the table."""
        return cell_text(self.frame[self.names[j]].iloc[self.i])

    def expected(self, j, kind):
        """Say what was expected in a cell."""
        name = self.names[j]
        is_date = name in self.model.dates
        if kind == "missing":
            return "a value"
        if j >= len(self.numbers):
            cells, level = self.model.levels[name], self.texts[j - len(self.numbers)]
            if kind == "misspelling":
                return cell_text(cells.meaning(level))
            if kind == "conflict":
                return self._ruled(name)
            return listed(self._usual_levels(cells, level))
        cells = self.model.numbers[name]
        if kind == "unreadable":
            return "a date" if is_date else self._example(j, cells)
        if kind == "order":
            k = self._earlier_than_own(j)
            return f"no later than {self.names[k]} {self.written(k)}"
        if kind == "context":
            context = self.model.contexts[name]
            code = self.codes[list(self.model.levels).index(context.level)]
            seen = cells.upper.values[[0, -1]]
            expected = self._range(j, *np.clip(context.usual(code), *seen))
            return f"{expected}, {self._as_with(context.level)}"
        expected = self._range(j, -cells.lower.usual, cells.upper.usual)
        return f"{expected}, or a gap" if kind == "code" else expected

    def _earlier_than_own(self, j):
        """Return the column whose date should not be before that of column j."""
        names = self.names
        later = [names.index(b) for a, b, _ in self.model.orders if a == names[j]]
        return min(later, key=lambda k: np.nan_to_num(self.numbers[k], nan=np.inf))

    def _usual_levels(self, cells, level):
        """Return levels that are more frequent than a rare one, one more than named."""
        rarity = cells.surprise.get(level, np.inf)
        others = [name for name in cells.names[: N_LEVELS + 2] if name != level]
        usual = [
            name
            for name in others
            if name not in cells.meant and cells.surprise[name] < rarity
        ]
        return (usual or others)[: N_LEVELS + 1]

    def _example(self, j, cells):
        """Say what a number looks like, if it is not only digits."""
        middle = float(cells.upper.values[len(cells.upper.values) // 2])
        text = self._range(j, middle, middle)
        has_unit = any(not c.isdigit() and c not in "-.,e+" for c in text)
        return f"a number such as {text}" if has_unit else "a number"

    def _ruled(self, name):
        """Return the level that another column of the row demands."""
        levels = list(self.model.levels)
        own = self.codes[levels.index(name)]
        for first, second, usual, _ in self.model.rules:
            code = self.codes[levels.index(first)]
            if (
                second == name
                and 0 <= code < len(usual)
                and usual[code] not in (-1, own)
            ):
                level = self.model.levels[name].names[usual[code]]
                return f"{cell_text(level)}, {self._as_with(first)}"
        return ""

    def _as_with(self, name):
        cell = self.written(self.names.index(name))
        return f"as in other rows with {name} {cell}"

    def _range(self, j, low, high):
        name = self.names[j]
        if self.model.groups is not None and name not in self.model.dates:
            low = self.model.groups.restore(low, j, self.group)
            high = self.model.groups.restore(high, j, self.group)
        low, high = (self._number(name, end) for end in (low, high))
        return low if low == high else f"{low} to {high}"

    def _number(self, name, value):
        encoder = self.model.encoder
        if name not in self.model.dates:
            return encoder.describe(name, value)
        place = encoder.feature_names_in_.tolist().index(name)
        return date_text(value, encoder.encoders_[place])


def date_text(days, encoder):
    """Write days since 1970 like the dates of a column, in ISO format if unsure."""
    day = int(np.clip(np.floor(days) + DAY_0, 1, datetime.date.max.toordinal()))
    minute = min(round(days % 1 * 1440), 1439)
    moment = datetime.datetime.combine(
        datetime.date.fromordinal(day), datetime.time(minute // 60, minute % 60)
    )
    if encoder.form.get("order") == "time of day":
        return moment.strftime("%H:%M")
    time = " %H:%M" if "hour" in encoder.parts else ""
    written = encoder.form.get("format", "").split(" ")[0]
    return moment.strftime((written if "%" in written else "%Y-%m-%d") + time)


def cell_text(value, length=MAX_LENGTH):
    """Return a cell for reading: short, on one line, without control codes."""
    import pandas as pd

    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "missing"
    text = f"{value:.15g}" if isinstance(value, float) else str(value)
    text = "".join(c if c.isprintable() else " " for c in text)
    text = text.removesuffix(" 00:00:00")
    return text if len(text) <= length else f"{text[: length - 1]}…"


def listed(levels):
    """Name a few levels."""
    more = ", …" if len(levels) > N_LEVELS else ""
    return ", ".join(cell_text(level) for level in levels[:N_LEVELS]) + more


def _joined(texts):
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
