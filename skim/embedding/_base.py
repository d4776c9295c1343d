"""What all embedders share: batches, progress, a cache, threads, pickling."""

import contextlib
import sys
import threading
from numbers import Integral

import joblib
import numpy as np
from joblib import effective_n_jobs
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_memory

from skim._training._history import progress_bar

_making = threading.Lock()


class Embedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of the transformers that put data into a compact representation.

    A subclass says what an input is and how a batch of it is embedded. It calls
    `_embed` with what `_batches` cuts, and the cache, the progress bar, the number
    of threads and the global random states are taken care of.

    What is expensive to build (a network on a device) belongs into attributes
    whose names are in `_live`: pickles and copies leave them out.

    Warning: this class should not be used directly. Use derived classes instead.
    """

    _parameter_constraints: dict = {
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "memory": [str, HasMethods("cache"), None],
        "device": [str],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    _live: tuple[str, ...] = ()
    _n_features_out: int

    def __getstate__(self):
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in self._live}

    # Transforming ---------------------------------------------------------------

    def _embed(self, n_rows, batches, key):
        """Embed batch by batch, or take what the cache has under `key`.

        Parameters
        ----------
        n_rows : int
        batches : callable
            Returns an iterable of embedded batches, arrays of shape (b, d).
        key : callable
            Returns whatever decides what comes out: the input's content and the
            settings. Called only where there is a cache.

        Returns
        -------
        embedding : ndarray of shape (n_rows, d)
        """

        def compute():
            embedding = None
            done = 0
            with quiet_compute(self._n_threads()):
                for batch in batches():
                    if embedding is None:
                        embedding = np.empty((n_rows, batch.shape[1]), batch.dtype)
                    embedding[done : done + len(batch)] = batch
                    done += len(batch)
                    self._show(done, n_rows)
            return embedding

        return self._remember(compute, key)

    def _remember(self, compute, key):
        """Compute, or take what the cache has under what `key` returns."""
        if self.memory is None:
            return compute()
        stored = check_memory(self.memory).cache(_remembered, ignore=["compute"])
        return stored(joblib.hash((type(self).__qualname__, key())), compute)

    def _batches(self, X):
        """Cut X into runs of at most `batch_size` rows."""
        size = self.batch_size
        return (X[start : start + size] for start in range(0, len(X), size))

    def _alive(self, name, make):
        """Return the attribute of a name in `_live`, made if it is not there."""
        if getattr(self, name, None) is None:
            with _making:
                if getattr(self, name, None) is None:
                    setattr(self, name, make())
        return getattr(self, name)

    def _show(self, done, total):
        if self.verbose:
            bar = progress_bar(done, total)
            sys.stderr.write(f"\r{type(self).__name__} {bar} ")
            sys.stderr.write("\n" if done == total else "")
            sys.stderr.flush()

    def _check_finite(self, embedding, rows=None):
        """Refuse what no detector could use; `rows` are the numbers of its rows."""
        if not np.isfinite(embedding).all():
            bad = np.flatnonzero(~np.isfinite(embedding).all(axis=1))
            first = bad[0] if rows is None else rows[bad[0]]
            advice = "Look at these rows"
            if hasattr(self, "dtype"):
                advice += ", or try dtype='float32': half precision can do this"
            raise ValueError(
                f"{type(self).__name__} gave values that are not finite in {len(bad)} "
                f"of {len(embedding)} rows, first in row {first}. {advice}."
            )
        return embedding

    def _n_threads(self):
        """Return the number of threads to embed with; None leaves it to torch."""
        return self.n_jobs


def _remembered(key, compute):
    """Compute; joblib keeps the result under `key`."""
    return compute()


@contextlib.contextmanager
def quiet_compute(n_jobs):
    """Run without gradients, on `n_jobs` threads, and leave no trace.

    None means as many threads as torch uses anyway. The packages below may draw
    from the global random states; these are put back.
    """
    import torch

    from skim import _nets as nets

    n_threads = torch.get_num_threads() if n_jobs is None else effective_n_jobs(n_jobs)
    with nets.compute(n_threads), untouched_random_states():
        yield


class Together:
    """A context that threads are in together: the first opens, the last closes it.

    Parameters
    ----------
    make : callable
        Returns a new context manager.
    """

    def __init__(self, make):
        self._make = make
        self._lock = threading.Lock()
        self._n_inside = 0

    def __enter__(self):
        with self._lock:
            if self._n_inside == 0:
                self._context = self._make()
                self._context.__enter__()
            self._n_inside += 1

    def __exit__(self, *error):
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._context.__exit__(None, None, None)


@contextlib.contextmanager
def _kept_random_states():
    import random

    import torch

    python = random.getstate()
    numpy = np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002


_random_states = Together(_kept_random_states)


def untouched_random_states():
    """Put the global states of `random`, numpy and torch back in the end."""
    return _random_states
