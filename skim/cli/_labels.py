"""The labels of a table's rows, in a CSV file that people can read and edit."""

import hashlib
import io
import sys
from datetime import UTC, datetime

import numpy as np
import pandas as pd

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
    """

    def __init__(self, path, table, found, *, ids, source):
        self.path = path
        self.table = table
        self._separator = ","
        has_lines = path.exists() and path.stat().st_size
        file = self._read() if has_lines else pd.DataFrame(dtype=str)
        for names in [ids] if ids else [[name] for name in found]:
            keys = table[names].map(_full)
            is_unclear = table[names].isna().any(axis=1) | keys.duplicated()
            is_there = file.columns.empty or set(names) <= set(file.columns)
            if is_there and not is_unclear.any():
                self._keys, self._checksums = keys, []
                break
        else:
            if ids or not (file.columns.empty or "row" in file):
                tried = " or ".join(ids or [*found, "row"])
                raise ValueError(
                    f"{path} and {source} have no column in common that identifies all "
                    f"rows (tried {tried}); name some with --id."
                )
            names, self._checksums = ["row"], ["checksum"]
            self._keys = pd.DataFrame({"row": range(1, len(table) + 1)}, dtype=str)
        self._label = output_name("label", names)
        self._time = output_name("answered", names)
        if not file.columns.empty and self._label not in file:
            raise ValueError(f"{path} has no column {self._label!r}.")
        own = [*names, *self._checksums, self._label, self._time]
        columns = list(dict.fromkeys([*file.columns, *own]))
        file = file.reindex(columns=columns, fill_value="")
        all_rows = pd.MultiIndex.from_frame(self._keys)
        rows = all_rows.get_indexer(pd.MultiIndex.from_frame(file[names]))
        checksums = file["checksum"] if self._checksums else [""] * len(file)
        is_same = [
            row < 0 or checksum in ("", self._checksum(row))
            for row, checksum in zip(rows, checksums, strict=True)
        ]
        for is_right, fault in [
            (file[self._label].isin(VALUES), "the label must be 1, 0 or empty"),
            (rows >= 0, f"{source} does not have this row; remove the line"),
            (
                ~pd.Index(rows).duplicated(),
                "an earlier line is about the same row; keep one of them",
            ),
            (
                is_same,
                f"{source} has changed; restore it, or begin a new file, with --id if "
                "a column identifies rows",
            ),
        ]:
            if not np.all(is_right):
                line = int(np.argmin(is_right))
                row = " ".join(f"{name} {file[name].iloc[line]}" for name in names)
                number = file.index[line] + 2
                raise ValueError(f"{path}, line {number} ({row}): {fault}.")
        self._file = file.set_axis(rows)

    def _read(self):
        try:
            # Spreadsheets begin a file with a byte order mark.
            text = self.path.read_text("utf-8-sig")
            self._separator = max(",;\t", key=text.partition("\n")[0].count)
            file = pd.read_csv(
                io.StringIO(text),
                sep=self._separator,
                dtype=str,
                keep_default_na=False,
                index_col=False,
            )
        except ValueError as error:
            raise ValueError(
                f"{self.path} cannot be read; save it as CSV in UTF-8 ({error})."
            ) from None
        return file[(file != "").any(axis=1)].rename(columns=str.strip).map(str.strip)

    @property
    def values(self):
        """1 for outliers, 0 for inliers, NaN for rows without a label."""
        values = np.full(len(self.table), np.nan)
        values[self._file.index] = self._file[self._label].map(VALUES)
        return values

    @property
    def is_seen(self):
        """Whether a row has a label, or was skipped."""
        is_seen = np.zeros(len(self.table), dtype=bool)
        is_seen[self._file.index] = self._file[[self._label, self._time]].any(axis=1)
        return is_seen

    @property
    def answered(self):
        """The rows whose answers have a time, the newest last."""
        return self._file.index[self._file[self._time] != ""].tolist()

    def answer(self, row, label):
        """Write the label of a row at once; None means that it was skipped."""
        text = "" if label is None else str(label)
        self._write(row, text, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")

    def take_back(self):
        """Take back the last answer, and return its row."""
        row = self.answered[-1]
        self._write(row, "", "")
        return row

    def _write(self, row, text, time):
        line = self._file.reindex([row], fill_value="")
        line[self._keys.columns] = self._keys.iloc[[row]].to_numpy()
        line[self._checksums] = [self._checksum(row)] * len(self._checksums)
        line[[self._label, self._time]] = text, time
        others = self._file.drop(index=row, errors="ignore")
        self._file = pd.concat([others, line])
        with replacing(self.path) as draft, naming(self.path):
            self._file.to_csv(draft, sep=self._separator, index=False)

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
