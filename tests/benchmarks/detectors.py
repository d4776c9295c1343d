"""Detectors that behave in ways the benchmark has to cope with."""

import os

import numpy as np
import torch


class Good:
    """Distance from the centre."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X):
        print("something on the standard output")
        if len(X) > 100:  # not in the warm-up
            self.misbehave()
        self.decision_scores_ = np.linalg.norm(X - X.mean(0), axis=1)
        return self

    def misbehave(self):
        pass


class Busy(Good):
    def misbehave(self):
        while True:
            pass


class Crashing(Good):
    def misbehave(self):
        os._exit(3)


class Failing(Good):
    def misbehave(self):
        raise RuntimeError("I do not like this table")


class OutOfMemory(Good):
    def misbehave(self):
        raise MemoryError


class Probe(Good):
    """Fails unless the process is as it should be."""

    def misbehave(self):
        assert torch.get_num_threads() == 1
        assert os.environ["OMP_NUM_THREADS"] == "1"


class NotANumber(Good):
    def fit(self, X):
        super().fit(X).decision_scores_[3] = np.nan
        return self


class TooFew(Good):
    def fit(self, X):
        self.decision_scores_ = super().fit(X).decision_scores_[1:]
        return self


class Demanding(Good):
    def __init__(self, something):
        super().__init__()
