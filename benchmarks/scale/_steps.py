"""What is measured, each step in a process of its own with one thread per task."""

import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.scale._data import make_table, write_parts
from benchmarks.scale._memory import added_peak, peak_of_all
from skim import ALTBIDetector
from skim.datasets import fetch_adbench
from skim.distributed import DaskDetector
from skim.distributed._parts import find_parts, read_part

N_CORES = 2
CLUSTER = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}


class Clock:
    """Seconds since its start, by the clock and of the processor."""

    def __init__(self):
        self.start, self.cpu_start = time.perf_counter(), _cpu_seconds()

    def read(self):
        return time.perf_counter() - self.start, _cpu_seconds() - self.cpu_start


def _cpu_seconds():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def detector(seed=0):
    return ALTBIDetector(random_state=seed)


def _warm_up():
    """Load torch, so that neither its time nor its memory is counted."""
    rng = np.random.default_rng(0)
    ALTBIDetector(epochs=1).fit(rng.normal(size=(200, 4)).astype(np.float32))


def fit_in_memory(n_rows, n_columns):
    """Fit a table in memory, and score it."""
    table = make_table(n_rows, n_columns)
    _warm_up()
    with added_peak() as megabytes:
        clock = Clock()
        model = detector().fit(table)
        seconds, cpu = clock.read()
    clock = Clock()
    model.score_samples(table)
    score_seconds, score_cpu = clock.read()
    return [
        ("fit", "seconds", seconds),
        ("fit: processor", "seconds", cpu),
        ("fit: memory beyond the table", "MB", megabytes[0]),
        ("scores", "seconds", score_seconds),
        ("scores: processor", "seconds", score_cpu),
    ]


def parquet_on_threads(folder, n_rows, n_columns, part_rows):
    """Fit Parquet files by DaskDetector on threads, and write scores and labels."""
    import dask

    parts = write_parts(Path(folder), n_rows, n_columns, part_rows)
    _warm_up()
    output = tempfile.mkdtemp(dir=folder)
    settings = {"scheduler": "threads", "num_workers": N_CORES}
    try:
        with dask.config.set(settings), peak_of_all() as megabytes:
            clock = Clock()
            lengths = [dask.delayed(_length)(part) for part in find_parts(parts)]
            n_read = sum(dask.compute(lengths)[0])
            read_seconds, read_cpu = clock.read()
            clock = Clock()
            model = DaskDetector(detector(), random_state=0).fit(parts)
            fit_seconds, fit_cpu = clock.read()
            clock = Clock()
            _scores_and_labels(model, parts).to_parquet(output)
            score_seconds, score_cpu = clock.read()
        n_written = sum(len(read_part(part)) for part in find_parts(output))
    finally:
        shutil.rmtree(output)
    if not n_read == n_written == model.n_samples_seen_ == n_rows:
        raise RuntimeError(f"{n_read} rows were read, and {n_written} written")
    return [
        ("reading", "seconds", read_seconds),
        ("reading: processor", "seconds", read_cpu),
        ("fit", "seconds", fit_seconds),
        ("fit: processor", "seconds", fit_cpu),
        ("scores and labels", "seconds", score_seconds),
        ("scores and labels: processor", "seconds", score_cpu),
        ("memory of all processes", "MB", megabytes[0]),
    ]


def _length(part):
    return len(read_part(part))


def _scores_and_labels(model, X):
    scores = model.score_samples(X)
    table = scores.to_frame()
    table["label"] = 1 - 2 * (scores < model.offset_).astype("int8")
    return table


def workers(folder, n_rows, n_columns, part_rows):
    """Score Parquet files with one worker process and with two."""
    from distributed import Client, LocalCluster

    parts = write_parts(Path(folder), n_rows, n_columns, part_rows)
    model = DaskDetector(detector(), random_state=0, scheduler="threads").fit(parts)
    seconds, cpu = {}, {}
    for n_workers in (1, 2):
        with (
            LocalCluster(n_workers=n_workers, **CLUSTER) as cluster,
            Client(cluster) as client,
        ):
            first = find_parts(parts)[0].path
            client.run(_warm_up)
            model.score_samples(first).sum().compute()
            before = sum(client.run(_cpu_seconds).values())
            clock = Clock()
            model.score_samples(parts).sum().compute()
            seconds[n_workers], _ = clock.read()
            cpu[n_workers] = sum(client.run(_cpu_seconds).values()) - before
    return [
        ("scores: one worker", "seconds", seconds[1]),
        ("scores: two workers", "seconds", seconds[2]),
        ("two workers against one", "times", seconds[1] / seconds[2]),
        ("scores: processor of one worker", "seconds", cpu[1]),
        ("scores: processor of two workers", "seconds", cpu[2]),
        ("two workers against one on free cores", "times", 2 * cpu[1] / cpu[2]),
    ]


def accuracy(name, n_rows, seed):
    """Compare the AUROC of a fit to a sample with that of a fit to the whole table."""
    import dask.array as da

    X, y = fetch_adbench(name, return_X_y=True)
    whole = detector(seed).fit(X)
    parts = da.from_array(X, chunks=(max(len(X) // 20, 1), X.shape[1]))
    model = DaskDetector(
        detector(seed), n_rows=n_rows, random_state=seed, scheduler="threads"
    ).fit(parts)
    scores = whole.training_scores_
    if whole.training_rows_ is not None:
        scores = whole.score_samples(X)
    lazy = model.score_samples(parts).compute(scheduler="threads")
    return [
        (f"{name}: whole table", "AUROC", roc_auc_score(y, -scores)),
        (f"{name}: sample", "AUROC", roc_auc_score(y, -lazy)),
        (
            f"{name}: flagged by the whole",
            "share",
            float((scores < whole.offset_).mean()),
        ),
        (
            f"{name}: flagged by the sample",
            "share",
            float((lazy < model.offset_).mean()),
        ),
    ]


def killed(folder, n_rows, n_columns, part_rows, n_tries):
    """Kill a worker in the middle of scoring, and compare with undisturbed scores."""
    from distributed import Client, LocalCluster

    parts = write_parts(Path(folder), n_rows, n_columns, part_rows)
    model = DaskDetector(detector(), random_state=0, scheduler="threads").fit(parts)
    wanted = model.score_samples(parts).compute(scheduler="threads").to_numpy()
    n_wrong, n_killed = 0, 0
    for _ in range(n_tries):
        with LocalCluster(n_workers=2, **CLUSTER) as cluster, Client(cluster) as client:
            future = client.compute(model.score_samples(parts))
            key = next(iter(client.scheduler_info()["workers"]))
            while not _is_half_done(cluster, len(find_parts(parts))):
                time.sleep(0.01)
            pid = client.run(os.getpid, workers=[key])[key]
            os.kill(pid, signal.SIGKILL)
            n_killed += not future.done()
            scores = future.result().to_numpy()
        same = len(scores) == len(wanted) and bool((scores == wanted).all())
        n_wrong += 0 if same else abs(len(scores) - len(wanted)) or len(wanted)
    return [
        ("tries", "workers", float(n_tries)),
        ("killed before the end", "workers", float(n_killed)),
        ("rows lost or doubled or different", "rows", float(n_wrong)),
    ]


def _is_half_done(cluster, n_parts):
    states = [task.state for task in list(cluster.scheduler.tasks.values())]
    return states.count("memory") + states.count("released") >= n_parts // 2
