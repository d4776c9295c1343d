"""One training run, scored at several numbers of epochs."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from skim import _nets as nets
from skim._detectors._base import (
    BaseDetector,
    DivergedError,
    scaled_table,
    set_fitted,
    validated_schedule,
)


def detector_of(estimator):
    """Return the detector of skim that an estimator is, or that it ends with."""
    detector = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if isinstance(detector, type):
        raise TypeError(f"The estimator must be an instance: {detector.__name__}(...).")
    if not isinstance(detector, BaseDetector):
        raise TypeError(
            "EpochSearchCV needs one of skim's detectors, or a Pipeline that ends with "
            f"one, not {type(detector).__name__}."
        )
    return detector


class EpochRun:
    """Candidates that differ in their number of epochs, trained once for all."""

    def __init__(self, estimator, candidates):
        self.models = {
            place: clone(estimator).set_params(**clone(params, safe=False))
            for place, params in candidates.items()
        }
        self.epochs = {
            place: detector_of(model).epochs for place, model in self.models.items()
        }

    def fit(self, X, y=None):
        """Train to the largest number of epochs."""
        self.errors_: dict[int, Exception] = {}
        self.run_: Any = None
        longest = self.models[max(self.epochs, key=self.epochs.__getitem__)]
        cls = type(detector_of(longest))
        methods = ("fit", "score_samples", "decision_function", "predict")
        if all(getattr(cls, m) is getattr(BaseDetector, m) for m in methods):
            try:
                self._fit_once(longest, X, y)
                self._check_candidates()
            except DivergedError:
                if len(self.models) == 1:
                    raise
        if self.run_ is None:  # fewer epochs may well succeed
            for place, model in self.models.items():
                try:
                    model.fit(X, y)
                except Exception as error:
                    self.errors_[place] = error
        return self

    def _fit_once(self, model, X, y):
        model, self.steps_ = clone(model), []
        if isinstance(model, Pipeline):
            *self.steps_, (_, model) = model.steps
            if self.steps_:
                X = Pipeline(self.steps_).fit_transform(X, y)
        model.set_params(store_snapshots=True).fit(X, y)
        self.X_ = X
        self.run_ = model

    def _check_candidates(self):
        """Note which candidates would have been refused before any training."""
        for place, model in self.models.items():
            try:
                validated_schedule(detector_of(model))
            except ValueError as error:
                self.errors_[place] = error

    def scores(self, scoring, X, y=None):
        """Return the scores of every candidate, by name if there are several."""
        scorers = scoring if isinstance(scoring, dict) else {"": scoring}
        staged = None
        if all(hasattr(scorer, "of_scores") for scorer in scorers.values()):
            staged = _caught(self._staged_scores, X)
        if isinstance(staged, dict):
            return {
                place: {
                    name: _caught(scorer.of_scores, staged[epochs], y)
                    for name, scorer in scorers.items()
                }
                for place, epochs in self.epochs.items()
                if place not in self.errors_
            }
        labels = () if y is None else (y,)
        found = {}
        for place in self.models:
            try:
                model = None if place in self.errors_ else self._model_at(place)
            except DivergedError as error:
                self.errors_[place] = error
            if place not in self.errors_:
                rows = copy.deepcopy(X)  # which a step or a scorer may change
                found[place] = {
                    name: _caught(scorer, model, rows, *labels)
                    for name, scorer in scorers.items()
                }
        return found

    def _staged_scores(self, X):
        """Score rows at all numbers of epochs, if there is one run for all of them.

        None if a score is not finite: the candidates have to be looked at.
        """
        if self.run_ is None:
            return None
        if self.steps_:
            X = Pipeline(self.steps_).transform(copy.deepcopy(X))
        rows, model = scaled_table(self.run_, X).kept(), self.run_.model_
        epochs = sorted(set(self.epochs.values()))
        with nets.compute():
            losses = list(model.staged_losses(rows, map(model.entry_of, epochs)))
        if not np.isfinite(losses).all():
            return None
        return {e: -own for e, own in zip(epochs, losses, strict=True)}

    def _model_at(self, place):
        """Return a candidate as a training run of its own would have left it."""
        if self.run_ is None:
            return self.models[place]
        detector = detector_of(self.models[place])
        with nets.compute():
            table = scaled_table(self.run_, self.X_)
            chosen = self.run_.training_rows_
            if chosen is not None:
                table = replace(table, X=table.X[chosen])
            rows = table.kept()
            model = self.run_.model_.at(detector.epochs)
            if not detector.store_snapshots:
                model = replace(model, log=None)
            detector = clone(detector)
            set_fitted(detector, model, rows, self.run_)
        if not isinstance(self.models[place], Pipeline):
            return detector
        name = self.models[place].steps[-1][0]
        return Pipeline([*self.steps_, (name, detector)])


def _caught(function, *args):
    """Return what a function returns, or the exception that it raises."""
    try:
        return function(*args)
    except Exception as error:
        return error
