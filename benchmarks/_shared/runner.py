"""Plan the tasks, and run those that are not done yet."""

from collections import Counter
from contextlib import contextmanager
from datetime import timedelta

import joblib
from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from benchmarks._shared.results import key
from benchmarks._shared.worker import BEYOND, finished, run

WORKER_SECONDS = 60  # to wait for the first worker of a cluster
MAX_ERRORS = 10  # that are shown at the end
LINE_SECONDS = 60  # between lines where no progress bar can be drawn


class Plan:
    """The tasks of a benchmark and what is known about them.

    Parameters
    ----------
    tables : list of Table
    detectors : list of Detector
    n_seeds : int
        Seeds are 0, 1, ... Detectors without a random state are run once.
    records : list of dict
        Results of earlier runs.
    limits : Limits
    retry : bool, default=False
        Whether to repeat tasks that failed.

    Attributes
    ----------
    all, todo : list of dict
        All tasks, and those without a valid result. A task that exceeded a tighter
        limit than the present one, or had no data, is to be done.
    absent : dict of str to str
        Files that could not be loaded in this run, and why.
    """

    def __init__(self, tables, detectors, n_seeds, records, limits, *, retry=False):
        self.tables = {table.file: table for table in tables}
        self.detectors = {detector.name: detector for detector in detectors}
        self.limits = limits
        settings = {each.name: each.fingerprint() for each in detectors}
        # Small tables first, and every detector on one table before the next, so
        # that the results of an interrupted run are of use.
        self.all = [
            {
                "file": table.file,
                "dataset": table.dataset,
                "group": table.group,
                "detector": detector.name,
                "family": detector.family,
                "settings": settings[detector.name],
                "threads": limits.threads,
                "seed": seed,
            }
            for seed in range(n_seeds)
            for table in sorted(tables, key=lambda table: table.n * table.p)
            for detector in detectors
            if seed == 0 or detector.takes_seed
        ]
        self._beyond = {}
        self._walls = {}
        self.absent = {}
        done = set()
        for record in records:
            self.add(record)
            if record["status"] == "ok" or (self._counts(record) and not retry):
                done.add(key(record))
        self.todo = [task for task in self.all if key(task) not in done]
        if retry:
            self._beyond = {}

    def add(self, record):
        """Register a result."""
        name = record["detector"], record["settings"], record["threads"]
        # Without a limit, memory only happened to be short.
        if (
            record["status"] in BEYOND
            and self._counts(record)
            and (record["status"], record["limits"][1]) != ("memory", None)
        ):
            self._beyond.setdefault(name, []).append(record)
        if record.get("wall"):
            self._walls[record["detector"], record["file"]] = record["wall"]

    def _counts(self, record):
        """Whether trying again within the present limits would not help."""
        if record["status"] == "timeout":
            return _at_least(record["limits"][0], self.limits.seconds)
        if record["status"] == "memory":
            return _at_least(record["limits"][1], self.limits.gigabytes)
        return record["status"] != "no data"

    def expected_seconds(self, task):
        """Estimate how long a task will take."""
        known = self._walls.get((task["detector"], task["file"]))
        if known is not None:
            return known
        table = self.tables[task["file"]]
        return 1 + table.n * table.p / 50_000

    def hopeless(self, task):
        """Return a record which shows that a task will exceed the limits, or None.

        The detector exceeded them with another seed, or on a table of no more rows
        and no more features. The parts of image and text sets differ in size, which
        is not known before they are loaded, so for them only the former counts.
        """
        table = self.tables[task["file"]]
        name = task["detector"], task["settings"], task["threads"]
        for record in list(self._beyond.get(name, ())):
            other = self.tables.get(record["file"])
            if other == table or (
                other is not None
                and {other.group, table.group} <= {"tabular", "keel", "own"}
                and other.n <= table.n
                and other.p <= table.p
            ):
                return record
        return None


def _at_least(limit, other):
    """Whether a limit (None means no limit) is no tighter than another."""
    return limit is None or (other is not None and limit >= other)


def execute(plan, store, *, jobs=1, dask=None, data_home=None):
    """Run the tasks of a plan and yield every record once it is stored.

    `jobs` tasks run at a time on this machine, or as many as a Dask cluster has cores
    if `dask` is the address of its scheduler. `data_home` is passed to `fetch_adbench`
    where the task is run.
    """
    skipped = []

    def calls():
        for task in plan.todo:
            if (error := plan.absent.get(task["file"])) is not None:
                skipped.append({**task, "status": "no data", "error": error})
                continue
            if (record := plan.hopeless(task)) is not None:
                why = f"{record['error']} on {record['file']}, seed {record['seed']}"
                same = {name: record[name] for name in ("status", "limits")}
                skipped.append({**task, **same, "error": f"not tried: {why}"})
                continue
            how = plan.detectors[task["detector"]]._asdict()
            path = plan.tables[task["file"]].path
            where = {"path": path, "data_home": data_home}
            yield joblib.delayed(perform)({**task, **where, "how": how}, plan.limits)

    def keep(record):
        store.append(record)
        plan.add(record)
        if record["status"] == "no data":
            plan.absent[record["file"]] = record["error"]
        return record

    with _place(jobs, dask) as (jobs, perform):
        # One thread per task: it only waits for the process that does the work.
        parallel = joblib.Parallel(
            jobs,
            backend="threading",
            pre_dispatch="n_jobs",
            batch_size=1,
            return_as="generator_unordered",
        )
        for record in parallel(calls()):
            yield keep(record)
            while skipped:
                yield keep(skipped.pop())
    while skipped:
        yield keep(skipped.pop())


@contextmanager
def _place(jobs, dask):
    """Yield how many tasks can run at a time, and a function that runs one."""
    if dask is None:
        yield jobs, run
        return
    from distributed import Client, KilledWorker

    def perform(task, limits):
        # A task whose worker is lost is given to another, a few times.
        future = client.submit(run, task, limits, pure=False)
        try:
            return future.result()
        except KilledWorker:
            why = "its worker ended, and so did those that took over"
            return finished(task, {"status": "failed", "error": why}, limits)

    with Client(dask) as client:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
        yield sum(client.ncores().values()), perform


def watch(plan, records, console):
    """Show progress, weighting each task by how long it may take."""
    weights = {key(task): plan.expected_seconds(task) for task in plan.todo}
    counts: Counter = Counter()
    errors: Counter = Counter()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[done]} of {task.fields[n]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    # Tasks may take minutes, so the speed is that of the whole run.
    options = {"refresh_per_second": 2, "speed_estimate_period": float("inf")}
    told = console.get_time()
    with Progress(*columns, console=console, **options) as progress:
        total = sum(weights.values())
        bar = progress.add_task("Measuring", total=total, done=0, n=len(weights))
        for record in records:
            counts[record["status"]] += 1
            if record["status"] != "ok":
                name, status = record["detector"], record["status"]
                errors[f"{name}: {status}: {record['error']}"] += 1
            failed = counts.total() - counts["ok"]
            progress.update(
                bar,
                advance=weights[key(record)],
                done=counts.total(),
                description=f"{record['detector']} on {record['file']}"
                + (f" ({failed} failed)" if failed else ""),
            )
            if not console.is_terminal and console.get_time() - told >= LINE_SECONDS:
                told = console.get_time()
                console.print(_line(progress.tasks[0]), highlight=False)
    for error, n in errors.most_common(MAX_ERRORS):
        console.print(f"{n} × {error}", markup=False, highlight=False)
    if len(errors) > MAX_ERRORS:
        console.print(f"... and {len(errors) - MAX_ERRORS} other errors")
    return counts


def _line(task):
    left = task.time_remaining
    more = "" if left is None else f", {timedelta(seconds=left)} left"
    return f"{task.fields['done']} of {task.fields['n']}{more}"
