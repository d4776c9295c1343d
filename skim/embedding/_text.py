"""Embedding texts with a transformer of the BERT family."""

import functools
import json
import os
import reprlib
from numbers import Integral
from typing import Literal

import numpy as np
from sklearn.preprocessing import normalize
from sklearn.utils._param_validation import Interval, StrOptions

from skim import _nets as nets
from skim.embedding._base import PretrainedEmbedder, with_shared_docs
from skim.embedding._checkpoints import find_checkpoint, load_transformer


@with_shared_docs
class TextEmbedder(PretrainedEmbedder):
    """Embed texts with a pretrained transformer.

    Texts are a list, an array or a Series of strings, or a data frame of one column.
    They may be empty, but not missing.

    Read more in the :doc:`user guide </embedding>`.

    Parameters
    ----------
    model : str or path, default="sentence-transformers/all-MiniLM-L6-v2"
        A checkpoint of the BERT family: its name on the Hugging Face hub, or a
        folder with `config.json`, `model.safetensors` and the files of the
        tokenizer. A name is looked up in :func:`weights_home` and in the local cache
        of the hub before anything is downloaded.

    pooling : {"mean", "cls"}, default="mean"
        What represents a text: the mean of its tokens, without padding, or the
        first token.

    normalize : bool, default=True
        Whether to scale embeddings to unit length. Most sentence models are trained
        to be compared by direction, and detection is usually better this way.

    max_length : int or None, default=None
        Number of tokens after which a text is truncated. None uses the maximum of
        the checkpoint.

    batch_size : int, default=32
        Number of texts that are embedded at a time. Texts of similar length share a
        batch.

    <parameters>

    Attributes
    ----------
    <attributes>

    Notes
    -----
    An empty text is represented by the special tokens alone. Missing texts raise an
    error: replace them by empty ones if that is what they mean.

    Batches are padded to their longest text. This changes the embedding of a text
    by rounding errors only, about 1e-6 of its size in single precision.

    Weights are only read from safetensors, and no code of a checkpoint is run.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from skim import ALTBIDetector
    >>> from skim.embedding import TextEmbedder
    >>> detector = make_pipeline(TextEmbedder(), ALTBIDetector())
    >>> texts = ["Paid in full.", "Paid by card.", "The cat sat on the mat."]
    >>> detector.fit_predict(texts)  # doctest: +SKIP
    """

    _parameter_constraints: dict = {
        **PretrainedEmbedder._parameter_constraints,
        "pooling": [StrOptions({"mean", "cls"})],
        "normalize": ["boolean"],
        "max_length": [Interval(Integral, 3, None, closed="left"), None],
    }

    _blank = ""

    def __init__(
        self,
        *,
        model: str | os.PathLike = "sentence-transformers/all-MiniLM-L6-v2",
        pooling: Literal["mean", "cls"] = "mean",
        normalize: bool = True,
        max_length: int | None = None,
        batch_size: int = 32,
        keep_weights: bool = False,
        device: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.pooling = pooling
        self.normalize = normalize
        self.max_length = max_length
        self.batch_size = batch_size
        self.keep_weights = keep_weights
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        return tags

    def _check_input(self, X):
        return as_texts(X)

    def _embed(self, texts):
        order = np.argsort([len(text) for text in texts], kind="stable")[::-1]
        embedding = np.empty((len(texts), self._n_features_out), np.float32)
        embedding[order] = super()._embed([texts[row] for row in order])
        return normalize(embedding, copy=False) if self.normalize else embedding

    def _find(self):
        return find_checkpoint(self.model, "text")

    def _load(self):
        with self._checkpoint() as folder:
            network, tokenizer = load_transformer(folder, "AutoTokenizer", "text")
            is_encoder = not network.config.is_encoder_decoder
            if network.main_input_name != "input_ids" or not is_encoder:
                raise ValueError(
                    f"{self.model!r} is not a model of texts; use a checkpoint of the "
                    "BERT family."
                )
            max_length = self._max_tokens(tokenizer, network.config, folder)
        tokenize = functools.partial(
            tokenizer,
            padding=True,
            padding_side="right",
            truncation=True,
            max_length=max_length,
            return_tensors="pt",
        )
        return network.to(nets.device_or_cpu(self.device_)), tokenize

    def _max_tokens(self, tokenizer, config, folder):
        """Return the number of tokens after which texts are truncated."""
        positions = getattr(config, "max_position_embeddings", 512)
        longest = min(tokenizer.model_max_length, positions)
        if self.max_length is None:
            settings = folder / "sentence_bert_config.json"
            wanted = json.loads(settings.read_text()) if settings.is_file() else {}
            return min(wanted.get("max_seq_length") or longest, longest)
        if self.max_length > longest:
            raise ValueError(
                f"max_length={self.max_length} is more than the {longest} tokens of "
                f"{self.model!r}; lower it, or use None."
            )
        return self.max_length

    def _run(self, texts):
        network, tokenize = self._loaded
        tokens = tokenize(texts).to(network.device)
        hidden = network(**tokens).last_hidden_state
        if self.pooling == "cls":
            return hidden[:, 0].cpu().numpy()
        present = tokens["attention_mask"].unsqueeze(-1)
        return ((hidden * present).sum(1) / present.sum(1)).cpu().numpy()


def as_texts(X):
    """Return a list of strings, or raise an error that names the first other value."""
    if isinstance(X, str):
        raise ValueError("X is one string: pass a list of texts, [text].")
    if not isinstance(X, list | tuple):
        X = np.asarray(X, dtype=object)
        if X.ndim == 2 and X.shape[1] == 1:
            X = X[:, 0]
        if X.ndim != 1:
            raise ValueError(
                "Texts must be a list or one column of a data frame; got shape "
                f"{X.shape}."
            )
    if len(X) == 0:
        raise ValueError("X has 0 sample(s): pass at least one text.")
    for row, text in enumerate(X):
        if not isinstance(text, str):
            raise ValueError(
                f"Texts must be strings, got {reprlib.repr(text)} in row {row}: "
                "replace missing texts by '' or drop them."
            )
    return list(X)
