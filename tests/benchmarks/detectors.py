"""Detectors that behave in ways the benchmark has to cope with."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch


class Good:
    """Distance from the centre."""

    def __init__(self, random_state=None, sleep=0.0):
        self.random_state = random_state
        self.sleep = sleep

    def fit(self, X):
        print("something on the standard output")
        time.sleep(self.sleep)
        if len(X) > 100:  # not in the warm-up
            self.misbehave()
        self.decision_scores_ = np.linalg.norm(X - X.mean(0), axis=1)
        return self

    def misbehave(self):
        pass


def slow(random_state=None):
    return Good(random_state, sleep=0.3)


class Endless(Good):
    def misbehave(self):
        time.sleep(1000)


class EndlessFromTheStart(Good):
    def fit(self, X):
        time.sleep(1000)


class Greedy(Good):
    def misbehave(self):
        hoard = []
        while True:
            hoard.append(np.ones(2_000_000))
            time.sleep(0.01)


class GreedyByProxy(Good):
    """Lets a process of its own take the memory."""

    def misbehave(self):
        take = "import time; hoard = b'x' * 1_600_000_000; time.sleep(1000)"
        subprocess.run([sys.executable, "-c", take], check=True)


class Leaky(Good):
    """Leaves in the process what it took."""

    hoard: ClassVar = []

    def misbehave(self):
        self.hoard.append(np.ones(200_000_000))


class Parent(Good):
    """Starts a process of its own and waits for it."""

    def misbehave(self):
        process = subprocess.Popen(["sleep", "1000"])
        Path(os.environ["SKIM_TEST_PID_FILE"]).write_text(str(process.pid))
        process.wait()


class KillerOfWorkers(Good):
    def misbehave(self):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(1000)


class Crashing(Good):
    def misbehave(self):
        print("Goodbye", file=sys.stderr, flush=True)
        os._exit(3)


class Failing(Good):
    def misbehave(self):
        raise RuntimeError("I do not like this table")


class Meddler(Good):
    """Leaves the process other than it was."""

    def misbehave(self):
        torch.set_num_threads(2)
        torch.set_default_dtype(torch.float64)
        np.seterr(all="raise")


class Probe(Good):
    """Fails unless the process is as it should be."""

    def misbehave(self):
        assert torch.get_num_threads() == 1
        assert torch.get_default_dtype() == torch.float32
        assert np.geterr()["divide"] == "warn"
        assert os.environ["OMP_NUM_THREADS"] == "1"


class NotANumber(Good):
    def fit(self, X):
        super().fit(X).decision_scores_[3] = np.nan
        return self


class TooFew(Good):
    def fit(self, X):
        self.decision_scores_ = super().fit(X).decision_scores_[1:]
        return self


class Deterministic(Good):
    def __init__(self):
        super().__init__()


class Demanding(Good):
    def __init__(self, something):
        super().__init__()
