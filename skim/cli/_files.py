"""Writing output files completely or not at all."""

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from skim._utils import replacing


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
        with contextlib.suppress(OSError):
            draft.unlink()


@contextlib.contextmanager
def naming(path):
    """Name the file, and not its draft, if it cannot be written."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = getattr(error.__cause__ or error, "strerror", None) or error
        name = path or "Standard output"
        raise OSError(f"{name} cannot be written: {reason}.") from error


@contextlib.contextmanager
def _passed_on(path):
    """Yield a temporary file that is copied to a pipe or device at the end."""
    with tempfile.TemporaryDirectory(prefix="skim-") as folder:
        draft = Path(folder) / "draft"
        yield draft
        with naming(path), draft.open("rb") as source:
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
