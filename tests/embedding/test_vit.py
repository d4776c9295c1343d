import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline

from skim import ALTBIDetector
from skim.embedding import ViTEmbedder
from tests.embedding.conftest import save_quietly

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="session")
def vit(vit_folder, vit_images):
    return ViTEmbedder(model=vit_folder).fit(vit_images)


@pytest.fixture
def files(tmp_path, vit_images):
    paths = [tmp_path / f"{row}.png" for row in range(len(vit_images))]
    for path, image in zip(paths, vit_images, strict=True):
        Image.fromarray(image).save(path)
    return paths


def directly(folder, processor, images):
    """The last hidden state, from transformers alone."""
    network = transformers.ViTModel.from_pretrained(folder, add_pooling_layer=False)
    pixels = processor(
        [Image.fromarray(image) for image in images], return_tensors="pt"
    )
    with torch.no_grad():
        return network(**pixels).last_hidden_state.numpy()


class CountingModule(torch.nn.Module):
    """Returns the mean colour, and counts its calls."""

    calls = 0

    def __init__(self, factor=1.0):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.tensor(factor))

    def forward(self, batch):
        type(self).calls += 1
        return batch.mean((2, 3)) * self.factor


# What comes out -------------------------------------------------------------------


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_embedding_is_what_transformers_gives(
    vit_folder, vit_processor, vit_images, pooling
):
    hidden = directly(vit_folder, vit_processor, vit_images)
    expected = hidden[:, 0] if pooling == "cls" else hidden[:, 1:].mean(1)
    embedder = ViTEmbedder(model=vit_folder, pooling=pooling, batch_size=3)
    embedding = embedder.fit_transform(vit_images)
    assert embedding.dtype == np.float32
    assert_allclose(embedding, expected, atol=1e-5)


def test_every_kind_of_input_gives_the_same(vit, vit_images, files):
    expected = vit.transform(vit_images)
    pillow = [Image.fromarray(image) for image in vit_images]
    strings = [str(path) for path in files]
    inputs = [
        vit_images / 255,
        (vit_images / 255).astype(np.float32),
        vit_images.astype(np.int64),
        list(vit_images),
        pillow,
        files,
        strings,
        np.array(strings),
        np.array(strings, dtype=object)[:, None],
        pd.Series(strings),
        pd.Series(pillow),
        pd.DataFrame({"path": strings}),
    ]
    for images in inputs:
        assert_array_equal(vit.transform(images), expected)


def test_flattened_rows_are_the_images_again(vit, vit_folder, vit_images):
    flat = vit_images.reshape(7, -1)
    embedder = ViTEmbedder(model=vit_folder, image_shape=(20, 24, 3))
    assert_array_equal(embedder.fit_transform(flat), vit.transform(vit_images))


def test_grey_images_are_those_with_three_equal_channels(vit, vit_images):
    grey = vit_images[..., 0]
    expected = vit.transform(np.repeat(grey[..., None], 3, axis=3))
    for images in (grey, grey[..., None], [Image.fromarray(image) for image in grey]):
        assert_array_equal(vit.transform(images), expected)


def test_sixteen_bits_are_reduced_to_eight(vit, vit_images, tmp_path):
    grey = vit_images[..., 0]
    deep = grey.astype(np.uint16) * 257
    paths = [tmp_path / f"{row}.png" for row in range(len(deep))]
    for path, image in zip(paths, deep, strict=True):
        Image.fromarray(image).save(path)
    expected = vit.transform(grey)
    assert_array_equal(vit.transform(deep), expected)
    assert_array_equal(vit.transform(paths), expected)


def test_transparent_parts_are_white(vit, vit_images):
    half = np.concatenate([vit_images, np.full((7, 20, 24, 1), 255, np.uint8)], axis=3)
    half[:, :10, :, 3] = 0
    on_white = vit_images.copy()
    on_white[:, :10] = 255
    expected = vit.transform(on_white)
    assert_array_equal(vit.transform(half), expected)
    assert_array_equal(vit.transform([Image.fromarray(h) for h in half]), expected)


def test_palette_images_have_their_colours(vit):
    image = Image.new("P", (8, 8), 1)
    image.putpalette([0, 0, 0, 255, 0, 0])
    red = np.zeros((1, 8, 8, 3), np.uint8)
    red[..., 0] = 255
    assert_array_equal(vit.transform([image]), vit.transform(red))


def test_exif_orientation_is_applied(vit, vit_images, tmp_path):
    image = Image.fromarray(vit_images[0])
    exif = image.getexif()
    exif[0x0112] = 6  # rotate by 90 degrees clockwise
    image.save(tmp_path / "turned.png", exif=exif)
    upright = np.rot90(vit_images[0], -1)
    assert_array_equal(
        vit.transform([tmp_path / "turned.png"]), vit.transform([upright])
    )


def test_rows_do_not_depend_on_their_batch(vit_folder, vit_images):
    all_at_once = ViTEmbedder(model=vit_folder).fit_transform(vit_images)
    one_by_one = ViTEmbedder(model=vit_folder, batch_size=1).fit_transform(vit_images)
    assert_allclose(one_by_one, all_at_once, atol=1e-6)


def test_images_may_have_different_sizes(vit, vit_images):
    mixed = [vit_images[0], vit_images[1, :10], Image.fromarray(vit_images[2, :, :8])]
    embedding = vit.transform(mixed)
    assert_allclose(embedding[:1], vit.transform(vit_images[:1]), atol=1e-6)
    assert np.isfinite(embedding).all()


# Models ---------------------------------------------------------------------------


def test_another_size_uses_interpolated_positions(vit, vit_folder, vit_images):
    large = ViTEmbedder(model=vit_folder, image_size=32).fit(vit_images)
    assert large._loaded.prepare(list(vit_images)).shape == (7, 3, 32, 32)
    assert not np.allclose(large.transform(vit_images), vit.transform(vit_images))


def test_another_normalisation_is_used(vit, vit_folder, vit_images):
    plain = ViTEmbedder(model=vit_folder, image_mean=[0, 0, 0], image_std=[1, 1, 1])
    assert_allclose(
        plain.fit(vit_images)._loaded.prepare([np.full((4, 4, 3), 255, np.uint8)]), 1
    )


def tiny_networks():
    swin = transformers.SwinConfig(
        image_size=16, patch_size=2, embed_dim=8, depths=[1, 1], num_heads=[1, 2],
        window_size=2,
    )  # fmt: skip
    convnext = transformers.ConvNextConfig(
        num_stages=3, hidden_sizes=[4, 8, 16], depths=[1, 1, 1]
    )
    registers = transformers.Dinov2WithRegistersConfig(
        image_size=16, patch_size=8, hidden_size=16, num_hidden_layers=1,
        num_attention_heads=2, num_register_tokens=3,
    )  # fmt: skip
    tower = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    clip = transformers.CLIPConfig(
        vision_config={**tower, "image_size": 16, "patch_size": 8},
        text_config={**tower, "vocab_size": 10},
    )
    return {"swin": swin, "convnext": convnext, "registers": registers, "clip": clip}


@pytest.mark.parametrize(
    ("name", "n_special"), [("swin", 0), ("convnext", 0), ("registers", 4), ("clip", 1)]
)
def test_other_architectures_are_pooled_by_their_own_tokens(
    name, n_special, tmp_path, vit_processor, vit_images
):
    network = transformers.AutoModel.from_config(tiny_networks()[name]).eval()
    folder = save_quietly(tmp_path, network, vit_processor)
    embedding = ViTEmbedder(model=folder, pooling="mean").fit_transform(vit_images)
    pixels = vit_processor(list(vit_images), return_tensors="pt")
    with torch.no_grad():
        hidden = getattr(network, "vision_model", network)(**pixels).last_hidden_state
    if hidden.ndim == 4:
        hidden = hidden.flatten(2).transpose(1, 2)
    assert_allclose(embedding, hidden[:, n_special:].mean(1), atol=1e-5)
    if n_special:
        embedding = ViTEmbedder(model=folder).fit_transform(vit_images)
        assert_allclose(embedding, hidden[:, 0], atol=1e-5)
    else:
        with pytest.raises(ValueError, match=r"no class token: use pooling='mean'"):
            ViTEmbedder(model=folder).fit(vit_images)


@pytest.mark.parametrize("shape", [(), (5,), (4, 4)])
def test_own_model_may_return_vectors_tokens_or_maps(shape, vit_images):
    def model(batch):
        colour = batch.mean((2, 3))
        if len(shape) == 1:
            return colour[:, None].expand(-1, *shape, 3)
        return colour.reshape(*colour.shape, *(1 for _ in shape)).expand(-1, 3, *shape)

    settings = {"image_mean": (0, 0, 0), "image_std": (1, 1, 1), "image_size": 20}
    embedding = ViTEmbedder(model=model, **settings).fit_transform(vit_images)
    assert_allclose(embedding, vit_images.mean((1, 2)) / 255, atol=2e-3)


def test_own_model_gets_imagenets_normalisation_by_default():
    def model(batch):
        assert batch.shape[1:] == (3, 224, 224)
        return batch.mean((2, 3))

    black = np.zeros((1, 8, 8), np.uint8)
    expected = [[-0.485 / 0.229, -0.456 / 0.224, -0.406 / 0.225]]
    assert_allclose(ViTEmbedder(model=model).fit_transform(black), expected, rtol=1e-5)


def test_own_module_is_not_changed(vit_images):
    module = torch.nn.Sequential(CountingModule(), torch.nn.Dropout(0.5)).train()
    first = ViTEmbedder(model=module, image_size=16).fit(vit_images)
    assert_array_equal(first.transform(vit_images), first.transform(vit_images))
    assert module.training
    assert module[0].factor.requires_grad


def test_own_model_that_returns_something_else_is_refused(vit_images):
    with pytest.raises(ValueError, match=r"must return a tensor of shape"):
        ViTEmbedder(model=lambda batch: batch.sum(), image_size=8).fit(vit_images)


# Bad input ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((2, 4, 4)) + 7, r"values in \[0, 1\]"),
        (np.full((2, 4, 4), np.nan), r"values in \[0, 1\]"),
        (np.full((2, 4, 4), 300), r"values in \[0, 255\]"),
        (np.zeros((2, 16)), r"image_shape"),
        (np.zeros((2, 4, 4, 2)), r"1, 3 or 4 channels last"),
        (np.zeros((0, 4, 4)), r"0 sample"),
        (np.zeros((2, 0, 4)), r"no pixels"),
        (np.zeros((2, 4, 4), complex), r"must be numeric"),
        ([], r"0 sample"),
        ("a.png", r"one path"),
        (Path("a.png"), r"one path"),
        (["a.png", None], r"NoneType in row 1"),
        (np.array([["a", "b"]]), r"one column"),
        (3, r"array or a list"),
    ],
)
def test_bad_images_are_refused(vit_folder, images, message):
    with pytest.raises(ValueError, match=message):
        ViTEmbedder(model=vit_folder).fit(images)


def test_rows_that_do_not_fit_the_shape_are_refused(vit_folder):
    with pytest.raises(ValueError, match=r"15 features, .* have 16 values"):
        ViTEmbedder(model=vit_folder, image_shape=(4, 4)).fit(np.zeros((2, 15)))


@pytest.fixture
def damaged(files):
    """Files of which the second is empty, the fourth truncated, the sixth gone."""
    files[1].write_bytes(b"")
    files[3].write_bytes(files[3].read_bytes()[:300])
    files[5].unlink()
    return files


def test_unreadable_file_is_named(vit, damaged):
    for row in (1, 3, 5):
        with pytest.raises(ValueError, match=rf"Cannot read .*{row}\.png"):
            vit.transform(damaged[row:])


def test_skipped_files_are_rows_of_nan(vit, vit_folder, vit_images, damaged, tmp_path):
    embedder = ViTEmbedder(
        model=vit_folder, on_error="skip", batch_size=2, memory=str(tmp_path / "cache")
    ).fit(damaged)
    good = np.array([0, 2, 4, 6])
    for _ in range(2):  # the second time from the cache
        with pytest.warns(
            UserWarning, match=r"3 of 7 images: .*1\.png.*3\.png.*5\.png"
        ):
            embedding = embedder.transform(damaged)
        is_there = np.isfinite(embedding).all(axis=1)
        assert_array_equal(np.flatnonzero(is_there), good)
        expected = vit.transform(vit_images[good])
        assert_allclose(embedding[good], expected, atol=1e-6)


def test_progress_is_shown_when_asked_for(capfd, vit_folder, vit_images):
    ViTEmbedder(model=vit_folder, batch_size=4, verbose=1).fit_transform(vit_images)
    assert "ViTEmbedder [" in (shown := capfd.readouterr().err)
    assert shown.endswith("7/7 \n")


# Pickles and the cache ------------------------------------------------------------


def test_own_module_is_pickled_with_its_weights(vit_images):
    embedder = ViTEmbedder(model=CountingModule(2.0), image_size=8).fit(vit_images)
    expected = embedder.transform(vit_images)
    again = pickle.loads(pickle.dumps(embedder))
    assert_array_equal(again.transform(vit_images), expected)
    assert_array_equal(clone(embedder).fit_transform(vit_images), expected)


def test_cache_depends_on_content_settings_and_weights(tmp_path, vit_images, files):
    def n_calls(X, factor=1.0, **settings):
        settings = {"image_size": 16, "memory": str(tmp_path / "cache")} | settings
        embedder = ViTEmbedder(model=CountingModule(factor), **settings).fit(X)
        before = CountingModule.calls
        embedder.transform(X)
        return CountingModule.calls - before

    assert n_calls(vit_images) == 1
    assert n_calls(vit_images) == 0
    assert n_calls(vit_images[::-1]) == 1
    assert n_calls(vit_images, factor=2.0) == 1
    assert n_calls(vit_images, image_size=8) == 1
    assert n_calls(vit_images, pooling="mean") == 1
    assert n_calls(files) == 1
    assert n_calls(files) == 0
    renamed = [path.rename(path.with_suffix(".image")) for path in files]
    assert n_calls(renamed) == 0
    Image.fromarray(vit_images[1]).save(renamed[0], format="png")
    assert n_calls(renamed) == 1


def test_cache_refuses_models_without_weights(tmp_path, vit_images):
    embedder = ViTEmbedder(model=lambda batch: batch.mean((2, 3)), memory=str(tmp_path))
    with pytest.raises(ValueError, match=r"checkpoint or a torch module"):
        embedder.fit_transform(vit_images[:1])


def test_files_are_hashed_as_streams(tmp_path):
    from skim.embedding._images import ImageList

    path = tmp_path / "large"
    path.write_bytes(b"x" * 5_000_000)
    tracemalloc.start()
    ImageList([path]).digest()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


def test_files_are_opened_batch_by_batch(files, monkeypatch):
    from skim.embedding import _images

    seen = []
    read = _images.read_image
    monkeypatch.setattr(_images, "read_image", lambda p: seen.append(p) or read(p))
    opened = []

    def model(batch):
        opened.append(len(seen))
        return batch.mean((2, 3))

    embedder = ViTEmbedder(model=model, image_size=8, batch_size=2).fit(files)
    embedder.transform(files)
    assert opened == [0, 2, 4, 6, 7]


# In use ---------------------------------------------------------------------------


def test_unknown_ways_to_handle_errors_are_refused(vit_images):
    with pytest.raises(ValueError, match=r"'on_error' parameter .* must be"):
        ViTEmbedder(on_error="nan").fit(vit_images)


def test_threads_may_share_an_embedder(vit, vit_images):
    expected = vit.transform(vit_images)
    shared = pickle.loads(pickle.dumps(vit))  # not loaded yet
    with ThreadPoolExecutor(4) as pool:
        for embedding in pool.map(shared.transform, [vit_images] * 8):
            assert_array_equal(embedding, expected)


def test_reduced_precision_comes_close(vit, vit_folder, vit_images):
    low = ViTEmbedder(model=vit_folder, dtype="bfloat16").fit_transform(vit_images)
    assert low.dtype == np.float32
    assert_allclose(low, vit.transform(vit_images), atol=0.1)
    assert not np.array_equal(low, vit.transform(vit_images))


def test_pipeline_with_a_detector(vit_folder):
    X = load_digits().data[:120] / 16
    X[-3:] = np.random.default_rng(0).integers(0, 2, (3, 64))
    pipeline = make_pipeline(
        ViTEmbedder(model=vit_folder, image_shape=(8, 8), pooling="mean"),
        ALTBIDetector(epochs=5, contamination=0.1, random_state=0),
    )
    labels = pipeline.fit(X).predict(X)
    assert np.count_nonzero(labels == -1) == 12
    assert_array_equal(pickle.loads(pickle.dumps(pipeline)).predict(X), labels)
