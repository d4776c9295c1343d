"""Writing the report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

import skim
from skim._utils import import_pandas, naming, replacing
from skim.report._content import content, visible
from skim.tables._encoder import as_frame

if TYPE_CHECKING:
    import pandas as pd


def write_report(
    detector: Any,
    X: ArrayLike | pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    source: str = "",
    ids: Sequence[object] | None = None,
    scores: Sequence[float] | None = None,
    notes: Sequence[str] = (),
) -> Path:
    """Write an HTML report on a fitted detector and a table.

    The report is a single self-contained HTML file. It lists what makes rows outliers
    and the strangest rows, each with its reasons and, on demand, its cells. It shows
    the threshold among the losses, how columns are treated, and the training run.
    The same input always gives the same file.

    Read more in the :doc:`User Guide </report>`.

    Parameters
    ----------
    detector : TableDetector or IMBoostDetector
        A fitted :class:`~skim.TableDetector`, or an :class:`~skim.IMBoostDetector` of
        one.

    X : DataFrame or array-like of shape (n_samples, n_features)
        The rows to report on, usually the training data.

    path : str or path-like
        The file to write. It is written completely or not at all.

    source : str, default=""
        Where the data comes from, such as a file name.

    ids : sequence of length n_samples, default=None
        Names of the rows, in addition to their numbers. By default, the index of a
        pandas DataFrame unless it is a RangeIndex.

    scores : sequence of float of length n_samples, default=None
        The result of ``detector.score_samples(X)``, if it is known already.

    notes : sequence of str, default=()
        Sentences to add to the summary.

    Returns
    -------
    path : Path
        The file written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from skim import TableDetector
    >>> from skim.datasets import load_wine_outliers
    >>> from skim.report import write_report
    >>> X, y = load_wine_outliers(return_X_y=True)
    >>> detector = TableDetector(random_state=0).fit(X)
    >>> with TemporaryDirectory() as folder:
    ...     page = write_report(detector, X, Path(folder) / "wine.html", source="wine")
    ...     print(page.name, "Outliers in wine" in page.read_text(encoding="utf-8"))
    wine.html True
    """
    pages, pd = environment(), import_pandas()
    table = detector
    if isinstance(detector, skim.IMBoostDetector):
        check_is_fitted(detector)
        table = detector.detector_
    if not isinstance(table, skim.TableDetector):
        raise TypeError(
            "write_report needs a fitted TableDetector, or an IMBoostDetector of one, "
            f"not {type(detector).__name__}."
        )
    check_is_fitted(table)
    frame = as_frame(table, X, reset=False)
    has_names = ids is None and not isinstance(frame.index, pd.RangeIndex)
    ids = list(frame.index) if has_names else ids
    for name, values in (
        ("ids", ids),
        ("scores", scores),
    ):
        if values is not None and len(values) != len(frame):
            raise ValueError(
                f"{name} has {len(values):,} elements, but X has {len(frame):,} rows."
            )
    with replacing(path) as draft:
        if scores is None:
            scores = detector.score_samples(X)
        page = pages.get_template("report.html").render(
            content(detector, table, frame, np.asarray(scores), ids),
            source=source,
            notes=notes,
            version=skim.__version__,
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
        "shorten": _shorten,
    }
    return pages


def _shorten(text, length=60):
    return text if len(text) <= length else f"{text[: length - 1]}…"
