"""The steps of the commands, and what there is to say about a table."""

import numpy as np
import pandas as pd

import skim
from skim.cli._labels import find_labels, summary
from skim.cli._outputs import Outputs
from skim.cli._results import Results
from skim.datasets import load_breast_cancer_outliers
from skim.report._summary import counted, verdict
from skim.tables import read_table
from skim.tables._drift import compare, summarise
from skim.tables._duplicates import find_duplicates
from skim.tables._encoder import position_of
from skim.tables._reasons import cell_text

N_EXAMPLES = 3  # of values, rows and differences


def new_model(
    contamination=None,
    seed=0,
    by=None,
    drop=None,
    categorical=None,
    dates="auto",
    *,
    has_labels=False,
):
    """Return an unfitted detector for tables, which can learn labels if it has any."""
    threshold = {"contamination": "auto" if contamination is None else contamination}
    table = skim.TableDetector(
        by=by,
        drop=drop or (),
        categorical=categorical or (),
        dates=dates,
        random_state=seed,
    )
    if has_labels:
        return skim.IMBoostDetector(table, random_state=seed, **threshold)
    return table.set_params(**threshold)


def table_detector(model):
    """Return the fitted table detector of a model, which may have learned labels."""
    return model.detector_ if isinstance(model, skim.IMBoostDetector) else model


def read(source, reporter, ids, *, min_rows=1, **options):
    """Read a table and report its size and what the reader notes."""
    with reporter.step(f"Reading {source}"):
        table = read_table(source, **options)
    n_rows, n_columns = table.shape
    reporter.say(f"{counted(n_rows, 'row')}, {counted(n_columns, 'column')}")
    for note in table.attrs.pop("notes", ()):
        reporter.note(note)
    if n_rows < min_rows:
        raise ValueError(f"{source} has one row; at least two are needed.")
    check_ids(table, ids)
    return table


def fit(model, table, reporter, jobs):
    """Fit the model, and show the columns' treatment."""
    is_plain = isinstance(model, skim.TableDetector)
    (model if is_plain else model.detector).set_params(n_jobs=jobs)
    with reporter.step(f"Fitting {type(model).__name__}"), reporter.warnings():
        model.fit(table)
    reporter.decisions(table_detector(model).encoder_.decisions_)


def learn(model, table, reporter, path, *, ids, source):
    """Fit the model to the labels in a file as well, and say how many there are."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; create it with skim review.")
    found = found_ids(model)
    labels = find_labels(path, table, found, ids=ids, source=source).values
    if np.isnan(labels).all():
        raise ValueError(f"{path} has no labels; add some with skim review.")
    reporter.say(f"{summary(labels)} in {path}")
    with reporter.step("Learning the labels"):
        model.fit(table, labels=labels)


def demo(report):
    """Find the outliers in a table whose labels are known, and write a report."""
    table, known = load_breast_cancer_outliers(return_X_y=True, as_frame=True)
    is_known = np.asarray(known) == 1
    outputs = Outputs(None, quiet=False, has_table=False, report=report)
    reporter = outputs.reporter
    with outputs.opened():
        reporter.say(f"Breast cancer: {len(table):,} rows, {table.shape[1]} columns")
        model = new_model()
        with reporter.step("Fitting TableDetector"):
            model.fit(table)
        ids = pd.DataFrame({"known": np.where(is_known, "outlier", "inlier")})
        results = Results(model, table, ids, scores=model.training_scores_)
        outputs.write(results)
        reporter.say(verdict(model, results.losses, is_training=True))
        n_found = (results.is_outlier & is_known).sum()
        reporter.say(
            f"Of the {is_known.sum()} known outliers, {n_found} are among them."
        )
        outputs.write_others(results, source="breast cancer")


# Columns --------------------------------------------------------------------------


def check_ids(table, ids):
    """Raise if --id names columns that the table does not have."""
    for name in ids:
        position_of(name, table.columns.tolist(), "--id")


def found_ids(model):
    """Return the columns that a model takes for identifiers."""
    decisions = table_detector(model).encoder_.decisions_
    return [d.column for d in decisions if d.treatment == "identifier"]


def id_columns(table, model, ids):
    """Return the columns to name rows by: `ids`, or the identifiers found."""
    return table[list(dict.fromkeys(ids or found_ids(model)))]


def check_columns(table, model, source, reporter=None, *, allowed=()):
    """Return the table with the model's columns in the model's order.

    Columns that were dropped on request may be missing. Columns that the training
    data did not have are left out, with a note unless they are in `allowed`.
    """
    encoder = table_detector(model).encoder_
    wanted = [str(name) for name in encoder.feature_names_in_]
    optional = {str(name) for name in encoder.drop}
    missing = [name for name in wanted if name not in table and name not in optional]
    if missing:
        raise ValueError(
            f"{source} is missing {_columns(missing)} of the training data."
        )
    extra = table.columns.difference([*wanted, *allowed], sort=False).tolist()
    if extra and reporter is not None:
        reporter.note(
            f"{source} has {_columns(extra)} that the training data did not have; "
            f"{'they are' if len(extra) > 1 else 'it is'} ignored."
        )
    return table.reindex(columns=wanted)


def _columns(names):
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    quoted = ", ".join(f"'{name}'" for name in names[:5])
    return f"column{'s' * (len(names) > 1)} {quoted}{more}"


# What there is to say -------------------------------------------------------------


def new_groups(table, model):
    """Return a sentence on groups that the training data did not have, if any."""
    detector = table_detector(model)
    encoder, by = detector.encoder_, detector.by
    if by is not None:
        groups = summarise(encoder, table, by)[by].levels
        new = groups.keys() - detector.training_summary_[by].levels
        rows = np.flatnonzero(table[by].astype(str).isin(new))
        if len(rows):
            cells = pd.DataFrame({"row": rows, "value": table[by].iloc[rows]})
            what = f"new groups in {by!r}, judged by the whole table"
            yield f"There are {what}: {_examples(cells)}."


def _examples(cells):
    examples = cells.drop_duplicates("value")[:N_EXAMPLES]
    named = ", ".join(
        f"{cell_text(value)!r} (row {row + 1:,})"
        for row, value in zip(examples["row"], examples["value"], strict=True)
    )
    return named + f", in {len(cells):,} rows" * (len(cells) > len(examples))


def duplicates(results):
    """Return sentences on rows that repeat another one, which they name."""
    ids = results.ids.columns
    others = results.table.drop(columns=ids, errors="ignore")
    found = find_duplicates(results.ids.join(others), ids)
    for column, own in found.groupby("column", dropna=False):
        pairs = own[["row", "other"]][:N_EXAMPLES].to_numpy()
        named = ", ".join(
            " and ".join(map(str, results.numbers[pair])) for pair in pairs
        )
        named += ", …" * (len(own) > N_EXAMPLES)
        has, repeats = ("has", "repeats") if len(own) == 1 else ("have", "repeat")
        what = (
            f"{repeats} another"
            if pd.isna(column)
            else f"{has} the {column} of another"
        )
        yield f"{counted(len(own), 'row')} {what}: rows {named}."


def drift(model, table):
    """Return a sentence on how a table, as a whole, differs from the training data."""
    detector = table_detector(model)
    encoder = detector.encoder_
    after = summarise(encoder, table, detector.by)
    differences = compare(detector.training_summary_, after, encoder.describe)
    if not differences:
        return "No column differs from the training data beyond chance."
    named = "; ".join(differences[:N_EXAMPLES])
    if len(differences) > N_EXAMPLES:
        named += f"; and {len(differences) - N_EXAMPLES:,} more"
    return f"The table differs from the training data (in brackets): {named}."
