from itertools import pairwise

import dask
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from skim import IMAutoencoderDetector
from skim.tables import TableEncoder

N = 300


@pytest.fixture(autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="session")
def numbers():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 4)) @ rng.normal(size=(4, 4))


@pytest.fixture(scope="session")
def orders():
    """Orders of which one has a rare country, and one an absurd price."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "price": rng.normal(50, 5, N).round(2),
            "weight": rng.normal(3, 0.2, N).round(3),
            "country": rng.choice(["DE", "FR"], N),
            "zip": [f"{i:05d}" for i in rng.choice([1067, 10115, 80331], N)],
        }
    )
    table.loc[N - 1, "country"] = "XX"
    table.loc[N - 2, "price"] = 1e7
    return table


def cut(table, n_parts=5):
    """Parts of different lengths."""
    ends = np.linspace(0, 1, n_parts + 1) ** 1.3 * len(table)
    ends = ends.round().astype(int)
    return [table[start:end] for start, end in pairwise(ends)]


def detector(**params):
    return IMAutoencoderDetector(**({"epochs": 5, "random_state": 0} | params))


def pipeline(**params):
    return make_pipeline(TableEncoder(), detector(**params))
