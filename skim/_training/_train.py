"""The training loop and its record."""

import sys
from itertools import product

import numpy as np

from skim._training._snapshots import SnapshotRecorder

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
COLUMNS = (
    "epoch",
    "update",
    "batch_size",
    *(f"loss_q{round(100 * q):02d}" for q in QUANTILES),
    "criterion",
)
BAR_WIDTH = 30


def train(run, schedule, stopping, epochs, history, store=False):
    """Train networks by a schedule; return the snapshots, and all states if stored."""
    recorder = SnapshotRecorder(len(run.members)) if store else None
    selection = schedule.selection(run, stopping, epochs, history, recorder)
    update = schedule.start(run, epochs)
    n_updates = schedule.updates_in_epoch(run.n_rows)
    check_every = schedule.check_every(run.n_rows)
    steps = product(range(1, epochs + 1), range(1, n_updates + 1))
    try:
        for epoch, step in steps:
            losses = update(run, epoch)
            if step % check_every == 0 and selection.check(run, epoch, losses):
                break
        snapshots = selection.finish(run)
    finally:
        history.close()
    return snapshots, None if recorder is None else recorder.log()


class History:
    """The record of a training run, with a progress bar on standard error."""

    def __init__(self, name, total, verbose=0, on_entry=None):
        self.name = name
        self.total = total  # expected number of entries, if known
        self.verbose = verbose
        self.on_entry = on_entry  # called after each entry; returns whether to stop
        self._entries = []

    def record(self, epoch, update, batch_size, losses, criterion=np.nan):
        """Add an entry; return whether to stop."""
        # What `np.quantile` returns, up to rounding, in a fraction of the time.
        order = np.sort(losses.cpu().numpy(), axis=None)
        places = np.array(QUANTILES) * (order.size - 1)
        quantiles = np.interp(places, np.arange(order.size), order)
        self._entries.append((epoch, update, batch_size, *quantiles, criterion))
        if self.verbose:
            state = str(len(self._entries))
            if self.total is not None:
                bar = "=" * (BAR_WIDTH * len(self._entries) // self.total)
                state = f"[{bar:<{BAR_WIDTH}}] {state}/{self.total}"
            median = float(quantiles[2])
            sys.stderr.write(f"\r{self.name} {state} median loss {median:.3f} ")
            sys.stderr.flush()
        return self.on_entry is not None and bool(self.on_entry())

    def close(self):
        """Finish the progress bar."""
        if self.verbose:
            sys.stderr.write("\n")
            sys.stderr.flush()

    def columns(self):
        """Return one array per column, with one element per entry, as a dict."""
        values = map(np.array, zip(*self._entries, strict=True))
        return dict(zip(COLUMNS, values, strict=True))
