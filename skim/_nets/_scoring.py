"""Losses of rows under kept snapshots."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from skim._nets._memory import Workspace, as_tensor, device_or_cpu

# Rows per chunk are chosen so that a layer of all members stays in the cache.
CHUNK_ELEMENTS = 2**18
MIN_CHUNKS_PER_THREAD = 4


def snapshot_losses(
    shape,
    weights,
    statistics,
    noise,
    rows,
    *,
    device="cpu",
    member_weights=None,
    n_threads=1,
):
    """Yield the losses of rows, (M, n), under each snapshot in turn.

    With weights of the members, what inputs add to the losses, (n, p), comes along.
    Rows pass in chunks of a fixed size, the last one padded, which keeps the arithmetic
    of a row the same wherever it stands and however many rows come with it.
    """
    device = device if device == "cpu" else device_or_cpu(device)
    noise = as_tensor(noise, device)
    n_members, n_samples = weights.shape[1], 1 if noise is None else noise.shape[2]
    size = CHUNK_ELEMENTS // (n_members * n_samples * shape.widest)
    size = max(64, min(2048, size // 64 * 64))  # whole vector registers
    rows = rows if torch.is_tensor(rows) else as_tensor(rows, device)
    padded = torch.nn.functional.pad(rows, (0, 0, 0, -len(rows) % size))
    chunks = padded.unflatten(0, (-1, size)).transpose(1, 2).contiguous()
    n_threads = max(1, min(n_threads, len(chunks) // MIN_CHUNKS_PER_THREAD))
    spans = chunks.tensor_split(n_threads)
    workspaces = [Workspace(device) for _ in spans]

    @torch.inference_mode()  # which each thread has to enter
    def losses_of(span, workspace):
        parts = []
        for x in span:
            found = shape.losses(folded, x, workspace, terms=share is not None)
            if share is not None:
                losses, terms = found
                found = torch.cat([losses, torch.tensordot(share, terms, dims=1)])
            parts.append(found)
        return torch.cat(parts, dim=1)

    with ThreadPoolExecutor(n_threads) as executor:
        in_turn = map if n_threads == 1 else executor.map
        for s in range(len(weights)):
            state = (as_tensor(part[s], device) for part in (weights, statistics))
            folded = shape.fold(*state, noise)
            share = None
            if member_weights is not None:
                share = as_tensor(member_weights[s], device)
            parts = list(in_turn(losses_of, spans, workspaces))
            found = torch.cat(parts, dim=1)[:, : len(rows)].cpu().numpy()
            found = found.astype(np.float64)
            yield found[:n_members], None if share is None else found[n_members:].T
