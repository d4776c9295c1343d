"""What the embedders with a pretrained network share."""

import os
import threading
from numbers import Integral
from typing import Any, Self

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
from skim._utils import Versioned

# Random states, warning filters and log levels are global: only one thread at a time
# can change and restore them.
_lock = threading.RLock()


class PretrainedEmbedder(
    Versioned, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Base class of embedders with a pretrained network.

    A subclass validates its input (`_check_input`), loads its network (`_load`) and
    embeds one batch (`_run`). The network is loaded when it is needed; pickles and
    copies leave it out.

    Warning: This class should not be used directly. Use derived classes instead.
    """

    _parameter_constraints: dict = {
        "model": [str, os.PathLike],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "device": [str],
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
        self._loaded = None
        self._n_features_out = self._embed(batch).shape[1]
        return self

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_n_features_out")

    def __getstate__(self):
        state = dict(super().__getstate__())
        state.pop("_loaded", None)
        return state

    def _embed(self, rows):
        """Embed rows batch by batch, without a trace in torch's global random state."""
        import torch

        size = self.batch_size
        with _lock, torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            if self._loaded is None:
                self._loaded = self._load()
            with torch.inference_mode():
                batches = [
                    self._run(rows[start : start + size])
                    for start in range(0, len(rows), size)
                ]
        return np.concatenate(batches).astype(np.float32, copy=False)
