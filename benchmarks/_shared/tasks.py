"""Run detectors on tables, each pair in a process of its own with one thread."""

import multiprocessing
import os
import random
import resource
import signal
import time
import warnings
from contextlib import suppress
from importlib.metadata import version

import joblib
import numpy as np
import torch
from rich.progress import track

import skim
from benchmarks._shared.measure import measure
from benchmarks._shared.results import key

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def run_tasks(store, tables, detectors, n_seeds, *, timeout=None, jobs=1, retry=False):
    """Run what has no result in a store yet, and yield every new record.

    A task is ended after `timeout` seconds of the processor. If `retry`, tasks that
    failed are repeated; those that had no data, or less time than now, always are.
    """
    todo = _todo(store.read(), tables, detectors, n_seeds, timeout, retry)
    os.environ |= dict.fromkeys(ONE_THREAD, "1")
    # Processes are forked from one that has imported the slow packages.
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload([__name__, "sklearn.ensemble", "pyod.models.base"])
    calls = (
        joblib.delayed(_run)(processes, *pair, tasks, timeout) for *pair, tasks in todo
    )
    found = joblib.Parallel(
        jobs, backend="threading", batch_size=1, return_as="generator_unordered"
    )(calls)
    for records in track(found, description="Measuring", total=len(todo)):
        for record in records:
            store.append(record)
            yield record


def _todo(records, tables, detectors, n_seeds, timeout, retry):
    """Return pairs of table and detector with the tasks to be done, small ones first.

    If one seed ran out of time, the others are not tried.
    """
    done, too_slow = set(), set()
    for record in records:
        is_slow = record["status"] == "timeout" and (
            timeout is not None and record["limits"][0] >= timeout
        )
        if record["status"] == "ok":
            done.add(key(record))
        elif is_slow and not retry:
            too_slow.add(key(record)[:-1])
        elif record["status"] in ("failed", "memory") and not retry:
            done.add(key(record))
    todo = []
    for table in sorted(tables, key=lambda table: table.n * table.p):
        for detector in detectors:
            task = {
                "file": table.file,
                "dataset": table.dataset,
                "group": table.group,
                "detector": detector.name,
                "family": detector.family,
                "settings": detector.fingerprint(),
                "threads": 1,
            }
            tasks = [
                task | {"seed": seed}
                for seed in range(n_seeds if detector.takes_seed else 1)
            ]
            tasks = [
                task
                for task in tasks
                if key(task) not in done and key(task)[:-1] not in too_slow
            ]
            if tasks:
                todo.append((table, detector, tasks))
    return todo


def _run(processes, table, detector, tasks, timeout):
    """Perform tasks in a process; return their records, up to one out of time."""
    receiver, sender = processes.Pipe(duplex=False)
    seeds = [task["seed"] for task in tasks]
    process = processes.Process(
        target=_measure, args=(sender, table, detector, seeds, timeout), daemon=True
    )
    process.start()
    sender.close()
    records = []
    try:
        for task in tasks:
            start = time.perf_counter()
            record = _receive(receiver, process)
            wall = round(time.perf_counter() - start, 3)
            record |= {"wall": wall, "limits": [timeout, None]}
            records.append(task | record)
            if not process.is_alive() and record["status"] != "ok":
                break
    finally:
        process.kill()
        process.join()
    return records


def _receive(receiver, process):
    try:
        return receiver.recv()
    except EOFError:
        process.join()
    # The system kills a process when memory is used up.
    ended = {-signal.SIGXCPU: "timeout", -signal.SIGKILL: "memory"}
    status = ended.get(process.exitcode, "failed")
    return {"status": status, "error": f"the process ended with {process.exitcode}"}


def _measure(sender, table, detector, seeds, timeout):
    """Send a record for each seed; data and a first, small fit are not timed."""
    warnings.simplefilter("ignore")  # of the other libraries
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    try:
        X, y = table.load()
    except (OSError, ValueError) as error:
        for _ in seeds:
            sender.send({"status": "no data", "error": _describe(error)})
        return
    _allow(timeout)
    _warm_up(detector, X)
    for seed in seeds:
        _allow(timeout)
        sender.send(_record(detector, seed, X, y))


def _allow(timeout):
    """Let the system end this process after some more seconds of the processor."""
    if timeout is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        until = int(np.ceil(used.ru_utime + used.ru_stime + timeout))
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (until, hard))


def _warm_up(detector, X):
    """Let a small fit pay for imports and compilation."""
    order = "C" if X.flags.c_contiguous else "F"
    rows = np.asarray(np.random.default_rng(0).normal(size=(100, 4)), order=order)
    with suppress(Exception):  # it will happen again, and be recorded
        detector.build(seed=0, n_features=4).fit(rows)


def _record(detector, seed, X, y):
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    try:
        made = detector.build(seed=seed, n_features=X.shape[1])
        result = measure(made, X, y)
    except Exception as error:
        is_memory = isinstance(error, MemoryError) or "allocate memory" in str(error)
        status = "memory" if is_memory else "failed"
        return {"status": status, "error": _describe(error)}
    names = ("pyod", "scikit-learn", "torch")
    versions = [f"skim {skim.__version__}"]
    with suppress(ImportError):
        versions += [f"{name} {version(name)}" for name in names]
    return {
        "status": "ok",
        "n": X.shape[0],
        "p": X.shape[1],
        **{name: round(float(v), 6) for name, v in result._asdict().items()},
        "versions": ", ".join(versions),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 3),
    }


def _describe(error):
    return f"{type(error).__name__}: {error}"[:500]
