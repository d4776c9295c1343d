"""A process that measures one task after another, for `benchmarks._worker`.

Tasks come as lines of JSON on the standard input, and a line goes back for each.
Whatever the detectors themselves print goes elsewhere.
"""

import contextlib
import json
import os
import queue
import random
import sys
import threading
import warnings


def main():
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    tasks = queue.Queue()
    threading.Thread(target=_receive, args=(tasks,), daemon=True).start()
    _import_what_is_shared()
    print("ready", file=answers)
    while True:
        print(json.dumps(perform(tasks.get())), file=answers)


def _receive(tasks):
    for line in sys.stdin:
        tasks.put(json.loads(line))
    os._exit(0)  # whoever asked is gone: even an unfinished task is of no use now


def _import_what_is_shared():
    import sklearn.ensemble  # noqa: F401
    import torch  # noqa: F401

    import skim  # noqa: F401


def perform(task):
    """Measure one task; see `benchmarks._worker.run` for what it holds."""
    from benchmarks._measure import measure
    from benchmarks.detectors import Detector

    warnings.simplefilter("ignore")  # of the other libraries
    try:
        X, y = _load(task)
        how = Detector(**task["how"])
        _warm_up(how, "C" if X.flags.c_contiguous else "F")
        _seed_everything(task["seed"])
        detector = how.build(seed=task["seed"], n_features=X.shape[1])
        result = measure(detector, X, y)
    except MemoryError as error:
        return {"status": "memory", "error": _describe(error)}
    except Exception as error:
        return {"status": "failed", "error": _describe(error)}
    rounded = {name: round(float(v), 6) for name, v in result._asdict().items()}
    return {"status": "ok", "n": X.shape[0], "p": X.shape[1], **rounded}


def _load(task):
    from skim.datasets._adbench import fetch_adbench, load_npz

    if task["path"] is not None:
        return load_npz(task["path"])
    return fetch_adbench(task["file"], data_home=task["data_home"], return_X_y=True)


_warm = set()


def _warm_up(how, order):
    """Let the first fit in an order of memory pay for imports and compilation."""
    import numpy as np

    if (how.name, order) in _warm:
        return
    _warm.add((how.name, order))
    X = np.asarray(np.random.default_rng(0).normal(size=(100, 4)), order=order)
    with contextlib.suppress(Exception):  # it will be met again, and recorded
        how.build(seed=0, n_features=4).fit(X)


def _seed_everything(seed):
    """Seed the global generators, which some of the other libraries draw from."""
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)


def _describe(error):
    return f"{type(error).__name__}: {error}"[:500]


if __name__ == "__main__":
    main()
