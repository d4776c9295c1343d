"""The labels of a table's rows, in a CSV file that people can read and edit."""

import csv
import hashlib
import sys
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
    """The labels in a file, which need not exist yet, matched to the rows of a table.

    The file has the columns that identify rows, `label` and `answered`, when the label
    was given. Other columns stay as they are. The rows are identified by the columns
    `ids`, or else by the first of the columns `found` that identifies all rows, or else
    by their numbers, with a checksum that shows whether they have changed.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        1 for outliers, 0 for inliers, NaN for rows without a label.
    is_seen : ndarray of bool of shape (n_rows,)
        Whether a row has a label, or was skipped.
    answered : list of int
        The rows whose answers have a time, which can be taken back.
    """

    def __init__(self, path, table, found, *, ids, source):
        self.path = path
        self.table = table
        self.source = source
        lines = self._read()
        self._identify(found, ids)
        self._label = output_name("label", self.ids)
        self._time = output_name("answered", self.ids)
        if self.columns and self._label not in self.columns:
            raise ValueError(f"{path} has no column {self._label!r}.")
        self.values = np.full(len(table), np.nan)
        self.is_seen = np.zeros(len(table), dtype=bool)
        self.answered: list[int] = []  # rows whose answers have a time
        self._numbers: dict[int, int] = {}  # of the lines about each row
        self._lines: dict[int, dict] = {}  # what they say
        self._others: list[dict] = []  # lines without a label, about other rows
        for number, cells in lines:
            self._add(number, cells)

    def _read(self):
        """Return the lines of the file: their numbers, and texts by column."""
        self.columns, self.delimiter = [], ","
        if not self.path.exists():
            return []
        try:
            # Spreadsheets begin a file with a byte order mark.
            with self.path.open(encoding="utf-8-sig", newline="") as file:
                self.delimiter = max(",;\t", key=file.readline().count)
                file.seek(0)
                reader = csv.DictReader(file, delimiter=self.delimiter, restval="")
                self.columns = [name.strip() for name in reader.fieldnames or ()]
                reader.fieldnames = self.columns
                lines = [(reader.line_num, cells) for cells in reader]
        except UnicodeDecodeError:
            raise ValueError(f"{self.path} is not UTF-8; save it in UTF-8.") from None
        for number, cells in lines:
            if None in cells:
                raise ValueError(
                    f"{self.path} has more fields than columns in line {number}; quote "
                    f"those with {self.delimiter!r} in them."
                )
        return [(number, cells) for number, cells in lines if any(cells.values())]

    def _identify(self, found, ids):
        """Choose the columns that identify rows."""
        for names in [ids] if ids else [[name] for name in found]:
            frame = self.table[names]
            keys = frame.map(_full)
            is_unclear = frame.isna().any(axis=1) | keys.duplicated()
            if set(names) <= set(self.columns or names) and not is_unclear.any():
                self.ids = names
                self._keys = list(keys.itertuples(index=False, name=None))
                break
        else:
            if ids or (self.columns and "row" not in self.columns):
                options = " or ".join(ids or [*found, "row"])
                raise ValueError(
                    f"{self.path} and {self.source} have no column in common that "
                    f"identifies all rows (tried {options}); name some with --id."
                )
            self.ids = ["row"]
            self._keys = [(str(number + 1),) for number in range(len(self.table))]
        self._rows = {key: row for row, key in enumerate(self._keys)}

    def _add(self, number, cells):
        """Take in a line of the file."""
        text = cells.get(self._label, "").strip()
        if text not in VALUES:
            raise ValueError(
                f"{self.path} has the label {cell_text(text)!r} in line {number}; use "
                "1 for outliers, 0 for inliers, or leave it empty."
            )
        key = tuple(cells.get(name, "").strip() for name in self.ids)
        name = " ".join(
            f"{name} {cell_text(own)}" for name, own in zip(self.ids, key, strict=True)
        )
        row = self._rows.get(key)
        checksum = cells.get("checksum", "") if self.ids == ["row"] else ""
        if row is not None and checksum not in ("", self._checksum(row)):
            raise ValueError(
                f"{self.path} has a label for {name}, but {self.source} has changed; "
                "restore the table, or begin a new file, with --id if a column "
                "identifies rows."
            )
        if row is None and text:
            raise ValueError(
                f"{self.path} has a label for {name} (line {number}), but "
                f"{self.source} does not have it; remove the line, or give the table "
                "that has it."
            )
        if row is None:
            self._others.append(cells)
            return
        if row in self._lines:
            raise ValueError(
                f"{self.path} has two lines about {name} ({self._numbers[row]} and "
                f"{number}); keep one of them."
            )
        self._lines[row], self._numbers[row] = cells, number
        self.values[row] = VALUES[text]
        self.answered += [row] * bool(cells.get(self._time))
        self.is_seen[row] = bool(text or cells.get(self._time))

    def answer(self, row, label):
        """Write the label of a row at once; None means that it was skipped."""
        time = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        self.answered.append(row)
        self._write(row, "" if label is None else str(label), time)

    def take_back(self):
        """Take back the last answer, and return its row."""
        row = self.answered.pop()
        self._write(row, "", "")
        return row

    def _write(self, row, text, time):
        if row not in self._lines:
            self._lines[row] = dict(zip(self.ids, self._keys[row], strict=True))
            if self.ids == ["row"]:
                self._lines[row]["checksum"] = self._checksum(row)
        self._lines[row] |= {self._label: text, self._time: time}
        self.values[row] = VALUES[text]
        self.is_seen[row] = bool(time)
        names = dict.fromkeys([*self.columns, *self._lines[row]])
        with (
            replacing(self.path) as draft,
            naming(self.path),
            draft.open("w", encoding="utf-8", newline="") as file,
        ):
            writer = csv.DictWriter(
                file, names, delimiter=self.delimiter, lineterminator="\n"
            )
            writer.writeheader()
            writer.writerows([*self._others, *self._lines.values()])

    def _checksum(self, row):
        # Letters alone, as spreadsheets would rewrite what looks like a number.
        values = (self.table.iat[row, j] for j in range(self.table.shape[1]))
        cells = "\x1f".join(map(_full, values))
        digest = hashlib.sha256(cells.encode("utf-8", "replace")).hexdigest()
        return digest[:N_CHECKSUM].translate(LETTERS)


def summary(values):
    """Return the number of labels in words."""
    n_outliers, n_inliers = int((values == 1).sum()), int((values == 0).sum())
    return (
        f"{counted(n_outliers + n_inliers, 'label')} ({counted(n_outliers, 'outlier')}"
        f", {counted(n_inliers, 'inlier')})"
    )


def _full(value):
    return cell_text(value, sys.maxsize).strip()
