"""Named arrays inside one flat block per member.

Every stacked network keeps the parameters of its ``M`` members in one
``(M, P)`` tensor. The optimiser, the moving average and the snapshots see that
tensor as a whole; the layers see views of it.
"""

import math

import torch


class Layout:
    """Where each named array lies in a member's flat block.

    Parameters
    ----------
    shapes : dict of str to tuple of int
        The shape of each array of one member, in the order of the block.
    """

    def __init__(self, shapes):
        self.shapes = dict(shapes)
        self.size = sum(math.prod(shape) for shape in self.shapes.values())

    def views(self, block):
        """Split a ``(M, size)`` tensor into ``(M, *shape)`` views by name."""
        parts = block.split([math.prod(shape) for shape in self.shapes.values()], dim=1)
        return {
            name: part.unflatten(1, shape)
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }

    def uniform(self, n_members, generator):
        """Draw a block of weights, uniform in ±1/sqrt(fan-in).

        An array named like another with ``_bias`` behind it takes the other's
        fan-in. This is torch's own default for linear layers.
        """
        block = torch.empty(
            n_members, self.size, dtype=torch.float32, device=generator.device
        )
        block.uniform_(-1.0, 1.0, generator=generator)
        for name, view in self.views(block).items():
            fan_in = self.shapes[name.removesuffix("_bias")][1]
            view.mul_(fan_in**-0.5)
        return block
