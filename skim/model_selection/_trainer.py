"""One training, scored at several numbers of epochs."""

import copy

from sklearn.base import BaseEstimator, clone
from sklearn.model_selection._validation import _score
from sklearn.pipeline import Pipeline

from skim._base import IMDetector
from skim._path import Path


def detector_of(estimator):
    """Return the detector of skim that an estimator is, or that it ends with."""
    detector = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(detector, IMDetector):
        raise TypeError(
            "EpochSearchCV needs one of skim's own detectors, or a Pipeline that ends "
            f"with one, not {type(detector).__name__}."
        )
    return detector


class EpochTrainer(BaseEstimator):
    """Trains an estimator once, for several numbers of epochs.

    Parameters
    ----------
    estimator : IMDetector or Pipeline
        Whose own clone is trained.
    epochs : list of int
        In ascending order.
    """

    def __init__(self, estimator, epochs):
        self.estimator = estimator
        self.epochs = epochs

    def fit(self, X, y=None, **params):
        """Train to the largest number of epochs."""
        try:
            self._fit_once(X, y, **params)
        except Exception:
            if len(self.epochs) == 1:
                raise
            # A shorter training may well succeed.
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
        self.path_ = None
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
        model = self.model_
        if isinstance(model, Pipeline):
            model = copy.copy(model)
            model.steps = [(name, _recalling(step)) for name, step in model.steps]
            for step in _transformers(model):
                X = step.transform(X)
        self.path_.foresee(X)
        for epochs in self.epochs:
            detector = self.path_.stopped(epochs)
            if isinstance(model, Pipeline):
                view = copy.copy(model)
                view.steps = [*model.steps[:-1], (model.steps[-1][0], detector)]
                yield epochs, view
            else:
                yield epochs, detector


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
        results = {}
        for epochs, model in trainer.fitted(X):
            if isinstance(model, Exception):
                if self.error_score == "raise":
                    raise model
                results[epochs,] = self.error_score
                continue
            scores = _score(model, X, y, self.scorer, params, self.error_score)
            if isinstance(scores, dict):
                results |= {(epochs, name): score for name, score in scores.items()}
            else:
                results[epochs,] = scores
        return results


class _Recall:
    """A fitted transformer that remembers what it made of the latest data."""

    def __init__(self, transformer):
        self._transformer = transformer
        self._latest = None, None

    def __getattr__(self, name):
        return getattr(self._transformer, name)

    def transform(self, X, **params):
        data, result = self._latest
        if data is not X or params:
            result = self._transformer.transform(X, **params)
            self._latest = X, result
        return result


def _recalling(step):
    return _Recall(step) if hasattr(step, "transform") else step


def _transformers(pipeline):
    return [step for _, step in pipeline.steps[:-1] if isinstance(step, _Recall)]
