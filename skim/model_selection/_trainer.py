"""One training run, scored at several numbers of epochs."""

import copy
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection._validation import _score
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import validate_data

from skim import _nets as nets
from skim._detectors._base import VALIDATION, DivergedError, IMDetector
from skim._detectors._scaling import ScaledRows, ScaledTable
from skim._training._stages import detector_at, stage_after, staged_scores
from skim._utils import FLOAT32_MAX, evenly_spaced, finite

MAX_CHECKED_ROWS = 512  # of the training data, used to detect divergence


def detector_of(estimator):
    """Return the detector of skim that an estimator is, or that it ends with."""
    detector = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if isinstance(detector, type):
        raise TypeError(f"The estimator must be an instance: {detector.__name__}(...).")
    if not isinstance(detector, IMDetector):
        raise TypeError(
            "EpochSearchCV needs one of skim's detectors, or a Pipeline that ends with "
            f"one, not {type(detector).__name__}."
        )
    return detector


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
        cls = type(detector_of(self.estimator))
        methods = ("fit", "score_samples", "decision_function", "predict")
        is_ours = all(getattr(cls, m) is getattr(IMDetector, m) for m in methods)
        self.models_ = {}
        self.detector_: Any = None
        if is_ours:
            try:
                self._fit_once(X, y, **params)
            except DivergedError:
                if len(self.epochs) == 1:
                    raise
        if self.detector_ is None:  # fewer epochs may well succeed
            self._fit_each(X, y, **params)
        return self

    def _fit_once(self, X, y, **params):
        model = clone(self.estimator)
        self.preparation_ = None
        if isinstance(model, Pipeline) and len(model.steps) > 1:
            self.preparation_ = model[:-1]
            X = self.preparation_.fit_transform(X, y, **params)
            params = {}
        detector = detector_of(model)
        self.params_ = detector.get_params(deep=False)
        detector.set_params(epochs=self.epochs[-1], store_stages=True)
        detector._validate_params()
        self.rows_ = detector._fit(X, y, finish=False, **params)
        self.detector_ = detector
        places = evenly_spaced(len(detector._sample), MAX_CHECKED_ROWS)
        values = detector._scaler.transform(detector._sample[places])
        checked = self._staged_scores([(slice(None), ScaledRows(values, None, None))])
        self.is_finite_ = {e: np.isfinite(s).all() for e, s in checked.items()}

    def _fit_each(self, X, y, **params):
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

    def scores(self, X):
        """Yield the scores of rows at every number of epochs, in one pass.

        Instead of scores that are not finite in training, an exception is given.
        """
        if self.preparation_ is not None:
            X = self.preparation_.transform(X)
        detector = self.detector_
        valid = validate_data(detector, X, reset=False, **VALIDATION)
        rows = ScaledTable(detector._scaler, valid).kept()
        for epochs, scores in self._staged_scores(rows).items():
            error = None if self.is_finite_[epochs] else detector._diverged()
            yield epochs, error or finite(scores, nan=-FLOAT32_MAX)

    def models(self):
        """Yield the fitted estimator, or an exception, at every number of epochs."""
        if self.detector_ is None:
            yield from self.models_.items()
            return
        for epochs in self.epochs:
            if not self.is_finite_[epochs]:
                yield epochs, self.detector_._diverged()
                continue
            with nets.compute():
                detector = detector_at(self.detector_, epochs, self.rows_)
            detector.set_params(**self.params_ | {"epochs": epochs})
            if not detector.store_stages:
                del detector._stages
            if not isinstance(self.estimator, Pipeline):
                yield epochs, detector
                continue
            steps = [] if self.preparation_ is None else self.preparation_.steps
            model = copy.copy(self.estimator)
            model.steps = [*steps, (self.estimator.steps[-1][0], detector)]
            yield epochs, model

    def _staged_scores(self, rows):
        stages = {e: stage_after(self.detector_, e) for e in self.epochs}
        distinct = sorted(set(stages.values()))
        with nets.compute():
            scores = list(staged_scores(self.detector_, rows, distinct, raw=True))
        by_stage = dict(zip(distinct, scores, strict=True))
        return {epochs: by_stage[stage] for epochs, stage in stages.items()}


class EpochScorer:
    """Scores an `EpochTrainer` at all its numbers of epochs.

    Scorers that need no more than the scores of the rows get those of all numbers of
    epochs at once. All others get a fitted estimator for each.

    Parameters
    ----------
    scorer : callable
        For a single estimator.
    error_score : "raise" or float
        As in GridSearchCV.
    """

    def __init__(self, scorer, error_score):
        self.scorer = scorer
        self.error_score = error_score

    def __call__(self, trainer, X, y=None, **params):
        """Return a score for every ``(epochs,)``, or every ``(epochs, name)``."""
        results: dict = {}
        for epochs, scores in self._scores(trainer, X, y, params):
            if isinstance(scores, Exception):
                scores = self._failed(epochs, scores)
            if isinstance(scores, dict):
                results |= {(epochs, name): score for name, score in scores.items()}
            else:
                results[epochs,] = scores
        return results

    def _scores(self, trainer, X, y, params):
        """Return pairs of epochs and their scores, or the exception they end with."""
        scorers = getattr(self.scorer, "_scorers", {"": self.scorer})
        by_scores = all(hasattr(scorer, "of_scores") for scorer in scorers.values())
        if by_scores and trainer.detector_ is not None and not params:
            try:
                return [
                    (epochs, self._of_scores(scorers, scores, y))
                    for epochs, scores in trainer.scores(fresh(X))
                ]
            except Exception:  # the slower way tells which epochs and scorers fail
                pass
        try:
            return [
                # What a scorer does to the data must not reach the next one.
                (epochs, self._of_model(model, fresh(X), y, params))
                for epochs, model in trainer.models()
            ]
        except Exception as error:
            if self.error_score == "raise":
                raise
            return [(epochs, error) for epochs in trainer.epochs]

    def _of_scores(self, scorers, scores, y):
        if isinstance(scores, Exception):
            return scores
        found = {name: scorer.of_scores(scores, y) for name, scorer in scorers.items()}
        return found.get("", found)

    def _of_model(self, model, X, y, params):
        if isinstance(model, Exception):
            return model
        return _score(model, X, y, self.scorer, params, self.error_score)

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
