"""TinyViT-5M, the image encoder of MobileSAM: an image becomes a map of 320 numbers.

Two convolutions make patches of 4 × 4 pixels. A stage of inverted residuals and three
stages of transformer blocks follow, with attention inside windows, and between the
stages the map is halved. Names are those of the checkpoint.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.weights._efficientnet import ready

WIDTHS = (64, 128, 160, 320)
DEPTHS = (2, 2, 6, 2)
N_HEADS = (2, 4, 5, 10)
WINDOWS = (7, 7, 14, 7)
STRIDES = (2, 2, 1)  # MobileSAM keeps the map's size in the last stage
IMAGE_MEAN = (0.485, 0.456, 0.406)  # ImageNet's
IMAGE_STD = (0.229, 0.224, 0.225)


class TinyViT(nn.Module):
    """The encoder without the neck that serves segmentation.

    It maps float images of shape (n, 3, height, width), standardised by
    `IMAGE_MEAN` and `IMAGE_STD`, to a map of shape (n, 320, height / 16,
    width / 16). Height and width are multiples of 16.
    """

    def __init__(self):
        super().__init__()
        self.patch_embed = PatchEmbedding(WIDTHS[0])
        self.layers = nn.ModuleList([ConvStage(), *map(AttentionStage, (1, 2, 3))])

    def forward(self, images):
        x = self.patch_embed(images.contiguous(memory_format=torch.channels_last))
        for layer in self.layers:
            x = layer(x)
        return x


class NormedConv(nn.Sequential):
    """A convolution and a batch normalisation."""

    def __init__(self, n_in, n_out, size=1, *, stride=1, groups=1):
        super().__init__()
        conv = nn.Conv2d(
            n_in, n_out, size, stride, size // 2, groups=groups, bias=False
        )
        self.add_module("c", conv)
        self.add_module("bn", nn.BatchNorm2d(n_out))


class PatchEmbedding(nn.Module):
    """A map of patches of 4 × 4 pixels."""

    def __init__(self, width):
        super().__init__()
        self.seq = nn.Sequential(
            NormedConv(3, width // 2, 3, stride=2),
            nn.GELU(),
            NormedConv(width // 2, width, 3, stride=2),
        )

    def forward(self, images):
        return self.seq(images)


class ConvBlock(nn.Module):
    """An inverted residual."""

    def __init__(self, width):
        super().__init__()
        self.conv1 = NormedConv(width, 4 * width)
        self.conv2 = NormedConv(4 * width, 4 * width, 3, groups=4 * width)
        self.conv3 = NormedConv(4 * width, width)

    def forward(self, x):
        y = F.gelu(self.conv2(F.gelu(self.conv1(x))))
        return F.gelu(x + self.conv3(y))


class Downsampling(nn.Module):
    """From a stage's width to that of the next, on a smaller map."""

    def __init__(self, stage):
        super().__init__()
        n_in, n_out = WIDTHS[stage], WIDTHS[stage + 1]
        self.conv1 = NormedConv(n_in, n_out)
        self.conv2 = NormedConv(n_out, n_out, 3, stride=STRIDES[stage], groups=n_out)
        self.conv3 = NormedConv(n_out, n_out)

    def forward(self, x):
        return self.conv3(F.gelu(self.conv2(F.gelu(self.conv1(x)))))


class ConvStage(nn.Module):
    """The first stage."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*(ConvBlock(WIDTHS[0]) for _ in range(DEPTHS[0])))
        self.downsample = Downsampling(0)

    def forward(self, x):
        return self.downsample(self.blocks(x))


class AttentionStage(nn.Module):
    """One of the other stages."""

    def __init__(self, stage):
        super().__init__()
        blocks = (AttentionBlock(stage) for _ in range(DEPTHS[stage]))
        self.blocks = nn.Sequential(*blocks)
        is_last = stage == len(WIDTHS) - 1
        self.downsample = None if is_last else Downsampling(stage)

    def forward(self, x):
        x = self.blocks(x)
        return x if self.downsample is None else self.downsample(x)


class AttentionBlock(nn.Module):
    """Attention inside windows, a local convolution, a perceptron."""

    def __init__(self, stage):
        super().__init__()
        width = WIDTHS[stage]
        self.window = WINDOWS[stage]
        self.attn = Attention(width, N_HEADS[stage], self.window)
        self.local_conv = NormedConv(width, width, 3, groups=width)
        self.mlp = Perceptron(width)

    def forward(self, x):
        x = self.local_conv(x + self._attend(x))
        tokens = x.flatten(2).transpose(1, 2)
        return x + self.mlp(tokens).transpose(1, 2).unflatten(2, x.shape[2:])

    def _attend(self, x):
        """Cut a map into windows, padded at the right and at the bottom.

        A map that is smaller than a window is a window itself.
        """
        n, width, height, length = x.shape
        size = min(self.window, max(height, length))
        padded = F.pad(x, (0, -length % size, 0, -height % size))
        rows, columns = padded.shape[2] // size, padded.shape[3] // size
        windows = padded.view(n, width, rows, size, columns, size)
        windows = windows.permute(0, 2, 4, 3, 5, 1).reshape(-1, size * size, width)
        attended = self.attn(windows)
        attended = attended.view(n, rows, columns, size, size, width)
        attended = attended.permute(0, 5, 1, 3, 2, 4).reshape(padded.shape)
        return attended[:, :, :height, :length]


class Attention(nn.Module):
    """Attention among the places of a window, biased by how far apart they are."""

    def __init__(self, width, n_heads, window):
        super().__init__()
        self.n_heads = n_heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.attention_biases = nn.Parameter(torch.zeros(n_heads, window**2))
        self.register_buffer("distances", distances(window), persistent=False)

    def forward(self, x):
        n, length, width = x.shape
        # Each head has its query, key and value side by side.
        parts = self.qkv(self.norm(x)).view(n, length, self.n_heads, -1)
        query, key, value = parts.transpose(1, 2).chunk(3, dim=3)
        biases = self.attention_biases[:, self._distances(math.isqrt(length))]
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=biases)
        return self.proj(attended.transpose(1, 2).reshape(n, length, width))

    def _distances(self, size):
        """Return the distances in a window, or in its corner of another size."""
        window = math.isqrt(len(self.distances))
        if size == window:
            return self.distances
        corner = self.distances.view(window, window, window, window)
        return corner[:size, :size, :size, :size].reshape(size**2, size**2)


class Perceptron(nn.Module):
    """Two layers, with four times the width between them."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(self.norm(x))))


def distances(window):
    """Number the distances between the places of a window, (window², window²).

    Places are counted along the rows. Pairs as far apart, downwards and sideways, have
    the same number, which counts distances in the order of the first row.
    """
    place = torch.arange(window)
    apart = (place[:, None] - place).abs()
    down, sideways = apart[:, None, :, None], apart[None, :, None, :]
    return (down * window + sideways).reshape(window**2, window**2)


def load_tinyvit(path):
    """Return the network with the weights of MobileSAM's file, ready to embed.

    Of the file's image encoder, the neck and the classifier are left out; everything
    else has to fit.
    """
    weights = torch.load(path, map_location="cpu", weights_only=True)
    prefix = "image_encoder."
    unused = tuple(prefix + part for part in ("neck.", "head.", "norm_head."))
    backbone = {
        name.removeprefix(prefix): value
        for name, value in weights.items()
        if name.startswith(prefix) and not name.startswith(unused)
    }
    return ready(TinyViT(), backbone)
