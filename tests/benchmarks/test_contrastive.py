import numpy as np

from benchmarks.contrastive import (
    FIELDS,
    SIMULATIONS,
    by_dataset,
    read,
    simulated,
    summary,
    variation,
)


def test_variation_is_in_distances_of_centres_and_leaves_rows_out():
    X = np.array([[0.0], [2.0], [10.0], [12.0], [500.0]])
    assert variation(X, np.array([0, 0, 1, 1, -1])) == 0.1


def test_every_simulation_can_be_made():
    for name in SIMULATIONS:
        X, y, clusters = simulated(name, 0)
        assert len(X) == len(y) == len(clusters)
        assert ((clusters == -1) == (y == 1)).all()


def test_summary_counts_tighter_tables_in_both_halves(tmp_path):
    path = tmp_path / "results.csv"
    rows = [
        "estimated,glass,0,1,0.25,0.7,0.8",
        "estimated,glass,1,3,0.75,0.9,0.8",
        "estimated,musk,0,1,2,0.5,0.4",
        "classes,iris,0,1,0.5,nan,nan",
    ]
    path.write_text("\n".join([",".join(FIELDS), *rows]) + "\n")
    assert list(summary(by_dataset(read(path)))) == [
        ["classes", "1 of 1", "0.50", "nan", "nan"],
        ["estimated", "1 of 2", "0.71", "0.650", "0.600"],
        ["estimated, chosen on", "1 of 1", "0.25", "0.800", "0.800"],
        ["estimated, confirmed on", "0 of 1", "2.00", "0.500", "0.400"],
    ]
