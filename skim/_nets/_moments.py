"""Each member's best moment of training."""

import numpy as np
import torch


class BestMoments:
    """Keeps the state of every member at the moment its criterion was largest.

    Parameters
    ----------
    run : Run
        Before it loses any member.

    Attributes
    ----------
    criterion : ndarray of shape (M,)
        The largest value so far.
    moments : ndarray of shape (M,)
        When that was.
    """

    def __init__(self, run):
        n_members = len(run.network.weights)
        self.criterion = np.full(n_members, -np.inf)
        self.moments = np.zeros(n_members, dtype=np.intp)
        self._state = run.state()

    def offer(self, run, criterion, moment, state=None):
        """Keep the members whose criterion is larger than ever before.

        Parameters
        ----------
        run : Run
        criterion : ndarray of float
            One value for each member in the run.
        moment : int
            What time it is.
        state : tuple of Tensor, default=None
            The weights and running statistics at that time, if not the present ones.
        """
        improved = np.flatnonzero(criterion > self.criterion[run.members])
        if improved.size == 0:
            return
        winners = run.members[improved]
        self.criterion[winners] = criterion[improved]
        self.moments[winners] = moment
        here, there = torch.from_numpy(improved), torch.from_numpy(winners)
        state = state or run.present_state()
        for kept, now in zip(self._state, state, strict=True):
            kept[there] = now[here]
        run.note_states(improved, state)

    def snapshot(self):
        """Return the weights and running statistics of the best moments."""
        return self._state

    def export(self):
        """Return what is needed to go on."""
        return {
            "best_criterion": self.criterion,
            "best_moments": self.moments,
            "best_weights": self._state[0],
            "best_statistics": self._state[1],
        }

    def restore(self, run):
        """Take up what was exported and has been carried by a run."""
        past = run.carried
        self.criterion = past["best_criterion"].cpu().numpy()
        self.moments = past["best_moments"].cpu().numpy()
        self._state = past["best_weights"], past["best_statistics"]
