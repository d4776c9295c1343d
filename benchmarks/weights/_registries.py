"""Files of package registries, without installing or running anything in them."""

import ast
import json
import re
import shutil
import ssl
import subprocess
import sys
import tarfile
import zipfile
from html.parser import HTMLParser
from http.client import HTTPException
from io import BytesIO
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import Request, urlopen

SIMPLE = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
TIMEOUT = 60  # seconds without a byte


class DownloadError(OSError):
    """A file cannot be downloaded from its registry."""


def download(package, folder):
    """Download the archive of a package into a folder and return its path."""
    path = folder / package.archive
    way = _with_pip if package.registry == "pip" else _with_command
    way(package, path)
    return path


# PyPI or a mirror of it, as pip is set up. pip itself would run the setup code of a
# source distribution only to download it.


def _with_pip(package, path):
    settings = pip_settings()
    for place in settings["find-links"]:
        local = Path(_local_path(place)) / package.archive
        if local.is_file():
            shutil.copyfile(local, path)
            return
    context = ssl.create_default_context(cafile=settings["cert"])
    page = re.sub(r"[-_.]+", "-", package.name).lower()
    reasons = []
    for index in settings["indexes"]:
        url = f"{index.rstrip('/')}/{page}/"
        try:
            with _open(url, context) as answer:
                links = links_of(answer.read(), answer.geturl())
            if package.archive in links:
                with _open(links[package.archive], context) as source:
                    _copy(source, path)
                return
            reasons.append(f"{index} does not list it")
        except (OSError, HTTPException, ValueError) as error:
            reasons.append(f"{index}: {_reason(error)}")
    raise DownloadError("; ".join(reasons) or "pip is configured to use no index")


def pip_settings():
    """Return where pip looks for packages, by its files, variables and default."""
    lines = _run([sys.executable, "-m", "pip", "config", "list"]).splitlines()
    pairs = [line.partition("=") for line in lines if "=" in line]
    found = {name: ast.literal_eval(value) for name, _, value in pairs}

    def setting(name):
        places = (f":env:.{name}", f"download.{name}", f"global.{name}")
        return next((found[place] for place in places if place in found), None)

    indexes = [setting("index-url") or _default_index()]
    indexes += (setting("extra-index-url") or "").split()
    if (setting("no-index") or "").lower() in ("1", "true", "yes", "on"):
        indexes = []
    return {
        "indexes": indexes,
        "find-links": (setting("find-links") or "").split(),
        "cert": setting("cert"),
    }


def _default_index():
    """Return the index that pip's own help names."""
    text = _run([sys.executable, "-m", "pip", "download", "--help"])
    default = re.search(r"--index-url.*?\(default\s+(\S+?)\)", text, re.DOTALL)
    if default is None:
        raise DownloadError("pip does not say which index it uses; set PIP_INDEX_URL")
    return default[1]


def links_of(page, url):
    """Return the files that a page of the simple index lists, as ``{name: url}``."""
    if page.lstrip().startswith(b"{"):
        files = json.loads(page)["files"]
        return {file["filename"]: urljoin(url, file["url"]) for file in files}
    parser = _Links()
    parser.feed(page.decode(errors="replace"))
    urls = [urljoin(url, link) for link in parser.links]
    return {unquote(urlsplit(each).path).rpartition("/")[2]: each for each in urls}


class _Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links = []

    def handle_starttag(self, tag, attributes):
        self.links += [value for name, value in attributes if name == "href" and value]


def _open(url, context):
    if url.startswith("file:") and url.endswith("/"):
        url += "index.html"
    return urlopen(
        Request(url, headers={"Accept": SIMPLE}),
        timeout=TIMEOUT,
        context=context if url.startswith("https:") else None,
    )


def _copy(source, path):
    with path.open("wb") as file:
        shutil.copyfileobj(source, file, 1 << 20)


def _local_path(place):
    return unquote(urlsplit(place).path) if place.startswith("file:") else place


# The other two have commands that download and do nothing else.


def _with_command(package, path):
    name, version = package.name, package.version
    command = {
        "npm": ["npm", "pack", f"{name}@{version}", "--ignore-scripts", "--silent"],
        "apt": ["apt-get", "download", f"{name}={version}"],
    }[package.registry]
    _run(command, path.parent)
    if not path.is_file():
        came = ", ".join(each.name for each in path.parent.iterdir()) or "nothing"
        raise DownloadError(f"got {came} instead")


def _run(command, folder=None):
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise DownloadError(f"{command[0]} is not installed") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        reason = " ".join(line.strip() for line in lines[-4:])
        raise DownloadError(f"{' '.join(command)} failed: {reason}")
    return done.stdout


def _reason(error):
    """Return what went wrong, without the wrapping that urllib adds."""
    if isinstance(error, HTTPError):
        return f"{error.code} {error.reason}"
    inner = getattr(error, "reason", error)
    return str(inner) or type(inner).__name__


# Archives -----------------------------------------------------------------------


def unpack(archive, members):
    """Yield the wanted files of an archive as ``(member, open file)``.

    The archive is a .whl, .zip, .tar.*, .tgz or .deb file; members have no leading
    "./". It is a ValueError if one of them is missing, or the archive is not complete.
    """
    try:
        if archive.suffix in (".whl", ".zip"):
            yield from _from_zip(archive, members)
        elif archive.suffix == ".deb":
            yield from _from_tar(BytesIO(deb_data(archive.read_bytes())), members)
        else:
            with archive.open("rb") as file:
                yield from _from_tar(file, members)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise ValueError(
            f"{archive.name} is not a complete archive: {error}"
        ) from error


def _from_zip(archive, members):
    with zipfile.ZipFile(archive) as opened:
        _check_has(archive.name, opened.namelist(), members)
        for member in members:
            with opened.open(member) as file:
                yield member, file


def _from_tar(file, members):
    with tarfile.open(fileobj=file) as opened:
        infos = [info for info in opened if info.isfile()]
        infos = {info.name.removeprefix("./"): info for info in infos}
        _check_has("the archive", infos, members)
        for member in members:
            yield member, opened.extractfile(infos[member])


def _check_has(name, there, members):
    missing = [member for member in members if member not in there]
    if missing:
        raise ValueError(f"{name} has no {', '.join(missing)}")


def deb_data(content):
    """Return the tar archive with the files of a Debian package.

    Such a package is an "ar" archive: a line, then members, each with a header of 60
    bytes that has its name first and its size from byte 48 on.
    """
    place = 8
    while content.startswith(b"!<arch>\n") and place + 60 <= len(content):
        header = content[place : place + 60]
        size = int(header[48:58])
        place += 60
        if header[:16].rstrip(b" /").startswith(b"data.tar"):
            return content[place : place + size]
        place += size + size % 2
    raise ValueError("this is not a Debian package")
