"""Sources of tables and their halves."""

import numpy as np
import pandas as pd
import pytest

from benchmarks._shared.keel import keel_paths
from benchmarks._shared.sources import (
    HALVES,
    SOURCES,
    half_of,
    source_means,
    source_of,
)
from benchmarks._shared.tables import choose_tables, some_tasks


def test_halves_are_of_the_same_size():
    for one, other in (
        ("PageBlocks", "keel/page-blocks"),
        ("sklearn/breast_cancer", "keel/wdbc"),
        ("adbench/WBC", "keel/wisconsin"),
        ("http", "smtp"),
    ):
        assert source_of(one) == source_of(other)
    sizes = [sum(half_of(source) == half for source in SOURCES) for half in HALVES]
    assert sum(sizes) == len(SOURCES) == 37
    assert abs(sizes[0] - sizes[1]) <= 1
    assert half_of("aloi") != half_of("bands")
    assert half_of("unheard of") == half_of("unheard of") in HALVES


def test_families_weigh_the_same_within_a_source_and_sources_among_each_other():
    families = ["keel/wisconsin"] * 3 + ["WBC", "cardio"]
    values = pd.Series([0.0, 0.3, 0.6, 0.9, 0.5])
    means = source_means(values, families)
    assert means.to_dict() == pytest.approx({"wisconsin": 0.6, "cardio": 0.5})
    both = source_means(pd.DataFrame({"a": values, "b": 2 * values}), families)
    np.testing.assert_allclose(both["b"], 2 * means)


@pytest.fixture
def keel(tmp_path, monkeypatch):
    """A folder with tasks of two families, and of one that does not take part."""
    monkeypatch.setenv("SKIM_KEEL_HOME", str(tmp_path))
    monkeypatch.setenv("SKIM_DATA_HOME", str(tmp_path))
    for name in ("wine__wine-but-1", "glass__glass0", "glass__glass1", "other__a"):
        np.savez(tmp_path / f"{name}.npz", X=np.eye(3), y=np.array([0, 0, 1]))
    return tmp_path


def test_tasks_of_families_are_found_in_a_folder(keel):
    assert list(keel_paths()) == [
        ("glass", "glass0"),
        ("glass", "glass1"),
        ("wine", "wine-but-1"),
    ]
    (table,) = choose_tables(["keel/wine-but-1"], local=True)
    assert table[1:5] == ("keel/wine", "keel", 3, 3)
    tables = choose_tables(["keel/glass", "keel/glass0", "keel/wine"], local=True)
    assert [len(some_tasks(tables, n)) for n in (1, 2, None)] == [2, 3, 3]
    with pytest.raises(ValueError, match=r"'keel/glas0' is unknown.*keel/glass0"):
        choose_tables(["keel/glas0"], local=True)
