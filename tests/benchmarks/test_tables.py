"""The study of errors in real tables."""

import numpy as np
import pandas as pd
import pytest

import benchmarks.tables as study
from benchmarks.tables._errors import KINDS, MIN_PLANTED, plant
from benchmarks.tables._sources import SOURCES, Source, load
from tests.benchmarks.commands import run_twice

N_ROWS = 120


def made_table():
    rng = np.random.default_rng(0)
    length = rng.normal(50, 5, N_ROWS).round(2)
    return pd.DataFrame(
        {
            "length": length,
            "weight": (3 * length + rng.normal(0, 2, N_ROWS)).round(1),
            "count": rng.integers(1, 9, N_ROWS),
            "colour": rng.choice(["red", "green", "blue"], N_ROWS),
            "sold": pd.date_range("2020-01-01", periods=N_ROWS).strftime("%Y-%m-%d"),
        }
    )


@pytest.fixture
def text(monkeypatch):
    """A made table as text, which the study knows as "made"."""
    monkeypatch.setitem(SOURCES, "made", Source("sklearn", made_table))
    load.cache_clear()
    study._columns.cache_clear()
    yield load("made")
    load.cache_clear()
    study._columns.cache_clear()


def changes(text, kind, seed=0):
    """Return the cells that differ, as column, before and after, by row."""
    spoilt, planted = plant(text, kind, seed, "made")
    differs = text != spoilt
    assert set(np.flatnonzero(differs.any(axis=1))) <= set(planted)
    return [
        [
            (name, text.at[row, name], spoilt.at[row, name])
            for name in text
            if differs.at[row, name]
        ]
        for row in planted
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_errors_depend_on_the_seed_alone(text, kind):
    spoilt, planted = plant(text, kind, 0, "made")
    again, planted_again = plant(text, kind, 0, "made")
    pd.testing.assert_frame_equal(spoilt, again)
    np.testing.assert_array_equal(planted, planted_again)
    assert len(set(planted)) == MIN_PLANTED
    assert not np.array_equal(planted, plant(text, kind, 1, "made")[1])


@pytest.mark.parametrize(
    ("kind", "factor"), [("unit 10", 10), ("unit 1000", 1000), ("sign", -1)]
)
def test_numbers_are_multiplied(text, kind, factor):
    for [(name, before, after)] in changes(text, kind):
        assert float(after) == pytest.approx(factor * float(before))
        assert (name == "count") == ("." not in after)


def test_means_count_every_pair_of_table_and_kind_once():
    def runs(table, kind, recalls):
        keys = {"table": table, "kind": kind, "detector": "kNN", "encoding": "plain"}
        return pd.DataFrame([keys | {"recall": value} for value in recalls])

    all_runs = pd.concat(
        [
            runs("wine", "sign", [0, 1]),  # two seeds
            runs("wine", "10 sd", [1]),
            runs("tips", "sign", [0]),
        ]
    )
    kinds = study.by(all_runs, "kind").set_index("kind")
    assert kinds["kNN, plain"].to_dict() == {"10 sd": 1, "sign": 0.25, "all": 0.5}
    assert kinds["runs"].to_dict() == {"10 sd": 1, "sign": 2, "all": 3}
    tables = study.by(all_runs, "table").set_index("table")
    assert tables["kNN, plain"].to_dict() == {"wine": 0.75, "tips": 0, "all": 0.5}


def test_the_command_resumes_where_it_stopped(tmp_path, monkeypatch):
    output = tmp_path / "results.csv"
    command = ["tables", "--data", "wine", "--kind", "sign", "--kind", "misspelt"]
    command += ["--detector", "kNN", "--detector", "skim"]
    told = run_twice(*command, "--seeds", 1, output=output)
    assert "recall by table" in told
    assert "share flagged" in told
    assert len(output.read_text().splitlines()) == 1 + 2 * 3
    assert (tmp_path / "by_kind.csv").exists()
