"""What is installed."""

import platform
import re
from importlib import metadata

import skim

CORE = ("numpy", "scipy", "scikit-learn", "torch")
REQUIREMENT = re.compile(r"""([\w.-]+)(?:\[([\w,-]+)\])?.*extra == ['"]([\w-]+)['"]""")


def examine():
    """Yield lines about Python, the core, the extras and the device."""
    yield f"skim {skim.__version__}"
    yield f"python {platform.python_version()} on {platform.platform()}"
    for name in CORE:
        yield f"{name} {_version(name) or 'is not installed'}"
    yield f"device {_device()}"
    extras = _extras()
    if not extras:
        yield "extras unknown: skim is not installed, only found"
    for extra in sorted(extras):
        lacking = sorted(name for name in _needs(extra, extras) if not _version(name))
        state = f"lacks {', '.join(lacking)}" if lacking else "complete"
        yield f"skim[{extra}] {state}"


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
        return f"cuda ({torch.cuda.get_device_name()}), with device='auto'; else cpu"
    return f"cpu, {torch.get_num_threads()} threads"


def _extras():
    """Return, for each extra, pairs of a package and the extras asked of it."""
    try:
        requirements = metadata.requires("skim") or []
    except metadata.PackageNotFoundError:
        return {}
    extras: dict = {}
    for requirement in requirements:
        match = REQUIREMENT.match(requirement)
        if match:
            name, nested, extra = match.groups()
            extras.setdefault(extra, []).append((name, nested))
    return extras


def _needs(extra, extras):
    """Yield the packages of an extra, and of those that it includes."""
    for name, nested in extras.get(extra, []):
        if name != "skim":
            yield name
        for inner in nested.split(",") if name == "skim" and nested else ():
            yield from _needs(inner, extras)
