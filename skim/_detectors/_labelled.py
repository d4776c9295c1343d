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
from skim._detectors._labels import (
    combined,
    evidence,
    fit_classifier,
    label_weight,
    loss_scale,
    outlier_odds,
    with_assumed_inliers,
)
from skim._detectors._verdict import threshold
from skim._training._resume import check_fixed
from skim._training._stages import until
from skim._utils import evenly_spaced, own_random_state


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
            run.boosting = Boosting(self, _values(rows))
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
        """Combine the losses of the training data with a classifier of its labels."""
        self.classifier_, self.label_weight_, self._odds = None, 0.0, None
        if not self.combine or getattr(self, "labels_", None) is None:
            return
        losses = self._network_losses
        labels = with_assumed_inliers(self.labels_, losses, self._label_seed)
        weight = label_weight(labels)
        if weight == 0:
            return
        self._scale = loss_scale(losses)
        own = evidence(losses, self._scale)
        values = _values(rows)
        classifier = fit_classifier(values, own, labels, self._label_seed)
        self.classifier_, self.label_weight_ = classifier, weight
        self._odds = outlier_odds(classifier, values, own)
        self.training_scores_ = -combined(own, self._odds, weight)
        self.offset_ = threshold(self.training_scores_, self.contamination)

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
            or the negated evidence of networks and classifier together.
        """
        scores = super().score_samples(X)
        if self.classifier_ is None:
            return scores
        return self._with_classifier([scores], self._scaled(X))[0]

    def _score_by_member(self, X):
        scores, by_member = super()._score_by_member(X)
        if self.classifier_ is None:
            return scores, by_member
        scores, *by_member = self._with_classifier(
            [scores, *by_member], self._scaled(X)
        )
        return scores, np.array(by_member)

    def _staged_scores(self, rows):
        for scores in super()._staged_scores(rows):
            if self.classifier_ is not None:
                (scores,) = self._with_classifier([scores], rows)
            yield scores

    def _with_classifier(self, scores, rows):
        """Combine several scores of the same rows with those of the classifier."""
        found = []
        for negated in scores:
            own = evidence(-negated, self._scale)
            parts = [
                outlier_odds(self.classifier_, part.values, own[block])
                for block, part in rows
            ]
            odds = np.concatenate(parts)
            found.append(-combined(own, odds, self.label_weight_))
        return found


def _values(rows):
    """Return the scaled values of all rows."""
    return np.concatenate([part.values for _, part in rows])
