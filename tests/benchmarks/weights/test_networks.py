"""Networks whose weights packages hold: their shapes, parts and known outputs."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_sample_image

from benchmarks.images._sets import NETWORKS
from benchmarks.weights._efficientnet import (
    EfficientNetLite0,
    PaddedConv,
    load_efficientnet,
)
from benchmarks.weights._tinyvit import (
    AttentionBlock,
    TinyViT,
    distances,
    load_tinyvit,
)

PHOTOGRAPHS = ("china.jpg", "flower.jpg")

pytestmark = pytest.mark.usefixtures("torch_kept")


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


def test_efficientnet_knows_a_palace_and_a_daisy(cached):
    """With the file's own classifier, on two photographs of scikit-learn."""
    network = NETWORKS["EfficientNet-lite0"]
    weights = torch.load(cached(network.package), weights_only=True)
    squares = [load_sample_image(name)[:, 107:533] for name in PHOTOGRAPHS]
    embedder = network.embedder().set_params(image_size=224)
    features = torch.from_numpy(embedder.fit_transform(squares))
    logits = features @ weights["_fc.weight"].T + weights["_fc.bias"]
    assert logits.argmax(dim=1).tolist() == [698, 985]


def test_tinyvit_sees_what_its_weights_expect(cached):
    """Averages that the file recorded in training are those of photographs here.

    Any wrong turn in the network, such as heads cut otherwise, breaks this.
    """
    network = NETWORKS["TinyViT-5M"]
    module = network.load(cached(network.package))
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
