"""ALTBI whose scores, and whose training if need be, take labels into account."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context

from skim import _nets as nets
from skim._detectors._altbi import ALTBIDetector
from skim._detectors._base import N_TYPICAL_ROWS
from skim._detectors._boosting import Boosting
from skim._detectors._label_model import LabelModel, usable_labels
from skim._detectors._labels import most_valuable
from skim._detectors._verdict import threshold
from skim._training._resume import check_fixed
from skim._training._stages import until
from skim._utils import FLOAT32_MAX, evenly_spaced, finite, own_random_state

N_LISTED = 2000  # rows in doubt, of which questions are chosen


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
        self._check_use_of_labels(labels is not None or questions is not None)
        names = ("labels_", "history_", "_stages")
        before = {name: vars(self)[name] for name in names if name in vars(self)}
        self.labels_, self._questions = labels, questions
        try:
            if self._is_trained():
                rows, snapshots = self._scaled(X), (self.weights_, self._statistics)
                self._sample = rows.X[evenly_spaced(len(rows), N_TYPICAL_ROWS)]
                with nets.compute():
                    self._finish(rows, list(zip(*snapshots, strict=True)))
            else:
                self._train_networks(X, y)
        except (TypeError, ValueError):
            if hasattr(self, "offset_"):  # the previous fit is still good
                self.__dict__.update(before)
            raise
        finally:
            del self._questions

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
        n_epochs = getattr(self, "_past", {}).get("n_epochs")
        if self.labels_ is None or self.warm_up is not None or not self.warm_start:
            return False
        if not n_epochs or not hasattr(self, "offset_"):
            return False
        check_fixed(self, self._fixed_params + self._fixed_in_fit)
        criterion = self.history_["criterion"]
        is_over = self.stopping is not None and self._is_over(criterion)
        return n_epochs == self.epochs or is_over

    def _train_networks(self, X, y):
        is_warm = self.warm_start and self.warm_up is not None
        n_epochs = getattr(self, "_past", {}).get("n_epochs")
        if is_warm and n_epochs == self.warm_up and hasattr(self, "offset_"):
            self.history_, self._stages = until(self, self.warm_up)
        self._fit(X, y)
        end_of_warm_up = self.__dict__.pop("_end_of_warm_up", None)
        if is_warm:
            self._past = end_of_warm_up

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
        self._label_model = model
        labels = getattr(self, "labels_", None) if self.combine else None
        if labels is not None:
            used, known = usable_labels(labels, losses, self._label_seed)
            model.fit(used, known, _values(rows, used), losses[used])
            log_odds = [
                model.log_odds(losses[block], part.values) for block, part in rows
            ]
            self.training_scores_ = -np.concatenate(log_odds)
        self.label_rows_ = model.rows
        if len(model.rows):
            self.offset_ = self._threshold()
        self._shortlist = self._new_shortlist(rows)

    def _threshold(self):
        """Return the score of even odds; of inliers alone, that of as many outliers.

        Known inliers say which rows are outliers rather than others, not how many are.
        """
        model = self._label_model
        if self.contamination != "auto" or not len(self.label_rows_):
            return threshold(self.training_scores_, self.contamination)
        if model.labels.any():
            return 0.0
        share = np.mean(model.by_loss(self._network_losses) > 0)
        return threshold(self.training_scores_, share)

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
        if not len(self.label_rows_):
            return super().score_samples(X)
        rows = self._scaled(X)
        with nets.compute():
            parts = [
                self._with_labels(self._scores([(block, part)]), part.values)
                for block, part in rows
            ]
        return np.concatenate(parts)

    def _score_by_member(self, X):
        scores, by_member = super()._score_by_member(X)
        if len(self.label_rows_):
            rows = self._scaled(X)
            for own in (scores, *by_member):
                for block, part in rows:
                    own[block] = self._with_labels(own[block], part.values)
        return scores, by_member

    def _staged_scores(self, rows):
        for scores in super()._staged_scores(rows):
            if len(self.label_rows_):
                for block, part in rows:
                    scores[block] = self._with_labels(scores[block], part.values)
            yield scores

    def _with_labels(self, scores, values):
        """Return the scores of networks and labels together."""
        losses = -finite(scores, nan=-FLOAT32_MAX)
        return -self._label_model.log_odds(losses, values)


def _values(rows, places):
    """Return the scaled values of some rows, by their numbers in ascending order."""
    found = []
    for block, part in rows:
        own = (places >= block.start) & (places < block.start + len(part.values))
        found.append(part.values[places[own] - block.start])
    return np.concatenate(found)
