"""Buffers that outlive one training step.

A fresh tensor of more than a few hundred kilobytes is handed out by the
operating system page by page, which costs several times the arithmetic done in
it. Reusing the same memory in every step avoids that.
"""

import math

import torch

MAX_VIEWS = 256  # kept, as it takes a while to make one


class Workspace:
    """Scratch memory, handed out by name and kept for the next step."""

    def __init__(self, dtype=torch.float32, device="cpu"):
        self.dtype = dtype
        self.device = device
        self._buffers = {}
        self._views = {}

    def take(self, name, *shape):
        """Return an uninitialised contiguous tensor of `shape`."""
        view = self._views.get((name, shape))
        if view is None:
            if len(self._views) == MAX_VIEWS:
                self._views.clear()
            view = self._views[name, shape] = self._new_view(name, shape)
        return view

    def _new_view(self, name, shape):
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.numel() < size:
            buffer = torch.empty(size, dtype=self.dtype, device=self.device)
            self._buffers[name] = buffer
            # Views of the smaller buffer would keep it alive.
            self._views = {key: v for key, v in self._views.items() if key[0] != name}
        return buffer[:size].view(shape)
