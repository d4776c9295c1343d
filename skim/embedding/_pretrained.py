"""What the embedders with a pretrained network share."""

import os
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions

from skim.embedding import _checkpoints
from skim.embedding._base import Embedder, quiet_compute


class Loaded(NamedTuple):
    """A network on its device, and what prepares its input."""

    network: Any
    prepare: Any
    texts: dict


class PretrainedEmbedder(Embedder):
    """Base class of embedders with a checkpoint of transformers.

    A subclass says what its input is (`_check_input`), how a checkpoint's folder
    gives what prepares an input (`_preparation`), and how a batch is embedded.

    Warning: this class should not be used directly. Use derived classes instead.
    """

    _parameter_constraints: dict = {
        **Embedder._parameter_constraints,
        "model": [str, os.PathLike],
        "pooling": [StrOptions({"cls", "mean"})],
        "dtype": [StrOptions({"auto", "float32", "float16", "bfloat16"})],
        "keep_weights": ["boolean"],
    }

    _live = ("_loaded",)
    _extra: str

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Load the network.

        Nothing is learnt from X.

        Parameters
        ----------
        X : array, list, Series or one-column table
            What `transform` takes.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted embedder.
        """
        from skim import _nets as nets

        for name in ("_loaded", "_n_features_out", "device_"):
            self.__dict__.pop(name, None)  # a fit that fails leaves nothing fitted
        self._check_input(X)
        self.device_ = nets.resolve_device(self.device)
        self._forget_weights()
        self._loaded = self._load()
        if self.keep_weights and self._is_checkpoint():
            self.weights_ = _checkpoints.weights_of(self._loaded.network)
            self.checkpoint_files_ = self._loaded.texts
        with quiet_compute(self.n_jobs):
            self._n_features_out = self._probe().shape[1]
        return self

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_n_features_out")

    def _forget_weights(self):
        for name in ("weights_", "checkpoint_files_"):
            self.__dict__.pop(name, None)

    # Loading --------------------------------------------------------------------

    def _ready(self):
        """Return the network, loaded if it is not there yet."""
        return self._alive("_loaded", self._load)

    def _load(self):
        if not self._is_checkpoint():
            return self._load_own()
        with _checkpoints.quiet_loading(self._extra) as transformers:
            if hasattr(self, "weights_"):
                with _checkpoints.written_texts(self.checkpoint_files_) as folder:
                    network = _checkpoints.rebuild_network(transformers, folder)
                    network = self._part_of(network)
                    _checkpoints.put_weights(network, self.weights_)
                    prepare = self._preparation(transformers, folder)
                return Loaded(self._place(network), prepare, self.checkpoint_files_)
            folder = _checkpoints.find_checkpoint(self.model, self._extra)
            network = self._part_of(_checkpoints.load_network(transformers, folder))
            prepare = self._preparation(transformers, folder)
            texts = _checkpoints.read_texts(folder)
            return Loaded(self._place(network), prepare, texts)

    def _is_checkpoint(self):
        return isinstance(self.model, str | os.PathLike)

    def _load_own(self):
        """Load what is not a checkpoint."""
        raise NotImplementedError

    def _part_of(self, network):
        """Return the part of a network that embeds."""
        return network

    def _place(self, network):
        """Move a network to the device, for evaluation only."""
        from skim import _nets as nets

        device = nets.device_or_cpu(self.device_)
        network = network.to(device=device, dtype=self._torch_dtype(device))
        return network.eval().requires_grad_(False)

    def _torch_dtype(self, device):
        import torch

        if self.dtype != "auto":
            return getattr(torch, self.dtype)
        return torch.float16 if device.startswith("cuda") else torch.float32

    def _fingerprint(self):
        loaded = self._ready()
        return _checkpoints.fingerprint(loaded.network, loaded.texts)


def to_numpy(tensor):
    """Return a tensor as an array in single precision."""
    return tensor.float().cpu().numpy().astype(np.float32, copy=False)
