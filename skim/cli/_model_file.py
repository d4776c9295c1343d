"""Saving and loading models as skops files."""

import copy
import json
import os
import warnings
import zipfile

import numpy as np
import sklearn
from sklearn.pipeline import Pipeline
from sklearn.tree._tree import Tree

import skim
from skim._detectors._altbi import ALTBIDetector
from skim._detectors._base import IMDetector
from skim._detectors._components import ComponentScaler
from skim._detectors._im_autoencoder import IMAutoencoderDetector
from skim._detectors._imboost import IMBoostDetector
from skim._detectors._network import NetworkDetector
from skim._detectors._odim import ODIMDetector
from skim._detectors._scaling import InputScaler
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
    import_skops().dump(_with_plain_trees(model), path)
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
    try:
        _restore_trees(model[1])
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _damaged(path) from None
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
        and isinstance(model[1], IMDetector)
    )


# Trees of a classifier -------------------------------------------------------------


def _with_plain_trees(model):
    """Return the model with trees as dicts of arrays, which are safe to load."""
    classifier = getattr(model[1], "classifier_", None)
    if classifier is None:
        return model
    detector, classifier = copy.copy(model[1]), copy.copy(classifier)
    detector.classifier_ = classifier
    classifier.estimators_ = [copy.copy(one) for one in classifier.estimators_]
    for estimator in classifier.estimators_:
        estimator.tree_ = estimator.tree_.__getstate__()
    return Pipeline([model.steps[0], (model.steps[1][0], detector)])


def _restore_trees(detector):
    """Make trees of arrays again, or raise if to follow them would lead astray."""
    classifier = getattr(detector, "classifier_", None)
    if classifier is None:
        return
    n_inputs = detector.n_features_in_ + 1  # the last one is the loss
    for estimator in classifier.estimators_:
        state = estimator.tree_
        nodes, values = state["nodes"], state["values"]
        _check_nodes(nodes, n_inputs)
        tree = Tree(n_inputs, np.array([2]), 1)
        facts = {"max_depth": int(state["max_depth"]), "node_count": len(nodes)}
        tree.__setstate__(facts | {"nodes": nodes, "values": values})
        estimator.tree_ = tree


def _check_nodes(nodes, n_inputs):
    left, right, feature = (
        nodes[name] for name in ("left_child", "right_child", "feature")
    )
    inner = np.flatnonzero(left != -1)
    is_sound = (feature[inner] >= 0) & (feature[inner] < n_inputs)
    for children in (left[inner], right[inner]):
        is_sound &= (children > inner) & (children < len(nodes))
    if not len(nodes) or not is_sound.all():
        raise ValueError("The nodes are not those of a tree.")


def _not_ours(path):
    return ValueError(f"{path} is not a model saved by skim; it was not loaded.")


def _damaged(path):
    return ValueError(f"{path} is damaged; save the model again.")
