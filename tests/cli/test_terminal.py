"""What is shown on a terminal."""

import os
import re
from contextlib import redirect_stdout, suppress
from threading import Thread

import numpy as np
import pandas as pd
import pytest

from skim.cli._app import app

pty = pytest.importorskip("pty", reason="terminals of Unix")

STYLES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Weather with a wind speed that is a slip of the finger."""
    rng = np.random.default_rng(0)
    n = 300
    weather = pd.DataFrame(
        {
            "station": [f"station {i:03d}" for i in range(n)],
            "wind_speed": rng.normal(10, 3, n).round(1),
            "gusts": rng.normal(20, 3, n).round(1),
            "sky": rng.choice(["clear", "cloudy"], n),
            "humidity": rng.integers(40, 90, n),
        }
    )
    weather.loc[41, "wind_speed"] = 1048.0
    path = tmp_path_factory.mktemp("terminal") / "weather.csv"
    weather.to_csv(path, index=False)
    return path


@pytest.fixture
def on_terminal(monkeypatch, capfd):
    """Runs a command with standard output on a terminal; returns what appears there."""

    def on_terminal(*arguments, columns=120):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "xterm-256color")
        ours, theirs = pty.openpty()
        shown = []
        reader = Thread(target=read_all, args=(ours, shown))
        reader.start()
        with os.fdopen(theirs, "w") as terminal, redirect_stdout(terminal):
            app([str(argument) for argument in arguments], standalone_mode=False)
        reader.join()
        os.close(ours)
        return b"".join(shown).decode().replace("\r\n", "\n"), capfd.readouterr().err

    return on_terminal


def read_all(terminal, parts):
    """Read until the other end is closed."""
    with suppress(OSError):
        while part := os.read(terminal, 65536):
            parts.append(part)


def test_the_strangest_rows_are_shown_with_their_cells_marked(on_terminal, table):
    raw, messages = on_terminal("detect", table)
    shown = STYLES.sub("", raw)
    header, first, *_ = shown.splitlines()
    names = "row station loss outlier wind_speed gusts sky humidity reasons"
    assert header.split() == names.split()
    assert first.startswith(" 42  station 041")
    assert "\x1b[1;31m     1048*" in raw
    assert re.search(r"wind_speed 1048 \(expected [\d.]+ to [\d.]+\)", first)
    assert len(re.findall(r"^ *\d+  station \d", shown, flags=re.MULTILINE)) == 10
    assert max(map(len, shown.splitlines())) <= 120
    assert "are outliers" in messages or "is an outlier" in messages


def test_control_characters_in_the_data_do_not_reach_the_terminal(
    on_terminal, table, tmp_path
):
    path = tmp_path / "weather.csv"
    path.write_text(table.read_text().replace("cloudy", "\x1b[2Jpink", 1))
    raw, _ = on_terminal("detect", path)
    assert "pink" in raw
    assert "\x1b[2J" not in raw


def test_only_reasons_are_shown_where_there_is_no_room(on_terminal, table):
    raw, _ = on_terminal("detect", table, "--top", 3, columns=70)
    shown = STYLES.sub("", raw)
    header, first, *_ = shown.splitlines()
    assert header.split() == ["row", "station", "loss", "outlier", "reasons"]
    assert "wind_speed 1048" in first
    assert max(map(len, shown.splitlines())) <= 70
    assert len(re.findall(r"^ *\d+  station \d", shown, flags=re.MULTILINE)) == 3


def test_a_file_holds_all_rows_and_the_terminal_the_strangest(
    on_terminal, table, tmp_path
):
    path = tmp_path / "found.csv"
    raw, messages = on_terminal("detect", table, "-o", path)
    assert len(pd.read_csv(path)) == 300
    shown = STYLES.sub("", raw)
    assert len(re.findall(r"^ *\d+  station \d", shown, flags=re.MULTILINE)) == 10
    reasons = pd.read_csv(path, index_col="station")["reasons"]
    flat = " ".join(shown.split())
    assert reasons["station 041"] in flat
    assert f"Wrote {path}" in messages
    again, messages = on_terminal("detect", table, "-o", path, "--quiet")
    assert again == messages == ""


def test_a_dash_writes_csv_even_to_a_terminal(on_terminal, table):
    shown, _ = on_terminal("detect", table, "-o", "-", "--top", 2, "-q")
    header, first, _ = shown.splitlines()
    assert header == "row,station,loss,probability,outlier,reasons"
    assert first.startswith('42,"station 041",')


def test_new_rows_are_shown_as_well(on_terminal, table, tmp_path):
    save = ["--save", tmp_path / "model.skops", "-o", os.devnull, "--quiet"]
    on_terminal("detect", table, *save)
    model = ["--model", tmp_path / "model.skops", "--top", 1]
    raw, messages = on_terminal("score", table, *model)
    assert "station 041" in raw
    assert "1048*" in raw
    assert "by the threshold of the training data" in messages


def test_rows_with_the_same_cause_are_one_entry(on_terminal, table, tmp_path):
    weather = pd.read_csv(table)
    weather.loc[[3, 90, 150, 200, 210, 220], "sky"] = "clera"
    weather.to_csv(tmp_path / "weather.csv", index=False)
    raw, messages = on_terminal("detect", tmp_path / "weather.csv", columns=200)
    (entry,) = re.findall(r"6 rows: (.*) \(rows ([\d, ]+), …\)", STYLES.sub("", raw))
    assert "clera" in entry[0]
    assert set(entry[1].split(", ")) < {"4", "91", "151", "201", "211", "221"}
    assert "Rows with the same cause are one entry; --output has them all." in messages
