"""Gathering the content of the report and writing the file."""

from __future__ import annotations

import base64
import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

import skim
from skim._detectors._base import scaled_table
from skim._model._reasons import deciding_labels
from skim._model._threshold import probability
from skim._utils import replacing
from skim.report import _findings, _text
from skim.report._charts import distribution, trajectory
from skim.report._model import Case
from skim.report._table import STRIP

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.pipeline import Pipeline

    from skim._detectors._base import BaseDetector

MAX_TOP = 500  # keeps the page small
LABELS = {1: "labelled outlier", 0: "labelled inlier"}
N_TREATMENTS = 8  # counted by name


def write_report(
    model: BaseDetector | Pipeline,
    X: ArrayLike | pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    source: str | None = None,
    ids: Iterable[object] | None = None,
    top: int = 50,
) -> Path:
    """Write an HTML report on a fitted detector and its data.

    The report is a single self-contained HTML file. It shows the distribution of the
    losses and the threshold, a map of the data, the strangest rows and the columns
    that make them so, the agreement between the ensemble members, the training
    history, and how the columns were treated. The same input always gives the same
    file.

    Read more in the :doc:`User Guide </report>`.

    Parameters
    ----------
    model : detector or Pipeline
        A fitted skim detector, or a fitted :class:`sklearn.pipeline.Pipeline` that
        ends with one.

    X : DataFrame or array-like of shape (n_samples, n_features)
        The rows to report on, in the form the model expects. Usually the training
        data, but any other rows will do.

    path : str or path-like
        The file to write. It is written completely or not at all.

    title : str, default=None
        The title of the page. By default, it names the source.

    source : str, default=None
        Where the data comes from, such as a file name.

    ids : sequence of length n_samples, default=None
        Names of the rows. By default, the index of a pandas DataFrame, or else the
        row positions, starting from 0.

    top : int, default=50
        Number of rows to list, at most 500.

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
    environment = _environment()
    if not isinstance(top, Integral) or not 1 <= top <= MAX_TOP:
        raise ValueError(f"top must be an integer from 1 to {MAX_TOP}, not {top!r}.")
    path = _check_path(path)
    case = Case(model, X)
    names = case.read.row_names() if ids is None else list(ids)
    if len(names) != case.read.n_rows:
        raise ValueError(
            f"ids has {len(names)} names, but X has {case.read.n_rows} rows."
        )
    content = _content(case, names, top)
    if title is None:
        title = "Outlier report" if source is None else f"Outliers in {source}"
    page = environment.get_template("report.html").render(
        content, title=title, source=source, version=skim.__version__
    )
    _write(path, page)
    return path


def _content(case, ids, n_top):
    """Return the variables of the template."""
    detector = case.detector
    scores = detector.score_samples(case.features)
    table = scaled_table(case.networks, case.features)
    scores_by_member = -case.networks.model_.losses_by_member(table)
    flagged = scores < detector.offset_
    losses = -scores
    order = np.argsort(scores, kind="stable")
    top = order[:n_top]
    chances = probability(scores[top], detector.offset_, detector.training_scores_)
    blame = _findings.blame(case, top)
    judgement, stands_out = blame.judgement, ~blame.judgement.is_whole
    n_leading = min(int(flagged.sum()), len(top)) or len(top)
    reasons, n_more, blamed, read = _findings.reasons_and_columns(case, top, blame)
    agreement = _findings.agreement(scores_by_member, top)
    threshold = float(-detector.offset_)
    by, kept = _findings.snapshot_times(case.networks)
    labels = _findings.labels_of(detector, losses)
    trained_here = _findings.is_training_data(detector, losses)
    learns_labels = len(getattr(detector, "label_rows_", ())) > 0
    likes = deciding_labels(
        detector,
        _safe_indexing(case.features, top),
        losses[top],
        lambda row: f"row {ids[row]}" if trained_here else f"training row {row}",
    )
    return {
        "detector": detector,
        "settings": _settings(detector),
        "n_rows": case.read.n_rows,
        "n_columns": case.read.n_columns,
        "n_features": detector.n_features_in_,
        "n_flagged": int(flagged.sum()),
        "trained_here": trained_here,
        "n_trained": len(detector.training_scores_),
        "decisions": {str(d.column): d for d in case.decisions},
        "treatments": _tally([d.treatment for d in case.decisions]),
        "columns": read,
        "drawn": {column["symbol"]: column for column in read + blamed}.values(),
        "threshold": threshold,
        "distribution": distribution(losses, threshold),
        "top": [
            {
                "rank": k + 1,
                "name": str(ids[i]),
                "loss": float(losses[i]),
                "probability": float(chances[k]),
                "flagged": bool(flagged[i]),
                "label": None if labels is None else LABELS.get(labels[i]),
                "votes": agreement and agreement["votes"][k],
                "reasons": reasons[k],
                "n_more": n_more[k],
                "like": likes[k],
                "stands_out": bool(stands_out[k]),
                "is_mostly_outside": bool(judgement.is_mostly_outside[k]),
            }
            for k, i in enumerate(top)
        ],
        "most_blamed": _findings.most_blamed(case, blame.shares[stands_out]),
        "n_standing_out": int(stands_out.sum()),
        "n_leading": n_leading,
        "n_leading_apart": int(stands_out[:n_leading].sum()),
        "agreement": agreement,
        "labels": _findings.judged_labels(labels, flagged, ids),
        "learns_labels": learns_labels,
        "stopping": case.networks.stopping,
        "trajectory": trajectory(case.networks.history_, by, kept),
        "map": _findings.map_of(case, losses, flagged, order, len(top)),
        "levels": _findings.LEVELS,
        "strip": STRIP,
    }


def _tally(treatments):
    """Count the columns by treatment."""
    tally = Counter(treatments).most_common(N_TREATMENTS)
    rest = len(treatments) - sum(n for _, n in tally)
    return [*tally, ("other", rest)] if rest else tally


def _settings(detector):
    """Return the parameters as text that does not vary between runs."""
    plain = (str, int, float, bool, type(None))
    return {
        name: repr(value) if isinstance(value, plain) else type(value).__name__
        for name, value in detector.get_params().items()
    }


# The file -------------------------------------------------------------------------


def _environment():
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(
            "write_report needs jinja2: pip install 'skim-od[report]'"
        ) from error
    loader = PackageLoader("skim.report", "templates")
    environment = Environment(
        loader=loader,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "count": _text.count,
        "number": _text.number,
        "percent": _text.percent,
        "probability": _text.probability,
        "rows": _text.rows,
        "shorten": _text.shorten,
    }
    style, _, _ = loader.get_source(environment, "style.css")
    script, _, _ = loader.get_source(environment, "script.js")
    # The browser is told to run only this script.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment.globals |= {"style": style, "script": script, "script_hash": digest}
    return environment


def _check_path(path):
    """Raise early if the file cannot be written."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"The folder {path.parent} does not exist; create it.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written; choose another file.")
    return path


def _write(path, page):
    """Write the file completely or not at all."""
    try:
        with replacing(path) as draft:
            # Text in the data may not be valid Unicode.
            draft.write_bytes(page.encode("utf-8", "replace"))
    except OSError as error:
        raise OSError(f"{path} could not be written: {error.strerror}.") from error
