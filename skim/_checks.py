"""Checks in the course of a training: is this the best moment so far?"""

MAX_HELD_LOSSES = 2**15  # judged at once; more than that is no faster
MAX_HELD_BYTES = 8 * 2**20  # of networks that wait to be judged


class Checks:
    """Keeps each member at its best moment, and records every check.

    To fit a mixture to few losses takes hardly less time than to fit a hundred.
    Where nobody waits for the outcome of each check, small networks are held for a
    while, and many checks are judged at once; what comes of them is the same.

    Parameters
    ----------
    detector : IMDetector
    watch : Watch
        Judges the losses.
    best : BestMoments
    monitor : Monitor

    Attributes
    ----------
    stop : bool
        Whether a callback has asked to end the training.
    """

    def __init__(self, detector, watch, best, monitor):
        self.detector = detector
        self.watch = watch
        self.best = best
        self.monitor = monitor
        self.stop = False
        self._can_wait = watch.judges_by_losses_alone and not monitor.is_heard
        self._held = []

    def add(self, run, losses, *, moment, **entry):
        """Check the present state of a run.

        Parameters
        ----------
        run : Run
            Of the same members since the last call of `judge`.
        losses : Tensor of shape (M, n)
        moment : int
            What time it is, for the best moments.
        **entry : dict
            What else the monitor is to record.
        """
        run.check_finite(losses)
        most = self._most_held(run, losses)
        state = run.state() if most > 1 else None
        self._held.append((state, losses, moment, entry))
        if len(self._held) >= most:
            self.judge(run)

    def _most_held(self, run, losses):
        if not self._can_wait:
            return 1
        n_bytes = run.network.weights.nbytes + run.network.statistics.nbytes
        return min(MAX_HELD_LOSSES // losses.numel(), MAX_HELD_BYTES // n_bytes)

    def judge(self, run):
        """Judge all checks that are still held."""
        if not self._held:
            return
        criteria = self.watch.judge_each(run, [held[1] for held in self._held])
        for criterion, held in zip(criteria, self._held, strict=True):
            state, losses, moment, entry = held
            offered = self.detector._offered(criterion, moment)
            self.best.offer(run, offered, moment, state)
            run.end_stage()
            self.stop |= self.monitor.record(
                losses=losses, **entry, **self.detector._entry(criterion)
            )
        self._held.clear()
