"""Saving and loading models as skops files."""

import json
import os
import warnings
import zipfile

import sklearn
from sklearn.pipeline import Pipeline

import skim
from skim._detectors._altbi import ALTBIDetector
from skim._detectors._base import BaseDetector
from skim._detectors._im_autoencoder import IMAutoencoderDetector
from skim._detectors._imboost import IMBoostDetector
from skim._detectors._label_model import LabelModel
from skim._detectors._network import NetworkDetector
from skim._detectors._odim import ODIMDetector
from skim._model._components import ComponentScaler
from skim._model._fitted import FittedModel
from skim._model._networks import AutoencoderConfig, ModuleConfig, VAEConfig
from skim._model._scaling import InputScaler, TwoViewScaler
from skim._training._boosting import IMBoostSchedule
from skim._training._schedules import ALTBISchedule, BestEpochSchedule, ODIMSchedule
from skim._training._snapshots import SnapshotLog, Snapshots
from skim.tables import ColumnDecision, TableEncoder
from skim.tables._columns import (
    CategoryEncoder,
    DateEncoder,
    FrequencyEncoder,
    NumberEncoder,
)

LABEL = "skim.json"  # archive member with the versions

# The types in a model, besides those of scikit-learn and numpy.
TRUSTED = [
    f"{cls.__module__}.{cls.__qualname__}"
    for cls in (
        ALTBIDetector,
        ODIMDetector,
        IMAutoencoderDetector,
        IMBoostDetector,
        NetworkDetector,
        InputScaler,
        ComponentScaler,
        TwoViewScaler,
        LabelModel,
        FittedModel,
        Snapshots,
        SnapshotLog,
        VAEConfig,
        AutoencoderConfig,
        ModuleConfig,
        ALTBISchedule,
        ODIMSchedule,
        BestEpochSchedule,
        IMBoostSchedule,
        TableEncoder,
        ColumnDecision,
        NumberEncoder,
        CategoryEncoder,
        FrequencyEncoder,
        DateEncoder,
    )
]


def save_model(model, path, *, ids=()):
    """Save a fitted pipeline of encoder and detector, and the columns naming rows."""
    import_skops().dump(model, path)
    label = {
        "skim": skim.__version__,
        "scikit-learn": sklearn.__version__,
        "id": list(ids),
    }
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(LABEL, json.dumps(label, indent=2))


def load_model(path):
    """Load a model that was saved with this version of skim.

    Nothing in the file is executed, and nothing is loaded unless all its types
    belong to a model. Also returns the columns that name rows, and a warning about the
    versions, or None.
    """
    io = import_skops()
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path} does not exist.")
    label = _read_label(path)
    if label["skim"] != skim.__version__:
        raise ValueError(
            f"{path} was saved with skim {label['skim']}, but this is skim "
            f"{skim.__version__}; fit it again, or install skim {label['skim']}."
        )
    warning = None
    if label["scikit-learn"] != sklearn.__version__:
        warning = (
            f"{path} was saved with scikit-learn {label['scikit-learn']}, but this is "
            f"{sklearn.__version__}; the scores may differ."
        )
    try:
        foreign = sorted(set(io.get_untrusted_types(file=path)) - set(TRUSTED))
    except Exception:  # files can be damaged in endless ways
        raise _damaged(path) from None
    if foreign:
        raise ValueError(
            f"{path} contains types that are not part of a skim model "
            f"({', '.join(foreign[:3])}); it was not loaded."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = io.load(path, trusted=TRUSTED)
    except Exception:
        raise _damaged(path) from None
    if not _is_model(model):
        raise _not_ours(path)
    return model, label["id"], warning


def import_skops():
    """Return ``skops.io``, or raise with installation advice."""
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("Models need skops: pip install 'skim-od[cli]'") from error
    return skops.io


def _read_label(path):
    try:
        with zipfile.ZipFile(path) as archive:
            label = json.loads(archive.read(LABEL))
        versions = {name: str(label[name]) for name in ("skim", "scikit-learn")}
        return versions | {"id": [str(name) for name in label.get("id", ())]}
    except (
        OSError,
        zipfile.BadZipFile,
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
    ):
        raise _not_ours(path) from None


def _is_model(model):
    return (
        isinstance(model, Pipeline)
        and len(model.steps) == 2
        and isinstance(model[0], TableEncoder)
        and isinstance(model[1], BaseDetector | IMBoostDetector)
    )


def _not_ours(path):
    return ValueError(f"{path} is not a model saved by skim; it was not loaded.")


def _damaged(path):
    return ValueError(f"{path} is damaged; save the model again.")
