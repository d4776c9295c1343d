"""Fits to more and more labels, in the background of the questions."""

import copy
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

EVERY = 3  # labels that are worth another fit


class Refits:
    """Fits a detector to new labels on a thread of its own.

    Parameters
    ----------
    detector : IMBoostDetector
        Fitted without labels; other labels do not train its networks again.
    table : DataFrame
        What it was fitted to.

    Attributes
    ----------
    newest : IMBoostDetector
        The fit that was finished last.
    """

    def __init__(self, detector, table):
        self.newest = detector
        self._without_labels = detector
        self._table = table
        self._labels = np.full(len(table), np.nan)  # of the last fit begun
        self._running: Future | None = None
        self._thread = ThreadPoolExecutor(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._thread.shutdown(cancel_futures=True)

    def collect(self):
        """Take the fit that has finished, if any, and raise its error."""
        if self._running is not None and self._running.done():
            running, self._running = self._running, None
            self.newest = running.result()

    def offer(self, labels):
        """Begin a fit unless one is running, or few labels are new."""
        n_new = np.sum(~_are_same(labels, self._labels))
        if self._running is None and n_new >= EVERY:
            self._begin(labels)

    def finish(self, labels):
        """Wait for the fit to these labels."""
        if self._running is not None:
            self._running.exception()  # waits
        if not _are_same(labels, self._labels).all():
            self._begin(labels)
        if self._running is not None:
            self._running.exception()
        self.collect()

    def _begin(self, labels):
        self._labels = labels.copy()
        self._running = self._thread.submit(self._fit, self._labels)

    def _fit(self, labels):
        # Always from the fit without labels: what was taken back leaves no trace.
        if np.isnan(labels).all():
            return self._without_labels
        detector = copy.copy(self._without_labels)
        return detector.fit(self._table, labels=labels)


def _are_same(labels, others):
    return (labels == others) | (np.isnan(labels) & np.isnan(others))
