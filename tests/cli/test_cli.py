"""The command line as users see it."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
from bs4 import BeautifulSoup
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from typer.testing import CliRunner

import skim
from skim import IMAutoencoderDetector
from skim._model._reasons import row_reasons
from skim.cli import _work
from skim.cli._app import app
from skim.cli._model_file import TRUSTED
from skim.tables import TableEncoder

QUICK = ["--detector", "im-autoencoder"]
STRANGE = 17
EXPENSIVE = 30


@pytest.fixture(scope="session")
def orders():
    """A table in which one row has a strange country, and one a strange price."""
    rng = np.random.default_rng(0)
    n = 120
    table = pd.DataFrame(
        {
            "name": [f"order {i:03d}" for i in range(n)],
            "price": rng.normal(50, 5, n).round(2),
            "weight": rng.normal(3, 0.2, n).round(3),
            "country": rng.choice(["DE", "FR"], n),
            "label": rng.integers(0, 2, n),
        }
    )
    table.loc[STRANGE, "country"] = "XX"
    table.loc[EXPENSIVE, "price"] = 900.0
    table.loc[3, "weight"] = np.nan
    return table


@pytest.fixture(scope="session")
def folder(orders, tmp_path_factory):
    """A folder with the table, the results and the model."""
    folder = tmp_path_factory.mktemp("cli")
    orders.to_csv(folder / "orders.csv", index=False)
    result = run(
        *("detect", folder / "orders.csv", "--output", folder / "found.csv", *QUICK),
        *("--drop", "label", "--save", folder / "model.skops"),
    )
    assert result.exit_code == 0, result.stderr
    (folder / "log.txt").write_text(result.stderr)
    return folder


def run(*arguments, **options):
    return CliRunner().invoke(app, [str(a) for a in arguments], **options)


def run_process(*arguments, **options):
    command = [sys.executable, "-m", "skim", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, **options)


def assert_refused(result, *words, code=1):
    """One sentence on standard error, nothing on standard output."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr.startswith("skim: ")
    for word in words:
        assert word in result.stderr


# detect --------------------------------------------------------------------------


def test_the_output_has_the_rows_of_the_table_in_order(folder, orders):
    found = pd.read_csv(folder / "found.csv")
    columns = ["row", "name", "loss", "probability", "outlier", "reasons"]
    assert list(found.columns) == columns
    assert found["row"].tolist() == list(range(1, len(orders) + 1))
    assert found["name"].tolist() == orders["name"].tolist()
    assert ((found["probability"] > 0.5) == (found["outlier"] == 1)).all()
    assert found["loss"].idxmax() == found["probability"].idxmax() == STRANGE
    assert re.fullmatch(r"country XX \(expected (DE|FR)\)", found["reasons"][STRANGE])
    expected = r"price 900 \(expected [345]\d(\.\d+)? to [56]\d(\.\d+)?\)"
    assert re.fullmatch(expected, found["reasons"][EXPENSIVE])
    assert "label" not in " ".join(found["reasons"].fillna(""))


def test_the_output_agrees_with_the_python_interface(folder, orders):
    found = pd.read_csv(folder / "found.csv", keep_default_na=False)
    model = make_pipeline(
        TableEncoder(drop=["label"]), IMAutoencoderDetector(random_state=0)
    ).fit(orders)
    np.testing.assert_allclose(found["loss"], -model.score_samples(orders), atol=1e-6)
    features = model[0].transform(orders)
    chances = model[-1].outlier_probability(features)
    np.testing.assert_allclose(found["probability"], chances, atol=1e-6)
    order = np.argsort(-found["loss"], kind="stable").to_numpy()
    cells = model[-1].reasons(features[order], n_reasons=None)
    for place, row in enumerate(row_reasons(cells, len(order))):
        text = found["reasons"][order[place]]
        if place >= 50:  # the columns that contribute most
            assert "expected" not in text
            assert set(text.split(", ")) <= {"price", "weight", "country", ""}
        else:
            is_strange = row.is_whole and found["outlier"][order[place]] == 1
            assert text.startswith("strange as a whole") == is_strange
            assert text.count("(expected") == len(row.cells)


def test_decisions_and_progress_go_to_standard_error(folder):
    log = (folder / "log.txt").read_text()
    for words in ("120 rows, 5 columns", "all different", "as requested", "3 levels"):
        assert words in log
    assert f"Wrote {folder / 'found.csv'}" in " ".join(log.split("\n"))


def test_two_runs_write_the_same_file(folder, tmp_path):
    again = run(
        *("detect", folder / "orders.csv", "--output", tmp_path / "again.csv", *QUICK),
        *("--drop", "label", "--quiet", "--jobs", 1),
    )
    assert again.output == ""
    expected = (folder / "found.csv").read_bytes()
    assert (tmp_path / "again.csv").read_bytes() == expected


def test_top_writes_the_most_unusual_rows_in_order(folder, tmp_path):
    path = tmp_path / "top.parquet"
    result = run(
        *("detect", folder / "orders.csv", "--output", path, *QUICK, "--top", 3),
        *("--drop", "label", "--drop", "name", "--reasons", 1, "--contamination", 0.1),
    )
    assert "12 of 120 rows (10.0%) are outliers, as set by --" in result.stderr
    found = pd.read_parquet(path)
    assert list(found.columns) == ["row", "loss", "probability", "outlier", "reasons"]
    assert found["row"][0] == STRANGE + 1
    assert found["loss"].is_monotonic_decreasing
    assert len(found) == 3
    assert found["outlier"].tolist() == [1, 1, 1]
    assert not found["reasons"].str.contains("),", regex=False).any()


def test_decisions_can_be_overridden_and_names_do_not_collide(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"loss": [1, 2] * 20, "[b]kind": [1, 2, 3, 4] * 10})
    table["row"] = table["x"] = rng.normal(size=40)
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ["--id", "loss", "--categorical", "[b]kind", "--max-levels", 4]
    result = run("detect", tmp_path / "t.csv", *options, *QUICK)
    assert result.exit_code == 0
    header = result.stdout.splitlines()[0]
    assert header == "row,loss,skim_loss,probability,outlier,reasons"
    assert "[b]kind" in result.stderr
    assert "category   4 levels" in result.stderr
    header = run("detect", tmp_path / "t.csv", *QUICK, "--keep", "row").stdout
    assert header.startswith("skim_row,row,loss,probability,outlier,reasons\n")


def test_rows_are_named_by_a_column_that_stays_a_feature(folder, tmp_path):
    arguments = ["detect", folder / "orders.csv", *QUICK, "--drop", "label"]
    plain = pd.read_csv(folder / "found.csv")
    result = run(*arguments, "--id", "country")
    named = pd.read_csv(io.StringIO(result.stdout))
    assert list(named.columns[:3]) == ["row", "country", "loss"]
    assert "name" not in named
    assert named["loss"].tolist() == plain["loss"].tolist()
    assert re.search(r"country +frequency +3 levels", result.stderr)
    result = run(*arguments, "--id", "country", "--drop", "country")
    dropped = pd.read_csv(io.StringIO(result.stdout))
    assert dropped["country"].tolist() == named["country"].tolist()
    assert not dropped["reasons"].str.contains("country", na=False).any()


def test_naming_rows_by_an_identifier_does_not_make_it_a_feature(folder):
    arguments = ["detect", folder / "orders.csv", *QUICK, "--drop", "label", "-q"]
    expected = (folder / "found.csv").read_text()
    assert run(*arguments, "--id", "name").stdout == expected


def test_columns_can_be_kept(folder, orders, tmp_path):
    arguments = ["detect", folder / "orders.csv", *QUICK, "--drop", "label", "-q"]
    keep = ["--keep", "label", "--keep", "price", "--keep", "name"]
    found = pd.read_csv(io.StringIO(run(*arguments, *keep).stdout))
    columns = [
        "row",
        "name",
        "label",
        "price",
        "loss",
        "probability",
        "outlier",
        "reasons",
    ]
    assert list(found.columns) == columns
    for column in ("name", "label", "price"):
        assert found[column].tolist() == orders[column].tolist()
    plain = pd.read_csv(folder / "found.csv")
    pd.testing.assert_frame_equal(found[plain.columns], plain)


def test_from_pipe_to_pipe(folder):
    table = (folder / "orders.csv").read_bytes()
    result = run_process("detect", "-", *QUICK, "--drop", "label", input=table)
    assert result.returncode == 0
    assert result.stdout == (folder / "found.csv").read_bytes()
    assert b"Reading" in result.stderr


def test_pipes_carry_every_format(orders, tmp_path):
    orders.to_parquet(tmp_path / "t.parquet")
    orders.to_feather(tmp_path / "t.feather")
    orders.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    np.save(tmp_path / "t.npy", orders[["price", "weight"]].to_numpy())
    for name in ("t.parquet", "t.feather", "t.jsonl", "t.npy"):
        data = (tmp_path / name).read_bytes()
        result = run("detect", "-", *QUICK, "--top", 1, "-q", input=data)
        assert result.exit_code == 0, name
        assert len(result.stdout.splitlines()) == 2


def notes(result):
    lines = result.stderr.splitlines()
    return [line for line in lines if line.startswith("Note: ")]


def test_text_files_are_read_as_options_say(orders, folder, tmp_path):
    text = orders.to_csv(index=False, sep="^")
    text = f"exported today\n\n# by a machine\n{text}too^few\n"
    (tmp_path / "t.csv").write_bytes(text.encode("utf-16"))
    options = [
        "--skip-rows",
        2,
        "--comment",
        "#",
        "--delimiter",
        "^",
        "--drop",
        "label",
    ]
    options += ["--encoding", "utf-16", "--skip-bad-lines"]
    result = run("detect", tmp_path / "t.csv", *options, *QUICK)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == (folder / "found.csv").read_text()
    (note,) = notes(result)
    assert "line" in note


def test_missing_values_are_evidence_on_request(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    table.loc[7, "b"] = np.nan
    table.to_csv(tmp_path / "t.csv", index=False)
    arguments = ["detect", tmp_path / "t.csv", "-q", "--top", 1, *QUICK]
    plain = run(*arguments).stdout
    assert "missing" not in plain
    result = run(*arguments, "--missing", "evidence")
    assert "\n8," in result.stdout
    assert "b missing (expected present)" in result.stdout


def test_the_order_of_day_and_month_is_noted_or_given(tmp_path):
    rng = np.random.default_rng(0)
    days, months = rng.integers(1, 13, (2, 200))
    dates = [f"{a:02d}/{b:02d}/2024" for a, b in zip(days, months, strict=True)]
    table = pd.DataFrame({"paid": dates, "x": rng.normal(size=200)})
    table.to_csv(tmp_path / "t.csv", index=False)
    arguments = ["detect", tmp_path / "t.csv", "--top", 1, *QUICK]
    (note,) = notes(run(*arguments))
    assert "'paid'" in note
    for order in ("day-first", "month-first"):
        result = run(*arguments, "--dates", order)
        assert result.exit_code == 0
        assert notes(result) == []


def test_what_the_reader_assumes_is_noted_on_one_line(orders, tmp_path):
    countries = orders["country"].replace("FR", "Österreich, südlich")
    orders.assign(country=countries).to_csv(
        tmp_path / "t.csv", index=False, encoding="cp1252"
    )
    result = run("detect", tmp_path / "t.csv", *QUICK, "--top", 1)
    (note,) = notes(result)
    assert "--encoding" in note
    assert run("detect", tmp_path / "t.csv", *QUICK, "-q").stderr == ""


def test_a_sheet_of_a_workbook_is_read(orders, folder, tmp_path):
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path) as writer:
        pd.DataFrame({"a": [1]}).to_excel(writer, sheet_name="notes", index=False)
        orders.to_excel(writer, sheet_name="orders", index=False)
    arguments = ["detect", path, *QUICK, "--drop", "label"]
    result = run(*arguments, "--sheet", "orders")
    assert result.stdout == (folder / "found.csv").read_text()
    assert notes(result) == []
    assert run(*arguments, "--sheet", 2, "-q").stdout == result.stdout
    assert_refused(run(*arguments, "-q"), "has one row")
    assert_refused(run(*arguments, "-q", "--sheet", "x"), "has no sheet 'x'")


def test_files_are_read_together_but_never_overwritten(orders, folder, tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    orders[:50].to_csv(parts / "1.csv.gz", index=False)
    orders[50:].to_csv(parts / "2.csv.gz", index=False)
    for source in (parts, parts / "*.gz"):
        result = run("detect", source, *QUICK, "--drop", "label")
        assert result.stdout == (folder / "found.csv").read_text()
        assert notes(result) == [f"Note: Read 2 files of {source}."]
    (parts / "3.csv").write_text("a\n")
    for source in (parts, parts / "*"):
        assert run("detect", source, "-o", parts / "3.csv").exit_code == 2
    assert (parts / "3.csv").read_text() == "a\n"


def test_devices_are_written_to_instead_of_replaced(folder):
    result = run("detect", folder / "orders.csv", *QUICK, "-o", os.devnull, "--top", 2)
    assert result.exit_code == 0
    assert not os.path.isfile(os.devnull)


def test_the_report_and_the_file_agree(folder, tmp_path):
    path = tmp_path / "report.html"
    arguments = ["--report", path, "--output", tmp_path / "found.csv", "--quiet"]
    arguments += ["--contamination", 0.2]
    assert run("detect", folder / "orders.csv", *QUICK, *arguments).exit_code == 0
    page = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    assert "orders.csv" in page.title.string
    found = pd.read_csv(tmp_path / "found.csv", index_col="name").fillna("")
    listed = page.select("#top-table tbody tr")
    assert len(listed) == 50
    names = [row.select_one(".name").get_text() for row in listed]
    assert names[0] == f"order {STRANGE:03d}"
    assert names == found.nlargest(50, "loss").index.tolist()
    for name, row in zip(names, listed, strict=True):
        expected = found.loc[name]
        for column in ("loss", "probability"):
            shown = float(row.select_one(f".{column}")["data-key"])
            assert shown == pytest.approx(expected[column], abs=1e-6)
        assert ("yes" in row.select_one(".flag")["class"]) == expected["outlier"]
        is_whole = bool(row.select(".whole"))
        starts = expected["reasons"].startswith("strange as a whole")
        assert starts == (is_whole and expected["outlier"] == 1)
        if not is_whole:
            columns = [column.get_text() for column in row.select(".reasons .column")]
            reasons = expected["reasons"].split("), ")
            assert [reason.split()[0] for reason in reasons] == columns


# Bad input -----------------------------------------------------------------------

BAD_TABLES = {
    "one row": (b"a,b\n1,2\n", "has one row"),
    "no usable columns": (b"a,b\n1,\n1,\n1,\n", "No column can be used"),
    "mixed row lengths": (b"a,b\n1,2\n3,4,5\n", "line 3"),
}


@pytest.mark.parametrize("kind", BAD_TABLES)
def test_bad_tables_are_refused_in_one_sentence(tmp_path, kind):
    content, words = BAD_TABLES[kind]
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    result = run("detect", path, "--quiet", "--output", tmp_path / "out.csv")
    assert_refused(result, words)
    assert os.listdir(tmp_path) == ["table.csv"]


def test_bad_paths_and_columns_are_refused_in_one_sentence(folder, tmp_path):
    assert_refused(run("detect", tmp_path), "is a directory without")
    assert_refused(run("detect", tmp_path / "*.csv"), "No file matches")
    assert_refused(run("detect", tmp_path / "no.csv"), "does not exist")
    result = run("detect", folder / "orders.csv", "--quiet", "--drop", "colour")
    assert_refused(result, "drop names an unknown column 'colour'")
    for option in ("--id", "--keep"):
        result = run("detect", folder / "orders.csv", "--quiet", option, "colour")
        assert_refused(result, f"{option} names an unknown column 'colour'", "price")


def test_rows_without_identifiers_have_the_same_numbers_everywhere(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    table.loc[41] = 30.0
    table.to_csv(tmp_path / "table.csv", index=False)
    page = tmp_path / "page.html"
    result = run("detect", tmp_path / "table.csv", "--top", "1", "--report", page)
    assert "\n42," in f"\n{result.stdout}"
    assert ">42<" in page.read_text()


def test_the_share_of_outliers_says_what_it_rests_on(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))

    def verdict(*options):
        pd.DataFrame(X, columns=list("abc")).to_csv(tmp_path / "t.csv", index=False)
        result = run("detect", tmp_path / "t.csv", "--top", 1, *options)
        (line,) = [line for line in result.stderr.splitlines() if " of 400 " in line]
        return line

    nothing = verdict()
    assert "No group stands apart; --top lists" in nothing
    assert "about the usual share" in nothing
    by_hand = verdict("--contamination", "0.2")
    assert by_hand == "80 of 400 rows (20.0%) are outliers, as set by --contamination."
    X[:6] = rng.normal(9, 0.1, size=(6, 3))
    assert verdict() == (
        "6 of 400 rows (1.5%) are outliers: a gap in the losses sets them apart."
    )


@pytest.mark.parametrize(
    ("heaviness", "n_extreme", "rest"),
    [
        (0.1, 0, ", about the usual share. No group stands apart; --top lists "),
        (0.1, 2, ", 2 of them with losses far above the usual; no gap sets the other "),
        (
            0.1,
            1,
            ", 1 of them with a loss far above the usual; no gap sets the other 9 ",
        ),
        (1.0, 0, ", with losses far above the usual."),
    ],
)
def test_extreme_rows_are_counted_where_no_gap_shows(heaviness, n_extreme, rest):
    n, n_outliers = 1000, 10
    losses = ((np.arange(n) + 0.5) / n) ** -heaviness
    losses[:n_extreme] += 1000
    detector = SimpleNamespace(
        contamination="auto",
        training_scores_=-losses,
        offset_=-losses[n_outliers - 1 : n_outliers + 1].mean(),
    )
    is_outlier = -losses < detector.offset_
    results = SimpleNamespace(detector=detector, losses=losses, is_outlier=is_outlier)
    text = _work.verdict(results, is_training=True, n_listed=0)
    assert text.startswith(f"10 of 1,000 rows (1.0%) are outliers{rest}")


@pytest.mark.parametrize("option", ["--output", "--save", "--report"])
def test_unwritable_files_are_found_before_anything_is_read(tmp_path, option):
    (tmp_path / "x.csv").mkdir()
    table = tmp_path / "not there.csv"
    result = run("detect", table, option, tmp_path / "no folder" / "out.csv")
    assert_refused(result, "out.csv cannot be written: ", "does not exist")
    result = run("detect", table, option, tmp_path / "x.csv")
    assert_refused(result, "is a directory")


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="root may write")
def test_read_only_files_and_folders_are_refused(tmp_path):
    path = tmp_path / "out.csv"
    path.touch(0o444)
    assert_refused(run("detect", "no.csv", "--output", path), "is read-only")
    tmp_path.chmod(0o555)
    result = run("detect", "no.csv", "--output", tmp_path / "new.csv")
    assert_refused(result, "cannot be written: Permission denied")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["detect"],
        ["detect", "t.csv", "--detector", "magic"],
        ["detect", "t.csv", "--contamination", "0.7"],
        ["detect", "t.csv", "--contamination", "0"],
        ["detect", "t.csv", "--top", "0"],
        ["detect", "t.csv", "--seed", "-1"],
        ["detect", "t.csv", "--output", "out.xlsx"],
        ["detect", "t.csv", "--output", "t.csv"],
        ["detect", "t.csv", "--output", "a.csv", "--save", "./a.csv"],
        ["detect", "t.csv", "--drop", "price", "--categorical", "price"],
        ["detect", "t.csv", "--dates", "year-first"],
        ["detect", "t.csv", "--missing", "bad"],
        ["detect", "t.csv", "--skip-rows", "-1"],
        ["detect", "t.csv", "--jobs", "0"],
        ["score", "t.csv"],
        ["score", "t.csv", "--model", "m.csv", "--output", "m.csv"],
    ],
)
def test_wrong_usage_has_its_own_exit_code(arguments):
    assert run(*arguments).exit_code == 2


def test_a_failure_keeps_the_old_output_and_adds_none(folder, tmp_path, monkeypatch):
    from skim.cli import _results

    def fail(*_):
        raise OSError(28, "No space left on device")

    (tmp_path / "out.csv").write_text("old")
    monkeypatch.setattr(_results.Results, "_named", fail)
    files = ["--output", tmp_path / "out.csv", "--save", tmp_path / "model.skops"]
    result = run("detect", folder / "orders.csv", *QUICK, *files, "--quiet")
    assert_refused(result, "No space left on device")
    assert os.listdir(tmp_path) == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "old"


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_an_interruption_leaves_nothing_behind(tmp_path, number, code):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "t.npy", rng.normal(size=(200_000, 20)))
    files = ["--output", tmp_path / "out.csv", "--save", tmp_path / "model.skops"]
    command = [sys.executable, "-m", "skim", "detect", tmp_path / "t.npy", *files]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while "Encoding columns:" not in process.stderr.readline():
            assert process.poll() is None
        assert len(os.listdir(tmp_path)) == 3
        time.sleep(0.5)
        process.send_signal(number)
        rest = process.stderr.read()
    assert process.returncode == code
    assert "Traceback" not in rest
    assert os.listdir(tmp_path) == ["t.npy"]


def test_a_closed_pipe_is_not_a_failure(folder):
    command = f"{sys.executable} -m skim detect {folder / 'orders.csv'} -q"
    command += " --detector im-autoencoder | head -n 1"
    result = subprocess.run(command, shell=True, capture_output=True, check=True)
    assert result.stdout == b"row,name,loss,probability,outlier,reasons\n"
    assert result.stderr == b""


# score ---------------------------------------------------------------------------


def score(folder, table, *options):
    arguments = ["--model", folder / "model.skops", *options]
    return run("score", table, *arguments)


def test_scoring_the_same_table_gives_the_same_scores(folder):
    result = score(folder, folder / "orders.csv", "--quiet", "--output", "-")
    assert result.exit_code == 0
    assert result.stdout == (folder / "found.csv").read_text()
    assert result.stderr == ""


def test_columns_may_be_in_any_order_and_one_row_is_enough(folder, orders, tmp_path):
    row = orders.iloc[[STRANGE]].drop(columns="label")[
        ["country", "weight", "price", "name"]
    ]
    row.to_csv(tmp_path / "new.csv", index=False)
    result = score(folder, tmp_path / "new.csv", "-o", tmp_path / "found.csv")
    assert result.exit_code == 0, result.stderr
    found = pd.read_csv(tmp_path / "found.csv")
    expected = pd.read_csv(folder / "found.csv").iloc[[STRANGE]]
    assert found.iloc[0, 1:].tolist() == expected.iloc[0, 1:].tolist()


def test_new_rows_are_named_as_the_training_data_was(folder, orders, tmp_path):
    save = ["--drop", "label", "--id", "label", "--save", tmp_path / "m.skops"]
    assert run("detect", folder / "orders.csv", *QUICK, *save).exit_code == 0
    arguments = ["--model", tmp_path / "m.skops", "-q"]
    orders.assign(batch=1)[:5].to_csv(tmp_path / "new.csv", index=False)
    assert_refused(run("score", tmp_path / "new.csv", *arguments), "column 'batch'")
    result = run("score", tmp_path / "new.csv", *arguments, "--keep", "batch")
    header = "row,label,batch,loss,probability,outlier,reasons"
    assert result.stdout.splitlines()[0] == header
    result = run("score", tmp_path / "new.csv", *arguments, "--id", "batch")
    assert result.stdout.splitlines()[0] == "row,batch,loss,probability,outlier,reasons"
    orders.drop(columns="label")[:5].to_csv(tmp_path / "new.csv", index=False)
    result = run("score", tmp_path / "new.csv", *arguments)
    assert result.stdout.splitlines()[0] == "row,name,loss,probability,outlier,reasons"
    result = run("score", tmp_path / "new.csv", "--model", tmp_path / "m.skops")
    assert "rows (" in result.stderr
    assert "by the threshold of the training data." in result.stderr


def test_values_that_training_did_not_have_are_noted(folder, orders, tmp_path):
    path = tmp_path / "t.csv"
    orders.assign(unit="kg").to_csv(path, index=False)
    save = ["--save", tmp_path / "m.skops", "-o", tmp_path / "out.csv", "-q"]
    assert run("detect", path, *QUICK, *save).exit_code == 0
    new = orders.assign(unit="kg").astype({"price": object})
    new.loc[4, ["unit", "price"]] = ["lb", "a lot"]
    new.loc[[5, 6, 7, 8], "country"] = ["IT", "ES", "IT", "PL"]
    new.to_csv(path, index=False)
    result = run("score", path, "--model", tmp_path / "m.skops")
    assert result.exit_code == 0, result.stderr
    assert sorted(notes(result)) == [
        "Note: Column 'country' has values that the training data did not have: "
        "'IT' (row 6), 'ES' (row 7), 'PL' (row 9), in 4 rows.",
        "Note: Column 'price' has text that cannot be read as a number and counts as "
        "missing: 'a lot' (row 5).",
        "Note: Column 'unit' has values that the training data did not have, which "
        "have no influence: 'lb' (row 5).",
    ]
    quiet = run("score", path, "--model", tmp_path / "m.skops", "--quiet")
    assert quiet.stderr == ""


def test_missing_and_extra_columns_are_named(folder, orders, tmp_path):
    table = orders.drop(columns=["price", "weight"]).assign(colour="red")
    table.to_csv(tmp_path / "new.csv", index=False)
    result = score(folder, tmp_path / "new.csv", "-q", "-o", tmp_path / "out.csv")
    assert_refused(
        result, "is missing columns 'price', 'weight'", "has column 'colour'"
    )
    assert os.listdir(tmp_path) == ["new.csv"]


def relabelled(path, target, **label):
    """Copy a model with other versions in its label."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as sink:
        for item in source.infolist():
            content = source.read(item)
            if item.filename == "skim.json":
                content = json.dumps(json.loads(content) | label)
            sink.writestr(item, content)
    return target


def test_a_model_of_another_version_is_refused(folder, tmp_path):
    path = relabelled(folder / "model.skops", tmp_path / "m.skops", skim="9.8.7")
    result = run("score", folder / "orders.csv", "--model", path)
    assert_refused(result, "saved with skim 9.8.7", f"this is skim {skim.__version__}")


def test_another_version_of_scikit_learn_is_reported(folder, tmp_path):
    label = {"scikit-learn": "0.1"}
    path = relabelled(folder / "model.skops", tmp_path / "m.skops", **label)
    result = run("score", folder / "orders.csv", "--model", path)
    assert result.exit_code == 0
    assert "saved with scikit-learn 0.1" in result.stderr


def test_files_that_are_not_models_are_refused(folder, tmp_path):
    table = folder / "orders.csv"
    assert_refused(run("score", table, "--model", tmp_path / "no"), "does not exist")
    (tmp_path / "text.skops").write_text("hello")
    skops.io.dump(IMAutoencoderDetector(), tmp_path / "unlabelled.skops")
    labelled(IMAutoencoderDetector(), tmp_path / "labelled.skops")
    for path in [tmp_path, *tmp_path.iterdir()]:
        result = run("score", table, "--model", path)
        assert_refused(result, "is not a model saved by skim")


def labelled(model, path):
    """Save any model as if it were one of skim's."""
    skops.io.dump(model, path)
    with zipfile.ZipFile(path, "a") as archive:
        label = {"skim": skim.__version__, "scikit-learn": sklearn.__version__}
        archive.writestr("skim.json", json.dumps(label))
    return path


def test_foreign_code_is_never_run(folder, tmp_path):
    trap = make_pipeline(FunctionTransformer(os.mkdir), IMAutoencoderDetector())
    path = labelled(trap, tmp_path / "trap.skops")
    result = run("score", folder / "orders.csv", "--model", path)
    assert_refused(result, "posix.mkdir", "was not loaded")


def test_damaged_models_are_refused(folder, tmp_path):
    with zipfile.ZipFile(folder / "model.skops") as source:
        label = source.read("skim.json")
    with zipfile.ZipFile(tmp_path / "hollow.skops", "w") as sink:
        sink.writestr("skim.json", label)
    result = run("score", folder / "orders.csv", "--model", tmp_path / "hollow.skops")
    assert_refused(result, "is damaged")


@pytest.mark.parametrize("detector", ["altbi", "odim"])
def test_every_detector_can_be_saved(folder, orders, tmp_path, detector, monkeypatch):
    cls = getattr(skim, _work.DETECTORS[detector])
    monkeypatch.setattr(skim, cls.__name__, lambda **params: cls(epochs=3, **params))
    files = ["--output", tmp_path / "out.csv", "--save", tmp_path / "m.skops"]
    result = run("detect", folder / "orders.csv", "--detector", detector, *files)
    assert result.exit_code == 0, result.stderr
    result = run("score", folder / "orders.csv", "--model", tmp_path / "m.skops", "-q")
    assert result.stdout == (tmp_path / "out.csv").read_text()


def test_only_types_of_skim_are_trusted(folder):
    assert all(name.startswith("skim.") for name in TRUSTED)
    found = skops.io.get_untrusted_types(file=folder / "model.skops")
    assert set(found) <= set(TRUSTED)


# Other commands ------------------------------------------------------------------


@pytest.mark.parametrize("data", ["breast-cancer", "wine", "digits"])
def test_demo_writes_a_report(tmp_path, data):
    path = tmp_path / "demo.html"
    result = run("demo", "--data", data, "--report", path)
    assert result.exit_code == 0, result.stderr
    assert "The strangest rows" in result.stdout
    assert str(path) in result.stdout.replace("\n", "")
    assert path.read_text(encoding="utf-8").startswith("<!")


def test_the_version_is_shown():
    result = run_process("--version", text=True)
    assert result.stdout == f"skim {skim.__version__}\n"


@pytest.mark.parametrize(
    ("package", "command"), [("typer", "detect"), ("rich", "demo")]
)
def test_a_missing_extra_is_named_in_one_sentence(package, command):
    code = f"import sys; sys.modules['{package}'] = None\n"
    code += "from skim.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", code, command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "pip install 'skim-od[cli]'" in result.stderr


@pytest.mark.parametrize("package", ["pyarrow", "skops.io", "jinja2"])
def test_a_missing_part_of_the_extra_is_named(folder, monkeypatch, package, tmp_path):
    monkeypatch.setitem(sys.modules, package, None)
    files = ["--save", tmp_path / "m.skops", "--report", tmp_path / "page.html"]
    result = run("detect", folder / "orders.csv", *files, *QUICK)
    assert_refused(result, "pip install 'skim-od[cli]'")


def test_help_is_quick_and_explains_exit_codes():
    code = "import sys; from skim.cli import _app; sys.exit('sklearn' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert "130 if interrupted" in " ".join(run("--help").stdout.split())
    for command in ("detect", "score", "review", "demo"):
        assert run(command, "--help").exit_code == 0


def test_models_of_wide_tables_are_saved_and_loaded(tmp_path):
    values = np.random.default_rng(0).normal(size=(60, 210))
    table, model = tmp_path / "wide.parquet", tmp_path / "model.skops"
    pd.DataFrame(values).add_prefix("x").to_parquet(table)
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    assert run("detect", table, "--output", first, "--save", model).exit_code == 0
    assert run("score", table, "--model", model, "--output", second).exit_code == 0
    columns = ["loss", "probability"]
    found, again = (pd.read_csv(path)[columns] for path in (first, second))
    pd.testing.assert_frame_equal(found, again)
