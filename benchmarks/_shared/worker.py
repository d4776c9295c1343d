"""Run tasks in a child process, within limits of time and memory."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from typing import NamedTuple

import psutil

POLL_SECONDS = (0.02, 0.5)  # shortest and longest time between two checks
FAMILY_SECONDS = 1  # between two searches for the children of a child
IDLE_FACTOR = 5  # wall-clock time may exceed the limit of processor time so many times
START_SECONDS = 1800  # to import, and to load the data
BEYOND = ("timeout", "memory")  # statuses of tasks that exceeded a limit
NOT_KEPT = ("how", "data_home", "path")
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class Limits(NamedTuple):
    """What a task may use; None means no limit."""

    threads: int = 1
    seconds: float | None = None
    gigabytes: float | None = None


class Child:
    """A process that performs tasks, one after another, until it has to be ended."""

    def __init__(self, threads):
        self.threads = threads
        self.n_asked = 0
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self._errors_before = 0
        variables = dict.fromkeys(THREAD_VARIABLES, str(threads))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks._shared.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            bufsize=1,
            env=os.environ | variables,
            start_new_session=True,  # an interrupt is meant for the parent
        )
        self._answers = queue.Queue()
        listening = (self.process.stdout, self._answers)
        threading.Thread(target=_listen, args=listening, daemon=True).start()
        self._family = [psutil.Process(self.process.pid)]
        self._searched = time.perf_counter()
        self.close = weakref.finalize(self, _end, self.process, self._errors)

    def answer(self, limits):
        """Wait for the next line.

        Returns it, or a record of what went wrong, and the most gigabytes that the
        process was seen to use, with its own children.
        """
        start = time.perf_counter()
        _, used_before = self._usage()
        peak = 0.0
        while True:
            gigabytes, used = self._usage()
            peak = max(peak, gigabytes)
            seconds = time.perf_counter() - start
            worked = (used - used_before) / limits.threads
            # Other processes may keep the machine busy.
            if limits.seconds is not None and (
                max(worked, seconds / IDLE_FACTOR) > limits.seconds
            ):
                return _stopped("timeout", f"more than {limits.seconds:g} s"), peak
            if limits.gigabytes is not None and peak > limits.gigabytes:
                return _stopped("memory", f"more than {limits.gigabytes:g} GB"), peak
            ended = self.process.poll() is not None
            try:
                line = self._answers.get(timeout=_pause(seconds))
            except queue.Empty:
                if ended:
                    return self._last_words(), peak
                continue
            return (self._last_words() if line is None else line), peak

    def ask(self, task, limits):
        """Perform a task and return its record."""
        self.n_asked += 1
        self._errors_before = os.fstat(self._errors.fileno()).st_size
        try:
            self.process.stdin.write(json.dumps(task) + "\n")
        except OSError:
            return self._last_words()
        answer, peak = self.answer(limits._replace(seconds=START_SECONDS))
        if answer == "loaded\n":
            answer, peak = self.answer(limits)
        elif isinstance(answer, dict) and answer["status"] == "timeout":
            self.close()  # it is still loading
            answer = _stopped("no data", f"loading takes {answer['error']}")
        if answer == "started\n":
            answer, peak = self.answer(limits)
        record = json.loads(answer) if isinstance(answer, str) else answer
        return {**record, "peak_gb": round(peak, 3)}

    def _usage(self):
        """Return the gigabytes and processor seconds, with those of its children."""
        now = time.perf_counter()
        if now - self._searched > FAMILY_SECONDS:
            self._searched = now
            with contextlib.suppress(psutil.Error):
                self._family[1:] = self._family[0].children(recursive=True)
        size = used = 0.0
        for each in self._family:
            with contextlib.suppress(psutil.Error):  # it may have ended
                size += each.memory_info().rss / 1e9
                used += sum(each.cpu_times()[:4])
        return size, used

    def _last_words(self):
        code = self.process.wait()
        self._errors.seek(self._errors_before)
        lines = self._errors.read().strip().splitlines()[-1:]
        # This signal comes from the system, when its memory is used up.
        status = "memory" if code == -signal.SIGKILL else "failed"
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return _stopped(status, f"the process ended with {how}. {''.join(lines)}")


def _pause(seconds):
    """Return how long to wait for an answer after so many seconds without one."""
    shortest, longest = POLL_SECONDS
    return min(max(shortest, seconds / 20), longest)


def _listen(lines, answers):
    for line in lines:
        answers.put(line)
    answers.put(None)
    lines.close()


def _end(process, errors):
    """End a process and those it started, whatever they are doing."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # it leads a session of its own
    process.kill()
    process.wait()
    process.stdin.close()
    errors.close()


def _stopped(status, why):
    return {"status": status, "error": why[:500]}


_here = threading.local()  # each thread of a worker has a child of its own


def run(task, limits):
    """Perform one task in this thread's child.

    Parameters
    ----------
    task : dict
        "file" and "data_home" for `fetch_adbench`, or the "path" of a file of one's
        own; "seed"; "threads"; and "how", the fields of a `Detector`. Whatever else
        it holds comes back with the result.
    limits : Limits

    Returns
    -------
    record : dict
        The task's other entries, the limits, and "status": "ok" with the metrics, or
        "failed", "timeout", "memory" or "no data" with an "error".
    """
    start = time.perf_counter()
    child = _child(limits.threads)
    record = child.ask(task, limits)
    if record["status"] == "memory" and child.n_asked > 1:
        # Earlier tasks may have left some of it behind.
        _dismiss(child)
        child = _child(limits.threads)
        record = child.ask(task, limits)
    if record["status"] in BEYOND or child.process.poll() is not None:
        _dismiss(child)
    wall = round(time.perf_counter() - start, 3)
    return finished(task, {**record, "wall": wall}, limits)


def finished(task, record, limits):
    """Return what is kept of a task, its record and its limits."""
    kept = {name: task[name] for name in task if name not in NOT_KEPT}
    return {**kept, **record, "limits": limits[1:]}


def _dismiss(child):
    child.close()
    _here.child = None


def _child(threads):
    child = getattr(_here, "child", None)
    if child is not None and child.threads != threads:
        child.close()
        child = None
    if child is None or child.process.poll() is not None:
        child = _here.child = Child(threads)
        ready, _ = child.answer(Limits(seconds=START_SECONDS))
        if not isinstance(ready, str):
            _dismiss(child)
            raise RuntimeError(f"A process for tasks did not start: {ready['error']}")
    return child
