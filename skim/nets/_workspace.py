"""Buffers that outlive one training step.

A fresh tensor of more than a few hundred kilobytes is handed out by the
operating system page by page, which costs several times the arithmetic done in
it. Reusing the same memory in every step avoids that.
"""

import math

import torch


class Workspace:
    """Scratch memory, handed out by name and kept for the next step."""

    def __init__(self, dtype=torch.float32, device="cpu"):
        self.dtype = dtype
        self.device = device
        self._buffers = {}

    def take(self, name, *shape):
        """Return an uninitialised contiguous tensor of `shape`."""
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.numel() < size:
            buffer = torch.empty(size, dtype=self.dtype, device=self.device)
            self._buffers[name] = buffer
        return buffer[:size].view(shape)
