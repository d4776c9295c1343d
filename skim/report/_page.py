"""Writing the report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

import skim
from skim._utils import naming, replacing
from skim.report._content import Rows, content, shorten, visible

if TYPE_CHECKING:
    import pandas as pd

MAX_ROWS = 50


def write_report(
    detector: object,
    X: ArrayLike | pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    source: str = "",
    ids: Sequence[object] | None = None,
    n_rows: int = MAX_ROWS,
    row_numbers: Sequence[int] | None = None,
    scores: ArrayLike | None = None,
) -> Path:
    """Write an HTML report on a fitted detector and a table.

    The report is a single self-contained HTML file. It lists what makes rows outliers
    and the strangest rows, each with its reasons and, on demand, its cells. It shows
    the threshold among the losses, how columns are treated, and the training run.
    The same input always gives the same file.

    Read more in the :doc:`User Guide </report>`.

    Parameters
    ----------
    detector : detector
        A fitted :class:`~skim.TableDetector`, or another detector of skim.

    X : DataFrame or array-like of shape (n_samples, n_features)
        The rows to report on, usually the training data.

    path : str or path-like
        The file to write. It is written completely or not at all.

    source : str, default=""
        Where the data comes from, such as a file name.

    ids : sequence of length n_samples, default=None
        Names of the rows, in addition to their numbers. By default, the index of a
        pandas DataFrame unless it is a RangeIndex.

    n_rows : int, default=50
        Number of rows to describe, at most 50.

    row_numbers : sequence of int of length n_samples, default=None
        Numbers of the rows, if `X` is part of a larger table. By default, they are
        counted from 1.

    scores : array-like of shape (n_samples,), default=None
        The result of ``detector.score_samples(X)``, if it is known already.

    Returns
    -------
    path : Path
        The file written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from skim import ALTBIDetector
    >>> from skim.datasets import load_wine_outliers
    >>> from skim.report import write_report
    >>> X, y = load_wine_outliers(return_X_y=True)
    >>> detector = ALTBIDetector(epochs=10, random_state=0).fit(X)
    >>> with TemporaryDirectory() as folder:
    ...     page = write_report(detector, X, Path(folder) / "wine.html", source="wine")
    ...     print(page.name, "Outliers in wine" in page.read_text(encoding="utf-8"))
    wine.html True
    """
    pages = environment()
    if not hasattr(detector, "reasons") or not hasattr(detector, "score_samples"):
        raise TypeError(
            "write_report needs a fitted detector of skim, such as TableDetector, not "
            f"{type(detector).__name__}."
        )
    check_is_fitted(detector)
    if not isinstance(n_rows, Integral) or not 1 <= n_rows <= MAX_ROWS:
        raise ValueError(
            f"n_rows must be an integer from 1 to {MAX_ROWS}, not {n_rows!r}."
        )
    with replacing(path) as draft:
        rows = Rows.of(detector, X, ids=ids, numbers=row_numbers, scores=scores)
        page = pages.get_template("report.html").render(
            content(detector, rows, n_rows), source=source, version=skim.__version__
        )
        with naming(path):
            draft.write_text(page, encoding="utf-8")
    return Path(path)


def environment():
    """Return what renders pages, or raise if a package is missing."""
    try:
        import matplotlib  # noqa: F401
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise ImportError(
            "write_report needs jinja2 and matplotlib: pip install 'skim-od[report]'"
        ) from error

    def shown(value):
        is_plain = isinstance(value, str) and not isinstance(value, Markup)
        return visible(value) if is_plain else value

    pages = Environment(
        loader=PackageLoader("skim.report", "templates"),
        autoescape=True,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    pages.filters |= {
        "count": lambda n: f"{n:,}",
        "number": lambda value: f"{value:.5g}",
        "probability": lambda value: f"{min(max(value, 0.001), 0.999):.1%}",
        "rows": lambda n: "1 row" if n == 1 else f"{n:,} rows",
        "shorten": shorten,
    }
    return pages
