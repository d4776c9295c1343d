"""What all embedders share: batches, progress, caching, threads and pickling."""

import sys
import threading
from numbers import Integral

import joblib
import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_memory

from skim._training._history import progress_bar

_loading = threading.RLock()


class Embedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of all embedders.

    A subclass validates its input and embeds one batch at a time. It passes these
    batches to `_embed`, which takes care of the cache and the progress bar.

    `_load` returns what is expensive to build, such as a network on a device.
    `_ready` calls it when needed; pickles and copies leave the result out.

    Warning: This class should not be used directly. Use derived classes instead.
    """

    _parameter_constraints: dict = {
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "memory": [str, HasMethods("cache"), None],
        "device": [str],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    _n_features_out: int  # set last in fit

    def _reset(self):
        """Forget an earlier fit, in case this one fails."""
        for name in list(vars(self)):
            if name.endswith("_") or name in ("_loaded", "_n_features_out", "_recipe"):
                delattr(self, name)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_n_features_out")

    def __getstate__(self):
        state = dict(super().__getstate__())
        state.pop("_loaded", None)
        return state

    def _load(self):
        raise NotImplementedError

    def _ready(self):
        """Return what `_load` returns, calling it only once."""
        if not hasattr(self, "_loaded"):
            with _loading:
                if not hasattr(self, "_loaded"):
                    self._loaded = self._load()
        return self._loaded

    # Embedding ------------------------------------------------------------------

    def _embed(self, n_rows, batches, key):
        """Embed batch by batch, or return the cached result, of shape (n_rows, d).

        `batches` returns an iterable of embedded batches, of shape (b, d). `key`
        returns everything that determines the result, and is called only if there is
        a cache.
        """

        def compute():
            embedding = None
            done = 0
            with self._computing():
                for batch in batches():
                    if embedding is None:
                        embedding = np.empty((n_rows, batch.shape[1]), batch.dtype)
                    embedding[done : done + len(batch)] = batch
                    done += len(batch)
                    self._show_progress(done, n_rows)
            return embedding

        return self._cached(compute, key)

    def _cached(self, compute, key):
        """Return what `compute` returns, from the cache if `key` is in it."""
        if self.memory is None:
            return compute()
        cached = check_memory(self.memory).cache(_call, ignore=["compute"])
        return cached(joblib.hash((type(self).__qualname__, key())), compute)

    def _computing(self):
        """Return a context without gradients or side effects, on `n_jobs` threads."""
        from skim.embedding._quiet import quiet_compute  # imports torch

        return quiet_compute(self._n_threads())

    def _n_threads(self):
        """Return the number of threads to use; None leaves it to torch."""
        return self.n_jobs

    def _show_progress(self, done, total):
        if self.verbose:
            bar = progress_bar(done, total)
            sys.stderr.write(f"\r{type(self).__name__} {bar} ")
            sys.stderr.write("\n" if done == total else "")
            sys.stderr.flush()

    def _check_finite(self, embedding, rows=None):
        """Raise an error if an embedding has values that no detector can use.

        `rows` are the positions of its rows in the input.
        """
        bad = np.flatnonzero(~np.isfinite(embedding).all(axis=1))
        if len(bad):
            first = bad[0] if rows is None else rows[bad[0]]
            advice = "check these rows"
            if hasattr(self, "dtype"):
                advice += ", or use dtype='float32' if half precision overflows"
            raise ValueError(
                f"{type(self).__name__} produced NaN or infinity in {len(bad)} of "
                f"{len(embedding)} rows, first in row {first}; {advice}."
            )
        return embedding


def _call(key, compute):
    """Call `compute`; joblib stores the result under `key`."""
    return compute()
