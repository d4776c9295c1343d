"""``skim detect``: results, options, and what is refused."""

import errno
import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

import skim
from skim import TableDetector
from tests.cli.conftest import (
    EXPENSIVE,
    STRANGE,
    assert_refused,
    notes,
    quick_detector,
    run,
    run_process,
)

HEADER = "row,name,loss,probability,outlier,reasons"


def detected(*arguments):
    result = run("detect", *arguments, "--quiet")
    assert result.exit_code == 0, result.stderr
    return pd.read_csv(io.StringIO(result.stdout))


def test_the_output_has_the_rows_of_the_table_in_order(folder, orders):
    found = pd.read_csv(folder / "found.csv")
    assert list(found.columns) == HEADER.split(",")
    assert found["row"].tolist() == list(range(1, len(orders) + 1))
    assert found["name"].tolist() == orders["name"].tolist()
    assert ((found["probability"] > 0.5) == (found["outlier"] == 1)).all()
    assert set(found["loss"].nlargest(2).index) == {STRANGE, EXPENSIVE}
    reasons = found["reasons"].fillna("")
    assert re.match(r"country XX \(expected (DE|FR)", reasons[STRANGE])
    expected = r"price 900 \(expected [345]\d(\.\d+)? to [56]\d(\.\d+)?\)"
    assert re.match(expected, reasons[EXPENSIVE])
    assert "label" not in " ".join(reasons)


def test_the_output_agrees_with_the_python_interface(folder, orders):
    found = pd.read_csv(folder / "found.csv", keep_default_na=False)
    model = TableDetector(quick_detector(), drop=["label"], random_state=0).fit(orders)
    np.testing.assert_allclose(found["loss"], -model.training_scores_, atol=1e-4)
    chances = model.outlier_probability(orders)
    np.testing.assert_allclose(found["probability"], chances, atol=1e-6)
    np.testing.assert_array_equal(found["outlier"] == 1, model.predict(orders) == -1)
    flagged = found[found["outlier"] == 1]
    reasons = model.reasons(orders.loc[flagged.index])
    for row, own in reasons.groupby("row"):
        text = flagged["reasons"][row]
        assert text.count(";") == len(own) - 1
        for line in own.itertuples():
            assert line.column in text
            assert line.value in text


def test_progress_goes_to_standard_error(folder):
    log = (folder / "log.txt").read_text()
    for words in ("120 rows, 5 columns", "as requested", " of 120 rows ("):
        assert words in log
    assert f"Wrote {folder / 'found.csv'}" in " ".join(log.split("\n"))


def test_the_result_depends_on_neither_threads_nor_how_rows_are_named(folder):
    expected = (folder / "found.csv").read_text()
    arguments = ["detect", folder / "orders.csv", "--drop", "label", "--quiet"]
    for options in (["--jobs", 1], ["--id", "name"]):
        again = run(*arguments, *options)
        assert again.stderr == ""
        assert again.stdout == expected


def test_top_writes_the_most_unusual_rows_in_order(folder, tmp_path):
    path = tmp_path / "top.parquet"
    result = run(
        *("detect", folder / "orders.csv", "--output", path, "--top", 3),
        *("--drop", "label", "--drop", "name", "--contamination", 0.1),
    )
    assert "12 of 120 rows (10.0%) are outliers, as set by --" in result.stderr
    found = pd.read_parquet(path)
    assert list(found.columns) == ["row", "loss", "probability", "outlier", "reasons"]
    assert set(found["row"][:2]) == {STRANGE + 1, EXPENSIVE + 1}
    assert found["loss"].is_monotonic_decreasing
    assert len(found) == 3
    assert found["outlier"].tolist() == [1, 1, 1]


def test_decisions_can_be_overridden_and_names_do_not_collide(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"loss": [1, 2] * 20, "[b]kind": [1, 2, 3, 4] * 10})
    table["row"] = table["x"] = rng.normal(size=40)
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ["--id", "loss", "--id", "row", "--categorical", "[b]kind"]
    result = run("detect", tmp_path / "t.csv", *options)
    assert result.exit_code == 0
    header = result.stdout.splitlines()[0]
    assert header == "skim_row,loss,row,skim_loss,probability,outlier,reasons"
    assert re.search(r"\[b\]kind +frequency +4 levels", result.stderr)


def test_rows_are_named_by_a_column_that_stays_a_feature(folder):
    arguments = [folder / "orders.csv", "--drop", "label", "--id", "country"]
    plain = pd.read_csv(folder / "found.csv")
    named = detected(*arguments)
    assert list(named.columns[:3]) == ["row", "country", "loss"]
    assert named["loss"].tolist() == plain["loss"].tolist()
    dropped = detected(*arguments, "--drop", "country")
    assert dropped["country"].tolist() == named["country"].tolist()
    assert not dropped["reasons"].str.contains("country", na=False).any()


def test_clean_data_is_learned_as_it_is(folder, orders):
    result = run("detect", folder / "orders.csv", "--clean")
    assert "about 1% of new rows like these will be flagged." in result.stderr
    model = TableDetector(quick_detector(), contamination=0.0, random_state=0)
    found = pd.read_csv(io.StringIO(result.stdout))
    losses = -model.fit(orders).training_scores_
    np.testing.assert_allclose(found["loss"], losses, atol=1e-4)


def test_numbers_are_judged_within_groups(tmp_path):
    """One store sells a fifth of what it usually does, which is much for another."""
    rng = np.random.default_rng(0)
    stores = np.repeat(["north", "south"], 150)
    usual = np.where(stores == "north", 5000, 1000)
    sales = pd.DataFrame({"store": stores, "sales": usual * rng.normal(1, 0.1, 300)})
    sales["staff"] = rng.integers(4, 9, 300)
    sales.loc[40, "sales"] *= 0.2
    path = tmp_path / "sales.csv"
    sales.round(0).to_csv(path, index=False)
    found = detected(path, "--by", "store")
    assert found["loss"].idxmax() == 40
    assert found["reasons"][40].startswith("sales ")


def test_from_pipe_to_pipe():
    numbers = np.random.default_rng(0).normal(size=(40, 3))
    table = "a,b,c\n" + "\n".join(",".join(map(str, row)) for row in numbers)
    command = f"{sys.executable} -m skim detect - | head -n 1"
    result = subprocess.run(
        command, shell=True, capture_output=True, check=True, input=table.encode()
    )
    assert result.stdout == b"row,loss,probability,outlier,reasons\n"
    assert b"Reading" in result.stderr
    assert b"Traceback" not in result.stderr


# Reading -------------------------------------------------------------------------


def test_text_files_are_read_as_told(orders, folder, tmp_path):
    text = orders.to_csv(index=False, sep="^")
    text = f"exported today\n\nby a machine\n{text}too^few\n"
    (tmp_path / "t.csv").write_bytes(text.encode("utf-16"))
    how = ["skip-rows=3", "delimiter=^", "encoding=utf-16"]
    how = [word for text in [*how, "skip_bad_lines"] for word in ("--read", text)]
    result = run("detect", tmp_path / "t.csv", *how, "--drop", "label")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == (folder / "found.csv").read_text()
    (note,) = notes(result)
    assert "line" in note


def test_the_order_of_day_and_month_is_noted_or_given(tmp_path):
    rng = np.random.default_rng(0)
    days, months = rng.integers(1, 13, (2, 200))
    dates = [f"{a:02d}/{b:02d}/2024" for a, b in zip(days, months, strict=True)]
    table = pd.DataFrame({"paid": dates, "x": rng.normal(size=200)})
    table.to_csv(tmp_path / "t.csv", index=False)
    arguments = ["detect", tmp_path / "t.csv", "--top", 1]
    (note,) = notes(run(*arguments))
    assert "'paid'" in note
    for order in ("day-first", "month-first"):
        result = run(*arguments, "--read", f"dates={order}")
        assert result.exit_code == 0
        assert notes(result) == []


def test_advice_of_the_reader_is_given_in_options(orders, tmp_path):
    countries = orders["country"].replace("FR", "Österreich, südlich")
    path = tmp_path / "t.csv"
    orders.assign(country=countries).to_csv(path, index=False, encoding="cp1252")
    (note,) = notes(run("detect", path, "--top", 1))
    assert "--read encoding=VALUE" in note
    path.write_text("exported today\n\na,b\n1,2\n3,4\n", encoding="utf-8")
    result = run("detect", path, "-q")
    assert_refused(result, "--read skip_rows=2")


def test_files_are_read_together_but_never_overwritten(orders, folder, tmp_path):
    orders[:50].to_csv(tmp_path / "1.csv.gz", index=False)
    orders[50:].to_csv(tmp_path / "2.csv.gz", index=False)
    result = run("detect", tmp_path / "*.gz", "--drop", "label")
    assert result.stdout == (folder / "found.csv").read_text()
    assert notes(result) == [f"Note: Read 2 files of {tmp_path / '*.gz'}."]
    (tmp_path / "3.csv").write_text("a\n")
    for source in (tmp_path, tmp_path / "*"):
        assert run("detect", source, "-o", tmp_path / "3.csv").exit_code == 2
    assert (tmp_path / "3.csv").read_text() == "a\n"


# The summary ---------------------------------------------------------------------


def test_duplicates_are_named(orders, tmp_path, report):
    twice = orders.assign(volume=np.random.default_rng(1).normal(size=len(orders)))
    twice.loc[100] = twice.loc[20]
    twice.loc[60, "name"] = twice.loc[50, "name"]
    twice.to_csv(tmp_path / "t.csv", index=False)
    page = tmp_path / "report.html"
    result = run("detect", tmp_path / "t.csv", "--id", "name", "--report", page)
    for sentence in (
        "Rows with the same values: 101 and 21.",
        "Rows with the same name: 61 and 51, 101 and 21.",
    ):
        assert sentence in result.stderr.splitlines()
        assert f"<li><bdi>{sentence}</bdi></li>" in page.read_text("utf-8")


def test_the_report_and_the_file_agree(folder, tmp_path, report):
    path = tmp_path / "report.html"
    arguments = ["--report", path, "--output", tmp_path / "found.csv", "--quiet"]
    assert run("detect", folder / "orders.csv", *arguments).exit_code == 0
    page = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    assert "orders.csv" in page.title.string
    found = pd.read_csv(tmp_path / "found.csv")
    text = page.get_text()
    for name in found.loc[found["outlier"] == 1, "name"]:
        assert name in text


# Bad input -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\n1,2\n", "has one row"),
        (b"a,b\n1,\n1,\n1,\n", "No column can be used"),
        (b"a,b\n1,2\n3,4,5\n", "line 3"),
    ],
)
def test_bad_tables_are_refused_in_one_sentence(tmp_path, content, words):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    result = run("detect", path, "--quiet", "--output", tmp_path / "out.csv")
    assert_refused(result, words)
    assert os.listdir(tmp_path) == ["table.csv"]


def test_bad_paths_and_columns_are_refused_in_one_sentence(folder, tmp_path):
    for source, words in [("", "a directory without"), ("*.csv", "No file matches")]:
        assert_refused(run("detect", tmp_path / source), words)
    assert_refused(run("detect", tmp_path / "no.csv"), "does not exist")
    for option in ("--drop", "--id", "--by"):
        result = run("detect", folder / "orders.csv", "--quiet", option, "colour")
        assert_refused(result, f"{option} names an unknown column 'colour'", "price")


@pytest.mark.parametrize(
    "option", ["--output=x.csv", "--save=x.skops", "--report=x.html"]
)
def test_unwritable_files_are_found_before_anything_is_read(tmp_path, option):
    option, _, name = option.partition("=")
    (tmp_path / name).mkdir()
    table = tmp_path / "not there.csv"
    result = run("detect", table, option, tmp_path / "no folder" / name)
    assert_refused(result, f"{name} cannot be written: ", "does not exist")
    if option != "--output":
        result = run("detect", table, option, tmp_path / name)
        assert_refused(result, "is a directory")


def test_a_read_only_file_system_names_the_file(tmp_path, monkeypatch):
    def refuse(self, *_, **options):
        raise OSError(errno.EROFS, "Read-only file system", str(self))

    monkeypatch.setattr(Path, "touch", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    for command in (["detect", "no.csv", "-o"], ["review", "no.csv", "--labels"]):
        result = run(*command, tmp_path / "new.csv")
        assert_refused(result, "new.csv cannot be written: Read-only file system.")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device")
def test_a_full_device_is_named(folder):
    result = run("detect", folder / "orders.csv", "-q", "-o", "/dev/full")
    assert_refused(result, "/dev/full cannot be written: No space left on device.")


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="root may write")
def test_read_only_files_and_folders_are_refused(tmp_path):
    path = tmp_path / "out.csv"
    path.touch(0o444)
    assert_refused(run("detect", "no.csv", "--output", path), "is read-only")
    tmp_path.chmod(0o555)
    result = run("detect", "no.csv", "--output", tmp_path / "new.csv")
    assert_refused(result, "cannot be written: Permission denied")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["detect"], "Missing argument 'TABLE'"),
        (["detect", "t.csv", "--contamination", "70"], "70 is not in [0, 0.5]"),
        (["detect", "t.csv", "--contamination", "5"], "5 % is 0.05"),
        (["detect", "t.csv", "--contamination", "0.1", "--clean"], "give one of them"),
        (["detect", "t.csv", "--top", "0"], "--top"),
        (["detect", "t.csv", "--seed", "-1"], "--seed"),
        (["detect", "t.csv", "--output", "out.xlsx"], "must end in .csv or .parquet"),
        (["detect", "t.csv", "--save", "m.pkl"], "--save must end in .skops"),
        (["detect", "t.csv", "--report", "r.pdf"], "--report must end in .html"),
        (["detect", "t.csv", "--output", "t.csv"], "would be overwritten"),
        (["detect", "t.csv", "--read", "colour=red"], "know 'colour'; use one of "),
        (["detect", "t.csv", "--read", "skip_rows=two"], "needs a number, not 'two'"),
        (["detect", "t.csv", "--read", "dates=iso"], "or month-first, not 'iso'"),
        (["detect", "t.csv", "--read", "skip_bad_lines=perhaps"], "or no, not "),
        (["detect", "t.csv", "--colour"], "No such option: --colour"),
        (["score", "t.csv"], "--model"),
        (["detect", "t.csv", "--labels", "l.csv", "-o", "l.csv"], "be overwritten"),
        (["detect", "t.csv", "--jobs", "0"], "number of threads cannot be 0; -1 uses"),
        (["review", "t.csv", "--labels", "l.csv", "--contamination", "0"], "nothing"),
    ],
)
def test_wrong_usage_has_its_own_exit_code(arguments, message):
    assert_refused(run(*arguments), message, code=2)


def test_a_failure_keeps_the_old_output_and_adds_none(folder, tmp_path, monkeypatch):
    def fail(*_, **options):
        raise OSError(28, "No space left on device")

    (tmp_path / "out.csv").write_text("old")
    monkeypatch.setattr(pd.DataFrame, "to_csv", fail)
    files = ["--output", tmp_path / "out.csv", "--save", tmp_path / "model.skops"]
    result = run("detect", folder / "orders.csv", *files, "--quiet")
    assert_refused(result, "out.csv cannot be written: No space left on device")
    assert os.listdir(tmp_path) == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "old"


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_an_interruption_is_quick_and_leaves_nothing_behind(tmp_path, number, code):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(100_000, 20))).add_prefix("x")
    table.to_parquet(tmp_path / "t.parquet")
    files = ["--output", tmp_path / "out.csv", "--save", tmp_path / "model.skops"]
    command = [sys.executable, "-m", "skim", "detect", tmp_path / "t.parquet", *files]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while "20 columns" not in process.stderr.readline():
            assert process.poll() is None
        assert len(os.listdir(tmp_path)) == 3
        time.sleep(2)
        start = time.perf_counter()
        process.send_signal(number)
        rest = process.stderr.read()
    assert time.perf_counter() - start < 5  # a second on an idle machine
    assert process.returncode == code
    assert "Traceback" not in rest
    assert os.listdir(tmp_path) == ["t.parquet"]


# Nothing raw ---------------------------------------------------------------------


def test_names_of_files_and_columns_do_not_steer_the_terminal(orders, tmp_path):
    nasty = "[red]x\x1b[2J\u202e"
    path = tmp_path / f"{nasty}.csv"
    table = orders.rename(columns={"price": f"={nasty}", "country": f"{nasty}c"})
    table.to_csv(path, index=False)
    result = run("detect", path, "--output", tmp_path / f"{nasty}out.csv")
    assert result.exit_code == 0, result.stderr
    refused = [
        run("detect", tmp_path / "x[" / f"red]{nasty}no.csv"),
        run("detect", path, "--drop", f"{nasty}no"),
        run("detect", path, "--output", f"{nasty}.pdf"),
        run("detect", path, f"--{nasty}"),
    ]
    for text in [result.stderr, *(one.stderr for one in refused)]:
        assert "[red]x" in text
        assert not {"\x1b", "\u202e"} & set(text)
    found = pd.read_csv(tmp_path / f"{nasty}out.csv")
    assert found["reasons"][EXPENSIVE].startswith("'=[red]x")
    assert "\x1b" not in found["reasons"][STRANGE]


def test_devices_are_written_to_instead_of_replaced(folder):
    result = run("detect", folder / "orders.csv", "-o", os.devnull, "--top", 2)
    assert result.exit_code == 0
    assert not os.path.isfile(os.devnull)


# Other commands ------------------------------------------------------------------


def test_demo_writes_a_report(tmp_path, report):
    path = tmp_path / "demo.html"
    result = run("demo", "--report", path)
    assert result.exit_code == 0, result.stderr
    assert re.search(r"Of the \d+ known outliers, \d+ are among them", result.stderr)
    assert f"Wrote {path}" in result.stderr
    assert path.read_text(encoding="utf-8").startswith("<!")


def test_the_version_is_shown():
    result = run_process("--version", text=True)
    assert result.stdout == f"skim {skim.__version__}\n"


@pytest.mark.parametrize(
    ("package", "arguments"),
    [("typer", ["detect"]), ("rich", ["detect", "no.csv"])],
)
def test_a_missing_extra_is_named_in_one_sentence(package, arguments):
    code = f"import sys; sys.modules['{package}'] = None\n"
    code += "from skim.cli import main; main()"
    command = [sys.executable, "-c", code, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "pip install 'skim-od[cli]'" in result.stderr


@pytest.mark.parametrize("package", ["pyarrow", "skops.io"])
def test_a_missing_part_of_the_extra_is_named(folder, monkeypatch, package, tmp_path):
    monkeypatch.setitem(sys.modules, package, None)
    files = ["--save", tmp_path / "m.skops"]
    result = run("detect", folder / "orders.csv", *files)
    assert_refused(result, "pip install 'skim-od[cli]'")


def test_help_is_quick_and_explains_exit_codes():
    code = "import sys; from skim.cli import _app; sys.exit('sklearn' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert "130 if interrupted" in " ".join(run("--help").stdout.split())
    for command in ("detect", "score", "review", "demo"):
        assert run(command, "--help").exit_code == 0
    assert run().exit_code == 2
