"""The base class of the detectors: validate, scale, train, score, set the threshold."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_is_fitted, validate_data

from skim import _nets as nets
from skim._detectors._ema import EMAWarmStart
from skim._detectors._threshold_mixin import (
    CONTAMINATION,
    ThresholdMixin,
    set_verdict,
)
from skim._model._expectations import cells_to_blame
from skim._model._fitted import FLOAT32_MAX, FittedModel, finite
from skim._model._networks import AutoencoderConfig, NetworkConfig, VAEConfig
from skim._model._scaling import ScaledTable
from skim._training._boosting import IMBoostSchedule
from skim._training._schedules import (
    ALTBISchedule,
    BestEpochSchedule,
    ODIMSchedule,
    Schedule,
)
from skim._training._stopping import CRITERIA
from skim._training._train import History, train
from skim._utils import (
    evenly_spaced,
    import_pandas,
    own_random_state,
    unmasked,
)

if TYPE_CHECKING:
    import pandas as pd

N_TYPICAL_ROWS = 2048  # of the training data, kept to tell what is usual
MAX_ROWS = 1_000_000  # beyond this, a sample stands for all but in scaling
N_SAMPLED_ROWS = 200_000

NETWORKS: dict[str, Callable] = {
    "vae": VAEConfig,
    "autoencoder": AutoencoderConfig,
}
SCHEDULES: dict[str, type] = {
    "altbi": ALTBISchedule,
    "odim": ODIMSchedule,
    "best_epoch": BestEpochSchedule,
    "imboost": IMBoostSchedule,
}


class DivergedError(ValueError):
    """The loss of a training run is no longer finite."""


class BaseDetector(EMAWarmStart, ThresholdMixin, BaseEstimator, metaclass=ABCMeta):
    """Base class of the detectors built on the inlier-memorization effect.

    A detector is a network, a schedule by which it is trained and a criterion that says
    when to stop. Derived classes name the three, and their other defaults.

    Warning: this class should not be used directly. Use derived classes instead.
    """

    _parameter_constraints: dict = {
        "network": [StrOptions(set(NETWORKS)), NetworkConfig],
        "schedule": [StrOptions(set(SCHEDULES)), Schedule],
        "stopping": [StrOptions(set(CRITERIA)), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "ema_steps": EMAWarmStart._parameter_constraints["ema_steps"],
        "contamination": CONTAMINATION,
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "device": [str],
        "store_snapshots": ["boolean"],
        "verbose": ["verbose"],
    }

    ema_decay = 0.999  # of the paper
    _networks = NETWORKS
    model_: FittedModel

    @classmethod
    def paper(cls, **params: Any) -> Self:
        """Make a detector with the settings of the original method.

        Parameters
        ----------
        **params : dict
            Parameters to override, such as ``ema_steps=50`` for the warm-up.

        Returns
        -------
        detector : object
        """
        return cls(**(cls._published() | params))

    @staticmethod
    @abstractmethod
    def _published():
        """Return the parameters of the original method."""

    # Fitting -------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: object = None, *, observe: Callable | None = None
    ) -> Self:
        """Fit the detector to unlabelled data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training data, outliers included. Missing cells are NaN.

        y : Ignored
            Not used, present for API consistency by convention.

        observe : callable, default=None
            Called after every entry of `history_` with a model of the current state,
            as in `model_`, and the scaled training data. If it returns True, training
            ends.

        Returns
        -------
        self : object
        """
        n_threads = effective_n_jobs(self.n_jobs)
        with nets.compute():
            self._fit(X, observe, n_threads)
        return self

    def _fit(self, X, observe, n_threads):
        checked = clone(self)  # takes the names of the columns
        X = _validated(checked, X, reset=True, ensure_min_samples=2)
        network, schedule = self._network(), _resolved(self.schedule, SCHEDULES)
        schedule.validate(self.epochs, self.stopping)
        network.validate(X.shape[1])
        is_clean = self.contamination == 0
        n_members = self.n_estimators
        if is_clean:
            schedule = schedule.for_clean_data()
            if n_members < 2:
                raise ValueError(
                    "contamination=0 needs n_estimators of at least 2, so that each "
                    f"row is left out by one network; got {n_members}."
                )
        device = nets.resolve_device(self.device)
        scaler = network.scaler(X.shape[1]).fit(X)
        _check_columns(scaler, getattr(checked, "feature_names_in_", None))
        training_rows = None
        if len(X) > MAX_ROWS:
            training_rows = sample_without_replacement(
                len(X), N_SAMPLED_ROWS, random_state=own_random_state(self.random_state)
            )
            training_rows.sort()
            X = X[training_rows]
        rows = ScaledTable(scaler, X).kept()
        model = FittedModel(
            scaler=scaler,
            network=network.settings(),
            schedule=schedule.settings(),
            stopping=None if is_clean else self.stopping,
            device=device,
            training_rows=training_rows,
            sample=X[evenly_spaced(len(X), N_TYPICAL_ROWS)],
            n_members=n_members,
            folds=_folds(n_members, len(X), self.random_state) if is_clean else None,
        )
        model = self._trained(model, schedule, rows, observe)
        set_fitted(self, model, rows, checked, n_threads)

    def _network(self):
        """Return the settings of the network."""
        return _resolved(self.network, self._networks)

    def _trained(self, model, schedule, rows, observe):
        """Return a model after training on scaled data."""
        run = self._new_run(model, schedule, rows)
        noise = None if run.noise is None else run.noise.cpu().numpy()
        model = replace(model, noise=noise)

        def on_entry():
            now = model.with_state(run.state(), run.members)
            with nets.outside_compute():
                return observe(now, rows)

        history = History(
            type(self).__name__,
            self.epochs if schedule.entries_are_epochs else None,
            self.verbose,
            None if observe is None else on_entry,
        )
        how = schedule, model.stopping, self.epochs, history, self.store_snapshots
        try:
            snapshots, log = train(run, *how)
        except nets.NonFiniteLossError:
            raise _diverged(self) from None
        found = {"snapshots": snapshots, "log": log, "history": history.columns()}
        return replace(model, **found).normalized(rows)

    def _new_run(self, model, schedule, rows):
        """Return a training run that is about to start."""
        left_out = None
        if model.folds is not None:
            left_out = np.arange(model.n_members)[:, None] == model.folds
        device, n_members = model.device, model.n_members
        seed = own_random_state(self.random_state).randint(2**31 - 1)
        generator = nets.seeded_generator(seed, device)
        data = rows if rows.scaled is None else nets.as_tensor(rows.scaled, device)
        weights = model.shape.draw_weights(n_members, generator)
        noise = model.shape.draw_noise(n_members, generator)
        new_run = partial(nets.Run, model.shape, weights)
        if self.ema_steps:
            optimiser = schedule.optimiser(weights)
            warm_up = new_run(optimiser, data, generator, left_out=left_out)
            self.ema_warm_up(weights, lambda: schedule.update(warm_up, 1))
        return new_run(schedule.optimiser(weights), data, generator, noise, left_out)

    def set_params(self, **params: Any) -> Self:
        """Set the parameters of the detector, of its network and of its schedule.

        Parameters
        ----------
        **params : dict
            Parameters by name; those of the schedule are named like
            ``schedule__batch_size``.

        Returns
        -------
        self : object
        """
        for part, choices in (("network", self._networks), ("schedule", SCHEDULES)):
            given = params.get(part, getattr(self, part))
            is_nested = any(name.startswith(f"{part}__") for name in params)
            if is_nested:
                params = params | {part: _resolved(given, choices)}
        return super().set_params(**params)

    # What was learned ----------------------------------------------------------

    @property
    def history_(self) -> dict[str, NDArray]:
        """Record of the training run."""
        return {name: column.copy() for name, column in self.model_.history.items()}

    @property
    def best_epochs_(self) -> NDArray[np.int_]:
        """The epoch at which each member was kept."""
        return self.history_["epoch"][self.model_.snapshots.entries[-1]]

    @property
    def training_rows_(self) -> NDArray[np.intp] | None:
        """The rows of a large table that were used."""
        return self.model_.training_rows

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
        rows = scaled_table(self, X)
        with nets.compute():
            return self.model_.scores(rows, n_threads=effective_n_jobs(self.n_jobs))

    def staged_score_samples(self, X: ArrayLike) -> Iterator[NDArray[np.float64]]:
        """Score rows as if training had ended earlier, after every entry of it.

        Needs a detector that was fitted with ``store_snapshots=True``.

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
        rows = scaled_table(self, X).kept()
        if self.model_.log is None:
            raise ValueError(
                "The snapshots of the training run were not stored; set "
                "store_snapshots=True and fit again."
            )
        staged = self.model_.staged_losses(rows)
        while True:
            with nets.compute():
                losses = next(staged, None)
            if losses is None:
                return
            yield finite(-losses, nan=-FLOAT32_MAX)

    def feature_space(self, X: ArrayLike) -> NDArray[np.float32]:
        """Return the scaled features of rows, without the ranks that networks may see.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to scale.

        Returns
        -------
        values : ndarray of shape (n_samples, n_scaled)
            The scaled features, or the principal components of a wide table; NaN in
            missing cells.
        """
        table = scaled_table(self, X)
        with nets.compute():
            return table.inputs()

    # Explaining ----------------------------------------------------------------

    def explain(self, X: ArrayLike, *, relative: bool = False) -> NDArray[np.float64]:
        """Split each row's score over its features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to explain.

        relative : bool, default=False
            Whether to subtract what each feature contributes in an ordinary row of
            the training data. The largest values of a row then name the columns
            that make it abnormal, even where some columns are noisy in all rows.

        Returns
        -------
        contributions : ndarray of shape (n_samples, n_features)
            What each feature adds to the loss ``-score_samples(X)``. The sum over
            a row is the row's loss, up to the part that the latent code and a
            normalization of the losses account for (none in
            :class:`IMAutoencoderDetector`).
        """
        table, n_threads = scaled_table(self, X), effective_n_jobs(self.n_jobs)
        with nets.compute():
            contributions = self.model_.contributions(table, n_threads=n_threads)
            if relative:
                contributions -= self.model_.typical.by_column
        return contributions

    def reasons(self, X: ArrayLike, *, n_reasons: int | None = 3) -> pd.DataFrame:
        """Compare the cells that make rows abnormal with what to expect in them.

        The expected value of a cell is predicted from the other cells of its row, and
        the range holds nine of ten values in such rows, both learned from a sample of
        the training data. The cell itself is not used for it, nor are missing cells
        and those far outside the usual values of their column.

        Cells come in the order in which they are to blame: first those far from the
        usual values of their column, then others outside of their range, then the
        rest and missing cells last; within each group by their contributions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to explain.

        n_reasons : int or None, default=3
            Number of cells per row; None means all.

        Returns
        -------
        reasons : DataFrame
            `n_reasons` rows for each row of `X`, with the columns "row" (its index, or
            its number), "feature", "value", "expected", "low", "high",
            "contribution", as of :meth:`explain` with ``relative=True``, and
            "is_outside": whether the value is outside of its range.
        """
        pd = import_pandas("reasons needs pandas: pip install pandas")
        table = scaled_table(self, X, dtype=np.float64)
        n_rows, n_features = table.X.shape
        n_reasons = n_features if n_reasons is None else min(n_reasons, n_features)
        contributions = self.explain(X, relative=True)
        with nets.compute(), np.errstate(over="ignore", invalid="ignore"):
            cells = cells_to_blame(self.model_, table, contributions, n_reasons)
        index = getattr(X, "index", None)
        index = index if isinstance(index, pd.Index) else pd.RangeIndex(n_rows)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = np.array([f"x{j}" for j in range(n_features)])
        named = {
            "row": np.repeat(np.asarray(index), n_reasons),
            "feature": names[cells.pop("column")].ravel(),
        }
        return pd.DataFrame(named | {name: cells[name].ravel() for name in cells})


def scaled_table(detector, X, **checks):
    """Validate new rows, to be scaled for the networks of a fitted detector."""
    check_is_fitted(detector)
    return ScaledTable(detector.model_.scaler, _validated(detector, X, **checks))


def set_fitted(detector, model, rows, checked, n_threads=1):
    """Set the attributes of a fitted detector, the only place that does."""
    scores = -model.losses(rows, n_threads=n_threads)
    if not np.isfinite(scores).all():
        raise _diverged(detector)
    held_out = None if model.folds is None else -model.held_out_losses(rows)
    set_verdict(detector, checked, scores, held_out)
    detector.model_ = model


def _folds(n_members, n_rows, random_state):
    """Return which member does not see each row."""
    places = own_random_state(random_state).permutation(n_rows)
    return (places % n_members).astype(np.min_scalar_type(n_members))


def _validated(estimator, X, *, reset=False, dtype=(np.float64, np.float32), **checks):
    """Return rows as numbers, NaN where missing."""
    X = unmasked(X)
    try:
        with np.errstate(invalid="ignore"):  # the sum of cells may overflow both ways
            return validate_data(
                estimator,
                X,
                reset=reset,
                dtype=dtype,
                ensure_all_finite="allow-nan",
                **checks,
            )
    except (TypeError, ValueError) as error:
        if "could not convert string" not in str(error):
            raise
        raise ValueError(
            f"{type(estimator).__name__} needs numbers: {error}; use "
            "skim.TableDetector for such tables."
        ) from error


def _check_columns(scaler, names):
    """Warn of columns that have no values at all."""
    is_empty = scaler.n_known_ == 0
    if is_empty.all():
        raise ValueError("X has no values: all its cells are missing.")
    if is_empty.any():
        names = np.arange(len(is_empty)) if names is None else names
        found = ", ".join(map(str, names[is_empty][:5]))
        warnings.warn(f"Columns without any value are ignored: {found}.", stacklevel=5)


def _resolved(part, choices):
    """Return a part of a detector that may be given by its name."""
    return choices[part]() if isinstance(part, str) and part in choices else part


def _diverged(detector):
    rate = _resolved(detector.schedule, SCHEDULES).learning_rate
    return DivergedError(
        f"{type(detector).__name__} diverged: its loss is no longer finite. "
        f"Lower the learning_rate of its schedule (now {rate}) and fit again."
    )
