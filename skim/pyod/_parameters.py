"""Signatures and docstrings taken from the skim detectors."""

import inspect
import re
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

P = ParamSpec("P")
Constructor = Callable[Concatenate[Any, P], None]


def takes_parameters_of(
    detector_class: Callable[P, object],
) -> Callable[[Callable[..., None]], Constructor[P]]:
    """Give a constructor the signature of a skim detector.

    Parameters that the constructor declares itself are kept.
    """
    parameters = inspect.signature(detector_class).parameters

    def decorate(init):
        own = inspect.signature(init).parameters
        merged = [own.get(name, parameter) for name, parameter in parameters.items()]
        init.__signature__ = inspect.Signature([own["self"], *merged])
        return init

    return decorate


def documented(cls):
    """Add the Parameters and Attributes sections to a class's docstring.

    The base class describes the attributes and `contamination`, the skim detector the
    other parameters.
    """
    if cls.__doc__ is None:  # with python -OO
        return cls
    own, attributes = _sections(cls.__base__.__doc__)
    inherited, _ = _sections(cls._detector_class.__doc__)
    parameters = (_entries(inherited) | _entries(own)).values()
    before, after = inspect.cleandoc(cls.__doc__).split("See Also\n")
    cls.__doc__ = (
        f"{before}Parameters\n----------\n"
        + "\n\n".join(parameters)
        + f"\n\nAttributes\n----------\n{attributes}\n\nSee Also\n{after}"
    )
    return cls


def _sections(doc):
    """Return the text of the Parameters section, and the rest from Attributes on."""
    _, _, text = inspect.cleandoc(doc).partition("Parameters\n----------\n")
    parameters, _, attributes = text.partition("\n\nAttributes\n----------\n")
    return parameters, attributes


def _entries(section):
    """Return the entries of a section by parameter name."""
    entries = re.split(r"\n\n(?=\S)", section)
    return {entry.partition(" :")[0]: entry for entry in entries}
