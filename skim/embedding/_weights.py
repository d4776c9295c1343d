"""Where weights are looked for, and the optional packages that load them."""

import contextlib
import os
from importlib import import_module
from pathlib import Path

__all__ = ["MissingWeightsError", "weights_home"]

# These packages read their settings at import: no telemetry, no progress bars.
SILENCE = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DISABLE_TELEMETRY": "1",
    "TABPFN_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}

TIMEOUT = 5  # seconds to wait for the Hugging Face hub


class MissingWeightsError(OSError):
    """Weights were not found and cannot be downloaded."""


def weights_home() -> Path:
    """Return the folder that is searched first for weights.

    Set the environment variable ``SKIM_WEIGHTS_HOME`` to change it from
    ``~/.cache/skim/weights``.
    """
    home = os.environ.get("SKIM_WEIGHTS_HOME")
    return Path(home).expanduser() if home else Path.home() / ".cache/skim/weights"


def require(package, extra):
    """Import a module of an extra, or raise an error that names the extra."""
    with environment(SILENCE):
        try:
            return import_module(package)
        except ImportError as error:
            missing = (error.name or package).partition(".")[0]
            raise ImportError(
                f"This embedder needs {missing}: pip install --upgrade "
                f"'skim-od[{extra}]' ({error})"
            ) from error


def may_download(hub, name):
    """Tell whether a model can be downloaded from the Hugging Face hub."""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return False
    try:
        hub.HfApi().model_info(name, timeout=TIMEOUT)
    except Exception:  # a missing network shows up in many ways
        return False
    return True


@contextlib.contextmanager
def environment(values):
    """Set environment variables for a while, unless they are already set."""
    added = [name for name in values if name not in os.environ]
    os.environ.update({name: values[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
