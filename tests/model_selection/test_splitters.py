"""Splits of data that contains outliers."""

import numpy as np
import pytest

from skim.model_selection import InSampleSplit, OutlierKFold


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(("inlier", "outlier"), [(0, 1), (1, -1), (False, True)])
def test_every_fold_has_its_share_of_outliers(inlier, outlier, shuffle):
    y = np.array([inlier] * 95 + [outlier] * 5)
    cv = OutlierKFold(5, shuffle=shuffle, random_state=0 if shuffle else None)
    tests = []
    for train, test in cv.split(np.zeros((100, 2)), y):
        assert (y[test] == outlier).sum() == 1
        assert (y[train] == outlier).sum() == 4
        tests.append(test)
    assert sorted(np.concatenate(tests)) == list(range(100))


def test_more_folds_than_outliers_are_refused():
    with pytest.raises(ValueError, match=r"n_splits=4 .* number of outliers in y, 3"):
        list(OutlierKFold(4).split(np.zeros((30, 1)), np.arange(30) < 3))


def test_folds_of_outliers_need_labels():
    with pytest.raises(ValueError, match="needs labels y"):
        list(OutlierKFold(4).split(np.zeros((30, 1))))


def test_in_sample_is_all_rows_twice():
    cv = InSampleSplit()
    ((train, test),) = cv.split(np.zeros((4, 2)))
    assert cv.get_n_splits() == 1
    np.testing.assert_array_equal(train, np.arange(4))
    np.testing.assert_array_equal(test, np.arange(4))
    assert repr(cv) == "InSampleSplit()"


def test_the_global_random_state_is_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    y = np.arange(30) < 5
    first, second = (
        [test.tolist() for _, test in OutlierKFold(2, shuffle=True).split(y, y)]
        for _ in range(2)
    )
    assert first != second
    after = np.random.get_state()[1]  # noqa: NPY002
    np.testing.assert_array_equal(after, before)
