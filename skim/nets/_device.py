"""Devices and threads."""

import contextlib
import threading

import torch

_lock = threading.Lock()
_n_inside = 0
_n_threads_outside = 0


@contextlib.contextmanager
def compute(n_threads):
    """Run without gradients on `n_threads` threads, and leave no trace.

    Several threads may be inside at once; the number of threads that torch had
    before the first of them came in is what every one of them leaves behind.
    """
    global _n_inside, _n_threads_outside
    with _lock:
        if _n_inside == 0:
            _n_threads_outside = torch.get_num_threads()
        _n_inside += 1
        torch.set_num_threads(n_threads)
    try:
        with torch.inference_mode():
            yield
    finally:
        with _lock:
            _n_inside -= 1
            torch.set_num_threads(_n_threads_outside)


def resolve_device(device):
    """Return the name of the device that `device` stands for."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return str(torch.empty(0, device=device).device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"device={device!r} is not available here; use 'cpu' or 'auto'."
        ) from error
