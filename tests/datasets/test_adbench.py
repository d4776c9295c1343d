"""The data sets of ADBench: names, checksums, and downloads from a local server."""

import hashlib
import io
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

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


@pytest.fixture(autouse=True)
def _known(monkeypatch):
    """Replaces the checksum of cardio by that of the test's file, and GitHub."""
    catalogue = [
        file | {"git_blob_sha1": GIT_BLOB} if file["name"] == "cardio" else file
        for file in _adbench._catalogue()
    ]
    monkeypatch.setattr(_adbench, "_catalogue", lambda: catalogue)
    monkeypatch.setattr(_adbench, "BASE_URL", "http://127.0.0.1:9/")  # no server


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A folder that is served in place of ADBench's repository."""
    folder = tmp_path / "served"
    (folder / "Classical").mkdir(parents=True)
    handler = partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{http.server_port}/"
        monkeypatch.setattr(_adbench, "BASE_URL", url)
        yield folder
        http.shutdown()


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


def test_a_local_copy_is_used_as_it_is(tmp_path, monkeypatch):
    (tmp_path / "Classical").mkdir()
    (tmp_path / "Classical" / "6_cardio.npz").write_bytes(CONTENT)
    monkeypatch.setenv("SKIM_DATA_HOME", str(tmp_path))
    bunch = fetch_adbench("CARDIO")
    assert bunch.data.shape == (20, 3)
    assert bunch.data.dtype == np.float64
    assert bunch.target.tolist() == [0] * 18 + [1] * 2
    assert bunch.DESCR.startswith("cardio of ADBench (Healthcare): 20 rows, 3 features")
    X, y = fetch_adbench("cardio", return_X_y=True)
    assert np.array_equal(y, bunch.target)
    assert np.array_equal(X, bunch.data)


@pytest.mark.parametrize("before", [None, CONTENT[:100]])
def test_absent_and_damaged_files_are_downloaded(server, tmp_path, before):
    (server / "Classical" / "6_cardio.npz").write_bytes(CONTENT)
    home = tmp_path / "home"
    if before is not None:
        (home / "Classical").mkdir(parents=True)
        (home / "Classical" / "6_cardio.npz").write_bytes(before)
    assert fetch_adbench("cardio", data_home=home).data.shape == (20, 3)
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files == [home / "Classical" / "6_cardio.npz"]
    assert files[0].read_bytes() == CONTENT


def test_a_wrong_download_is_never_kept(server, tmp_path):
    (server / "Classical" / "6_cardio.npz").write_bytes(npz_bytes(seed=1))
    with pytest.raises(FileNotFoundError, match="wrong checksum"):
        fetch_adbench("cardio", data_home=tmp_path / "home")
    assert not [path for path in (tmp_path / "home").rglob("*") if path.is_file()]


def test_errors_offline_say_what_to_do(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"6_cardio.npz there.*SKIM_DATA_HOME"):
        fetch_adbench("cardio", data_home=tmp_path)
    path = tmp_path / "Classical" / "6_cardio.npz"
    path.parent.mkdir()
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(FileNotFoundError, match="is damaged"):
        fetch_adbench("cardio", data_home=tmp_path)
    assert path.read_bytes() == CONTENT[:-1]


def test_real_files_are_intact(adbench):
    X, y = fetch_adbench("wine", data_home=adbench, return_X_y=True)
    assert X.shape == (129, 13)
    assert np.isfinite(X).all()
    assert set(y) == {0, 1}
