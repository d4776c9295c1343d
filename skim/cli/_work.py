"""The steps of the commands."""

from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import skim
from skim._model._threshold import APART, CERTAIN, stands_apart
from skim.cli._files import whole_file
from skim.cli._results import Results, as_text
from skim.tables import read_table
from skim.tables._drift import compare, summarise
from skim.tables._duplicates import find_duplicates

N_EXAMPLES = 3  # of values, rows and differences


def new_model(*, contamination, seed, has_labels=False, **columns):
    """Return an unfitted detector for tables."""
    table = skim.TableDetector(random_state=seed, **columns)
    if has_labels:
        return skim.IMBoostDetector(
            table, contamination=contamination, random_state=seed
        )
    return table.set_params(contamination=contamination)


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
        labels = find_labels(found_ids(encoder_of(model)))
        with reporter.step("Learning the labels"):
            model.fit(table, labels=labels)


def read(source, reporter, **options):
    """Read a table and report its size and what the reader notes."""
    with reporter.step(f"Reading {source}"):
        table = read_table(source, **options)
    n_rows, n_columns = table.shape
    reporter.say(f"{counted(n_rows, 'row')}, {counted(n_columns, 'column')}")
    for note in table.attrs.pop("notes", ()):
        reporter.note(note)
    return table


def counted(n, noun):
    """Return a number of things in words."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


# Files ----------------------------------------------------------------------------


class OutputFiles(NamedTuple):
    """Drafts of a command's output files."""

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


@contextmanager
def writing(path):
    """Name the file, and not its draft, if it cannot be written."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        name, reason = path or "Standard output", error.strerror or error
        raise OSError(f"{name} cannot be written: {reason}.") from None


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


# Columns --------------------------------------------------------------------------


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


def found_ids(encoder):
    """Return the columns that the encoder takes for identifiers."""
    return [d.column for d in encoder.decisions_ if d.treatment == "identifier"]


def row_columns(table, encoder, *, ids, keep=()):
    """Return the columns that identify rows, and those to keep.

    If `ids` is empty, these are the identifiers that the encoder found.
    """
    ids = list(dict.fromkeys(ids or found_ids(encoder)))
    keep = [name for name in dict.fromkeys(keep) if name not in ids]
    return RowColumns(table[ids], table[keep])


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


# What there is to say -------------------------------------------------------------


def note_unseen_values(table, model, reporter):
    """Say which values and groups the training data did not have, by column."""
    detector, encoder = table_detector(model), encoder_of(model)
    treatments = {d.column: d.treatment for d in encoder.decisions_}
    unseen = encoder.unseen_values(table.reset_index(drop=True))
    for column, cells in unseen.groupby("column", sort=False):
        kind = treatments[column]
        if kind in ("number", "date"):
            what = f"text that cannot be read as a {kind} and counts as missing"
        else:
            what = "values that the training data did not have"
            what += ", which have no influence" * (kind == "dropped")
        _note_values(reporter, f"Column {column!r} has {what}", cells)
    if detector.by is not None:
        known = detector.training_summary_[detector.by].levels
        groups = summarise(encoder, table, detector.by)[detector.by].levels
        new = [group for group in groups if group not in known]
        if new:
            rows = np.flatnonzero(table[detector.by].astype(str).isin(new))
            cells = pd.DataFrame({"row": rows, "value": table[detector.by].iloc[rows]})
            what = f"new groups in {detector.by!r}, judged by the whole table"
            _note_values(reporter, f"There are {what}", cells)


def _note_values(reporter, what, cells):
    examples = cells.drop_duplicates("value")[:N_EXAMPLES]
    named = ", ".join(
        f"{as_text(value)!r} (row {row + 1:,})"
        for row, value in zip(examples["row"], examples["value"], strict=True)
    )
    rest = f", in {len(cells):,} rows" if len(cells) > len(examples) else ""
    reporter.note(f"{what}: {named}{rest}.")


def duplicates_of(results):
    """Return sentences on rows that repeat another one, which they name."""
    ids = results.ids.columns
    others = results.table.drop(columns=ids, errors="ignore")
    found = find_duplicates(results.ids.join(others), ids)
    for (kind, column), own in found.groupby(["kind", "column"], dropna=False):
        pairs = zip(own["row"], own["other"], strict=True)
        named = ", ".join(
            f"{results.numbers[row]} and {results.numbers[other]}"
            for row, other in list(pairs)[:N_EXAMPLES]
        )
        more = ", …" if len(own) > N_EXAMPLES else ""
        n_rows = counted(len(own), "row")
        verb = "has" if len(own) == 1 else "have"
        if kind == "identifier":
            what = f"{n_rows} {verb} the {column} of another"
        else:
            but = "" if pd.isna(column) else f" but for {column}"
            what = f"{n_rows} {'repeats' if len(own) == 1 else 'repeat'} another{but}"
        yield f"{what}: rows {named}{more}."


def drift_of(model, table):
    """Return a sentence on how a table, as a whole, differs from the training data."""
    detector = table_detector(model)
    before = detector.training_summary_
    after = summarise(detector.encoder_, table, detector.by)
    differences = compare(before, after, detector.encoder_.describe)
    if not differences:
        return "No column differs from the training data beyond chance."
    more = f"; and {len(differences) - N_EXAMPLES:,} more" * (
        len(differences) > N_EXAMPLES
    )
    named = "; ".join(differences[:N_EXAMPLES])
    return f"The table differs from the training data (in brackets): {named}{more}."


def find_results(model, table, reporter, *, columns, scores=None, top=None, n_reasons):
    """Score the rows, unless their scores are known."""
    with reporter.step("Scoring rows") if scores is None else nullcontext():
        return Results(
            *(model, table),
            ids=columns.ids,
            kept=columns.kept,
            scores=scores,
            top=top,
            n_reasons=n_reasons,
        )


def write_results(results, target, draft, reporter):
    """Write losses, labels and reasons."""
    path = target.path
    progress = reporter.progress("Finding reasons", len(results.rows))
    with progress as advance, writing(path):
        results.write(
            draft,
            as_parquet=path is not None and path.suffix.lower() == ".parquet",
            advance=advance,
        )


def verdict(results, *, is_training):
    """Return a sentence on the number of outliers, and what it rests on."""
    detector, n_rows = results.detector, len(results.losses)
    n_outliers = int(results.is_outlier.sum())
    verb = "is an outlier" if n_outliers == 1 else "are outliers"
    share = f"{n_outliers:,} of {n_rows:,} rows ({n_outliers / n_rows:.1%}) {verb}"
    scores = detector.training_scores_
    if not is_training:
        before = np.mean(scores < detector.offset_)
        return f"{share} by the threshold of the training data ({before:.1%} of them)."
    if detector.contamination == 0:
        return f"{share}, beyond what about 1% of new rows like these exceed."
    if detector.contamination != "auto":
        return f"{share}, as set by --contamination."
    if len(getattr(detector, "label_rows_", ())):
        return f"{share}, judged with the labels."
    if not n_outliers:
        return f"{share}: no loss is far from the others."
    if stands_apart(scores, detector.offset_):
        return f"{share}: the gap to the others is over {APART:g} times the usual."
    n_extreme = min(_n_extreme(results.losses), n_outliers)
    rest = n_outliers - n_extreme
    far = f"more than {CERTAIN:g} interquartile ranges above the median loss"
    if not rest:
        return f"{share}, {far}."
    some, others = "", "it" if n_outliers == 1 else "them"
    if n_extreme:
        some, others = f", {n_extreme:,} of them {far}", f"the other {rest:,}"
    return (
        f"{share}{some}; no gap sets {others} apart, so their number is a convention."
    )


def _n_extreme(losses):
    """Count the losses that are outliers whatever the others are."""
    lower, median, upper = np.quantile(losses / 4, [0.25, 0.5, 0.75])
    return int((losses / 4 > median + CERTAIN * (upper - lower)).sum())


# The report -----------------------------------------------------------------------


def import_report():
    """Return ``skim.report.write_report``, or raise if jinja2 is missing."""
    import jinja2  # noqa: F401

    from skim.report import write_report

    return write_report


def make_report(model, results, draft, reporter, *, source, path=None):
    """Write the HTML report."""
    numbers, *names = results.names(range(len(results.table))).values()
    ids = [" / ".join(row) for row in zip(*names, strict=True)] or numbers
    if len(set(ids)) < len(ids):
        ids = [f"{name} (row {row})" for name, row in zip(ids, numbers, strict=True)]
    name = "standard input" if source == "-" else Path(source).name
    with reporter.step("Writing the report"), writing(path or draft):
        import_report()(model, results.table, draft, source=name, ids=ids)
