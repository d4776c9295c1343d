"""Time of a fit with its training scores, and of the verdict in it."""

import numpy as np

from benchmarks._shared.processes import seconds

MADE = (300, 6)  # rows and columns of a made table


def time_fit(name):
    """Return the seconds of a fit, and of setting the threshold alone."""
    from skim import ALTBIDetector
    from skim.datasets import fetch_adbench

    if name == "made":
        X = np.random.default_rng(0).normal(size=MADE)
    else:
        X, _ = fetch_adbench(name, return_X_y=True)
    ALTBIDetector(epochs=1).fit(X[:200])  # loads torch
    detector = ALTBIDetector(random_state=0)
    took = seconds(lambda: detector.fit(X))
    if not hasattr(detector, "set_contamination"):
        return took, float("nan")
    verdict = min(seconds(lambda: detector.set_contamination("auto")) for _ in range(5))
    return took, verdict
