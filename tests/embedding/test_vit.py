import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from sklearn.base import clone

from skim.embedding import ViTEmbedder
from tests.embedding.conftest import save_quietly


@pytest.fixture(scope="session")
def vit(vit_folder, images):
    return ViTEmbedder(model=vit_folder).fit(images)


@pytest.fixture
def files(tmp_path, images):
    paths = [tmp_path / f"{row}.png" for row in range(len(images))]
    for path, image in zip(paths, images, strict=True):
        Image.fromarray(image).save(path)
    return paths


# Checkpoints ----------------------------------------------------------------------


def tiny_network(name):
    tower = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    patches = {"image_size": 16, "patch_size": 8}
    settings = {
        "vit": (transformers.ViTConfig, tower | patches),
        "swin": (
            transformers.SwinConfig,
            {"image_size": 16, "patch_size": 2, "embed_dim": 8, "depths": [1, 1]}
            | {"num_heads": [1, 2], "window_size": 2},
        ),
        "registers": (
            transformers.Dinov2WithRegistersConfig,
            tower | patches | {"num_register_tokens": 3},
        ),
        "clip": (
            transformers.CLIPConfig,
            {
                "vision_config": tower | patches,
                "text_config": tower | {"vocab_size": 60_000},
            },
        ),
    }
    config, values = settings[name]
    return transformers.AutoModel.from_config(config(**values)).eval()


@pytest.mark.parametrize(
    ("name", "n_special"),
    [("vit", 1), ("swin", 0), ("registers", 4), ("clip", 1)],
)
def test_embedding_is_what_transformers_gives(
    name, n_special, tmp_path, vit_processor, images
):
    network = tiny_network(name)
    folder = save_quietly(tmp_path, network, vit_processor)
    embedding = ViTEmbedder(model=folder, pooling="mean").fit_transform(images)
    assert embedding.dtype == np.float32
    pixels = vit_processor(list(images), return_tensors="pt")
    with torch.no_grad():
        hidden = getattr(network, "vision_model", network)(**pixels).last_hidden_state
    if hidden.ndim == 4:
        hidden = hidden.flatten(2).transpose(1, 2)
    assert_allclose(embedding, hidden[:, n_special:].mean(1), atol=1e-5)
    if n_special:
        embedding = ViTEmbedder(model=folder, batch_size=3).fit_transform(images)
        assert_allclose(embedding, hidden[:, 0], atol=1e-5)
    else:
        with pytest.raises(ValueError, match=r"no class token: use pooling='mean'"):
            ViTEmbedder(model=folder).fit(images)


# Images ---------------------------------------------------------------------------


def test_every_kind_of_input_gives_the_same(vit, images, files):
    expected = vit.transform(images)
    pillow = [Image.fromarray(image) for image in images]
    strings = [str(path) for path in files]
    for same in (
        images / 255,
        (images / 255).astype(np.float32),
        images.astype(np.int64),
        list(images),
        pillow,
        files,
        strings,
        np.array(strings),
        np.array(strings, dtype=object)[:, None],
        pd.Series(strings),
        pd.Series(pillow),
        pd.DataFrame({"path": strings}),
    ):
        assert_array_equal(vit.transform(same), expected)


def test_images_are_converted_to_rgb(vit, images, tmp_path):
    image, grey = images[0], images[0, ..., 0]
    on_white = image.copy()
    on_white[:10] = 255
    opacity = np.full((20, 24, 1), 255, np.uint8)
    opacity[:10] = 0
    transparent = np.concatenate([image, opacity], axis=2)
    three = np.repeat(grey[..., None], 3, axis=2)
    deep = Image.fromarray(grey.astype(np.uint16) * 257)
    deep.save(tmp_path / "deep.png")
    palette = Image.new("P", (24, 20), 1)
    palette.putpalette([0, 0, 0, 255, 0, 0])
    red = np.zeros_like(image)
    red[..., 0] = 255
    exif = Image.Exif()
    exif[0x0112] = 6  # rotate by 90 degrees clockwise
    Image.fromarray(image).save(tmp_path / "turned.png", exif=exif)
    mixed = [image, image[:10], Image.fromarray(grey)]  # of different sizes
    separately = [vit.transform([each])[0] for each in mixed]
    assert_allclose(vit.transform(mixed), separately, atol=1e-6)
    for given, expected in (
        (grey, three),
        (grey[..., None], three),
        (Image.fromarray(grey), three),
        (deep, three),
        (tmp_path / "deep.png", three),
        (transparent, on_white),
        (Image.fromarray(transparent), on_white),
        (palette, red),
        (tmp_path / "turned.png", np.rot90(image, -1)),
    ):
        assert_array_equal(vit.transform([given]), vit.transform([expected]))


def test_bad_images_are_refused(vit_folder):
    for images, message in (
        (np.zeros((2, 4, 4)) + 7, r"floats from 0 to 1; got float64 from 7.0"),
        (np.full((2, 4, 4), np.nan), r"floats from 0 to 1"),
        (np.full((2, 4, 4), 300), r"integers from 0 to 255"),
        (np.zeros((2, 16)), r"reshape flattened images"),
        (np.zeros((2, 4, 4, 2)), r"1, 3 or 4 channels last"),
        (np.zeros((2, 0, 4)), r"got \(0, 4\)"),
        (np.zeros((2, 4, 4), complex), r"got complex"),
        ([], r"0 sample"),
        (Path("a.png"), r"one path"),
        (["a.png", None], r"NoneType in row 1"),
        (np.array([["a", "b"]]), r"one column"),
        (3, r"got \(\)"),
    ):
        with pytest.raises(ValueError, match=message):
            ViTEmbedder(model=vit_folder).fit(images)


def test_unreadable_file_is_named(vit, files):
    files[1].write_bytes(b"")
    files[3].write_bytes(files[3].read_bytes()[:300])
    files[5].unlink()
    Image.fromarray(np.zeros((4, 4), np.float32)).save(files[6].with_suffix(".tiff"))
    names = ["1.png", "3.png", "5.png", "6.tiff"]
    for name in names:
        with pytest.raises(ValueError, match=rf"Cannot read .*{name}"):
            vit.transform([files[0], files[0].with_name(name)])


# Callables ------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (5,), (4, 4)])
def test_callable_may_return_vectors_tokens_or_maps(shape, images):
    def model(batch):
        colour = batch.mean((2, 3))
        if len(shape) == 1:
            return colour[:, None].expand(-1, *shape, 3)
        return colour.reshape(*colour.shape, *(1 for _ in shape)).expand(-1, 3, *shape)

    embedding = ViTEmbedder(model=model, image_size=20).fit_transform(images)
    unscaled = embedding * [0.229, 0.224, 0.225] + [0.485, 0.456, 0.406]
    assert_allclose(unscaled, images.mean((1, 2)) / 255, atol=2e-3)
    with pytest.raises(ValueError, match=r"must return a tensor of shape"):
        ViTEmbedder(model=lambda batch: batch.sum(), image_size=8).fit(images)


def test_module_is_not_changed_and_is_pickled_with_its_weights(images):
    layers = torch.nn.Flatten(), torch.nn.LazyLinear(4), torch.nn.Dropout(0.5)
    module = torch.nn.Sequential(*layers)
    module(torch.zeros(1, 3, 16, 16))
    embedder = ViTEmbedder(model=module, image_size=16).fit(images)
    expected = embedder.transform(images)
    assert_array_equal(embedder.transform(images), expected)
    assert module.training
    assert module[1].weight.requires_grad
    again = pickle.loads(pickle.dumps(embedder))
    assert_array_equal(again.transform(images), expected)
    assert_array_equal(clone(embedder).fit_transform(images), expected)
