import numpy as np
import pandas as pd
import pytest

from skim.inspection import IMWindow, im_window

NONE = IMWindow(None, None, 0)


@pytest.mark.parametrize(
    ("auroc", "window"),
    [
        ([], NONE),
        ([0.5, 0.89], NONE),
        ([0.95, 0.95, 0.5], IMWindow(0, 1, 2)),
        ([0.5, 0.95, 0.95], IMWindow(1, 2, 2)),
        ([0.9], IMWindow(0, 0, 1)),
        ([0.95, 0.1, 0.95, 0.1], IMWindow(0, 0, 1)),
        ([0.95, 0.1, 0.95, 0.96, 0.1], IMWindow(2, 3, 2)),
        ([0.95, np.nan, 0.95, 0.95], IMWindow(2, 3, 2)),
    ],
)
def test_the_longest_run_is_found(auroc, window):
    assert im_window(auroc) == window


def test_epochs_number_the_ends():
    for epochs in ([10, 20, 30], pd.Series([10, 20, 30], index=[2, 1, 0])):
        assert im_window([0.5, 0.95, 0.95], epochs=epochs) == IMWindow(20, 30, 2)


def test_bad_input_is_refused():
    for threshold in (0, 1, np.nan, "high"):
        with pytest.raises(ValueError, match="threshold"):
            im_window([0.5], threshold)
    with pytest.raises(ValueError, match="1d array"):
        im_window([[0.5, 0.6]])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        im_window([0.5], epochs=[1, 2])
