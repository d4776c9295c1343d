"""A few to stand for many."""

import numpy as np


def evenly_spaced(n, max_places):
    """Return at most so many of `n` places, from the first to the last."""
    return np.linspace(0, n - 1, min(n, max_places)).round().astype(np.intp)
