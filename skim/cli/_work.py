"""The steps of the commands."""

from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

from joblib import effective_n_jobs
from sklearn.pipeline import Pipeline

import skim
from skim.cli._files import whole_file
from skim.cli._results import Results, id_columns
from skim.tables import TableEncoder, read_table

DETECTORS = {
    "altbi": "ALTBIDetector",
    "odim": "ODIMDetector",
    "im-autoencoder": "IMAutoencoderDetector",
}

MANY = 0.1  # a larger share of outliers is worth a hint
HINT = (
    "The scores show no clear gap; --contamination sets the share of outliers, "
    "--top lists the most unusual rows."
)


def new_model(detector, *, contamination, seed, **columns):
    """Return an unfitted pipeline of encoder and detector."""
    cls = getattr(skim, DETECTORS[detector])
    encoder = TableEncoder(**columns)
    detector = cls(contamination=contamination, random_state=seed)
    return Pipeline([("encoder", encoder), ("detector", detector)])


def fit(model, table, talk):
    """Fit the pipeline, and show the columns' treatment before the long part."""
    encoder, detector = model
    with talk.step("Encoding columns"):
        encoder.fit(table)
    talk.decisions(encoder.decisions_)
    features = encoder.transform(table)
    with talk.step(f"Fitting {type(detector).__name__}"):
        detector.fit(features)


def read(source, talk, *, encoding, delimiter):
    """Read a table and report its size."""
    with talk.step(f"Reading {source}"):
        table = read_table(source, encoding=encoding, delimiter=delimiter)
    talk.say(f"{len(table):,} rows, {table.shape[1]:,} columns")
    return table


class Drafts(NamedTuple):
    """Drafts of a command's output files."""

    output: Path
    save: Path | None
    report: Path | None


@contextmanager
def drafts_of(*, output, save=None, report=None):
    """Check that files can be written, and put them in place on success."""
    with ExitStack() as stack:
        # Files appear in reverse order, standard output last.
        yield Drafts(
            stack.enter_context(whole_file(output)),
            save and stack.enter_context(whole_file(save)),
            report and stack.enter_context(whole_file(report)),
        )


def write_results(model, table, draft, talk, *, scores, output, top, n_reasons, jobs):
    """Write scores, labels and reasons, and report the number of outliers."""
    with talk.step("Scoring rows") if scores is None else nullcontext():
        results = Results(
            model,
            table,
            scores=scores,
            top=top,
            n_reasons=n_reasons,
            n_jobs=effective_n_jobs(jobs),
        )
    with talk.progress("Finding reasons", len(results.rows)) as advance:
        results.write(
            draft,
            as_parquet=output is not None and output.suffix.lower() == ".parquet",
            advance=advance,
        )
    n_outliers = int((results.scores > 0).sum())
    talk.say(f"{n_outliers:,} of {len(table):,} rows are outliers")
    if model[-1].contamination == "auto" and scores is not None:
        share = n_outliers / len(table)
        if share == 0 or share > MANY:
            talk.say(HINT)


def import_report():
    """Return ``skim.report.write_report``, or raise if jinja2 is missing."""
    import jinja2  # noqa: F401

    from skim.report import write_report

    return write_report


def make_report(model, table, draft, talk, *, source):
    """Write the HTML report."""
    names = id_columns(model[0])
    ids = [str(i + 1) for i in range(len(table))]  # as in the results
    if names:
        rows = table[names].astype(str).to_numpy()
        ids = [" / ".join(map(str, row)) for row in rows]
    name = "standard input" if source == "-" else Path(source).name
    with talk.step("Writing the report"):
        import_report()(model, table, draft, source=name, ids=ids)


def check_columns(table, encoder, source):
    """Return the table with the model's columns in the model's order.

    Columns that were dropped on request may be missing.
    """
    wanted = [str(name) for name in encoder.feature_names_in_]
    required = set(wanted).difference(map(str, encoder.drop))
    missing = [name for name in wanted if name not in table and name in required]
    extra = list(table.columns.difference(wanted, sort=False))
    faults = []
    if missing:
        faults.append(f"is missing {_columns(missing)} of the training data")
    if extra:
        faults.append(f"has {_columns(extra)} that the training data did not have")
    if faults:
        raise ValueError(f"{source} {' and '.join(faults)}.")
    return table.reindex(columns=wanted)


def _columns(names):
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    quoted = ", ".join(f"'{name}'" for name in names[:5])
    return f"column{'s' * (len(names) > 1)} {quoted}{more}"
