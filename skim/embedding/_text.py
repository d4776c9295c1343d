"""Embedding texts with a transformer of the BERT family."""

import functools
import json
import os
import reprlib
from typing import Literal

import numpy as np
from sklearn.preprocessing import normalize
from sklearn.utils._param_validation import StrOptions

from skim import _nets as nets
from skim.embedding._base import PretrainedEmbedder
from skim.embedding._checkpoints import find_checkpoint, load_transformer


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

    batch_size : int, default=32
        Number of texts that are embedded at a time. Texts of similar length share a
        batch.

    device : str, default="auto"
        Any device of torch, or "auto" for a GPU if there is one.

    Attributes
    ----------
    device_ : str
        The device that was used.

    Notes
    -----
    Texts are truncated to the length that the checkpoint is made for. An empty text is
    represented by the special tokens alone. Missing texts raise an error: replace them
    by empty ones if that is what they mean.

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
    }

    _blank = ""

    def __init__(
        self,
        *,
        model: str | os.PathLike = "sentence-transformers/all-MiniLM-L6-v2",
        pooling: Literal["mean", "cls"] = "mean",
        normalize: bool = True,
        batch_size: int = 32,
        device: str = "auto",
    ) -> None:
        self.model = model
        self.pooling = pooling
        self.normalize = normalize
        self.batch_size = batch_size
        self.device = device

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        return tags

    def _check_input(self, X):
        if isinstance(X, str):
            raise ValueError("X is one string: pass a list of texts, [text].")
        if not isinstance(X, list | tuple):
            X = np.atleast_1d(np.asarray(X, dtype=object))
            if X.size != len(X):
                raise ValueError(f"Texts must be in one column, got shape {X.shape}.")
            X = X.ravel().tolist()
        if len(X) == 0:
            raise ValueError("X has 0 sample(s): pass at least one text.")
        for row, text in enumerate(X):
            if not isinstance(text, str):
                raise ValueError(
                    f"Texts must be strings, got {reprlib.repr(text)} in row {row}: "
                    "replace missing texts by '' or drop them."
                )
        return list(X)

    def _embed(self, texts):
        order = np.argsort([len(text) for text in texts], kind="stable")[::-1]
        found = super()._embed([texts[row] for row in order])
        embedding = np.empty_like(found)
        embedding[order] = found
        return normalize(embedding, copy=False) if self.normalize else embedding

    def _load(self):
        folder = find_checkpoint(self.model, "text")
        network, tokenizer = load_transformer(folder, "AutoTokenizer", "text")
        config = network.config
        if network.main_input_name != "input_ids" or config.is_encoder_decoder:
            raise ValueError(
                f"{self.model!r} is not a model of texts; use a checkpoint of the "
                "BERT family."
            )
        positions = getattr(config, "max_position_embeddings", 512)
        longest = min(tokenizer.model_max_length, positions)
        settings = folder / "sentence_bert_config.json"
        wanted = json.loads(settings.read_text()) if settings.is_file() else {}
        tokenize = functools.partial(
            tokenizer,
            padding=True,
            padding_side="right",
            truncation=True,
            max_length=min(wanted.get("max_seq_length") or longest, longest),
            return_tensors="pt",
        )
        return network.to(nets.device_or_cpu(self.device_)), tokenize

    def _run(self, texts):
        network, tokenize = self._loaded
        tokens = tokenize(texts).to(network.device)
        hidden = network(**tokens).last_hidden_state
        if self.pooling == "cls":
            return hidden[:, 0].cpu().numpy()
        present = tokens["attention_mask"].unsqueeze(-1)
        return ((hidden * present).sum(1) / present.sum(1)).cpu().numpy()
