"""A process that measures one task after another, for `benchmarks._shared.worker`.

Tasks come as lines of JSON on the standard input. For each, the line "loaded" goes
back once the data is there, "started" once the detector is warm, and then the result
as JSON. Whatever the detectors themselves print goes elsewhere.
"""

import contextlib
import json
import os
import queue
import random
import signal
import sys
import threading
import warnings
from importlib.metadata import version

import numpy as np
import sklearn.ensemble  # noqa: F401
import torch

import skim
from benchmarks._shared.detectors import Detector
from benchmarks._shared.measure import measure
from skim.datasets._adbench import fetch_adbench, load_npz


def main():
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    tasks = queue.Queue()
    threading.Thread(target=_receive, args=(tasks,), daemon=True).start()
    print("ready", file=answers)
    while True:
        record = perform(tasks.get(), tell=lambda word: print(word, file=answers))
        print(json.dumps(record), file=answers)


def _receive(tasks):
    for line in sys.stdin:
        tasks.put(json.loads(line))
    # The parent is gone, so an unfinished task is of no use.
    if os.name == "posix" and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)  # and its children
    os._exit(0)


def perform(task, tell):
    """Measure one task; see `benchmarks._shared.worker.run` for its entries."""
    warnings.simplefilter("ignore")  # of the other libraries
    try:
        X, y = _load(task)
    except (OSError, ValueError) as error:
        return {"status": "no data", "error": _describe(error)}
    tell("loaded")
    try:
        how = Detector(**task["how"])
        _warm_up(how, "C" if X.flags.c_contiguous else "F")
        _reset(task["seed"], task["threads"])
        detector = how.build(
            seed=task["seed"], n_features=X.shape[1], threads=task["threads"]
        )
        tell("started")
        result = measure(detector, X, y)
    except MemoryError as error:
        return {"status": "memory", "error": _describe(error)}
    except Exception as error:
        status = "memory" if "can't allocate memory" in str(error) else "failed"
        return {"status": status, "error": _describe(error)}
    rounded = {name: round(float(v), 6) for name, v in result._asdict().items()}
    size = {"n": X.shape[0], "p": X.shape[1]}
    return {"status": "ok", **size, **rounded, "versions": _versions()}


def _load(task):
    if task["path"] is not None:
        return load_npz(task["path"])
    return fetch_adbench(task["file"], data_home=task["data_home"], return_X_y=True)


_warm = set()


def _warm_up(how, order):
    """Let the first fit in an order of memory pay for imports and compilation."""
    if (how.name, order) in _warm:
        return
    _warm.add((how.name, order))
    X = np.asarray(np.random.default_rng(0).normal(size=(100, 4)), order=order)
    with contextlib.suppress(Exception):  # it will happen again, and be recorded
        how.build(seed=0, n_features=4).fit(X)


def _reset(seed, threads):
    """Undo what earlier detectors did to the process, and seed what they draw from."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    np.seterr(all="warn", under="ignore")
    torch.manual_seed(seed)
    torch.set_num_threads(threads)
    torch.set_default_dtype(torch.float32)


def _versions():
    others = [f"{name} {version(name)}" for name in ("pyod", "scikit-learn", "torch")]
    return ", ".join([f"skim {skim.__version__}", *others])


def _describe(error):
    return f"{type(error).__name__}: {error}"[:500]


if __name__ == "__main__":
    main()
