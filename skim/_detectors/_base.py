"""The one way through the house: validate, scale, train, score, threshold."""

import copy
from abc import ABCMeta, abstractmethod
from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from skim._detectors._callbacks import CallbackSupportMixin, FitHooks
from skim._detectors._ema import EMAWarmStart
from skim._detectors._scaling import InputScaler
from skim._detectors._totals import FLOAT32_MAX, finite, range_of, rescaled, sum_members
from skim._detectors._verdict import ThresholdMixin, between
from skim._training._history import Monitor
from skim._training._mixture import split_point
from skim._training._staging import keep_stages, new_stage_log, staged_scores
from skim._training._stopping import CRITERIA, Watch
from skim._utils import evenly_spaced, own_random_state, to_frame

# Training rows whose contributions tell what is usual.
N_TYPICAL_ROWS = 1024


class DivergedError(ValueError):
    """A training went astray."""


class IMDetector(
    CallbackSupportMixin,
    EMAWarmStart,
    ThresholdMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Base class of the detectors built on the inlier-memorization effect.

    A subclass says which network is trained (`_new_network`, `_new_optimiser`),
    how, and which moments of the training are kept (`_train`). Everything else
    is here.

    Warning: this class should not be used directly. Use derived classes instead.
    """

    _parameter_constraints: dict = {
        **EMAWarmStart._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "scaling": [StrOptions({"squash", "minmax"})],
        "contamination": [
            StrOptions({"auto"}),
            Interval(Real, 0, 0.5, closed="right"),
        ],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "device": [str],
        "stopping": [StrOptions(set(CRITERIA)), None],
        "store_stages": ["boolean", StrOptions({"auto"})],
        "verbose": ["verbose"],
    }

    history_: dict

    # What a subclass says ------------------------------------------------------

    @abstractmethod
    def _new_network(self, weights, generator):
        """Return the network of `_shape()` on `weights`, ready to be trained."""

    @abstractmethod
    def _new_optimiser(self, network):
        """Return an optimiser of the network's weights."""

    @abstractmethod
    def _network_params(self, n_features):
        """Return the parameters of the network's shape, as a dict."""

    @abstractmethod
    def _shape(self):
        """Return the network's shape by the fitted `network_params_`."""

    @abstractmethod
    def _train(self, run, monitor):
        """Train, record in the monitor and leave snapshots in the run."""

    @abstractmethod
    def _n_entries(self):
        """Return how often `_train` records at most, or None if that is not known."""

    def _update(self, run):
        """Make one ordinary update, as at the start of the training."""
        run.update(self.batch_size)

    def _new_scaler(self, n_features):
        """Return what scales the features to the network's liking."""
        return InputScaler(self.scaling)

    def _watch(self, run, n_rows):
        """Return what tells when to stop."""
        return Watch(self.stopping or "separation", run, n_rows, self.noise_)

    def _entry(self, criterion):
        """Return what the history is to say of the members' criterion."""
        entry = {} if self.stopping is None else {"criterion": criterion.mean()}
        if self.stopping in ("separation", None):
            entry["separation"] = criterion.mean()
        return entry

    def _offered(self, criterion, moment):
        """Return by what a moment is to be compared with others, for each member."""
        if self.stopping is None:  # the later, the better
            return np.full(len(criterion), moment)
        return criterion

    def _scoring_noise(self, generator):
        """Return the latent noise that scores are computed with, if any."""
        return

    # Fitting -------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Fit the detector to unlabelled data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training data, outliers included.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The fitted detector.
        """
        return self._fit(X, y)

    def _fit(self, X, y=None, watch=None, *, finish=True):
        """Fit; call `watch` with the run and the scaled rows at every entry.

        Without `finish`, train only: the detector cannot score yet.
        """
        from skim import _nets as nets

        past = self._past()
        if past is None:
            # A fit that fails must not leave a detector that counts as fitted.
            self.__dict__.pop("offset_", None)
        hooks = FitHooks(self, X, y)
        X = self._validate(X, reset=past is None, ensure_min_samples=2)
        self.__dict__.pop("offset_", None)
        self.device_ = nets.resolve_device(self.device)
        if past is None:
            self._set_up(X)
        hooks.begin(self._n_entries())
        with nets.compute(effective_n_jobs(self.n_jobs)):
            rows = self.scaler_.transform(X)
            run = self._fit_network(rows, hooks, watch, past)
            if finish:
                self._finish(rows, run.snapshots)
            keep_stages(self, run.stages, rows)
        self._keep_past(run)
        hooks.end()
        return self

    def _set_up(self, X):
        """Learn how to scale the features, and what networks they take."""
        self.scaler_ = self._new_scaler(X.shape[1]).fit(X)
        self.network_params_ = self._network_params(X.shape[1])

    def _fit_network(self, rows, hooks, watch=None, past=None):
        """Train on scaled data; return the finished run."""
        import torch

        from skim import _nets as nets

        def on_entry():
            if watch is not None:
                watch(run, rows)
            with torch.inference_mode(False):
                return hooks.epoch(lambda: self._as_if_fitted(run, rows))

        monitor = Monitor(
            type(self).__name__,
            self._n_entries(),
            self.verbose,
            on_entry if watch is not None or hooks.are_heard else None,
            past=None if past is None else self.history_,
        )
        try:
            run = self._new_run(rows, past)
            run.stages = new_stage_log(self, past)
            self._train(run, monitor)
        except nets.NonFiniteLossError:
            raise self._diverged() from None
        finally:
            monitor.close()
        self.history_ = monitor.history()
        return run

    def _new_run(self, rows, past=None):
        """Return a run over scaled data that is about to start, or to go on."""
        import torch

        from skim import _nets as nets

        generator = torch.Generator(self.device_).manual_seed(self._draw_seed())
        data = torch.from_numpy(rows).to(self.device_)
        if not data.isfinite().all():
            raise ValueError(
                "X contains NaN or infinity; fill in or drop those values."
            )
        weights = self._shape().initial_weights(self.n_estimators, generator)

        def new_run():
            network = self._new_network(weights, generator)
            return nets.Run(network, self._new_optimiser(network), data, generator)

        if past is not None:
            run = new_run()
            run.restore(past)
            return run
        noise = self._scoring_noise(generator)
        self.noise_ = None if noise is None else noise.cpu().numpy()
        warm_up = new_run()
        self.ema_warm_up(weights, lambda: self._update(warm_up))
        return new_run()

    def _past(self):
        """Return the training that `fit` is to go on with, or None."""
        return

    def _keep_past(self, run):
        """Keep what it takes to go on from here, if that may be asked for."""

    def _finish(self, rows, snapshots):
        """Keep the snapshots, score the training data and set the threshold."""
        weights, statistics = zip(*snapshots, strict=True)
        self.weights_ = np.stack([w.cpu().numpy() for w in weights])
        self.statistics_ = np.stack([s.cpu().numpy() for s in statistics])
        self.training_scores_ = self._score_samples(rows, fitting=True)
        if not np.isfinite(self.training_scores_).all():
            raise self._diverged()
        self.typical_contributions_ = self._typical_contributions(rows)
        self.offset_ = self._offset(self.training_scores_)

    def _typical_contributions(self, rows):
        """Return what each feature contributes in the mean of a sample of rows."""
        sample = evenly_spaced(len(rows), N_TYPICAL_ROWS)
        return self._contributions(rows[sample]).mean(axis=0)

    def _as_if_fitted(self, run, rows):
        """Return the attributes of a detector whose training ended here."""
        from skim import _nets as nets

        fitted = copy.copy(self)
        if self.noise_ is not None:
            fitted.noise_ = self.noise_[run.members]
        with nets.compute(effective_n_jobs(self.n_jobs)):
            fitted._finish(rows, [run.state()])
        return {name: value for name, value in vars(fitted).items() if name[-1] == "_"}

    def _diverged(self):
        return DivergedError(
            f"{type(self).__name__} diverged: its loss is no longer finite. "
            f"Lower learning_rate (now {self.learning_rate}) and fit again."
        )

    def __sklearn_is_fitted__(self):
        return hasattr(self, "offset_")

    def _draw_seed(self):
        """Return a seed; the global random state is left alone."""
        return own_random_state(self.random_state).randint(2**31 - 1)

    def _offset(self, scores):
        """Return the score below which a row is an outlier."""
        if self.contamination == "auto":
            return max(-split_point(-scores), scores.min())
        n_outliers = int(self.contamination * len(scores) + 0.5)
        if n_outliers == 0:
            return scores.min()
        lowest = np.partition(scores, [n_outliers - 1, n_outliers])
        return between(lowest[n_outliers - 1], lowest[n_outliers])

    # Scoring -------------------------------------------------------------------

    def score_samples(self, X):
        """Score rows: the lower, the more of an outlier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The negated loss of each row, averaged over the members and the kept
            moments of training.
        """
        from skim import _nets as nets

        X = self._validate_new(X)
        with nets.compute(effective_n_jobs(self.n_jobs)):
            return self._score_samples(self.scaler_.transform(X))

    def staged_score_samples(self, X):
        """Score rows as if the training had ended earlier, for each of its stages.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Yields
        ------
        scores : ndarray of shape (n_samples,)
            One array for each entry of `history_`: what `score_samples` would give
            had the training ended there. The last one is `score_samples(X)`.
        """
        X = self._validate_new(X)
        if not hasattr(self, "stages_"):
            raise ValueError(
                "The weights of the stages were not kept; set store_stages=True and "
                "fit again."
            )
        return staged_scores(self, self.scaler_.transform(X))

    def explain(self, X, *, relative=False, as_frame=False):
        """Split each row's score over its features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to explain.

        relative : bool, default=False
            Whether to subtract what each feature contributes in a usual row of
            the training data. The largest values of a row then name the columns
            that made it strange, also where some columns are noisy in all rows.

        as_frame : bool, default=False
            Whether to return a pandas DataFrame, with the index of `X`, if it has
            one, and the feature names seen in `fit`, if there were any.

        Returns
        -------
        contributions : ndarray or DataFrame of shape (n_samples, n_features)
            What each feature adds to the loss ``-score_samples(X)``. The sum over
            a row is the row's loss, up to the part that the latent code and a
            rescaling of the losses account for (none in
            :class:`IMAutoencoderDetector`).
        """
        from skim import _nets as nets

        index = getattr(X, "index", None)
        X = self._validate_new(X)
        with nets.compute(effective_n_jobs(self.n_jobs)):
            contributions = self._contributions(self.scaler_.transform(X))
        if relative:
            contributions -= self.typical_contributions_
        if not as_frame:
            return contributions
        names = getattr(self, "feature_names_in_", None)
        return to_frame(contributions, columns=names, index=index)

    def _validate_new(self, X):
        check_is_fitted(self)
        return self._validate(X, reset=False)

    def _validate(self, X, *, reset, ensure_min_samples=1):
        return validate_data(
            self,
            X,
            dtype=[np.float64, np.float32],
            reset=reset,
            ensure_min_samples=ensure_min_samples,
        )

    def _score_samples(self, rows, fitting=False, by_member=None):
        """Score scaled rows; in fitting, learn how to scale the losses.

        What the snapshots of each member add to it is added to `by_member`, an array
        of shape (n_estimators, n_samples), if there is one.
        """
        n_snapshots, n_members = self.weights_.shape[:2]
        if fitting:
            self.score_center_ = np.zeros((n_snapshots, n_members))
            self.score_scale_ = np.ones((n_snapshots, n_members))
        total = np.zeros(len(rows))
        for s, losses in enumerate(self._losses(rows, self.weights_, self.statistics_)):
            if fitting and self._rescales_losses():
                self.score_center_[s], self.score_scale_[s] = range_of(losses)
            losses = rescaled(losses, self.score_center_[s], self.score_scale_[s])
            if by_member is not None:
                by_member -= losses
            total += sum_members(losses)
        scores = total / -(n_snapshots * n_members)
        return scores if fitting else finite(scores, nan=-FLOAT32_MAX)

    def _score_by_member(self, X):
        """Score rows by all members together, and by each of them alone."""
        from skim import _nets as nets

        X = self._validate_new(X)
        by_member = np.zeros((self.weights_.shape[1], len(X)))
        with nets.compute(effective_n_jobs(self.n_jobs)):
            scores = self._score_samples(self.scaler_.transform(X), by_member=by_member)
        by_member /= len(self.weights_)
        return scores, finite(by_member, nan=-FLOAT32_MAX)

    def _losses(self, rows, weights, statistics, members=slice(None)):
        """Yield the losses of scaled rows, (M, n), under each snapshot."""
        scorer, data = self._scorer_and_data(rows, weights, statistics, members)
        for losses in scorer.losses(data):
            yield losses.cpu().numpy().astype(np.float64)

    def _present_losses(self, rows, run):
        """Return the mean losses of scaled rows under the members in training."""
        weights, statistics = (part[None].cpu().numpy() for part in run.state())
        (losses,) = self._losses(rows, weights, statistics, run.members)
        return losses.mean(axis=0)

    def _contributions(self, rows):
        """Split the losses of scaled rows over their features."""
        import torch

        scorer, data = self._scorer_and_data(rows, self.weights_, self.statistics_)
        total = np.zeros(rows.shape)
        member_weights = torch.from_numpy(1 / self.score_scale_.astype(np.float32))
        for terms in scorer.terms(data, member_weights.to(data.device)):
            total += terms.cpu().numpy().T
        return finite(total / self.score_scale_.size, nan=FLOAT32_MAX)

    def _gradient_products(self, X):
        """Return the inner products, (M, n, n), of the gradients of rows' losses."""
        import torch

        from skim import _nets as nets

        rows = self.scaler_.transform(self._validate_new(X))
        device = nets.device_or_cpu(self.device_)
        state = rows.T, self.weights_[-1], self.statistics_[-1], self.noise_
        with nets.compute(effective_n_jobs(self.n_jobs)):
            x, weights, statistics, noise = (
                None if part is None else torch.tensor(part, device=device)
                for part in state
            )
            products = nets.gradient_products(
                self._shape(), weights, statistics, x, noise
            )
        return products.cpu().numpy().astype(np.float64)

    def _moments_of_stage(self, stage):
        """Return which stages count if the training ends with `stage`."""
        return [stage]

    def _rescales_losses(self):
        """Whether losses are scaled to [0, 1] before they are averaged."""
        return False

    def _scorer_and_data(self, rows, weights, statistics, members=slice(None)):
        """Return what scores, and the rows for it, both on the device."""
        import torch

        from skim import _nets as nets

        device = nets.device_or_cpu(self.device_)

        def tensor(array):
            return torch.from_numpy(array).to(device)

        scorer = nets.Scorer(
            self._shape(),
            tensor(weights),
            tensor(statistics),
            None if self.noise_ is None else tensor(self.noise_[members]),
        )
        return scorer, tensor(rows)
