"""The study of images: sets, tasks, networks, and results that go on."""

import csv
import gzip
import json

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.datasets import load_sample_image
from typer.testing import CliRunner

import benchmarks.images as study
from benchmarks.__main__ import app
from benchmarks._efficientnet import EfficientNetLite0, PaddedConv, load_efficientnet
from benchmarks._images import (
    NETWORKS,
    embed,
    load_cifar10,
    load_fashion_mnist,
    read_idx,
)
from benchmarks._one_class import (
    METHODS,
    append,
    build,
    mean_over_classes,
    one_class,
    read,
)
from benchmarks._tinyvit import AttentionBlock, TinyViT, distances, load_tinyvit
from benchmarks.images import DATA, plan, run
from benchmarks.weights import CIFAR_10, EFFICIENTNET, FASHION_MNIST, MOBILE_SAM
from skim.embedding import weights_home

PHOTOGRAPHS = ("china.jpg", "flower.jpg")


def cached(place):
    if not (weights_home() / place).exists():
        pytest.skip("weights not cached: make weights")
    return weights_home() / place


@pytest.fixture(autouse=True)
def torch_kept():
    """Keeps torch's threads and random state as they were."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng():
        yield
    torch.set_num_threads(before)


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
    with pytest.raises(ValueError, match="no whole idx file"):
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


def test_cached_cifar10_is_the_known_set():
    images, labels = load_cifar10(folder=cached(CIFAR_10))
    assert images.shape == (10_000, 32, 32, 3)
    assert np.bincount(labels).tolist() == [1000] * 10
    assert labels[:10].tolist() == [3, 8, 8, 0, 6, 6, 1, 6, 3, 1]
    mean = images.mean(axis=(0, 1, 2)) / 255
    np.testing.assert_allclose(mean, [0.4942, 0.4851, 0.4504], atol=1e-4)


def test_cached_fashion_mnist_is_the_known_set():
    images, labels = load_fashion_mnist(folder=cached(FASHION_MNIST))
    assert images.shape == (10_000, 28, 28)
    assert np.bincount(labels).tolist() == [1000] * 10
    assert labels[:10].tolist() == [9, 2, 1, 1, 6, 1, 4, 6, 5, 7]
    assert images.mean() / 255 == pytest.approx(0.2868, abs=1e-4)


# Tasks ----------------------------------------------------------------------------


@pytest.fixture
def labels():
    return np.random.default_rng(0).permutation(np.repeat(np.arange(10), 100))


def test_a_task_has_one_class_and_five_percent_of_others(labels):
    rows, y = one_class(labels, 3, seed=0)
    assert y.sum() == 5
    assert len(rows) == len(np.unique(rows)) == 105
    assert set(labels[rows[y == 0]]) == {3}
    assert 3 not in labels[rows[y == 1]]
    assert (np.diff(rows) > 0).all()


def test_outliers_are_drawn_by_the_seed(labels):
    first, again = one_class(labels, 3, seed=0)[0], one_class(labels, 3, seed=0)[0]
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, one_class(labels, 3, seed=1)[0])


# Networks -------------------------------------------------------------------------


def test_the_networks_have_the_published_sizes_and_shapes():
    x = torch.zeros(2, 3, 64, 64)
    efficientnet, tinyvit = EfficientNetLite0().eval(), TinyViT().eval()
    sizes = [
        sum(weight.numel() for weight in network.parameters())
        for network in (efficientnet, tinyvit)
    ]
    assert sizes[0] + 1281 * 1000 == 4_652_008  # with the classifier
    assert sizes[1] == 5_071_124
    with torch.inference_mode():
        assert efficientnet(x).shape == (2, 1280)
        assert tinyvit(x).shape == (2, 320, 4, 4)


def test_padding_is_more_at_the_end():
    conv = PaddedConv(1, 1, 3, stride=2)
    torch.nn.init.ones_(conv.weight)
    with torch.inference_mode():
        even = conv(torch.ones(1, 1, 4, 4))[0, 0]
        odd = conv(torch.ones(1, 1, 5, 5))[0, 0]
    assert even.tolist() == [[9, 6], [6, 4]]
    assert odd.tolist() == [[4, 6, 4], [6, 9, 6], [4, 6, 4]]


def test_distances_do_not_depend_on_direction_and_are_numbered_in_order():
    numbers = distances(3)
    assert numbers[0].tolist() == list(range(9))
    assert torch.equal(numbers, numbers.T)
    assert numbers[4].tolist() == [4, 3, 4, 1, 0, 1, 4, 3, 4]


def test_attention_stays_inside_a_window():
    torch.manual_seed(0)
    block = AttentionBlock(1).eval()  # windows of 7 × 7
    x = torch.randn(1, 128, 14, 14)
    changed = x.clone()
    changed[:, :, 0, 0] += 1
    with torch.inference_mode():
        moved = (block._attend(x) - block._attend(changed)).abs().amax(dim=(0, 1)) > 0
    assert moved[:7, :7].all()
    assert moved.sum() == 49


def test_a_map_smaller_than_its_window_is_a_window():
    torch.manual_seed(0)
    block = AttentionBlock(2).eval()  # windows of 14 × 14
    torch.nn.init.normal_(block.attn.attention_biases)
    x = torch.randn(1, 160, 7, 7)
    numbers = distances(14).view(14, 14, 14, 14)[:7, :7, :7, :7].reshape(49, 49)
    with torch.inference_mode():
        norm = block.attn.norm(x.flatten(2).transpose(1, 2))
        parts = block.attn.qkv(norm).view(49, 5, 96)
        query, key, value = (part.transpose(0, 1) for part in parts.split(32, dim=2))
        logits = query @ key.transpose(1, 2) / 32**0.5
        weights = (logits + block.attn.attention_biases[:, numbers]).softmax(dim=2)
        expected = block.attn.proj((weights @ value).transpose(0, 1).reshape(49, 160))
        found = block._attend(x)[0].flatten(1).T
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def test_efficientnet_knows_a_palace_and_a_daisy():
    """With the file's own classifier, on two photographs of scikit-learn."""
    network = NETWORKS["EfficientNet-lite0"]
    weights = torch.load(cached(network.file), weights_only=True)
    squares = [load_sample_image(name)[:, 107:533] for name in PHOTOGRAPHS]
    embedder = network.embedder().set_params(image_size=224)
    features = torch.from_numpy(embedder.fit_transform(squares))
    logits = features @ weights["_fc.weight"].T + weights["_fc.bias"]
    assert logits.argmax(dim=1).tolist() == [698, 985]


def test_tinyvit_sees_what_its_weights_expect():
    """Averages that the file recorded in training are those of photographs here.

    Any wrong turn in the network, such as heads cut otherwise, breaks this.
    """
    network = NETWORKS["TinyViT-5M"]
    module = network.load(cached(network.file))
    pixels = np.stack([load_sample_image(name)[:416] for name in PHOTOGRAPHS]) / 255
    pixels = (pixels - network.image_mean) / network.image_std
    agreements = []

    def compare(norm, inputs, output):
        means = inputs[0].mean(dim=(0, 2, 3))
        agreements.append(np.corrcoef(means, norm.running_mean)[0, 1])

    for part in module.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.register_forward_hook(compare)
    with torch.inference_mode():
        module(torch.from_numpy(pixels).permute(0, 3, 1, 2).float())
    assert len(agreements) == 27
    assert min(agreements[1:]) > 0.85  # the first depends on how bright two images are


def test_weights_that_do_not_fit_are_refused(tmp_path):
    state = {f"image_encoder.{k}": v for k, v in TinyViT().state_dict().items()}
    state["image_encoder.neck.0.weight"] = torch.zeros(1)  # is left out
    torch.save(state, tmp_path / "right.pt")
    load_tinyvit(tmp_path / "right.pt")
    state.pop("image_encoder.layers.3.blocks.1.mlp.fc2.bias")
    torch.save(state, tmp_path / "wrong.pt")
    with pytest.raises(RuntimeError, match=r"Missing key.*mlp\.fc2\.bias"):
        load_tinyvit(tmp_path / "wrong.pt")
    torch.save(EfficientNetLite0().state_dict() | {"x": torch.zeros(1)}, tmp_path / "e")
    with pytest.raises(RuntimeError, match="Unexpected key"):
        load_efficientnet(tmp_path / "e")


def test_embeddings_are_kept(tmp_path, monkeypatch):
    from benchmarks import _images

    calls = []

    class Colour(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))

        def forward(self, pixels):
            calls.append(len(pixels))
            return pixels * self.weight

    mean, std = (0.1, 0.2, 0.3), (1, 2, 4)
    small = _images.Network("p", "f", lambda path: Colour(), 8, mean, std, 4)
    monkeypatch.setattr(_images, "NETWORKS", {"colour": small})
    monkeypatch.setattr(_images, "find", lambda package, file: file)
    monkeypatch.setattr(_images, "PART", 5)
    images = np.random.default_rng(0).integers(0, 256, (12, 8, 8, 3), dtype=np.uint8)
    features = embed(images, "colour", tmp_path)
    n_calls = len(calls)
    np.testing.assert_array_equal(embed(images, "colour", tmp_path), features)
    assert len(calls) == n_calls + 1  # to see the width
    scaled = (images / 255 - mean) / std
    np.testing.assert_allclose(features, scaled.mean(axis=(1, 2)), atol=1e-5)


# The study ------------------------------------------------------------------------


@pytest.fixture
def tiny(monkeypatch, labels, short_trainings):
    """Makes the sets small, and the trainings short."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 100, (len(labels), 3, 4), dtype=np.uint8)
    pixels += (labels * 15).astype(np.uint8)[:, None, None]
    monkeypatch.setitem(DATA, "CIFAR10", lambda: (pixels, labels))
    monkeypatch.setitem(DATA, "FashionMNIST", lambda: (pixels[::-1], labels[::-1]))
    return pixels


COMMAND = ["images", "--representation", "raw", "--classes", "1", "--seeds", "1"]


def test_the_plan_has_every_run_once():
    runs = list(plan(list(DATA), ["raw", *NETWORKS], METHODS, range(10), 3))
    assert len(runs) == len(set(runs)) == 2 * 10 * 3 * (6 + 4 + 4)
    assert all(key[2] == 0 for key in runs[: len(runs) // 3])


def test_names_say_how_many_codes_are_drawn():
    assert build("ALTBI-paper K=2", 5).n_importance == 2
    assert build("ALTBI-paper K=2", 5).random_state == 5
    assert build("ODIM-paper+EMA", 5).n_importance == 50
    assert build("ODIM-paper+EMA K=2", 5).ema_steps == 50


def test_a_run_is_repeatable(tiny, labels):
    key = ("CIFAR10", 1, 0, "raw", "ALTBI")
    first, again = run(tiny, labels, key), run(tiny, labels, key)
    assert first[:2] == again[:2]
    assert 0 <= first[0] <= 1


def test_the_command_goes_on_where_it_stopped(tiny, tmp_path, monkeypatch):
    output = tmp_path / "new" / "results.csv"
    result = CliRunner().invoke(app, [*COMMAND, "--output", str(output)])
    assert result.exit_code == 0, result.output
    whole = output.read_text()
    assert len(read(output)) == 2 * 6
    with output.with_name("summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["runs of raw"] == "1"
    assert rows[0]["published raw"] == "0.576"

    cut = whole[: whole.rindex(",") + 1]  # a line without its end
    output.write_text(cut)
    done = []
    monkeypatch.setattr(study, "run", lambda *a: done.append(a[2]) or (0.5, 0.1, 1.0))
    CliRunner().invoke(app, [*COMMAND, "--output", str(output)])
    assert len(done) == 1
    assert len(read(output)) == 2 * 6


def test_means_are_over_seeds_then_classes(tmp_path):
    path = tmp_path / "results.csv"
    for inliers, seed, auroc in [(0, 0, 0.2), (0, 1, 0.4), (1, 0, 0.9)]:
        append(path, ("CIFAR10", inliers, seed, "raw", "ALTBI"), (auroc, 0.5, 1.0))
    results = read(path)
    mean, n_runs = mean_over_classes(results, "CIFAR10", "raw", "ALTBI", "auroc")
    assert mean == pytest.approx(0.6)
    assert n_runs == 3
    nothing = mean_over_classes(results, "CIFAR10", "raw", "ODIM", "auroc")
    assert nothing == (None, 0)


def test_missing_images_and_wrong_names_are_told(tmp_path, monkeypatch):
    monkeypatch.setenv("SKIM_WEIGHTS_HOME", str(tmp_path / "nowhere"))
    output = ["--output", str(tmp_path / "results.csv")]
    result = CliRunner().invoke(app, [*COMMAND, *output])
    assert result.exit_code == 2
    assert "make weights" in " ".join(result.output.replace("│", "").split())
    result = CliRunner().invoke(app, ["images", "--data", "SVHN"])
    assert result.exit_code == 2
    assert "SVHN" in result.output


def test_both_networks_files_are_among_the_weights():
    assert {network.file for network in NETWORKS.values()} == {EFFICIENTNET, MOBILE_SAM}
