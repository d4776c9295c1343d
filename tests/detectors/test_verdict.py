import numpy as np
import pytest


@pytest.mark.parametrize("contamination", [0.01, 0.05, 0.1, 0.333, 0.5])
def test_contamination_is_honoured_exactly(quick, table, contamination):
    labels = quick(contamination=contamination).fit_predict(table)
    assert (labels == -1).sum() == round(contamination * 300)


def test_contamination_is_rounded_to_the_nearest_row(quick, table):
    assert (quick(contamination=0.0016).fit_predict(table) == 1).all()
    assert (quick(contamination=0.0017).fit_predict(table) == -1).sum() == 1
    assert (quick(contamination=0.05).fit_predict(table[:10]) == -1).sum() == 1


def test_tied_rows_are_flagged_together_or_not_at_all(quick, table):
    doubled = np.r_[table, table]
    labels = quick(contamination=0.05).fit_predict(doubled)
    assert np.array_equal(labels[:300], labels[300:])


def test_auto_finds_a_sensible_share(quick, table, is_outlier):
    labels = quick(epochs=60).fit_predict(table)
    assert 0.01 < (labels == -1).mean() < 0.3
    assert (labels[is_outlier] == -1).mean() > 0.5


def test_contamination_moves_the_offset_but_not_the_scores(quick, table):
    few = quick(contamination=0.01).fit(table)
    many = quick(contamination=0.3).fit(table)
    assert np.array_equal(few.training_scores_, many.training_scores_)
    assert few.offset_ < many.offset_
