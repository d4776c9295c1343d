"""Where stacked networks live: devices, threads, parameter blocks, scratch memory."""

import contextlib
import functools
import math
import threading

import torch
from threadpoolctl import ThreadpoolController

# Naming the overload saves torch a lookup that takes longer than most of the calls.
leaky_relu = torch.ops.aten.leaky_relu.out
leaky_relu_backward = torch.ops.aten.leaky_relu_backward.grad_input
hardtanh_backward = torch.ops.aten.hardtanh_backward.grad_input
sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward.grad_input

_lock = threading.Lock()
_n_threads_inside = 0
_outside: tuple = ()  # what torch and BLAS had before
_local = threading.local()
_blas = functools.cache(ThreadpoolController)  # once numpy and scipy are loaded

# For code that may use gradients, inside `compute`.
outside_compute = functools.partial(torch.inference_mode, False)


@contextlib.contextmanager
def compute(n_threads=1):
    """Run without gradients, torch on `n_threads` threads and BLAS on one.

    More than one thread can be slow for small operations, and very slow where the
    processors are busy: the threads that are done wait for the others without sleeping.

    The context can be entered by several threads at once, and more than once by the
    same thread. The last one to leave restores what was set before the first came.
    """
    global _n_threads_inside, _outside
    depth = getattr(_local, "depth", 0)
    with _lock:
        before = torch.get_num_threads()
        if _n_threads_inside == 0:
            _outside = before, _blas().limit(limits=1, user_api="blas")
        _n_threads_inside += depth == 0
        torch.set_num_threads(n_threads)
    _local.depth = depth + 1
    try:
        with torch.inference_mode():
            yield
    finally:
        _local.depth = depth
        with _lock:
            _n_threads_inside -= depth == 0
            torch.set_num_threads(before if depth else _outside[0])
            if _n_threads_inside == 0:
                _outside[1].restore_original_limits()


def resolve_device(device, *, or_cpu=False):
    """Return the name of a device; with `or_cpu`, of the CPU if it is missing."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return str(torch.Generator(torch.empty(1, device=device).device).device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        if or_cpu:
            return "cpu"
        raise ValueError(
            f"device={device!r} is not available here; use 'cpu' or 'auto'."
        ) from error


device_or_cpu = functools.partial(resolve_device, or_cpu=True)


def as_tensor(array, device):
    """Return the tensor of an array on a device, without a copy if that is possible."""
    if array is None:
        return None
    # torch warns of arrays that it could write to but must not, as in a memory map.
    array = array if array.flags.writeable else array.copy()
    return torch.from_numpy(array).to(device)


def seeded_generator(seed, device):
    """Return a source of random numbers that leaves torch's own alone."""
    return torch.Generator(device).manual_seed(seed)


def filled(x, fill, has_gaps=None):
    """Fill the gaps of rows; return the rows, and where the gaps were if any."""
    if not (x.isnan().any() if has_gaps is None else has_gaps):
        return x, None
    missing = x.isnan()
    return x.where(~missing, as_tensor(fill, x.device).unsqueeze(1)), missing


def fill_terms(terms, missing, gaps):
    """Set what missing cells add to the loss, in place.

    Nothing, or the mean over the other rows, of the same member and feature. Both
    tensors are of shape (M, p, K, B), but K is 1 in `missing`.
    """
    terms.masked_fill_(missing, 0.0)
    if gaps == "mean":
        n_known = (~missing).sum((2, 3), keepdim=True).clamp_(min=1)
        total = terms.sum((2, 3), keepdim=True)
        terms.add_(total.div_(n_known * terms.shape[2]) * missing)


class Layout(dict):
    """Maps the name of each array of a member to its shape.

    The parameters of ``M`` members are one ``(M, size)`` tensor, with the arrays in the
    order of this dict. The layers see views of it, everything else the whole.
    """

    @property
    def size(self):
        """Number of parameters of one member."""
        return sum(map(math.prod, self.values()))

    def views(self, block):
        """Split a ``(M, size)`` tensor into ``(M, *shape)`` views by name."""
        parts = block.split([math.prod(shape) for shape in self.values()], dim=1)
        return {
            name: part.view(len(part), *shape)
            for (name, shape), part in zip(self.items(), parts, strict=True)
        }

    def draw(self, n_members, generator):
        """Draw initial weights as torch does, uniform in ±1/sqrt(fan-in)."""
        block = torch.empty(
            n_members, self.size, dtype=torch.float32, device=generator.device
        )
        block.uniform_(-1.0, 1.0, generator=generator)
        for name, view in self.views(block).items():
            fan_in = self[name.removesuffix("_bias")][1]
            view.mul_(fan_in**-0.5)
        return block


def linear(views, name, inputs):
    """Apply a layer, whose bias belongs to the last of its outputs."""
    out = torch.bmm(views[name], inputs)
    if f"{name}_bias" not in views:
        return out
    bias = views[f"{name}_bias"]
    padding = out.shape[1] - bias.shape[1]
    return out + torch.nn.functional.pad(bias, (0, 0, padding, 0))


class Workspace:
    """Scratch memory, handed out by name and reused in the next step.

    The operating system hands out a fresh tensor of more than a few hundred kilobytes
    page by page, which costs several times the arithmetic done in it.
    """

    def __init__(self, device="cpu"):
        self.device = device
        self._buffers = {}
        self._views = {}  # because making one takes a while

    def take(self, name, *shape):
        """Return an uninitialised contiguous float32 tensor of `shape`."""
        view = self._views.get((name, shape))
        if view is not None:
            return view
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.numel() < size:
            buffer = torch.empty(size, dtype=torch.float32, device=self.device)
            self._buffers[name] = buffer
            # Views of the smaller buffer would keep it alive.
            self._views = {key: v for key, v in self._views.items() if key[0] != name}
        view = self._views[name, shape] = buffer[:size].view(shape)
        return view
