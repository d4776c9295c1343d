"""One training, scored at several numbers of epochs."""

import copy
import warnings
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection._validation import _score
from sklearn.pipeline import Pipeline

from skim._detectors._base import DivergedError, IMDetector
from skim._detectors._path import Path, plain, reduced, stopped_class


def detector_of(estimator):
    """Return the detector of skim that an estimator is, or that it ends with."""
    detector = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if isinstance(detector, type):
        raise TypeError(f"The estimator must be an instance: {detector.__name__}(...).")
    if not isinstance(detector, IMDetector):
        raise TypeError(
            "EpochSearchCV needs one of skim's own detectors, or a Pipeline that ends "
            f"with one, not {type(detector).__name__}."
        )
    return detector


def has_a_path(detector):
    """Whether nobody has changed what it means to fit and to score."""
    cls = type(detector)
    methods = ("fit", "score_samples", "decision_function", "predict")
    return all(getattr(cls, name) is getattr(IMDetector, name) for name in methods)


class EpochTrainer(BaseEstimator):
    """Trains an estimator once, for several numbers of epochs.

    Parameters
    ----------
    estimator : IMDetector or Pipeline
        A clone of it is trained.
    epochs : list of int
        In ascending order.
    """

    def __init__(self, estimator, epochs):
        self.estimator = estimator
        self.epochs = epochs

    def fit(self, X, y=None, **params):
        """Train to the largest number of epochs."""
        self.path_: Any = None
        if has_a_path(detector_of(self.estimator)):
            try:
                self._fit_once(X, y, **params)
            except DivergedError:
                if len(self.epochs) == 1:
                    raise
        if self.path_ is None:  # a shorter training may well succeed
            self._fit_each(X, y, **params)
        return self

    def _fit_once(self, X, y, **params):
        model = clone(self.estimator)
        if isinstance(model, Pipeline) and len(model.steps) > 1:
            preparation = model[:-1]
            X = preparation.fit_transform(X, y, **params)
            params = {}
            model.steps = [*preparation.steps, model.steps[-1]]
        self.path_ = Path(detector_of(model), self.epochs).fit(X, y, **params)
        self.model_ = model

    def _fit_each(self, X, y, **params):
        self.models_ = {}
        for epochs in self.epochs:
            model = clone(self.estimator)
            detector_of(model).set_params(epochs=epochs)
            try:
                self.models_[epochs] = model.fit(X, y, **params)
            except Exception as error:
                self.models_[epochs] = error
        errors = list(self.models_.values())
        if all(isinstance(error, Exception) for error in errors):
            raise errors[-1]

    def fitted(self, X):
        """Yield every number of epochs and the estimator, ready to score `X`.

        Instead of an estimator that could not be trained, its exception is given.
        """
        if self.path_ is None:
            yield from self.models_.items()
            return
        self._foresee(X)
        for epochs in self.epochs:
            detector = self.path_.stopped(epochs)
            if isinstance(detector, Exception) or not isinstance(self.model_, Pipeline):
                yield epochs, detector
            else:
                yield epochs, self._pipeline(detector)

    def _foresee(self, X):
        path = self.path_
        path.forget()
        seen = X
        if isinstance(self.model_, Pipeline) and len(self.model_.steps) > 1:
            seen = self.model_[:-1].transform(fresh(X))
        scores = path.foresee(seen)
        path.remember(seen, scores)
        path.remember(X, scores)

    def _pipeline(self, detector):
        view = copy.copy(self.model_)
        view.__class__ = stopped_class(_StoppedPipeline, type(self.model_))
        view.steps = [*self.model_.steps[:-1], (self.model_.steps[-1][0], detector)]
        return view


class _StoppedPipeline(Pipeline):
    """Mixin that turns a Pipeline into one that knows scores of some data."""

    def _foreseen(self, X):
        detector = self.steps[-1][1]
        path = getattr(detector, "_path", None)
        return None if path is None else path.scores(X, detector.epochs)

    def __sklearn_clone__(self):
        return clone(plain(self, vars(self)))

    def __reduce_ex__(self, protocol):
        # Elsewhere, it is a plain Pipeline.
        return reduced(self, vars(self))

    def score_samples(self, X):
        """Score rows: the lower, the more of an outlier."""
        foreseen = self._foreseen(X)
        return super().score_samples(X) if foreseen is None else foreseen

    def decision_function(self, X, **params):
        """Score rows relative to the threshold."""
        foreseen = None if params else self._foreseen(X)
        if foreseen is None:
            return super().decision_function(X, **params)
        return foreseen - self.steps[-1][1].offset_

    def predict(self, X, **params):
        """Tell inliers from outliers."""
        foreseen = None if params else self._foreseen(X)
        if foreseen is None:
            return super().predict(X, **params)
        return self.steps[-1][1]._labels(foreseen)


class EpochScorer:
    """Scores an `EpochTrainer` at all its numbers of epochs.

    Parameters
    ----------
    scorer : callable
        For a single estimator.
    error_score : "raise" or float
        As of GridSearchCV.
    """

    def __init__(self, scorer, error_score):
        self.scorer = scorer
        self.error_score = error_score

    def __call__(self, trainer, X, y=None, **params):
        """Return a score for every ``(epochs,)``, or every ``(epochs, name)``."""
        results: dict = {}
        for epochs, model in self._models(trainer, X):
            if isinstance(model, Exception):
                scores = self._failed(epochs, model)
            else:
                # What a scorer does to the data must not reach the next one.
                scores = _score(
                    model, fresh(X), y, self.scorer, params, self.error_score
                )
            if isinstance(scores, dict):
                results |= {(epochs, name): score for name, score in scores.items()}
            else:
                results[epochs,] = scores
        return results

    def _models(self, trainer, X):
        try:
            yield from trainer.fitted(X)
        except Exception as error:  # of a transformer, on the test rows
            yield from ((epochs, error) for epochs in trainer.epochs)

    def _failed(self, epochs, error):
        if self.error_score == "raise":
            raise error
        warnings.warn(
            f"The candidate with epochs={epochs} failed. Its scores on this train-test "
            f"partition will be set to {self.error_score}. Details: {error}",
            FitFailedWarning,
            stacklevel=2,
        )
        return self.error_score


def fresh(X):
    """Return a copy of data."""
    return X.copy() if hasattr(X, "copy") else copy.deepcopy(X)
