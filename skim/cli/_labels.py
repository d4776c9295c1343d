"""The labels of a table's rows, in a CSV file that people can read and edit."""

import csv
import hashlib
import io
import sys
from collections import defaultdict
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from skim.cli._files import whole_file
from skim.cli._results import as_text

MEANING = "1 is an outlier, 0 an inlier and nothing unknown"
VALUES = {"1": 1.0, "1.0": 1.0, "0": 0.0, "0.0": 0.0, "": np.nan}
BOM = "\ufeff"  # with which spreadsheets begin a file
LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
N_CHECKSUM = 8  # letters


class Labels:
    """The labels in a file, matched to the rows of a table.

    The file has the columns that identify rows, `label` and `answered`, when the label
    was given. Other columns, and lines that no answer is about, stay as they are. The
    file is read before every change and replaced as a whole.

    Parameters
    ----------
    path : Path
        The file, which need not exist yet.
    keys : Identifiers or Numbers
        How rows are identified.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        1 for outliers, 0 for inliers, NaN for rows without a label.
    is_seen : ndarray of bool of shape (n_rows,)
        Whether a row has a label, or was skipped.
    answered : list of int
        The rows whose answers have a time, in the order of the file.
    """

    def __init__(self, path, keys):
        self.path = path
        self.keys = keys
        self._label, self._time = (
            f"skim_{name}" if name in keys.columns else name
            for name in ("label", "answered")
        )
        self._load()

    def answer(self, row, label):
        """Write the label of a row at once; None means that it was skipped."""
        file, places = self._load()
        if not places[row]:
            places[row].append(len(file.lines))
            file.lines.append(Line(0, self.keys.cells(row)))
        text = "" if label is None else str(int(label))
        time = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        for place in places[row]:
            file.lines[place].cells.update({self._label: text, self._time: time})
        self._save(file)

    def forget(self, row):
        """Take back the answer about a row."""
        file, places = self._load()
        own = {*self.keys.columns, self._label, self._time}
        for place in reversed(places[row]):
            cells = file.lines[place].cells
            if any(text for name, text in cells.items() if name not in own):
                cells |= {self._label: "", self._time: ""}
            else:
                del file.lines[place]
        self._save(file)

    def _save(self, file):
        names = [*self.keys.columns, self._label, self._time]
        file.columns.extend(name for name in names if name not in file.columns)
        with whole_file(self.path) as draft:
            draft.write_bytes(file.to_bytes())
        self._load()

    def _load(self):
        """Read the file; also return the places of the lines about each row."""
        file = read_file(self.path)
        required = [*self.keys.required, self._label]
        missing = [name for name in required if name not in file.columns]
        if file.columns and missing:
            raise ValueError(
                f"{self.path} has no column {missing[0]!r}; it must have "
                f"{', '.join(required)}."
            )
        values = np.full(self.keys.n_rows, np.nan)
        is_seen = np.zeros(self.keys.n_rows, dtype=bool)
        self.answered: list[int] = []
        places: dict[int, list[int]] = defaultdict(list)
        unknown = []
        for place, line in enumerate(file.lines):
            label, time = self._label_of(line), line.cells.get(self._time, "")
            row = self.keys.find(line.cells)
            if row is None:
                unknown += [line] * (not np.isnan(label))
                continue
            places[row].append(place)
            if not np.isnan(label):
                if values[row] == 1 - label:
                    self._refuse_both(row, [file.lines[i] for i in places[row]])
                values[row] = label
            is_seen[row] |= bool(time) or not np.isnan(label)
            self.answered += [row] * bool(time)
        if unknown:
            raise ValueError(self.keys.complaint(self.path, unknown))
        self.values, self.is_seen = values, is_seen
        return file, places

    def _label_of(self, line):
        text = line.cells.get(self._label, "").strip()
        if text not in VALUES:
            raise ValueError(
                f"{self.path} has the label {as_text(text)!r} in line {line.number}: "
                f"{MEANING}."
            )
        return VALUES[text]

    def _refuse_both(self, row, lines):
        said = [str(line.number) for line in lines if self._label_of(line) >= 0]
        raise ValueError(
            f"{self.path} says both 1 and 0 about {self.keys.name(row)} (lines "
            f"{' and '.join(said)}); keep one of them."
        )


def find_labels(path, table, found, *, ids, source):
    """Return the labels of a table, by the columns that the file has.

    Parameters
    ----------
    path : Path
    table : DataFrame
    found : list of str
        Columns that look like identifiers. The first one that identifies all rows by
        itself is used, or else all of them together.
    ids : list of str
        Those that the user named, which take their place.
    source : str
        What the table is called.
    """
    columns = read_file(path).columns
    if ids:
        keys = Identifiers(table, ids, source)
        if keys.unclear is not None:
            raise ValueError(
                f"--id {' --id '.join(ids)} does not identify the rows of {source}, as "
                f"{keys.unclear} shows; add another column, or leave --id out to go "
                "by row number."
            )
        return Labels(path, keys)
    if not {"row", "checksum"} <= set(columns):
        for names in [*([name] for name in found), *([found] if found else [])]:
            if set(names) <= set(columns or names):
                keys = Identifiers(table, names, source)
                if keys.unclear is None:
                    return Labels(path, keys)
    if columns and "row" not in columns:
        raise ValueError(
            f"{path} has none of the columns that identify rows "
            f"({', '.join(found or ['row'])}); name its own with --id."
        )
    return Labels(path, Numbers(table, found, source))


def matched_labels(path, table, reporter, found, *, ids, source):
    """Return the labels of all rows for a fit, and say how many there are."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; skim review makes it.")
    values = find_labels(path, table, found, ids=ids, source=source).values
    if np.isnan(values).all():
        raise ValueError(f"{path} has no labels; answer some with skim review.")
    reporter.say(f"{counted(values)} in {path}, all of rows in the table")
    return values


def counted(values):
    """Return the number of labels in words."""
    n_outliers, n_inliers = int((values == 1).sum()), int((values == 0).sum())
    return (
        f"{_number(n_outliers + n_inliers, 'label')} ({_number(n_outliers, 'outlier')}"
        f", {_number(n_inliers, 'inlier')})"
    )


def agreement(values, is_outlier):
    """Say how many of the labels the threshold agrees with."""
    known = ~np.isnan(values)
    n_agreed = int((values[known] == is_outlier[known]).sum())
    n_labels = int(known.sum())
    return (
        f"The threshold agrees with {n_agreed:,} of {_number(n_labels, 'label')} "
        f"({n_agreed / n_labels:.0%})."
    )


def _number(n, noun):
    return f"{n:,} {noun}{'s' * (n != 1)}"


# Rows ------------------------------------------------------------------------------


class Identifiers:
    """Rows by the columns that identify them.

    Attributes
    ----------
    unclear : str or None
        The name of a row that is missing or not its alone, None without one.
    """

    def __init__(self, table, columns, source):
        self.columns = self.required = list(dict.fromkeys(columns))
        self.source = source
        self.n_rows = len(table)
        frame = table[self.columns]
        names = (map(_full, frame[name]) for name in self.columns)
        self._names = list(zip(*names, strict=True))
        self._rows = {name: row for row, name in enumerate(self._names)}
        is_last = [self._rows[name] == row for row, name in enumerate(self._names)]
        is_unclear = frame.isna().any(axis=1).to_numpy() | ~np.array(is_last)
        self.unclear = self.name(is_unclear.argmax()) if is_unclear.any() else None

    def cells(self, row):
        """Return what identifies a row in the file."""
        return dict(zip(self.columns, self._names[row], strict=True))

    def find(self, cells):
        """Return the row that cells of the file identify, None if there is none."""
        key = tuple(cells.get(name, "").strip() for name in self.columns)
        return self._rows.get(key)

    def name(self, row):
        """Return what to call a row."""
        return _named(self.cells(row))

    def complaint(self, path, lines):
        """Say that lines are about rows which the table does not have."""
        first = {name: lines[0].cells.get(name, "") for name in self.columns}
        more = f" and for {len(lines) - 1:,} more rows" if len(lines) > 1 else ""
        return (
            f"{path} has a label for {_named(first)} (line {lines[0].number}){more} "
            f"which {self.source} does not have; remove it, or give the table that "
            "has it."
        )


class Numbers:
    """Rows by their numbers, with a checksum that shows whether they have changed.

    `names` are columns that say more to people than numbers do.
    """

    required = ("row",)

    def __init__(self, table, names, source):
        self.columns = list(dict.fromkeys(["row", "checksum", *names]))
        self.table = table
        self.source = source
        self.n_rows = len(table)

    def cells(self, row):
        """Return what identifies a row in the file."""
        names = {name: _full(self.table[name].iloc[row]) for name in self.columns[2:]}
        return {"row": str(row + 1), "checksum": self._checksum(row)} | names

    def find(self, cells):
        """Return the row of this number, None if it is not what it was."""
        row = self._place(cells)
        if row is None:
            return None
        checksum = cells.get("checksum", "").strip()
        return row if not checksum or checksum == self._checksum(row) else None

    def name(self, row):
        """Return what to call a row."""
        return f"row {row + 1}"

    def complaint(self, path, lines):
        """Say that lines are about rows which are not there, or have changed."""
        first = lines[0]
        number = as_text(first.cells.get("row", ""))
        more = f" and {len(lines) - 1:,} more rows" if len(lines) > 1 else ""
        if not first.cells.get("checksum") and self._place(first.cells) is None:
            return (
                f"{path} has a label for row {number!r} (line {first.number}){more}, "
                f"but the rows of {self.source} are numbered from 1 to {self.n_rows}."
            )
        return (
            f"{self.source} has changed: row {number}{more} cannot be what {path} has "
            f"a label for (line {first.number}); restore the table, remove these "
            "labels, or begin a new file, with --id if a column identifies rows."
        )

    def _place(self, cells):
        number = cells.get("row", "").strip().removesuffix(".0")
        row = int(number) - 1 if number.isdecimal() else -1
        return row if 0 <= row < self.n_rows else None

    def _checksum(self, row):
        # Letters alone, as spreadsheets would rewrite what looks like a number.
        values = (self.table.iat[row, j] for j in range(self.table.shape[1]))
        cells = "\x1f".join(map(_full, values))
        digest = hashlib.sha256(cells.encode("utf-8", "replace")).hexdigest()
        return digest[:N_CHECKSUM].translate(LETTERS)


def _full(value):
    return as_text(value, sys.maxsize).strip()


def _named(cells):
    return ", ".join(f"{name} {as_text(text)}" for name, text in cells.items())


# The file --------------------------------------------------------------------------


class Line(NamedTuple):
    """A line of a labels file: its number, 0 for a new one, and texts by column."""

    number: int
    cells: dict[str, str]


class LabelsFile(NamedTuple):
    """A CSV file as people write it, which can be written again in the same way."""

    columns: list[str]
    lines: list[Line]
    delimiter: str = ","
    newline: str = "\n"
    has_bom: bool = False

    def to_bytes(self):
        """Return the content of the file."""
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.delimiter, lineterminator=self.newline)
        writer.writerow(self.columns)
        for line in self.lines:
            writer.writerow([line.cells.get(name, "") for name in self.columns])
        return (BOM * self.has_bom + text.getvalue()).encode()


def read_file(path):
    """Return a LabelsFile, empty if there is no such file."""
    if not path.exists():
        return LabelsFile([], [])
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8; save it as CSV in UTF-8.") from None
    has_bom = text.startswith(BOM)
    text = text.removeprefix(BOM)
    header = text.partition("\n")[0]
    newline = "\r\n" if header.endswith("\r") else "\n"
    delimiter = max(",;\t", key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    columns = [name.strip() for name in next(reader, [])]
    lines = []
    for cells in reader:
        if len(cells) > len(columns):
            raise ValueError(
                f"{path} has {len(cells)} fields in line {reader.line_num}, but "
                f"{len(columns)} columns; quote those with {delimiter!r} in them."
            )
        if any(cells):
            named = zip(columns, cells, strict=False)
            lines.append(Line(reader.line_num, dict(named)))
    return LabelsFile(columns, lines, delimiter, newline, has_bom)
