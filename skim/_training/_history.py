"""What a training run tells: its history, a progress bar, callbacks."""

import sys

import numpy as np

from skim._training._mixture import separation

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MAX_LOSSES = 256  # losses kept per entry, for the separation


class Monitor:
    """Listens to a training run.

    Parameters
    ----------
    name : str
        Shown before the progress bar.
    total : int or None
        Number of entries expected, if known.
    verbose : int
        Whether to draw a progress bar on standard error.
    on_entry : callable, default=None
        Called with nothing after each entry; returns whether to stop.
    past : dict of str to ndarray, default=None
        History of a training that this one goes on with.
    """

    def __init__(self, name, total, verbose=0, on_entry=None, past=None):
        self.past = past
        self.name = name
        self.total = total
        self.verbose = verbose
        self.on_entry = on_entry
        self._entries = []
        self._losses = []
        self._separations = []

    @property
    def is_heard(self):
        """Whether somebody looks at the run at every entry."""
        return self.on_entry is not None

    def record(
        self,
        *,
        epoch,
        update,
        batch_size,
        losses,
        separation=None,
        criterion=np.nan,
    ):
        """Add an entry.

        Parameters
        ----------
        epoch, update : int
            Number of epochs and updates so far.
        batch_size : int
            Rows in the latest batch.
        losses : Tensor of shape (M, B)
            Losses of the latest batch, or of rows that are watched.
        separation : float, default=None
            Where it is known already.
        criterion : float, default=nan
            By which it is decided when to stop.

        Returns
        -------
        stop : bool
            Whether a callback asks to end the training.
        """
        values = losses.cpu().numpy()
        quantiles = quantiles_of(values)
        self._entries.append((epoch, update, batch_size, *quantiles, criterion))
        if separation is None:
            # Rows are in random order: the first of each member are as good as any.
            self._n_members = len(values)
            self._losses.append(values[:, : -(-MAX_LOSSES // len(values))].ravel())
        else:
            self._separations.append(separation)
        if self.verbose:
            self._draw(len(self._entries), float(quantiles[2]))
        return bool(self.on_entry()) if self.on_entry else False

    def close(self):
        """End the progress bar."""
        if self.verbose:
            sys.stderr.write("\n")
            sys.stderr.flush()

    def history(self):
        """Return what was recorded.

        Returns
        -------
        history : dict of str to ndarray
            One array per column, one element per entry.
        """
        columns = ["epoch", "update", "batch_size"]
        columns += [f"loss_q{round(100 * q):02d}" for q in QUANTILES]
        columns += ["criterion"]
        if not self._entries:
            return self.past
        values = map(np.array, zip(*self._entries, strict=True))
        history = dict(zip(columns, values, strict=True))
        if self._losses:
            size = self._size()
            losses = np.stack([losses[:size] for losses in self._losses])
            history["separation"] = separation(losses)
        else:
            history["separation"] = np.array(self._separations)
        if self.past is None:
            return history
        return {
            name: np.concatenate([self.past[name], column])
            for name, column in history.items()
        }

    def _size(self):
        """Return how many losses of every entry there are, past ones included."""
        size = min(map(len, self._losses))
        if self.past is None:
            return size
        n_rows = min(-(-MAX_LOSSES // self._n_members), self.past["batch_size"].min())
        return min(size, self._n_members * int(n_rows))

    def _draw(self, done, loss):
        state = f"{done}" if self.total is None else progress_bar(done, self.total)
        sys.stderr.write(f"\r{self.name} {state} median loss {loss:.3f} ")
        sys.stderr.flush()


def quantiles_of(values):
    """Return what `np.quantile` does, up to rounding, in a fraction of the time."""
    order = np.sort(values, axis=None)
    places = np.array(QUANTILES) * (order.size - 1)
    return np.interp(places, np.arange(order.size), order)


def progress_bar(done, total, width=30):
    """Return a line that shows how much of all is done."""
    filled = width * done // total
    return f"[{'=' * filled:<{width}}] {done}/{total}"
