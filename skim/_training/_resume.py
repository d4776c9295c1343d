"""Resuming a training run."""

import warnings


def past_run(detector):
    """Return the run that `fit` of a warm-started detector resumes, or None."""
    past = getattr(detector, "_past", {})
    if not (hasattr(detector, "offset_") and past.get("n_epochs")):
        return None
    check_fixed(detector, detector._fixed_params + detector._fixed_in_fit)
    before, now = past["patience"], getattr(detector, "patience", None)
    is_used = detector.stopping is not None and now is not None
    if is_used and (before is None or now < before):
        raise ValueError(
            f"patience={now} is less than the patience={before} of the training run to "
            "resume, which might have ended earlier with it; clone the detector to "
            "start a new run."
        )
    if detector.epochs < past["n_epochs"]:
        raise ValueError(
            f"epochs={detector.epochs}, but {past['n_epochs']} epochs were already "
            "trained; with warm_start=True, `epochs` cannot be lowered."
        )
    if detector.epochs == past["n_epochs"]:
        warnings.warn(
            "warm_start=True but `epochs` was not increased: nothing to train.",
            stacklevel=5,
        )
    return past


def resumable(detector, run):
    """Return what it takes to resume a run of a detector."""
    return run.export() | {"patience": getattr(detector, "patience", None)}


def check_fixed(detector, names):
    """Refuse to resume a run whose parameters have changed."""
    before, now = detector._run_params, detector.get_params(deep=False)
    for name in names:
        if before[name] != now[name]:
            raise ValueError(
                f"{name} was {before[name]!r} when the training run began and cannot "
                f"become {now[name]!r} while it lasts; clone the detector to start a "
                "new run."
            )
