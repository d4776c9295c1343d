"""An output folder: detecting and scoring part by part."""

import json
import shutil

import dask
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from distributed import LocalCluster
from typer.testing import CliRunner

from skim.cli import _out_of_core, _workers
from skim.cli._app import app

N = 240
QUICK = ["--detector", "im-autoencoder"]
STRANGE, EXPENSIVE = 200, 30


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def succeed(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stderr


def assert_refused(result, *words, code=1):
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("skim: ")
    assert len(result.stderr.strip().splitlines()) == 1
    for word in words:
        assert word in result.stderr


@pytest.fixture(scope="module")
def orders():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "number": np.arange(N) + 1000,
            "price": rng.normal(50, 5, N).round(2),
            "weight": rng.normal(3, 0.2, N).round(3),
            "country": rng.choice(["DE", "FR"], N),
        }
    )
    table.loc[STRANGE, "country"] = "XX"
    table.loc[EXPENSIVE, "price"] = 900.0
    return table


def write_parts(table, folder, extension="parquet"):
    folder.mkdir()
    for i in range(4):
        part = table[i * 60 : (i + 1) * 60]
        path = folder / f"{i}.{extension}"
        if extension == "parquet":
            part.to_parquet(path, index=False)
        else:
            part.to_csv(path, index=False)
    return folder


@pytest.fixture(scope="module")
def finished(orders, tmp_path_factory):
    """A folder with parts, their results, and the model."""
    folder = tmp_path_factory.mktemp("out")
    parts = write_parts(orders, folder / "orders")
    orders[:0].to_parquet(parts / "1-none.parquet", index=False)
    log = succeed(
        *("detect", f"{parts}/*.parquet", "--output", f"{folder}/found/", *QUICK),
        *("--save", folder / "model.skops", "--report", folder / "report.html"),
    )
    (folder / "log.txt").write_text(log)
    return folder


@pytest.fixture
def again(finished, tmp_path):
    """Repeats the command for a copy of the results."""
    shutil.copytree(finished / "found", tmp_path / "found")

    def again(*options):
        source = f"{finished}/orders/*.parquet"
        return run("detect", source, "-o", tmp_path / "found", *QUICK, *options)

    return again


def test_the_parts_are_what_the_whole_table_gives(finished, orders, tmp_path):
    succeed("detect", finished / "orders", "-o", tmp_path / "whole.parquet", *QUICK)
    whole = pd.read_parquet(tmp_path / "whole.parquet")
    found = pd.read_parquet(finished / "found")
    assert list(found) == ["row", "number", *list(found)[2:]]
    pd.testing.assert_frame_equal(
        found.drop(columns="reasons"), whole.drop(columns="reasons")
    )
    assert found["reasons"][STRANGE] == whole["reasons"][STRANGE]
    assert found["reasons"][STRANGE].startswith("country XX (expected ")


def test_a_summary_is_written_beside_the_parts(finished):
    names = sorted(path.name for path in (finished / "found").iterdir())
    parts = [0, 2, 3, 4]  # the part without rows has no results
    assert names == [
        "_model.skops",
        "_summary.json",
        *(f"part-{i:05d}.parquet" for i in parts),
    ]
    found = pd.read_parquet(finished / "found")
    summary = json.loads((finished / "found" / "_summary.json").read_text())
    assert summary["is_complete"]
    assert summary["n_rows"] == N
    assert summary["n_outliers"] == found["outlier"].sum()
    assert [part["n_rows"] for part in summary["parts"]] == [60, 0, 60, 60, 60]
    strangest = [row["row"] - 1 for row in summary["strangest"]]
    assert set(strangest[:2]) == {STRANGE, EXPENSIVE}
    assert len(strangest) == 50
    log = (finished / "log.txt").read_text()
    assert "240 rows, 4 columns, 5 parts" in log
    assert f"{found['outlier'].sum()} of 240 rows" in log


def test_a_sample_trains_the_model_and_all_rows_are_scored(finished, orders, tmp_path):
    arguments = ["detect", finished / "orders", "-o", f"{tmp_path}/found/", *QUICK]
    report = tmp_path / "report.html"
    log = succeed(*arguments, "--sample", 100, "--jobs", 1, "--report", report)
    assert "by the threshold of a sample of 100 rows" in log
    found = pd.read_parquet(tmp_path / "found")
    assert len(found) == N
    strangest = found.nlargest(2, "loss")["row"] - 1
    assert set(strangest) == {STRANGE, EXPENSIVE}
    page = BeautifulSoup(report.read_text(encoding="utf-8"), "html.parser").text
    assert "a sample of 100 of 240 rows" in page
    assert str(STRANGE + 1000) in page
    succeed(*arguments[:3], f"{tmp_path}/again/", *QUICK, "--sample", 100)
    again = pd.read_parquet(tmp_path / "again")
    pd.testing.assert_frame_equal(found, again)


def test_text_files(orders, finished, tmp_path):
    parts = write_parts(orders, tmp_path / "csv", "csv")
    succeed("detect", f"{parts}/*.csv", "-o", f"{tmp_path}/found/", *QUICK)
    found, same = (
        pd.read_parquet(tmp_path / "found"),
        pd.read_parquet(finished / "found"),
    )
    pd.testing.assert_frame_equal(found, same)


def test_score(finished, orders, tmp_path):
    arguments = ["--model", finished / "model.skops", "--output", f"{tmp_path}/scored/"]
    arguments += ["--keep", "country", "--report", tmp_path / "report.html"]
    log = succeed("score", finished / "orders", *arguments)
    assert "by the threshold of the training data" in log
    scored = pd.read_parquet(tmp_path / "scored")
    found = pd.read_parquet(finished / "found")
    pd.testing.assert_frame_equal(scored.drop(columns="country"), found)
    assert (scored["country"] == orders["country"]).all()
    assert (tmp_path / "report.html").stat().st_size > 10_000
    for path in (tmp_path / "scored").glob("part-0000[34].parquet"):
        path.unlink()
    assert "2 of 4 parts are there" in succeed("score", finished / "orders", *arguments)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "scored"), scored)


def test_a_cluster_gives_the_same(finished, tmp_path):
    options = {"processes": False, "dashboard_address": None, "n_workers": 2}
    with LocalCluster(threads_per_worker=1, **options) as cluster:
        succeed(
            *("detect", f"{finished}/orders/*.parquet", "-o", f"{tmp_path}/found/"),
            *("--scheduler", cluster.scheduler_address, *QUICK),
        )
    same = pd.read_parquet(finished / "found")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "found"), same)


# Continuing ----------------------------------------------------------------------


def test_a_killed_run_continues_with_the_missing_parts(finished, again, tmp_path):
    found = tmp_path / "found"
    for i in (2, 4):
        (found / f"part-{i:05d}.parquet").unlink()
    (found / ".part-00002.0123abcd.parquet").write_text("half-written")
    kept = (found / "part-00003.parquet").stat().st_mtime_ns
    result = again()
    assert result.exit_code == 0, result.output
    assert "Continuing the run" in result.stderr
    assert "2 of 4 parts are there already" in result.stderr
    assert "Fitting" not in result.stderr
    assert (found / "part-00003.parquet").stat().st_mtime_ns == kept
    pd.testing.assert_frame_equal(
        pd.read_parquet(found), pd.read_parquet(finished / "found")
    )
    assert sorted(p.name for p in found.iterdir()) == sorted(
        p.name for p in (finished / "found").iterdir()
    )


def test_a_run_that_ended_before_the_fit_begins_again(finished, again, tmp_path):
    found = tmp_path / "found"
    for path in [*found.glob("part-*"), found / "_model.skops"]:
        path.unlink()
    assert "Fitting" in again().stderr
    pd.testing.assert_frame_equal(
        pd.read_parquet(found), pd.read_parquet(finished / "found")
    )


def test_finished_parts_stay_when_a_run_is_interrupted(again, tmp_path, monkeypatch):
    found = tmp_path / "found"
    for path in found.glob("part-*"):
        path.unlink()
    real = _out_of_core._part_results

    def interrupted(part, number, *args, **kwargs):
        if number == 3:
            raise KeyboardInterrupt
        return real(part, number, *args, **kwargs)

    monkeypatch.setattr(_out_of_core, "_part_results", interrupted)
    result = again("--jobs", 1)
    assert result.exit_code == 130
    assert "Interrupted; run the same command again to continue" in result.stderr
    assert (found / "part-00000.parquet").exists()
    assert not (found / "part-00003.parquet").exists()
    monkeypatch.undo()
    assert again().exit_code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--seed", 1], "other options"),
        (["--sample", 50], "other options"),
        (["--drop", "weight"], "other options"),
    ],
)
def test_other_options_are_refused(again, options, words):
    assert_refused(again(*options), "results of another run", words)


def test_other_input_and_models_are_refused(finished, tmp_path):
    parts = shutil.copytree(finished / "orders", tmp_path / "orders")
    arguments = ["--output", f"{tmp_path}/found/", "--model", finished / "model.skops"]
    succeed("score", parts, *arguments)
    pd.read_parquet(parts / "3.parquet")[:9].to_parquet(parts / "3.parquet")
    assert_refused(run("score", parts, *arguments), "other input")
    (parts / "3.parquet").unlink()
    assert_refused(run("score", parts, *arguments), "other input")
    command = ["detect", parts, "--output", tmp_path / "found"]
    assert_refused(run(*command), "other command and input and options")


# Bad input -----------------------------------------------------------------------


def test_a_folder_with_something_else_is_refused(again, tmp_path):
    (tmp_path / "found" / "notes.txt").touch()
    assert_refused(again(), "something else in it (notes.txt)")
    (tmp_path / "found" / "notes.txt").unlink()
    (tmp_path / "found" / "_summary.json").write_text("{}")
    assert_refused(again(), "without a valid _summary.json")


def test_finished_parts_stay_when_a_part_is_bad(finished, orders, tmp_path):
    parts = write_parts(orders, tmp_path / "orders")
    (parts / "2.parquet").write_text("nothing of the kind")
    orders[180:].rename(columns={"price": "cost"}).to_parquet(parts / "3.parquet")
    model = ["--model", finished / "model.skops", "--output", f"{tmp_path}/found/"]
    result = run("score", parts, *model)
    assert_refused(
        run("score", parts, *model, "--quiet"), "2.parquet is not a valid Parquet file"
    )
    orders[120:180].to_parquet(parts / "2.parquet", index=False)
    shutil.rmtree(tmp_path / "found")
    result = run("score", parts, *model, "--jobs", 1, "--quiet")
    assert_refused(result, "3.parquet is missing column 'price'")
    assert (tmp_path / "found" / "part-00000.parquet").exists()
    assert not (tmp_path / "found" / "part-00003.parquet").exists()
    result = run("detect", parts, "-o", f"{tmp_path}/new/", *QUICK, "--quiet")
    assert_refused(result, "3.parquet has other columns", "lacks 'price'")


def test_types_must_be_the_same_and_infinity_is_strange(orders, tmp_path):
    parts = write_parts(orders, tmp_path / "orders")
    bad = orders[120:180].astype({"weight": str})
    bad.to_parquet(parts / "2.parquet", index=False)
    command = ["detect", parts, "-o", f"{tmp_path}/found/", *QUICK, "--quiet"]
    assert_refused(run(*command), "2.parquet has text in column 'weight'")
    shutil.rmtree(tmp_path / "found")
    bad = orders[120:180].copy()
    bad.loc[150, "weight"] = np.inf
    bad.to_parquet(parts / "2.parquet", index=False)
    succeed(*command)
    assert pd.read_parquet(tmp_path / "found")["outlier"][150] == 1


def test_a_scheduler_that_is_not_there(finished, tmp_path):
    command = ["detect", finished / "orders", "--scheduler", "tcp://127.0.0.1:9"]
    with dask.config.set({"distributed.comm.timeouts.connect": "0.5s"}):
        result = run(*command, "--output", f"{tmp_path}/found/", "--quiet")
    assert_refused(result, "No Dask scheduler answers at tcp://127.0.0.1:9")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--output", "found.csv", "--scheduler", "tcp://a:1"], "--scheduler needs a"),
        (["--output", "found/", "--scheduler", "a:1"], "must be an address"),
        (["--output", "found/", "--sheet", "1"], "CSV or Parquet files to read"),
        (["--output", "found"], "or in / for a folder"),
    ],
)
def test_wrong_usage(finished, tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    result = run("detect", finished / "orders", *options)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.replace("│", " ").split())
    assert list(tmp_path.iterdir()) == []


def test_the_output_is_no_input(finished):
    result = run("detect", finished / "orders", "-o", finished / "orders", *QUICK)
    assert result.exit_code == 2
    words = result.stderr.replace("│", " ").split()  # of a box, broken anywhere
    assert "has parts to read" in " ".join(words)


def test_no_more_parts_are_under_way_than_allowed():
    under_way, most = set(), 0

    def calls():
        nonlocal most
        for i in range(20):
            under_way.add(i)
            most = max(most, len(under_way))
            yield (abs, i)

    with _workers.workers_of(None, 2) as workers:
        for number in workers.results(calls()):
            under_way.discard(number)
    assert not under_way
    assert most <= workers.n_ahead + 1
