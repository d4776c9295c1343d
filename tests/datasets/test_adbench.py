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


@pytest.fixture
def known(monkeypatch):
    """Replaces the checksum of cardio by that of the test's file."""
    catalogue = [
        file._replace(git_blob_sha1=GIT_BLOB) if file.name == "cardio" else file
        for file in _adbench._catalogue()
    ]
    monkeypatch.setattr(_adbench, "_catalogue", lambda: catalogue)


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


@pytest.fixture
def no_server(monkeypatch):
    monkeypatch.setattr(_adbench, "BASE_URL", "http://127.0.0.1:9/")
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between retries


def test_all_data_sets_have_a_name_and_a_number():
    names = list_adbench()
    assert len(names) == len(set(names)) == 195
    assert {_adbench.find_adbench(name).number for name in names} == set(range(1, 58))
    assert len(list_adbench("tabular")) == 47
    for name in names:
        assert _adbench.find_adbench(name).name == name
    for name in (6, np.int64(6), "CARDIO"):
        assert _adbench.find_adbench(name).path == "Classical/6_cardio.npz"
    assert list_adbench("20news") == [f"20news_{i}" for i in range(6)]
    assert len(list_adbench("CV_by_ViT")) == len(list_adbench("image-vit")) == 61
    assert _adbench.find_adbench("CIFAR10_3").group == "image"
    assert _adbench.find_adbench("CV_by_ViT/CIFAR10_3").group == "image-vit"


def test_unknown_names_get_advice():
    for name, message in (
        ("cardoi", "Did you mean 'cardio'"),
        (58, "1 to 57"),
        ("CIFAR10", "10 parts.*CIFAR10_0"),
        (48, "10 parts.*CIFAR10_0"),
        ("qqqq", "list_adbench"),
    ):
        with pytest.raises(ValueError, match=message):
            fetch_adbench(name)
    with pytest.raises(ValueError, match="Did you mean 'tabular'"):
        list_adbench("tabluar")
    with pytest.raises(TypeError, match="by name or number"):
        fetch_adbench(6.5)


def test_a_local_copy_is_used_as_it_is(known, tmp_path, monkeypatch, no_server):
    (tmp_path / "Classical").mkdir()
    (tmp_path / "Classical" / "6_cardio.npz").write_bytes(CONTENT)
    monkeypatch.setenv("SKIM_DATA_HOME", str(tmp_path))
    bunch = fetch_adbench("cardio")
    assert bunch.data.shape == (20, 3)
    assert bunch.data.dtype == np.float64
    assert bunch.target.tolist() == [0] * 18 + [1] * 2
    assert (bunch.name, bunch.dataset, bunch.number) == ("cardio", "cardio", 6)
    X, y = fetch_adbench(6, return_X_y=True)
    assert np.array_equal(y, bunch.target)
    assert np.array_equal(X, bunch.data)


@pytest.mark.parametrize("before", [None, CONTENT[:100]])
def test_absent_and_damaged_files_are_downloaded(known, server, tmp_path, before):
    (server / "Classical" / "6_cardio.npz").write_bytes(CONTENT)
    home = tmp_path / "home"
    if before is not None:
        (home / "Classical").mkdir(parents=True)
        (home / "Classical" / "6_cardio.npz").write_bytes(before)
    assert fetch_adbench("cardio", data_home=home).data.shape == (20, 3)
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files == [home / "Classical" / "6_cardio.npz"]
    assert files[0].read_bytes() == CONTENT


def test_a_wrong_download_is_never_kept(known, server, tmp_path):
    (server / "Classical" / "6_cardio.npz").write_bytes(npz_bytes(seed=1))
    with pytest.raises(FileNotFoundError, match="wrong checksum"):
        fetch_adbench("cardio", data_home=tmp_path / "home")
    assert not [path for path in (tmp_path / "home").rglob("*") if path.is_file()]


def test_errors_offline_say_what_to_do(known, tmp_path, no_server):
    with pytest.raises(FileNotFoundError, match=r"6_cardio.npz there.*SKIM_DATA_HOME"):
        fetch_adbench("cardio", data_home=tmp_path)
    path = tmp_path / "Classical" / "6_cardio.npz"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(FileNotFoundError, match="is damaged"):
        fetch_adbench("cardio", data_home=tmp_path)
    assert path.read_bytes() == CONTENT[:-1]


def test_pickles_are_never_opened(known, tmp_path, monkeypatch):
    path = tmp_path / "Classical" / "6_cardio.npz"
    path.parent.mkdir()
    np.savez(path, X=np.array([[object()]]), y=[0])
    monkeypatch.setattr(_adbench, "_is_intact", lambda path, file: True)
    with pytest.raises(ValueError, match=r"not an \.npz file of numbers"):
        fetch_adbench("cardio", data_home=tmp_path)


def test_real_files_are_intact(adbench):
    for name in ("cardio", "wine"):
        X, y = fetch_adbench(name, data_home=adbench, return_X_y=True)
        assert np.isfinite(X).all()
        assert set(y) == {0, 1}
    assert fetch_adbench("cardio", data_home=adbench).data.shape == (1831, 21)
