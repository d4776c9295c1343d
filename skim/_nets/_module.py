"""Any torch module as a stack of networks.

The parameters and buffers of the members are kept in blocks with a leading member axis,
like those of the other networks, and `torch.func.vmap` runs the module over that axis.
Torch finds the gradients.
"""

import contextlib
import copy
import threading

import numpy as np
import torch
from torch.func import functional_call, grad, vmap

from skim._nets._memory import Layout, as_tensor, fill_terms, filled, outside_compute

_lock = threading.RLock()

N_GRADIENTS = 8  # between an ordinary row and a row to explain


class ModuleShape:
    """What the weights of a member look like, and how a fixed member scores."""

    def __init__(self, network, n_features, fill=None):
        self.network = network
        self.n_features = n_features
        self.fill = fill
        self.template = _Methods(self._make(torch.Generator().manual_seed(0)))
        self._local = threading.local()
        self.has_feature_losses = hasattr(self.template.module, "feature_losses")
        trained, fixed = _parts(self.template)
        self.weights = Layout({name: tuple(t.shape) for name, t in trained.items()})
        self.statistics = Layout({name: tuple(t.shape) for name, t in fixed.items()})
        self._dtypes = {name: tensor.dtype for name, tensor in fixed.items()}
        matrices = (shape for shape in self.weights.values() if len(shape) > 1)
        self.widest = max([n_features, *(max(shape) for shape in matrices)])

    def _make(self, generator):
        """Make one module, initialised by random numbers of a generator on the CPU."""
        module, dtype = None, torch.get_default_dtype()
        with own_random_numbers(generator):
            torch.set_default_dtype(torch.float32)
            try:
                if not isinstance(self.network, torch.nn.Module):
                    module = self.network(self.n_features)
            finally:
                torch.set_default_dtype(dtype)
        if not isinstance(module, torch.nn.Module):
            raise TypeError(
                "network must be a callable that makes a torch.nn.Module for a number "
                "of features, such as its class: every member is a new module."
            )
        return module.float()

    def check(self):
        """Raise unless the module returns one loss per row."""
        rows = torch.full((3, self.n_features), 0.5, dtype=torch.float32)
        losses = self.template.module.eval()(rows)
        if not torch.is_tensor(losses) or losses.shape != (3,):
            raise ValueError(
                "The `forward` of the network must return one loss per row, a tensor "
                "of shape (n_rows,)."
            )

    def draw_weights(self, n_members, generator):
        """Make the members; keep their buffers for `stack`, return their weights."""
        device = generator.device
        seed = torch.randint(2**31, (1,), generator=generator, device=device)
        own = torch.Generator().manual_seed(int(seed))
        made = [_parts(_Methods(self._make(own))) for _ in range(n_members)]
        trained, fixed = zip(*made, strict=True)
        self._first_statistics = _stacked(fixed).to(device)
        return _stacked(trained).to(device)

    def stack(self, weights, generator):
        return StackedModules(self, weights, self._first_statistics.clone(), generator)

    def draw_noise(self, n_members, generator):
        return None  # nothing about the scores is random

    def fold(self, weights, statistics, noise=None):
        """Split the state of members into arrays by name, in their own types."""
        with outside_compute():  # else torch could not find gradients of features
            return self.arrays(weights.clone(), statistics.clone())

    def arrays(self, weights, statistics):
        fixed = {
            name: view.to(self._dtypes[name], copy=True)
            for name, view in self.statistics.views(statistics).items()
        }
        return self.weights.views(weights) | fixed

    def call(self, arrays, x, method="__call__", *, training=False):
        """Call a method of each member with its rows."""
        template = self._own_template().train(training)

        def one(arrays, rows):
            out = functional_call(template, arrays, (method, rows))
            return out, {name: arrays[name] for name in self.statistics}

        return vmap(one, randomness="different")(arrays, x.transpose(1, 2))

    def _own_template(self):
        """Return the template of this thread: a call puts the arrays into it."""
        if not hasattr(self._local, "template"):
            self._local.template = copy.deepcopy(self.template)
        return self._local.template

    def losses(self, folded, x, workspace=None, *, terms=False, gaps="nothing"):
        with outside_compute(), torch.no_grad():
            n_members = len(next(iter(folded.values())))
            x, missing = filled(x, self.fill)
            x = x.expand(n_members, -1, -1)
            losses, _ = self.call(folded, x)
            if missing is None and not terms:
                return losses
            if not self.has_feature_losses:
                # Missing cells hold what is typical, and so add nothing.
                return (losses, self._integrated(folded, x)) if terms else losses
            per_feature = self.feature_losses(folded, x)
            if missing is not None:
                total = per_feature.sum(1)
                missing = missing.expand(n_members, -1, -1).unsqueeze(2)
                fill_terms(per_feature.unsqueeze(2), missing, gaps)
                losses = losses + (per_feature.sum(1) - total)
            return (losses, per_feature) if terms else losses

    def feature_losses(self, arrays, x, *, training=False):
        """What each feature adds to the losses, (M, p, C), by the module itself."""
        terms, _ = self.call(arrays, x, "feature_losses", training=training)
        return terms.transpose(1, 2).contiguous()

    def _integrated(self, folded, x):
        """What each feature adds to the losses, (M, p, C), by integrated gradients.

        They add up to the difference from the loss of a row of ordinary cells.
        """
        ordinary = as_tensor(self.fill, x.device).unsqueeze(1)
        mean = torch.zeros_like(x)
        nodes = np.polynomial.legendre.leggauss(N_GRADIENTS)
        for node, weight in zip(*nodes, strict=True):
            at = torch.lerp(ordinary, x, (1 + node) / 2).requires_grad_()
            with torch.enable_grad():
                losses, _ = self.call(folded, at)
            gradients = torch.autograd.grad(losses, at, torch.ones_like(losses))
            mean += weight / 2 * gradients[0]
        return mean * (x - ordinary)

    def gradient_products(self, weights, statistics, x):
        """Inner products, (M, C, C), of the gradients of rows `x`, (p, C)."""
        template = self._own_template().eval()

        def loss(weights, fixed, row):
            state = weights, fixed
            return functional_call(template, state, ("__call__", row[None]))[0]

        fixed = self.fold(weights, statistics)
        weights = {name: fixed.pop(name) for name in self.weights}
        with outside_compute():
            rows = filled(x, self.fill)[0].T.clone()
            by_row = vmap(vmap(grad(loss), (None, None, 0)), (0, 0, None))
            gradients = by_row(weights, fixed, rows).values()
            flat = torch.cat([part.flatten(2) for part in gradients], 2)
            return flat @ flat.mT


class StackedModules:
    """Members of a module in training."""

    def __init__(self, shape, weights, statistics, generator):
        self.shape = shape
        self.weights = weights
        self.statistics = statistics
        self.generator = generator
        self.has_gaps = False  # whether batches may have missing cells

    def forward(self, x):
        """Losses of a batch of shape (M, p, B), in training mode, and a cache."""
        shape = self.shape
        with outside_compute(), torch.enable_grad():
            x, missing = filled(x.clone(), shape.fill, self.has_gaps)
            weights = self.weights.clone().requires_grad_()
            arrays = shape.arrays(weights, self.statistics.clone())
            before = self.generator.get_state()
            with own_random_numbers(self.generator):
                losses, fixed = shape.call(arrays, x, training=True)
            if missing is not None and shape.has_feature_losses:
                # The same terms again, of the same random numbers.
                arrays |= shape.arrays(weights, self.statistics.clone())
                again = torch.Generator(self.generator.device)
                with own_random_numbers(again.set_state(before)):
                    terms = shape.feature_losses(arrays, x, training=True)
                known = terms.detach().clone().unsqueeze(2)
                fill_terms(known, missing.unsqueeze(2), "mean")
                change = known.squeeze(2) - terms
                losses = losses + (change * missing).sum(1)
        if fixed:
            parts = [part.float().reshape(len(part), -1) for part in fixed.values()]
            self.statistics.copy_(torch.cat(parts, 1))
        return losses.detach(), (losses, weights)

    def backward(self, cache, row_weights, grad):
        losses, weights = cache
        with outside_compute():
            found = torch.autograd.grad(losses, weights, row_weights.clone())[0]
        grad.copy_(found)


@contextlib.contextmanager
def own_random_numbers(generator):
    """Let torch's global source of random numbers continue that of a generator.

    Afterwards the generator has moved on, and the global source is as it was.
    """
    device = generator.device
    if device.type == "cpu":
        shared = torch.default_generator
    else:
        module = torch.get_device_module(device)
        shared = module.default_generators[device.index or 0]
    with _lock:
        before = shared.get_state()
        shared.set_state(generator.get_state())
        try:
            yield
        finally:
            generator.set_state(shared.get_state())
            shared.set_state(before)


class _Methods(torch.nn.Module):
    """Lets `functional_call` call any method of a module."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, method, x):
        return getattr(self.module, method)(x)


def _parts(module):
    """Return the trained parameters of a module by name, and the rest of its state."""
    parameters = dict(module.named_parameters())
    trained = {name: p for name, p in parameters.items() if p.requires_grad}
    fixed = {name: p for name, p in parameters.items() if not p.requires_grad}
    return trained, fixed | dict(module.named_buffers())


def _stacked(members):
    """Return one block, (M, size), of the tensors of each member."""
    none = torch.empty(0, dtype=torch.float32)
    flat = [[part.detach().flatten().float() for part in m.values()] for m in members]
    return torch.stack([torch.cat([none, *parts]) for parts in flat])
