"""Results on disk: one line of JSON a task, added as they come."""

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
        """Return all records that are whole; the last one of each task counts."""
        if not self.path.exists():
            return []
        records = {}
        for line in self.path.read_text(encoding="utf-8", errors="replace").split("\n"):
            try:
                record = json.loads(line)
                records[key(record)] = record
            except (ValueError, KeyError, TypeError):
                continue  # empty, or cut off while it was written
        return list(records.values())

    def append(self, record):
        """Add a record and return once it is on the disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(record) + "\n"
        with self.path.open("ab+") as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    line = "\n" + line
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())


def key(record):
    """Return what tells a task from the others."""
    return record["file"], record["detector"], record["settings"], record["seed"]
