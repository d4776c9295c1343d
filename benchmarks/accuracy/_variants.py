"""Variants of ALTBI's default, for the study of what moves accuracy."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import QuantileTransformer, StandardScaler

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

    def scale(self, X):
        z = (self._to_unit(X) - self.mean_) / self.std_
        values = 0.5 + 0.5 * np.arcsinh(z / 3) / np.arcsinh(1)
        return replace(super().scale(X), values=values.astype(np.float32))


class LongTailedALTBI(ALTBIDetector):
    """With inputs beyond [0, 1] for values beyond three standard deviations."""

    def _new_scaler(self, n_features):
        return _LongTailedScaler("squash")


class FourViews(ALTBIDetector):
    """Five members with each of four views of the table, scores added."""

    weights = {"as by default": 1, "min-max": 1, "whitened": 1, "normal": 1}
    n_members = 5  # of each view but the first

    def fit(self, X, y=None):
        """Fit members to each view, and add their scores on one scale."""
        self.training_scores_ = 0
        for view, weight in self.weights.items():
            params = self.get_params()
            if view != "as by default":
                params["n_estimators"] = self.n_members
            if view == "min-max":
                params["scaling"] = "minmax"
            scores = ALTBIDetector(**params).fit(_viewed(X, view)).training_scores_
            low, middle, high = np.quantile(scores, [0.05, 0.5, 0.95])
            width = high - low if high > low else 1.0
            self.training_scores_ += weight * np.clip((scores - middle) / width, -20, 3)
        return self


class OneMemberViews(FourViews):
    """With one member for each view but the first, which counts five times."""

    weights = FourViews.weights | {"as by default": 5}
    n_members = 1


class FavouredViews(FourViews):
    """With the first view counted five times."""

    weights = OneMemberViews.weights


class NormalView(FourViews):
    """With the quantile-normal view alone beside the first, which counts twice."""

    weights = {"as by default": 2, "normal": 1}


def _viewed(X, view):
    """Return a table as a view shows it; it is scaled after that."""
    if view == "whitened":
        standardised = np.clip(StandardScaler().fit_transform(X), -30, 30)
        n_components = max(min(len(X) // 3, X.shape[1], 128), 1)
        whitened = PCA(n_components, whiten=True, random_state=0)
        components = whitened.fit_transform(standardised)
        return components[:, components.std(axis=0) > 1e-6]
    if view == "normal":
        n_quantiles = min(1000, len(X))
        return QuantileTransformer(
            n_quantiles=n_quantiles, output_distribution="normal", random_state=0
        ).fit_transform(X)
    return X


class LatentTwice(ALTBIDetector):
    """With what the latent code adds to the loss counted twice, in scoring only."""

    def fit(self, X, y=None):
        """Fit, and score anew."""
        super().fit(X)
        self.training_scores_ = 2 * self.training_scores_ + self.explain(X).sum(axis=1)
        return self


DEFAULT = Variant("", "default", {})
HERE = f"{__name__}:"
VARIANTS = (
    Variant("members", "5, however few the rows", {"n_estimators": 5}),
    Variant("members", "10, however many the rows", {"n_estimators": 10}),
    Variant("network", "twice the width", {}, HERE + "WideALTBI"),
    Variant("codes", "2 codes per row instead of 1", {"n_importance": 2}),
    Variant("input", "min-max scaled", {"scaling": "minmax"}),
    Variant("input", "by asinh instead of tanh", {}, HERE + "LongTailedALTBI"),
    Variant("views", "four, of 5 members each", {}, HERE + "FourViews"),
    Variant("views", "four, the default's counted 5 times", {}, HERE + "FavouredViews"),
    Variant("views", "three others of 1 member each", {}, HERE + "OneMemberViews"),
    Variant("views", "one other, quantile-normal", {}, HERE + "NormalView"),
    Variant("score", "latent code counted twice", {}, HERE + "LatentTwice"),
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
