"""Whatever the input: finite scores, or one clear sentence."""

import numpy as np
import pandas as pd
import pytest

from tests.conftest import make_quick


def test_strings_are_refused():
    words = [["red", "blue"], ["green", "red"]]
    for table in (words, np.array(words, dtype=object), pd.DataFrame(words)):
        with pytest.raises(ValueError, match=r"could not convert .*skim.TableDetector"):
            make_quick("altbi").fit(table)


NORMAL = np.random.default_rng(0).normal(size=(50, 3))
SPIKED = NORMAL.copy()
SPIKED[7, 1] = 1e300

AWKWARD = {
    "two rows": np.array([[0.0, 1.0], [2.0, 5.0]]),
    "two equal rows": np.ones((2, 2)),
    "one feature": NORMAL[:, :1],
    "a constant column": np.c_[NORMAL, np.ones(50)],
    "all rows equal": np.full((30, 4), 7.0),
    "fewer rows than a batch": NORMAL[:9],
    "values of 1e300": NORMAL * 1e300,
    "one value of 1e300": SPIKED,
    "the whole range of floats": np.array([[-1.7e308, 0], [1.7e308, 1], [0, 2]]),
    "tiny values": NORMAL * 5e-324,
}


KINDS = ("altbi", "odim", "autoencoder", "network")


# Every table with two detectors, and both with either scaling and threshold.
@pytest.mark.parametrize(
    ("case", "kind", "scaling", "contamination"),
    [
        (
            case,
            KINDS[(i + 2 * k) % 4],
            ("squash", "minmax")[(i + k) % 2],
            ("auto", 0.1)[(i // 2 + k) % 2],
        )
        for k in (0, 1)
        for i, case in enumerate(AWKWARD)
    ],
)
def test_awkward_data_gets_finite_scores(case, kind, scaling, contamination):
    X = AWKWARD[case]
    detector = make_quick(kind, scaling=scaling, contamination=contamination).fit(X)
    assert np.isfinite(detector.training_scores_).all()
    assert np.isfinite(detector.decision_function(X)).all()
    assert np.isfinite(detector.explain(X)).all()
    assert np.isfinite(detector.offset_)
    assert (detector.predict(X) == -1).mean() <= 0.5


def test_new_rows_far_outside_get_finite_scores(quick, table):
    detector = quick(scaling="minmax").fit(table)  # squashed ones are far cells
    far = np.full((4, 6), [[1e6], [1e300], [-1e300], [1.7e308]])
    scores = detector.score_samples(far)
    assert np.isfinite(scores).all()
    assert np.isfinite(detector.explain(far)).all()
    assert (scores < np.median(detector.training_scores_)).all()


def test_rounding_errors_in_a_constant_column_do_not_count(quick):
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[:, 1] = 0.3
    expected = quick().fit(X).training_scores_
    X[::7, 1] = 0.1 + 0.2
    assert np.ptp(X[:, 1]) > 0
    np.testing.assert_allclose(quick().fit(X).training_scores_, expected, rtol=1e-3)


def test_a_new_value_in_a_constant_column_is_abnormal(quick, table):
    X = np.c_[table[:285], np.full(285, 5.0)]
    detector = quick(epochs=60).fit(X)
    new = X[:20].copy()
    new[:, -1] = 50.0
    usual = detector.score_samples(X[:20])
    assert detector.score_samples(new).mean() < usual.mean() - usual.std()
