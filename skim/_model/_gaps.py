"""What missing cells add to the loss of a row: what is usual in their column."""

import numpy as np


def fill_gaps(losses, missing, typical, rest, n_features):
    """Make the losses of rows with gaps comparable with those of complete rows.

    A missing cell adds to the loss what its column adds in an ordinary row. The sum of
    fewer terms varies less, so its difference from the loss of an ordinary row is
    scaled up to vary as much as that of a complete row.
    """
    ordinary = typical.sum() + rest
    filled = losses + np.where(missing, typical, 0.0).sum(axis=1)
    scaled = ordinary + (filled - ordinary) * gap_factor(missing, n_features)
    return np.where(missing.any(axis=1), scaled, losses)


def gap_factor(missing, n_features):
    """Return the factor by which the excess of rows with gaps is scaled up.

    It is 0 for rows without any value, which are ordinary as far as one can tell.
    """
    n_known = n_features - missing.sum(axis=1)
    factor = np.sqrt(n_features / np.maximum(n_known, 1))
    return np.where(n_known > 0, factor, 0.0)
