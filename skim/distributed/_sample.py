"""A uniform sample of the rows of a table that is seen part by part."""

import numpy as np

from skim._utils import import_pandas


def draw(part, number, seed, n_rows):
    """Draw at most `n_rows` rows of a part: those with the smallest random keys.

    They are indexed by their keys, the number of the part and their places there.
    """
    pd = import_pandas()
    keys = np.random.default_rng((seed, number)).random(len(part))
    index = pd.MultiIndex.from_arrays(
        [keys, np.full(len(part), number), np.arange(len(part))]
    )
    return merge([pd.DataFrame(part).set_axis(index)], n_rows)


def merge(samples, n_rows):
    """Merge samples into one of at most `n_rows` rows, the same in whatever order."""
    filled = [sample for sample in samples if len(sample)] or samples[:1]
    rows = import_pandas().concat(filled)
    if len(rows) > n_rows:
        keys = rows.index.get_level_values(0)
        rows = rows.iloc[np.argpartition(keys, n_rows)[:n_rows]]
    return rows


def in_order(sample):
    """Return the rows of a sample as they follow each other in the table."""
    return sample.droplevel(0).sort_index().reset_index(drop=True)
