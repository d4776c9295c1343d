"""Which tasks there are, and running those that are not done yet."""

import threading
from contextlib import contextmanager
from typing import NamedTuple

import joblib

from benchmarks._store import key
from benchmarks._worker import run


class Table(NamedTuple):
    """A data set, or a part of one, and its rows and features.

    `path` is that of a file of one's own, and None for those of ADBench.
    """

    file: str
    dataset: str
    group: str
    n: int
    p: int
    path: str | None = None


class Plan:
    """The tasks of a benchmark and what is known about them.

    Parameters
    ----------
    tables : list of Table
    detectors : list of Detector
    n_seeds : int
        Seeds are 0, 1, ... Detectors that take none are run once.
    records : list of dict
        Results of earlier runs.
    retry : bool, default=False
        Whether tasks that failed then are tasks again.
    """

    def __init__(self, tables, detectors, n_seeds, records, *, retry=False):
        self.tables = {table.file: table for table in tables}
        self.detectors = {detector.name: detector for detector in detectors}
        settings = {each.name: each.fingerprint() for each in detectors}
        self.records = {
            key(record): record
            for record in records
            if record["status"] == "ok" or not retry
        }
        self._lock = threading.Lock()
        # Small tables first and every detector on one table before the next, so
        # that a run that is cut short can be looked at.
        self.all = [
            {
                "file": table.file,
                "dataset": table.dataset,
                "group": table.group,
                "detector": detector.name,
                "settings": settings[detector.name],
                "seed": seed,
            }
            for seed in range(n_seeds)
            for table in sorted(tables, key=lambda table: table.n * table.p)
            for detector in detectors
            if seed == 0 or detector.takes_seed
        ]
        self.todo = [task for task in self.all if key(task) not in self.records]

    def add(self, record):
        """Take note of a result."""
        with self._lock:
            self.records[key(record)] = record

    def expected_seconds(self, task):
        """Guess how long a task will take, for the time that is left."""
        with self._lock:
            like = [
                record["wall"]
                for record in self.records.values()
                if record["detector"] == task["detector"]
                and record["file"] == task["file"]
                and record.get("wall")
            ]
        if like:
            return like[-1]
        table = self.tables[task["file"]]
        return 1 + table.n * table.p / 50_000

    def hopeless(self, task):
        """Return why a task cannot stay within the limits, or None.

        It has gone beyond them with another seed, or on a table with no more rows
        and no more features.
        """
        table = self.tables[task["file"]]
        with self._lock:
            records = list(self.records.values())
        for record in records:
            same = all(record[name] == task[name] for name in ("detector", "settings"))
            smaller = self.tables.get(record["file"])
            if (
                same
                and record["status"] in ("timeout", "memory")
                and smaller is not None
                and smaller.n <= table.n
                and smaller.p <= table.p
            ):
                return record
        return None

    def results(self):
        """Return the records of all tasks that have one, in order."""
        return [self.records[key(t)] for t in self.all if key(t) in self.records]


def execute(plan, limits, store, *, jobs=1, dask=None, data_home=None):
    """Run what is to be done and yield every record once it is stored.

    Parameters
    ----------
    plan : Plan
    limits : Limits
    store : Store
    jobs : int, default=1
        Number of tasks at a time, on this machine.
    dask : str, default=None
        Address of the scheduler of a Dask cluster to run on instead.
    data_home : str, default=None
        Passed to `fetch_adbench`, where the task is run.

    Yields
    ------
    record : dict
    """
    skipped = []

    def calls():
        for task in plan.todo:
            if (record := plan.hopeless(task)) is not None:
                why = f"{record['error']} on {record['file']}, seed {record['seed']}"
                skipped.append({**task, "status": record["status"], "error": why})
                continue
            how = plan.detectors[task["detector"]]._asdict()
            path = plan.tables[task["file"]].path
            where = {"path": path, "data_home": data_home}
            yield joblib.delayed(run)({**task, **where, "how": how}, limits)

    def keep(record):
        store.append(record)
        plan.add(record)
        return record

    with _backend(jobs, dask) as parallel:
        for record in parallel(calls()):
            yield keep(record)
            while skipped:
                yield keep(skipped.pop())
    while skipped:
        yield keep(skipped.pop())


@contextmanager
def _backend(jobs, dask):
    options = {"return_as": "generator_unordered", "batch_size": 1}
    if dask is None:
        # A thread a task: it only waits for the process that does the work.
        yield joblib.Parallel(
            jobs, backend="threading", pre_dispatch="n_jobs", **options
        )
        return
    from distributed import Client

    with Client(dask) as client, joblib.parallel_config("dask", client=client):
        yield joblib.Parallel(**options)
