"""Texts as vectors, by a transformer of the BERT family."""

import hashlib
import reprlib
from numbers import Integral

import numpy as np
from sklearn.preprocessing import normalize
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from skim.embedding import _checkpoints
from skim.embedding._pretrained import PretrainedEmbedder, to_numpy
from skim.embedding._weights import _environment

# Else its threads make a program that forks later print a warning.
_ONE_THREAD = {"TOKENIZERS_PARALLELISM": "false"}


class TextEmbedder(PretrainedEmbedder):
    """Embed texts with a pretrained transformer.

    Read more in :doc:`/embedding`.

    Parameters
    ----------
    model : str or path, default="sentence-transformers/all-MiniLM-L6-v2"
        A checkpoint of the BERT family: its name on the Hugging Face hub, or a
        folder with `config.json`, `model.safetensors` and the tokenizer's files. A
        name is looked for in :func:`weights_home` and in the hub's local cache
        before anything is downloaded.

    pooling : {"mean", "cls"}, default="mean"
        What represents a text: the mean of its tokens, padding left out, or the
        first token.

    normalize : bool, default=True
        Whether embeddings are scaled to length one. Most models of sentences are
        trained to be compared by direction, and outliers are found better so.

    max_length : int or None, default=None
        Number of tokens after which a text is cut off. None means as many as the
        checkpoint is made for.

    batch_size : int, default=32
        Number of texts that are embedded at a time. Texts of similar length are
        taken together.

    dtype : {"auto", "float32", "float16", "bfloat16"}, default="auto"
        Precision to compute in. "auto" is half precision on CUDA and single
        precision elsewhere.

    keep_weights : bool, default=False
        Whether the fitted embedder holds the weights of a checkpoint. If so, a
        pickle of it works where the checkpoint is not; otherwise a pickle is small,
        and the weights are loaded again when they are needed.

    memory : str, object with the joblib.Memory interface or None, default=None
        Where to keep embeddings for the next time. They are found by the texts, the
        weights and the settings.

    device : str, default="auto"
        Where to compute: any device of torch, or "auto" for a GPU if there is one.

    n_jobs : int, default=None
        Number of threads to compute with. None means as many as torch uses, -1 all
        processors.

    verbose : int, default=0
        Whether to show a progress bar on standard error.

    Attributes
    ----------
    device_ : str
        The device that was used.

    weights_ : dict of str to ndarray
        Weights of the network. Only with `keep_weights`.

    checkpoint_files_ : dict of str to str
        Small files of the checkpoint, those of the tokenizer among them. Only with
        `keep_weights`.

    See Also
    --------
    ViTEmbedder : Embed images.
    skim.ALTBIDetector : Detector to use on the embedding.

    Notes
    -----
    An empty text is embedded as what the model makes of its special tokens alone.
    Missing texts are refused: replace them by empty ones if that is what they mean.

    The embedding of a text depends on the others of its batch only by rounding
    errors, about 1e-6 of its size in single precision, as they decide how far it is
    padded.

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

    def __init__(
        self,
        *,
        model="sentence-transformers/all-MiniLM-L6-v2",
        pooling="mean",
        normalize=True,
        max_length=None,
        batch_size=32,
        dtype="auto",
        keep_weights=False,
        memory=None,
        device="auto",
        n_jobs=None,
        verbose=0,
    ):
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

    def transform(self, X):
        """Embed texts.

        Parameters
        ----------
        X : list, array or Series of n_samples str, or a table with one column
            Texts. They may be empty, but not missing.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_features_out) of float32
            Embedding of the texts.
        """
        check_is_fitted(self)
        texts = self._check_input(X)
        self._ready()
        order = np.argsort([len(text) for text in texts], kind="stable")[::-1]
        by_length = [texts[row] for row in order]
        embedded = self._embed(
            len(texts),
            lambda: map(self._run, self._batches(by_length)),
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
        how = (self.pooling, self.max_length, self.dtype, self.device_)
        return content.hexdigest(), self._fingerprint(), how

    def _probe(self):
        return self._run([""])

    def _run(self, texts):
        """Embed some texts."""
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
            raise ValueError(f"{self.model!r} is not a model of texts.")
        return network

    def _preparation(self, transformers, folder):
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
        if tokenizer.pad_token is None:
            raise ValueError(
                f"The tokenizer of {self.model!r} has no padding token: use a "
                "checkpoint of the BERT family."
            )
        config = transformers.AutoConfig.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
        longest = _longest(tokenizer, config)
        if self.max_length is not None and self.max_length > longest:
            raise ValueError(
                f"max_length={self.max_length} is more than the {longest} tokens that "
                f"{self.model!r} takes."
            )
        texts = _checkpoints.read_texts(folder)
        usual = _checkpoints.setting_of(
            texts, "sentence_bert_config.json", "max_seq_length"
        )
        return _Tokenize(tokenizer, self.max_length or min(usual or longest, longest))


class _Tokenize:
    """Texts as the tensors that a network takes."""

    def __init__(self, tokenizer, max_length):
        self.tokenizer = tokenizer
        self.max_length = max_length

    def __call__(self, texts):
        with _environment(_ONE_THREAD):
            return self.tokenizer(
                texts,
                padding=True,
                padding_side="right",
                truncation=True,
                max_length=self.max_length,
                return_attention_mask=True,
                return_tensors="pt",
            )


def _longest(tokenizer, config):
    """Return the number of tokens that a model takes."""
    positions = getattr(config, "max_position_embeddings", None)
    if positions is None:
        return min(tokenizer.model_max_length, 512)
    if config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        positions -= 2  # the first two stand for padding
    return min(tokenizer.model_max_length, positions)


def as_texts(X):
    """Return a list of strings, or say what is not one."""
    if isinstance(X, str):
        raise ValueError("X is one string: pass a list of texts, [text].")
    if not isinstance(X, list | tuple):
        X = np.asarray(X, dtype=object)
        if X.ndim == 2 and X.shape[1] == 1:
            X = X[:, 0]
        if X.ndim != 1:
            raise ValueError(
                f"Texts must be a list, or one column of a table; got shape {X.shape}."
            )
    if len(X) == 0:
        raise ValueError("X has 0 sample(s): pass some texts.")
    for row, text in enumerate(X):
        if not isinstance(text, str):
            raise ValueError(
                f"Texts must be strings, got {reprlib.repr(text)} in row {row}. "
                "Replace what is missing by '' or drop it."
            )
    return list(X)
