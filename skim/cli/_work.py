"""The steps of the commands."""

import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

import skim
from skim._model._threshold import APART, CERTAIN, stands_apart
from skim.cli._files import naming, whole_file
from skim.cli._reporter import counted
from skim.cli._results import as_text
from skim.tables import read_table
from skim.tables._drift import compare, summarise
from skim.tables._duplicates import find_duplicates

N_EXAMPLES = 3  # of values, rows and differences
N_LISTED = 10  # entries on a terminal


def new_model(*, contamination, seed, jobs=None, has_labels=False, **columns):
    """Return an unfitted detector for tables."""
    table = skim.TableDetector(random_state=seed, n_jobs=jobs, **columns)
    if has_labels:
        return skim.IMBoostDetector(
            table, contamination=contamination, random_state=seed
        )
    return table.set_params(contamination=contamination)


def table_detector(model):
    """Return the fitted table detector of a model, which may have learned labels."""
    return model.detector_ if isinstance(model, skim.IMBoostDetector) else model


def fit(model, table, reporter):
    """Fit the model, and show the columns' treatment."""
    with reporter.step(f"Fitting {type(model).__name__}"), reporter.warnings():
        model.fit(table)
    reporter.decisions(table_detector(model).encoder_.decisions_)


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


# Output ---------------------------------------------------------------------------


class Outputs:
    """Where the results go: files, standard output and a list on the terminal."""

    def __init__(self, output, reporter, *, save=None, report=None, top=None):
        is_terminal = sys.stdout.isatty()
        self.path = None if output in (None, "-") else Path(output)
        self.save = save
        self.report = report
        self.reporter = reporter
        self.is_file = output is not None or not is_terminal
        is_silent = output == "-" or (output and reporter.console.quiet)
        self.n_listed = (top or N_LISTED) if is_terminal and not is_silent else 0

    @contextmanager
    def opened(self):
        """Check that files can be written, and put them in place on success."""
        if self.save:
            from skim.cli._model_file import import_skops

            import_skops()
        if self.report:
            import_report()
        with ExitStack() as stack:
            # Files appear in reverse order, standard output last.
            if self.is_file:
                self._draft = stack.enter_context(whole_file(self.path))
            if self.save:
                self._save_draft = stack.enter_context(whole_file(self.save))
            if self.report:
                self._report_draft = stack.enter_context(whole_file(self.report))
            yield

    def write(self, results):
        """Write losses, labels and reasons."""
        if self.is_file:
            as_parquet = str(self.path).lower().endswith(".parquet")
            with self.reporter.step("Finding reasons"), naming(self.path):
                results.write(self._draft, as_parquet=as_parquet)

    def write_others(self, results, *, ids=(), source):
        """Write the model and the report, if they are wanted."""
        if self.save:
            from skim.cli._model_file import save_model

            with naming(self.save):
                save_model(results.detector, self._save_draft, ids=ids)
        if self.report:
            with naming(self.report):
                make_report(results, self._report_draft, self.reporter, source)

    def end(self, results):
        """List the strangest rows, and say what was written."""
        if self.n_listed:
            from skim.cli._screen import print_rows

            has_groups = print_rows(results, results.explained, self.n_listed)
            if has_groups and self.path is None:
                self.reporter.say(
                    "Rows with the same cause are one entry; --output has them all."
                )
        for path in (self.path, self.save, self.report):
            if path is not None:
                self.reporter.say(f"Wrote {path}")


def import_report():
    """Return ``skim.report.write_report``, or raise if a package is missing."""
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "A report needs jinja2 and matplotlib: pip install 'skim-od[report]'"
        ) from error
    from skim.report import write_report

    return write_report


def make_report(results, draft, reporter, source):
    """Write the HTML report."""
    _, *names = results.names(range(len(results.table))).values()
    ids = [" / ".join(row) for row in zip(*names, strict=True)] or None
    name = "standard input" if source == "-" else Path(source).name
    with reporter.step("Writing the report"):
        import_report()(
            *(results.detector, results.table, draft),
            source=name,
            ids=ids,
            row_numbers=results.numbers,
            scores=-results.losses,
        )


# Columns --------------------------------------------------------------------------


def check_ids(table, ids):
    """Raise if --id names columns that the table does not have."""
    for name in ids:
        if name not in table:
            known = ", ".join(map(str, table.columns[:10]))
            more = ", ..." * (table.shape[1] > 10)
            raise ValueError(
                f"--id names an unknown column {name!r}; the columns are {known}{more}."
            )


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


def note_unseen_values(table, model, reporter):
    """Say which values and groups the training data did not have, by column."""
    detector = table_detector(model)
    encoder = detector.encoder_
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
