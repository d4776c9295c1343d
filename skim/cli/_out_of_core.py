"""Detecting and scoring part by part, without ever having the table in memory."""

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
from skim.cli._workers import Call, workers_of
from skim.distributed._parts import count_rows, find_parts, read_header, read_part
from skim.distributed._sample import checked, concatenate, draw, merge, with_rare_values

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


def detect(request, reporter, *, new_model, sample_size, save):
    """Fit a model to a sample of the parts and write the results of all of them.

    `new_model` is the keyword arguments of `_work.new_model`.
    """
    parts = _find_parts(request)
    header = read_header(parts[0])
    _work.check_named(header, id=request.ids, keep=request.keep)
    options = {"new_model": new_model, "sample": sample_size}
    folder = OutputFolder(
        request.folder, _fingerprints(request, parts, "detect", options)
    )
    sampling = {
        "columns": list(header.columns),
        "other": parts[0].name,
        "seed": new_model["seed"],
        "n_rows": sample_size,
    }
    with (
        _outputs(request, folder, reporter, save) as drafts,
        workers_of(request.scheduler, request.jobs) as workers,
    ):
        sample = None
        if not (folder.is_begun and folder.model.exists()):
            sample, counts = _sample(parts, workers, reporter, **sampling)
            if sample.n_seen < 2:
                raise ValueError(f"{request.source} has fewer than two rows.")
            model = _work.new_model(**new_model, ids=sorted(sample.counters))
            _work.fit(model, sample.rows, reporter)
            folder.note(rows=counts, n_trained=len(sample.rows))
            with replacing(folder.model) as draft:
                save_model(model, draft, ids=request.ids)
        model, _, _ = load_model(folder.model)
        _write_parts(model, parts, folder, workers, reporter, request)
        if save:
            save_model(model, drafts.save, ids=request.ids)
        n_trained = folder.summary["n_trained"]
        by = "."
        if n_trained < sum(folder.summary["rows"]):
            by = f", by the threshold of a sample of {n_trained:,} rows."
        _finish(model, parts, folder, workers, reporter, request, by, drafts, sample)


def score(request, reporter, *, model_file):
    """Write the results of a saved model on all parts."""
    model, saved_ids, warning = load_model(model_file)
    if warning:
        reporter.note(warning)
    parts = _find_parts(request)
    header = read_header(parts[0])
    _work.check_named(header, id=request.ids, keep=request.keep)
    ids = request.ids or [name for name in saved_ids if name in header]
    request = request._replace(ids=ids)
    used = hashlib.sha256(Path(model_file).read_bytes()).hexdigest()
    folder = OutputFolder(
        request.folder, _fingerprints(request, parts, "score", {}) | {"model": used}
    )
    with (
        _outputs(request, folder, reporter) as drafts,
        workers_of(request.scheduler, request.jobs) as workers,
    ):
        if "rows" not in folder.summary:
            with reporter.progress("Counting rows", len(parts)) as advance:
                counts = [0] * len(parts)
                calls = ((_count, i, part) for i, part in enumerate(parts))
                for i, n_rows in workers.results(calls):
                    counts[i] = n_rows
                    advance(1)
            if not sum(counts):
                raise ValueError(f"{request.source} has no rows.")
            folder.note(rows=counts)
        _write_parts(model, parts, folder, workers, reporter, request)
        by = ", by the threshold of the training data."
        _finish(model, parts, folder, workers, reporter, request, by, drafts)


# Preparation ----------------------------------------------------------------------


def _find_parts(request):
    parts = find_parts(request.source, text=request.text)
    inside = request.folder.resolve()
    for part in parts:
        if Path(part.path).parent.resolve() == inside:
            raise typer.BadParameter(
                f"{request.folder} has parts to read; choose another folder."
            )
    return parts


def _fingerprints(request, parts, command, options):
    """Return what the results depend on."""
    data = [[part.path, part.version, part.span] for part in parts]
    options = options | {
        name: getattr(request, name) for name in ("text", "ids", "keep", "n_reasons")
    }
    return {
        "command": command,
        "input": _fingerprint(data),
        "options": _fingerprint(options),
    }


def _fingerprint(value):
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def _outputs(request, folder, reporter, save=None):
    """Begin the folder, and yield the drafts of other files; tell what stays."""
    if request.report:
        _work.import_report()
    if folder.is_begun:
        reporter.say(f"Continuing the run in {request.folder}")
    nowhere = _work.Target(None, is_file=False, is_shown=False)
    with _work.output_files(nowhere, save=save, report=request.report) as drafts:
        folder.begin()
        try:
            yield drafts
        except KeyboardInterrupt:
            reporter.say("Interrupted; run the same command again to continue.")
            raise typer.Exit(130) from None
    for path in (request.folder, save, request.report):
        if path is not None:
            reporter.say(f"Wrote {path}")


# Work on all parts ----------------------------------------------------------------


def _count(number, part):
    return number, count_rows(part)


def _draw(part, number, below, columns, other, **how):
    table = checked(read_part(part), part.name, columns, other, allow_infinite=True)
    return number, draw(table, part.name, number, below=below, **how)


def _sample(parts, workers, reporter, **how):
    """Return a sample of the rows, and the number of rows in each part."""
    n_rows, counts = how["n_rows"], [0] * len(parts)
    empty = read_header(parts[0])
    sample = draw(empty, parts[0].name, 0, seed=how["seed"], n_rows=n_rows)

    def calls():
        for number, part in enumerate(parts):
            below = None
            if len(sample.keys) == n_rows:
                below = int(sample.keys.max())
            yield Call(_draw, how), part, number, below

    with reporter.progress("Sampling rows", len(parts)) as advance:
        for number, drawn in workers.results(calls()):
            counts[number] = drawn.n_seen
            sample = merge([sample, drawn], n_rows)
            advance(1)
    sample = with_rare_values(sample)
    n_columns = sample.rows.shape[1]
    reporter.say(f"{sample.n_seen:,} rows, {n_columns} columns, {len(parts):,} parts")
    return sample, counts


def _write_parts(model, parts, folder, workers, reporter, request):
    """Write the results of the parts that are still missing."""
    counts = folder.summary["rows"]
    first_rows = np.cumsum([0, *counts])
    todo = [i for i, n in enumerate(counts) if n and not folder.part(i).exists()]
    n_parts = len(counts) - counts.count(0)
    if folder.is_begun and len(todo) < n_parts:
        reporter.say(f"{n_parts - len(todo):,} of {n_parts:,} parts are there already")
    if not todo:
        return
    shared = workers.share(model)
    how = {"ids": request.ids, "keep": request.keep, "n_reasons": request.n_reasons}
    calls = (
        (
            Call(_part_results, how),
            *(parts[i], i, int(first_rows[i]), shared),
        )
        for i in todo
    )
    with reporter.progress("Scoring parts", len(todo)) as advance:
        for number, data in workers.results(calls):
            folder.write(number, data)
            advance(1)


def _part_results(part, number, first_row, model, *, ids, keep, n_reasons):
    """Return the number of a part, and its results as the bytes of a Parquet file."""
    read = read_part(part)
    numbers = first_row + 1 + np.arange(len(read))
    try:
        results = _results(
            model,
            read,
            part.name,
            numbers,
            ids=ids,
            keep=keep,
            n_reasons=n_reasons,
        )
        sink = io.BytesIO()
        results.write(sink, as_parquet=True, advance=lambda n: None)
    except ValueError as error:
        if part.name in str(error):
            raise
        raise ValueError(f"{part.name}: {error}") from error
    return number, sink.getvalue()


def _results(model, read, name, numbers, *, ids, keep, n_reasons):
    encoder = _work.encoder_of(model)
    table = _work.check_columns(read, encoder, name)
    columns = _work.row_columns(read, encoder, ids=ids, keep=keep)
    return Results(
        model,
        table,
        ids=columns.ids,
        kept=columns.kept,
        scores=None,
        top=None,
        n_reasons=n_reasons,
        numbers=numbers,
    )


# The end --------------------------------------------------------------------------


def _finish(model, parts, folder, workers, reporter, request, by, drafts, sample=None):
    """Sum up what is in the parts, list the strangest rows and write the report."""
    counts = folder.summary["rows"]
    with reporter.step("Collecting the strangest rows"):
        named = read_header(parts[0])
        encoder = _work.encoder_of(model)
        named = _work.row_columns(named, encoder, ids=request.ids, keep=request.keep)
        taken = {*named.ids, *named.kept}
        n_kept = max(N_STRANGEST, request.n_listed)
        n_outliers, chosen = _collect(folder, counts, taken, n_kept)
        table, numbers = _strangest_rows(parts, counts, chosen)
    how = {"ids": request.ids, "keep": request.keep, "n_reasons": request.n_reasons}
    top = _results(model, table, request.source, numbers, **how)
    reasons = top.explain(np.arange(len(table)))
    names = top.names(range(len(table)))
    folder.note(
        is_complete=True,
        n_rows=sum(counts),
        n_outliers=sum(n_outliers),
        threshold=-float(model.offset_),
        parts=[
            {
                "file": folder.part(i).name if n_rows else None,
                "source": part.name,
                "n_rows": n_rows,
                "n_outliers": n_outliers[i],
            }
            for i, (part, n_rows) in enumerate(zip(parts, counts, strict=True))
        ],
        strangest=[
            {name: texts[i] for name, texts in names.items()}
            | {next(iter(names)): int(numbers[i])}
            | {"loss": float(top.losses[i]), "reasons": str(reasons[i])}
            for i in range(min(len(table), N_STRANGEST))
        ],
    )
    n_rows, n_flagged = sum(counts), sum(n_outliers)
    verb = "is an outlier" if n_flagged == 1 else "are outliers"
    share = f"{n_flagged / n_rows:.2%}" if n_rows else "0%"
    reporter.say(f"{n_flagged:,} of {n_rows:,} rows ({share}) {verb}{by}")
    if request.n_listed and len(table):
        Listing(top, np.arange(min(request.n_listed, len(table)))).print()
    if request.report:
        if sample is None:
            header = read_header(parts[0])
            sampling = {"columns": list(header.columns), "other": parts[0].name}
            sampling |= {"seed": 0, "n_rows": SAMPLE}
            sample, _ = _sample(parts, workers, reporter, **sampling)
        _write_report(model, sample, table, numbers, counts, drafts, reporter, request)


def _collect(folder, counts, taken, n_kept):
    """Return the number of outliers in each part, and the strangest rows of all.

    The rows are an array of pairs of part and place in it, strangest first. `taken`
    are the names of other columns in the results.
    """
    from pyarrow import parquet

    loss, outlier = (
        f"skim_{name}" if name in taken else name for name in ("loss", "outlier")
    )
    n_outliers, losses, places = [], [np.empty(0)], [np.empty((0, 2), np.intp)]
    for i, n_rows in enumerate(counts):
        if not n_rows:
            n_outliers.append(0)
            continue
        table = parquet.read_table(folder.part(i), columns=[loss, outlier])
        own = table[loss].to_numpy()
        n_outliers.append(int(table[outlier].to_numpy().sum()))
        top = np.argsort(-own, kind="stable")[:n_kept]
        losses.append(own[top])
        places.append(np.c_[np.full(len(top), i), top])
    order = np.argsort(-np.concatenate(losses), kind="stable")[:n_kept]
    return n_outliers, np.concatenate(places)[order]


def _strangest_rows(parts, counts, chosen):
    """Read the chosen rows again; also return their numbers."""
    first_rows = np.cumsum([0, *counts])
    rows = {}
    for i in np.unique(chosen[:, 0]):
        table = read_part(parts[i])
        for place in chosen[chosen[:, 0] == i, 1]:
            rows[i, place] = table.iloc[[place]]
    if not rows:
        return read_header(parts[0]), np.empty(0, np.intp)
    found = concatenate([rows[i, place] for i, place in chosen.tolist()])
    return found, first_rows[chosen[:, 0]] + chosen[:, 1] + 1


def _write_report(model, sample, table, numbers, counts, drafts, reporter, request):
    """Write a report on the sample and the strangest rows of all."""
    first_rows = np.cumsum([0, *counts])
    sampled = first_rows[sample.parts] + sample.numbers + 1
    new = ~np.isin(numbers, sampled)
    both = concatenate([sample.rows, table[new]])
    how = {"ids": request.ids, "keep": request.keep, "n_reasons": request.n_reasons}
    every = np.r_[sampled, numbers[new]]
    results = _results(model, both, request.source, every, **how)
    source = Path(request.source).name
    if len(both) < sum(counts):
        source += f" (a sample of {len(sample.rows):,} of {sum(counts):,} rows, with "
        source += "the strangest of all)"
    _work.make_report(model, results, drafts.report, reporter, source=source)
