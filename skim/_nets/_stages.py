"""What training would have ended with at each of its stages."""

import numpy as np
import torch


class StageLog:
    """Keeps every state that a member ever had at the end of a stage, once.

    Parameters
    ----------
    n_members : int
    max_bytes : int or None, default=None
        As soon as more than this is kept, all of it is forgotten. None means that
        there is no limit.
    """

    def __init__(self, n_members, max_bytes=None):
        self.max_bytes = max_bytes
        self._n_bytes = 0
        self._n_states = 0
        self._states = []
        self._now = np.zeros(n_members, dtype=np.intp)
        self._stages = []

    @property
    def is_full(self):
        """Whether more came than was allowed."""
        return self.max_bytes is not None and self._n_bytes > self.max_bytes

    def put(self, members, weights, statistics):
        """Take over new states of some members; the others keep theirs.

        Parameters
        ----------
        members : ndarray of int
        weights : Tensor of shape (len(members), P)
        statistics : Tensor of shape (len(members), Q)
        """
        self._n_bytes += weights.nbytes + statistics.nbytes
        if self.is_full:
            self._states.clear()
            return
        self._now[members] = self._n_states + np.arange(len(members))
        self._n_states += len(members)
        # Off the device, where a training goes on with what was stored.
        state = (part.to("cpu", copy=True) for part in (weights, statistics))
        self._states.append(tuple(state))

    def restore(self, weights, statistics, stages):
        """Take up what `arrays` of another log returned."""
        self._states = [tuple(map(torch.tensor, (weights, statistics)))]
        self._n_states = len(weights)
        self._stages = list(stages)
        self._now = self._stages[-1].copy()

    def state(self, stage):
        """Return the weights and statistics that all members had after a stage."""
        weights, statistics = self._merged()
        places = torch.from_numpy(self._stages[stage])
        return weights[places], statistics[places]

    def end_stage(self):
        """Note which states the members have now."""
        self._stages.append(self._now.copy())

    def arrays(self):
        """Return the states and who had which of them when.

        Returns
        -------
        weights : ndarray of shape (R, P)
        statistics : ndarray of shape (R, Q)
        stages : ndarray of int of shape (T, M)
            The row of each member's state at the end of each stage.
        """
        weights, statistics = (part.numpy() for part in self._merged())
        return weights, statistics, np.stack(self._stages)

    def _merged(self):
        """Return all weights and statistics, each in one block from now on."""
        if len(self._states) > 1:
            self._states = [tuple(map(torch.cat, zip(*self._states, strict=True)))]
        return self._states[0]
