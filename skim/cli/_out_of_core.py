"""Detecting and scoring in batches, without ever having the table in memory."""

import hashlib
import io
import json
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import typer
from joblib import effective_n_jobs

import skim
from skim._utils import naming, replacing
from skim.cli import _work
from skim.cli._model_file import load_model, save_model
from skim.cli._results import Results, output_name
from skim.distributed._sample import draw, in_order, merge
from skim.report._summary import share_of_outliers
from skim.tables._read import BatchReader, typed_frame

SUMMARY, MODEL = "_summary.json", "_model.skops"  # readers of Parquet skip a "_"
SAMPLE = 200_000  # rows to train on
MIN_STRANGEST = 50  # rows to list


class Run:
    """A run of `skim detect` or `skim score` with a folder as output.

    `outputs` are the other files and the list, `reading` says how to read text files,
    and `scheduler` is the address of a cluster, or None for `jobs` threads.
    """

    def __init__(self, source, reading, ids, outputs, scheduler, jobs):
        self.source = source
        self.reading = reading
        self.reader = BatchReader(source, [], **reading)
        self.ids = ids
        self.folder = outputs.path
        self.outputs = outputs
        self.reporter = outputs.reporter
        self.scheduler = scheduler
        self.jobs = jobs

    def detect(self, model):
        """Fit a model to a sample of the rows and write the results of all of them."""
        with self._opened("detect", model.get_params(deep=False), SAMPLE) as workers:
            if not (self.folder / MODEL).exists():
                self._fit(model)
            self._write_all(load_model(self.folder / MODEL), workers)

    def score(self, model_file):
        """Write the results of a saved model on all rows."""
        model = load_model(model_file)
        digest = hashlib.sha256(Path(model_file).read_bytes()).hexdigest()
        with self._opened("score", digest) as workers:
            self._write_all(model, workers)

    # The folder -------------------------------------------------------------------

    @contextmanager
    def _opened(self, *options):
        """Begin or continue a run; yield the workers."""
        _work.check_ids(self.reader.header, self.ids)
        files = [[source.name, source.state()] for source in self.reader.sources]
        run = [skim.__version__, files, self.reading, self.ids, *options]
        text = json.dumps(run, sort_keys=True, default=str)
        fingerprint = hashlib.sha256(text.encode()).hexdigest()
        marker = self.folder / f"_run-{fingerprint[:16]}"
        is_new = not self.folder.exists() or not any(self.folder.iterdir())
        if not is_new and not marker.exists():
            raise ValueError(
                f"{self.folder} is not empty, and does not hold the results of the "
                "same command on the same input, which is known by its size and time; "
                "choose another folder, or delete it."
            )
        with workers_of(self.scheduler, self.jobs) as workers, self.outputs.opened():
            if is_new:
                with naming(self.folder):
                    self.folder.mkdir(exist_ok=True)
                    marker.touch()
            else:
                for draft in self.folder.glob(".[_p]*"):  # of a run that was killed
                    draft.unlink()
                n_parts = len(list(self.folder.glob("part-*.parquet")))
                self.reporter.say(f"Continuing in {self.folder} with {n_parts:,} parts")
            try:
                yield workers
            except KeyboardInterrupt:
                self.reporter.say(
                    "Interrupted; run the same command again to continue."
                )
                raise typer.Exit(130) from None
            for note in dict.fromkeys(self.reader.notes):
                self.reporter.note(note)

    # All rows ---------------------------------------------------------------------

    def _fit(self, model):
        """Fit a model to a sample of the rows, and save it."""
        held, n_rows = [], 0
        counters = list(self.reader.header)
        with self.reporter.step("Sampling rows") as show:
            for number, (_, batch) in enumerate(self.reader):
                held.append(draw(batch, number, model.random_state, SAMPLE))
                if sum(map(len, held)) > 2 * SAMPLE:
                    held = [merge(held, SAMPLE)]
                counters = [name for name in counters if _counts_up(batch[name])]
                n_rows += len(batch)
                show(n_rows)
        if n_rows < 2:
            raise ValueError(f"{self.source} has fewer than two rows.")
        rows = in_order(merge(held, SAMPLE))
        if self.reader.is_text:
            rows = typed_frame(rows, list(rows))
        self.reporter.say(f"{n_rows:,} rows, {rows.shape[1]} columns")
        model.set_params(ids=counters)
        _work.fit(model, rows, self.reporter, self.jobs)
        path = self.folder / MODEL
        with replacing(path) as draft, naming(path):
            save_model(model, draft)

    def _write_all(self, model, workers):
        """Write the missing parts, and list the strangest rows."""
        _work.use_threads(model, None)  # parts are scored at the same time
        named = _work.id_columns(self.reader.header, model, self.ids)
        loss, outlier = (output_name(name, named) for name in ("loss", "outlier"))
        n_kept = max(MIN_STRANGEST, self.outputs.top or 0)
        n_rows = n_outliers = 0
        losses, rows = [], []
        with self.reporter.step("Scoring rows") as show:
            for part, batch in self._parts(model, *workers):
                found = pd.read_parquet(part, columns=[loss, outlier])
                n_rows += len(found)
                n_outliers += int(found[outlier].sum())
                losses.append(found[loss].set_axis(batch.index).nlargest(n_kept))
                rows.append(batch.loc[losses[-1].index])
                show(n_rows)
        if not n_rows:
            raise ValueError(f"{self.source} has no rows.")
        threshold = -float(model.offset_)
        summary = {"n_rows": n_rows, "n_outliers": n_outliers, "threshold": threshold}
        path = self.folder / SUMMARY
        with replacing(path) as draft, naming(path):
            draft.write_bytes(f"{json.dumps(summary, indent=2)}\n".encode())
        by = f"by the threshold of {len(model.training_scores_):,} training rows"
        self.reporter.say(f"{share_of_outliers(n_outliers, n_rows)}, {by}.")
        strangest = pd.concat(rows).loc[pd.concat(losses).nlargest(n_kept).index]
        how = self.ids, self.reader.is_text, self.outputs.top
        results = _results(model, strangest, self.source, *how)
        self.outputs.write(results, self.source)

    def _parts(self, model, executor, n_ahead, share):
        """Yield the file of each part, which is there then, and the rows it is about.

        At most `n_ahead` parts are under way, which limits the memory of batches.
        """
        shared, n_rows = share(model), 0
        pending: deque = deque()
        for number, (name, batch) in enumerate(self.reader):
            part = self.folder / f"part-{number:05d}.parquet"
            batch.index += n_rows
            n_rows += len(batch)
            result = None
            if not part.exists():
                how = name, self.ids, self.reader.is_text
                result = executor.submit(_part, shared, batch, *how)
            pending.append((part, batch, result))
            if len(pending) == n_ahead:
                yield _written(*pending.popleft())
        while pending:
            yield _written(*pending.popleft())


@contextmanager
def workers_of(scheduler, jobs):
    """Yield an executor, how many parts it can have under way, and how to share.

    The executor has `jobs` threads, or the workers of the Dask scheduler at an address.
    """
    if scheduler is None:
        n_jobs = effective_n_jobs(jobs)
        executor = ThreadPoolExecutor(n_jobs)
        try:
            yield executor, n_jobs + 1, _same
        finally:
            executor.shutdown(cancel_futures=True)
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            "--scheduler needs Dask: pip install 'skim-od[dask]'"
        ) from error
    try:
        client = Client(scheduler, set_as_default=False)
        client.wait_for_workers(1, timeout=10)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"No Dask scheduler with workers answers at {scheduler}; check its "
            "address, such as tcp://10.0.0.1:8786, and that it is running."
        ) from error
    with client, client.get_executor() as executor:
        n_ahead = 2 * sum(client.ncores().values())
        # Sent to each worker once, and again to those that replace a lost one.
        yield executor, n_ahead, lambda model: client.submit(_same, model)


def _same(value):
    return value


def _written(part, batch, result):
    """Write the bytes of a part when they are there; return its file and its rows."""
    if result is not None:
        with replacing(part) as draft, naming(part):
            draft.write_bytes(result.result())
    return part, batch


def _part(model, batch, name, ids, is_text):
    """Return the results of a batch as the bytes of a Parquet file."""
    sink = io.BytesIO()
    _results(model, batch, name, ids, is_text).write(sink, as_parquet=True)
    return sink.getvalue()


def _results(model, batch, name, ids, is_text, top=None):
    table = _work.check_columns(batch, model, name)
    if is_text:
        decisions = _work.table_detector(model).encoder_.decisions_
        parsed = [d.column for d in decisions if d.treatment in ("number", "date")]
        table = typed_frame(table, parsed)
    named = _work.id_columns(batch, model, ids)
    return Results(model, table, named, top=top, numbers=batch.index.to_numpy() + 1)


def _counts_up(column):
    """Tell whether a column numbers the rows, which a sample of it does not show."""
    numbers = np.sort(pd.to_numeric(column, errors="coerce").to_numpy(float))
    return bool((np.diff(numbers) == 1).all())
