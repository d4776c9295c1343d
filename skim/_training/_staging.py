"""Scores as if the training had ended earlier."""

import numpy as np
from joblib import effective_n_jobs

from skim._detectors._totals import FLOAT32_MAX, finite, range_of, rescaled, sum_members

MAX_AUTO_BYTES = 32 * 2**20
ATTRIBUTES = ("stage_weights_", "stage_statistics_", "stages_", "stage_ranges_")


def new_stage_log(detector, past=None):
    """Return where to note the stages of a training, or None.

    A training that may have to go on notes all of them.
    """
    from skim._nets import StageLog

    if getattr(detector, "warm_start", False):
        log = StageLog(detector.n_estimators)
        if past is not None:
            names = ("stage_weights_", "stage_statistics_", "stages_")
            log.restore(*(getattr(detector, name) for name in names))
        return log
    if detector.store_stages == "auto":
        if detector._rescales_losses():  # would have to score all rows every time
            return None
        return StageLog(detector.n_estimators, MAX_AUTO_BYTES)
    return StageLog(detector.n_estimators) if detector.store_stages else None


def keep_stages(detector, log, rows):
    """Make what was noted attributes of the detector."""
    for name in ATTRIBUTES:
        vars(detector).pop(name, None)
    if log is None or log.is_full:
        return
    arrays = log.arrays()
    detector.stage_weights_, detector.stage_statistics_, detector.stages_ = arrays
    if detector._rescales_losses():
        moments = range(len(detector.stages_))
        ranges = [range_of(losses_at(detector, moment, rows)) for moment in moments]
        detector.stage_ranges_ = np.array(ranges)


def staged_scores(detector, rows, stages=None, *, raw=False):
    """Yield the scores of scaled rows at the end of every stage, or of some of them.

    These are given in ascending order. If `raw`, scores need not be finite.
    """
    from skim import _nets as nets

    totals: dict[int, np.ndarray] = {}
    for stage in range(len(detector.stages_)) if stages is None else stages:
        moments = detector._moments_of_stage(stage)
        with nets.compute(effective_n_jobs(detector.n_jobs)):
            for moment in moments:
                if moment not in totals:
                    totals[moment] = _total_at(detector, moment, totals, rows)
        # Later stages never look back further than this one.
        for moment in [moment for moment in totals if moment < moments[0]]:
            del totals[moment]
        total = np.zeros(len(rows))
        for moment in moments:
            total += totals[moment]
        scores = total / -(len(moments) * detector.stages_.shape[1])
        yield scores if raw else finite(scores, nan=-FLOAT32_MAX)


def _total_at(detector, moment, totals, rows):
    """Return the sum of the members' losses at the end of a stage."""
    stages = detector.stages_
    if moment - 1 in totals and np.array_equal(stages[moment], stages[moment - 1]):
        return totals[moment - 1]
    losses = losses_at(detector, moment, rows)
    if detector._rescales_losses():
        losses = rescaled(losses, *detector.stage_ranges_[moment])
    return sum_members(losses)


def losses_at(detector, moment, rows):
    """Return the losses of scaled rows, (M, n), at the end of a stage."""
    members = detector.stages_[moment]
    weights, statistics = detector.stage_weights_, detector.stage_statistics_
    (losses,) = detector._losses(
        rows, weights[members][None], statistics[members][None]
    )
    return losses
