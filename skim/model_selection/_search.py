"""A search over epochs at the price of one training run."""

import copy
import time
from itertools import product
from numbers import Integral
from typing import NamedTuple

from joblib import Parallel, delayed
from sklearn.base import _fit_context, clone
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.model_selection._validation import (
    _fit_and_score,
    _warn_or_raise_about_fit_failures,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable
from sklearn.utils.validation import _check_method_params

from skim._detectors._callbacks import FitCallbacks
from skim._utils import outlier_mask
from skim.metrics import get_scorer, get_scorer_names
from skim.metrics._scorers import OutlierScorer
from skim.model_selection._trainer import EpochScorer, EpochTrainer, detector_of


class EpochSearchCV(GridSearchCV):
    """Search over numbers of epochs, and other parameters, at the price of few fits.

    The results are those of :class:`~sklearn.model_selection.GridSearchCV`. But
    instead of one fit for every number of epochs there is a single training run, to
    the largest of them, whose earlier stages are scored as well.

    Parameters
    ----------
    estimator : ALTBIDetector, ODIMDetector, IMAutoencoderDetector or Pipeline
        A detector of this package, or a Pipeline that ends with one.

    param_grid : dict or list of dict
        Parameters and the values to try, as in GridSearchCV. They must include the
        number of epochs: "epochs", or "<name of the last step>__epochs" in a Pipeline.

    scoring : str, callable, list, tuple or dict, default=None
        How to evaluate a candidate on the test rows, as in GridSearchCV; the names of
        :func:`skim.metrics.get_scorer_names` are accepted as well. With labels, use
        "outlier_roc_auc" or "outlier_average_precision", which accept both
        conventions of labelling; without labels, "loss_separation",
        "neg_loss_entropy", "gradient_cohesion", "excess_mass" or "neg_mass_volume".

    n_jobs : int, default=None
        Number of training runs in parallel. None means 1 unless in a
        :obj:`joblib.parallel_config` context, -1 all processors.

    refit : bool, str or callable, default=True
        Whether, or by which score, to fit the best candidate to all data.

    cv : int, cross-validation generator or iterable, default=None
        How to split the data, as in GridSearchCV: None means five plain folds. Use
        :class:`OutlierKFold` if outliers are few or labels are sorted, and
        :class:`InSampleSplit` to score the training rows.

    verbose : int, default=0
        How much to print.

    pre_dispatch : int or str, default="2*n_jobs"
        How many training runs to dispatch at a time.

    error_score : "raise" or numeric, default=np.nan
        Score of a candidate whose fit fails.

    return_train_score : bool, default=False
        Whether to score the training rows as well.

    Attributes
    ----------
    cv_results_ : dict of numpy (masked) ndarrays
        As in GridSearchCV, with the candidates in the same order. Times are those of
        the training run that candidates share and of scoring all of them.

    best_estimator_ : estimator
        The best candidate, fitted to all data. Only if `refit`.

    best_score_ : float
        Mean score of the best candidate.

    best_params_ : dict
        Its parameters.

    best_index_ : int
        Its place in `cv_results_`.

    scorer_ : callable or dict
        The scorers.

    n_splits_ : int
        Number of splits.

    refit_time_ : float
        Seconds to fit the best candidate to all data.

    multimetric_ : bool
        Whether there are several scorers.

    See Also
    --------
    sklearn.model_selection.GridSearchCV : The same, with one fit per candidate.
    skim.inspection.trajectory : The losses over one training run.

    Notes
    -----
    The weights after every epoch are kept during the search: some megabytes for
    tables of fewer than 100 columns, and up to a gigabyte beyond 1,000. Scorers that
    need no more than the scores of the rows, such as "outlier_roc_auc", are cheapest:
    the rows are scored once for all numbers of epochs.

    Examples
    --------
    >>> from skim import ALTBIDetector
    >>> from skim.datasets import load_wine_outliers
    >>> from skim.model_selection import EpochSearchCV, OutlierKFold
    >>> X, y = load_wine_outliers(return_X_y=True)
    >>> search = EpochSearchCV(
    ...     ALTBIDetector(random_state=0),
    ...     {"epochs": [5, 20, 40]},
    ...     scoring="outlier_roc_auc",
    ...     cv=OutlierKFold(n_splits=3, shuffle=True, random_state=0),
    ... ).fit(X, y)
    >>> search.best_params_
    {'epochs': 20}
    >>> bool(search.best_score_ > 0.9)
    True
    """

    _parameter_constraints: dict = {
        **GridSearchCV._parameter_constraints,
        "scoring": [str, callable, list, tuple, dict, None],
    }

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, **params):
        """Train, score all candidates and refit the best one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data, outliers included.

        y : array-like of shape (n_samples,), default=None
            Labels, if the scorers need them. They are never trained on.

        **params : dict
            Passed on to the `fit` of a Pipeline's transformers, the scorers and the
            splitter, as in GridSearchCV.

        Returns
        -------
        self : object
        """
        candidates, groups = self._candidates_and_groups()
        scorer, refit_metric = self._get_scorers()
        X, y = indexable(X, y)
        self._forget()
        params = _check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        splits = self._splits(X, y, routed.splitter.split)
        self._check_labels(scorer, y, splits)
        callbacks = (
            FitCallbacks(self, X, y) if hasattr(self, "_skl_callbacks") else None
        )
        if callbacks is not None:
            callbacks.begin(None)
        if self.verbose > 0:
            print(
                f"Fitting {len(splits)} folds for each of {len(groups)} training runs, "
                f"totalling {len(groups) * len(splits)} fits for {len(candidates)} "
                "candidates"
            )
        out = Parallel(n_jobs=self.n_jobs, pre_dispatch=self.pre_dispatch)(
            delayed(_fit_and_score)(
                group.trainer(self.estimator),
                X,
                y,
                scorer=EpochScorer(scorer, self.error_score),
                train=train,
                test=test,
                verbose=self.verbose,
                parameters=None,
                fit_params=routed.estimator.fit,
                score_params=routed.scorer.score,
                return_train_score=self.return_train_score,
                return_n_test_samples=True,
                return_times=True,
                split_progress=(i, len(splits)),
                candidate_progress=(g, len(groups)),
                error_score=self.error_score,
            )
            for (g, group), (i, (train, test)) in product(
                enumerate(groups), enumerate(splits)
            )
        )
        _warn_or_raise_about_fit_failures(out, self.error_score)
        names = list(getattr(scorer, "_scorers", ()))
        out = _by_candidate(out, groups, len(splits), names)
        results = self._format_results(candidates, len(splits), out)
        self._choose(results, refit_metric, out[0]["test_scores"])
        if self.refit:
            self._fit_best(X, y, routed.estimator.fit)
        self.scorer_ = getattr(scorer, "_scorers", scorer)
        self.n_splits_ = len(splits)
        self.cv_results_ = results
        if callbacks is not None:
            callbacks.end()
        return self

    def _get_scorers(self):
        # scikit-learn takes its own names only.
        with_scorers = copy.copy(self)
        with_scorers.scoring = _resolved(self.scoring)
        return GridSearchCV._get_scorers(with_scorers)

    def _candidates_and_groups(self):
        """Return all candidates, grouped by those that share a training run."""
        candidates = list(ParameterGrid(self.param_grid))
        grids = self.param_grid
        grids = [grids] if isinstance(grids, dict) else list(grids)
        key = self._epochs_key()
        if not any(key in grid for grid in grids):
            given = sorted({name for grid in grids for name in grid})
            raise ValueError(
                f"param_grid has no {key!r} but {given}; add it, or use GridSearchCV "
                "to search without epochs."
            )
        groups: dict[tuple, Group] = {}
        n_seen = 0
        for grid in grids:
            _check_epochs(grid.get(key, [1]), key)
            # The places of the values, in the order in which candidates come.
            places = ParameterGrid({name: range(len(grid[name])) for name in grid})
            for place in places:
                params = candidates[n_seen]
                shared = tuple((name, place[name]) for name in grid if name != key)
                group = groups.setdefault((id(grid), shared), Group(params, key, {}))
                group.members[n_seen] = params.get(key)
                n_seen += 1
        return candidates, list(groups.values())

    def _epochs_key(self):
        """Return the name of the parameter for the number of epochs."""
        detector_of(self.estimator)
        if isinstance(self.estimator, Pipeline):
            return f"{self.estimator.steps[-1][0]}__epochs"
        return "epochs"

    def _check_labels(self, scorer, y, splits):
        """Refuse labels that our scorers cannot use, before training anything."""
        scorers = getattr(scorer, "_scorers", {"": scorer}).values()
        if not any(isinstance(part, OutlierScorer) for part in scorers):
            return
        if y is None:
            raise ValueError(
                f"scoring={self.scoring!r} needs labels y; without labels, use "
                "'loss_separation' or 'neg_loss_entropy'."
            )
        is_outlier = outlier_mask(y, len(y))
        for _, test in splits:
            share = is_outlier[test].mean()
            if share in (0, 1):
                raise ValueError(
                    "Some fold has test rows of one class only; use fewer folds or "
                    "cv=OutlierKFold(), which spreads the outliers over the folds."
                )

    def _splits(self, X, y, params):
        if isinstance(self.cv, type):
            raise TypeError(f"cv must be an instance: {self.cv.__name__}(...).")
        cv = check_cv(self.cv, y)
        n_splits = cv.get_n_splits(X, y, **params)
        splits = list(cv.split(X, y, **params))
        if len(splits) != n_splits or not splits:
            raise ValueError(f"cv announced {n_splits} splits but gave {len(splits)}.")
        return splits

    def _forget(self):
        """Drop the results of an earlier search, in case this one fails."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            if not name.startswith("_"):
                delattr(self, name)

    def _choose(self, results, refit_metric, scores):
        """Find the best candidate, if it is clear which score decides."""
        self.multimetric_ = isinstance(scores, dict)
        if self.multimetric_:
            self._check_refit_for_multimetric(scores)
            refit_metric = self.refit
        if not (self.refit or not self.multimetric_):
            return
        self.best_index_ = self._select_best_index(self.refit, refit_metric, results)
        if not callable(self.refit):
            self.best_score_ = results[f"mean_test_{refit_metric}"][self.best_index_]
        self.best_params_ = results["params"][self.best_index_]

    def _fit_best(self, X, y, params):
        best = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
        start = time.perf_counter()
        self.best_estimator_ = best.fit(X, y, **params)
        self.refit_time_ = time.perf_counter() - start
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_


class Group(NamedTuple):
    """Candidates that differ only in their number of epochs.

    Attributes
    ----------
    params : dict
        Parameters of one of them.
    key : str
        The name of the parameter for the number of epochs.
    members : dict of int to (int or None)
        The positions of the candidates and their numbers of epochs; None stands for
        the estimator's own.
    """

    params: dict
    key: str
    members: dict

    def trainer(self, estimator):
        """Return what trains the candidates."""
        estimator = clone(estimator).set_params(**clone(self.params, safe=False))
        detector_of(estimator)
        return EpochTrainer(estimator, sorted(self._epochs(estimator).values()))

    def _epochs(self, estimator):
        default = estimator.get_params()[self.key]
        return {place: epochs or default for place, epochs in self.members.items()}


def _resolved(scoring):
    """Replace the names of scorers by the scorers."""
    if scoring is None:
        raise ValueError(
            f"scoring=None; choose one of {', '.join(get_scorer_names())}."
        )
    if isinstance(scoring, str):
        return _known_scorer(scoring)
    if isinstance(scoring, dict):
        return {name: _known_scorer(scorer) for name, scorer in scoring.items()}
    if isinstance(scoring, list | tuple) and all(isinstance(s, str) for s in scoring):
        if len(set(scoring)) < len(scoring):
            raise ValueError(f"scoring has repeated names: {scoring}.")
        return {name: _known_scorer(name) for name in scoring}
    return scoring


def _known_scorer(scoring):
    try:
        return get_scorer(scoring)
    except ValueError:
        raise ValueError(
            f"Unknown scorer {scoring!r}; use one of {', '.join(get_scorer_names())}, "
            "or of sklearn.metrics.get_scorer_names()."
        ) from None


def _check_epochs(values, key):
    values = list(values)
    for value in values:
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(
                f"{key} must be positive integers; param_grid has {value!r}."
            )
    if len(set(values)) < len(values):
        raise ValueError(f"{key} has repeated values in param_grid: {values}.")


def _by_candidate(out, groups, n_splits, names):
    """Sort the results of training runs by candidates, as GridSearchCV does.

    Failures get a score for every name.
    """
    n_candidates = sum(len(group.members) for group in groups)
    records: list[dict] = [{}] * (n_candidates * n_splits)
    kinds = [kind for kind in ("test_scores", "train_scores") if kind in out[0]]
    for g, group in enumerate(groups):
        for split in range(n_splits):
            record = out[g * n_splits + split]
            for place, epochs in group.members.items():
                scores = {kind: _at(record[kind], epochs) for kind in kinds}
                records[place * n_splits + split] = record | scores
    found = (r["test_scores"] for r in records if _is_dict(r["test_scores"]))
    names = names or list(next(found, ()))
    for record in records if names else ():
        for kind in kinds:
            if not _is_dict(record[kind]):  # that of a failure
                record[kind] = dict.fromkeys(names, record[kind])
    return records


def _at(scores, epochs):
    """Return the one score, or the scores by name, at a number of epochs."""
    if not _is_dict(scores):
        return scores
    if epochs is None:  # the only one
        epochs = next(iter(scores))[0]
    if (epochs,) in scores:
        return scores[epochs,]
    return {key[1]: score for key, score in scores.items() if key[0] == epochs}


def _is_dict(scores):
    return isinstance(scores, dict)
