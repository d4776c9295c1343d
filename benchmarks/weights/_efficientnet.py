"""EfficientNet-lite0 without its classifier: an image becomes 1,280 numbers."""

import torch
from torch import nn
from torch.nn import functional as F

# Blocks in a row, size of the depthwise kernel, stride of the first, expansion,
# channels.
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
WIDTH = 1280
# As the lite networks were trained in TensorFlow, not ImageNet's mean and deviation.
IMAGE_MEAN = (127 / 255,) * 3
IMAGE_STD = (128 / 255,) * 3


class EfficientNetLite0(nn.Module):
    """The network up to the average over places.

    It maps float images of shape (n, 3, height, width), standardised by
    `IMAGE_MEAN` and `IMAGE_STD`, to an array of shape (n, 1280).
    """

    def __init__(self):
        super().__init__()
        self._conv_stem = PaddedConv(3, 32, 3, stride=2)
        self._bn0 = _norm(32)
        self._blocks = nn.ModuleList(_blocks())
        self._conv_head = PaddedConv(STAGES[-1][-1], WIDTH, 1)
        self._bn1 = _norm(WIDTH)

    def forward(self, images):
        x = images.contiguous(memory_format=torch.channels_last)
        x = F.relu6(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        return F.relu6(self._bn1(self._conv_head(x))).mean(dim=(2, 3))


class Block(nn.Module):
    """An inverted residual: widen, filter each channel by itself, narrow."""

    def __init__(self, n_in, n_out, kernel_size, stride, expansion):
        super().__init__()
        width = n_in * expansion
        self.widens = expansion > 1
        if self.widens:
            self._expand_conv = PaddedConv(n_in, width, 1)
            self._bn0 = _norm(width)
        self._depthwise_conv = PaddedConv(
            width, width, kernel_size, stride=stride, groups=width
        )
        self._bn1 = _norm(width)
        self._project_conv = PaddedConv(width, n_out, 1)
        self._bn2 = _norm(n_out)
        self.adds = stride == 1 and n_in == n_out

    def forward(self, x):
        y = x
        if self.widens:
            y = F.relu6(self._bn0(self._expand_conv(y)))
        y = F.relu6(self._bn1(self._depthwise_conv(y)))
        y = self._bn2(self._project_conv(y))
        return x + y if self.adds else y


class PaddedConv(nn.Conv2d):
    """A convolution without bias that pads as TensorFlow does.

    The output has one place for every `stride` places of the input, and where the
    padding is odd, the one more is at the right and at the bottom.
    """

    def __init__(self, n_in, n_out, kernel_size, *, stride=1, groups=1):
        super().__init__(
            n_in, n_out, kernel_size, stride=stride, groups=groups, bias=False
        )

    def forward(self, x):
        stride, size = self.stride[0], self.kernel_size[0]
        padding = []
        for length in (x.shape[3], x.shape[2]):
            n_places = -(-length // stride)
            total = max((n_places - 1) * stride + size - length, 0)
            padding += [total // 2, total - total // 2]
        return super().forward(F.pad(x, padding) if any(padding) else x)


def _blocks():
    n_in = 32
    for n_blocks, kernel_size, stride, expansion, n_out in STAGES:
        for place in range(n_blocks):
            yield Block(n_in, n_out, kernel_size, 1 if place else stride, expansion)
            n_in = n_out


def _norm(width):
    return nn.BatchNorm2d(width, eps=1e-3)


def load_efficientnet(path):
    """Return the network with the weights of a file, ready to embed.

    The file's classifier (`_fc`) is left out; everything else has to fit.
    """
    weights = torch.load(path, map_location="cpu", weights_only=True)
    backbone = {k: v for k, v in weights.items() if not k.startswith("_fc.")}
    return ready(EfficientNetLite0(), backbone)


def ready(network, weights):
    """Return a network with weights that have to fit, ready to embed."""
    network.load_state_dict(weights, strict=True)
    network = network.to(memory_format=torch.channels_last)  # is faster
    return network.eval().requires_grad_(False)
