import numpy as np
import pytest

from skim.inspection import IMWindow, im_window

NONE = IMWindow(None, None, 0)


def test_the_longest_run_is_found():
    for auroc, window in (
        ([], NONE),
        ([0.5, 0.89], NONE),
        ([0.95, 0.95, 0.5], IMWindow(0, 1, 2)),
        ([0.9], IMWindow(0, 0, 1)),
        ([0.95, 0.1, 0.95, 0.1], IMWindow(0, 0, 1)),
        ([0.95, 0.1, 0.95, 0.96, 0.1], IMWindow(2, 3, 2)),
        ([0.95, np.nan, 0.95, 0.95], IMWindow(2, 3, 2)),
    ):
        assert im_window(auroc) == window
    assert im_window([0.5, 0.95, 0.95], epochs=[10, 20, 30]) == IMWindow(20, 30, 2)


def test_bad_input_is_refused():
    for threshold in (0, 1, np.nan, "high"):
        with pytest.raises(ValueError, match="threshold"):
            im_window([0.5], threshold)
    with pytest.raises(ValueError, match="1d array"):
        im_window([[0.5, 0.6]])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        im_window([0.5], epochs=[1, 2])
