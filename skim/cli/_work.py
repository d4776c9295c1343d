"""What the commands do, once their options are known."""

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

MANY = 0.1  # a share of outliers that asks for a word
HINT = " --contamination sets their share, and --top shows the strangest."


def new_model(detector, *, contamination, seed, **columns):
    """Return an unfitted pipeline of encoder and detector."""
    cls = getattr(skim, DETECTORS[detector])
    encoder = TableEncoder(**columns)
    # Nobody looks at the stages here, and the file of the model stays small.
    settings = {"contamination": contamination, "store_stages": False}
    steps = [("encoder", encoder), ("detector", cls(**settings, random_state=seed))]
    return Pipeline(steps)


def fit(model, table, talk):
    """Fit the pipeline, and tell what becomes of the columns before the long part."""
    encoder, detector = model
    with talk.step("Encoding columns"):
        encoder.fit(table)
    talk.decisions(encoder.decisions_)
    features = encoder.transform(table)
    with talk.step(f"Fitting {type(detector).__name__}"):
        detector.fit(features)


def read(source, talk, *, encoding, delimiter):
    """Read a table and tell its size."""
    with talk.step(f"Reading {source}"):
        table = read_table(source, encoding=encoding, delimiter=delimiter)
    talk.say(f"{len(table):,} rows, {table.shape[1]:,} columns")
    return table


class Drafts(NamedTuple):
    """Where to write what will be in a command's files at its end."""

    output: Path
    save: Path | None
    report: Path | None


@contextmanager
def drafts_of(*, output, save=None, report=None):
    """Check that the files can be written, and put them in place if all goes well.

    Parameters
    ----------
    output : Path or None
        None means standard output.
    save, report : Path or None
        None means that there is no such file.
    """
    with ExitStack() as stack:
        # The last to be entered is the first to appear: standard output comes last.
        yield Drafts(
            stack.enter_context(whole_file(output)),
            save and stack.enter_context(whole_file(save)),
            report and stack.enter_context(whole_file(report)),
        )


def write_results(model, table, draft, talk, *, scores, output, top, n_reasons, jobs):
    """Write the scores, labels and reasons, and say how many outliers there are."""
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
        if share == 0:
            talk.say("No gap parts strange rows from usual ones." + HINT)
        elif share > MANY:
            talk.say("That is many; the scores have no clear gap." + HINT)


def import_report():
    """Return ``skim.report.write_report``, or say why it cannot be had."""
    try:
        from skim.report import write_report
    except ImportError as error:
        raise ImportError(f"The report cannot be made: {error}") from error
    return write_report


def make_report(model, table, draft, *, source):
    """Write the HTML report."""
    names = id_columns(model[0])
    ids = range(1, len(table) + 1)  # as in the results
    if names:
        first, *others = (table[name].astype(str) for name in names)
        ids = (first.str.cat(others, sep=" / ") if others else first).tolist()
    import_report()(model, table, draft, source=source, ids=ids)


def check_columns(table, encoder, source):
    """Return the table with the model's columns in the model's order.

    Columns that were left out on request may be absent.
    """
    wanted = [str(name) for name in encoder.feature_names_in_]
    spare = {
        d.column
        for d in encoder.decisions_
        if (d.treatment, d.reason) == ("dropped", "as asked")
    }
    missing = [name for name in wanted if name not in table and name not in spare]
    extra = list(table.columns.difference(wanted, sort=False))
    faults = []
    if missing:
        faults.append(f"lacks the model's {_columns(missing)}")
    if extra:
        faults.append(f"has {_columns(extra)} that the model does not know")
    if faults:
        raise ValueError(f"{source} {' and '.join(faults)}.")
    return table.reindex(columns=wanted)


def _columns(names):
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    quoted = ", ".join(f"'{name}'" for name in names[:5])
    return f"column{'s' * (len(names) > 1)} {quoted}{more}"


def source_name(source):
    """Return what to call the source in a report."""
    return "standard input" if source == "-" else Path(source).name
