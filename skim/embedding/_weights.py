"""Where weights are found, and the packages that load them, kept quiet."""

import contextlib
import os
from importlib import import_module
from pathlib import Path

# Read by the packages when they are imported: nothing is to be reported home.
SILENCE = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DISABLE_TELEMETRY": "1",
    "TABPFN_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}

PATIENCE = 5  # seconds to wait for a server that does not answer


class MissingWeightsError(OSError):
    """Weights are not here and cannot be downloaded."""


def weights_home():
    """Return the folder in which weights are looked for first.

    It is the one that the environment variable ``SKIM_WEIGHTS_HOME`` names, or
    ``~/.cache/skim/weights``.
    """
    home = os.environ.get("SKIM_WEIGHTS_HOME")
    return Path(home).expanduser() if home else Path.home() / ".cache/skim/weights"


def require(package, extra):
    """Import a package of an extra without telemetry, or say how to get it."""
    with _environment(SILENCE):
        try:
            return import_module(package)
        except ImportError as error:
            raise ImportError(
                f"This embedder needs {package.partition('.')[0]}: pip install "
                f"--upgrade 'skim-od[{extra}]' ({error})"
            ) from error


def may_download(hub, name):
    """Whether the Hugging Face hub may be asked for a model, and answers."""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return False
    try:
        hub.HfApi().model_info(name, timeout=PATIENCE)
    except Exception:  # whatever a network that is not there makes of it
        return False
    return True


@contextlib.contextmanager
def _environment(values):
    """Set environment variables that are not set, for a while."""
    added = [name for name in values if name not in os.environ]
    os.environ.update({name: values[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
