"""Training on data that comes in parts."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils.validation import validate_data

from skim import _nets as nets
from skim._detectors._base import N_TYPICAL_ROWS, VALIDATION, IMDetector
from skim._detectors._scaling import ScaledTable
from skim._training._history import History
from skim._training._resume import check_fixed, resumable
from skim._utils import evenly_spaced

MAX_REMEMBERED_ROWS = 4096  # of a stream, which set the threshold


class ResumableDetector(IMDetector):
    """Base class of the detectors that can resume a training run.

    Warning: this class should not be used directly. Use derived classes instead.
    """

    _parameter_constraints: dict = {
        **IMDetector._parameter_constraints,
        "warm_start": ["boolean"],
    }

    epochs: int
    n_estimators: int
    verbose: int
    updates_per_epoch: Any

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: object = None) -> Self:
        """Train on more rows, in one pass over them.

        For data that comes in parts. The features are scaled by the running range,
        mean and standard deviation of all rows seen so far; the first part should be
        representative of the rest, and of a wide table it sets the components. Rows
        are scored by the networks as they are after the latest part: no snapshots are
        chosen, and `epochs`, `stopping` and the parameters that go with them have no
        effect. The threshold is set by a
        random sample of 4,096 of the rows that `partial_fit` has seen so far.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            At least two rows; some hundreds or more are better.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The detector. After `fit`, its networks are trained further.
        """
        is_first = not hasattr(self, "offset_")
        if is_first:
            for name in ("_past", "history_"):  # of a run that failed later
                self.__dict__.pop(name, None)
        else:
            check_fixed(self, self._fixed_params)
        part = validate_data(
            self, X, reset=is_first, ensure_min_samples=2, **VALIDATION
        )
        before = dict(vars(self))
        try:
            if is_first:
                self.device_ = nets.resolve_device(self.device)
                self._set_up(part)
            else:
                self._scaler = copy.copy(self._scaler).partial_fit(part)
                fill = {"fill": self._scaler.fill_}
                self._network_params = self._network_params | fill
            with nets.compute():
                self._train_on_part(part, None if is_first else self._stream_state())
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _stream_state(self):
        """Return the run to resume with the next part."""
        past = getattr(self, "_past", {})
        if "remembered" in past:
            return past
        return {  # after `fit`: its last networks, with a fresh optimiser
            "weights": self.weights_[-1],
            "statistics": self._statistics[-1],
            "n_updates": int(self.history_["update"][-1]),
            "n_epochs": 0,
        }

    def _train_on_part(self, X, past):
        """Train on more rows, and score with the networks as they are then."""
        rows = ScaledTable(self._scaler, X)
        run = self._new_run(rows.kept(), past)
        losses = self._one_pass(run)
        history = getattr(self, "history_", None)
        n_parts = 0 if history is None else int(history["epoch"][-1])
        record = History(type(self).__name__, None, self.verbose, past=history)
        record.record(n_parts + 1, run.n_updates, losses.shape[1], losses)
        record.close()
        self.history_ = record.columns()
        for name in ("_stages", "snapshot_epochs_", "best_epoch_", "best_epochs_"):
            self.__dict__.pop(name, None)
        self.training_rows_ = None
        self._remember(X, run)
        rows = ScaledTable(self._scaler, self._past["remembered"])
        self._sample = rows.X[evenly_spaced(len(rows), N_TYPICAL_ROWS)]
        self._finish(rows, [run.state()])

    def _one_pass(self, run):
        """Update the networks in one pass over the rows; return the last losses."""
        n_rows = 0
        try:
            while n_rows < run.n_rows:
                epoch = run.n_updates // (self.updates_per_epoch or 1) + 1
                losses = self._update(run, epoch)
                n_rows += losses.shape[1]
            run.check_finite(losses)
        except nets.NonFiniteLossError:
            raise self._diverged() from None
        return losses

    def _remember(self, X, run):
        """Keep the state, and a random sample of the rows seen so far."""
        run.carried = {}
        keys = run.draw_keys(len(X))
        chosen = _smallest(keys)
        keys, X = keys[chosen], X[chosen].astype(np.float64)
        past = getattr(self, "_past", {})
        if "remembered" in past:
            keys = np.concatenate([past["keys"], keys])
            X = np.concatenate([past["remembered"], X])
            chosen = _smallest(keys)
            keys, X = keys[chosen], X[chosen]
        sample = {"remembered": X, "keys": keys}
        self._past = resumable(self, run) | sample
        for name in ("orders", "position"):  # of rows that will not come again
            self._past.pop(name, None)


def _smallest(keys):
    """Return the places of the smallest keys, in ascending order."""
    return np.sort(np.argsort(keys, kind="stable")[:MAX_REMEMBERED_ROWS])
