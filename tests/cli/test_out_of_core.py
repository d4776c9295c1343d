"""An output folder: detecting and scoring in batches."""

import errno
import gzip
import json
import re
import shutil
from pathlib import Path

import dask
import numpy as np
import pandas as pd
import pytest
from distributed import LocalCluster

import skim
from skim.cli import _out_of_core, _work
from skim.tables import _read
from tests.cli.conftest import assert_refused, run

N = 240
STRANGE, EXPENSIVE = 200, 30


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Small networks, and batches of 50 rows."""
    new_model = _work.new_model

    def quick_model(*options, **others):
        small = skim.IMAutoencoderDetector(epochs=5)
        return new_model(*options, **others).set_params(detector=small)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_work, "new_model", quick_model)
        patch.setattr(_read, "BATCH_CELLS", 200)
        patch.setattr(_read, "MIN_BATCH", 50)
        yield


def succeed(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stderr


def results(folder):
    return pd.read_parquet(folder)


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


@pytest.fixture(scope="module")
def finished(orders, tmp_path_factory):
    """A folder with files, their results, and the model."""
    folder = tmp_path_factory.mktemp("out")
    (folder / "orders").mkdir()
    for i, (start, end) in enumerate([(0, 60), (60, 60), (60, N)]):
        orders[start:end].to_parquet(folder / f"orders/{i}.parquet", index=False)
    log = succeed(
        *("detect", f"{folder}/orders/*.parquet", "--output", f"{folder}/found/"),
        *("--save", folder / "model.skops"),
    )
    (folder / "log.txt").write_text(log)
    return folder


@pytest.fixture
def again(finished, tmp_path):
    """Repeats the command for a copy of the results."""
    shutil.copytree(finished / "found", tmp_path / "found")

    def again(*options):
        source = f"{finished}/orders/*.parquet"
        return run("detect", source, "-o", tmp_path / "found", *options)

    return again


def test_the_parts_are_what_the_whole_table_gives(finished, tmp_path):
    succeed("detect", finished / "orders", "-o", tmp_path / "whole.parquet")
    whole, found = results(tmp_path / "whole.parquet"), results(finished / "found")
    pd.testing.assert_frame_equal(
        found.drop(columns="reasons"), whole.drop(columns="reasons")
    )
    assert found["reasons"][STRANGE] == whole["reasons"][STRANGE]
    assert found["reasons"][STRANGE].startswith("country XX (expected ")


def test_a_summary_is_written_beside_the_parts(finished):
    names = sorted(path.name for path in (finished / "found").iterdir())
    parts = [f"part-{i:05d}.parquet" for i in range(6)]
    assert names[0] == "_model.skops"
    assert re.fullmatch("_run-[0-9a-f]{16}", names[1])
    assert names[2:] == ["_summary.json", *parts]
    found = results(finished / "found")
    summary = json.loads((finished / "found" / "_summary.json").read_text())
    assert summary["n_rows"] == N
    assert summary["n_outliers"] == found["outlier"].sum()
    log = (finished / "log.txt").read_text()
    assert "240 rows, 4 columns" in log
    assert f"{found['outlier'].sum()} of 240 rows" in log


def test_a_sample_trains_the_model_and_all_rows_are_scored(
    finished, tmp_path, monkeypatch
):
    monkeypatch.setattr(_out_of_core, "SAMPLE", 100)
    log = succeed("detect", finished / "orders", "-o", f"{tmp_path}/found/")
    assert "by the threshold of 100 training rows" in log
    found = results(tmp_path / "found")
    assert len(found) == N
    assert set(found.nlargest(2, "loss")["row"] - 1) == {STRANGE, EXPENSIVE}


def test_files_may_be_compressed(orders, finished, tmp_path):
    for start in (0, 100):
        path = tmp_path / f"{start}.parquet.gz"
        with gzip.open(path, "wb") as file:
            orders[start : start + 100].to_parquet(file, index=False)
    command = ["--model", finished / "model.skops", "-o", f"{tmp_path}/found/"]
    succeed("score", tmp_path / "*.parquet.gz", *command)
    same = results(finished / "found")[:200]
    pd.testing.assert_frame_equal(results(tmp_path / "found"), same)


def test_text_files_may_have_cells_that_cannot_be_read(orders, finished, tmp_path):
    text = orders.assign(weight=orders["weight"].astype(str))
    text.loc[150, "weight"] = "#REF!"
    text.to_csv(tmp_path / "orders.csv.gz", index=False)
    command = ["--model", finished / "model.skops", "-o", f"{tmp_path}/found/"]
    succeed("score", tmp_path / "orders.csv.gz", *command)
    found, same = results(tmp_path / "found"), results(finished / "found")
    assert found["number"].tolist() == same["number"].astype(str).tolist()
    assert found["reasons"][150].startswith("weight #REF!")
    columns = ["row", "loss", "outlier"]
    others = found.index != 150
    pd.testing.assert_frame_equal(found[columns][others], same[columns][others])


def test_a_cluster_gives_the_same(finished, tmp_path):
    options = {"processes": False, "dashboard_address": None, "n_workers": 2}
    with LocalCluster(threads_per_worker=1, **options) as cluster:
        succeed(
            *("score", finished / "orders", "--model", finished / "model.skops"),
            *("-o", f"{tmp_path}/found/", "--scheduler", cluster.scheduler_address),
        )
    same = results(finished / "found")
    pd.testing.assert_frame_equal(results(tmp_path / "found"), same)


# Continuing ----------------------------------------------------------------------


def test_a_killed_run_continues_with_missing_parts(finished, again, tmp_path):
    found = tmp_path / "found"
    for number in (2, 4):
        (found / f"part-0000{number}.parquet").unlink()
    (found / ".part-00002.0123abcd.parquet").write_text("half-written")
    kept = (found / "part-00003.parquet").stat().st_mtime_ns
    result = again()
    assert result.exit_code == 0, result.output
    assert f"Continuing in {found} with 4 parts" in " ".join(result.stderr.split())
    assert "Fitting" not in result.stderr
    assert (found / "part-00003.parquet").stat().st_mtime_ns == kept
    pd.testing.assert_frame_equal(results(found), results(finished / "found"))
    assert {p.name for p in found.iterdir()} == {
        p.name for p in (finished / "found").iterdir()
    }


def test_a_run_that_ended_before_the_fit_begins_again(finished, again, tmp_path):
    found = tmp_path / "found"
    for path in [*found.glob("part-*"), found / "_model.skops"]:
        path.unlink()
    assert "Fitting" in again().stderr
    pd.testing.assert_frame_equal(results(found), results(finished / "found"))


def test_finished_parts_stay_when_a_run_is_interrupted(again, tmp_path, monkeypatch):
    found = tmp_path / "found"
    for path in found.glob("part-*"):
        path.unlink()
    real = _out_of_core._written

    def interrupted(part, *args):
        if part.name == "part-00003.parquet":
            raise KeyboardInterrupt
        return real(part, *args)

    monkeypatch.setattr(_out_of_core, "_written", interrupted)
    result = again("--jobs", 1)
    assert result.exit_code == 130
    assert "Interrupted; run the same command again to continue" in result.stderr
    assert (found / "part-00000.parquet").exists()
    assert not (found / "part-00003.parquet").exists()
    monkeypatch.undo()
    assert again().exit_code == 0


def test_other_runs_are_refused(finished, again, tmp_path):
    assert_refused(again("--drop", "weight"), "not empty", "the same command")
    parts = shutil.copytree(finished / "orders", tmp_path / "orders")
    arguments = ["--output", f"{tmp_path}/scored/", "--model", finished / "model.skops"]
    succeed("score", parts, *arguments)
    orders = pd.read_parquet(parts / "2.parquet")
    orders[:9].to_parquet(parts / "2.parquet")
    result = run("score", parts, *arguments)
    assert_refused(result, "the same input, which is known by its size and time")
    result = run("detect", parts, "--output", tmp_path / "scored")
    assert_refused(result, "the same command")


# Bad input -----------------------------------------------------------------------


def test_folders_with_something_else_are_refused(again, finished, tmp_path):
    next((tmp_path / "found").glob("_run-*")).unlink()
    assert_refused(again(), "found is not empty")
    result = run("detect", finished / "orders", "-o", finished / "orders")
    assert_refused(result, "orders is not empty")


def test_finished_parts_stay_when_a_file_is_bad(finished, orders, tmp_path):
    parts = shutil.copytree(finished / "orders", tmp_path / "orders")
    (parts / "3.parquet").write_text("nothing of the kind")
    model = ["--model", finished / "model.skops", "--quiet", "--jobs", 1, "--output"]
    result = run("score", parts, *model, f"{tmp_path}/found/")
    assert_refused(result, "3.parquet is not a valid .parquet file")
    assert (tmp_path / "found" / "part-00000.parquet").exists()
    orders[180:].rename(columns={"price": "cost"}).to_parquet(parts / "3.parquet")
    result = run("score", parts, *model, f"{tmp_path}/new/")
    assert_refused(result, "3.parquet has other columns", "lacks 'price'")


def test_a_scheduler_that_is_not_there_leaves_no_folder(finished, tmp_path):
    command = ["detect", finished / "orders", "--scheduler", "tcp://127.0.0.1:9"]
    with dask.config.set({"distributed.comm.timeouts.connect": "0.5s"}):
        result = run(*command, "--output", f"{tmp_path}/found/", "--quiet")
    assert_refused(
        result, "No Dask scheduler with workers answers at tcp://127.0.0.1:9"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["part-00002.parquet", "_summary.json"])
def test_a_full_disk_names_the_file(again, tmp_path, monkeypatch, name):
    (tmp_path / "found" / "part-00002.parquet").unlink()
    write = Path.write_bytes

    def full(self, data):
        if self.name.startswith(f".{name.split('.')[0]}"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    assert_refused(again("--quiet"), f"found/{name} cannot be written: No space left")


def test_a_disk_too_full_for_the_model_names_the_file(again, tmp_path, monkeypatch):
    def full(*_, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "found" / "_model.skops").unlink()
    monkeypatch.setattr(_out_of_core, "save_model", full)
    assert_refused(again("--quiet"), "_model.skops cannot be written: No space left")
