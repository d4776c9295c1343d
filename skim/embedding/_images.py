"""Images from arrays, files and Pillow, as RGB bytes."""

import os

import numpy as np

from skim import _nets as nets
from skim.embedding._checkpoints import require

# Mean and standard deviation of the red, green and blue values of ImageNet.
MEAN = np.array([0.485, 0.456, 0.406], np.float32).reshape(-1, 1, 1)
STD = np.array([0.229, 0.224, 0.225], np.float32).reshape(-1, 1, 1)


def as_images(X):
    """Return an array of images, or a list of paths, Pillow images and arrays."""
    pillow = require("PIL.Image", "vit")
    if isinstance(X, str | os.PathLike):
        raise ValueError(f"X is one path, {str(X)!r}: pass a list, [{str(X)!r}].")
    if not isinstance(X, list | tuple):
        X = np.atleast_1d(np.asarray(X))
        if X.dtype.kind in "OUT":
            if X.size != len(X):
                raise ValueError(f"Paths must be in one column, got shape {X.shape}.")
            X = X.ravel().tolist()
    if len(X) == 0:
        raise ValueError("X has 0 sample(s): pass at least one image.")
    if isinstance(X, np.ndarray):
        _check_pixels(X, X.shape[1:])
        return X
    for row, item in enumerate(X):
        if isinstance(item, np.ndarray):
            _check_pixels(item, item.shape)
        elif not isinstance(item, str | os.PathLike | pillow.Image):
            raise ValueError(
                "Images in a list must be paths, Pillow images or arrays; got "
                f"{type(item).__name__} in row {row}."
            )
    return list(X)


def _check_pixels(array, shape):
    """Raise an error unless an array holds pixels of images of this shape."""
    if (
        len(shape) not in (2, 3)
        or shape[2:] not in [(), (1,), (3,), (4,)]
        or 0 in shape
    ):
        raise ValueError(
            "Images must have shape (H, W), or (H, W, C) with 1, 3 or 4 channels last; "
            f"got {shape}: reshape flattened images first."
        )
    top = {"f": 1, "i": 255, "u": 255}.get(array.dtype.kind, -1)
    if array.dtype != np.uint8 and not (array.min() >= 0 and array.max() <= top):
        raise ValueError(
            "Pixels must be integers from 0 to 255 or floats from 0 to 1; got "
            f"{array.dtype} from {array.min()} to {array.max()}."
        )


def read_image(item):
    """Return a path, a Pillow image or an array as an (H, W, 3) array of bytes."""
    from PIL import Image

    if isinstance(item, np.ndarray):
        if item.dtype.kind == "f":
            item = np.rint(item * item.dtype.type(255))
        item = item.astype(np.uint8, copy=False)
        if item.shape[2:] == (3,):
            return item
        item = Image.fromarray(item[..., 0] if item.shape[2:] == (1,) else item)
    if isinstance(item, Image.Image):
        return _to_rgb(item)
    try:
        with Image.open(item) as image:
            return _to_rgb(image)
    except Exception as error:  # Pillow's decoders raise almost anything
        raise ValueError(f"Cannot read {os.fspath(item)!r} ({error}).") from error


def _to_rgb(image):
    from PIL import Image, ImageOps

    image = ImageOps.exif_transpose(image)
    if image.mode == "F":
        raise ValueError("Images of floats must be passed as arrays.")
    if image.mode.startswith("I"):  # 16 bits per pixel
        grey = np.minimum(np.asarray(image).astype(np.uint32), 65535) // 257
        image = Image.fromarray(grey.astype(np.uint8))
    if "A" in image.mode or "transparency" in image.info:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    return np.asarray(image.convert("RGB"))


def resize_and_normalise(images, size):
    """Return RGB images as the input of a network, of shape (n, 3, size, size)."""
    from PIL import Image

    bicubic = Image.Resampling.BICUBIC
    resized = [
        np.asarray(Image.fromarray(image).resize((size, size), bicubic))
        for image in images
    ]
    pixels = np.stack(resized).transpose(0, 3, 1, 2).astype(np.float32, order="C")
    pixels /= 255
    pixels -= MEAN
    pixels /= STD
    return {"pixel_values": nets.as_tensor(pixels, "cpu")}
