"""The states that a training run went through, and scores at any of them."""

import copy

import numpy as np

from skim._utils import FLOAT32_MAX, finite

STATE = ("weights", "statistics")  # of a network


class StageLog:
    """Keeps every state that a member had at the end of a stage, once.

    Parameters
    ----------
    n_members : int
    past : dict, default=None
        What `export` of the log of a resumed run returned.
    """

    def __init__(self, n_members, past=None):
        self._states: list = [(past["weights"], past["statistics"])] if past else []
        self._n_states = len(past["weights"]) if past else 0
        self._stages = list(past["index"]) if past else []
        self._now = self._stages[-1].copy() if past else np.zeros(n_members, np.intp)

    def put(self, members, weights, statistics):
        """Replace the states of some members; the others keep theirs.

        Parameters
        ----------
        members : ndarray of int
        weights : ndarray of shape (len(members), P)
        statistics : ndarray of shape (len(members), Q)
        """
        self._now[members] = self._n_states + np.arange(len(members))
        self._n_states += len(members)
        self._states.append((weights, statistics))

    def end_stage(self):
        """Note which states the members have now."""
        self._stages.append(self._now.copy())

    def state(self, stage):
        """Return the weights and statistics that all members had after a stage."""
        stages = self.export()
        return tuple(stages[k][stages["index"][stage]] for k in STATE)

    def export(self):
        """Return the states, and which member had which of them when.

        Returns
        -------
        stages : dict of str to ndarray
            "weights" of shape (R, P), "statistics" of shape (R, Q) and "index" of
            shape (T, M): the row of each member's state at the end of each stage.
        """
        if len(self._states) > 1:
            parts = zip(*self._states, strict=True)
            self._states = [tuple(map(np.concatenate, parts))]
        weights, statistics = self._states[0]
        index = np.stack(self._stages)
        return {"weights": weights, "statistics": statistics, "index": index}


def keep_stages(detector, log, rows):
    """Make the recorded stages an attribute of the detector."""
    detector._stages = stages = log.export()
    if detector.normalize_losses:
        every = _with_states(detector, slice(None))
        stages["ranges"] = np.array(every._ranges(rows))


def staged_scores(detector, rows, stages=None, *, raw=False):
    """Yield the scores of scaled rows at the end of every stage, or of some of them.

    The stages are given in ascending order. If `raw`, scores need not be finite.
    """
    totals: dict[int, np.ndarray] = {}
    index = detector._stages["index"]
    for stage in range(len(index)) if stages is None else stages:
        kept = detector._kept_stages(stage)
        for k in kept:
            if k in totals:
                continue
            if k - 1 in totals and np.array_equal(index[k], index[k - 1]):
                totals[k] = totals[k - 1]
            else:
                totals[k] = sum(_losses_at(detector, k, rows))
        # Later stages never look back further than this one.
        for k in [k for k in totals if k < kept[0]]:
            del totals[k]
        total = sum(totals[k] for k in kept)
        scores = total / -(len(kept) * index.shape[1])
        _complete_at(detector, kept, scores, rows)
        yield scores if raw else finite(scores, nan=-FLOAT32_MAX)


def _complete_at(detector, kept, scores, rows):
    """Add what missing and far cells account for, as if training had ended there."""
    earlier = _with_states(detector, kept)
    if any(part.missing is not None for _, part in rows):
        earlier._learn_typical()
    for block, part in rows:
        scores[block] = earlier._completed(scores[block], part)


def _with_states(detector, kept):
    """Return a copy of the detector with the states of some stages as its snapshots."""
    stages = detector._stages
    places = stages["index"][kept]
    earlier = copy.copy(detector)
    earlier.weights_, earlier._statistics = (stages[k][places] for k in STATE)
    earlier._loss_ranges = list(stages["ranges"][kept]) if "ranges" in stages else []
    return earlier


def _losses_at(detector, stage, rows):
    """Return the losses of rows, (M, n), at the end of a stage."""
    stages = detector._stages
    members = stages["index"][stage]
    state = [stages[k][members] for k in STATE]
    parts = [detector._losses(part.values, *state) for _, part in rows]
    losses = np.concatenate(parts, axis=1)
    return rescaled(losses, stages["ranges"][stage]) if "ranges" in stages else losses


def detector_at(detector, epochs, rows):
    """Return the detector as a training run of fewer epochs would have left it.

    Parameters
    ----------
    detector : IMDetector
        Trained, with its stages kept.
    epochs : int
    rows : ScaledTable or list
        The training data, or its blocks.
    """
    stage = stage_after(detector, epochs)
    kept = detector._kept_stages(stage)
    earlier = _with_states(detector, kept)
    index = detector._stages["index"][: stage + 1]
    earlier.__dict__.pop("_past", None)  # of the longer run
    earlier.epochs = epochs
    earlier.history_, earlier._stages = until(detector, stage + 1)
    since = np.argmax(index == index[-1], axis=0)
    if hasattr(detector, "best_epochs_"):
        earlier.best_epochs_ = detector.history_["epoch"][since]
    if hasattr(detector, "best_updates_"):
        earlier.best_updates_ = detector.history_["update"][since]
    if hasattr(detector, "snapshot_epochs_"):
        earlier.snapshot_epochs_ = np.array(kept) + 1
        earlier.best_epoch_ = kept[-1] + 1
    states = zip(earlier.weights_, earlier._statistics, strict=True)
    earlier._finish(rows, list(states))
    return earlier


def until(detector, n_stages):
    """Return the history and the stages of a detector up to one of its stages."""
    history = {k: v[:n_stages] for k, v in detector.history_.items()}
    index = detector._stages["index"][:n_stages]
    ends = {"index": n_stages, "ranges": n_stages}  # the rest are states
    stages = {k: v[: ends.get(k, index.max() + 1)] for k, v in detector._stages.items()}
    return history, stages


def stage_after(detector, epochs):
    """Return the stage with which a training run of `epochs` epochs ends."""
    ends = detector.history_["epoch"]
    return int(np.searchsorted(ends, epochs, side="right")) - 1


def rescaled(losses, ranges):
    """Map each member's losses, of shape (M, n), from its range to [0, 1]."""
    low, width = ranges
    return (losses - low[:, None]) / width[:, None]
