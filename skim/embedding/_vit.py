"""Embedding images with a vision transformer."""

import copy
import functools
import os
from collections.abc import Callable
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from skim import _nets as nets
from skim.embedding._base import PretrainedEmbedder
from skim.embedding._checkpoints import find_checkpoint, load_transformer
from skim.embedding._images import as_images, read_image, resize_and_normalise

# Parameters of the tokens that precede those of the patches.
_SPECIAL_TOKENS = ("cls_token", "class_embedding", "distillation_token")
_REGISTERS = "register_tokens"


class ViTEmbedder(PretrainedEmbedder):
    """Embed images with a pretrained vision transformer.

    Images are an array of shape (n_samples, H, W) or (n_samples, H, W, C), of bytes or
    of floats in [0, 1]; a list of arrays or Pillow images; or the paths of image files.

    Read more in the :doc:`user guide </embedding>`.

    Parameters
    ----------
    model : str, path or callable, default="google/vit-base-patch16-224-in21k"
        A checkpoint of a vision transformer: its name on the Hugging Face hub, or a
        folder with `config.json`, `preprocessor_config.json` and
        `model.safetensors`. A name is looked up in :func:`weights_home` and in the
        local cache of the hub before anything is downloaded.

        Or a torch module or any other callable. It is called with float tensors of
        shape (n, 3, image_size, image_size), scaled as is usual for networks trained
        on ImageNet, and returns (n, d), (n, tokens, d) or (n, d, h, w); the last two
        are averaged over tokens or positions. A module is copied and put into
        evaluation mode.

    pooling : {"cls", "mean"}, default="cls"
        What represents an image: the class token, or the mean of the patch tokens.
        Checkpoints without a class token, such as Swin, need "mean". Ignored if
        `model` is a callable.

    image_size : int, default=224
        Height and width to which images are resized if `model` is a callable;
        checkpoints say themselves how images are prepared.

    batch_size : int, default=32
        Number of images that are read and embedded at a time.

    device : str, default="auto"
        Any device of torch, or "auto" for a GPU if there is one.

    Attributes
    ----------
    device_ : str
        The device that was used.

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
    >>> ViTEmbedder(model=colour, image_size=8).fit_transform(images).shape
    (2, 3)
    """

    _parameter_constraints: dict = {
        **PretrainedEmbedder._parameter_constraints,
        "model": [*PretrainedEmbedder._parameter_constraints["model"], callable],
        "image_size": [Interval(Integral, 1, None, closed="left")],
        "pooling": [StrOptions({"cls", "mean"})],
    }

    _blank = np.zeros((32, 32, 3), np.uint8)

    def __init__(
        self,
        *,
        model: str | os.PathLike | Callable = "google/vit-base-patch16-224-in21k",
        pooling: Literal["cls", "mean"] = "cls",
        image_size: int = 224,
        batch_size: int = 32,
        device: str = "auto",
    ) -> None:
        self.model = model
        self.pooling = pooling
        self.image_size = image_size
        self.batch_size = batch_size
        self.device = device

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.string = True
        return tags

    def _check_input(self, X):
        return as_images(X)

    def _load(self):
        device = nets.device_or_cpu(self.device_)
        if callable(self.model):
            network: Any = self.model
            if hasattr(network, "state_dict"):
                network = copy.deepcopy(network).float().to(device).eval()
            return network, functools.partial(
                resize_and_normalise, size=self.image_size
            )
        folder = find_checkpoint(self.model, "vit")
        network, processor = load_transformer(
            folder, "AutoImageProcessor", "vit", backend="pil"
        )
        network = getattr(network, "vision_model", network)  # of CLIP
        is_masked = hasattr(network.config, "mask_ratio")  # at random, as in MAE
        if network.main_input_name != "pixel_values" or is_masked:
            raise ValueError(
                f"{self.model!r} is not a model of images; use a checkpoint of a "
                "vision transformer."
            )
        if self.pooling == "cls" and not _n_special_tokens(network):
            raise ValueError(
                f"{self.model!r} ({type(network).__name__}) has no class token: use "
                "pooling='mean'."
            )
        options = {"return_tensors": "pt", "input_data_format": "channels_last"}
        return network.to(device), functools.partial(processor, **options)

    def _run(self, images):
        network, prepare = self._loaded
        pixels = prepare([read_image(image) for image in images])["pixel_values"]
        hidden = network(pixels.to(nets.device_or_cpu(self.device_)))
        hidden = getattr(hidden, "last_hidden_state", hidden)
        n_axes = getattr(hidden, "ndim", 0)
        if n_axes == 3:
            n_special = 0 if callable(self.model) else _n_special_tokens(network)
            is_class = self.pooling == "cls" and n_special
            hidden = hidden[:, 0] if is_class else hidden[:, n_special:].mean(1)
        elif n_axes == 4:
            hidden = hidden.mean((2, 3))
        elif n_axes != 2:
            raise ValueError(
                "The model must return a tensor of shape (n, d), (n, tokens, d) or "
                f"(n, d, h, w); got {getattr(hidden, 'shape', type(hidden))}."
            )
        return hidden.float().cpu().numpy()


def _n_special_tokens(network):
    """Return the number of tokens before those of the patches."""
    count = 0
    for name, weight in network.named_parameters():
        last = name.rpartition(".")[2]
        count += last in _SPECIAL_TOKENS
        count += weight.shape[1] if last == _REGISTERS else 0
    return count
