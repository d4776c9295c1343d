"""When to stop, by criteria that need no labels."""

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
N_WATCHED_ROWS = 1024  # whose losses tell when all members stop
MAX_COLUMNS = 2**14  # that go through the networks at once
N_GRADIENTS = 128  # of the watched rows, those whose gradients are compared


def _separation(losses, reference):
    return separation(losses)


def _negative_entropy(losses, reference):
    return -loss_entropy(losses)


def _excess_mass(losses, reference):
    return [excess_mass(-own, -at) for own, at in zip(losses, reference, strict=True)]


def _negative_volume(losses, reference):
    return [-mass_volume(-own, -at) for own, at in zip(losses, reference, strict=True)]


BY_LOSSES = {
    "separation": _separation,
    "entropy": _negative_entropy,
    "excess_mass": _excess_mass,
    "mass_volume": _negative_volume,
}


class Watch:
    """Some rows that a training is watched by.

    Parameters
    ----------
    criterion : str
        One of `CRITERIA`.
    run : Run
        Before it loses any member.
    n_rows : int or None
        How many of its rows to draw, at most; none where they will be given.
    noise : ndarray of shape (M, L, K) or None
        The latent noise that rows are scored with.
    """

    def __init__(self, criterion, run, n_rows, noise):
        import torch

        if criterion == "cohesion" and run.n_rows < 4:
            raise ValueError("stopping='cohesion' needs four rows at least.")
        self.criterion = criterion
        self.rows: Any = self._kept_or_drawn("rows", run, run.draw_rows, n_rows)
        self.noise = None if noise is None else torch.from_numpy(noise).to(run.device)
        self.reference = None
        if criterion in ("excess_mass", "mass_volume"):
            draw = run.draw_points
            self.reference = self._kept_or_drawn("points", run, draw, n_rows)

    def _kept_or_drawn(self, name, run, draw, n_rows):
        """Draw anew, unless a run that goes on has carried what was drawn."""
        if n_rows is None:
            return None
        if f"watched_{name}" not in run.carried:
            run.carried[f"watched_{name}"] = draw(n_rows)
        return run.carried[f"watched_{name}"]

    def losses(self, run):
        """Return the losses of the rows under each member, (M, n)."""
        return run.fixed_losses(self.rows, self._noise_of(run))

    def losses_at(self, run, states, rows):
        """Return the losses, (C, M, n), at several checks.

        Parameters
        ----------
        run : Run
        states : sequence of tuple of Tensor
            The weights and running statistics at each check.
        rows : sequence of Tensor
            What `rows` was at each check.
        """
        import torch

        noise = self._noise_of(run)
        n_members, n_codes = len(run.members), 1 if noise is None else noise.shape[2]
        size = max(MAX_COLUMNS // (n_members * n_codes * rows[0].shape[-1]), 1)
        if n_members == 1:  # torch multiplies a single matrix in another way
            size = 1
        losses = []
        for start in range(0, len(states), size):
            part = slice(start, start + size)
            state = _joined(states[part])
            x = rows[0] if rows[0].ndim == 2 else torch.cat(rows[part])
            codes = None if noise is None else noise.repeat(len(states[part]), 1, 1)
            losses.append(run.fixed_losses(x, codes, state))
            run.check_finite(losses[-1], state[0])
        return torch.cat(losses).unflatten(0, (-1, n_members))

    def judge(self, run, losses):
        """Return the criterion of each member; the larger, the better."""
        if self.criterion == "cohesion":
            return self._cohesion(run)
        reference = self._reference_losses(run)
        judge = BY_LOSSES[self.criterion]
        return np.asarray(judge(_array(losses), reference))

    @property
    def judges_by_losses_alone(self):
        """Whether it does not matter for `judge` where the run is."""
        return self.criterion in ("separation", "entropy")

    def judge_each(self, run, losses):
        """Return what `judge` does for the losses at each of several checks."""
        if not self.judges_by_losses_alone:
            return [self.judge(run, own) for own in losses]
        judge = BY_LOSSES[self.criterion]
        return judge(np.stack([_array(own) for own in losses]), None)

    def judge_together(self, run):
        """Return the criterion of all members as one; the larger, the better."""
        if self.criterion == "cohesion":
            return float(self._cohesion(run).mean())
        losses, reference = _array(self.losses(run)), self._reference_losses(run)
        if reference is not None:
            reference = reference.mean(axis=0, keepdims=True)
        judge = BY_LOSSES[self.criterion]
        return float(judge(losses.mean(axis=0, keepdims=True), reference)[0])

    def _noise_of(self, run):
        return None if self.noise is None else self.noise[run.members]

    def _reference_losses(self, run):
        if self.reference is None:
            return None
        return _array(run.fixed_losses(self.reference, self._noise_of(run)))

    def _cohesion(self, run):
        products = run.gradient_products(
            self.rows[:, :N_GRADIENTS], self._noise_of(run)
        )
        return gradient_cohesion(_array(products))


def _joined(states):
    """Return the weights and statistics of the members of several states."""
    import torch

    if len(states) == 1:
        return states[0]
    return tuple(map(torch.cat, zip(*states, strict=True)))


def _array(tensor):
    return tensor.cpu().numpy().astype(np.float64)


def moments_until(epoch):
    """Return epochs that a training can be stopped after, up to one of them.

    They get sparser the later it is: states of all of them have to be kept for some
    time, and losses change ever more slowly.
    """
    moments = [1]
    while moments[-1] <= epoch:
        moments.append(moments[-1] + max(1, moments[-1] // 10))
    return moments[:-1]


class Kept:
    """Snapshots at epochs that are known beforehand."""

    is_over = False

    def __init__(self, detector, run):
        self.epochs = detector._snapshot_epochs(detector.epochs)
        past = [epoch for epoch in self.epochs if epoch <= run.n_epochs]
        self.states = {epoch: run.stages.state(epoch - 1) for epoch in past}

    def judge(self, run, epoch):
        """Return no criterion."""
        return np.nan

    def offer(self, run, epoch, is_last):
        """Keep the present state if it is to count."""
        if epoch in self.epochs or is_last:
            self.states[epoch] = run.state()

    def snapshots(self):
        """Return the epochs of the snapshots, and these."""
        return np.array(list(self.states)), list(self.states.values())


class KeptUntilBest:
    """Snapshots up to the epoch where a criterion is best, which may be any."""

    def __init__(self, detector, run):
        self.detector = detector
        self.watch = detector._watch(run, N_WATCHED_ROWS)
        # As it was for the rows that the training began with.
        self.earliest = run.carried.setdefault(
            "watched_from", detector._earliest_end(run.n_rows)
        )
        self.moments = {*moments_until(detector.epochs), detector.epochs}
        self.criterion = []
        self.states = {}
        if run.n_epochs:
            past = sorted(self.moments & set(range(1, run.n_epochs + 1)))
            self.criterion = detector.history_["criterion"].tolist()
            self.states = {epoch: run.stages.state(epoch - 1) for epoch in past}

    @property
    def is_over(self):
        """Whether there is no waiting for a better epoch any more."""
        return is_over(self.criterion, self.detector.patience)

    def judge(self, run, epoch):
        """Return the criterion, or NaN where it does not count."""
        value = np.nan
        if epoch >= self.earliest and is_moment(epoch):
            value = self.watch.judge_together(run)
        self.criterion.append(value)
        return value

    def offer(self, run, epoch, is_last):
        """Keep the present state; forget those that cannot count any more."""
        if epoch not in self.moments and not is_last:
            return
        self.states[epoch] = run.state()
        to_best = self._epochs()
        still_early = self.detector.burn_in * epoch
        self.states = {
            moment: state
            for moment, state in self.states.items()
            if moment in to_best or moment > still_early
        }

    def snapshots(self):
        """Return the epochs of the snapshots, and these."""
        epochs = self._epochs()
        return np.array(epochs), [self.states[epoch] for epoch in epochs]

    def _epochs(self):
        return self.detector._snapshots_until(best_epoch(self.criterion))


def is_moment(epoch):
    """Whether a training can be stopped after an epoch."""
    return moments_until(epoch)[-1] == epoch


def is_over(criterion, patience):
    """Whether a training has waited long enough for a better epoch than the best.

    Parameters
    ----------
    criterion : sequence of float
        Of every epoch, NaN where it does not count.
    patience : float or None
        In multiples of the best epoch; None waits for ever.
    """
    if patience is None or np.isnan(criterion).all():
        return False
    return len(criterion) >= patience * best_epoch(criterion)


def best_epoch(criterion):
    """Return the first epoch, from 1, of the largest value that is not NaN.

    Where there is none, it is the last one.
    """
    if np.isnan(criterion).all():
        return len(criterion)
    return int(np.nanargmax(criterion)) + 1
