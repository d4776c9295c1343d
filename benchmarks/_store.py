"""Results on disk: one line of JSON a task, added as they come."""

import contextlib
import json
import os


class Store:
    """Records in a file that survives being cut off at any moment.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path):
        self.path = path

    def read(self):
        """Return all records that are whole, in the order they were written.

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
        """Add a record and return once it is on the disk."""
        append_line(self.path, json.dumps(record))

    @contextlib.contextmanager
    def lock(self):
        """Make the folder, and keep a second run out of it for the time being."""
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


def append_line(path, line):
    """Add a line to a file and return once it is on the disk.

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
