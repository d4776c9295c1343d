"""ALTBI otherwise: variants of its default, for the study of what moves accuracy."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp
from scipy.stats import rankdata
from sklearn.base import clone

from benchmarks.detectors import Detector
from skim import ALTBIDetector
from skim._criteria import loss_entropy
from skim._scaling import InputScaler
from skim._staging import losses_at
from skim._stopping import moments_until
from skim.separation import separation


class Variant(NamedTuple):
    """A variant that takes a training of its own: a detector by its import path."""

    topic: str
    name: str
    params: dict
    path: str = "skim:ALTBIDetector"

    def detector(self):
        """Return it as a detector of the benchmark."""
        return Detector(self.name, self.path, self.params, "skim")


class WideALTBI(ALTBIDetector):
    """With networks of twice the width."""

    def _network_params(self, n_features):
        params = super()._network_params(n_features)
        wide = {"hidden": [2 * width for width in params["hidden"]]}
        return params | wide | {"n_latent": 2 * params["n_latent"]}


class _LongTailedScaler(InputScaler):
    """Maps z to asinh(z / 3) instead of tanh(z / 3), which does not end at one."""

    def transform(self, X):
        z = (self._to_unit(X) - self.mean_) / self.std_
        return (0.5 + 0.5 * np.arcsinh(z / 3) / np.arcsinh(1)).astype(np.float32)


class LongTailedALTBI(ALTBIDetector):
    """With inputs beyond [0, 1] for values beyond three standard deviations."""

    def _new_scaler(self, n_features):
        return _LongTailedScaler("squash")


class TwoViews(ALTBIDetector):
    """Three members with either scaling of the input."""

    def fit(self, X, y=None):
        """Fit both kinds of members and add their standardised scores."""
        self.training_scores_ = 0
        for scaling in ("squash", "minmax"):
            params = self.get_params() | {"n_estimators": 3, "scaling": scaling}
            scores = ALTBIDetector(**params).fit(X).training_scores_
            self.training_scores_ += (scores - scores.mean()) / scores.std()
        return self


DEFAULT = Variant("", "default", {})
HERE = "benchmarks._variants:"
VARIANTS = (
    Variant("members", "10 members instead of 5", {"n_estimators": 10}),
    Variant("network", "twice the width", {}, HERE + "WideALTBI"),
    Variant("codes", "2 codes a row instead of 1", {"n_importance": 2}),
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
        {"warmup_epochs": 10},
    ),
    Variant("batches", "of 128 rows throughout", {"max_batch_size": 128}),
    Variant("batches", "that grow to 1,400 rows", {"max_batch_size": 1400}),
    Variant("steps", "a third of the size", {"learning_rate": 1e-3}),
    Variant("steps", "three times the size", {"learning_rate": 1e-2}),
    Variant("initial weights", "with the EMA warm-up", {"ema_steps": 50}),
)


# Other uses of the same training --------------------------------------------------


def standardised(losses):
    """Scale the losses of each snapshot to mean zero and deviation one."""
    spread = losses.std(axis=-1, keepdims=True)
    spread[spread == 0] = 1.0
    return (losses - losses.mean(axis=-1, keepdims=True)) / spread


def in_unit_range(losses):
    """Scale the losses of each snapshot to [0, 1]."""
    low = losses.min(axis=-1, keepdims=True)
    width = losses.max(axis=-1, keepdims=True) - low
    return (losses - low) / np.where(width > 0, width, 1.0)


def by_quartiles(losses):
    """Scale the losses of each snapshot by their quartiles, and press the tails."""
    low, middle, high = np.quantile(losses, [0.25, 0.5, 0.75], axis=-1, keepdims=True)
    return np.arcsinh((losses - middle) / np.where(high > low, high - low, 1.0))


def _mean(losses):
    return losses.mean(axis=(0, 1))


# From the losses at the snapshots, (S, M, n), to scores that are high for outliers.
COMBINATIONS = {
    ("snapshots", "the last one only"): lambda x: _mean(x[-1:]),
    ("snapshots", "later ones count more"): lambda x: np.average(
        x.mean(axis=1), axis=0, weights=1.0 + np.arange(len(x))
    ),
    ("snapshots", "mean plus deviation over time"): lambda x: (
        _mean(x) + x.mean(axis=1).std(axis=0)
    ),
    ("scaling of losses", "min-max"): lambda x: _mean(in_unit_range(x)),
    ("scaling of losses", "standardised"): lambda x: _mean(standardised(x)),
    ("scaling of losses", "by quartiles"): lambda x: _mean(by_quartiles(x)),
    ("scaling of losses", "ranks"): lambda x: _mean(rankdata(x, axis=-1)),
    ("members", "1 member instead of 5"): lambda x: _mean(x[:, :1]),
    ("members", "3 members instead of 5"): lambda x: _mean(x[:, :3]),
    ("members", "their median"): lambda x: np.median(x, axis=1).mean(axis=0),
    ("members", "their maximum"): lambda x: x.max(axis=1).mean(axis=0),
    ("members", "as one mixture"): lambda x: -logsumexp(-x, axis=1).mean(axis=0),
}


def agreement(losses):
    """Return the mean rank correlation between members, (T,), from (T, M, n)."""
    n_members = losses.shape[1]
    totals = [np.corrcoef(ranks).sum() for ranks in rankdata(losses, axis=-1)]
    return (np.array(totals) - n_members) / (n_members * (n_members - 1))


def tail_weight(losses):
    """Return how much further the upper tail of the mean loss reaches, (T,)."""
    low, middle, high = np.quantile(losses.mean(axis=1), [0.05, 0.5, 0.95], axis=-1)
    below = middle - low
    return (high - middle) / np.where(below > 0, below, 1.0)


BURN_INS = {"from the first epoch on": 0.0, "the last fifth": 0.8}


# From the losses of the watched rows, (T, M, n), to what is best where it is largest.
CRITERIA = {
    "separation": lambda x: separation(x.mean(axis=1)),
    "entropy of each member": lambda x: -loss_entropy(x).mean(axis=1),
    "agreement of the members": agreement,
    "weight of the upper tail": tail_weight,
}
EARLIEST = {
    f"entropy, from epoch {epoch} on however few the rows": epoch
    for epoch in (10, 25, 40)
}
RECOMBINED = (
    DEFAULT[:2],
    *COMBINATIONS,
    *(("snapshots", name) for name in BURN_INS),
    *(("end", name) for name in (*CRITERIA, *EARLIEST, "the last epoch")),
)


def recombined(detector, X, rows, watched):
    """Fit once and score some of the rows in many ways.

    Parameters
    ----------
    detector : ALTBIDetector
    X : ndarray of shape (n, p)
    rows, watched : ndarray of int
        Which rows to score, and by which to judge where the training is to end.

    Returns
    -------
    scores : dict
        From each of `RECOMBINED` to scores that are high for outliers.
    """
    detector.set_params(store_stages=True).fit(X)
    scaled = detector.scaler_.transform(X[np.r_[rows, watched]])
    moments = moments_until(detector.epochs)
    losses = {
        moment: losses_at(detector, moment - 1, scaled)
        for moment in {*moments, detector.epochs}
    }
    seen = np.stack([losses[moment][:, len(rows) :] for moment in moments])

    def until(end, **params):
        used = clone(detector).set_params(**params)._snapshots_until(end)
        return np.stack([losses[moment][:, : len(rows)] for moment in used])

    def best_from(first, values):
        late = np.where(np.array(moments) < first, np.nan, values)
        return detector.epochs if np.isnan(late).all() else moments[np.nanargmax(late)]

    earliest = detector._earliest_end(len(X))
    entropy = -loss_entropy(seen.mean(axis=1))
    end = best_from(earliest, entropy)
    found = [_mean(until(end))]
    found += [combine(until(end)) for combine in COMBINATIONS.values()]
    found += [_mean(until(end, burn_in=share)) for share in BURN_INS.values()]
    ends = [best_from(earliest, judge(seen)) for judge in CRITERIA.values()]
    ends += [best_from(first, entropy) for first in EARLIEST.values()]
    found += [_mean(until(each)) for each in (*ends, detector.epochs)]
    return dict(zip(RECOMBINED, found, strict=True))
