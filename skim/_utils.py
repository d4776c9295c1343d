"""Small helpers that more than one package uses."""

import contextlib
import math
import os
import re
import shutil
import uuid
import warnings
from dataclasses import dataclass, field, fields, replace
from numbers import Integral
from pathlib import Path
from textwrap import indent
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np


def shared_docs(**texts):
    """Return a decorator that fills in what docstrings of classes have in common.

    A line ``<name>`` stands for the text of that name.
    """

    def fill(cls):
        for name, text in texts.items():
            found = re.search(f"( *)<{name}>", cls.__doc__ or "")  # none with -OO
            if found:
                cls.__doc__ = cls.__doc__.replace(found[0], indent(text, found[1]))
        return cls

    return fill


def own_random_state(random_state):
    """Return a RandomState; None gives a fresh one, and not the global one."""
    from sklearn.utils import check_random_state

    if random_state is None:
        random_state = np.random.SeedSequence().generate_state(1).item()
    return check_random_state(random_state)


def evenly_spaced(n, max_places):
    """Return at most `max_places` of `n` places, from the first to the last."""
    return np.linspace(0, n - 1, min(n, max_places)).round().astype(np.intp)


def hidden_and_latent_widths(n_features, max_width):
    """Return the widths of the two hidden blocks and of the latent code.

    Each is half of the one before. Wide tables get wide networks, up to
    `max_width`; tables of fewer than eight features get a shorter latent code.
    """
    if n_features >= 1500:
        wide = 512
    elif n_features >= 400:
        wide = 256
    elif n_features >= 100:
        wide = 128
    else:
        wide = 32
    wide = min(wide, max_width)
    if n_features >= 8:
        most_latent = n_features
    else:
        most_latent = {7: 6, 6: 4, 5: 4, 4: 4}.get(n_features, 2)
    return wide, wide // 2, min(wide // 4, most_latent)


def outlier_mask(y, n_samples, name="y"):
    """Tell which rows are outliers."""
    from sklearn.utils import column_or_1d

    labels = column_or_1d(y)
    if len(labels) != n_samples:
        raise ValueError(
            f"{name} has {len(labels)} labels, but there are {n_samples} rows."
        )
    values = set(np.unique(labels).tolist())
    if values == {0, 1}:
        return labels == 1
    if values == {-1, 1}:
        return labels == -1
    if len(values) == 1:
        raise ValueError(
            f"{name} has one class only; both inliers and outliers are needed. In "
            "cross-validation, use StratifiedKFold."
        )
    raise ValueError(
        f"{name} must be 0 and 1 (outliers), or +1 and -1 (outliers), not "
        f"{', '.join(map(repr, sorted(values)[:5]))}."
    )


def unmasked(X):
    """Return an array with NaN in the masked cells, if it has any."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    dtype = np.float64 if X.dtype.kind in "biuf" else object
    return np.ma.filled(X.astype(dtype), np.nan)


def import_pandas(otherwise="A data frame needs pandas: pip install pandas"):
    """Return pandas, or say how to get it."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(otherwise) from error
    return pd


@contextlib.contextmanager
def replacing(path):
    """Yield where to write what takes the place of a file if all goes well.

    Raises at once if the file cannot be written.
    """
    target, draft = Path(os.path.realpath(path)), new_draft(path)
    try:
        yield draft
        with naming(path):
            if target.exists():
                shutil.copymode(target, draft)
            os.replace(draft, target)
    finally:
        with contextlib.suppress(OSError):  # of a read-only folder, or no such draft
            draft.unlink()


def new_draft(path):
    """Return an empty file beside another one, or raise if that cannot be written."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a directory; give the name of a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{path} cannot be written: {target.parent} does not exist."
        )
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"{path} cannot be written: it is read-only.")
    draft = target.with_name(f".{target.stem}.{uuid.uuid4().hex[:8]}{target.suffix}")
    with naming(path):
        draft.touch(exist_ok=False)
    return draft


@contextlib.contextmanager
def naming(path):
    """Name the file, and not its draft, if it cannot be written."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = getattr(error.__cause__ or error, "strerror", None) or error
        raise OSError(f"{path} cannot be written: {reason}.") from error


class Limits(NamedTuple):
    """What a parameter can be: one of some choices, or a number in a closed range."""

    choices: tuple
    kind: Any  # of numbers; None if there are only choices
    low: float
    high: float

    def allow(self, value):
        if self.kind and isinstance(value, self.kind) and not isinstance(value, bool):
            return self.low <= value <= self.high
        return value in self.choices

    def __str__(self):
        words = [repr(choice) for choice in self.choices]
        if self.kind:
            what = "an integer" if self.kind is Integral else "a number"
            limits = f"of at least {self.low}"
            if self.high < math.inf:
                limits = f"from {self.low} to {self.high}"
            words.insert(0, f"{what} {limits}")
        return " or ".join(words)


def parameter(default, kind=None, low=0, high=math.inf, *, choices=()) -> Any:
    """Return a field of `Parameters`, with the limits of its values."""
    return field(default=default, metadata={"limits": Limits(choices, kind, low, high)})


@dataclass
class Parameters:
    """Base of dataclasses that scikit-learn can clone, and search over."""

    def __repr__(self):
        changed = (
            f"{own.name}={getattr(self, own.name)!r}"
            for own in fields(self)
            if repr(getattr(self, own.name)) != repr(own.default)
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    def get_params(self, deep: bool = True) -> dict:
        """Return the parameters by name."""
        return {own.name: getattr(self, own.name) for own in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        unknown = sorted(set(params) - set(self.get_params()))
        if unknown:
            raise ValueError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}; it has "
                f"{', '.join(self.get_params())}."
            )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def settings(self) -> Self:
        """Return a copy, without what is only of use while a network is trained."""
        return replace(self)

    def check(self) -> None:
        """Raise unless the parameters are within the limits of their fields."""
        for own in fields(self):
            limits, value = own.metadata.get("limits"), getattr(self, own.name)
            if limits is not None and not limits.allow(value):
                raise ValueError(
                    f"{own.name}={value!r} of {type(self).__name__} must be {limits}."
                )


class Versioned:
    """Mixin of estimators whose pickles know the version of skim."""

    def __getstate__(self):
        from skim import __version__

        estimator: Any = super()
        return estimator.__getstate__() | {"_skim_version": __version__}

    def __setstate__(self, state):
        from sklearn.exceptions import InconsistentVersionWarning

        from skim import __version__

        version = state.pop("_skim_version", "unknown")
        if version != __version__:
            warnings.warn(
                InconsistentVersionWarning(
                    estimator_name=f"skim.{type(self).__name__}",
                    current_sklearn_version=__version__,
                    original_sklearn_version=version,
                ),
                stacklevel=2,
            )
        estimator: Any = super()
        estimator.__setstate__(state)


class Stored:
    """Base of dataclasses of a model, which are never loaded with other fields."""

    __dataclass_fields__: ClassVar[dict]

    def __setstate__(self, state):
        if set(state) != {own.name for own in fields(self)}:
            raise ValueError(
                "This model was stored by another version of skim and cannot be "
                "loaded; fit it again."
            )
        vars(self).update(state)
