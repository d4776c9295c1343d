"""Computing with torch without side effects on the rest of the program."""

import contextlib
import random
import threading

import numpy as np
import torch
from joblib import effective_n_jobs

from skim import _nets as nets


class SharedContext:
    """A context manager shared by threads: the first opens it, the last closes it.

    Parameters
    ----------
    make : callable
        Returns a new context manager.
    """

    def __init__(self, make):
        self._make = make
        self._lock = threading.Lock()
        self._n_inside = 0

    def __enter__(self):
        with self._lock:
            if self._n_inside == 0:
                self._context = self._make()
                self._context.__enter__()
            self._n_inside += 1

    def __exit__(self, *error):
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._context.__exit__(None, None, None)


@contextlib.contextmanager
def _restore_random_states():
    python = random.getstate()
    numpy = np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002


# Restores the global random states of `random`, numpy and torch.
random_states_restored = SharedContext(_restore_random_states)


@contextlib.contextmanager
def quiet_compute(n_jobs):
    """Run without gradients on `n_jobs` threads, then restore all global state.

    None keeps torch's number of threads. The random states are restored because
    third-party networks may draw from them.
    """
    n_threads = torch.get_num_threads() if n_jobs is None else effective_n_jobs(n_jobs)
    with nets.compute(n_threads), random_states_restored:
        yield
