"""The base class of the detectors: validate, scale, train, score, verdict."""

from __future__ import annotations

import copy
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_is_fitted, validate_data

from skim import _nets as nets
from skim._compat import CallbackSupportMixin
from skim._detectors._callbacks import FitCallbacks
from skim._detectors._ema import EMAWarmStart
from skim._detectors._explaining import ExplainMixin
from skim._detectors._gaps import fill_gaps
from skim._detectors._scaling import InputScaler, ScaledRows, ScaledTable
from skim._detectors._verdict import ThresholdMixin, threshold
from skim._training._history import History
from skim._training._resume import past_run, resumable
from skim._training._stages import (
    StageLog,
    keep_stages,
    rescaled,
    staged_scores,
)
from skim._training._stopping import CRITERIA
from skim._utils import (
    FLOAT32_MAX,
    evenly_spaced,
    finite,
    own_random_state,
    refuse_text,
)

SMALL_TABLE = 500  # rows; chance weighs more in smaller ones, and networks cost less
N_TYPICAL_ROWS = 2048  # of the training data, kept to tell what is usual
MAX_ROWS = 1_000_000  # beyond this, a sample stands for all but in scaling
N_SAMPLED_ROWS = 200_000
# Loss of a cell per length of its column's tail beyond the tail: about that of half the
# range of a squashed column, under the smallest variance that a network can have.
FAR_LOSS = 50.0
VALIDATION = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}


class DivergedError(ValueError):
    """The loss of a training run is no longer finite."""


class IMDetector(
    CallbackSupportMixin,
    EMAWarmStart,
    ExplainMixin,
    ThresholdMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Base class of the detectors built on the inlier-memorization effect.

    Warning: this class should not be used directly. Use derived classes instead.
    """

    _parameter_constraints: dict = {
        **EMAWarmStart._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "scaling": [StrOptions({"squash", "minmax"})],
        "contamination": [
            StrOptions({"auto"}),
            Interval(Real, 0, 0.5, closed="right"),
        ],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "device": [str],
        "stopping": [StrOptions(set(CRITERIA)), None],
        "store_stages": ["boolean"],
        "verbose": ["verbose"],
    }

    contamination: float | str
    history_: dict
    weights_: NDArray
    _n_rows: int  # of which `training_rows_` are a sample

    # Hooks: what a subclass says -----------------------------------------------

    _shape_name: str  # the class in `_nets` of the network's shape
    _fixed_params: tuple = ("n_estimators", "scaling")  # cannot change during a run
    _fixed_in_fit: tuple = ("stopping",)  # also fixed while `fit` is resumed
    _needs_all_rows = False  # whether no sample can stand for a large table
    _entries_are_epochs = True  # whether the history has one entry per epoch
    warm_start = False  # whether `fit` may resume an earlier run
    normalize_losses = False  # whether losses are scaled before they are averaged

    @abstractmethod
    def _shape_params(self, n_features):
        """Return the arguments of the network's shape, as a dict."""

    @abstractmethod
    def _new_optimiser(self, weights):
        """Return an optimiser of the weights."""

    @abstractmethod
    def _update(self, run, epoch):
        """Make one update as in an epoch, counted from 1; return the losses."""

    @abstractmethod
    def _train(self, run, history):
        """Train, record the run in the history and leave snapshots in the run."""

    def _new_scaler(self, n_features):
        """Return what scales the features for the network."""
        return InputScaler(self.scaling, far_loss=FAR_LOSS)

    def _kept_stages(self, stage):
        """Return the stages whose states count if training ends with `stage`."""
        return [stage]

    # Fitting -------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the detector to unlabelled data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training data, outliers included. Missing cells are NaN.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The fitted detector.
        """
        self._fit(X, y)
        return self

    def _fit(self, X, y=None, *, observe=None, finish=True):
        """Fit, calling `observe(run, rows)` after every entry of the history.

        Without `finish`, only train: the detector cannot score yet. Returns the scaled
        training data.
        """
        callbacks = (
            FitCallbacks(self, X, y) if hasattr(self, "_skl_callbacks") else None
        )
        past = past_run(self) if self.warm_start else None
        # A fit that fails must not leave a detector that counts as fitted.
        offset = self.__dict__.pop("offset_", None)
        try:
            X = validate_data(
                self, X, reset=past is None, ensure_min_samples=2, **VALIDATION
            )
        except (TypeError, ValueError) as error:
            if past is not None:  # bad data does not end a run that can be resumed
                self.offset_ = offset
            refuse_text(self, X, error)
            raise
        self.device_ = nets.resolve_device(self.device)
        if past is None:
            self._set_up(X)
        if len(X) > MAX_ROWS and not self._needs_all_rows:
            X = self._sampled(X, past)
        else:
            self.training_rows_ = None
        total = self.epochs if self._entries_are_epochs else None
        if callbacks is not None:
            callbacks.begin(total)
        with nets.compute():
            rows = ScaledTable(self._scaler, X).kept()
            self._sample = X[evenly_spaced(len(X), N_TYPICAL_ROWS)]
            self._loss_ranges: list = []
            run = self._new_run(rows, past)
            if self.store_stages or self.warm_start:
                past_stages = None if past is None else self._stages
                run.stages = StageLog(self._n_members, past_stages)

            def on_entry():
                if observe is not None:
                    observe(run, rows)
                if callbacks is None:
                    return False
                return callbacks.end_epoch(lambda: self._as_if_fitted(run, rows))

            is_heard = observe is not None or callbacks is not None
            history = History(
                type(self).__name__,
                total,
                self.verbose,
                on_entry if is_heard else None,
                past=None if past is None else self.history_,
            )
            try:
                self._train(run, history)
            except nets.NonFiniteLossError:
                raise self._diverged() from None
            finally:
                history.close()
            self.history_ = history.columns()
            self.__dict__.pop("_stages", None)
            if run.stages is not None:
                keep_stages(self, run.stages, rows)
            if finish:
                self._finish(rows, run.snapshots)
        self.__dict__.pop("_past", None)
        if self.warm_start:
            self._past = resumable(self, run)
        if callbacks is not None:
            callbacks.end()
        return rows

    def _set_up(self, X):
        """Learn how to scale the features and which network they need for a run."""
        self._scaler = self._new_scaler(X.shape[1]).partial_fit(X)
        if np.isinf(self._scaler.half_range_).any():  # with assume_finite=True
            raise ValueError("X contains infinity; replace or drop those values.")
        is_empty = self._scaler.n_known_ == 0
        if is_empty.any():
            if is_empty.all():
                raise ValueError("X has no values: all its cells are missing.")
            names = getattr(self, "feature_names_in_", np.arange(len(is_empty)))
            found = ", ".join(map(str, names[is_empty][:5]))
            warnings.warn(
                f"Columns without any value are ignored: {found}.", stacklevel=5
            )
        self._n_members = self.n_estimators
        if self.n_estimators == "auto":
            self._n_members = 10 if len(X) < SMALL_TABLE else 5
        params = self._shape_params(len(self._scaler.fill_))
        self._network_params = params | {"fill": self._scaler.fill_}
        fixed = (*self._fixed_params, *self._fixed_in_fit)
        self._run_params = {name: getattr(self, name) for name in fixed}

    def _sampled(self, X, past):
        """Return the rows of a large table that stand for all; note which they are."""
        if past is None or len(X) != self._n_rows:
            self._n_rows = len(X)
            self.training_rows_ = np.sort(
                sample_without_replacement(
                    len(X),
                    N_SAMPLED_ROWS,
                    random_state=own_random_state(self.random_state),
                )
            )
        return X[self.training_rows_]

    def _new_run(self, rows, past=None):
        """Return a training run on scaled data that is about to start, or to resume."""
        seed = own_random_state(self.random_state).randint(2**31 - 1)
        generator = nets.seeded_generator(seed, self.device_)
        data = rows
        if isinstance(rows, list):
            data = np.concatenate([part.values for _, part in rows])
            data = nets.as_tensor(data, self.device_)
        shape = self._shape()
        weights = shape.weights.draw(self._n_members, generator)
        if past is None:
            noise = shape.draw_noise(self._n_members, generator)
            self._noise = None if noise is None else noise.cpu().numpy()
        else:
            noise = nets.as_tensor(self._noise, self.device_)
        if self.ema_steps and past is None:
            warm_up = nets.Run(
                shape, weights, self._new_optimiser(weights), data, generator
            )
            self.ema_warm_up(weights, lambda: self._update(warm_up, 1))
        optimiser = self._new_optimiser(weights)
        run = nets.Run(shape, weights, optimiser, data, generator, noise)
        if past is not None:
            run.restore(past)
        return run

    def _finish(self, rows, snapshots):
        """Keep the snapshots, score the training data and set the threshold."""
        weights, statistics = zip(*snapshots, strict=True)
        self.weights_, self._statistics = np.stack(weights), np.stack(statistics)
        self._loss_ranges = self._ranges(rows) if self.normalize_losses else []
        known = ((block, ScaledRows(part.values, None, None)) for block, part in rows)
        scores = self._scores(known)
        if not np.isfinite(scores).all():
            raise self._diverged()
        self._learn_typical(scores[evenly_spaced(len(scores), N_TYPICAL_ROWS)])
        for block, part in rows:
            if part.missing is not None or part.far is not None:
                scores[block] = self._completed(scores[block], part)
        self.training_scores_ = scores
        self.offset_ = threshold(self.training_scores_, self.contamination)

    def _learn_typical(self, scores=None):
        """Learn what is typical in the sample of the rows.

        Their scores, of the known cells, are computed unless given.
        """
        values = self._scaler.scale(self._sample).values
        if scores is None:
            known = ScaledRows(values, None, None)
            scores = self._scores([(slice(None), known)])
        terms = self._contributions(values)
        n_known = np.maximum((~np.isnan(values)).sum(axis=0), 1)
        self._typical = terms.sum(axis=0) / n_known  # 0 where missing
        shares = self._scaler.column_shares_
        self.typical_contributions_ = (
            self._typical if shares is None else self._typical @ shares
        )
        self._typical_rest = float(np.median(-scores - terms.sum(axis=1)))

    def _as_if_fitted(self, run, rows):
        """Return the attributes of a detector whose training ended here."""
        fitted = copy.copy(self)
        if self._noise is not None:
            fitted._noise = self._noise[run.members]
        with nets.compute():
            fitted._finish(rows, [run.state()])
        params = self.get_params(deep=False)
        return {
            name: value
            for name, value in vars(fitted).items()
            if name not in params
            and not name.startswith(("_skl", "_callback", "_parent"))
        }

    def _losses_so_far(self, run, rows):
        """Return the mean losses of rows over the members being trained."""
        now = copy.copy(self)
        now.weights_, now._statistics = (part[None] for part in run.state())
        if self._noise is not None:
            now._noise = self._noise[run.members]
        if run.network.has_gaps:
            now._learn_typical()
        return -now._scores(rows)

    def _diverged(self):
        return DivergedError(
            f"{type(self).__name__} diverged: its loss is no longer finite. "
            f"Lower learning_rate (now {self.learning_rate}) and fit again."
        )

    def set_contamination(self, contamination: float | str) -> Self:
        """Set the threshold anew, without training again.

        Parameters
        ----------
        contamination : "auto" or float
            Share of outliers in the training data, in (0, 0.5].

        Returns
        -------
        self : object
            The detector, with its `contamination` and `offset_` changed.
        """
        check_is_fitted(self, "offset_")
        before = self.contamination
        try:
            self.set_params(contamination=contamination)._validate_params()
        except ValueError:
            self.contamination = before
            raise
        self.offset_ = threshold(self.training_scores_, contamination)
        return self

    def __sklearn_is_fitted__(self):
        return hasattr(self, "offset_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # Scoring -------------------------------------------------------------------

    def score_samples(self, X: ArrayLike) -> NDArray[np.float64]:
        """Score rows: the lower, the more abnormal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The negated loss of each row, averaged over the members and the snapshots.
        """
        rows = self._scaled(X)
        with nets.compute():
            return finite(self._scores(rows), nan=-FLOAT32_MAX)

    def staged_score_samples(self, X: ArrayLike) -> Iterator[NDArray[np.float64]]:
        """Score rows as if training had ended earlier, for each stage of it.

        Needs a detector that was fitted with ``store_stages=True``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Yields
        ------
        scores : ndarray of shape (n_samples,)
            One array for each entry of `history_`: what `score_samples` would return
            had training ended there. The last one is `score_samples(X)`.
        """
        rows = self._scaled(X)
        if not hasattr(self, "_stages"):
            raise ValueError(
                "The stages of the training run were not kept; set store_stages=True "
                "and fit again."
            )
        return self._staged_scores(rows.kept())

    def _staged_scores(self, rows):
        scores = staged_scores(self, rows)
        while True:
            with nets.compute():
                stage = next(scores, None)
            if stage is None:
                return
            yield stage

    def _scaled(self, X):
        """Validate rows of new data and scale them for the network."""
        check_is_fitted(self, "offset_")
        X = validate_data(self, X, reset=False, **VALIDATION)
        return ScaledTable(self._scaler, X)

    def _scores(self, rows, by_member=None):
        """Score the rows of a table, or of some blocks of it.

        What the snapshots of each member add to the scores of the known cells is added
        to `by_member`, an array of shape (n_estimators, n_samples), if there is one.
        """
        n_snapshots, n_members = self.weights_.shape[:2]
        state = self.weights_, self._statistics, self._noise
        how = {"device": self.device_, "n_threads": effective_n_jobs(self.n_jobs)}
        scores = []
        for block, part in rows:
            total = np.zeros(len(part.values))
            by_snapshot = nets.snapshot_losses(
                self._shape(), *state, part.values, **how
            )
            for s, losses in enumerate(by_snapshot):
                if self._loss_ranges:
                    losses = rescaled(losses, self._loss_ranges[s])
                if by_member is not None:
                    by_member[:, block] -= losses
                total += sum(losses)  # the same for a row whatever the other rows
            scores.append(total / -(n_snapshots * n_members))
            if part.missing is not None or part.far is not None:
                scores[-1] = self._completed(scores[-1], part)
        return np.concatenate(scores)

    def _ranges(self, rows):
        """Return the minimum and the width of each member's losses, by snapshot."""
        states = list(zip(self.weights_, self._statistics, strict=True))
        low, high = np.inf, -np.inf
        for _, part in rows:
            losses = [self._losses(part.values, *state) for state in states]
            low = np.minimum(low, np.min(losses, axis=2))
            high = np.maximum(high, np.max(losses, axis=2))
        width = np.where(high > low, high - low, 1.0)
        return list(np.stack([low, width], axis=1))

    def _completed(self, scores, rows):
        """Add to the scores of known cells what missing and far cells account for."""
        if rows.missing is not None:
            typical = self.typical_contributions_, self._typical_rest
            n_features = (self._scaler.n_known_ > 0).sum()
            scores = -fill_gaps(-scores, rows.missing, *typical, n_features)
        if rows.far is not None:
            row, _, losses = rows.far
            far = np.bincount(row, losses, minlength=len(scores))
            scores = scores - self._loss_unit() * far
        return scores

    def _loss_unit(self):
        """Return what a loss of 1 is worth in the scores."""
        if not self._loss_ranges:
            return 1.0
        return np.mean([1 / width for _, width in self._loss_ranges])

    def _score_by_member(self, X):
        """Score rows by all members together, and by each of them alone."""
        rows = self._scaled(X)
        by_member = np.zeros((self.weights_.shape[1], len(rows)))
        with nets.compute():
            scores = self._scores(rows, by_member)
        by_member /= len(self.weights_)
        for block, part in rows:
            completed = [self._completed(own, part) for own in by_member[:, block]]
            by_member[:, block] = completed
        return tuple(finite(found, nan=-FLOAT32_MAX) for found in (scores, by_member))

    def _losses(self, values, weights, statistics, members=slice(None)):
        """Return the losses of scaled rows, (M, n), under one state of the networks.

        Missing cells add nothing.
        """
        noise = None if self._noise is None else self._noise[members]
        state = weights[None], statistics[None], noise
        how = {"device": self.device_, "n_threads": effective_n_jobs(self.n_jobs)}
        (losses,) = nets.snapshot_losses(self._shape(), *state, values, **how)
        return losses

    def _contributions(self, values):
        """Split the losses of scaled rows over their features, 0 in missing cells."""
        member_weights = np.ones(self.weights_.shape[:2], dtype=np.float32)
        if self._loss_ranges:
            widths = np.stack([width for _, width in self._loss_ranges])
            member_weights /= widths.astype(np.float32)
        total = np.zeros(values.shape)
        for terms in nets.snapshot_losses(
            self._shape(),
            self.weights_,
            self._statistics,
            self._noise,
            values,
            device=self.device_,
            member_weights=member_weights,
            n_threads=effective_n_jobs(self.n_jobs),
        ):
            total += terms
        return finite(total / member_weights.size, nan=FLOAT32_MAX)

    def _shape(self):
        return getattr(nets, self._shape_name)(**self._network_params)
