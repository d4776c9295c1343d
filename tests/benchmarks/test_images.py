"""The study of images: sets, embeddings, and results that are resumed."""

import csv
import gzip
import json

import numpy as np
import pytest
import torch
from PIL import Image

from benchmarks._shared.representations import METHODS, score
from benchmarks.images import DATA, REPRESENTATIONS, STUDY, _sets, plan, select
from benchmarks.images._sets import (
    NETWORKS,
    embed,
    load_cifar10,
    load_fashion_mnist,
    read_idx,
)
from benchmarks.weights import PACKAGES
from tests.benchmarks.commands import run_command

CIFAR_MEAN = (0.4942, 0.4851, 0.4504)

pytestmark = pytest.mark.usefixtures("torch_kept")


# Sets -----------------------------------------------------------------------------


def write_idx(path, array):
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    path.write_bytes(gzip.compress(head + array.tobytes()))


def test_fashion_mnist_is_read_from_idx_files(tmp_path):
    images = np.arange(3 * 28 * 28).reshape(3, 28, 28).astype(np.uint8)
    write_idx(tmp_path / "t10k-images-idx3-ubyte.gz", images)
    write_idx(tmp_path / "t10k-labels-idx1-ubyte.gz", np.array([9, 2, 1], np.uint8))
    found, labels = load_fashion_mnist(folder=tmp_path)
    np.testing.assert_array_equal(found, images)
    assert labels.tolist() == [9, 2, 1]


@pytest.mark.parametrize("damage", [lambda c: c[:-1], lambda c: b"\1" + c[1:]])
def test_a_damaged_idx_file_is_refused(tmp_path, damage):
    path = tmp_path / "labels.gz"
    write_idx(path, np.arange(5, dtype=np.uint8))
    path.write_bytes(gzip.compress(damage(gzip.decompress(path.read_bytes()))))
    with pytest.raises(ValueError, match="not a complete idx file"):
        read_idx(path)


def test_cifar10_is_read_from_strips(tmp_path):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, size=(10, 32, 32, 3), dtype=np.uint8)
    for number, part in enumerate(np.split(images, 5), start=1):
        strip = Image.fromarray(part.reshape(2, 1024, 3))
        strip.save(tmp_path / f"data_batch_{number}.png")
    (tmp_path / "train_lables.json").write_text(json.dumps(list(range(10))))
    found, labels = load_cifar10("train", tmp_path)
    np.testing.assert_array_equal(found, images)
    assert labels.tolist() == list(range(10))
    (tmp_path / "train_lables.json").write_text("[1, 2]")
    with pytest.raises(ValueError, match="10 images but 2 labels"):
        load_cifar10("train", tmp_path)


def test_a_picture_that_is_no_strip_is_refused(tmp_path):
    Image.new("RGB", (32, 32)).save(tmp_path / "test_batch.png")
    with pytest.raises(ValueError, match="32 × 32 pixels in each row"):
        load_cifar10(folder=tmp_path)


@pytest.mark.parametrize(
    ("name", "shape", "first", "mean"),
    [
        ("cifar-10", (32, 32, 3), [3, 8, 8, 0, 6, 6, 1, 6, 3, 1], CIFAR_MEAN),
        ("fashion-mnist", (28, 28), [9, 2, 1, 1, 6, 1, 4, 6, 5, 7], 0.2868),
    ],
)
def test_cached_sets_are_the_known_ones(cached, name, shape, first, mean):
    load = {"cifar-10": load_cifar10, "fashion-mnist": load_fashion_mnist}[name]
    images, labels = load(folder=cached(name))
    assert images.shape == (10_000, *shape)
    assert np.bincount(labels).tolist() == [1000] * 10
    assert labels[:10].tolist() == first
    assert images.mean(axis=(0, 1, 2)) / 255 == pytest.approx(mean, abs=1e-4)


# Embeddings -----------------------------------------------------------------------


def test_embeddings_are_kept(tmp_path, monkeypatch):
    calls = []

    class Colour(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))

        def forward(self, pixels):
            calls.append(len(pixels))
            return pixels * self.weight

    mean, std = (0.1, 0.2, 0.3), (1, 2, 4)
    small = _sets.Network("p", lambda path: Colour(), 8, mean, std, 4)
    monkeypatch.setattr(_sets, "NETWORKS", {"colour": small})
    monkeypatch.setattr(_sets, "find", lambda package: package)
    monkeypatch.setattr(_sets, "PART", 5)
    images = np.random.default_rng(0).integers(0, 256, (12, 8, 8, 3), dtype=np.uint8)
    features = embed(images, "colour", tmp_path)
    n_calls = len(calls)
    np.testing.assert_array_equal(embed(images, "colour", tmp_path), features)
    assert len(calls) == n_calls + 1  # to see the width
    scaled = (images / 255 - mean) / std
    np.testing.assert_allclose(features, scaled.mean(axis=(1, 2)), atol=1e-5)


def test_weights_of_both_networks_are_in_a_package():
    assert all(network.package in PACKAGES for network in NETWORKS.values())


# The study ------------------------------------------------------------------------


@pytest.fixture
def tiny(monkeypatch, short_training):
    """Small sets, and detectors that are trained for two epochs."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(10), 100))
    pixels = rng.integers(0, 100, (len(labels), 3, 4), dtype=np.uint8)
    pixels += (labels * 15).astype(np.uint8)[:, None, None]
    monkeypatch.setitem(DATA, "CIFAR10", lambda: (pixels, labels))
    monkeypatch.setitem(DATA, "FashionMNIST", lambda: (pixels[::-1], labels[::-1]))
    return pixels, labels


COMMAND = ["images", "--representation", "raw", "--classes", "1", "--seeds", "1"]


def test_the_plan_has_every_run_once():
    runs = list(plan(list(DATA), REPRESENTATIONS, METHODS, range(10), 3))
    assert len(runs) == len(set(runs)) == 2 * 10 * 3 * (6 + 4 + 4)
    assert all(key[2] == 0 for key in runs[: len(runs) // 3])


def test_pixels_are_scaled_and_reduced(monkeypatch):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), 200)
    pixels = rng.integers(0, 256, (2000, 12, 12), dtype=np.uint8)
    X, y = select(pixels, labels, 0, seed=0)
    assert X.shape == (len(y), 128)
    small, _ = select(pixels[:, :4, :4], labels, 0, seed=0)
    assert small.shape == (len(y), 16)
    assert 0.9 < small.max() <= 1


def test_a_run_is_repeatable(tiny):
    X, y = select(*tiny, 1, seed=0)
    first, again = (score("ALTBI", 0, X, y)[:2] for _ in range(2))
    assert first == again
    assert 0 <= first[0] <= 1


def test_the_command_resumes_where_it_stopped(tiny, tmp_path):
    output = tmp_path / "new" / "results.csv"
    run_command(*COMMAND, "--output", output)
    whole = output.read_text()
    assert len(STUDY.runs(output).read()) == 2 * 6
    with output.with_name("summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["runs of raw"] == "1"
    assert rows[0]["published raw"] == "0.5760"

    cut = whole[: whole.rindex(",") + 1]  # a line without its end
    output.write_text(cut)
    run_command(*COMMAND, "--output", output)
    assert output.read_text().startswith(cut + "\n")
    assert len(STUDY.runs(output).read()) == 2 * 6


def test_missing_images_are_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("SKIM_WEIGHTS_HOME", str(tmp_path / "nowhere"))
    output = tmp_path / "results.csv"
    told = run_command(*COMMAND, "--output", output, exit_code=2)
    assert "make weights" in told
