import numpy as np
import pandas as pd
import pytest

from benchmarks.contrastive import (
    KEY,
    SIMULATIONS,
    VALUES,
    by_dataset,
    simulated,
    summary,
    variation,
)


def test_variation_is_in_distances_of_centres_and_leaves_rows_out():
    X = np.array([[0.0], [2.0], [10.0], [12.0], [500.0]])
    assert variation(X, np.array([0, 0, 1, 1, -1])) == 0.1


@pytest.mark.parametrize("name", SIMULATIONS)
def test_every_simulation_can_be_made(name):
    X, y, clusters = simulated(name, 0)
    assert len(X) == len(y) == len(clusters)
    assert ((clusters == -1) == (y == 1)).all()


def test_summary_counts_tighter_tables_in_both_halves():
    rows = [
        ("estimated", "glass", 0, 1, 0.25, 0.7, 0.8),
        ("estimated", "glass", 1, 3, 0.75, 0.9, 0.8),
        ("estimated", "musk", 0, 1, 2, 0.5, 0.4),
        ("classes", "iris", 0, 1, 0.5, np.nan, np.nan),
    ]
    found = list(summary(by_dataset(pd.DataFrame(rows, columns=[*KEY, *VALUES]))))
    expected = [
        (["classes", "1 of 1", "0.50"], [np.nan, np.nan]),
        (["estimated", "1 of 2", "0.71"], [0.65, 0.6]),
        (["estimated, chosen on", "1 of 1", "0.25"], [0.8, 0.8]),
        (["estimated, confirmed on", "0 of 1", "2.00"], [0.5, 0.4]),
    ]
    assert [row[:3] for row in found] == [texts for texts, _ in expected]
    areas = [values for _, values in expected]
    np.testing.assert_allclose([row[3:] for row in found], areas)
