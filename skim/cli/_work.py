"""The steps of the commands."""

from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import skim
from skim._model._threshold import CERTAIN, stands_apart
from skim.cli._files import whole_file
from skim.cli._results import Results, as_text
from skim.tables import read_table

DETECTORS = {
    "altbi": "ALTBIDetector",
    "odim": "ODIMDetector",
    "im-autoencoder": "IMAutoencoderDetector",
}


N_EXAMPLES = 3  # of values that the training data did not have


def new_model(detector, *, contamination, seed, **columns):
    """Return an unfitted detector for tables."""
    table = skim.TableDetector(random_state=seed, **columns)
    if detector == "imboost":
        return skim.IMBoostDetector(
            table, contamination=contamination, random_state=seed
        )
    return table.set_params(
        detector=getattr(skim, DETECTORS[detector])(), contamination=contamination
    )


def table_detector(model):
    """Return the fitted table detector of a model, which may have learned labels."""
    return model.detector_ if isinstance(model, skim.IMBoostDetector) else model


def encoder_of(model):
    """Return the fitted encoder of a model's columns."""
    return table_detector(model).encoder_


def fit(model, table, reporter, find_labels=None):
    """Fit the model, and show the columns' treatment.

    `find_labels` returns the labels of the rows, given columns that identify them.
    """
    with reporter.step(f"Fitting {type(model).__name__}"), reporter.warnings():
        model.fit(table)
    reporter.decisions(encoder_of(model).decisions_)
    if find_labels is not None:
        found = row_columns(table, encoder_of(model), ids=[], keep=[]).ids
        labels = find_labels(list(found))
        with reporter.step("Learning the labels"):
            model.fit(table, labels=labels)


def read(source, reporter, **options):
    """Read a table and report its size and what the reader notes."""
    with reporter.step(f"Reading {source}"):
        table = read_table(source, **options)
    n_rows, n_columns = table.shape
    rows, columns = (
        f"{n:,} {noun}{'s' * (n != 1)}"
        for n, noun in ((n_rows, "row"), (n_columns, "column"))
    )
    reporter.say(f"{rows}, {columns}")
    for note in table.attrs.pop("notes", ()):
        reporter.note(note)
    return table


class OutputFiles(NamedTuple):
    """OutputFiles of a command's output files."""

    output: Path | None
    save: Path | None
    report: Path | None


@contextmanager
def output_files(target, *, save=None, report=None):
    """Check that files can be written, and put them in place on success."""
    with ExitStack() as stack:
        # Files appear in reverse order, standard output last.
        yield OutputFiles(
            stack.enter_context(whole_file(target.path)) if target.is_file else None,
            save and stack.enter_context(whole_file(save)),
            report and stack.enter_context(whole_file(report)),
        )


class Target(NamedTuple):
    """Where the results go.

    Attributes
    ----------
    path : Path or None
        The output file; None for standard output.
    is_file : bool
        Whether to write CSV or Parquet, be it to standard output.
    is_shown : bool
        Whether to list the strangest rows on the terminal.
    """

    path: Path | None
    is_file: bool
    is_shown: bool


def target_of(output, *, is_terminal, quiet):
    """Decide where the results go: `output` is a path, "-" or None."""
    if output is None:
        return Target(None, not is_terminal, is_terminal)
    if str(output) == "-":
        return Target(None, True, False)
    return Target(output, True, is_terminal and not quiet)


class RowColumns(NamedTuple):
    """Columns of the input that are written with the results."""

    ids: pd.DataFrame
    kept: pd.DataFrame


def check_named(table, **options):
    """Raise if an option names columns that the table does not have."""
    for option, names in options.items():
        for name in names:
            if name not in table:
                known = ", ".join(map(str, table.columns[:10]))
                more = ", ..." * (table.shape[1] > 10)
                raise ValueError(
                    f"--{option} names an unknown column {name!r}; the columns are "
                    f"{known}{more}."
                )


def row_columns(table, encoder, *, ids, keep):
    """Return the columns that identify rows, and those to keep.

    If `ids` is empty, these are the identifiers that the encoder found.
    """
    found = [d.column for d in encoder.decisions_ if d.treatment == "identifier"]
    ids = list(dict.fromkeys(ids or found))
    keep = [name for name in dict.fromkeys(keep) if name not in ids]
    return RowColumns(table[ids], table[keep])


def note_unseen_values(table, encoder, reporter):
    """Say which values the training data did not have, one line per column."""
    treatments = {d.column: d.treatment for d in encoder.decisions_}
    unseen = encoder.unseen_values(table.reset_index(drop=True))
    for column, cells in unseen.groupby("column", sort=False):
        kind = treatments[column]
        if kind in ("number", "date"):
            what = f"text that cannot be read as a {kind} and counts as missing"
        else:
            what = "values that the training data did not have"
            what += ", which have no influence" * (kind == "dropped")
        examples = cells.drop_duplicates("value")[:N_EXAMPLES]
        named = ", ".join(
            f"{as_text(value)!r} (row {row + 1:,})"
            for row, value in zip(examples["row"], examples["value"], strict=True)
        )
        n_rows = len(cells)
        rest = f", in {n_rows:,} rows" if n_rows > len(examples) else ""
        reporter.note(f"Column {column!r} has {what}: {named}{rest}.")


def find_results(model, table, reporter, *, columns, scores, top, n_reasons):
    """Score the rows, unless their scores are known."""
    with reporter.step("Scoring rows") if scores is None else nullcontext():
        return Results(
            model,
            table,
            ids=columns.ids,
            kept=columns.kept,
            scores=scores,
            top=top,
            n_reasons=n_reasons,
        )


def write_results(results, target, draft, reporter):
    """Write losses, labels and reasons."""
    path = target.path
    with reporter.progress("Finding reasons", len(results.rows)) as advance:
        results.write(
            draft,
            as_parquet=path is not None and path.suffix.lower() == ".parquet",
            advance=advance,
        )


def verdict(results, *, is_training, n_listed):
    """Return a sentence or two on the number of outliers, and what it rests on."""
    detector, n_rows = results.detector, len(results.losses)
    n_outliers = int(results.is_outlier.sum())
    verb = "is an outlier" if n_outliers == 1 else "are outliers"
    share = f"{n_outliers:,} of {n_rows:,} rows ({n_outliers / n_rows:.1%}) {verb}"
    if not is_training:
        return f"{share} by the threshold of the training data."
    if detector.contamination == 0:
        return f"{share}, beyond what about 1 % of new rows like these exceed."
    if detector.contamination != "auto":
        return f"{share}, as set by --contamination."
    if len(getattr(detector, "label_rows_", ())):
        return f"{share}, judged with the labels."
    if stands_apart(detector.training_scores_, detector.offset_):
        return f"{share}: a gap in the losses sets them apart."
    n_extreme = min(_n_extreme(results.losses), n_outliers)
    if n_extreme:
        rest = n_outliers - n_extreme
        some = f"{n_extreme:,} of them " if rest else ""
        apart = f"; no gap sets the other {rest:,} apart" if rest else ""
        loss = "a loss" if n_extreme == 1 else "losses"
        return f"{share}, {some}with {loss} far above the usual{apart}."
    listed = f"the {n_listed} strangest rows are listed"
    if n_listed == 1:
        listed = "the strangest row is listed"
    advice = "--top lists the strangest rows, --contamination sets the share"
    usual = ", about the usual share" if n_outliers else ""
    return f"{share}{usual}. No group stands apart; {listed if n_listed else advice}."


def _n_extreme(losses):
    """Count the losses that are outliers whatever the others are."""
    lower, median, upper = np.quantile(losses / 4, [0.25, 0.5, 0.75])
    return int((losses / 4 > median + CERTAIN * (upper - lower)).sum())


def import_report():
    """Return ``skim.report.write_report``, or raise if jinja2 is missing."""
    import jinja2  # noqa: F401

    from skim.report import write_report

    return write_report


def make_report(model, results, draft, reporter, *, source):
    """Write the HTML report."""
    numbers, *names = results.names(range(len(results.table))).values()
    ids = [" / ".join(row) for row in zip(*names, strict=True)] or numbers
    if len(set(ids)) < len(ids):
        ids = [f"{name} (row {row})" for name, row in zip(ids, numbers, strict=True)]
    name = "standard input" if source == "-" else Path(source).name
    with reporter.step("Writing the report"):
        import_report()(model, results.table, draft, source=name, ids=ids)


def check_columns(table, encoder, source, reporter=None, *, allowed=()):
    """Return the table with the model's columns in the model's order.

    Columns that were dropped on request may be missing. Columns that the training
    data did not have are left out, with a note unless they are in `allowed`.
    """
    wanted = [str(name) for name in encoder.feature_names_in_]
    required = set(wanted).difference(map(str, encoder.drop))
    missing = [name for name in wanted if name not in table and name in required]
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
