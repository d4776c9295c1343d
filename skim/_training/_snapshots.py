"""The states of the networks that a training run went through."""

from dataclasses import dataclass

import numpy as np

from skim._utils import Stored


@dataclass(frozen=True)
class Snapshots(Stored):
    """The states of the networks that rows are scored with."""

    weights: np.ndarray
    statistics: np.ndarray
    entries: np.ndarray
    # The minimum and the width of each member's losses on the training data, (S, 2, M),
    # if losses are normalized.
    ranges: np.ndarray | None = None


@dataclass(frozen=True)
class SnapshotLog(Stored):
    """The states that the members had at the end of every entry of the history."""

    weights: np.ndarray
    statistics: np.ndarray
    index: np.ndarray
    ranges: np.ndarray | None = None  # as of snapshots, but for every entry

    def take(self, entries):
        """Return the states that all members had after some entries, as snapshots."""
        places = self.index[entries]
        # The first entry that has a state tells when it was taken.
        since = np.array([np.argmax(self.index == states, axis=0) for states in places])
        ranges = None if self.ranges is None else self.ranges[entries]
        return Snapshots(self.weights[places], self.statistics[places], since, ranges)


class SnapshotRecorder:
    """Makes a `SnapshotLog` during a training run."""

    def __init__(self, n_members):
        self._states = []
        self._n_states = 0
        self._now = np.zeros(n_members, dtype=np.intp)
        self._index = []

    def put(self, members, weights, statistics):
        """Replace the states of some members; the others keep theirs."""
        self._now[members] = self._n_states + np.arange(len(members))
        self._n_states += len(members)
        self._states.append((weights, statistics))

    def end_entry(self):
        """Note which states the members have now."""
        self._index.append(self._now.copy())

    def log(self):
        """Return what was recorded."""
        weights, statistics = map(np.concatenate, zip(*self._states, strict=True))
        return SnapshotLog(weights, statistics, np.stack(self._index))
