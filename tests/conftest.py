import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from skim import ALTBIDetector, IMAutoencoderDetector, NetworkDetector, ODIMDetector
from skim.networks import AutoencoderConfig, VAEConfig
from skim.schedules import ALTBISchedule, BestEpochSchedule, ODIMSchedule

# Small enough to be fast, long enough to use every part of a run: ALTBI's
# criterion is evaluated from epoch 4 on, and patience can end the run.
SHORT = ALTBISchedule(n_snapshots=3, min_epochs=4, patience=1.3)


SMALL = {"n_estimators": 2, "random_state": 0}
QUICK = {
    "altbi": ALTBIDetector(epochs=14, network=VAEConfig(), schedule=SHORT, **SMALL),
    "odim": ODIMDetector(
        epochs=5,
        network=VAEConfig(),
        schedule=ODIMSchedule(patience_updates=20),
        **SMALL,
    ),
    "autoencoder": IMAutoencoderDetector(
        epochs=5, network=AutoencoderConfig(), schedule=BestEpochSchedule(), **SMALL
    ),
    "network": NetworkDetector("autoencoder", epochs=14, schedule=SHORT, **SMALL),
}


def make_quick(kind, **params):
    """Make a quick detector; parts of it have parameters as in `schedule__patience`."""
    if "scaling" in params and kind != "network":
        params["network__scaling"] = params.pop("scaling")
    return clone(QUICK[kind]).set_params(**params)


@pytest.fixture(scope="session", params=["altbi", "autoencoder", "network"])
def kind(request):
    """The name of a kind of detector; ODIM shares its parts with the first two."""
    return request.param


@pytest.fixture
def quick(kind):
    """Makes a quick detector of each kind."""
    return lambda **params: make_quick(kind, **params)


@pytest.fixture(scope="session")
def fitted(kind, table):
    """A quick detector of each kind, fitted to the table; not to be changed."""
    return make_quick(kind, store_snapshots=True).fit(table)


@pytest.fixture(scope="session")
def table():
    """A cluster of 300 rows with 15 far away, which come last."""
    rng = np.random.default_rng(0)
    inliers = rng.normal(size=(285, 6)) @ rng.normal(size=(6, 6))
    outliers = rng.uniform(-12, 12, size=(15, 6))
    return np.r_[inliers, outliers]


@pytest.fixture(scope="session")
def is_outlier():
    return np.arange(300) >= 285


@pytest.fixture(scope="session")
def adbench():
    """The folder of ADBench's data."""
    home = os.environ.get("SKIM_DATA_HOME")
    if home is None or not (Path(home) / "Classical").is_dir():
        pytest.skip("SKIM_DATA_HOME does not name a folder with ADBench's data")
    return Path(home)
