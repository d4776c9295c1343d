"""Detecting and scoring in batches, without ever having the table in memory."""

import hashlib
import io
import json
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import typer

from skim._utils import naming, replacing
from skim.cli import _work
from skim.cli._model_file import load_model, save_model
from skim.cli._output_folder import OutputFolder
from skim.cli._results import Results, output_name
from skim.cli._workers import results_of, workers_of
from skim.distributed._sample import draw, merge, sampled_rows
from skim.report._summary import counted
from skim.tables._decide import MIN_COUNTING, counts_up
from skim.tables._read import BatchReader, typed_frame

N_STRANGEST = 50  # rows in the summary and the report
SAMPLE = 200_000  # rows to train on, and in the report


class Run:
    """A run of `skim detect` or `skim score` with a folder as output.

    `outputs` are the other files and the list, `reading` says how to read text files,
    and `scheduler` is the address of a cluster, or None for `jobs` threads.
    """

    def __init__(self, source, reading, ids, n_reasons, outputs, scheduler, jobs):
        self.source = source
        self.reading = reading
        self.reader = BatchReader(source, [], **reading)
        self.ids = ids
        self.n_reasons = n_reasons
        self.outputs = outputs
        self.reporter = outputs.reporter
        self.scheduler = scheduler
        self.jobs = jobs

    def detect(self, model):
        """Fit a model to a sample of the rows and write the results of all of them."""
        rows = None
        options = {"model": model.get_params(deep=False), "sample": SAMPLE}
        with self._open("detect", options) as workers:
            if not self.folder.model.exists():
                rows = self._fit(model)
            model, _ = load_model(self.folder.model)
            self._write_parts(model, workers)
            n_trained, by = self.folder.summary["n_trained"], "."
            if n_trained < self.folder.summary["n_rows"]:
                by = f", by the threshold of a sample of {n_trained:,} rows."
            self._finish(model, by, rows)

    def score(self, model_file):
        """Write the results of a saved model on all rows."""
        model, saved_ids = load_model(model_file)
        self.ids = self.ids or [n for n in saved_ids if n in self.reader.header]
        digest = hashlib.sha256(Path(model_file).read_bytes()).hexdigest()
        with self._open("score", {"model": digest}) as workers:
            self._write_parts(model, workers)
            if not self.folder.parts:
                raise ValueError(f"{self.source} has no rows.")
            self._finish(model, ", by the threshold of the training data.")

    @contextmanager
    def _open(self, command, options):
        """Begin the folder and other files; yield the workers, and tell what stays."""
        _work.check_ids(self.reader.header, self.ids)
        sources, path = self.reader.sources, self.outputs.path
        for source in sources:
            if source.folder == path.resolve():
                raise typer.BadParameter(
                    f"{path} has parts to read; choose another folder."
                )
        run = {
            "command": command,
            "input": _fingerprint([[one.name, one.state()] for one in sources]),
            "options": _fingerprint([options, self.reading, self.ids, self.n_reasons]),
        }
        self.folder = OutputFolder(path, run)
        with workers_of(self.scheduler, self.jobs) as workers, self.outputs.opened():
            self.folder.begin()
            if self.folder.is_begun:
                n_parts = len(self.folder.parts)
                parts = f"{counted(n_parts, 'part')} {'is' if n_parts == 1 else 'are'}"
                self.reporter.say(f"Continuing the run in {path}: {parts} there")
            try:
                yield workers
            except KeyboardInterrupt:
                self.reporter.say(
                    "Interrupted; run the same command again to continue."
                )
                raise typer.Exit(130) from None
            for note in dict.fromkeys(self.reader.notes):
                self.reporter.note(note)

    # Work on all rows --------------------------------------------------------------

    def _fit(self, model):
        """Fit a model to a sample of the rows, save it, and return the sample."""
        rows, n_rows, counters = self._sample(model.random_state)
        if n_rows < 2:
            raise ValueError(f"{self.source} has fewer than two rows.")
        model.set_params(ids=counters)
        _work.fit(model, rows.reset_index(drop=True), self.reporter, self.jobs)
        model.set_params(n_jobs=None)  # parts are scored at the same time
        self.folder.note(n_trained=len(rows), n_rows=n_rows)
        with replacing(self.folder.model) as draft, naming(self.folder.model):
            save_model(model, draft, ids=self.ids)
        return rows

    def _sample(self, seed):
        """Return sampled rows, the number of all rows, and columns that count up."""
        held, below = [], 1.0
        counters = list(self.reader.header)
        with self.reporter.step("Sampling rows") as advance:
            for number, (_, batch) in enumerate(self.reader):
                held.append(draw(batch, number, seed, SAMPLE, below))
                if sum(len(sample.keys) for sample in held) > 2 * SAMPLE:
                    held = [merge(held, SAMPLE)]
                    below = held[0].keys.max()
                counters = [name for name in counters if _counts_up(batch[name])]
                advance(len(batch))
        if not held:
            return self.reader.header, 0, []
        sample = merge(held, SAMPLE)
        rows = sampled_rows(sample)
        if self.reader.is_text:
            rows = typed_frame(rows, list(rows))
        self.reporter.say(f"{sample.n_seen:,} rows, {rows.shape[1]} columns")
        return rows, sample.n_seen, counters

    def _write_parts(self, model, workers):
        """Write the results of the batches that are still missing."""
        executor, n_ahead, share = workers
        shared = share(model)
        how = self.ids, self.n_reasons, self.reader.is_text

        def calls():
            first_row = 0
            for number, (name, batch) in enumerate(self.reader):
                if number not in self.folder.parts:
                    yield batch, name, number, first_row, shared, how
                first_row += len(batch)

        with self.reporter.step("Scoring rows") as advance:
            parts = results_of(executor, n_ahead, _part_results, calls())
            for number, data, facts in parts:
                self.folder.write(number, data, **facts)
                advance(facts["n_rows"])

    def _results(self, model, table, numbers):
        how = self.ids, self.n_reasons, self.reader.is_text
        return _results(model, table, self.source, numbers, *how)

    # The end -----------------------------------------------------------------------

    def _finish(self, model, by, rows=None):
        """Sum up what is in the parts, list the strangest rows and write files."""
        parts = [self.folder.parts[number] for number in sorted(self.folder.parts)]
        n_rows, n_outliers = (
            sum(part[key] for part in parts) for key in ("n_rows", "n_outliers")
        )
        with self.reporter.step("Collecting the strangest rows"):
            table, numbers = self._strangest_rows(model)
        top = self._results(model, table, numbers)
        reasons = top.explain(np.arange(len(table)))
        names = top.names(range(len(table)))
        self.folder.note(
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
        share = f"{n_outliers:,} of {n_rows:,} rows ({n_outliers / n_rows:.2%})"
        self.reporter.say(f"{share} {verb}{by}")
        self.outputs.write(top)
        about, source = top, self.source
        if self.outputs.report:
            if rows is None:
                rows, _, _ = self._sample(0)
            about = self._with_sample(model, table, numbers, rows, parts)
            if len(about.table) < n_rows:
                source = f"{Path(self.source).name} (a sample of {len(rows):,} of "
                source += f"{n_rows:,} rows, with the strangest of all)"
        self.outputs.write_others(about, ids=self.ids, source=source)

    def _strangest_rows(self, model):
        """Return the strangest rows of all, strangest first, and their numbers."""
        from pyarrow import parquet

        named = _work.id_columns(self.reader.header, model, self.ids)
        row, loss = (output_name(name, named) for name in ("row", "loss"))
        n_kept, rows, losses = max(N_STRANGEST, self.outputs.n_listed), [], []
        for number, (_, batch) in enumerate(self.reader):
            part = parquet.read_table(self.folder.part(number), columns=[row, loss])
            losses.append(part.to_pandas().nlargest(n_kept, loss))
            rows.append(batch.iloc[losses[-1].index])
        found = pd.concat(losses, ignore_index=True).nlargest(n_kept, loss)
        table = pd.concat(rows, ignore_index=True).loc[found.index]
        return table.reset_index(drop=True), found[row].to_numpy()

    def _with_sample(self, model, table, numbers, rows, parts):
        """Return the results of the sample and the strangest rows of all."""
        first_rows = np.cumsum([0, *(part["n_rows"] for part in parts)])
        batch, place = (rows.index.get_level_values(level) for level in (0, 1))
        sampled = first_rows[batch] + place + 1
        new = ~np.isin(numbers, sampled)
        if self.reader.is_text:
            table = typed_frame(table, list(table))
        both = pd.concat([rows, table[new]], ignore_index=True)
        return self._results(model, both, np.r_[sampled, numbers[new]])


def _fingerprint(value):
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _counts_up(column):
    """Tell whether a column numbers the rows, which a sample of it does not show."""
    column = typed_frame(column.to_frame("n"), ["n"])["n"]
    is_integer = column.dtype.kind in "iu" and column.notna().all()
    return is_integer and (
        len(column) < MIN_COUNTING or counts_up(column.to_numpy(float))
    )


def _part_results(batch, name, number, first_row, model, how):
    """Return the results of a batch as the bytes of a Parquet file."""
    numbers = first_row + 1 + np.arange(len(batch))
    try:
        results = _results(model, batch, name, numbers, *how)
        sink = io.BytesIO()
        results.write(sink, as_parquet=True)
    except ValueError as error:
        if name in str(error):
            raise
        raise ValueError(f"{name}: {error}") from error
    n_outliers = int(results.is_outlier.sum())
    facts = {"source": name, "n_rows": len(batch), "n_outliers": n_outliers}
    return number, sink.getvalue(), facts


def _results(model, batch, name, numbers, ids, n_reasons, is_text):
    table = _work.check_columns(batch, model, name)
    if is_text:
        decisions = _work.table_detector(model).encoder_.decisions_
        parsed = [d.column for d in decisions if d.treatment in ("number", "date")]
        table = typed_frame(table, parsed)
    named = _work.id_columns(batch, model, ids)
    return Results(model, table, named, n_reasons=n_reasons, numbers=numbers)
