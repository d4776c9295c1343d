"""Embedding texts with a transformer of the BERT family."""

import hashlib
import json
import os
import reprlib
from collections.abc import Sequence
from numbers import Integral
from typing import Literal

import numpy as np
from joblib import Memory
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import normalize
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from skim.embedding._pretrained import PretrainedEmbedder, to_numpy
from skim.embedding._weights import environment

# Otherwise the tokenizer's threads cause a warning in programs that fork later.
_ONE_THREAD = {"TOKENIZERS_PARALLELISM": "false"}


class TextEmbedder(PretrainedEmbedder):
    """Embed texts with a pretrained transformer.

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

    dtype : {"auto", "float32", "float16", "bfloat16"}, default="auto"
        Precision of the computation. "auto" is half precision on CUDA and single
        precision elsewhere.

    keep_weights : bool, default=False
        Whether the fitted embedder stores the weights of the checkpoint. If True, a
        pickle can be used without the checkpoint. If False, a pickle is small and
        the weights are loaded again when they are needed.

    memory : str, object with the joblib.Memory interface or None, default=None
        Used to cache embeddings, by the texts, the weights and the settings. By
        default, nothing is cached.

    device : str, default="auto"
        Any device of torch, or "auto" for a GPU if there is one.

    n_jobs : int, default=None
        Number of threads. None uses the default of torch, -1 all processors.

    verbose : int, default=0
        Whether to show a progress bar on standard error.

    Attributes
    ----------
    device_ : str
        The device that was used.

    weights_ : dict of str to ndarray
        Weights of the network. Only with `keep_weights`.

    checkpoint_files_ : dict of str to str
        Small files of the checkpoint, including those of the tokenizer. Only with
        `keep_weights`.

    See Also
    --------
    ViTEmbedder : Embed images.
    skim.ALTBIDetector : Detector to use on the embedding.

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
        "normalize": ["boolean"],
        "max_length": [Interval(Integral, 3, None, closed="left"), None],
    }

    _extra = "text"
    _blank = ""

    def __init__(
        self,
        *,
        model: str | os.PathLike = "sentence-transformers/all-MiniLM-L6-v2",
        pooling: Literal["mean", "cls"] = "mean",
        normalize: bool = True,
        max_length: int | None = None,
        batch_size: int = 32,
        dtype: Literal["auto", "float32", "float16", "bfloat16"] = "auto",
        keep_weights: bool = False,
        memory: str | Memory | None = None,
        device: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.pooling = pooling
        self.normalize = normalize
        self.max_length = max_length
        self.batch_size = batch_size
        self.dtype = dtype
        self.keep_weights = keep_weights
        self.memory = memory
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose

    def transform(self, X: ArrayLike | Sequence[str]) -> NDArray[np.float32]:
        """Embed texts.

        Parameters
        ----------
        X : list, array or Series of n_samples str, or a one-column data frame
            Texts. They may be empty, but not missing.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_features_out) of float32
            Embedded texts.
        """
        check_is_fitted(self)
        texts = self._check_input(X)
        self._ready()
        order = np.argsort([len(text) for text in texts], kind="stable")[::-1]
        by_length = [texts[row] for row in order]
        starts = range(0, len(texts), self.batch_size)
        embedded = self._embed(
            len(texts),
            lambda: (self._run(by_length[i : i + self.batch_size]) for i in starts),
            lambda: self._key(by_length),
        )
        embedding = np.empty_like(embedded)
        embedding[order] = embedded
        self._check_finite(embedding)
        return normalize(embedding, copy=False) if self.normalize else embedding

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        return tags

    # Embedding ------------------------------------------------------------------

    def _check_input(self, X):
        return as_texts(X)

    def _key(self, texts):
        content = hashlib.sha256()
        for text in texts:
            data = text.encode("utf-8", "surrogatepass")
            content.update(len(data).to_bytes(8, "little") + data)
        settings = (self.pooling, self.max_length, self.dtype, self.device_)
        return content.hexdigest(), self._ready().fingerprint(), settings

    def _run(self, texts):
        """Embed a batch of texts."""
        network, tokenize, _ = self._ready()
        device = next(network.parameters()).device
        tokens = {name: value.to(device) for name, value in tokenize(texts).items()}
        hidden = network(**tokens).last_hidden_state
        if self.pooling == "cls":
            return to_numpy(hidden[:, 0])
        present = tokens["attention_mask"].unsqueeze(-1)
        return to_numpy((hidden.float() * present).sum(1) / present.sum(1))

    # Loading --------------------------------------------------------------------

    def _part_of(self, network):
        if network.config.is_encoder_decoder:
            network = network.get_encoder()
        if network.main_input_name != "input_ids":
            raise ValueError(
                f"{self.model!r} is not a model of texts; use a checkpoint of the BERT "
                "family."
            )
        return network

    def _preprocessing(self, transformers, folder):
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
        if tokenizer.pad_token is None:
            raise ValueError(
                f"The tokenizer of {self.model!r} has no padding token; use a "
                "checkpoint of the BERT family."
            )
        config = transformers.AutoConfig.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
        longest = _longest(tokenizer, config)
        max_length = self.max_length
        if max_length is None:
            max_length = min(_max_seq_length(folder) or longest, longest)
        if max_length > longest:
            raise ValueError(
                f"max_length={max_length} is more than the {longest} tokens of "
                f"{self.model!r}; lower it, or use None."
            )

        def tokenize(texts):
            with environment(_ONE_THREAD):
                return tokenizer(
                    texts,
                    padding=True,
                    padding_side="right",
                    truncation=True,
                    max_length=max_length,
                    return_attention_mask=True,
                    return_tensors="pt",
                )

        return tokenize


def _longest(tokenizer, config):
    """Return the largest number of tokens of a text."""
    positions = getattr(config, "max_position_embeddings", None)
    if positions is None:
        return min(tokenizer.model_max_length, 512)
    if config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        positions -= 2  # the first two are reserved for padding
    return min(tokenizer.model_max_length, positions)


def _max_seq_length(folder):
    """Return the maximum length in the settings of a sentence model, if any."""
    path = folder / "sentence_bert_config.json"
    return (
        json.loads(path.read_text()).get("max_seq_length") if path.is_file() else None
    )


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
