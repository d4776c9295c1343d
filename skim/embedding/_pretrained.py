"""What the embedders with a checkpoint of transformers share."""

import os
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions

from skim import _nets as nets
from skim.embedding._base import Embedder

if TYPE_CHECKING:
    from skim.embedding._checkpoints import Loaded


class PretrainedEmbedder(Embedder):
    """Base class of embedders with a checkpoint of transformers.

    A subclass validates its input (`_check_input`), builds the preprocessing from a
    checkpoint's folder (`_preprocessing`), picks the part of the network that embeds
    (`_part_of`) and embeds one batch (`_run`).

    Warning: This class should not be used directly. Use derived classes instead.
    """

    _parameter_constraints: dict = {
        **Embedder._parameter_constraints,
        "model": [str, os.PathLike],
        "pooling": [StrOptions({"cls", "mean"})],
        "dtype": [StrOptions({"auto", "float32", "float16", "bfloat16"})],
        "keep_weights": ["boolean"],
    }

    _extra: str  # installs the dependencies
    _blank: Any  # an input, embedded to get the width of the output
    _loaded: "Loaded"

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: object = None) -> Self:
        """Load the network; nothing is learned from X.

        Parameters
        ----------
        X : array, list, Series or one-column data frame
            Any input of `transform`.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted embedder.
        """
        self._reset()
        self._check_input(X)
        self.device_ = nets.resolve_device(self.device)
        loaded = self._ready()
        if self.keep_weights and self._is_checkpoint():
            self.weights_ = loaded.weights()
            self.checkpoint_files_ = loaded.texts
        with self._computing():
            self._n_features_out = self._run([self._blank]).shape[1]
        return self

    def _is_checkpoint(self):
        return isinstance(self.model, str | os.PathLike)

    def _load(self):
        checkpoints = self._checkpoints()
        with checkpoints.quiet_transformers(self._extra) as transformers:
            if hasattr(self, "weights_"):
                texts = self.checkpoint_files_
                with checkpoints.folder_of(texts) as folder:
                    network = checkpoints.rebuild_network(
                        transformers, folder, self.weights_, self._part_of
                    )
                    prepare = self._preprocessing(transformers, folder)
            else:
                folder = checkpoints.find_checkpoint(self.model, self._extra)
                network = checkpoints.load_network(transformers, folder)
                network = self._part_of(network)
                prepare = self._preprocessing(transformers, folder)
                texts = checkpoints.read_texts(folder)
        device = nets.device_or_cpu(self.device_)
        network = checkpoints.place(network, device, self.dtype)
        return checkpoints.Loaded(network, prepare, texts)

    def _checkpoints(self):
        from skim.embedding import _checkpoints  # imports torch

        return _checkpoints


def to_numpy(tensor):
    """Return a tensor as an array in single precision."""
    return tensor.float().cpu().numpy()
