"""Where checkpoints are found, and how those of transformers are loaded."""

import contextlib
import os
from importlib import import_module
from pathlib import Path

# tabpfn and huggingface_hub read these variables at import.
SILENCE = (
    "HF_HUB_DISABLE_TELEMETRY",
    "DISABLE_TELEMETRY",
    "TABPFN_DISABLE_TELEMETRY",
    "HF_HUB_DISABLE_PROGRESS_BARS",
)
TIMEOUT = 5  # seconds to wait for the Hugging Face hub
PATTERNS = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")


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
    added = [name for name in SILENCE if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        return import_module(package)
    except ImportError as error:
        missing = (error.name or package).partition(".")[0]
        raise ImportError(
            f"This embedder needs {missing}: pip install --upgrade "
            f"'skim-od[{extra}]' ({error})"
        ) from error
    finally:
        for name in added:
            del os.environ[name]


def find_checkpoint(name, extra):
    """Return the folder of a checkpoint, downloading it if necessary."""
    given = Path(name).expanduser()
    home = weights_home()
    for folder in (given, home / name, home / given.name):
        if (folder / "config.json").is_file():
            return folder
    found = from_hub(str(name), PATTERNS, extra)
    if found is not None:
        return found
    raise MissingWeightsError(
        f"The weights of {str(name)!r} were not found and cannot be downloaded: run "
        f"`hf download {name} --local-dir DIR` on a machine with internet access, then "
        f"pass model=DIR or copy the folder to $SKIM_WEIGHTS_HOME ({home})."
    )


def from_hub(name, patterns, extra):
    """Return the folder of a repository, cached or downloaded, or None."""
    hub = require("huggingface_hub", extra)
    with contextlib.suppress(OSError, ValueError):
        folder = Path(hub.snapshot_download(name, local_files_only=True))
        if any(folder.glob(patterns[0])):  # the weights
            return folder
    with contextlib.suppress(Exception):  # a missing network shows up in many ways
        hub.HfApi().model_info(name, timeout=TIMEOUT)
        return Path(hub.snapshot_download(name, allow_patterns=list(patterns)))
    return None


def load_transformer(folder, preprocessor, extra, **options):
    """Return the network of a checkpoint in single precision, and its preprocessor."""
    transformers = require("transformers", extra)
    log = transformers.utils.logging
    verbosity, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity(log.CRITICAL)
    log.disable_progress_bar()
    safely = {"local_files_only": True, "trust_remote_code": False}
    try:
        network, report = transformers.AutoModel.from_pretrained(
            folder,
            dtype="float32",
            use_safetensors=True,
            output_loading_info=True,
            **safely,
        )
        missing = [name for name in report["missing_keys"] if "pooler." not in name]
        if missing:
            raise ValueError(f"it lacks {len(missing)} weights, such as {missing[0]}")
        loader = getattr(transformers, preprocessor)
        return network, loader.from_pretrained(folder, **safely, **options)
    except (OSError, ValueError, RuntimeError) as error:
        raise ValueError(f"Cannot load the checkpoint in {folder}: {error}") from error
    finally:
        log.set_verbosity(verbosity)
        if bars:
            log.enable_progress_bar()
