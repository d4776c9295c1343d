"""ALTBI with scores, and optionally training, that use labels."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils.validation import check_is_fitted

from skim import _nets as nets
from skim._detectors._altbi import ALTBIDetector
from skim._detectors._base import N_TYPICAL_ROWS
from skim._detectors._boosting import Boosting
from skim._detectors._label_model import LabelModel, usable_labels
from skim._detectors._labels import most_valuable
from skim._detectors._scaling import ScaledTable
from skim._detectors._verdict import threshold
from skim._training._stages import until
from skim._utils import FLOAT32_MAX, evenly_spaced, finite, own_random_state

N_LISTED = 2000  # rows in doubt, of which questions are chosen
# Parameters that may change without another training run.
FREE_PARAMS = {
    "combine",
    "contamination",
    "inlier_share",
    "inlier_weight",
    "n_jobs",
    "outlier_weight",
    "query_strategy",
    "verbose",
}


class LabelledDetector(ALTBIDetector):
    """Base class of the detector that learns from labels.

    Warning: this class should not be used directly. Use derived classes instead.
    """

    _needs_all_rows = True  # labels and queries number them

    combine: bool
    warm_up: int | None
    inlier_share: float

    # Fitting -------------------------------------------------------------------

    def _learn(self, X, y, labels, questions=None):
        """Fit with labels, and with the answers to questions asked while training."""
        has_labels = labels is not None or questions is not None
        self._check_use_of_labels(has_labels)
        before = dict(vars(self))
        is_trained = has_labels and self._is_trained()
        self.labels_, self._questions = labels, questions
        try:
            if is_trained:
                self._learn_only_labels(X)
            else:
                self._train_networks(X, y)
        except BaseException:
            if is_trained or hasattr(self, "offset_"):  # the previous fit is still good
                self.__dict__ = before
            raise
        finally:
            self.__dict__.pop("_questions", None)

    def _learn_only_labels(self, X):
        """Finish the fit again, with other labels or other rows."""
        table = self._scaled(X)
        self._sample = table.X[evenly_spaced(len(table), N_TYPICAL_ROWS)]
        snapshots = zip(self.weights_, self._statistics, strict=True)
        with nets.compute():
            self._finish(table.kept(), list(snapshots))

    def _check_use_of_labels(self, has_labels):
        if self.warm_up is None:
            if has_labels and not self.combine:
                raise ValueError(
                    "combine=False and warm_up=None leave no use for labels; set "
                    "combine=True, or warm_up to a number of epochs."
                )
            return
        if self.stopping is not None:
            raise ValueError(
                f"warm_up={self.warm_up} needs stopping=None: training must not end "
                "before labels are used."
            )
        if self.warm_up >= self.epochs:
            raise ValueError(
                f"warm_up={self.warm_up} leaves no epoch for labels; it must be less "
                f"than epochs={self.epochs}."
            )

    def _is_trained(self):
        """Whether a warm-started fit has only labels to learn."""
        is_resumed = self.warm_start and hasattr(self, "offset_")
        return is_resumed and vars(self).get("_trained_with") == self._training_params()

    def _training_params(self):
        """Return the parameters that a training run without labels depends on."""
        params = self.get_params(deep=False)
        return {name: params[name] for name in params if name not in FREE_PARAMS}

    def _train_networks(self, X, y):
        is_warm = self.warm_start and self.warm_up is not None
        n_epochs = getattr(self, "_past", {}).get("n_epochs")
        if is_warm and n_epochs == self.warm_up and hasattr(self, "offset_"):
            self.history_, self._stages = until(self, self.warm_up)
        self._fit(X, y)
        end_of_warm_up = self.__dict__.pop("_end_of_warm_up", None)
        if is_warm:
            self._past = end_of_warm_up
        self.__dict__.pop("_trained_with", None)
        if self.warm_up is None:
            self._trained_with = self._training_params()

    def _new_run(self, rows, past=None):
        run = super()._new_run(rows, past)
        self._label_seed = own_random_state(self.random_state).randint(2**31 - 1)
        if self.warm_up is not None and hasattr(self, "_questions"):  # in `fit`
            values = np.concatenate([part.values for _, part in rows])
            run.boosting = Boosting(self, values)
        return run

    def _update(self, run, epoch):
        boosting = getattr(run, "boosting", None)
        if boosting is not None:
            boosting.begin(run, epoch)
            if boosting.labelled is not None:
                quantile = self.keep_quantile if epoch > self.truncate_after else 1.0
                return boosting.labelled.update(
                    run,
                    self._batch_size_of(epoch),
                    quantile=quantile,
                    inlier_share=self.inlier_share,
                )
        return super()._update(run, epoch)

    def _finish(self, rows, snapshots):
        super()._finish(rows, snapshots)
        self._network_losses = -self.training_scores_
        self._learn_labels(rows)

    def _learn_labels(self, rows):
        """Combine the losses of the training data with its labels, if there are any."""
        losses = self._network_losses
        sample = self._scaler.scale(self._sample).values
        model = LabelModel(losses, -threshold(-losses, "auto"), sample)
        self.training_scores_ = -losses
        labels = getattr(self, "labels_", None) if self.combine else None
        if labels is not None:
            used, known = usable_labels(labels, losses, self._label_seed)
            model.fit(used, known, _values(rows, used), losses[used])
            log_odds = [
                model.log_odds(losses[block], part.values) for block, part in rows
            ]
            self.training_scores_ = -np.concatenate(log_odds)
        self._label_model, self.label_rows_ = model, model.rows
        self.offset_ = self._threshold()
        self._shortlist = self._new_shortlist(rows)

    def _threshold(self):
        """Return the score at even odds, unless that changes the verdict too much.

        By how much the number of outliers may change grows with the number of labels,
        above all of the rarer kind: labels of one kind say little about it.
        """
        if self.contamination != "auto" or not len(self.label_rows_):
            return threshold(self.training_scores_, self.contamination)
        labels = self.labels_[~np.isnan(self.labels_)]
        n_outliers = int(labels.sum())
        n_rarer = min(n_outliers, len(labels) - n_outliers)
        factor = min(1 + len(labels) / 5, 2 + n_rarer)
        n_before = int(np.sum(self._label_model.by_loss(self._network_losses) > 0))
        n_now = int(np.sum(self.training_scores_ < 0))
        n_allowed = round(np.clip(n_now, n_before / factor, max(n_before, 1) * factor))
        if n_allowed == n_now:
            return 0.0
        share = min(n_allowed / len(self.training_scores_), 0.5)
        return threshold(self.training_scores_, share)

    def _flagged_without_labels(self, log_odds):
        """Whether rows with these log-odds, by their losses, would be outliers."""
        if self.contamination == "auto":
            return log_odds > 0
        scores = -self._label_model.by_loss(self._network_losses)
        return -log_odds < threshold(scores, self.contamination)

    def set_contamination(self, contamination: float | str) -> Self:
        """Set the threshold anew, without training again.

        Parameters
        ----------
        contamination : "auto" or float
            Share of outliers in the training data, in (0, 0.5].

        Returns
        -------
        self : object
            The detector, with its `contamination` and `offset_` changed.
        """
        super().set_contamination(contamination)
        self.offset_ = self._threshold()
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: object = None) -> Self:
        """Train on more rows, in one pass over them, and forget all labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            At least two rows; some hundreds or more are better.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The detector. After `fit`, its networks are trained further.
        """
        before = getattr(self, "labels_", None)
        self.labels_ = None
        self.__dict__.pop("_trained_with", None)
        try:
            return super().partial_fit(X, y)
        except BaseException:
            self.labels_ = before
            raise

    # Asking --------------------------------------------------------------------

    def _log_odds(self):
        """Return the log-odds of the training data."""
        if len(self.label_rows_):
            return -self.training_scores_
        return self._label_model.by_loss(self._network_losses)

    def _new_shortlist(self, rows):
        """Return the rows that are most in doubt, and their scaled values."""
        doubt = np.abs(self._log_odds())
        if getattr(self, "labels_", None) is not None:
            doubt[~np.isnan(self.labels_)] = np.inf
        listed = np.sort(np.argsort(doubt, kind="stable")[:N_LISTED])
        return listed, _values(rows, listed)

    def _worth_asking(self, strategy, rows, n):
        """Return the `n` of some rows most worth asking about, most valuable first."""
        if strategy != "informative":
            return most_valuable(
                strategy, rows, n, losses=-self.training_scores_, seed=self._label_seed
            )
        log_odds, (listed, values) = self._log_odds(), self._shortlist
        is_open = np.isin(listed, rows)
        listed = listed[is_open]
        places = self._label_model.most_informative(
            log_odds[listed], values[is_open], n
        )
        others = rows[~np.isin(rows, listed)]
        others = others[np.argsort(np.abs(log_odds[others]), kind="stable")]
        return np.r_[listed[places], others][:n]

    # Scoring -------------------------------------------------------------------

    def score_samples(self, X: ArrayLike) -> NDArray[np.float64]:
        """Score rows: the lower, the more abnormal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The negated loss of each row, averaged over the members and the snapshots,
            or with labels, the negated log-odds of an outlier.
        """
        check_is_fitted(self, "offset_")
        if not len(self.label_rows_):
            return super().score_samples(X)
        rows = self._scaled(X)
        with nets.compute():
            parts = [
                self._with_labels([self._scores([(block, part)])], part.values)
                for block, part in rows
            ]
        return np.concatenate(parts, axis=1)[0]

    def _score_by_member(self, X):
        scores, by_member = super()._score_by_member(X)
        if len(self.label_rows_):
            every = np.vstack([scores, by_member])
            for block, part in self._scaled(X):
                every[:, block] = self._with_labels(every[:, block], part.values)
            scores, by_member = every[0], every[1:]
        return scores, by_member

    def _staged_scores(self, rows):
        by_labels = [self._label_model.by_labels(part.values) for _, part in rows]
        for scores in super()._staged_scores(rows):
            if len(self.label_rows_):
                by_loss = self._label_model.by_loss(-finite(scores, nan=-FLOAT32_MAX))
                scores = -(by_loss + np.concatenate(by_labels))
            yield scores

    def _with_labels(self, scores, values):
        """Return several scores of the same rows, networks and labels together."""
        losses = -finite(np.asarray(scores), nan=-FLOAT32_MAX)
        model = self._label_model
        return -(model.by_loss(losses) + model.by_labels(values))


def _values(rows, indices):
    """Return the scaled values of some rows, by their indices in ascending order."""
    if isinstance(rows, ScaledTable):
        return rows.values(indices)
    found = []
    for block, part in rows:
        own = (indices >= block.start) & (indices < block.start + len(part.values))
        found.append(part.values[indices[own] - block.start])
    return np.concatenate(found)
