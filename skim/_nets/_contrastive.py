"""An encoder trained to recognise corrupted views of the same row."""

import torch
from torch.nn import functional

from skim._nets._memory import Layout
from skim._nets._run import Adam, NonFiniteLossError

LAYERS = ("hidden_1", "hidden_2", "code")
EXACT = "donot_use_mm_for_euclid_dist"  # the distance of equal rows is exactly 0
TINY = 1e-6
CHUNK_SIZE = 512  # rows encoded at once, a multiple of the vector width


class Views:
    """An endless source of batches of corrupted views.

    Parameters
    ----------
    X : Tensor of shape (n, p)
    batch_size : int
        Limited to the number of rows.
    n_candidates : int
        Replacement values come from the nearest of this many other rows of the batch.
    corruption : float
        Fraction of the values that are replaced.
    generator : torch.Generator
    """

    def __init__(self, X, batch_size, n_candidates, corruption, generator):
        self.X = X
        self.size = min(batch_size, len(X))
        self.n_candidates = n_candidates
        self.corruption = corruption
        self.generator = generator

    def draw(self):
        """Return two views of B rows, each (B, p), and their distances, (B, B)."""
        rows = self.X
        if len(rows) > self.size:
            rows = rows[self._integers(0, len(rows), self.size)]
        distances = torch.cdist(rows, rows, compute_mode=EXACT)
        return self._corrupt(rows, distances), self._corrupt(rows, distances), distances

    def _corrupt(self, rows, distances):
        """Replace some values of each row by those of a nearby row."""
        steps = self._integers(1, self.size, self.size, self.n_candidates)
        places = torch.arange(self.size, device=rows.device).unsqueeze(1)
        candidates = (places + steps) % self.size
        closest = distances.gather(1, candidates).argmin(dim=1, keepdim=True)
        donors = rows[candidates.gather(1, closest).squeeze(1)]
        drawn = torch.rand(
            rows.shape, generator=self.generator, dtype=rows.dtype, device=rows.device
        )
        return torch.where(drawn < self.corruption, donors, rows)

    def _integers(self, low, high, *shape):
        generator = self.generator
        return torch.randint(
            low, high, shape, generator=generator, device=generator.device
        )


def contrast(first, second, distances, *, far, temperature):
    """Return the InfoNCE loss of pairs of views, by cosine similarity.

    Parameters
    ----------
    first, second : Tensor of shape (B, d)
        Codes of the two views of each row.
    distances : Tensor of shape (B, B)
        Distances between the rows.
    far : float
        Fraction of the batch that a row is contrasted with: the furthest rows.
    temperature : float
    """
    n_rows = len(distances)
    rank = n_rows - max(round(far * n_rows), 1) + 1
    reach = distances.kthvalue(rank, dim=1, keepdim=True).values
    close = distances < reach
    close.fill_diagonal_(False)
    first, second = (
        functional.normalize(each, dim=1, eps=TINY) for each in (first, second)
    )
    similarity = first @ second.T / temperature
    own = torch.arange(n_rows, device=distances.device)
    losses = [
        functional.cross_entropy(each.masked_fill(close, -torch.inf), own)
        for each in (similarity, similarity.T)
    ]
    return (losses[0] + losses[1]) / 2


def train_encoder(
    X,
    *,
    n_components,
    hidden_units,
    n_updates,
    batch_size,
    corruption,
    n_candidates,
    far,
    temperature,
    learning_rate,
    generator,
    on_update=None,
):
    """Train an encoder on views of rows.

    Parameters
    ----------
    X : Tensor of shape (n, p)
        At least two rows.
    n_components, hidden_units, n_updates, batch_size, n_candidates : int
    corruption, far, temperature, learning_rate : float
    generator : torch.Generator
        The only source of randomness.
    on_update : callable, default=None
        Called after each update with the number of updates so far.

    Returns
    -------
    layers : list of tuple of two ndarrays
        Weights, of shape (fan_out, fan_in), and biases of the encoder.
    losses : list of float
        One per update.
    """
    with torch.enable_grad():
        layout = _layout(X.shape[1], hidden_units, n_components)
        weights = _initial_weights(layout, generator).requires_grad_()
        optimiser = Adam(weights, learning_rate=learning_rate)
        views = Views(X, batch_size, n_candidates, corruption, generator)
        losses = []
        for update in range(n_updates):
            first, second, distances = views.draw()
            parts = layout.views(weights)
            codes = _codes(parts, torch.cat([first, second]))
            first, second = codes.split(views.size)
            loss = contrast(first, second, distances, far=far, temperature=temperature)
            (grad,) = torch.autograd.grad(loss, weights)
            with torch.no_grad():
                optimiser.step(grad)
            losses.append(loss.item())
            if on_update is not None:
                on_update(update + 1)
        if not (
            torch.isfinite(torch.tensor(losses)).all() and weights.isfinite().all()
        ):
            raise NonFiniteLossError
        parts = layout.views(weights.detach().cpu())
    layers = [
        (parts[name][0].numpy().copy(), parts[f"{name}_bias"][0].numpy().copy())
        for name in LAYERS
    ]
    return layers, losses


def encode(X, layers):
    """Yield the codes of rows, of shape (b, d), chunk by chunk.

    All chunks have the same size, so a row's code does not depend on the other rows.
    """
    for start in range(0, len(X), CHUNK_SIZE):
        rows = X[start : start + CHUNK_SIZE]
        x = torch.nn.functional.pad(rows, (0, 0, 0, CHUNK_SIZE - len(rows)))
        x = x.T.contiguous()
        for place, (weight, bias) in enumerate(layers):
            x = torch.relu(x) if place else x
            x = torch.addmm(bias.unsqueeze(1), weight, x)
        yield x.T[: len(rows)].cpu().numpy()


def _layout(n_features, hidden_units, n_components):
    sizes = [n_features, hidden_units, hidden_units, n_components]
    shapes: dict[str, tuple[int, ...]] = {}
    for name, fan_in, fan_out in zip(LAYERS, sizes[:-1], sizes[1:], strict=True):
        shapes[name] = (fan_out, fan_in)
        shapes[f"{name}_bias"] = (fan_out,)
    return Layout(shapes)


def _initial_weights(layout, generator):
    """Draw normal weights that preserve the variance; biases are 0."""
    block = torch.zeros(1, layout.size, dtype=torch.float32, device=generator.device)
    for name, view in layout.views(block).items():
        if not name.endswith("_bias"):
            view.normal_(0.0, (2 / view.shape[2]) ** 0.5, generator=generator)
    return block


def _codes(parts, x):
    """Return the codes, (B, d), of rows, (B, p)."""
    for place, name in enumerate(LAYERS):
        x = torch.relu(x) if place else x
        x = functional.linear(x, parts[name][0], parts[f"{name}_bias"][0])
    return x
