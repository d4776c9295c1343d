"""Labels in the training of the networks: when they enter, and when to ask."""

import copy
from collections import deque

import numpy as np

from skim import _nets as nets
from skim._detectors._scaling import ScaledRows
from skim._training._resume import resumable

N_RECENT_EPOCHS = 10  # whose losses say which rows to ask about


class Boosting:
    """The part of a training run that comes after the warm-up.

    Parameters
    ----------
    detector : IMBoostDetector
    values : ndarray of shape (n, p)
        The scaled training data.

    Attributes
    ----------
    labelled : LabelledRows or None
        The labelled rows, once the warm-up is over and there are some.
    """

    def __init__(self, detector, values):
        self.detector = detector
        self.values = values
        self.labelled = None
        self._epoch = 0
        self._recent: deque = deque(maxlen=N_RECENT_EPOCHS)

    def begin(self, run, epoch):
        """Prepare an epoch before its first update."""
        detector = self.detector
        if epoch == self._epoch:
            return
        self._epoch = epoch
        questions, n_trained = detector._questions, epoch - 1 - detector.warm_up
        if questions is not None:
            self._recent.append(run.state())
        if n_trained == 0:
            if detector.warm_start:
                detector._end_of_warm_up = resumable(detector, run)
            self._use_labels(run)
        if questions is None or n_trained < 0:
            return
        interval = max((detector.epochs - detector.warm_up) // questions.n_rounds, 1)
        if n_trained % interval == 0 and n_trained // interval < questions.n_rounds:
            detector.labels_ = questions.ask(self._rows_to_ask(run))
            self._use_labels(run)

    def _use_labels(self, run):
        detector = self.detector
        if detector.labels_ is None:
            return
        self.labelled = nets.LabelledRows(
            run,
            nets.as_tensor(self.values, detector.device_),
            detector.labels_,
            inlier_weight=detector.inlier_weight,
            outlier_weight=detector.outlier_weight,
        )

    def _rows_to_ask(self, run):
        detector, questions = self.detector, self.detector._questions
        losses = [
            detector._losses(self.values, *state, run.members).mean(axis=0)
            for state in self._recent
        ]
        now = copy.copy(detector)
        now._network_losses = np.mean(losses, axis=0)
        every_row = slice(0, len(self.values)), ScaledRows(self.values, None, None)
        now._learn_labels([every_row])
        is_open = np.flatnonzero(questions.is_open)
        return now._worth_asking(
            detector.query_strategy, is_open, questions.n_per_round
        )
