"""Variants of ALTBI's default, for the study of what moves accuracy."""

from typing import NamedTuple

import numpy as np

from benchmarks._shared.detectors import Detector
from skim import ALTBIDetector
from skim._detectors._scaling import InputScaler


class Variant(NamedTuple):
    """A variant that is fitted by itself: a detector by its import path."""

    topic: str
    name: str
    params: dict
    path: str = "skim:ALTBIDetector"
    family: str = "skim"

    def detector(self):
        """Return it as a detector of the benchmark."""
        return Detector(self.name, self.path, self.params, self.family)


class WideALTBI(ALTBIDetector):
    """With networks of twice the width."""

    def _shape_params(self, n_features):
        params = super()._shape_params(n_features)
        wide = {"hidden": [2 * width for width in params["hidden"]]}
        return params | wide | {"n_latent": 2 * params["n_latent"]}


class _LongTailedScaler(InputScaler):
    """Maps z to asinh(z / 3), which is unbounded, instead of tanh(z / 3)."""

    def transform(self, X):
        z = (self._to_unit(X) - self.mean_) / self.std_
        return (0.5 + 0.5 * np.arcsinh(z / 3) / np.arcsinh(1)).astype(np.float32)


class LongTailedALTBI(ALTBIDetector):
    """With inputs beyond [0, 1] for values beyond three standard deviations."""

    def _new_scaler(self, n_features):
        return _LongTailedScaler("squash")


class TwoViews(ALTBIDetector):
    """Three members with each of two scalings of the input."""

    def fit(self, X, y=None):
        """Fit both kinds of members and add their standardised scores."""
        self.training_scores_ = 0
        for scaling in ("squash", "minmax"):
            params = self.get_params() | {"n_estimators": 3, "scaling": scaling}
            scores = ALTBIDetector(**params).fit(X).training_scores_
            self.training_scores_ += (scores - scores.mean()) / scores.std()
        return self


DEFAULT = Variant("", "default", {})
HERE = f"{__name__}:"
VARIANTS = (
    Variant("members", "10 members instead of 5", {"n_estimators": 10}),
    Variant("network", "twice the width", {}, HERE + "WideALTBI"),
    Variant("codes", "2 codes per row instead of 1", {"n_importance": 2}),
    Variant("input", "min-max scaled", {"scaling": "minmax"}),
    Variant("input", "by asinh instead of tanh", {}, HERE + "LongTailedALTBI"),
    Variant(
        "input", "3 members as by default, 3 min-max scaled", {}, HERE + "TwoViews"
    ),
    Variant("truncation", "none", {"keep_quantile": 1.0}),
    Variant("truncation", "85 % are kept instead of 92 %", {"keep_quantile": 0.85}),
    Variant(
        "truncation",
        "and larger batches from epoch 11 on instead of 4",
        {"truncate_after": 10},
    ),
    Variant("batches", "of 128 rows throughout", {"max_batch_size": 128}),
    Variant("batches", "that grow to 1,400 rows", {"max_batch_size": 1400}),
    Variant("steps", "a third of the size", {"learning_rate": 1e-3}),
    Variant("steps", "three times the size", {"learning_rate": 1e-2}),
    Variant("initial weights", "with the EMA warm-up", {"ema_steps": 50}),
)
