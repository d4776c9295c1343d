"""One training run, scored at several numbers of epochs."""

import copy
from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from skim import _nets as nets
from skim._detectors._base import BaseDetector, DivergedError, scaled_table, set_fitted


def detector_of(estimator):
    """Return the detector of skim that an estimator is, or that it ends with."""
    detector = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(detector, BaseDetector):
        raise TypeError(
            "EpochSearchCV needs one of skim's detectors, or a Pipeline that ends with "
            f"one, not {detector!r}."
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
        self.errors = {}
        self.run = None  # the fitted detector, if one training run is enough

    def fit(self, X, y):
        """Train to the largest number of epochs."""
        longest = clone(self.models[max(self.epochs, key=self.epochs.__getitem__)])
        self.steps = longest.steps[:-1] if isinstance(longest, Pipeline) else []
        self.X = Pipeline(self.steps).fit_transform(X, y) if self.steps else X
        detector = detector_of(longest).set_params(store_snapshots=True)
        try:
            self.run = detector.fit(self.X, y)
        except DivergedError:  # fewer epochs may well succeed
            for place, model in self.models.items():
                error = _caught(model.fit, X, y)
                if isinstance(error, Exception):
                    self.errors[place] = error
        return self

    def scores(self, scoring, X, y):
        """Return the scores of every candidate by name, or the exception of each."""
        scorers = scoring if isinstance(scoring, dict) else {"": scoring}
        if all(hasattr(scorer, "of_scores") for scorer in scorers.values()):
            staged = _caught(self._staged_scores, X)
            if isinstance(staged, dict):
                return {
                    place: {
                        name: _caught(scorer.of_scores, staged[epochs], y)
                        for name, scorer in scorers.items()
                    }
                    for place, epochs in self.epochs.items()
                }
        found, labels = {}, () if y is None else (y,)
        for place in self.models.keys() - self.errors.keys():
            try:
                model = self._model_at(place)
            except DivergedError as error:
                self.errors[place] = error
                continue
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
        if self.run is None:
            return None
        if self.steps:
            X = Pipeline(self.steps).transform(copy.deepcopy(X))
        rows, model = scaled_table(self.run, X).kept(), self.run.model_
        epochs = sorted(set(self.epochs.values()))
        with nets.compute():
            losses = list(model.staged_losses(rows, map(model.entry_of, epochs)))
        if not np.isfinite(losses).all():
            return None
        return {e: -own for e, own in zip(epochs, losses, strict=True)}

    def _model_at(self, place):
        """Return a candidate as a training run of its own would have left it."""
        if self.run is None:
            return self.models[place]
        detector = clone(detector_of(self.models[place]))
        with nets.compute():
            table = scaled_table(self.run, self.X)
            chosen = self.run.training_rows_
            if chosen is not None:
                table = replace(table, X=table.X[chosen])
            model = self.run.model_.at(detector.epochs)
            if not detector.store_snapshots:
                model = replace(model, log=None)
            set_fitted(detector, model, table.kept(), self.run)
        if not isinstance(self.models[place], Pipeline):
            return detector
        name = self.models[place].steps[-1][0]
        return Pipeline([*self.steps, (name, detector)])


def _caught(function, *args):
    """Return what a function returns, or the exception that it raises."""
    try:
        return function(*args)
    except Exception as error:
        return error
