"""A search over epochs at the cost of one training run."""

import time
from collections import defaultdict
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, indexable

from skim.metrics import get_scorer
from skim.model_selection._epoch_run import EpochRun, detector_of

DEFAULT_SCORING = "neg_loss_entropy"


class EpochSearchCV(GridSearchCV):
    """Search over numbers of epochs, and other parameters, at the cost of few fits.

    The results are those of :class:`~sklearn.model_selection.GridSearchCV`. But
    instead of one fit for every number of epochs there is a single training run, to
    the largest of them, whose earlier epochs are scored as well.

    Parameters
    ----------
    estimator : detector or Pipeline
        A detector that trains for a number of epochs, such as
        :class:`~skim.ALTBIDetector`, or a Pipeline that ends with one.

    param_grid : dict or list of dict
        Parameters and the values to try, as in GridSearchCV. The number of epochs is
        "epochs", or "<name of the last step>__epochs" in a Pipeline.

    scoring : str, callable, list, tuple or dict, default=None
        How to evaluate a candidate on the test rows, as in GridSearchCV; the names of
        :func:`skim.metrics.get_scorer` are accepted as well. With labels, use
        "outlier_roc_auc" or "outlier_average_precision", which accept both
        conventions of labelling; without labels, "neg_loss_entropy", which None stands
        for, or "loss_separation".

    n_jobs : int, default=None
        Number of training runs in parallel. None means 1 unless in a
        :obj:`joblib.parallel_config` context, -1 all processors.

    cv : int, cross-validation generator or iterable, default=None
        How to split the data, as in GridSearchCV: None means five plain folds. Use
        :class:`~sklearn.model_selection.StratifiedKFold` if outliers are few or labels
        are sorted, and ``[(rows, rows)]`` with all row numbers to score training rows.

    refit, verbose, pre_dispatch, error_score, return_train_score : object
        As in GridSearchCV.

    Attributes
    ----------
    cv_results_ : dict of numpy (masked) ndarrays
        As in GridSearchCV, with the candidates in the same order. Times are those of
        the training run that candidates share and of scoring all of them.

    best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, \
            refit_time_, multimetric_ : object
        As in GridSearchCV.

    See Also
    --------
    sklearn.model_selection.GridSearchCV : The same, with one fit per candidate.
    skim.inspection.trajectory : The losses over one training run.

    Notes
    -----
    The weights after every epoch are kept during the search: up to 40 MB for tables of
    fewer than 100 columns, and several hundred megabytes beyond. The scorers of
    :func:`skim.metrics.get_scorer` are cheapest: the rows are scored once for all
    numbers of epochs.

    Examples
    --------
    >>> from skim import ALTBIDetector
    >>> from skim.datasets import load_wine_outliers
    >>> from skim.model_selection import EpochSearchCV
    >>> from sklearn.model_selection import StratifiedKFold
    >>> X, y = load_wine_outliers(return_X_y=True)
    >>> search = EpochSearchCV(
    ...     ALTBIDetector(random_state=0),
    ...     {"epochs": [5, 20, 40]},
    ...     scoring="outlier_roc_auc",
    ...     cv=StratifiedKFold(n_splits=3, shuffle=True, random_state=0),
    ... ).fit(X, y)
    >>> search.best_params_["epochs"] > 5
    True
    >>> bool(search.best_score_ > 0.9)
    True
    """

    _parameter_constraints: dict = {
        **GridSearchCV._parameter_constraints,
        "scoring": [str, callable, list, tuple, dict, None],
    }

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, *, groups=None):
        """Train, score all candidates and refit the best one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data, outliers included.

        y : array-like of shape (n_samples,), default=None
            Labels, if the scorers need them. They are never trained on.

        groups : array-like of shape (n_samples,), default=None
            Passed on to the splitter.

        Returns
        -------
        self : object
        """
        runs, scoring = self._runs(), self._scorers()
        X, y, groups = indexable(X, y, groups)
        splits = list(check_cv(self.cv, y).split(X, y, groups))
        jobs = [(run, i, split) for run in runs for i, split in enumerate(splits)]
        found = Parallel(
            self.n_jobs, verbose=self.verbose, pre_dispatch=self.pre_dispatch
        )(
            delayed(_train_and_score)(
                clone(self.estimator),
                run,
                X,
                y,
                split,
                scoring,
                self.return_train_score,
            )
            for run, _, split in jobs
        )
        records = {
            (place, i): record
            for (_, i, _), by_place in zip(jobs, found, strict=True)
            for place, record in by_place.items()
        }
        search = self._formatted(records, splits, scoring)
        for name, value in vars(search).items():
            is_result = name.endswith("_") and not name.startswith("_")
            if is_result and name not in ("best_estimator_", "refit_time_"):
                setattr(self, name, value)
        self.scorer_ = scoring
        if self.refit:
            best = clone(self.estimator).set_params(
                **clone(self.best_params_, safe=False)
            )
            start = time.perf_counter()
            self.best_estimator_ = best.fit(X, y)
            self.refit_time_ = time.perf_counter() - start
            if hasattr(best, "feature_names_in_"):
                self.feature_names_in_ = best.feature_names_in_
        return self

    def _scorers(self):
        """Return the scorer, or the scorers by name."""
        scoring = DEFAULT_SCORING if self.scoring is None else self.scoring
        if isinstance(scoring, list | tuple):
            scoring = {name: name for name in scoring}
        if isinstance(scoring, dict):
            return {name: get_scorer(scorer) for name, scorer in scoring.items()}
        return get_scorer(scoring)

    def _runs(self):
        """Return the training runs, each the parameters of its candidates by place.

        Candidates share a run if they differ in the number of epochs alone.
        """
        detector_of(self.estimator)
        key = "epochs"
        if isinstance(self.estimator, Pipeline):
            key = f"{self.estimator.steps[-1][0]}__epochs"
        runs: dict[tuple, dict] = defaultdict(dict)
        for place, params in enumerate(ParameterGrid(self.param_grid)):
            epochs = params.get(key, 1)
            if not isinstance(epochs, Integral) or epochs < 1:
                raise ValueError(
                    f"{key} must be positive integers; param_grid has {epochs!r}."
                )
            others = [(n, id(value)) for n, value in params.items() if n != key]
            runs[tuple(others)][place] = params
        return list(runs.values())

    def _formatted(self, records, splits, scorers):
        """Return a grid search whose candidates have the scores of the records.

        It comes to the same results, warnings and errors as one that trains.
        """
        n_candidates = len(records) // len(splits)
        order = [(c, s) for c in range(n_candidates) for s in range(len(splits))]
        remaining = iter([records[place] for place in order])
        names = list(scorers) if isinstance(scorers, dict) else [""]

        class Scored(BaseEstimator):
            """Stands for a fitted candidate."""

            def set_params(self, **params):
                return self

            def fit(self, rows, y=None):
                self.scores_ = next(remaining, None)
                if isinstance(self.scores_, Exception):
                    raise self.scores_
                # Scorers are called with the test rows first.
                self.kinds_ = {name: iter(("test", "train")) for name in names}
                return self

        def scorer_of(name):
            def scorer(candidate, rows, y=None):
                score = candidate.scores_[next(candidate.kinds_[name])][name]
                if isinstance(score, Exception):
                    raise score
                return score

            return scorer

        scoring: Any = {name: scorer_of(name) for name in names}
        search = GridSearchCV(
            Scored(),
            self.param_grid,
            scoring=scoring.get("", scoring),
            n_jobs=1,
            cv=splits,
            refit=self.refit,
            error_score=self.error_score,
            return_train_score=self.return_train_score,
        ).fit(np.arange(1 + max(part.max() for split in splits for part in split)))
        for kind in ("fit", "score"):
            found = [
                0.0 if isinstance(record, Exception) else record[f"{kind}_time"]
                for record in map(records.get, order)
            ]
            times = np.reshape(found, (n_candidates, -1))
            search.cv_results_[f"mean_{kind}_time"] = times.mean(axis=1)
            search.cv_results_[f"std_{kind}_time"] = times.std(axis=1)
        return search


def _train_and_score(estimator, candidates, X, y, split, scoring, train_scores):
    """Train once and score all candidates; return their scores, or exceptions."""
    train, test = (
        tuple(None if data is None else _safe_indexing(data, rows) for data in (X, y))
        for rows in split
    )
    run = EpochRun(estimator, candidates)
    start = time.perf_counter()
    try:
        run.fit(*train)
    except Exception as error:
        return dict.fromkeys(candidates, error)
    fit_time = time.perf_counter() - start
    parts = {"test": test} | ({"train": train} if train_scores else {})
    start = time.perf_counter()
    by_kind = {kind: run.scores(scoring, *part) for kind, part in parts.items()}
    times = {"fit_time": fit_time, "score_time": time.perf_counter() - start}
    return {
        place: run.errors.get(place)
        or times | {kind: scores[place] for kind, scores in by_kind.items()}
        for place in candidates
    }
