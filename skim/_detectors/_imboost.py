"""IMBoost: ALTBI that asks for a few labels and learns from them."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_scalar
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted

from skim._detectors._altbi import ALTBIDetector
from skim._detectors._labelled import LabelledDetector
from skim._detectors._labels import (
    STRATEGIES,
    Questions,
    check_labels,
    check_rows,
)


class IMBoostDetector(LabelledDetector):
    """Outlier detector that learns from a few labels, and says which ones it needs.

    Without labels, this is :class:`ALTBIDetector`. A label changes the score of its
    row, and of other rows the more they resemble it: a Gaussian process adds to what
    the loss of the networks says. Labels can be known beforehand, or be given to the
    rows that :meth:`query` names.

    :meth:`paper` gives the original method [1]_, in which labels enter the training of
    the networks and nothing else.

    Read more in :doc:`/labels`.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Number of networks, trained side by side. "auto" is 10 for fewer than 500
        rows, where chance weighs more and networks cost less, and 5 for more.

    n_importance : int, default=1
        Number of latent codes drawn per row and update. With 1, rows are scored
        at the mean of their code.

    max_width : int, default=128
        Largest width of the networks. Up to this limit, their first block has 32
        units for fewer than 100 features, 128 for fewer than 400, 256 for fewer than
        1500 and 512 beyond; the second block has half and the latent code a
        quarter of that.

    n_components : int, "auto" or None, default="auto"
        Largest number of principal components that the networks see instead of the
        features; there is at most one for every three rows. "auto" means 128 for
        tables of 200 or more features, and None for narrower ones; None disables the
        reduction. Components are min-max scaled, whatever `scaling` is.

    epochs : int, default=100
        Number of epochs or, if `stopping` chooses when to stop, the largest number.

    updates_per_epoch : int, default=5
        Number of updates per epoch, whatever the number of rows.

    batch_size : int, default=128
        Rows per batch until truncation begins.

    batch_growth : float, default=1.03
        Factor by which the batch grows in every epoch after that.

    max_batch_size : int, default=256
        Largest batch.

    truncate_after : int, default=3
        Number of epochs after which truncation and the growth of the batches begin.

    keep_quantile : float, default=0.92
        Share of each batch, the rows with the smaller losses, that trains the
        networks once truncation has begun.

    stopping : str or None, default="entropy"
        Early-stopping criterion: "separation", "entropy", "cohesion", "excess_mass",
        "mass_volume" or None. The best epoch is the one at which the losses of a
        sample of rows are best by this criterion of :mod:`skim.metrics`; None means
        the last epoch.

    min_epochs : int or "auto", default="auto"
        The first epoch that `stopping` may choose. Losses say little before. "auto"
        is 25, or the epoch by which rows have been seen 50 times on average, if that
        comes first, as in small tables; but always later than `truncate_after`.

    patience : float or None, default=2.5
        Training stops after `patience` times as many epochs as the best epoch so far.
        With 2.5 and a best epoch of 30, that is after epoch 75, unless a better epoch
        is found by then. None trains for all `epochs`, as does ``stopping=None``.

    burn_in : float, default=0.4
        Share of the epochs, up to the best one, before the first snapshot.

    n_snapshots : int, default=11
        Number of evenly spaced snapshots that rows are scored with; at most this
        many with early stopping. The last one is the best epoch.

    normalize_losses : bool, default=False
        Whether to scale the losses of each snapshot to [0, 1], by their range on
        the training data, before they are averaged.

    learning_rate : float, default=3e-3
        Step size of Adam.

    weight_decay : float, default=5e-7
        L2 penalty of Adam.

    scaling : {"squash", "minmax"}, default="squash"
        How features are scaled. "squash" maps standardised values z to
        ``(tanh(z / 3) + 1) / 2``, "minmax" the training range to [0, 1]. With
        "squash", a cell far from all others of its column adds its distance to the
        loss, which squashing would hide.

    ema_steps : int, default=0
        Number of updates of the warm-up of :class:`EMAWarmStart`; 0 disables it.

    ema_decay : float, default=0.999
        Decay of the warm-up's moving average.

    contamination : "auto" or float, default="auto"
        Share of outliers in the training data, in (0, 0.5], which sets the
        threshold. Without labels, that of "auto" lies where the losses of the training
        data thin out: in a gap of their upper tail if there is a wide one, and else so
        that about 1 to 3 % of the rows are outliers. With labels, "auto" flags rows
        that are more likely than not to be outliers, but with `n` labels it changes the
        number of outliers by a factor of at most ``1 + n / 5``, and of at most 2 plus
        the number of labels of the rarer kind.

    query_strategy : {"informative", "mixture", "random", "extremes", "strangest"}, \
            default="informative"
        What :meth:`query` asks about. "informative" prefers rows near the threshold
        that resemble neither each other nor, with `combine`, labelled rows; "mixture",
        rows that two Gaussians, fitted to the losses, cannot tell apart. "extremes"
        takes the most and the least abnormal rows in turns.

    combine : bool, default=True
        Whether the scores combine the losses with the labels of similar rows.

    warm_up : int or None, default=None
        Number of epochs after which labels enter the training of the networks. None
        means that the networks do not see them. Needs ``stopping=None``.

    inlier_weight : float, default=2.0
        Weight of the loss of labelled inliers in the training of the networks.

    outlier_weight : float, default=1.0
        Weight of the likelihood of labelled outliers, which is made small.

    inlier_share : float, default=0.4
        How far the truncation moves from the quantile of the batch's losses to the mean
        loss of labelled inliers.

    warm_start : bool, default=False
        Whether `fit` resumes the previous training run instead of starting a new one.
        With other labels, it goes on from the end of the warm-up; if the networks do
        not see labels, they are not trained again. The result is that of a single fit
        with these labels. With more `epochs`, training goes on up to them.
        The detector keeps the weights of all epochs for this.

    random_state : int, RandomState instance or None, default=None
        Controls the initial weights, the batches, the latent noise and random
        questions. Pass an int for reproducible scores.

    n_jobs : int, default=None
        Number of threads that score rows; training uses one. None means 1 unless in
        a :obj:`joblib.parallel_config` context, -1 all processors. Scores do not
        depend on it.

    device : str, default="cpu"
        Where to compute: any device of torch, or "auto" for a GPU if there is one.

    store_stages : bool, default=False
        Whether to keep the weights after every epoch, for
        :meth:`staged_score_samples`.

    verbose : int, default=0
        Whether to show a progress bar on standard error.

    Attributes
    ----------
    offset_ : float
        Threshold: ``decision_function = score_samples - offset_``.

    training_scores_ : ndarray of shape (n_samples,)
        Scores of the training data, as `score_samples` returns them; after
        `partial_fit`, of a sample of all rows seen.

    training_rows_ : None
        Labels number the rows, so all of them are used, however many there are.

    labels_ : ndarray of shape (n_samples,) or None
        The labels of the training data, NaN where unknown; None without labels.

    label_rows_ : ndarray of int
        Sorted indices of the training rows whose labels affect the scores, including
        rows assumed to be inliers; empty without labels.

    history_ : dict of str to ndarray
        Record of the training run, with one element per epoch: "epoch", "update",
        "batch_size", the quantiles of the batch's losses "loss_q05", "loss_q25",
        "loss_q50", "loss_q75" and "loss_q95", and the "criterion" for early stopping,
        which is evaluated less and less often and NaN otherwise.
        ``pandas.DataFrame(detector.history_)`` makes it a table.

    best_epoch_ : int
        The best epoch, or the last one without early stopping.

    snapshot_epochs_ : ndarray of int
        The epochs, counted from 1, of the snapshots.

    weights_ : ndarray of shape (n_kept, n_estimators, n_weights)
        Weights of the snapshots, `n_snapshots` of them unless the training run was
        too short for that.

    typical_contributions_ : ndarray of shape (n_features,)
        Mean contributions of the features in a sample of the training data.

    device_ : str
        The device that was used.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only when `X` has
        feature names that are all strings.

    See Also
    --------
    ALTBIDetector : The same without labels.

    Notes
    -----
    With labels, scores are negated log-odds of an outlier, and on another scale than
    without. The loss alone gives a row log-odds that are 0 at the threshold; a Gaussian
    process, whose covariance falls off exponentially with the mean absolute difference
    of the standardised features, adds what the labels say. Rows with small losses are
    assumed to be inliers until there are three per known outlier. Of more than 1,000
    labels, a sample is used. :meth:`explain` and :meth:`reasons` are about the
    networks' loss alone, :meth:`label_influences` is about the labels, and
    :meth:`staged_score_samples` combines the losses of every stage with the same
    labels. :meth:`partial_fit` forgets the labels.

    References
    ----------
    .. [1] Kang, Park and Kim, "IMBoost", 2026.

    Examples
    --------
    >>> import numpy as np
    >>> from skim import IMBoostDetector
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(190, 3)), rng.normal([3, 3, 0], 0.3, size=(10, 3))]
    >>> is_outlier = np.arange(200) >= 190
    >>> detector = IMBoostDetector(warm_start=True, random_state=0).fit(X)
    >>> labels = np.full(200, np.nan)
    >>> for _ in range(3):
    ...     rows = detector.query(6)
    ...     labels[rows] = is_outlier[rows]
    ...     detector = detector.fit(X, labels=labels)
    >>> np.sort(detector.training_scores_.argsort()[:10])
    array([190, 191, 192, 193, 194, 195, 196, 197, 198, 199])
    """

    _parameter_constraints: dict = {
        **ALTBIDetector._parameter_constraints,
        "query_strategy": [StrOptions(set(STRATEGIES))],
        "combine": ["boolean"],
        "warm_up": [Interval(Integral, 1, None, closed="left"), None],
        "inlier_weight": [Interval(Real, 0, None, closed="left")],
        "outlier_weight": [Interval(Real, 0, None, closed="left")],
        "inlier_share": [Interval(Real, 0, 1, closed="both")],
    }

    _fixed_in_fit: tuple = (*ALTBIDetector._fixed_in_fit, "warm_up")

    def __init__(
        self,
        *,
        n_estimators="auto",
        n_importance=1,
        max_width=128,
        n_components="auto",
        epochs=100,
        updates_per_epoch=5,
        batch_size=128,
        batch_growth=1.03,
        max_batch_size=256,
        truncate_after=3,
        keep_quantile=0.92,
        stopping="entropy",
        min_epochs="auto",
        patience=2.5,
        burn_in=0.4,
        n_snapshots=11,
        normalize_losses=False,
        learning_rate=3e-3,
        weight_decay=5e-7,
        scaling="squash",
        ema_steps=0,
        ema_decay=0.999,
        contamination="auto",
        query_strategy="informative",
        combine=True,
        warm_up=None,
        inlier_weight=2.0,
        outlier_weight=1.0,
        inlier_share=0.4,
        warm_start=False,
        random_state=None,
        n_jobs=None,
        device="cpu",
        store_stages=False,
        verbose=0,
    ):
        super().__init__(
            n_estimators=n_estimators,
            n_importance=n_importance,
            max_width=max_width,
            n_components=n_components,
            epochs=epochs,
            updates_per_epoch=updates_per_epoch,
            batch_size=batch_size,
            batch_growth=batch_growth,
            max_batch_size=max_batch_size,
            truncate_after=truncate_after,
            keep_quantile=keep_quantile,
            stopping=stopping,
            min_epochs=min_epochs,
            patience=patience,
            burn_in=burn_in,
            n_snapshots=n_snapshots,
            normalize_losses=normalize_losses,
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            scaling=scaling,
            ema_steps=ema_steps,
            ema_decay=ema_decay,
            contamination=contamination,
            warm_start=warm_start,
            random_state=random_state,
            n_jobs=n_jobs,
            device=device,
            store_stages=store_stages,
            verbose=verbose,
        )
        self.query_strategy = query_strategy
        self.combine = combine
        self.warm_up = warm_up
        self.inlier_weight = inlier_weight
        self.outlier_weight = outlier_weight
        self.inlier_share = inlier_share

    @classmethod
    def paper(cls, **params: Any) -> Self:
        """Make a detector with the settings of the original method.

        Parameters
        ----------
        **params : dict
            Parameters to override.

        Returns
        -------
        detector : IMBoostDetector
        """
        settings = {
            "n_importance": 2,
            "epochs": 100,
            "burn_in": 0.0,
            "n_snapshots": 1,
            "normalize_losses": False,
            "query_strategy": "mixture",
            "combine": False,
            "warm_up": 50,
        }
        return super().paper(**(settings | params))

    # Fitting -------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: object = None, *, labels: ArrayLike | None = None
    ) -> Self:
        """Fit the detector to data of which some labels may be known.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training data, outliers included. Missing cells are NaN.

        y : Ignored
            Not used, present for API consistency by convention.

        labels : array-like of shape (n_samples,), default=None
            1 for outliers, 0 for inliers, and NaN, None or ``pandas.NA`` where
            unknown. They may be all of one kind.

        Returns
        -------
        self : object
            The fitted detector.
        """
        self._learn(X, y, check_labels(labels, _num_samples(X)))
        return self

    def fit_predict(
        self, X: ArrayLike, y: object = None, *, labels: ArrayLike | None = None
    ) -> NDArray[np.int_]:
        """Fit the detector and label the training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training data, outliers included.

        y : Ignored
            Not used, present for API consistency by convention.

        labels : array-like of shape (n_samples,), default=None
            As in :meth:`fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            +1 for inliers, -1 for outliers.
        """
        self.fit(X, y, labels=labels)
        return np.where(self.training_scores_ < self.offset_, -1, 1)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_oracle(
        self,
        X: ArrayLike,
        oracle: Callable[[NDArray[np.intp]], ArrayLike],
        *,
        labels: ArrayLike | None = None,
        n_rounds: int = 5,
        n_per_round: int | None = None,
        among: ArrayLike | None = None,
    ) -> Self:
        """Fit the detector and ask for labels on the way.

        If labels enter the training of the networks, questions are asked at the end of
        the warm-up and at even intervals after it, as in the original method.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training data, outliers included. Missing cells are NaN.

        oracle : callable
            Called with an array of row numbers; returns the label of each row, missing
            where it has no answer.

        labels : array-like of shape (n_samples,), default=None
            Labels that are known beforehand, as in :meth:`fit`.

        n_rounds : int, default=5
            Number of times that questions are asked.

        n_per_round : int or None, default=None
            Number of questions at a time. None means 1 % of the rows, or 6 if there are
            at most 500 rows.

        among : array-like of int or of bool, default=None
            The rows that may be asked about, all by default.

        Returns
        -------
        self : object
            The fitted detector, with the answers among its `labels_`.
        """
        n_rows = _num_samples(X)
        if n_per_round is None:
            n_per_round = 6 if n_rows <= 500 else round(n_rows / 100)
        check_scalar(n_rounds, "n_rounds", Integral, min_val=1)
        check_scalar(n_per_round, "n_per_round", Integral, min_val=1)
        questions = Questions(
            oracle,
            check_labels(labels, n_rows),
            check_rows(among, n_rows),
            n_rounds,
            n_per_round,
        )
        self._learn(X, None, questions.labels, questions)
        if self.warm_up is None:
            rows = self._scaled(X)
            for _ in range(n_rounds):
                chosen = self.query(n_per_round, among=questions.is_open)
                self.labels_ = questions.ask(chosen)
                self._learn_labels(rows)
        return self

    # Asking --------------------------------------------------------------------

    def query(
        self,
        n: int = 10,
        *,
        strategy: str | None = None,
        among: ArrayLike | None = None,
    ) -> NDArray[np.intp]:
        """Name the rows of the training data whose labels would help most.

        Parameters
        ----------
        n : int, default=10
            Number of rows; fewer are returned if fewer have no label.

        strategy : str or None, default=None
            One of the values of `query_strategy`, which None stands for.

        among : array-like of int or of bool, default=None
            The rows that may be asked about, by number or as a mask; all by default.
            "informative" considers how rows resemble each other for the 2,000 rows
            nearest to the threshold; others come last.

        Returns
        -------
        rows : ndarray of int
            Numbers of rows without a label, the most valuable first.
        """
        check_is_fitted(self, "offset_")
        check_scalar(n, "n", Integral, min_val=0)
        if not hasattr(self, "snapshot_epochs_"):
            raise ValueError("query needs fit: partial_fit does not number its rows.")
        strategy = self.query_strategy if strategy is None else strategy
        if strategy not in STRATEGIES:
            raise ValueError(
                f"strategy must be one of {', '.join(STRATEGIES)}, got {strategy!r}."
            )
        is_open = check_rows(among, len(self.training_scores_))
        if getattr(self, "labels_", None) is not None:
            is_open &= np.isnan(self.labels_)
        return self._worth_asking(strategy, np.flatnonzero(is_open), n)

    # Explaining ----------------------------------------------------------------

    def label_influences(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the contribution of each label to the log-odds of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to explain.

        Returns
        -------
        influences : ndarray of shape (n_samples, n_labels)
            The columns belong to the training rows `label_rows_`. Values are positive
            where a label makes a row more likely to be an outlier. With labels,
            ``-score_samples(X)`` is the sum over a row, plus a function of its loss.
        """
        rows = self._scaled(X)
        return np.concatenate(
            [self._label_model.influences(part.values) for _, part in rows]
        )
