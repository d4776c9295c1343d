import os
from pathlib import Path

import numpy as np
import pytest

from skim import (
    ALTBIDetector,
    IMAutoencoderDetector,
    NetworkDetector,
    ODIMDetector,
)

# Small enough to be fast, long enough to use every part of a run: ALTBI's
# criterion is evaluated from epoch 4 on, and patience can end the run.
QUICK = {
    "altbi": (
        ALTBIDetector,
        {
            "epochs": 14,
            "n_estimators": 2,
            "n_snapshots": 3,
            "min_epochs": 4,
            "patience": 1.3,
        },
    ),
    "odim": (ODIMDetector, {"epochs": 5, "n_estimators": 2, "patience_updates": 20}),
    "autoencoder": (IMAutoencoderDetector, {"epochs": 5, "n_estimators": 2}),
    "network": (
        NetworkDetector,
        {
            "network": "autoencoder",
            "epochs": 14,
            "n_estimators": 2,
            "n_snapshots": 3,
            "min_epochs": 4,
            "patience": 1.3,
        },
    ),
}


@pytest.fixture(params=QUICK)
def quick(request):
    """Makes a quick detector of each kind."""
    cls, settings = QUICK[request.param]

    def make(**params):
        return cls(**({"random_state": 0} | settings | params))

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
