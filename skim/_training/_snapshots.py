"""The states of the networks that a training run went through."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Snapshots:
    """The states of the networks that rows are scored with.

    Attributes
    ----------
    weights : ndarray of shape (S, M, P)
    statistics : ndarray of shape (S, M, Q)
        The state of every member in each of S snapshots.
    entries : ndarray of int of shape (S, M)
        The entry of the training history after which each state was taken.
    """

    weights: np.ndarray
    statistics: np.ndarray
    entries: np.ndarray


@dataclass(frozen=True)
class SnapshotLog:
    """The states that the members had at the end of every entry of the history.

    Attributes
    ----------
    weights : ndarray of shape (R, P)
    statistics : ndarray of shape (R, Q)
        All states of any member, each of them once.
    index : ndarray of int of shape (T, M)
        The state of each member at the end of each entry.
    """

    weights: np.ndarray
    statistics: np.ndarray
    index: np.ndarray

    def take(self, entries):
        """Return the states that all members had after some entries, as snapshots."""
        places = self.index[entries]
        # The first entry that has a state tells when it was taken.
        since = [np.argmax(self.index == states, axis=0) for states in places]
        return Snapshots(self.weights[places], self.statistics[places], np.array(since))


class SnapshotRecorder:
    """Makes a `SnapshotLog` during a training run.

    Parameters
    ----------
    n_members : int
    """

    def __init__(self, n_members):
        self._states = []
        self._n_states = 0
        self._now = np.zeros(n_members, dtype=np.intp)
        self._index = []

    def put(self, members, weights, statistics):
        """Replace the states of some members; the others keep theirs.

        Parameters
        ----------
        members : ndarray of int
        weights : ndarray of shape (len(members), P)
        statistics : ndarray of shape (len(members), Q)
        """
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
