"""What the embedders with a pretrained network share."""

import contextlib
import os
import sys
import threading
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from skim import _nets as nets
from skim._utils import Versioned, shared_docs
from skim.embedding._checkpoints import checkpoint_files, written_files

PARAMETERS = """keep_weights : bool, default=False
    Whether pickles contain the checkpoint. If False, they are small, and the
    checkpoint must be available where they are loaded.

device : str, default="auto"
    Any device of torch, or "auto" for a GPU if there is one.

n_jobs : int, default=None
    Number of threads. None uses the default of torch, -1 all processors.

verbose : int, default=0
    Whether to show a progress bar on standard error."""

ATTRIBUTES = """device_ : str
    The device that was used.

checkpoint_files_ : dict of str to ndarray or None
    Content of the checkpoint, with `keep_weights`."""

with_shared_docs = shared_docs(parameters=PARAMETERS, attributes=ATTRIBUTES)

# Random states, warning filters and log levels are global: only one thread at a time
# can change and restore them.
_lock = threading.RLock()


class PretrainedEmbedder(
    Versioned, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Base class of embedders with a pretrained network.

    A subclass validates its input (`_check_input`), finds its checkpoint (`_find`),
    loads its network (`_load`) and embeds one batch (`_run`). The network is loaded
    when it is needed; pickles and copies leave it out.

    Warning: This class should not be used directly. Use derived classes instead.
    """

    _parameter_constraints: dict = {
        "model": [str, os.PathLike],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "keep_weights": ["boolean"],
        "device": [str],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    _loaded: Any = None  # what `_load` returned
    _blank: Any  # an input, embedded to get the number of output features

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: object = None) -> Self:
        """Load the network; nothing is learned from X.

        Parameters
        ----------
        X : array, list, Series or one-column data frame
            Anything that `transform` takes.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
        """
        self._check_input(X)
        return self._fit_network([self._blank])

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Embed rows, images or texts.

        Parameters
        ----------
        X : array, list, Series or data frame
            Rows of a table, images or texts, as the class describes them.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_features_out) of float32
            Embedded rows.
        """
        check_is_fitted(self)
        return self._embed(self._check_input(X))

    def _fit_network(self, batch):
        """Load the network, and embed a batch to get the number of output features."""
        self.device_ = nets.resolve_device(self.device)
        self.checkpoint_files_ = None
        if self.keep_weights and not callable(self.model):
            files = checkpoint_files(self._find())
            self.checkpoint_files_ = {
                file.name: np.fromfile(file, np.uint8) for file in files
            }
        self._loaded = None
        self._ensure_loaded()
        with self._computing():
            self._n_features_out = self._run(batch).shape[1]
        return self

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_n_features_out")

    def __getstate__(self):
        state = dict(super().__getstate__())
        state.pop("_loaded", None)
        return state

    def _ensure_loaded(self):
        with _alone():
            if self._loaded is None:
                self._loaded = self._load()

    def _checkpoint(self):
        """Return a context manager that yields the path of the checkpoint."""
        if self.checkpoint_files_ is not None:
            return written_files(self.checkpoint_files_)
        return contextlib.nullcontext(Path(self._find()))

    def _embed(self, rows):
        """Embed rows batch by batch."""
        self._ensure_loaded()
        embedding = np.empty((len(rows), self._n_features_out), np.float32)
        with self._computing():
            for start in range(0, len(rows), self.batch_size):
                batch = slice(start, start + self.batch_size)
                embedding[batch] = self._run(rows[batch])
                if self.verbose:
                    self._show_progress(min(batch.stop, len(rows)), len(rows))
        return embedding

    def _show_progress(self, done, total):
        bar = "=" * (30 * done // total)
        sys.stderr.write(f"\r{type(self).__name__} [{bar:<30}] {done}/{total} ")
        sys.stderr.write("\n" if done == total else "")
        sys.stderr.flush()

    @contextlib.contextmanager
    def _computing(self):
        """Compute without gradients on `n_jobs` threads."""
        import torch

        n_threads = torch.get_num_threads()
        if self.n_jobs is not None:
            n_threads = joblib.effective_n_jobs(self.n_jobs)
        with _alone(), nets.compute(n_threads):
            yield


@contextlib.contextmanager
def _alone():
    """Keep other embedders waiting, and restore torch's global random state."""
    import torch

    with _lock, torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        yield
