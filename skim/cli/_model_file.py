"""Saving and loading models as skops files."""

import contextlib
import json
import os
import warnings
import zipfile
from importlib import import_module
from typing import Any

import pandas as pd

import skim

LABEL = "skim.json"  # archive member with the version
PACKAGES = tuple(
    f"skim.{name}."
    for name in ("_detectors", "_model", "_training", "tables", "networks", "schedules")
)


def save_model(model, path):
    """Save a fitted detector of tables."""
    import_skops().dump(model, path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(LABEL, json.dumps({"skim": skim.__version__}))


def load_model(path):
    """Load a model that was saved with this version of skim.

    Nothing in the file is executed, and nothing is loaded unless all its types
    belong to a model.
    """
    io = import_skops()
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path} does not exist.")
    try:
        with zipfile.ZipFile(path) as archive, archive.open(LABEL) as file:
            saved = str(json.loads(file.read(2**20))["skim"])
    except (OSError, zipfile.BadZipFile, KeyError, ValueError, TypeError):
        raise _not_ours(path) from None
    if saved != skim.__version__:
        raise ValueError(
            f"{path} was saved with skim {saved}, but this is skim "
            f"{skim.__version__}; fit it again, or install skim {saved}."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            types = io.get_untrusted_types(file=path)
            foreign = [name for name in types if not is_trusted(name)]
            model: Any = None if foreign else io.load(path, trusted=types)
            is_model = isinstance(model, skim.TableDetector | skim.IMBoostDetector)
            if is_model:  # and its parts fit together
                names = model.feature_names_in_
                model.score_samples(pd.DataFrame([[None] * len(names)], columns=names))
    except Exception:  # files can be damaged in endless ways
        raise ValueError(f"{path} is damaged; save the model again.") from None
    if foreign:
        raise ValueError(
            f"{path} contains types that are not part of a skim model "
            f"({', '.join(foreign[:3])}); it was not loaded."
        )
    if not is_model:
        raise _not_ours(path)
    return model


def is_trusted(name):
    """Whether a type is a class of those that models are made of."""
    module, _, own = name.rpartition(".")
    if not name.startswith(PACKAGES):
        return False
    with contextlib.suppress(ImportError):
        return isinstance(getattr(import_module(module), own, None), type)
    return False


def import_skops():
    """Return ``skops.io``, or raise with installation advice."""
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("Models need skops: pip install 'skim-od[cli]'") from error
    return skops.io


def _not_ours(path):
    return ValueError(f"{path} is not a model saved by skim; it was not loaded.")
