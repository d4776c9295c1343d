"""The training loop."""

from skim._training._snapshots import SnapshotRecorder


def train(run, schedule, stopping, epochs, history, *, store=False):
    """Train a network by a schedule, and take snapshots of it."""
    recorder = SnapshotRecorder(len(run.members)) if store else None
    selection = schedule.selection(run, stopping, epochs, history, recorder)
    update = schedule.start(run, epochs)
    try:
        _run_epochs(run, schedule, selection, update, epochs)
        snapshots = selection.finish(run)
    finally:
        history.close()
    return snapshots, None if recorder is None else recorder.log()


def _run_epochs(run, schedule, selection, update, epochs):
    n_rows = run.n_rows
    n_updates = schedule.updates_in_epoch(n_rows)
    for epoch in range(1, epochs + 1):
        for i in range(1, n_updates + 1):
            losses = update(run, epoch)
            is_check = schedule.is_check(i, n_rows)
            if is_check and selection.check(run, epoch, losses):
                return
