"""The data sets of ADBench: names, checksums, and downloads from a local folder."""

import hashlib
import io

import numpy as np
import pytest

from skim.datasets import _adbench, fetch_adbench, list_adbench


def npz_bytes(seed=0):
    rng = np.random.default_rng(seed)
    stream = io.BytesIO()
    np.savez(
        stream, X=rng.normal(size=(20, 3)).astype(np.float32), y=np.arange(20) > 17
    )
    return stream.getvalue()


CONTENT = npz_bytes()
GIT_BLOB = hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A file in place of the one of cardio on GitHub; it does not exist yet."""
    catalogue = [
        file | {"git_blob_sha1": GIT_BLOB} if file["name"] == "cardio" else file
        for file in _adbench._catalogue()
    ]
    monkeypatch.setattr(_adbench, "_catalogue", lambda: catalogue)
    folder = tmp_path / "served"
    monkeypatch.setattr(_adbench, "BASE_URL", f"{folder.as_uri()}/")
    (folder / "Classical").mkdir(parents=True)
    return folder / "Classical" / "6_cardio.npz"


@pytest.fixture
def path(tmp_path, monkeypatch):
    """The place of the file at home; it does not exist yet."""
    monkeypatch.setenv("SKIM_DATA_HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "Classical").mkdir(parents=True)
    return tmp_path / "home" / "Classical" / "6_cardio.npz"


def test_all_data_sets_have_a_name():
    names = list_adbench()
    assert len(names) == len(set(names)) == 195
    assert len(list_adbench("tabular")) == 47
    assert list_adbench("20news") == [f"20news_{i}" for i in range(6)]
    images = list_adbench("image-vit")
    assert len(images) == 61
    assert all(name.startswith("CV_by_ViT/") for name in images)


def test_unknown_names_get_advice():
    for name, message in (
        ("cardoi", "did you mean 'cardio'"),
        ("CIFAR10", "did you mean 'CIFAR10_"),
        ("qqqq", "list_adbench"),
    ):
        with pytest.raises(ValueError, match=message):
            fetch_adbench(name)
    with pytest.raises(ValueError, match="choose tabular, image"):
        list_adbench("tabluar")


def test_a_local_copy_is_used_as_it_is(served, path):
    path.write_bytes(CONTENT)
    bunch = fetch_adbench("CARDIO")
    assert bunch.data.shape == (20, 3)
    assert bunch.data.dtype == np.float64
    assert bunch.target.tolist() == [0] * 18 + [1] * 2
    assert bunch.DESCR.startswith("cardio of ADBench (Healthcare): 20 rows, 3 features")
    X, y = fetch_adbench("cardio", return_X_y=True)
    assert np.array_equal(y, bunch.target)
    assert np.array_equal(X, bunch.data)


@pytest.mark.parametrize("before", [None, CONTENT[:100]])
def test_absent_and_damaged_files_are_downloaded(served, tmp_path, before):
    served.write_bytes(CONTENT)
    home = tmp_path / "new"
    path = home / "Classical" / "6_cardio.npz"
    if before is not None:
        path.parent.mkdir(parents=True)
        path.write_bytes(before)
    assert fetch_adbench("cardio", data_home=home).data.shape == (20, 3)
    assert [each for each in home.rglob("*") if each.is_file()] == [path]
    assert path.read_bytes() == CONTENT


def test_without_a_good_download_nothing_changes_and_errors_say_what_to_do(
    served, path
):
    with pytest.raises(FileNotFoundError, match=r"6_cardio.npz there.*SKIM_DATA_HOME"):
        fetch_adbench("cardio")
    served.write_bytes(npz_bytes(seed=1))
    with pytest.raises(FileNotFoundError, match=r"does not exist.*wrong checksum"):
        fetch_adbench("cardio")
    assert not list(path.parent.iterdir())
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(FileNotFoundError, match="is damaged"):
        fetch_adbench("cardio")
    assert path.read_bytes() == CONTENT[:-1]


def test_real_files_are_intact(adbench):
    X, y = fetch_adbench("wine", data_home=adbench, return_X_y=True)
    assert X.shape == (129, 13)
    assert np.isfinite(X).all()
    assert set(y) == {0, 1}
