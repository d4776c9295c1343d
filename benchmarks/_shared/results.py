"""What studies write and print: results that outlive a crash, tables, pictures."""

import contextlib
import json
import os
from io import StringIO

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
        append_line(self.path, json.dumps(record))

    @contextlib.contextmanager
    def lock(self):
        """Create the folder, and keep other runs out of it in the meantime."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as file:
            with contextlib.suppress(ImportError):  # there is none on Windows
                import fcntl

                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise ValueError(
                        f"another run is writing to {self.path}; choose another output"
                    ) from None
            yield


def key(record):
    """Return what tells a task from the others."""
    names = ("file", "detector", "settings", "threads", "seed")
    return tuple(record[name] for name in names)


class Runs:
    """Runs as lines of CSV, in a file that may be cut off at any moment.

    Parameters
    ----------
    path : Path
    key, values : tuple of str
        The columns that identify a run, and those of its results.
    """

    def __init__(self, path, key, values):
        self.path = path
        self.key = list(key)
        self.header = ",".join([*key, *values])

    def read(self):
        """Return all complete lines as a DataFrame."""
        text = self.path.read_text() if self.path.exists() else self.header
        n_commas = self.header.count(",")
        lines = [line for line in text.splitlines() if line.count(",") == n_commas]
        whole = [line for line in lines if not line.endswith(",")]
        return pd.read_csv(StringIO("\n".join(whole)))

    def complete(self, tasks, run):
        """Perform the runs that are not in the file yet, and return all of them.

        Parameters
        ----------
        tasks : iterable of tuple
            The keys of the wanted runs.
        run : callable
            Takes a key and returns the results, a list with a tuple for each line.
        """
        done = set(self.read()[self.key].itertuples(index=False, name=None))
        todo = [task for task in tasks if task not in done]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        for task in track(todo, console=Console(stderr=True)):
            lines = [",".join(map(as_text, (*task, *values))) for values in run(task)]
            if not self.path.exists() or not self.path.stat().st_size:
                append_line(self.path, self.header)
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
