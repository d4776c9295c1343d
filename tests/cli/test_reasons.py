"""Which cells make a row strange, and how that is said."""

import numpy as np
import pandas as pd

from skim._model._reasons import row_reasons


def cells(*rows):
    """Return a frame of reasons; a cell is its feature, value and contribution."""
    records = []
    for i, row in enumerate(rows):
        for feature, value, contribution in row:
            # A value of 10 is expected in all cells, give or take 2.
            outside = abs(value - 10) > 2
            records.append((i, feature, value, 10.0, 8.0, 12.0, contribution, outside))
    names = [
        "row",
        "feature",
        "value",
        "expected",
        "low",
        "high",
        "contribution",
        "is_outside",
    ]
    return pd.DataFrame(records, columns=names)


def told(*rows, **options):
    return [str(row) for row in row_reasons(cells(*rows), len(rows), **options)]


def test_a_reason_is_far_from_its_range_and_matters():
    row = [("a", 30.0, 4.0), ("b", 12.5, 4.0), ("c", 30.0, 0.9), ("d", 10.0, 4.0)]
    rest = [("e", 10.0, 0.0), ("f", 10.0, 0.0), ("g", 10.0, 0.0)]
    assert told([*row, *rest]) == ["a 30 (expected 8 to 12)"]


def test_a_row_without_a_cell_to_blame_is_strange_as_a_whole():
    rows = [
        [("a", 12.5, 4.0), ("b", 10.0, 1.0), ("c", 10.0, 0.0)],
        [("a", 30.0, -1.0), ("b", 10.0, -2.0), ("c", 10.0, -3.0)],
    ]
    assert told(*rows) == ["strange as a whole"] * 2


def test_a_row_with_most_cells_to_blame_is_strange_as_a_whole():
    row = [("a", 30.0, 4.0), ("b", 12.5, 1.0), ("c", 10.0, 0.0)]
    assert told(row) == ["strange as a whole: a 30 (expected 8 to 12)"]
    missing = [("a", 30.0, 4.0), ("b", 12.5, 1.0), ("c", np.nan, 0.0)]
    assert told(missing) == told(row)
    harmless = [("a", 30.0, 4.0), ("b", 12.5, 0.9), ("c", 10.0, 0.0)]
    assert told(harmless) == ["a 30 (expected 8 to 12)"]
    assert told([("a", 30.0, 4.0)]) == ["a 30 (expected 8 to 12)"]


def test_a_column_is_named_once():
    row = [("d_day", 30.0, 4.0), ("d_hour", 30.0, 4.0)]
    row += [("b", 10.0, 0.0), ("c", 10.0, 0.0)]
    columns = {"d_day": "d", "d_hour": "d", "b": "b", "c": "c"}
    assert told(row, columns=columns) == ["d 30 (expected 8 to 12)"]


def test_values_are_given_as_the_user_would_write_them():
    row = [("a", 30.0, 4.0), ("b", 10.0, 0.0), ("c", 10.0, 0.0)]

    def describe(feature, value):
        return f"{feature}{value:.0f}"

    options = {"describe": describe, "levels": ["a"]}
    assert told(row, **options) == ["a a30 (expected a10)"]
    options["written"] = lambda i, column, feature: f"cell {i}"
    assert told(row, **options) == ["a cell 0 (expected a10)"]


def test_the_level_expected_is_that_of_the_likeliest_feature():
    frame = cells([("c_x", 30.0, 4.0), ("c_y", -9.0, 0.0), ("b", 10.0, 0.0)])
    frame["expected"] = [0.0, 1.0, 10.0]
    frame.loc[1, "is_outside"] = False
    (row,) = row_reasons(
        frame,
        1,
        columns={"c_x": "c", "c_y": "c", "b": "b"},
        levels=["c_x", "c_y"],
        describe=lambda feature, value: feature[-1],
    )
    assert str(row) == "c x (expected y)"


def test_rounding_never_puts_a_value_into_its_range():
    row = [("a", 14.0, 4.0), ("b", 10.0, 0.0), ("c", 10.0, 0.0)]

    def coarse(feature, value):
        return "10 or so" if value < 11 else "more"

    assert told(row, describe=coarse) == ["a more (expected 10 or so)"]
    assert told(row, describe=lambda *_: "10") == ["a 10 (unexpected)"]


def test_no_more_reasons_than_asked_for():
    row = [(name, 30.0, 4.0) for name in "abc"] + [(n, 10.0, 0.0) for n in "defg"]
    (reasons,) = row_reasons(cells(row), 1, max_reasons=2)
    assert [reason.column for reason in reasons.cells] == ["a", "b"]
    assert row_reasons(cells(row)[:0], 0) == []
