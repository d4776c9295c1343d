"""What a search over epochs costs."""

from benchmarks.search import costs


def test_costs_are_measured(adbench):
    found = costs("IMAutoencoder", "wine", n_values=3, n_splits=2, grid=True)
    assert list(found) == ["one fit per fold", "EpochSearchCV", "GridSearchCV"]
    assert all(took > 0 for took in found.values())
