"""Installed versions and extras."""

import platform
import re
from importlib import metadata

import skim

DISTRIBUTION = "skim-od"
CORE = ("numpy", "scipy", "scikit-learn", "torch")
REQUIREMENT = re.compile(r"""([\w.-]+)(?:\[([\w,-]+)\])?.*extra == ['"]([\w-]+)['"]""")


def examine():
    """Yield lines about Python, the dependencies, the device and the extras."""
    yield f"skim {skim.__version__}"
    yield f"python {platform.python_version()} on {platform.platform()}"
    for name in CORE:
        yield f"{name} {_version(name) or 'is not installed'}"
    yield f"device {_device()}"
    extras = _extras()
    if not extras:
        yield f"extras unknown: {DISTRIBUTION} is not installed"
    for extra in sorted(extras):
        missing = sorted(name for name in _needs(extra, extras) if not _version(name))
        state = f"is missing {', '.join(missing)}" if missing else "complete"
        yield f"{DISTRIBUTION}[{extra}] {state}"


def _version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _device():
    if not _version("torch"):
        return "none"
    import torch

    if torch.cuda.is_available():
        return f"cuda ({torch.cuda.get_device_name()}) with device='auto', else cpu"
    return f"cpu, {torch.get_num_threads()} threads"


def _extras():
    """Return each extra's requirements as pairs of a package and its extras."""
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return {}
    extras: dict[str, list] = {}
    for match in filter(None, map(REQUIREMENT.match, requirements)):
        name, nested, extra = match.groups()
        extras.setdefault(extra, []).append((name, nested))
    return extras


def _needs(extra, extras):
    """Yield the packages of an extra, including those of nested extras."""
    for name, nested in extras.get(extra, []):
        if name == DISTRIBUTION:
            for inner in nested.split(","):
                yield from _needs(inner, extras)
        else:
            yield name
