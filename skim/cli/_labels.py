"""The labels of a table's rows, in a CSV file that people can read and edit."""

import codecs
import csv
import hashlib
import io
import sys
from collections import defaultdict
from datetime import UTC, datetime

import numpy as np

from skim._utils import naming, replacing
from skim.cli._results import output_name
from skim.report._summary import counted
from skim.tables._reasons import cell_text

VALUES = {"1": 1.0, "1.0": 1.0, "0": 0.0, "0.0": 0.0, "": np.nan}
LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
N_CHECKSUM = 8  # letters


class Labels:
    """The labels in a file, matched to the rows of a table by Identifiers or Numbers.

    The file has the columns that identify rows, `label` and `answered`, when the label
    was given. Other columns, and lines that no answer is about, stay as they are. The
    file, which need not exist yet, is read before every change and replaced as a whole.

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
        self._label = output_name("label", keys.columns)
        self._time = output_name("answered", keys.columns)
        self._load()

    def answer(self, row, label):
        """Write the label of a row at once; None means that it was skipped."""
        file, lines_of = self._load()
        if row not in lines_of:
            lines_of[row] = [self.keys.cells(row)]
            file.lines.append((0, lines_of[row][0]))
        text = "" if label is None else str(int(label))
        time = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        for cells in lines_of[row]:
            cells.update({self._label: text, self._time: time})
        self._save(file)

    def forget(self, row):
        """Take back the answer about a row."""
        file, lines_of = self._load()
        own = {*self.keys.columns, self._label, self._time}
        for cells in lines_of[row]:
            if any(text for name, text in cells.items() if name not in own):
                cells.update({self._label: "", self._time: ""})
            else:
                cells.clear()
        self._save(file)

    def _save(self, file):
        with replacing(self.path) as draft, naming(self.path):
            file.write(draft, [*self.keys.columns, self._label, self._time])
        self._load()

    def _load(self):
        """Read the file; also return the lines about each row."""
        file = LabelsFile(self.path)
        required = [*self.keys.required, self._label]
        missing = [name for name in required if name not in file.columns]
        if file.columns and missing:
            raise ValueError(
                f"{self.path} has no column {missing[0]!r}; it must have "
                f"{', '.join(required)}."
            )
        self.values = np.full(self.keys.n_rows, np.nan)
        self.is_seen = np.zeros(self.keys.n_rows, dtype=bool)
        self.answered, unknown = [], []
        labelled: dict[int, int] = {}
        lines_of: dict[int, list] = defaultdict(list)
        for number, cells in file.lines:
            text = cells.get(self._label, "").strip()
            if text not in VALUES:
                raise ValueError(
                    f"{self.path} has the label {cell_text(text)!r} in line {number}; "
                    "use 1 for outliers, 0 for inliers, or leave it empty."
                )
            row, has_time = self.keys.find(cells), bool(cells.get(self._time))
            if row is None:
                unknown += [(number, cells)] * bool(text)
                continue
            if self.values[row] == 1 - VALUES[text]:
                raise ValueError(
                    f"{self.path} says both 1 and 0 about {self.keys.name(cells)} "
                    f"(lines {labelled[row]} and {number}); keep one of them."
                )
            if text:
                self.values[row], labelled[row] = VALUES[text], number
            self.is_seen[row] |= has_time or bool(text)
            self.answered += [row] * has_time
            lines_of[row].append(cells)
        if unknown:
            number, cells = unknown[0]
            more = f" and for {len(unknown) - 1:,} more" if len(unknown) > 1 else ""
            raise ValueError(
                f"{self.path} has a label for {self.keys.name(cells)} (line {number})"
                f"{more}, but {self.keys.source} {self.keys.why_unknown(cells)}."
            )
        return file, lines_of


def find_labels(path, table, found, *, ids, source):
    """Return the labels of a table, by the columns that the file has.

    These are `ids`, if the user named any. Otherwise, the first of the columns `found`
    that identifies all rows by itself is used, or else all of them together, or else
    the numbers of the rows.
    """
    columns = LabelsFile(path).columns
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


def summary(values):
    """Return the number of labels in words."""
    n_outliers, n_inliers = int((values == 1).sum()), int((values == 0).sum())
    return (
        f"{counted(n_outliers + n_inliers, 'label')} ({counted(n_outliers, 'outlier')}"
        f", {counted(n_inliers, 'inlier')})"
    )


# Rows ------------------------------------------------------------------------------


class Identifiers:
    """Rows by the columns that identify them.

    `unclear` is the name of a row that is missing or not its alone, None without one.
    """

    def __init__(self, table, columns, source):
        self.columns = self.required = list(dict.fromkeys(columns))
        self.source = source
        self.n_rows = len(table)
        frame = table[self.columns]
        names = frame.map(_full)
        self._names = list(names.itertuples(index=False, name=None))
        self._rows = {name: row for row, name in enumerate(self._names)}
        is_unclear = frame.isna().any(axis=1) | names.duplicated()
        self.unclear = None
        if is_unclear.any():
            self.unclear = self.name(self.cells(is_unclear.to_numpy().argmax()))

    def cells(self, row):
        """Return what identifies a row in the file."""
        return dict(zip(self.columns, self._names[row], strict=True))

    def find(self, cells):
        """Return the row that cells of the file identify, None if there is none."""
        key = tuple(cells.get(name, "").strip() for name in self.columns)
        return self._rows.get(key)

    def name(self, cells):
        """Return what to call a row."""
        return ", ".join(f"{n} {cell_text(cells.get(n, ''))}" for n in self.required)

    def why_unknown(self, cells):
        """Return what is wrong with a line about a row that was not found."""
        return "does not have it; remove the label, or give the table that has it"


class Numbers(Identifiers):
    """Rows by their numbers, with a checksum that shows whether they have changed.

    `names` are columns that say more to people than numbers do.
    """

    def __init__(self, table, names, source):
        self.columns = list(dict.fromkeys(["row", "checksum", *names]))
        self.required = ["row"]
        self.table = table
        self.source = source
        self.n_rows = len(table)

    def cells(self, row):
        """Return what identifies a row in the file."""
        names = {name: _full(self.table[name].iloc[row]) for name in self.columns[2:]}
        return {"row": str(row + 1), "checksum": self._checksum(row)} | names

    def find(self, cells):
        """Return the row of this number, None if it is not what it was."""
        number = cells.get("row", "").strip().removesuffix(".0")
        row = int(number) - 1 if number.isdecimal() else -1
        if not 0 <= row < self.n_rows:
            return None
        checksum = cells.get("checksum", "").strip()
        return row if checksum in ("", self._checksum(row)) else None

    def why_unknown(self, cells):
        """Return what is wrong with a line about a row that was not found."""
        if not cells.get("checksum"):
            return f"has the rows 1 to {self.n_rows}"
        return (
            "has changed; restore the table, remove these labels, or begin a new file, "
            "with --id if a column identifies rows"
        )

    def _checksum(self, row):
        # Letters alone, as spreadsheets would rewrite what looks like a number.
        values = (self.table.iat[row, j] for j in range(self.table.shape[1]))
        cells = "\x1f".join(map(_full, values))
        digest = hashlib.sha256(cells.encode("utf-8", "replace")).hexdigest()
        return digest[:N_CHECKSUM].translate(LETTERS)


def _full(value):
    return cell_text(value, sys.maxsize).strip()


# The file --------------------------------------------------------------------------


class LabelsFile:
    """A CSV file as people write it, which can be written again in the same way.

    `lines` are pairs of a line number and texts by column.
    """

    def __init__(self, path):
        data = path.read_bytes() if path.exists() else b""
        # Spreadsheets begin a file with a byte order mark.
        self.encoding = "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"
        try:
            text = data.decode(self.encoding)
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not UTF-8; save it as CSV in UTF-8.") from None
        header = text.partition("\n")[0]
        self.delimiter = max(",;\t", key=header.count)
        self.newline = "\r\n" if header.endswith("\r") else "\n"
        reader = csv.DictReader(
            io.StringIO(text, newline=""), delimiter=self.delimiter, restval=""
        )
        self.columns = [name.strip() for name in reader.fieldnames or ()]
        reader.fieldnames = self.columns
        self.lines = []
        for cells in reader:
            if None in cells:
                raise ValueError(
                    f"{path} has more fields than columns in line {reader.line_num}; "
                    f"quote those with {self.delimiter!r} in them."
                )
            if any(cells.values()):
                self.lines.append((reader.line_num, cells))

    def write(self, path, columns):
        """Write the file, with more columns if need be, without empty lines."""
        names = list(dict.fromkeys([*self.columns, *columns]))
        with path.open("w", encoding=self.encoding, newline="") as file:
            writer = csv.DictWriter(
                file, names, delimiter=self.delimiter, lineterminator=self.newline
            )
            writer.writeheader()
            writer.writerows(cells for _, cells in self.lines if cells)
