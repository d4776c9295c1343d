"""The steps of the commands, and what there is to say about a table."""

import numpy as np
import pandas as pd

import skim
from skim.cli._labels import Labels, summary
from skim.cli._model_file import load_model
from skim.cli._outputs import Outputs
from skim.cli._reporter import in_options
from skim.cli._results import Results
from skim.datasets import load_breast_cancer_outliers
from skim.report._summary import agreement, counted, duplicates, verdict
from skim.tables import read_table
from skim.tables._drift import compare, summarise
from skim.tables._encoder import position_of
from skim.tables._reasons import listed

N_DIFFERENCES = 3  # that are named


def new_model(contamination=None, seed=0, has_labels=False, **columns):
    """Return an unfitted detector for tables, which can learn labels if it has any."""
    threshold = {"contamination": "auto" if contamination is None else contamination}
    given = {name: value for name, value in columns.items() if value is not None}
    table = skim.TableDetector(random_state=seed, **given)
    if has_labels:
        return skim.IMBoostDetector(table, random_state=seed, **threshold)
    return table.set_params(**threshold)


# Commands ---------------------------------------------------------------------------


def detect(source, model, outputs, labels, ids, reading, jobs):
    """Fit a model to a table in memory, and write the results."""
    reporter = outputs.reporter
    with outputs.opened():
        table = read(source, reporter, ids, min_rows=2, **reading)
        fit(model, table, reporter, jobs)
        if labels is not None:
            learn(model, table, reporter, labels, ids, source)
        named = id_columns(table, model, ids)
        scores = model.training_scores_
        results = Results(model, table, named, scores=scores, top=outputs.top)
        repeated = duplicates(table, named.columns, results.numbers)
        outputs.write(results, source, repeated)
        reporter.say(in_options(verdict(model, results.losses, is_training=True)))
        for sentence in repeated:
            reporter.say(sentence)
        if labels is not None:
            reporter.say(agreement(model.labels_, results.is_outlier))


def score(source, model_file, outputs, ids, reading, jobs):
    """Score a table in memory with a saved model, and write the results."""
    reporter = outputs.reporter
    with outputs.opened():
        model = load_model(model_file)
        given = read(source, reporter, ids, **reading)
        table = check_columns(given, model, source)
        unknown = [repr(name) for name in given if name not in [*table, *ids]]
        if unknown:
            reporter.note(
                f"Columns unknown to the model are ignored: {listed(unknown)}."
            )
        use_threads(model, jobs)
        named = id_columns(given, model, ids)
        with reporter.step("Scoring rows"):
            results = Results(model, table, named, top=outputs.top)
        outputs.write(results, source)
        reporter.say(verdict(model, results.losses, is_training=False))
        reporter.say(drift(model, table))


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
        outputs.write(results, "breast cancer")
        reporter.say(verdict(model, results.losses, is_training=True))
        n_found = (results.is_outlier & is_known).sum()
        reporter.say(
            f"Of the {is_known.sum()} known outliers, {n_found} are among them."
        )


# Steps ------------------------------------------------------------------------------


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


def use_threads(model, n_threads):
    """Set the number of threads of a fitted model and of its networks."""
    detector = table_detector(model)
    for part in (detector, detector.detector_):
        if "n_jobs" in part.get_params(deep=False):
            part.set_params(n_jobs=n_threads)


def learn(model, table, reporter, path, ids, source):
    """Fit the model to the labels in a file as well, and say how many there are."""
    labels = Labels(path, table, found_ids(model), ids=ids, source=source).values
    if np.isnan(labels).all():
        raise ValueError(f"{path} has no labels; add some with skim review.")
    reporter.say(f"{summary(labels)} in {path}")
    with reporter.step("Learning the labels"):
        model.fit(table, labels=labels)


# Columns ----------------------------------------------------------------------------


def table_detector(model):
    """Return the fitted table detector of a model, which may have learned labels."""
    return model.detector_ if isinstance(model, skim.IMBoostDetector) else model


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


def check_columns(table, model, source):
    """Return the table with the model's columns in the model's order.

    Columns that were dropped on request may be missing, and others are ignored.
    """
    detector = table_detector(model)
    wanted = [str(name) for name in detector.encoder_.feature_names_in_]
    optional = {str(name) for name in detector.drop}
    missing = [
        repr(name) for name in wanted if name not in table and name not in optional
    ]
    if missing:
        named = ", ".join(missing[:5]) + ", …" * (len(missing) > 5)
        raise ValueError(f"{source} lacks columns of the training data: {named}.")
    return table.reindex(columns=wanted)


# What there is to say ---------------------------------------------------------------


def drift(model, table):
    """Return a sentence on how a table, as a whole, differs from the training data."""
    detector = table_detector(model)
    encoder = detector.encoder_
    after = summarise(encoder, table, detector.by)
    differences = compare(detector.training_summary_, after, encoder.describe)
    if not differences:
        return "No column differs from the training data beyond chance."
    named = "; ".join(differences[:N_DIFFERENCES])
    if len(differences) > N_DIFFERENCES:
        named += f"; and {len(differences) - N_DIFFERENCES:,} more"
    return f"The table differs from the training data (in brackets): {named}."
