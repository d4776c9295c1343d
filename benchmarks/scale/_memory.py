"""Memory of a process, and of all processes that it started."""

import os
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from benchmarks._shared.processes import peak_megabytes

INTERVAL = 0.2  # seconds between looks at all processes


@contextmanager
def added_peak():
    """Yield a list that receives the megabytes that a block takes at most, on Linux."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = psutil.Process().memory_info().rss / 2**20
    found: list = []
    yield found
    found.append(peak_megabytes() - before)


@contextmanager
def peak_of_all():
    """Yield a list that receives the megabytes of this process and its children.

    Memory that processes share counts once.
    """
    found: list = []
    done = threading.Event()
    peak = 0.0

    def watch():
        nonlocal peak
        while True:
            peak = max(peak, _megabytes_of_all())
            if done.wait(INTERVAL):
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield found
    finally:
        done.set()
        watcher.join()
        found.append(peak)


def _megabytes_of_all():
    total = 0
    this = psutil.Process(os.getpid())
    for process in [this, *this.children(recursive=True)]:
        with suppress(psutil.Error):
            total += process.memory_full_info().pss
    return total / 2**20
