"""Images as vectors, by a vision transformer."""

import copy
import inspect
from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skim.embedding._images import Prepared, Processed, as_images, warn_of_unreadable
from skim.embedding._pretrained import Loaded, PretrainedEmbedder, to_numpy
from skim.embedding._weights import require

_IMAGENET_MEAN = (0.485, 0.456, 0.406)
_IMAGENET_STD = (0.229, 0.224, 0.225)

# Weights of tokens that come before those of the image's patches.
_SPECIAL_TOKENS = ("cls_token", "class_embedding", "distillation_token")
_REGISTERS = "register_tokens"


class ViTEmbedder(PretrainedEmbedder):
    """Embed images with a pretrained vision transformer.

    Read more in :doc:`/embedding`.

    Parameters
    ----------
    model : str, path or callable, default="google/vit-base-patch16-224-in21k"
        A checkpoint of a vision transformer: its name on the Hugging Face hub, or a
        folder with `config.json`, `preprocessor_config.json` and
        `model.safetensors`. A name is looked for in :func:`weights_home` and in the
        hub's local cache before anything is downloaded.

        Or a torch module or any other callable, which is given float tensors of
        shape (n, 3, H, W) and returns (n, d), or (n, tokens, d) or (n, d, h, w), of
        which the mean is taken. A module is copied and put into evaluation mode.

    pooling : {"cls", "mean"}, default="cls"
        What represents an image: the class token, or the mean of the tokens of its
        patches. Checkpoints without a class token, such as Swin's, need "mean". Not
        used if `model` is a callable.

    image_shape : tuple of int, default=None
        The shape (H, W) or (H, W, C) of images that are the rows of a 2-D array.

    image_size : int or None, default=None
        Height and width that images are scaled to. None means as the checkpoint
        says, or 224 if `model` is a callable. Many checkpoints interpolate their
        position embeddings for another size.

    image_mean : sequence of 3 floats or None, default=None
        What is subtracted from the red, green and blue values in [0, 1]. None means
        as the checkpoint says, or ImageNet's mean if `model` is a callable.

    image_std : sequence of 3 floats or None, default=None
        By what they are divided then. None means the same as for `image_mean`.

    batch_size : int, default=32
        Number of images that are read and embedded at a time.

    on_error : {"raise", "skip"}, default="raise"
        What to do about an image that cannot be read: raise an error that names it,
        or give a row of NaN for it and warn in the end. So the rows are those of the
        input in any case; drop or impute those of NaN before detection.

    dtype : {"auto", "float32", "float16", "bfloat16"}, default="auto"
        Precision to compute in. "auto" is half precision on CUDA and single
        precision elsewhere. A callable that is not a module gets single precision.

    keep_weights : bool, default=False
        Whether the fitted embedder holds the weights of a checkpoint. If so, a
        pickle of it works where the checkpoint is not; otherwise a pickle is small,
        and the weights are loaded again when they are needed.

    memory : str, object with the joblib.Memory interface or None, default=None
        Where to keep embeddings for the next time. They are found by the content of
        the images or of their files, the weights and the settings.

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
        Small files of the checkpoint. Only with `keep_weights`.

    See Also
    --------
    TextEmbedder : Embed texts.
    skim.ALTBIDetector : Detector to use on the embedding.

    Notes
    -----
    Images are made red, green and blue bytes: grey and palette images are converted,
    sixteen bits are reduced to eight, transparent parts become white, and images are
    turned as their EXIF data say. Files are opened batch by batch, so that only one
    batch of images is in memory. Pillow does the scaling; torchvision is not needed.

    Weights are only read from safetensors, and no code of a checkpoint is run.

    Examples
    --------
    Any callable will do instead of a checkpoint:

    >>> import numpy as np
    >>> from skim.embedding import ViTEmbedder
    >>> def colour(batch):
    ...     return batch.mean(dim=(2, 3))
    >>> images = np.zeros((2, 8, 8, 3), dtype=np.uint8)
    >>> images[1, ..., 0] = 255
    >>> embedder = ViTEmbedder(
    ...     model=colour, image_size=8, image_mean=(0, 0, 0), image_std=(1, 1, 1)
    ... )
    >>> embedder.fit_transform(images)
    array([[0., 0., 0.],
           [1., 0., 0.]], dtype=float32)

    Outliers among image files:

    >>> from sklearn.pipeline import make_pipeline
    >>> from skim import ALTBIDetector
    >>> detector = make_pipeline(ViTEmbedder(), ALTBIDetector())
    >>> detector.fit_predict(["a.jpg", "b.jpg", "c.jpg"])  # doctest: +SKIP
    """

    _parameter_constraints: dict = {
        **PretrainedEmbedder._parameter_constraints,
        "model": [*PretrainedEmbedder._parameter_constraints["model"], callable],
        "image_shape": [tuple, list, None],
        "image_size": [Interval(Integral, 1, None, closed="left"), None],
        "image_mean": ["array-like", None],
        "image_std": ["array-like", None],
        "on_error": [StrOptions({"raise", "skip"})],
    }

    _extra = "vit"

    def __init__(
        self,
        *,
        model="google/vit-base-patch16-224-in21k",
        pooling="cls",
        image_shape=None,
        image_size=None,
        image_mean=None,
        image_std=None,
        batch_size=32,
        on_error="raise",
        dtype="auto",
        keep_weights=False,
        memory=None,
        device="auto",
        n_jobs=None,
        verbose=0,
    ):
        self.model = model
        self.pooling = pooling
        self.image_shape = image_shape
        self.image_size = image_size
        self.image_mean = image_mean
        self.image_std = image_std
        self.batch_size = batch_size
        self.on_error = on_error
        self.dtype = dtype
        self.keep_weights = keep_weights
        self.memory = memory
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose

    def transform(self, X):
        """Embed images.

        Parameters
        ----------
        X : array, list or Series of n_samples images
            An array of shape (n_samples, H, W) or (n_samples, H, W, C), of bytes or
            of floats in [0, 1]; a 2-D array of such images flattened, if
            `image_shape` says how; a list of Pillow images; or paths of files.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_features_out) of float32
            Rows of NaN stand for what could not be read, with ``on_error="skip"``.
        """
        check_is_fitted(self)
        images = self._check_input(X)
        self._ready()
        embedding = self._embed(
            len(images), lambda: self._embedded(images), lambda: self._key(images)
        )
        unreadable = np.flatnonzero(np.isnan(embedding[:, 0]))
        if len(unreadable):
            warn_of_unreadable(images, unreadable)
        return embedding

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.string = True
        return tags

    # Embedding ------------------------------------------------------------------

    def _check_input(self, X):
        return as_images(X, self.image_shape)

    def _key(self, images):
        pixels = (self.image_size, self.image_mean, self.image_std)
        model = self._fingerprint()
        how = (self.pooling, self.dtype, self.device_, self.on_error)
        return images.digest(), model, how, [str(value) for value in pixels]

    def _embedded(self, images):
        for start in range(0, len(images), self.batch_size):
            batch = images.batch(start, start + self.batch_size, self.on_error)
            there = [row for row, image in enumerate(batch) if image is not None]
            embedding = np.full((len(batch), self._n_features_out), np.nan, np.float32)
            if there:
                rows = self._run([batch[row] for row in there])
                embedding[there] = self._check_finite(rows, np.add(there, start))
            yield embedding

    def _probe(self):
        return self._run([np.zeros((32, 32, 3), np.uint8)])

    def _run(self, images):
        """Embed some images, arrays of bytes."""
        from skim import _nets as nets

        loaded = self._ready()
        network, pixels = loaded.network, loaded.prepare(images)
        weight = _first_weight(network)
        if weight is not None:
            pixels = pixels.to(weight.device, weight.dtype)
        else:
            pixels = pixels.to(nets.device_or_cpu(self.device_))
        if not self._is_checkpoint():
            return to_numpy(_mean_of_any(network(pixels)))
        output = network(pixel_values=pixels, **self._size_arguments(network))
        return to_numpy(self._pool(network, output.last_hidden_state))

    def _size_arguments(self, network):
        takes = inspect.signature(network.forward).parameters
        if self.image_size is None or "interpolate_pos_encoding" not in takes:
            return {}
        return {"interpolate_pos_encoding": True}

    def _pool(self, network, hidden):
        if self.pooling == "cls":
            self._check_class_token(network, hidden.ndim == 3)
            return hidden[:, 0]
        if hidden.ndim == 4:
            return hidden.float().mean((2, 3))
        return hidden[:, _n_special_tokens(network) :].float().mean(1)

    # Loading --------------------------------------------------------------------

    def _part_of(self, network):
        network = getattr(network, "vision_model", network)
        if hasattr(network.config, "mask_ratio"):
            raise ValueError(
                f"{type(network).__name__} hides parts of each image at random, so it "
                "cannot embed; use a checkpoint of another vision transformer."
            )
        if network.main_input_name != "pixel_values":
            raise ValueError(f"{self.model!r} is not a model of images.")
        if self.pooling == "cls":
            self._check_class_token(network, _n_special_tokens(network) > 0)
        return network

    def _check_class_token(self, network, is_there):
        if not is_there:
            raise ValueError(
                f"{self.model!r} ({type(network).__name__}) has no class token: use "
                "pooling='mean'."
            )

    def _preparation(self, transformers, folder):
        if not (folder / "preprocessor_config.json").is_file():
            raise ValueError(
                f"There is no preprocessor_config.json in {self.model!r}, which says "
                "how images are prepared: get all files of the checkpoint."
            )
        processor = transformers.AutoImageProcessor.from_pretrained(
            folder, backend="pil", local_files_only=True, trust_remote_code=False
        )
        changed = {}
        for name in ("image_mean", "image_std"):
            if getattr(self, name) is not None:
                changed[name] = np.asarray(getattr(self, name), float).tolist()
        if self.image_size is not None:
            side = {"height": self.image_size, "width": self.image_size}
            changed |= {"size": side, "do_center_crop": False}
        return Processed(processor, changed)

    def _load_own(self):
        torch = require("torch", self._extra)
        require("PIL", self._extra)
        mean = _IMAGENET_MEAN if self.image_mean is None else self.image_mean
        std = _IMAGENET_STD if self.image_std is None else self.image_std
        prepare = Prepared(self.image_size or 224, mean, std)
        network = self.model
        if isinstance(network, torch.nn.Module):
            network = self._place(copy.deepcopy(network))
        return Loaded(network, prepare, {})

    def _fingerprint(self):
        network = self._ready().network
        if not hasattr(network, "state_dict"):
            raise ValueError(
                "With memory, model must be a checkpoint or a torch module, whose "
                f"weights tell it from others; got {network!r}."
            )
        return super()._fingerprint(), repr(network)


def _mean_of_any(output):
    """Return one vector an image from what any model of images returns."""
    output = getattr(output, "last_hidden_state", output)
    if getattr(output, "ndim", None) == 2:
        return output
    if getattr(output, "ndim", None) == 3:
        return output.float().mean(1)
    if getattr(output, "ndim", None) == 4:
        return output.float().mean((2, 3))
    raise ValueError(
        "The model must return a tensor of shape (n, d), (n, tokens, d) or (n, d, h, w)"
        f"; got {getattr(output, 'shape', type(output))}."
    )


def _n_special_tokens(network):
    """Return how many tokens come before those of the patches."""
    count = 0
    for name, weight in network.named_parameters():
        last = name.rpartition(".")[2]
        count += last in _SPECIAL_TOKENS
        count += weight.shape[1] if last == _REGISTERS else 0
    return count


def _first_weight(network):
    parameters = getattr(network, "parameters", lambda: ())
    return next(iter(parameters()), None)
