"""Detecting and scoring in batches, without ever having the table in memory."""

import hashlib
import io
import json
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import typer

from skim._utils import replacing
from skim.cli import _work
from skim.cli._model_file import load_model, save_model
from skim.cli._output_folder import OutputFolder
from skim.cli._results import Results
from skim.cli._screen import Listing
from skim.cli._workers import workers_of
from skim.distributed._sample import draw, merge, sampled_rows
from skim.tables._decide import MIN_COUNTING, counts_up
from skim.tables._read import BatchReader, typed_frame

N_STRANGEST = 50  # rows in the summary and the report
SAMPLE = 200_000  # rows in the report on a model that is not trained here


class Request(NamedTuple):
    """What to write about the rows.

    Attributes
    ----------
    source : str
    folder : Path
    text : dict
        How to read text files.
    ids, keep : list of str
        Columns that name rows, and others to write.
    n_reasons : int
    n_listed : int
        Number of rows to list on standard output.
    report : Path or None
    scheduler : str or None
        Address of a cluster; None means threads.
    jobs : int
        Number of threads.
    """

    source: str
    folder: Path
    text: dict
    ids: list
    keep: list
    n_reasons: int
    n_listed: int
    report: Path | None
    scheduler: str | None
    jobs: int


class Run:
    """What the steps of a command share.

    Attributes
    ----------
    request : Request
    reporter : Reporter
    reader : BatchReader
    folder : OutputFolder
    drafts : OutputFiles
        Of files beside the folder.
    """

    def __init__(self, request, reporter, command, options, saved_ids=()):
        self.reporter = reporter
        self.reader = BatchReader(request.source, [], **request.text)
        inside = request.folder.resolve()
        for source in self.reader.sources:
            if isinstance(source.data, Path) and source.data.resolve().parent == inside:
                raise typer.BadParameter(
                    f"{request.folder} has parts to read; choose another folder."
                )
        header = self.reader.header
        _work.check_named(header, id=request.ids, keep=request.keep)
        ids = request.ids or [name for name in saved_ids if name in header]
        self.request = request._replace(ids=ids)
        same = ("text", "ids", "keep", "n_reasons")
        options |= {name: getattr(self.request, name) for name in same}
        data = [[source.name, source.state()] for source in self.reader.sources]
        run = {"command": command, "input": _fingerprint(data)}
        self.folder = OutputFolder(
            request.folder, run | {"options": _fingerprint(options)}
        )

    @contextmanager
    def outputs(self, save=None):
        """Begin the folder and other files; yield the workers, and tell what stays."""
        request, reporter, folder = self.request, self.reporter, self.folder
        if request.report:
            _work.import_report()
        nowhere = _work.Target(None, is_file=False, is_shown=False)
        with (
            workers_of(request.scheduler, request.jobs) as workers,
            _work.output_files(nowhere, save=save, report=request.report) as drafts,
        ):
            self.drafts = drafts
            folder.begin()
            if folder.is_begun:
                n_parts = len(folder.parts)
                parts = "1 part is" if n_parts == 1 else f"{n_parts:,} parts are"
                reporter.say(f"Continuing the run in {folder.path}: {parts} there")
            try:
                yield workers
            except KeyboardInterrupt:
                reporter.say("Interrupted; run the same command again to continue.")
                raise typer.Exit(130) from None
        for note in dict.fromkeys(self.reader.notes):
            reporter.note(note)
        for path in (request.folder, save, request.report):
            if path is not None:
                reporter.say(f"Wrote {path}")

    @property
    def columns(self):
        """How `_part_results` treats columns, as keyword arguments."""
        request = self.request
        return {
            "ids": request.ids,
            "keep": request.keep,
            "n_reasons": request.n_reasons,
            "is_text": self.reader.is_text,
        }


def detect(request, reporter, *, new_model, sample_size, save):
    """Fit a model to a sample of the rows and write the results of all of them.

    `new_model` is the keyword arguments of `_work.new_model`.
    """
    options = {"new_model": new_model, "sample": sample_size}
    run = Run(request, reporter, "detect", options)
    folder, rows = run.folder, None
    with run.outputs(save) as workers:
        if not folder.model.exists():
            rows, n_seen, ids = _sample(run, new_model["seed"], sample_size)
            if n_seen < 2:
                raise ValueError(f"{request.source} has fewer than two rows.")
            model = _work.new_model(**new_model, ids=ids)
            _work.fit(model, rows.reset_index(drop=True), reporter)
            folder.note(n_trained=len(rows), n_rows=n_seen)
            with replacing(folder.model) as draft:
                save_model(model, draft, ids=request.ids)
        model, _, _ = load_model(folder.model)
        _write_parts(run, model, workers)
        if save:
            save_model(model, run.drafts.save, ids=request.ids)
        n_trained, by = folder.summary["n_trained"], "."
        if n_trained < folder.summary["n_rows"]:
            by = f", by the threshold of a sample of {n_trained:,} rows."
        _finish(run, model, by, rows)


def score(request, reporter, *, model_file):
    """Write the results of a saved model on all rows."""
    model, saved_ids, warning = load_model(model_file)
    if warning:
        reporter.note(warning)
    used = hashlib.sha256(Path(model_file).read_bytes()).hexdigest()
    run = Run(request, reporter, "score", {"model": used}, saved_ids)
    with run.outputs() as workers:
        _write_parts(run, model, workers)
        if not run.folder.parts:
            raise ValueError(f"{request.source} has no rows.")
        _finish(run, model, ", by the threshold of the training data.")


def _fingerprint(value):
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


# Work on all rows -----------------------------------------------------------------


def _sample(run, seed, n_rows):
    """Return sampled rows, the number of all rows, and the columns that count up."""
    held, below, n_batches = [], 1.0, 0
    counters = list(run.reader.header)
    with run.reporter.progress("Sampling rows", None) as advance:
        for _, batch in run.reader:
            held.append(draw(batch, n_batches, seed, n_rows, below))
            if sum(len(sample.keys) for sample in held) > 2 * n_rows:
                held = [merge(held, n_rows)]
                below = held[0].keys.max()
            counters = [name for name in counters if _counts_up(batch[name])]
            n_batches += 1
            advance(1)
    if not held:
        return run.reader.header, 0, []
    sample = merge(held, n_rows)
    rows = sampled_rows(sample)
    if run.reader.is_text:
        rows = typed_frame(rows, list(rows))
    run.reporter.say(f"{sample.n_seen:,} rows, {rows.shape[1]} columns")
    return rows, sample.n_seen, counters


def _counts_up(column):
    """Tell whether a column numbers the rows, which a sample of it does not show."""
    column = typed_frame(column.to_frame("n"), ["n"])["n"]
    is_integer = column.dtype.kind in "iu" and column.notna().all()
    return is_integer and (
        len(column) < MIN_COUNTING or counts_up(column.to_numpy(float))
    )


def _write_parts(run, model, workers):
    """Write the results of the batches that are still missing."""
    folder, shared, how = run.folder, workers.share(model), run.columns

    def calls():
        first_row = 0
        for number, (name, batch) in enumerate(run.reader):
            if number not in folder.parts:
                yield batch, name, number, first_row, shared, how
            first_row += len(batch)

    with run.reporter.progress("Scoring rows", None) as advance:
        for number, data, facts in workers.results(_part_results, calls()):
            folder.write(number, data, **facts)
            advance(1)


def _part_results(batch, name, number, first_row, model, how):
    """Return the results of a batch as the bytes of a Parquet file."""
    numbers = first_row + 1 + np.arange(len(batch))
    try:
        results = _results(model, batch, name, numbers, **how)
        sink = io.BytesIO()
        results.write(sink, as_parquet=True, advance=lambda n: None)
    except ValueError as error:
        if name in str(error):
            raise
        raise ValueError(f"{name}: {error}") from error
    n_outliers = int(results.is_outlier.sum())
    facts = {"source": name, "n_rows": len(batch), "n_outliers": n_outliers}
    return number, sink.getvalue(), facts


def _results(model, batch, name, numbers, *, ids, keep, n_reasons, is_text):
    encoder = _work.encoder_of(model)
    columns = _work.row_columns(batch, encoder, ids=ids, keep=keep)
    table = _work.check_columns(batch, encoder, name)
    if is_text:
        parsed = [d.column for d in encoder.decisions_ if d.treatment in PARSED]
        table = typed_frame(table, parsed)
    return Results(
        *(model, table),
        ids=columns.ids,
        kept=columns.kept,
        scores=None,
        top=None,
        n_reasons=n_reasons,
        numbers=numbers,
    )


PARSED = ("number", "date")


# The end --------------------------------------------------------------------------


def _finish(run, model, by, rows=None):
    """Sum up what is in the parts, list the strangest rows and write the report."""
    folder, reporter, request = run.folder, run.reporter, run.request
    parts = [folder.parts[number] for number in sorted(folder.parts)]
    with reporter.step("Collecting the strangest rows"):
        table, numbers = _strangest_rows(run, model, parts)
    top = _results(model, table, request.source, numbers, **run.columns)
    reasons = top.explain(np.arange(len(table)))
    names = top.names(range(len(table)))
    n_rows, n_outliers = (
        sum(part[key] for part in parts) for key in ("n_rows", "n_outliers")
    )
    folder.note(
        is_complete=True,
        n_rows=n_rows,
        n_outliers=n_outliers,
        threshold=-float(model.offset_),
        parts=parts,
        strangest=[
            {name: texts[i] for name, texts in names.items()}
            | {next(iter(names)): int(numbers[i])}
            | {"loss": float(top.losses[i]), "reasons": str(reasons[i])}
            for i in range(min(len(table), N_STRANGEST))
        ],
    )
    verb = "is an outlier" if n_outliers == 1 else "are outliers"
    reporter.say(
        f"{n_outliers:,} of {n_rows:,} rows ({n_outliers / n_rows:.2%}) {verb}{by}"
    )
    if request.n_listed:
        Listing(top, np.arange(min(request.n_listed, len(table)))).print()
    if request.report:
        if rows is None:
            rows, _, _ = _sample(run, 0, SAMPLE)
        _write_report(run, model, rows, table, numbers, parts)


def _strangest_rows(run, model, parts):
    """Return the strangest rows of all, strangest first, and their numbers."""
    import pandas as pd
    from pyarrow import parquet

    request = run.request
    named = _work.row_columns(
        run.reader.header, _work.encoder_of(model), ids=request.ids, keep=request.keep
    )
    loss = "skim_loss" if "loss" in {*named.ids, *named.kept} else "loss"
    n_kept, first_row, chosen = max(N_STRANGEST, request.n_listed), 0, []
    for part in parts:
        path = run.folder.part(part["number"])
        losses = parquet.read_table(path, columns=[loss])[loss].to_pandas()
        chosen.append(losses.set_axis(losses.index + first_row).nlargest(n_kept))
        first_row += len(losses)
    numbers = pd.concat(chosen).nlargest(n_kept).index.to_numpy()
    first_row, found = 0, []
    for _, batch in run.reader:
        batch = batch.set_axis(np.arange(len(batch)) + first_row, axis=0)
        found.append(batch[batch.index.isin(numbers)])
        first_row += len(batch)
    table = pd.concat([few for few in found if len(few)]).loc[numbers]
    return table.reset_index(drop=True), numbers + 1


def _write_report(run, model, rows, table, numbers, parts):
    """Write a report on the sample and the strangest rows of all."""
    import pandas as pd

    first_rows = np.cumsum([0, *(part["n_rows"] for part in parts)])
    batch, place = (rows.index.get_level_values(level) for level in (0, 1))
    sampled = first_rows[batch] + place + 1
    new = ~np.isin(numbers, sampled)
    if run.reader.is_text:
        table = typed_frame(table, list(table))
    both = pd.concat([rows.reset_index(drop=True), table[new]], ignore_index=True)
    every = np.r_[sampled, numbers[new]]
    results = _results(model, both, run.request.source, every, **run.columns)
    source = Path(run.request.source).name
    if len(both) < first_rows[-1]:
        source += f" (a sample of {len(rows):,} of {first_rows[-1]:,} rows, with the "
        source += "strangest of all)"
    _work.make_report(model, results, run.drafts.report, run.reporter, source=source)
