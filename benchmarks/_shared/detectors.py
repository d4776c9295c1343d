"""The detectors that take part in the benchmark."""

import contextlib
import hashlib
import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from benchmarks._shared.tables import unknown
from skim.networks import AutoencoderConfig, VAEConfig
from skim.schedules import ALTBISchedule, BestEpochSchedule, ODIMSchedule

# The parts of a detector that a name stands for, with their defaults.
PARTS = {
    "vae": VAEConfig,
    "autoencoder": AutoencoderConfig,
    "altbi": ALTBISchedule,
    "best_epoch": BestEpochSchedule,
    "odim": ODIMSchedule,
}


class Detector(NamedTuple):
    """A detector by its import path, such as ``"pyod.models.knn:KNN"``."""

    name: str
    path: str
    params: dict
    family: str

    @property
    def takes_seed(self):
        """Whether its scores depend on a random state that can be set."""
        return _takes(self._factory(), "random_state")

    def build(self, *, seed=None, n_features=1):
        """Make an instance for a table of so many features."""
        factory = self._factory()
        params = dict(self.params)
        if seed is not None and self.takes_seed:
            params["random_state"] = seed
        required = inspect.signature(factory).parameters.get("n_features")
        if required is not None and required.default is inspect.Parameter.empty:
            params["n_features"] = n_features
        return factory(**params)

    def fingerprint(self):
        """Return a short text that changes whenever a parameter does.

        For a user's own detector, it also changes with the file of its code.
        """
        instance = self.build()
        settings = dict(self.params)
        if hasattr(instance, "get_params"):
            settings |= instance.get_params(deep=False)
        for name in ("random_state", "n_features", "store_snapshots"):
            settings.pop(name, None)
        for name in {"network", "schedule"} & settings.keys():
            part = settings[name]
            part = PARTS[part]() if str(part) in PARTS else part
            if hasattr(part, "get_params"):
                settings[name] = part.get_params()
        text = repr((self.path, sorted(settings.items(), key=str)))
        if self.family == "own":  # its code may be changing
            with contextlib.suppress(TypeError, OSError):
                text += Path(inspect.getsourcefile(self._factory())).read_text()
        text = re.sub(r" at 0x\w+", "", text)  # addresses of objects say nothing
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def _factory(self):
        module, _, attributes = self.path.partition(":")
        found = import_module(module)
        for attribute in attributes.split("."):
            found = getattr(found, attribute)
        return found


def _takes(factory, name):
    parameters = inspect.signature(factory).parameters
    kinds = [parameter.kind for parameter in parameters.values()]
    return name in parameters or inspect.Parameter.VAR_KEYWORD in kinds


def _table():
    ema = {"ema_steps": 50}
    ours = [
        ("TableDetector", "skim:TableDetector", {}),
        ("ALTBI", "skim:ALTBIDetector", {}),
        ("ALTBI-paper", "skim:ALTBIDetector.paper", {}),
        ("ALTBI-paper+EMA", "skim:ALTBIDetector.paper", ema),
        ("ODIM", "skim:ODIMDetector", {}),
        ("ODIM-paper", "skim:ODIMDetector.paper", {}),
        ("ODIM-paper+EMA", "skim:ODIMDetector.paper", ema),
        ("IMAutoencoder", "skim:IMAutoencoderDetector", {}),
    ]
    silent = {"verbose": 0}
    pyods = [
        ("CBLOF", "cblof:CBLOF", {}),
        ("COPOD", "copod:COPOD", {}),
        ("ECOD", "ecod:ECOD", {}),
        ("FeatureBagging", "feature_bagging:FeatureBagging", {}),
        ("HBOS", "hbos:HBOS", {}),
        ("IForest", "iforest:IForest", {}),
        ("kNN", "knn:KNN", {}),
        ("LODA", "loda:LODA", {}),
        ("LOF", "lof:LOF", {}),
        ("MCD", "mcd:MCD", {}),
        ("OCSVM", "ocsvm:OCSVM", {}),
        ("PCA", "pca:PCA", {}),
        ("DeepSVDD", "deep_svdd:DeepSVDD", silent),
        ("AutoEncoder", "auto_encoder:AutoEncoder", silent),
        ("VAE", "vae:VAE", silent),
        ("LUNAR", "lunar:LUNAR", {}),
        ("DIF", "dif:DIF", {}),
    ]
    rows = [(*row, "skim") for row in ours]
    rows += [(name, f"pyod.models.{path}", p, "pyod") for name, path, p in pyods]
    return {row[0]: Detector(*row) for row in rows}


DETECTORS = _table()
FAMILIES = ("skim", "pyod")


def choose(names):
    """Return the detectors of some names, without repetitions.

    Names are those in `DETECTORS`, "skim", "pyod", or for a user's own detector
    ``package.module:Class`` or ``Name=package.module:Class``.
    """
    chosen = {}
    for name in names:
        if name in FAMILIES:
            found = [each for each in DETECTORS.values() if each.family == name]
        elif ":" in name:
            title, _, path = name.rpartition("=")
            title = title or path.split(":")[1]
            found = [Detector(title, path, {}, "own")]
            taken = {each.lower() for each in (*DETECTORS, *chosen)}
            if title.lower() in taken and chosen.get(title) != found[0]:
                raise ValueError(f"{title!r} is taken; give another: NAME={path}")
        else:
            found = [_known(name)]
        chosen |= {each.name: each for each in found}
    return list(chosen.values())


def _known(name):
    lower = {each.lower(): each for each in DETECTORS}
    if name.lower() in lower:
        return DETECTORS[lower[name.lower()]]
    raise unknown(name, [*DETECTORS, *FAMILIES, "package.module:Class"])
