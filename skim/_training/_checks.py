"""Checks in the course of a training: is this the best moment so far?"""

MAX_HELD_LOSSES = 2**15  # judged at once; more than that is no faster
MAX_HELD_BYTES = 8 * 2**20  # of networks that wait to be judged


class Checks:
    """Keeps each member at its best moment, and records every check.

    To compute few losses and to fit a mixture to them takes hardly less time than to
    do so with a hundred times as many. Where nobody waits for the outcome of each
    check, small networks are held for a while, and many checks are judged at once;
    what comes of them is the same.

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

    def add(self, run, *, moment, **entry):
        """Check the present state of a run.

        Parameters
        ----------
        run : Run
            Of the same members since the last call of `judge`.
        moment : int
            What time it is, for the best moments.
        **entry : dict
            What else the monitor is to record.
        """
        most = self._most_held(run)
        state = run.state() if most > 1 else run.present_state()
        self._held.append((state, self.watch.rows, moment, entry))
        if len(self._held) >= most:
            self.judge(run)

    def _most_held(self, run):
        if not self._can_wait:
            return 1
        n_losses = len(run.members) * self.watch.rows.shape[-1]
        n_bytes = sum(part.nbytes for part in run.present_state())
        return min(MAX_HELD_LOSSES // n_losses, MAX_HELD_BYTES // n_bytes)

    def judge(self, run):
        """Judge all checks that are still held."""
        if not self._held:
            return
        states, rows, _, _ = zip(*self._held, strict=True)
        losses = self.watch.losses_at(run, states, rows)
        criteria = self.watch.judge_each(run, losses)
        for criterion, own, held in zip(criteria, losses, self._held, strict=True):
            state, _, moment, entry = held
            offered = self.detector._offered(criterion, moment)
            self.best.offer(run, offered, moment, state)
            run.end_stage()
            self.stop |= self.monitor.record(
                losses=own, **entry, **self.detector._entry(criterion)
            )
        self._held.clear()
