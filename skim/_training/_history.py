"""The record of a training run, and its progress bar."""

import sys

import numpy as np

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
COLUMNS = (
    "epoch",
    "update",
    "batch_size",
    *(f"loss_q{round(100 * q):02d}" for q in QUANTILES),
    "criterion",
)


class History:
    """Records a training run."""

    def __init__(self, name, total, verbose=0, on_entry=None):
        self.name = name
        self.total = total
        self.verbose = verbose
        self.on_entry = on_entry
        self.ended_because = ""
        self._entries = []

    def record(self, epoch, update, batch_size, losses, criterion=np.nan):
        """Add an entry."""
        # What `np.quantile` returns, up to rounding, in a fraction of the time.
        order = np.sort(losses.cpu().numpy(), axis=None)
        places = np.array(QUANTILES) * (order.size - 1)
        quantiles = np.interp(places, np.arange(order.size), order)
        self._entries.append((epoch, update, batch_size, *quantiles, criterion))
        if self.verbose:
            done = len(self._entries)
            state = str(done) if self.total is None else progress_bar(done, self.total)
            median = float(quantiles[2])
            sys.stderr.write(f"\r{self.name} {state} median loss {median:.3f} ")
            sys.stderr.flush()
        stop = self.on_entry is not None and bool(self.on_entry())
        if stop:
            self.ended_because = "stopped by a callback"
        return stop

    def close(self):
        """Finish the progress bar."""
        if self.verbose:
            reason = f"({self.ended_because})" if self.ended_because else ""
            sys.stderr.write(f"{reason}\n")
            sys.stderr.flush()

    def columns(self):
        """Return one array per column, with one element per entry, as a dict."""
        values = map(np.array, zip(*self._entries, strict=True))
        return dict(zip(COLUMNS, values, strict=True))


def progress_bar(done, total, width=30):
    """Return a bar that shows how much of the total is done."""
    filled = width * done // total
    return f"[{'=' * filled:<{width}}] {done}/{total}"
