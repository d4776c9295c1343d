"""Writing output files completely or not at all."""

import contextlib
import errno
import os
import shutil
import sys
import tempfile
from pathlib import Path

from skim._utils import replacing

DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EACCES}


@contextlib.contextmanager
def whole_file(path):
    """Yield a draft that replaces `path`, or goes to standard output, on success.

    Raises at once if `path` cannot be written.
    """
    if path is None or (path.exists() and not path.is_file() and not path.is_dir()):
        with _passed_on(path) as draft:
            yield draft
        return
    target = Path(os.path.realpath(path))
    with replacing(target) as draft:
        _check_writable(path, target, draft)
        with naming(path, draft):
            yield draft
        if target.exists():
            shutil.copymode(target, draft)


def check_writable(path):
    """Raise if a file cannot be written."""
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{target.name}.draft")
    try:
        _check_writable(path, target, draft)
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def naming(path, draft=None):
    """Name a file in errors of the disk.

    If there is a draft, errors pass unless it has been begun: they are about others.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_ERRORS or (draft and not draft.stat().st_size):
            raise
        reason = os.strerror(error.errno)
        raise type(error)(f"{path} cannot be written: {reason}.") from error


@contextlib.contextmanager
def _passed_on(path):
    """Yield a temporary file that is copied to a pipe or device at the end."""
    with tempfile.TemporaryDirectory(prefix="skim-") as folder:
        draft = Path(folder) / "draft"
        yield draft
        with draft.open("rb") as source:
            if path is None:
                shutil.copyfileobj(source, sys.stdout.buffer)
                sys.stdout.buffer.flush()
            else:
                with path.open("wb") as sink:
                    shutil.copyfileobj(source, sink)


def _check_writable(path, target, draft):
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a directory; give the name of a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{path} cannot be written: {target.parent} does not exist."
        )
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"{path} cannot be written: it is read-only.")
    with naming(path):
        draft.touch(exist_ok=False)
