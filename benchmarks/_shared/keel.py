"""Tasks made from tables of KEEL, an archive of classification data."""

import os
from pathlib import Path

from skim.datasets._adbench import data_home_of

FAMILIES = (
    "bands",
    "bupa",
    "contraceptive",
    "glass",
    "haberman",
    "kddcup",
    "led7digit",
    "letter",
    "magic",
    "mammographic",
    "marketing",
    "page-blocks",
    "penbased",
    "pima",
    "poker",
    "ring",
    "shuttle",
    "sonar",
    "spambase",
    "wdbc",
    "wine",
    "wisconsin",
    "yeast",
)


def keel_home():
    """Return the folder of the tasks: SKIM_KEEL_HOME, or beside ADBench's data."""
    home = os.environ.get("SKIM_KEEL_HOME")
    return Path(home).expanduser() if home else data_home_of(None) / "keel"


def keel_paths(home=None):
    """Return the files of the tasks in a folder, by family and task."""
    home = keel_home() if home is None else Path(home)
    found = {tuple(path.stem.split("__")): path for path in home.glob("*__*.npz")}
    return {key: found[key] for key in sorted(found) if key[0] in FAMILIES}
