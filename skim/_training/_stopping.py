"""When training ends and which states are kept, by criteria that need no labels."""

from typing import Any

import numpy as np

from skim._training._criteria import (
    excess_mass,
    gradient_cohesion,
    loss_entropy,
    mass_volume,
)
from skim._training._mixture import separation

CRITERIA = ("separation", "entropy", "cohesion", "excess_mass", "mass_volume")
N_GRADIENTS = 128  # of the watched rows, those whose gradients are compared
MAX_HELD_LOSSES = 2**15  # judged at once; more than that is no faster
MAX_HELD_BYTES = 8 * 2**20  # of states that wait to be judged


class Watch:
    """Rows whose losses are judged while a detector trains.

    Parameters
    ----------
    criterion : str
        One of `CRITERIA`.
    run : Run
        Before it loses any member.
    n_rows : int or None
        How many of its rows to draw, at most; None if `rows` will be set.
    """

    def __init__(self, criterion, run, n_rows):
        if criterion == "cohesion" and run.n_rows < 4:
            raise ValueError(
                f"stopping='cohesion' needs at least four rows, got {run.n_rows}."
            )
        self.criterion = criterion
        self.rows: Any = None
        self.reference = None
        if n_rows is not None:
            if "watched_rows" not in run.carried:  # as a resumed run has them
                run.carried["watched_rows"] = run.draw_rows(n_rows)
                if criterion in ("excess_mass", "mass_volume"):
                    run.carried["watched_points"] = run.draw_points(n_rows)
            self.rows = run.carried["watched_rows"]
            self.reference = run.carried.get("watched_points")

    @property
    def judges_by_losses_alone(self):
        """Whether `judge` needs nothing of the run but the losses."""
        return self.criterion in ("separation", "entropy")

    def judge(self, run, losses, *, together=False):
        """Return the criterion of each member's losses; the larger, the better.

        Parameters
        ----------
        run : Run
        losses : Tensor of shape (..., n)
            Of the watched rows.
        together : bool, default=False
            Whether to judge the mean loss of all members instead.
        """
        if self.criterion == "cohesion":
            products = run.gradient_products(self.rows[:, :N_GRADIENTS])
            cohesion = gradient_cohesion(_finite_array(run, products))
            return cohesion.mean() if together else cohesion
        losses = _finite_array(run, losses)
        reference: Any = None
        if self.reference is not None:
            reference = _finite_array(run, run.losses(self.reference))
        if together:
            losses = losses.mean(axis=0)
            reference = None if reference is None else reference.mean(axis=0)
        if self.criterion == "separation":
            return separation(losses)
        if self.criterion == "entropy":
            return -loss_entropy(losses)
        judge = excess_mass if self.criterion == "excess_mass" else _negative_volume
        if together:
            return judge(-losses, -reference)
        pairs = zip(losses, reference, strict=True)
        return np.array([judge(-own, -at) for own, at in pairs])


def _negative_volume(scores, reference_scores):
    return -mass_volume(scores, reference_scores)


def _finite_array(run, tensor):
    run.check_finite(tensor)
    return tensor.cpu().numpy().astype(np.float64)


class BestStates:
    """Keeps each member at its best check, and records every check.

    Computing a few losses and fitting a mixture to them takes hardly less time than
    doing so for a hundred times as many. Where nobody waits for the outcome of each
    check, the states of small networks are held for a while and judged together; the
    results are the same.

    Parameters
    ----------
    run : Run
        Before it loses any member.
    watch : Watch
    history : History
    by_time : bool
        Whether the latest check is the best one, whatever the criterion says.

    Attributes
    ----------
    moments : ndarray of int of shape (M,)
        The epoch or update of each member's best check.
    stop : bool
        Whether a callback has asked to end the training.
    """

    def __init__(self, run, watch, history, *, by_time):
        self.watch = watch
        self.history = history
        self.by_time = by_time
        self.stop = False
        self._held = []
        past = run.carried
        if "best_criterion" in past:
            names = ("criterion", "moments", "weights", "statistics")
            copies = (past[f"best_{name}"].copy() for name in names)
            self._criterion, self.moments, *self._state = copies
        else:
            n_members = len(run.members)
            self._criterion = np.full(n_members, -np.inf)
            self.moments = np.zeros(n_members, dtype=np.intp)
            self._state = run.state()

    def add(self, run, moment, **entry):
        """Check the present state of a run.

        Parameters
        ----------
        run : Run
            With the same members as at the last call of `judge`.
        moment : int
            The epoch or update.
        **entry : dict
            What else the history records.
        """
        state = run.state()
        self._held.append((state, self.watch.rows, moment, entry))
        n_losses = len(run.members) * self.watch.rows.shape[-1]
        n_bytes = sum(part.nbytes for part in state)
        most = min(MAX_HELD_LOSSES // n_losses, MAX_HELD_BYTES // n_bytes)
        if self.history.on_entry is not None or not self.watch.judges_by_losses_alone:
            most = 1
        if len(self._held) >= most:
            self.judge(run)

    def judge(self, run):
        """Judge all checks that are still held."""
        if not self._held:
            return
        states, rows, _, _ = zip(*self._held, strict=True)
        losses = run.losses_at(states, rows)
        criteria = self.watch.judge(run, losses if len(losses) > 1 else losses[0])
        criteria = criteria.reshape(len(losses), -1)
        for criterion, own, held in zip(criteria, losses, self._held, strict=True):
            state, _, moment, entry = held
            self._offer(run, criterion, moment, state)
            if run.stages is not None:
                run.stages.end_stage()
            judged = np.nan if self.by_time else criterion.mean()
            self.stop |= self.history.record(losses=own, criterion=judged, **entry)
        self._held.clear()

    def _offer(self, run, criterion, moment, state):
        """Keep the members whose criterion is larger than ever before."""
        if self.by_time:
            criterion = np.full(len(criterion), moment)
        improved = np.flatnonzero(criterion > self._criterion[run.members])
        winners = run.members[improved]
        self._criterion[winners] = criterion[improved]
        self.moments[winners] = moment
        new = [part[improved] for part in state]
        for kept, part in zip(self._state, new, strict=True):
            kept[winners] = part
        if run.stages is not None and improved.size:
            run.stages.put(winners, *new)

    def finish(self, run):
        """Judge what is held, and leave the best states in the run."""
        self.judge(run)
        run.snapshots = [self._state]
        run.carried |= {
            "best_criterion": self._criterion,
            "best_moments": self.moments,
            "best_weights": self._state[0],
            "best_statistics": self._state[1],
        }


def checkpoint_epochs(until):
    """Return the epochs up to `until` that training can be stopped after.

    They get sparser over time: the states of all of them have to be kept for a while,
    and the losses change ever more slowly.
    """
    epochs = [1]
    while epochs[-1] <= until:
        epochs.append(epochs[-1] + max(1, epochs[-1] // 10))
    return epochs[:-1]


def best_epoch(criterion):
    """Return the first epoch, from 1, with the largest value that is not NaN.

    Where all are NaN, this is the last one.
    """
    if np.isnan(criterion).all():
        return len(criterion)
    return int(np.nanargmax(criterion)) + 1
