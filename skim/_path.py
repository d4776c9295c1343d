"""One training, looked at as if it had ended earlier."""

import copy

import numpy as np
from joblib import effective_n_jobs

from skim._base import IMDetector
from skim._staging import staged_scores


class Path:
    """The stages of one training of a detector.

    Parameters
    ----------
    detector : IMDetector
        Not fitted yet; it becomes so.
    epochs : list of int
        Numbers of epochs that will be asked for, in ascending order.
    """

    def __init__(self, detector, epochs):
        self.detector = detector
        self.epochs = epochs
        self._known: tuple = None, {}

    def fit(self, X, y=None):
        """Train to the largest number of epochs.

        Returns
        -------
        self : Path
        """
        self.detector.set_params(epochs=self.epochs[-1], store_stages=True)
        self.detector._validate_params()
        self.detector._fit(X, y, watch=self._see, finish=False)
        self._training_scores = None
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
        detector : IMDetector
            Whatever of it takes long is computed as soon as it is asked for.
        """
        view = copy.copy(self.detector)
        view.__class__ = _stopped_class(type(self.detector))
        for name in LAZY:
            vars(view).pop(name, None)
        view.epochs = epochs
        view._path = self
        stage = self.stage(epochs)
        history = self.detector.history_
        view.history_ = {name: column[: stage + 1] for name, column in history.items()}
        return view

    def foresee(self, X):
        """Score data at all numbers of epochs at once, since they will be asked for."""
        X_valid = self.stopped(self.epochs[-1])._validate_new(X)
        self._known = X, self._scores(self.detector.scaler_.transform(X_valid))

    def scores(self, X, epochs):
        """Return the scores of data that were foreseen, or None."""
        known, scores = self._known
        return scores[epochs].copy() if known is X else None

    def training_scores(self, epochs):
        """Return the scores of the training data."""
        if self._training_scores is None:
            self._training_scores = self._scores(self.rows)
        return self._training_scores[epochs]

    def _scores(self, rows):
        stages = [self.stage(epochs) for epochs in self.epochs]
        scores = staged_scores(self.detector, rows, sorted(set(stages)))
        by_stage = dict(zip(sorted(set(stages)), scores, strict=True))
        pairs = zip(self.epochs, stages, strict=True)
        return {epochs: by_stage[stage] for epochs, stage in pairs}


def _stage_arrays(view):
    """Return the weights and statistics of the moments that count."""
    stages = view.stages_[_moments(view)]
    return view.stage_weights_[stages], view.stage_statistics_[stages]


def _moments(view):
    return view._path.detector._moments_of_stage(len(view.history_["epoch"]) - 1)


def _score_ranges(view):
    """Return where losses begin and how far they reach, of each moment and member."""
    shape = len(_moments(view)), view.stages_.shape[1]
    if not view._rescales_losses():
        return np.zeros(shape), np.ones(shape)
    ranges = view.stage_ranges_[_moments(view)]
    return ranges[:, 0], ranges[:, 1]


def _typical_contributions(view):
    from skim import nets

    with nets.compute(effective_n_jobs(view.n_jobs)):
        return view._typical_contributions(view._path.rows)


# What is left out of a view until it is asked for.
LAZY = {
    "weights_": lambda view: _stage_arrays(view)[0],
    "statistics_": lambda view: _stage_arrays(view)[1],
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

    def score_samples(self, X):
        """Score rows: the lower, the more of an outlier."""
        foreseen = self._path.scores(X, self.epochs)
        return super().score_samples(X) if foreseen is None else foreseen


def _stopped_class(cls):
    return type(cls.__name__, (_Stopped, cls), {"__module__": cls.__module__})
