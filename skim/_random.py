"""Random numbers that leave the global state alone."""

import numpy as np
from sklearn.utils import check_random_state


def own_random_state(random_state):
    """Return a RandomState; None gives a fresh one, and not the global one."""
    if random_state is None:
        random_state = np.random.SeedSequence().generate_state(1).item()
    return check_random_state(random_state)
