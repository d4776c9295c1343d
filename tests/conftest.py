import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from skim import (
    ALTBIDetector,
    IMAutoencoderDetector,
    NetworkDetector,
    ODIMDetector,
)
from skim.schedules import ALTBISchedule, ODIMSchedule

# Small enough to be fast, long enough to use every part of a run: ALTBI's
# criterion is evaluated from epoch 4 on, and patience can end the run.
SHORT = {"epochs": 5, "n_estimators": 2, "random_state": 0}
LONG = SHORT | {
    "epochs": 14,
    "schedule": ALTBISchedule(n_snapshots=3, min_epochs=4, patience=1.3),
}
QUICK = {
    "altbi": ALTBIDetector(**LONG),
    "odim": ODIMDetector(**SHORT, schedule=ODIMSchedule(patience_updates=20)),
    "autoencoder": IMAutoencoderDetector(**SHORT),
    "network": NetworkDetector("autoencoder", **LONG),
}


@pytest.fixture(params=QUICK)
def quick(request):
    """Makes a quick detector of each kind."""

    def make(**params):
        return clone(QUICK[request.param]).set_params(**params)

    return make


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
