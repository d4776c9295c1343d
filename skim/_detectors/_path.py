"""One training, looked at as if it had ended earlier."""

import copy

import joblib
import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone

from skim._detectors._base import IMDetector
from skim._training._staging import ATTRIBUTES, new_stage_log, staged_scores
from skim._utils import evenly_spaced

MAX_CHECKED_ROWS = 512  # of the training data, that tell of a divergence


class Path:
    """The stages of one training of a detector.

    Parameters
    ----------
    detector : IMDetector
        Not fitted yet; it is trained, and all its stages are kept.
    epochs : list of int
        Numbers of epochs that will be asked for, in ascending order.
    """

    def __init__(self, detector, epochs):
        self.detector = detector
        self.epochs = epochs
        self._known: dict = {}

    def fit(self, X, y=None):
        """Train to the largest number of epochs.

        Returns
        -------
        self : Path
        """
        self.params = self.detector.get_params(deep=False)
        self.detector.set_params(epochs=self.epochs[-1], store_stages=True)
        self.detector._validate_params()
        self.detector._fit(X, y, watch=self._see, finish=False)
        self._training_scores = None
        sample = evenly_spaced(len(self.rows), MAX_CHECKED_ROWS)
        checked = self._scores(self.rows[sample], raw=True)
        self._is_finite = {e: np.isfinite(s).all() for e, s in checked.items()}
        return self

    def _see(self, run, rows):
        self.rows = rows

    def stage(self, epochs):
        """Return the stage after which a training of so many epochs ends."""
        ends = self.detector.history_["epoch"]
        return int(np.searchsorted(ends, epochs, side="right")) - 1

    def stopped(self, epochs):
        """Return the detector as if it had been trained for so many epochs.

        Returns
        -------
        detector : IMDetector or ValueError
            Whatever of it takes long is computed as soon as it is asked for. An
            exception if the training has gone astray by then.
        """
        if not self._is_finite[epochs]:
            return self.detector._diverged()
        stage = self.stage(epochs)
        view = copy.copy(self.detector)
        view.__class__ = stopped_class(_Stopped, type(self.detector))
        vars(view).update(self.params, epochs=epochs, _path=self)
        for name in (*LAZY, "past_"):
            vars(view).pop(name, None)
        history = self.detector.history_
        view.history_ = {name: column[: stage + 1] for name, column in history.items()}
        view.stages_ = self.detector.stages_[: stage + 1]
        self._tell_moments(view, stage)
        return view

    def _tell_moments(self, view, stage):
        """Set the attributes that tell which moments count, or drop the stages."""
        stages, history = view.stages_, view.history_
        since = np.argmax(stages == stages[stage], axis=0)
        if hasattr(view, "best_epochs_"):
            view.best_epochs_ = history["epoch"][since]
        if hasattr(view, "best_updates_"):
            view.best_updates_ = history["update"][since]
        if hasattr(view, "snapshot_epochs_"):
            moments = np.array(self.detector._moments_of_stage(stage))
            view.snapshot_epochs_ = moments + 1
            view.best_epoch_ = int(moments[-1]) + 1
        log = new_stage_log(view)
        n_bytes = view.stage_weights_[0].nbytes + view.stage_statistics_[0].nbytes
        n_states = stages.max() + 1
        if log is None or (log.max_bytes or np.inf) < n_bytes * n_states:
            for name in ATTRIBUTES:
                vars(view).pop(name, None)

    def foresee(self, X):
        """Score data at all numbers of epochs at once, since they will be asked for.

        Returns
        -------
        scores : dict of int to ndarray
        """
        X = self.detector._validate(X, reset=False)
        return self._scores(self.detector.scaler_.transform(X))

    def remember(self, X, scores):
        """Remember the scores of data, foreseen or of what it was made of."""
        self._known[joblib.hash(X)] = scores

    def scores(self, X, epochs):
        """Return the scores of data that were foreseen, or None."""
        known = self._known.get(joblib.hash(X))
        return None if known is None else known[epochs].copy()

    def forget(self):
        """Forget all data that was foreseen."""
        self._known.clear()

    def training_scores(self, epochs):
        """Return the scores of the training data."""
        if self._training_scores is None:
            self._training_scores = self._scores(self.rows)
        return self._training_scores[epochs]

    def _scores(self, rows, raw=False):
        stages = [self.stage(epochs) for epochs in self.epochs]
        distinct = sorted(set(stages))
        scores = staged_scores(self.detector, rows, distinct, raw=raw)
        by_stage = dict(zip(distinct, scores, strict=True))
        pairs = zip(self.epochs, stages, strict=True)
        return {epochs: by_stage[stage] for epochs, stage in pairs}


def _moments(view):
    return view._path.detector._moments_of_stage(len(view.history_["epoch"]) - 1)


def _kept(view, name):
    """Return the weights or statistics of the moments that count."""
    detector = view._path.detector
    return getattr(detector, name)[detector.stages_[_moments(view)]]


def _score_ranges(view):
    """Return where losses begin and how far they reach, of each moment and member."""
    detector, moments = view._path.detector, _moments(view)
    shape = len(moments), detector.stages_.shape[1]
    if not detector._rescales_losses():
        return np.zeros(shape), np.ones(shape)
    ranges = detector.stage_ranges_[moments]
    return ranges[:, 0], ranges[:, 1]


def _typical_contributions(view):
    from skim import _nets as nets

    with nets.compute(effective_n_jobs(view.n_jobs)):
        return view._typical_contributions(view._path.rows)


# What is left out of a view until it is asked for.
LAZY = {
    "weights_": lambda view: _kept(view, "stage_weights_"),
    "statistics_": lambda view: _kept(view, "stage_statistics_"),
    "score_center_": lambda view: _score_ranges(view)[0],
    "score_scale_": lambda view: _score_ranges(view)[1],
    "training_scores_": lambda view: view._path.training_scores(view.epochs),
    "offset_": lambda view: view._offset(view.training_scores_),
    "typical_contributions_": _typical_contributions,
}


class _Stopped(IMDetector):
    """Mixin that turns a detector into a view of itself, earlier in training."""

    def __getattr__(self, name):
        if name not in LAZY:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}"
            )
        self.__dict__[name] = LAZY[name](self)
        return self.__dict__[name]

    def __sklearn_is_fitted__(self):
        return True

    def __sklearn_clone__(self):
        return clone(plain(self, vars(self)))

    def __reduce_ex__(self, protocol):
        # Elsewhere, it is a plain detector.
        values = {name: getattr(self, name) for name in LAZY}
        state = {k: v for k, v in vars(self).items() if k != "_path"} | values
        return reduced(self, state)

    def score_samples(self, X):
        """Score rows: the lower, the more of an outlier."""
        foreseen = self._path.scores(X, self.epochs)
        return super().score_samples(X) if foreseen is None else foreseen


def plain(view, state):
    """Return an instance, with a state, of the class that a view was made of."""
    instance = new_instance(type(view).__mro__[2])
    vars(instance).update(state)
    return instance


def reduced(view, state):
    """Return what `__reduce_ex__` of a view has to return."""
    instance = plain(view, state)
    return new_instance, (type(instance),), instance.__getstate__()


def new_instance(cls):
    """Return an instance that nothing has been done with yet."""
    return cls.__new__(cls)


def stopped_class(mixin, cls):
    """Return a class that is a mixin first and a class for the rest."""
    return type(cls.__name__, (mixin, cls), {"__module__": cls.__module__})
