"""Criteria that judge a training run without labels, and when they end it."""

import numpy as np

from skim._training._criteria import gradient_cohesion, loss_entropy
from skim._training._mixture import separation
from skim._training._snapshots import Snapshots

CRITERIA = ("separation", "entropy", "cohesion")
N_GRADIENTS = 128  # of the monitored rows, those whose gradients are compared
MAX_HELD_LOSSES = 2**15  # judged at once; more than that is no faster
MAX_HELD_BYTES = 8 * 2**20  # of states that wait to be judged


class Monitor:
    """Rows whose losses are judged during a training run."""

    def __init__(self, criterion, run, n_rows):
        if criterion == "cohesion" and run.n_rows < 4:
            raise ValueError(
                f"stopping='cohesion' needs at least four rows, got {run.n_rows}."
            )
        self.criterion = criterion
        self._rows = None if n_rows is None else run.draw_rows(n_rows)

    def rows(self, run):
        """Return the rows to judge, of shape (p, n), or (M, p, n) if a batch."""
        return run.batch if self._rows is None else self._rows

    def judge(self, run, losses, *, together=False):
        """Return the criterion of each member's losses; the larger, the better."""
        if self.criterion == "cohesion":
            products = run.gradient_products(self.rows(run)[:, :N_GRADIENTS])
            cohesion = gradient_cohesion(_finite_array(run, products))
            return cohesion.mean() if together else cohesion
        losses = _finite_array(run, losses)
        if together:
            losses = losses.mean(axis=0)
        if self.criterion == "separation":
            return separation(losses)
        return -loss_entropy(losses)


def _finite_array(run, tensor):
    run.check_finite(tensor)
    return tensor.cpu().numpy().astype(np.float64)


class CommonEpochs:
    """Takes snapshots of all members together, up to the best epoch."""

    def __init__(self, run, schedule, criterion, epochs, history, recorder=None):
        self.schedule = schedule
        self.epochs = epochs
        self.history = history
        self.recorder = recorder
        self._values = []  # of every epoch; NaN where not judged
        self._states = {}
        if criterion is None:
            self._monitor, self._checked = None, schedule.late_epochs(epochs)
        else:
            self._monitor = Monitor(criterion, run, schedule.n_monitored)
            self._checked = checked_epochs(epochs)
            self._earliest = schedule.earliest_end(run.n_rows)

    def check(self, run, epoch, losses):
        """Record an epoch by the losses of its last batch; return whether to stop."""
        run.check_finite(losses)
        monitor, is_checked, value = self._monitor, epoch in self._checked, np.nan
        if monitor is not None and is_checked and epoch >= self._earliest:
            value = monitor.judge(run, run.losses(monitor.rows(run)), together=True)
        self._values.append(float(value))
        entry = epoch, run.n_updates, losses.shape[1], losses, self._values[-1]
        stop = self.history.record(*entry)
        counts = stop or is_checked or epoch == self.epochs
        state = run.state() if counts or self.recorder is not None else ()
        if self.recorder is not None:
            self.recorder.put(run.members, *state)
            self.recorder.end_entry()
        if counts:
            self._states[epoch] = state
        if monitor is None:
            return stop
        # Drop the states that neither count now nor may count later.
        now = self.schedule.epochs_until(best_epoch(self._values))
        early = self.schedule.burn_in * epoch
        self._states = {
            e: state for e, state in self._states.items() if e in now or e > early
        }
        return stop or self.schedule.is_over(self._values)

    def finish(self, run):
        """Return the snapshots."""
        epochs = list(self._states)
        if self._monitor is not None:
            epochs = self.schedule.epochs_until(best_epoch(self._values))
        weights, statistics = zip(*(self._states[e] for e in epochs), strict=True)
        entries = np.tile(np.array(epochs)[:, None] - 1, len(run.members))
        return Snapshots(np.stack(weights), np.stack(statistics), entries)


class BestOfEach:
    """Keeps each member at its best check.

    Computing a few losses and fitting a mixture to them takes hardly less time than
    doing so for a hundred times as many. Where nobody waits for the outcome of each
    check, the states of small networks are held for a while and judged together; the
    results are the same.
    """

    def __init__(self, run, schedule, criterion, history, recorder=None):
        self.schedule = schedule
        self.history = history
        self.recorder = recorder
        self.by_time = criterion is None
        n_monitored = schedule.n_monitored_rows(criterion)
        self.monitor = Monitor(criterion or "separation", run, n_monitored)
        n_members = len(run.members)
        self.updates = np.zeros(n_members, dtype=np.intp)  # of each member's best check
        self._entries = self.updates.copy()
        self._n_entries = 0
        self._criterion = np.full(n_members, -np.inf)
        self._state = run.state()
        self._held = []
        self._stop = False

    def check(self, run, epoch, losses):
        """Check the present state of a run; return whether to stop."""
        state, rows = run.state(), self.monitor.rows(run)
        size = losses.shape[1]
        entry = {"epoch": epoch, "update": run.n_updates, "batch_size": size}
        self._held.append((state, rows, entry))
        n_losses = len(run.members) * rows.shape[-1]
        n_bytes = sum(part.nbytes for part in state)
        most = min(MAX_HELD_LOSSES // n_losses, MAX_HELD_BYTES // n_bytes)
        if self.history.on_entry is not None or self.monitor.criterion == "cohesion":
            most = 1
        if len(self._held) >= most:
            self.judge(run)
        return self.schedule.drop_members(run, self) or self._stop

    def judge(self, run):
        """Judge all checks that are still held."""
        if not self._held:
            return
        states, rows, entries = zip(*self._held, strict=True)
        losses = run.losses_at(states, rows)
        criteria = self.monitor.judge(run, losses if len(losses) > 1 else losses[0])
        criteria = criteria.reshape(len(losses), -1)
        checks = zip(states, entries, losses, criteria, strict=True)
        for state, entry, own, criterion in checks:
            judged = np.nan if self.by_time else criterion.mean()
            if self.by_time:
                criterion = np.full(len(criterion), entry["update"])
            improved = criterion > self._criterion[run.members]
            winners = run.members[improved]
            self._criterion[winners] = criterion[improved]
            self.updates[winners] = entry["update"]
            self._entries[winners] = self._n_entries
            new = [part[improved] for part in state]
            for kept, part in zip(self._state, new, strict=True):
                kept[winners] = part
            if self.recorder is not None:
                self.recorder.put(winners, *new)
                self.recorder.end_entry()
            self._n_entries += 1
            self._stop |= self.history.record(losses=own, criterion=judged, **entry)
        self._held.clear()

    def finish(self, run):
        """Judge what is held, and return each member at its best."""
        self.judge(run)
        return Snapshots(*(part[None] for part in (*self._state, self._entries)))


def checked_epochs(until):
    """Return the epochs up to `until` that training can be stopped after."""
    epochs = [1]  # ever sparser, as the losses change ever more slowly
    while epochs[-1] <= until:
        epochs.append(epochs[-1] + max(1, epochs[-1] // 10))
    return epochs[:-1]


def best_epoch(criterion):
    """Return the first best epoch, from 1, or the last one if none was judged."""
    if np.isnan(criterion).all():
        return len(criterion)
    return int(np.nanargmax(criterion)) + 1
