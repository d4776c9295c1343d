"""Checks that are judged many at a time."""

import numpy as np
import pytest

import skim._training._checks
from skim import IMAutoencoderDetector, ODIMDetector

DETECTORS = [
    ODIMDetector(n_estimators=6, patience_updates=15, epochs=60),
    ODIMDetector(n_estimators=3, n_importance=3, patience_updates=20, epochs=20),
    ODIMDetector(n_estimators=1, patience_updates=20, epochs=20),
    ODIMDetector(n_estimators=3, patience_updates=20, epochs=20, stopping="entropy"),
    ODIMDetector(n_estimators=3, epochs=5, stopping=None),
    IMAutoencoderDetector(n_estimators=3, epochs=12),
    IMAutoencoderDetector(n_estimators=1, epochs=12),
]


def results(detector, X):
    """Return all that a fit leaves behind, as arrays."""
    detector.set_params(random_state=0, store_stages=True).fit(X)
    fitted = {k: v for k, v in vars(detector).items() if isinstance(v, np.ndarray)}
    return fitted | {f"history {k}": v for k, v in detector.history_.items()}


@pytest.mark.parametrize("detector", DETECTORS, ids=str)
def test_the_outcome_is_that_of_one_at_a_time(detector, table, monkeypatch):
    n_judged = []
    judge = skim._training._checks.Checks.judge

    def counted(self, run):
        n_judged.append(len(self._held))
        judge(self, run)

    monkeypatch.setattr(skim._training._checks.Checks, "judge", counted)
    together = results(detector, table[::4])
    assert max(n_judged) > 1
    n_judged.clear()
    monkeypatch.setattr(skim._training._checks, "MAX_HELD_BYTES", 0)
    alone = results(detector, table[::4])
    assert max(n_judged) == 1
    assert alone.keys() == together.keys()
    for name, expected in alone.items():
        np.testing.assert_array_equal(together[name], expected, err_msg=name)


def test_what_diverged_while_it_was_held_is_noticed(table):
    detector = ODIMDetector(learning_rate=1e30, epochs=20, random_state=0)
    with pytest.raises(ValueError, match="diverged"):
        detector.fit(table)
