"""What studies write and print: results that outlive a crash, tables, pictures."""

import json
import os
from io import StringIO

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track
from rich.table import Table


class Store:
    """Records as lines of JSON, in a file that may be cut off at any moment."""

    def __init__(self, path):
        self.path = path

    def read(self):
        """Return all complete records, in the order they were written.

        Of several records of the same task, the last one counts.
        """
        if not self.path.exists():
            return []
        records = {}
        for line in self.path.read_text(encoding="utf-8", errors="replace").split("\n"):
            try:
                record = json.loads(line)
                records.pop(key(record), None)
                records[key(record)] = record
            except (ValueError, KeyError, TypeError):
                continue  # empty, or cut off while it was written
        return list(records.values())

    def append(self, record):
        """Add a record and return once it is on disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        append_line(self.path, json.dumps(record))


def key(record):
    """Return what tells a task from the others."""
    names = ("file", "detector", "settings", "threads", "seed")
    return tuple(record[name] for name in names)


class Runs:
    """Runs as lines of CSV, in a file that may be cut off at any moment.

    `key` and `values` are the columns that identify a run, and those of its results.
    """

    def __init__(self, path, key, values):
        self.path = path
        self.key = list(key)
        self.columns = [*key, *values]

    def read(self):
        """Return all complete lines as a DataFrame."""
        header, *lines = self._text().splitlines()
        n_commas = header.count(",")
        lines = [line for line in lines if line.count(",") == n_commas]
        whole = [line for line in lines if not line.endswith(",")]
        return pd.read_csv(StringIO("\n".join([header, *whole])))

    def _text(self):
        text = self.path.read_text() if self.path.exists() else ""
        return text or ",".join(self.columns) + "\n"

    def complete(self, tasks, run):
        """Perform the runs that are not in the file yet, and return all of them.

        `tasks` are keys, and `run` takes one and returns a tuple for each line of its
        results. Columns that the study no longer has are filled with NaN.
        """
        done = set(self.read()[self.key].itertuples(index=False, name=None))
        todo = [task for task in tasks if task not in done]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        header = self._text().split("\n")[0]
        for task in track(todo, console=Console(stderr=True)):
            lines = []
            for values in run(task):
                line = dict(zip(self.columns, (*task, *values), strict=True))
                cells = [line.get(name, np.nan) for name in header.split(",")]
                lines.append(",".join(map(as_text, cells)))
            if not self.path.exists() or not self.path.stat().st_size:
                append_line(self.path, header)
            append_line(self.path, "\n".join(lines))
        return self.read()


def append_line(path, line):
    """Add a line to a file and return once it is on disk.

    It is a line of its own even if the last one was cut off.
    """
    line += "\n"
    with path.open("ab+") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                line = "\n" + line
        file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())


def as_text(value, digits=".6g"):
    """Return a value as text, floats in the given format."""
    return format(value, digits) if isinstance(value, float) else str(value)


def print_table(columns, rows, title=None, digits=".3f"):
    """Print rows of values; what is missing (NaN) stays empty."""
    table = Table(*columns, title=title, box=None, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*("" if v != v else as_text(v, digits) for v in row))
    Console().print(table)


def save_svg(figure, path):
    """Write a figure so that drawing it again gives the same file, byte for byte."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(path, metadata={"Date": None})
