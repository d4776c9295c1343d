"""Embedding images with a vision transformer."""

import functools
import inspect
import os
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, Literal

import numpy as np
from joblib import Memory
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skim import _nets as nets
from skim.embedding._pretrained import PretrainedEmbedder, to_numpy
from skim.embedding._weights import require

_IMAGENET_MEAN = (0.485, 0.456, 0.406)
_IMAGENET_STD = (0.229, 0.224, 0.225)

# Parameters of the tokens that precede those of the patches.
_SPECIAL_TOKENS = ("cls_token", "class_embedding", "distillation_token")
_REGISTERS = "register_tokens"


class ViTEmbedder(PretrainedEmbedder):
    """Embed images with a pretrained vision transformer.

    Read more in the :doc:`user guide </embedding>`.

    Parameters
    ----------
    model : str, path or callable, default="google/vit-base-patch16-224-in21k"
        A checkpoint of a vision transformer: its name on the Hugging Face hub, or a
        folder with `config.json`, `preprocessor_config.json` and
        `model.safetensors`. A name is looked up in :func:`weights_home` and in the
        local cache of the hub before anything is downloaded.

        Or a torch module or any other callable. It is called with float tensors of
        shape (n, 3, H, W) and returns (n, d), (n, tokens, d) or (n, d, h, w); the
        last two are averaged over tokens or positions. A module is copied and put
        into evaluation mode.

    pooling : {"cls", "mean"}, default="cls"
        What represents an image: the class token, or the mean of the patch tokens.
        Checkpoints without a class token, such as Swin, need "mean". Ignored if
        `model` is a callable.

    image_shape : tuple of int, default=None
        Shape (H, W) or (H, W, C) of the images in the rows of a 2-D array.

    image_size : int or None, default=None
        Height and width to which images are resized. None uses the size of the
        checkpoint, or 224 if `model` is a callable. Many checkpoints interpolate
        their position embeddings to other sizes.

    image_mean : sequence of 3 floats or None, default=None
        Subtracted from the red, green and blue values in [0, 1]. None uses the
        checkpoint's values, or those of ImageNet if `model` is a callable.

    image_std : sequence of 3 floats or None, default=None
        Divides the red, green and blue values after `image_mean` is subtracted. None
        is as for `image_mean`.

    batch_size : int, default=32
        Number of images that are read and embedded at a time.

    on_error : {"raise", "skip"}, default="raise"
        What to do if an image cannot be read: raise an error that names it, or
        return a row of NaN for it and warn. Drop or impute such rows before
        detection.

    dtype : {"auto", "float32", "float16", "bfloat16"}, default="auto"
        Precision of the computation. "auto" is half precision on CUDA and single
        precision elsewhere. Callables other than torch modules always get single
        precision.

    keep_weights : bool, default=False
        Whether the fitted embedder stores the weights of the checkpoint. If True, a
        pickle can be used without the checkpoint. If False, a pickle is small and
        the weights are loaded again when they are needed.

    memory : str, object with the joblib.Memory interface or None, default=None
        Used to cache embeddings, by the content of the images or files, the weights
        and the settings. By default, nothing is cached.

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
        Small files of the checkpoint. Only with `keep_weights`.

    See Also
    --------
    TextEmbedder : Embed texts.
    skim.ALTBIDetector : Detector to use on the embedding.

    Notes
    -----
    Images are converted to RGB with 8 bits per channel: greyscale, palette and
    16-bit images are converted, transparent parts become white, and the EXIF
    orientation is applied. Files are opened batch by batch, so only one batch of
    images is in memory. Pillow does the resizing; torchvision is not needed.

    Weights are only read from safetensors, and no code of a checkpoint is run.

    Examples
    --------
    Any callable can replace a checkpoint:

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
    _blank = np.zeros((32, 32, 3), np.uint8)

    def __init__(
        self,
        *,
        model: str | os.PathLike | Callable = "google/vit-base-patch16-224-in21k",
        pooling: Literal["cls", "mean"] = "cls",
        image_shape: tuple[int, ...] | list[int] | None = None,
        image_size: int | None = None,
        image_mean: ArrayLike | None = None,
        image_std: ArrayLike | None = None,
        batch_size: int = 32,
        on_error: Literal["raise", "skip"] = "raise",
        dtype: Literal["auto", "float32", "float16", "bfloat16"] = "auto",
        keep_weights: bool = False,
        memory: str | Memory | None = None,
        device: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
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

    def transform(self, X: ArrayLike | Sequence[Any]) -> NDArray[np.float32]:
        """Embed images.

        Parameters
        ----------
        X : array, list or Series of n_samples images
            An array of shape (n_samples, H, W) or (n_samples, H, W, C), of bytes or
            of floats in [0, 1]; a 2-D array of flattened images, with `image_shape`;
            a list of Pillow images; or the paths of image files.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_features_out) of float32
            With ``on_error="skip"``, images that cannot be read are rows of NaN.
        """
        check_is_fitted(self)
        images = self._check_input(X)
        self._ready()
        embedding = self._embed(
            len(images), lambda: self._embedded(images), lambda: self._key(images)
        )
        unreadable = np.flatnonzero(np.isnan(embedding[:, 0]))
        if len(unreadable):
            images.warn_of_unreadable(unreadable)
        return embedding

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.string = True
        return tags

    # Embedding ------------------------------------------------------------------

    def _check_input(self, X):
        return _image_module().as_images(X, self.image_shape)

    def _key(self, images):
        loaded = self._ready()
        if not hasattr(loaded.network, "state_dict"):
            raise ValueError(
                "With memory, model must be a checkpoint or a torch module, so that "
                f"its weights identify it; got {loaded.network!r}."
            )
        model = loaded.fingerprint(), repr(loaded.network)
        pixels = map(str, (self.image_size, self.image_mean, self.image_std))
        settings = (self.pooling, self.dtype, self.device_, self.on_error, *pixels)
        return images.digest(), model, settings

    def _embedded(self, images):
        for start in range(0, len(images), self.batch_size):
            batch = images.batch(start, start + self.batch_size, self.on_error)
            there = [row for row, image in enumerate(batch) if image is not None]
            embedding = np.full((len(batch), self._n_features_out), np.nan, np.float32)
            if there:
                rows = self._run([batch[row] for row in there])
                embedding[there] = self._check_finite(rows, np.add(there, start))
            yield embedding

    def _run(self, images):
        """Embed a batch of images, arrays of RGB bytes."""
        network, prepare, _ = self._ready()
        pixels = prepare(images)
        weight = next(iter(getattr(network, "parameters", tuple)()), None)
        if weight is not None:
            pixels = pixels.to(weight.device, weight.dtype)
        else:
            pixels = pixels.to(nets.device_or_cpu(self.device_))
        if not self._is_checkpoint():
            return to_numpy(_pool_any(network(pixels)))
        options = {}
        if self.image_size is not None:
            name = "interpolate_pos_encoding"
            if name in inspect.signature(network.forward).parameters:
                options[name] = True
        output = network(pixel_values=pixels, **options)
        return to_numpy(self._pool(network, output.last_hidden_state))

    def _pool(self, network, hidden):
        if self.pooling == "cls":
            return hidden[:, 0]
        if hidden.ndim == 4:
            return hidden.float().mean((2, 3))
        return hidden[:, _n_special_tokens(network) :].float().mean(1)

    # Loading --------------------------------------------------------------------

    def _load(self):
        if self._is_checkpoint():
            return super()._load()
        checkpoints = self._checkpoints()
        device = nets.device_or_cpu(self.device_)
        prepare = functools.partial(
            _image_module().resize_and_normalise,
            size=self.image_size or 224,
            mean=_IMAGENET_MEAN if self.image_mean is None else self.image_mean,
            std=_IMAGENET_STD if self.image_std is None else self.image_std,
        )
        network = checkpoints.own_network(self.model, device, self.dtype)
        return checkpoints.Loaded(network, prepare, {})

    def _part_of(self, network):
        network = getattr(network, "vision_model", network)
        if hasattr(network.config, "mask_ratio"):
            raise ValueError(
                f"{type(network).__name__} masks random parts of each image and cannot "
                "embed; use a checkpoint of another vision transformer."
            )
        if network.main_input_name != "pixel_values":
            raise ValueError(
                f"{self.model!r} is not a model of images; use a checkpoint of a "
                "vision transformer."
            )
        if self.pooling == "cls" and not _n_special_tokens(network):
            raise ValueError(
                f"{self.model!r} ({type(network).__name__}) has no class token: use "
                "pooling='mean'."
            )
        return network

    def _preprocessing(self, transformers, folder):
        if not (folder / "preprocessor_config.json").is_file():
            raise ValueError(
                f"There is no preprocessor_config.json in {self.model!r}, which says "
                "how to prepare images; download all files of the checkpoint."
            )
        processor = transformers.AutoImageProcessor.from_pretrained(
            folder, backend="pil", local_files_only=True, trust_remote_code=False
        )
        changed: dict[str, Any] = {
            name: np.asarray(getattr(self, name), float).tolist()
            for name in ("image_mean", "image_std")
            if getattr(self, name) is not None
        }
        if self.image_size is not None:
            side = {"height": self.image_size, "width": self.image_size}
            changed |= {"size": side, "do_center_crop": False}

        def prepare(images):
            return processor(
                images,
                return_tensors="pt",
                input_data_format="channels_last",
                **changed,
            )["pixel_values"]

        return prepare


def _image_module():
    return require("skim.embedding._images", "vit")  # imports Pillow


def _pool_any(output):
    """Return one vector per image from the output of any model."""
    output = getattr(output, "last_hidden_state", output)
    n_axes = getattr(output, "ndim", None)
    if n_axes == 2:
        return output
    if n_axes == 3:
        return output.float().mean(1)
    if n_axes == 4:
        return output.float().mean((2, 3))
    raise ValueError(
        "The model must return a tensor of shape (n, d), (n, tokens, d) or (n, d, h, w)"
        f"; got {getattr(output, 'shape', type(output))}."
    )


def _n_special_tokens(network):
    """Return the number of tokens before those of the patches."""
    count = 0
    for name, weight in network.named_parameters():
        last = name.rpartition(".")[2]
        count += last in _SPECIAL_TOKENS
        count += weight.shape[1] if last == _REGISTERS else 0
    return count
