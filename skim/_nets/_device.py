"""Devices and threads."""

import contextlib
import threading

import torch

_lock = threading.Lock()
_n_threads_inside = 0
_outside = 0
_local = threading.local()


@contextlib.contextmanager
def compute(n_threads):
    """Run without gradients on `n_threads` threads, and leave no trace.

    Several threads may be inside at once, and one more than once. A thread that
    leaves for good leaves behind what torch had before the first one came in.
    """
    global _n_threads_inside, _outside
    depth = getattr(_local, "depth", 0)
    with _lock:
        before = torch.get_num_threads()
        if _n_threads_inside == 0:
            _outside = before
        _n_threads_inside += depth == 0
        torch.set_num_threads(n_threads)
    _local.depth = depth + 1
    try:
        with torch.inference_mode():
            yield
    finally:
        _local.depth = depth
        with _lock:
            _n_threads_inside -= depth == 0
            torch.set_num_threads(before if depth else _outside)


def resolve_device(device):
    """Return the name of the device that `device` stands for."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return str(torch.Generator(torch.empty(1, device=device).device).device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(
            f"device={device!r} is not available here; use 'cpu' or 'auto'."
        ) from error


def device_or_cpu(device):
    """Return `device`, or the CPU where a fitted detector's device is absent."""
    try:
        return resolve_device(device)
    except ValueError:
        return "cpu"
