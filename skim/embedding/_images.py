"""Images from arrays, files and Pillow, as RGB bytes. Needs Pillow."""

import hashlib
import os
import warnings

import numpy as np
from PIL import Image, ImageOps

from skim import _nets as nets

_SIXTEEN_BIT = ("I;16", "I;16B", "I;16L", "I;16N", "I")
_TRANSPARENT = ("RGBA", "LA", "PA", "La", "RGBa")


def as_images(X, image_shape=None):
    """Return the images of X as an object that yields them batch by batch.

    `image_shape` is the shape of the images in the rows of a 2-D array.
    """
    if isinstance(X, str | os.PathLike):
        raise ValueError(f"X is one path, {str(X)!r}: pass a list, [{str(X)!r}].")
    if isinstance(X, list | tuple) and len(X) and not _is_nested(X[0]):
        return ImageList(X)
    array = np.asarray(X)
    if array.ndim == 0:
        raise ValueError(f"X must be an array or a list of images, got {type(X)}.")
    if array.shape[0] == 0:
        raise ValueError(
            f"X has 0 sample(s) (shape={array.shape}): pass at least one image."
        )
    if array.dtype.kind in "OUT":
        return ImageList(_one_column(array))
    return ImageArray(array, image_shape)


class ImageArray:
    """Images of one size in an array."""

    def __init__(self, array, image_shape=None):
        if array.ndim == 2:
            array = _unflatten(array, image_shape)
        if array.ndim not in (3, 4) or array.shape[3:] not in [(), (1,), (3,), (4,)]:
            raise ValueError(
                "An array of images must have shape (n, H, W), or (n, H, W, C) with 1, "
                f"3 or 4 channels last; got {array.shape}."
            )
        _check_values(array)
        self.array = array

    def __len__(self):
        return len(self.array)

    def batch(self, start, stop, on_error):
        """Return images `start` to `stop` as arrays of RGB bytes."""
        return [_channels_to_rgb(image) for image in to_bytes(self.array[start:stop])]

    def digest(self):
        """Return a hash of the content."""
        content = hashlib.sha256(str((self.array.dtype.str, self.array.shape)).encode())
        for image in self.array:
            content.update(np.ascontiguousarray(image).data)
        return content.hexdigest()


class ImageList:
    """Paths, Pillow images or arrays; files are opened when they are needed."""

    def __init__(self, items):
        self.items = items
        for row, item in enumerate(items):
            if not isinstance(item, str | os.PathLike | Image.Image | np.ndarray):
                raise ValueError(
                    "Images in a list must be paths, Pillow images or arrays; got "
                    f"{type(item).__name__} in row {row}."
                )

    def __len__(self):
        return len(self.items)

    def batch(self, start, stop, on_error):
        """Return images as arrays of RGB bytes, None for those skipped on error."""
        return [self._read(row, on_error) for row in range(start, min(stop, len(self)))]

    def digest(self):
        """Return a hash of the content: the bytes of files, not their names."""
        content = hashlib.sha256()
        for row in range(len(self)):
            content.update(self._digest(row))
        return content.hexdigest()

    def warn_of_unreadable(self, rows):
        """Warn about the images that were skipped."""
        names = ", ".join(map(self._name, rows[:5]))
        more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
        warnings.warn(
            f"Cannot read {len(rows)} of {len(self)} images: {names}{more}. Their rows "
            "are NaN: drop them (np.isfinite(embedding).all(axis=1)) or impute them "
            "(sklearn.impute.SimpleImputer) before detection.",
            UserWarning,
            stacklevel=4,
        )

    def _name(self, row):
        item = self.items[row]
        is_path = isinstance(item, str | os.PathLike)
        return repr(os.fspath(item)) if is_path else f"the image in row {row}"

    def _read(self, row, on_error):
        try:
            return read_image(self.items[row])
        except Exception as error:  # Pillow's decoders raise almost anything
            if on_error == "skip":
                return None
            raise ValueError(
                f"Cannot read {self._name(row)} ({error}): remove it, or use "
                "on_error='skip' to get a row of NaN for it."
            ) from error

    def _digest(self, row):
        item = self.items[row]
        if isinstance(item, str | os.PathLike):
            try:
                with open(item, "rb") as file:
                    return hashlib.file_digest(file, "sha256").digest()
            except OSError:
                return b"unreadable"
        image = self._read(row, "skip")
        if image is None:
            return b"unreadable"
        return hashlib.sha256(str(image.shape).encode() + image.tobytes()).digest()


# Reading --------------------------------------------------------------------------


def read_image(item):
    """Return a path, a Pillow image or an array as an (H, W, 3) array of bytes."""
    if isinstance(item, Image.Image):
        return _pillow_to_rgb(item)
    if isinstance(item, np.ndarray):
        return ImageArray(item[None]).batch(0, 1, "raise")[0]
    with Image.open(item) as image:
        return _pillow_to_rgb(image)


def _pillow_to_rgb(image):
    """Apply the EXIF orientation and convert to RGB on a white background."""
    image = ImageOps.exif_transpose(image)
    if image.mode in _SIXTEEN_BIT:
        grey = np.asarray(image).astype(np.uint32)
        return _channels_to_rgb((np.minimum(grey, 65535) // 257).astype(np.uint8))
    if image.mode == "F":
        return ImageArray(np.asarray(image)[None]).batch(0, 1, "raise")[0]
    if image.mode in _TRANSPARENT or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return np.asarray(image.convert("RGB"))


def to_bytes(array):
    """Return images of any accepted dtype as bytes."""
    if array.dtype.kind == "f":
        return np.rint(array * array.dtype.type(255)).astype(np.uint8)
    if array.dtype == bool:
        return array.astype(np.uint8) * np.uint8(255)
    if array.dtype == np.uint16:
        return (array // 257).astype(np.uint8)
    return array.astype(np.uint8, copy=False)


def _channels_to_rgb(image):
    if image.ndim == 2:
        image = image[:, :, None]
    if image.shape[2] == 1:
        return np.repeat(image, 3, axis=2)
    if image.shape[2] == 3:
        return image
    opacity = image[:, :, 3:].astype(np.uint16)
    mixed = image[:, :, :3] * opacity + 255 * (255 - opacity)
    return ((mixed + 127) // 255).astype(np.uint8)


def resize_and_normalise(images, *, size, mean, std):
    """Return RGB images as a tensor of shape (n, 3, size, size)."""
    pixels = np.stack([_resize(image, size) for image in images])
    pixels = pixels.transpose(0, 3, 1, 2).astype(np.float32, order="C")
    pixels /= 255
    pixels -= np.asarray(mean, np.float32).reshape(-1, 1, 1)
    pixels /= np.asarray(std, np.float32).reshape(-1, 1, 1)
    return nets.as_tensor(pixels, "cpu")


def _resize(image, size):
    if image.shape[:2] == (size, size):
        return image
    resized = Image.fromarray(image).resize((size, size), Image.Resampling.BICUBIC)
    return np.asarray(resized)


# Checking -------------------------------------------------------------------------


def _check_values(array):
    if 0 in array.shape:
        raise ValueError(f"Images of shape {array.shape[1:]} have no pixels.")
    if array.dtype in (np.dtype(bool), np.dtype(np.uint8), np.dtype(np.uint16)):
        return
    if array.dtype.kind not in "fiu":
        raise ValueError(f"Images must be numeric, got an array of {array.dtype}.")
    low, high, top = array.min(), array.max(), 1 if array.dtype.kind == "f" else 255
    if not (low >= 0 and high <= top):
        raise ValueError(
            f"Images of dtype {array.dtype} must have values in [0, {top}], got "
            f"[{low}, {high}]: divide by the largest possible value, or pass integers "
            "from 0 to 255 as uint8."
        )


def _unflatten(array, image_shape):
    if image_shape is None:
        raise ValueError(
            f"X has shape {array.shape}: if its rows are flattened images, set "
            "image_shape=(H, W) or (H, W, C)."
        )
    if array.shape[1] != np.prod(image_shape):
        raise ValueError(
            f"X has {array.shape[1]} features, but images of image_shape={image_shape} "
            f"have {np.prod(image_shape)} values."
        )
    return array.reshape(len(array), *image_shape)


def _one_column(array):
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"Paths must be in one column, got shape {array.shape}.")
    return array


def _is_nested(item):
    return isinstance(item, list | tuple | int | float | np.number)
