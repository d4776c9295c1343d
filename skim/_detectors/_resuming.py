"""Going on with a training: more epochs, or more rows."""

import copy
import warnings

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import _fit_context

from skim._detectors._base import IMDetector
from skim._training._history import Monitor
from skim._training._staging import ATTRIBUTES

MAX_REMEMBERED_ROWS = 4096  # of a stream, that set the threshold

# What cannot change while a training goes on, and what also not while a `fit` does.
LASTING_IN_STREAMS = (
    "n_estimators",
    "n_importance",
    "max_width",
    "hidden_units",
    "activation",
    "train_decoder",
    "solver",
    "scaling",
)
LASTING = (*LASTING_IN_STREAMS, "rescale", "stopping", "min_epochs")
KEPT = (*LASTING, "patience")


class ResumableDetector(IMDetector):
    """Base class of the detectors that can go on with a training.

    Warning: this class should not be used directly. Use derived classes instead.
    """

    epochs: int
    n_estimators: int
    verbose: int
    warm_start: bool

    _parameter_constraints: dict = {
        **IMDetector._parameter_constraints,
        "warm_start": ["boolean"],
    }

    def _past(self):
        """Return the training that `fit` is to go on with, or None."""
        past = getattr(self, "past_", {})
        if not (self.warm_start and hasattr(self, "offset_") and past.get("n_epochs")):
            return None
        self._check_settings(LASTING)
        self._check_patience(past["settings"].get("patience"))
        if self.epochs < past["n_epochs"]:
            raise ValueError(
                f"epochs={self.epochs}, but {past['n_epochs']} epochs were trained "
                "already; with warm_start=True, no less can be asked for."
            )
        if self.epochs == past["n_epochs"]:
            warnings.warn(
                "Warm start without more epochs than before trains nothing.",
                stacklevel=4,
            )
        elif self._is_over():
            warnings.warn(
                f"The training was over after epoch {past['n_epochs']}, and is not "
                "gone on with; that takes more patience, or patience=None.",
                stacklevel=4,
            )
        return past

    def _is_over(self):
        """Whether the training before has ended by itself."""
        return False

    def _check_settings(self, names):
        """Refuse to go on with what was trained otherwise."""
        before = self.past_["settings"]
        params = self.get_params(deep=False)
        changed = [name for name in names if before.get(name) != params.get(name)]
        if changed:
            name = changed[0]
            raise ValueError(
                f"{name} was {before[name]!r} when the training began, and cannot "
                f"become {params[name]!r} while it goes on; clone the detector to "
                "start anew."
            )

    def _check_patience(self, before):
        """Refuse to go on where a training with less patience would have ended."""
        now = getattr(self, "patience", None)
        if now is not None and (before is None or now < before):
            raise ValueError(
                f"patience was {before} so far and cannot become {now} while the "
                "training goes on: with less of it, it might have ended before; clone "
                "the detector to start anew."
            )

    def _settings(self):
        params = self.get_params(deep=False)
        return {name: params[name] for name in KEPT if name in params}

    def _keep_past(self, run):
        """Keep what it takes to go on from here, if that may be asked for."""
        self.__dict__.pop("past_", None)
        if self.warm_start:
            self.past_ = run.export() | {"settings": self._settings()}

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None):
        """Train on some more rows, one pass over them, and forget them.

        For data that comes in parts. How features are scaled follows all rows seen so
        far, by their running range, mean and standard deviation; a first part that
        is not like the rest makes for a bad start. The networks as they are after
        the latest part score; there is no choice of moments, and `epochs`, `stopping`,
        `patience` and `n_snapshots` do not count. The threshold is set by a random
        sample of 4,096 of the rows seen so far.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, two at least; some hundreds or more are better.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The detector. After a `fit`, it goes on with the networks of that.
        """
        from skim import _nets as nets

        is_first = not hasattr(self, "offset_")
        if is_first:
            for name in ("past_", "history_"):  # of a training that failed later
                self.__dict__.pop(name, None)
        elif "past_" in vars(self):
            self._check_settings(LASTING_IN_STREAMS)
        X = self._validate(X, reset=is_first, ensure_min_samples=2)
        before = dict(vars(self))
        try:
            if is_first:
                self.device_ = nets.resolve_device(self.device)
                self._set_up(X)
            else:
                self.scaler_ = copy.copy(self.scaler_).partial_fit(X)
            with nets.compute(effective_n_jobs(self.n_jobs)):
                self._learn(X, None if is_first else self._stream_state())
        except Exception:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _learn(self, X, past):
        """Train on more rows and score with the networks as they are then."""
        run = self._new_run(self.scaler_.transform(X), past)
        self._train_once(run, X)
        self._forget_moments()
        self._remember(X, run)
        rows = self.scaler_.transform(self.past_["remembered"])
        self._finish(rows, [run.state()])

    def _stream_state(self):
        """Return where the stream has come to."""
        past = getattr(self, "past_", {})
        if "remembered" in past:
            return past
        return {  # after a `fit`: its last networks, with a fresh optimiser
            "weights": self.weights_[-1],
            "statistics": self.statistics_[-1],
            "n_updates": int(self.history_["update"][-1]),
            "n_epochs": 0,
        }

    def _train_once(self, run, X):
        from skim import _nets as nets

        past = getattr(self, "history_", None)
        monitor = Monitor(type(self).__name__, None, self.verbose, past=past)
        n_rows = 0
        try:
            while n_rows < len(X):
                losses = self._next_update(run)
                n_rows += losses.shape[1]
            run.check_finite(losses)
        except nets.NonFiniteLossError:
            raise self._diverged() from None
        n_parts = 0 if past is None else int(past["epoch"][-1])
        monitor.record(
            epoch=n_parts + 1,
            update=run.n_updates,
            batch_size=losses.shape[1],
            losses=losses,
        )
        monitor.close()
        self.history_ = monitor.history()

    def _forget_moments(self):
        """Remove what tells of the moments of a `fit`."""
        for name in (*ATTRIBUTES, "snapshot_epochs_", "best_epoch_", "best_epochs_"):
            self.__dict__.pop(name, None)

    def _remember(self, X, run):
        """Keep the state, and a random sample of the rows seen so far."""
        run.carried = {}
        keys = run.draw_keys(len(X))
        X = X.astype(np.float64)
        past = getattr(self, "past_", {})
        if "remembered" in past:
            keys = np.concatenate([past["keys"], keys])
            X = np.concatenate([past["remembered"], X])
        chosen = np.argsort(keys, kind="stable")[:MAX_REMEMBERED_ROWS]
        chosen.sort()
        sample = {"remembered": X[chosen], "keys": keys[chosen]}
        self.past_ = run.export() | sample | {"settings": self._settings()}
