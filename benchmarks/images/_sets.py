"""Image sets as arrays, and networks that embed them."""

import gzip
import json
from typing import NamedTuple

import numpy as np

from benchmarks.weights import _efficientnet, _tinyvit, find
from skim.embedding import ViTEmbedder, weights_home

N_CLASSES = 10
PART = 1000  # images that are embedded and cached at a time


# Sets -----------------------------------------------------------------------------


def load_fashion_mnist(split="test", folder=None):
    """Load a split of Fashion-MNIST, bytes of shape (n, 28, 28) and labels.

    The classes are T-shirt, trouser, pullover, dress, coat, sandal, shirt, sneaker, bag
    and ankle boot. `folder` has the files, if not where ``make weights`` puts them.
    """
    folder = find("fashion-mnist") if folder is None else folder
    name = {"test": "t10k", "train": "train"}[split]
    images = read_idx(folder / f"{name}-images-idx3-ubyte.gz")
    labels = read_idx(folder / f"{name}-labels-idx1-ubyte.gz")
    return _checked(images, labels, folder)


def read_idx(path):
    """Read an array of bytes in the format of MNIST, compressed."""
    with gzip.open(path) as file:
        content = file.read()
    n_axes = content[3] if content[:3] == b"\0\0\x08" else 0
    shape = np.frombuffer(content, ">u4", n_axes, offset=4).astype(int)
    start = 4 + 4 * n_axes
    if not n_axes or len(content) != start + np.prod(shape):
        raise ValueError(f"{path} is not a complete idx file of bytes")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def load_cifar10(split="test", folder=None):
    """Load a split of CIFAR-10, bytes of shape (n, 32, 32, 3) and labels.

    The classes are airplane, automobile, bird, cat, deer, dog, frog, horse, ship and
    truck. `folder` has the files, if not where ``make weights`` puts them: pictures in
    which every row of pixels is an image, and lists of labels.
    """
    folder = find("cifar-10") if folder is None else folder
    train = [f"data_batch_{number}" for number in range(1, 6)]
    names = {"test": ["test_batch"], "train": train}[split]
    images = np.concatenate([_read_strip(folder / f"{name}.png") for name in names])
    labels = json.loads((folder / f"{split}_lables.json").read_text())
    return _checked(images, np.asarray(labels, np.uint8), folder)


def _read_strip(path):
    from PIL import Image

    with Image.open(path) as picture:
        pixels = np.asarray(picture)
    if pixels.shape[1:] != (32 * 32, 3):
        raise ValueError(f"{path} does not have an image of 32 × 32 pixels in each row")
    return pixels.reshape(-1, 32, 32, 3)


def _checked(images, labels, folder):
    if len(images) != len(labels):
        raise ValueError(f"{len(images)} images but {len(labels)} labels in {folder}")
    return images, labels


DATA = {"CIFAR10": load_cifar10, "FashionMNIST": load_fashion_mnist}


# Networks -------------------------------------------------------------------------


class Network(NamedTuple):
    """A network, how to load it, and what its images are like."""

    package: str
    load: object
    image_size: int
    image_mean: tuple
    image_std: tuple
    batch_size: int  # the fastest with one thread

    def embedder(self, **params):
        """Return an embedder with the network and its weights."""
        return ViTEmbedder(
            model=self.load(find(self.package)),
            image_size=self.image_size,
            image_mean=self.image_mean,
            image_std=self.image_std,
            batch_size=self.batch_size,
            device="cpu",
            n_jobs=1,
            **params,
        )


NETWORKS = {
    "EfficientNet-lite0": Network(
        "efficientnet",
        _efficientnet.load_efficientnet,
        128,  # instead of 224, for images of 28 or 32 pixels: three times as fast
        _efficientnet.IMAGE_MEAN,
        _efficientnet.IMAGE_STD,
        batch_size=8,
    ),
    "TinyViT-5M": Network(
        "mobile-sam",
        _tinyvit.load_tinyvit,
        112,  # half of the size at which all of its windows are full: faster
        _tinyvit.IMAGE_MEAN,
        _tinyvit.IMAGE_STD,
        batch_size=16,
    ),
}


def embed(images, name, memory=None):
    """Return a network's features of images, of shape (n, d).

    They are cached piece by piece in the folder `memory`, or else beside the weights.
    """
    folder = weights_home() / "embedded" if memory is None else memory
    embedder = NETWORKS[name].embedder(memory=str(folder)).fit(images[:1])
    starts = range(0, len(images), PART)
    parts = [embedder.transform(images[start : start + PART]) for start in starts]
    return np.concatenate(parts)
