"""Variants of ALTBI's default, for the study of what moves accuracy."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp
from scipy.stats import rankdata
from sklearn.base import clone

from benchmarks._shared.detectors import Detector
from skim import ALTBIDetector
from skim import _nets as nets
from skim._detectors._altbi import MIN_EPOCHS
from skim._detectors._scaling import InputScaler
from skim._training._stopping import best_epoch, checkpoint_epochs
from skim.metrics import loss_entropy, separation


class Variant(NamedTuple):
    """A variant that is fitted by itself: a detector by its import path."""

    topic: str
    name: str
    params: dict
    path: str = "skim:ALTBIDetector"

    def detector(self):
        """Return it as a detector of the benchmark."""
        return Detector(self.name, self.path, self.params, "skim")


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
HERE = "benchmarks.accuracy._variants:"
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


# Other uses of the same snapshots -------------------------------------------------
#
# Losses are those of the rows to score, (S, M, n), at S snapshots. Their spread is
# taken from rows drawn at random, (S, M, w).


def standardised(losses, seen):
    """Scale the losses of each snapshot by their mean and deviation."""
    spread = seen.std(axis=-1, keepdims=True)
    spread[spread == 0] = 1.0
    return (losses - seen.mean(axis=-1, keepdims=True)) / spread


def in_unit_range(losses, seen):
    """Scale the losses of each snapshot by their range."""
    low = seen.min(axis=-1, keepdims=True)
    width = seen.max(axis=-1, keepdims=True) - low
    return (losses - low) / np.where(width > 0, width, 1.0)


def by_quartiles(losses, seen):
    """Scale the losses of each snapshot by their quartiles, and compress the tails."""
    low, middle, high = np.quantile(seen, [0.25, 0.5, 0.75], axis=-1, keepdims=True)
    return np.arcsinh((losses - middle) / np.where(high > low, high - low, 1.0))


def ranks(losses, seen):
    """Replace the losses of each snapshot by the share of lower ones.

    Losses beyond those seen keep their order: a little of the standardised loss is
    added.
    """
    flat = zip(
        losses.reshape(-1, losses.shape[-1]),
        np.sort(seen, axis=-1).reshape(-1, seen.shape[-1]),
        strict=True,
    )
    places = [np.searchsorted(known, own, side="right") for own, known in flat]
    share = np.reshape(places, losses.shape) / seen.shape[-1]
    return share + 1e-6 * standardised(losses, seen)


def _mean(losses):
    return losses.mean(axis=(0, 1))


SCALINGS = {
    "min-max": in_unit_range,
    "standardised": standardised,
    "by quartiles": by_quartiles,
    "ranks": ranks,
}

# Map the losses at the snapshots to scores that are high for outliers.
COMBINATIONS = {
    ("snapshots", "the last one only"): lambda x: _mean(x[-1:]),
    ("snapshots", "later ones count more"): lambda x: np.average(
        x.mean(axis=1), axis=0, weights=1.0 + np.arange(len(x))
    ),
    ("snapshots", "mean plus deviation over time"): lambda x: (
        _mean(x) + x.mean(axis=1).std(axis=0)
    ),
    ("members", "their median"): lambda x: np.median(x, axis=1).mean(axis=0),
    ("members", "their maximum"): lambda x: x.max(axis=1).mean(axis=0),
    ("members", "as one mixture"): lambda x: -logsumexp(-x, axis=1).mean(axis=0),
}

BURN_INS = {"from the first epoch on": 0.0, "the last fifth": 0.8}
FEWER = {"1 member instead of 5": 1, "3 members instead of 5": 3}


def agreement(losses):
    """Return the mean rank correlation between members, (T,), from (T, M, n)."""
    n_members = losses.shape[1]
    totals = [np.corrcoef(ranked).sum() for ranked in rankdata(losses, axis=-1)]
    return (np.array(totals) - n_members) / (n_members * (n_members - 1))


def tail_weight(losses):
    """Return how much further the upper tail of the mean loss reaches, (T,)."""
    low, middle, high = np.quantile(losses.mean(axis=1), [0.05, 0.5, 0.95], axis=-1)
    below = middle - low
    return (high - middle) / np.where(below > 0, below, 1.0)


def negative_entropy(losses):
    """Return the criterion of the default, (T,)."""
    return -loss_entropy(losses.mean(axis=1))


# Map the losses of rows drawn at random, (T, M, w), to values that are best where
# largest.
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
PASSES = {
    f"entropy, from {passes} passes on or epoch 25": passes for passes in (25, 100)
}
PATIENCES = {
    "entropy, with a patience of 1.5": 1.5,
    "entropy, with a patience of 3": 3,
    "entropy, of all epochs": None,
}
LAST = "the last epoch"
RECOMBINED = (
    DEFAULT[:2],
    *COMBINATIONS,
    *(("snapshots", name) for name in BURN_INS),
    *(("scaling of losses", name) for name in SCALINGS),
    *(("members", name) for name in FEWER),
    *(("end", name) for name in (*CRITERIA, *EARLIEST, *PASSES, *PATIENCES, LAST)),
)


def best_of(moments, values, first, patience):
    """Return the epoch, from `first` on, that the default's rule would choose.

    `moments` are the epochs after which training can stop, and `values` what is best
    where it is largest, at each of them.
    """
    detector = ALTBIDetector(patience=patience)
    criterion = np.full(moments[-1], np.nan)
    for moment, value in zip(moments, values, strict=True):
        if detector._is_over(criterion[: moment - 1]):
            break
        if moment >= first:
            criterion[moment - 1] = value
    return best_epoch(criterion)


def earliest_end(detector, n_rows, passes):
    """Return the epoch after so many passes over the rows, at most the 25th."""
    epochs = range(1, MIN_EPOCHS + 1)
    sizes = [min(detector._batch_size_of(epoch), n_rows) for epoch in epochs]
    n_seen = detector.updates_per_epoch * np.cumsum(sizes)
    epoch = min(int(np.searchsorted(n_seen, passes * n_rows)) + 1, MIN_EPOCHS)
    return max(epoch, detector.truncate_after + 1)


def recombined(detector, X, rows, watched):
    """Fit a clone of a detector once and score some of the rows in many ways.

    Returns a dict from each of `RECOMBINED` to scores that are high for outliers.
    `watched` are rows drawn at random, by which to judge when to stop, if not by the
    default's criterion, and how losses are spread.
    """
    # For all epochs, and judged at all moments, by the rows that the detector watches.
    trained = clone(detector).set_params(store_stages=True, patience=None, min_epochs=1)
    trained.fit(X)
    scaled = trained._scaler.scale(X[np.r_[rows, watched]])
    moments = checkpoint_epochs(detector.epochs)
    kept = sorted({*moments, detector.epochs})
    stages = trained._stages
    weights, statistics = (
        stages[part][stages["index"][np.array(kept) - 1]]
        for part in ("weights", "statistics")
    )
    with nets.compute(1):
        losses = [
            trained._losses(scaled.values, *state)
            for state in zip(weights, statistics, strict=True)
        ]
    losses = np.stack(losses)
    if scaled.far is not None:
        row, _, far_losses = scaled.far
        losses += np.bincount(row, far_losses, minlength=losses.shape[-1])
    of_rows, of_watched = np.split(losses, [len(rows)], axis=-1)
    at_moments = of_watched[: len(moments)]
    entropy = trained.history_["criterion"][np.array(moments) - 1]

    def until(end, of=of_rows, burn_in=detector.burn_in):
        used = ALTBIDetector(burn_in=burn_in, n_snapshots=detector.n_snapshots)
        return of[np.isin(kept, used._snapshots_until(end))]

    first = detector._earliest_end(len(X))

    def best(values, first=first, patience=detector.patience):
        return best_of(moments, values, first, patience)

    def ended(end):
        return _mean(until(end))

    end = best(entropy)
    at_end = until(end)
    found = {DEFAULT[:2]: _mean(at_end)}
    for variant, combine in COMBINATIONS.items():
        found[variant] = combine(at_end)
    for name, burn_in in BURN_INS.items():
        found["snapshots", name] = _mean(until(end, burn_in=burn_in))
    seen_at_end = until(end, of_watched)
    for name, scale in SCALINGS.items():
        found["scaling of losses", name] = _mean(scale(at_end, seen_at_end))
    for name, n_members in FEWER.items():
        own = negative_entropy(at_moments[:, :n_members])
        own_losses = until(best(own))
        found["members", name] = _mean(own_losses[:, :n_members])
    for name, judge in CRITERIA.items():
        found["end", name] = ended(best(judge(at_moments)))
    for name, epoch in EARLIEST.items():
        found["end", name] = ended(best(entropy, first=epoch))
    for name, passes in PASSES.items():
        earliest = earliest_end(detector, len(X), passes)
        found["end", name] = ended(best(entropy, first=earliest))
    for name, other in PATIENCES.items():
        found["end", name] = ended(best(entropy, patience=other))
    found["end", LAST] = ended(detector.epochs)
    return {variant: found[variant] for variant in RECOMBINED}
