"""Signatures and docstrings that follow those of skim's detectors."""

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

    Parameters that the constructor names itself stay as they are.
    """
    parameters = inspect.signature(detector_class).parameters

    def decorate(init):
        own = inspect.signature(init).parameters
        merged = [own.get(name, parameter) for name, parameter in parameters.items()]
        init.__signature__ = inspect.Signature([own["self"], *merged])
        return init

    return decorate


def documents_parameters(cls):
    """Fill in the parameters in a class's docstring from its skim detector's.

    Parameters that the class describes itself stay as they are.
    """
    if cls.__doc__ is None:  # with python -OO
        return cls
    doc = inspect.cleandoc(cls.__doc__)
    own = _parameters_section(doc)
    described = _entries(own)
    parameters = _entries(
        _parameters_section(inspect.cleandoc(cls._detector_class.__doc__))
    )
    cls.__doc__ = doc.replace(own, "\n\n".join((parameters | described).values()))
    return cls


def _parameters_section(doc):
    """Return a docstring's text between two of its headings."""
    _, _, text = doc.partition("Parameters\n----------\n")
    return text.partition("\n\nAttributes\n----------\n")[0]


def _entries(section):
    """Return the entries of a section by the names of the parameters."""
    entries = re.split(r"\n\n(?=\S)", section)
    return {entry.partition(" :")[0]: entry for entry in entries}
