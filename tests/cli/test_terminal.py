"""What is shown on a terminal, and reviews on one."""

import os
import re
import select
import signal
import subprocess
import sys
from contextlib import redirect_stdout, suppress
from threading import Thread

import numpy as np
import pandas as pd
import pytest

from skim.cli._app import app

pty = pytest.importorskip("pty", reason="terminals of Unix")
termios = pytest.importorskip("termios")

STYLES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
PROMPT = "(q)uit: "


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


def stations(shown):
    return re.findall(r"^ *\d+  (station \d+)", shown, flags=re.MULTILINE)


# Lists ---------------------------------------------------------------------------


def test_the_strangest_rows_are_shown_with_reasons(on_terminal, table):
    raw, messages = on_terminal("detect", table)
    shown = STYLES.sub("", raw)
    header, first, *_ = shown.splitlines()
    assert header.split() == ["row", "station", "loss", "outlier", "reasons"]
    assert first.startswith(" 42  station 041")
    assert re.search(r"wind_speed 1048 \(expected [\d.]+ to [\d.]+\)", first)
    assert len(stations(shown)) == 10
    assert max(map(len, shown.splitlines())) <= 120
    assert "are outliers" in messages or "is an outlier" in messages


def test_reasons_are_wrapped_where_there_is_no_room(on_terminal, table):
    shown = STYLES.sub("", on_terminal("detect", table, "--top", 3, columns=50)[0])
    assert "wind_speed 1048" in shown.splitlines()[1]
    assert max(map(len, shown.splitlines())) <= 50
    assert len(stations(shown)) == 3


def test_as_many_rows_are_listed_as_are_wanted(on_terminal, table, tmp_path):
    for output in (f"{tmp_path}/found/", tmp_path / "found.csv"):
        shown, _ = on_terminal("detect", table, "-o", output, "--top", 100)
        shown = STYLES.sub("", shown)
        together = list(map(int, re.findall(r"(\d+) rows: ", shown)))
        assert len(stations(shown)) - len(together) + sum(together) == 100


def test_a_file_holds_all_rows_and_the_terminal_the_strangest(
    on_terminal, table, tmp_path
):
    path, model = tmp_path / "found.csv", tmp_path / "model.skops"
    raw, messages = on_terminal("detect", table, "-o", path, "--save", model)
    assert len(pd.read_csv(path)) == 300
    shown = STYLES.sub("", raw)
    assert len(stations(shown)) == 10
    reasons = pd.read_csv(path, index_col="station")["reasons"]
    assert reasons["station 041"] in " ".join(shown.split())
    assert f"Wrote {path}" in messages
    raw, messages = on_terminal("score", table, "--model", model, "--top", 1)
    assert stations(STYLES.sub("", raw)) == ["station 041"]
    assert "by the threshold of the training data" in messages
    assert on_terminal("detect", table, "-o", path, "--quiet") == ("", "")


def test_a_dash_writes_csv_even_to_a_terminal(on_terminal, table):
    shown, _ = on_terminal("detect", table, "-o", "-", "--top", 2, "-q")
    header, first, _ = shown.splitlines()
    assert header == "row,station,loss,probability,outlier,reasons"
    assert first.startswith("42,station 041,")


def test_rows_with_the_same_cause_are_one_entry_and_nothing_is_raw(
    on_terminal, table, tmp_path
):
    weather = pd.read_csv(table)
    weather.loc[[3, 90, 150, 200, 210, 220], "sky"] = "clera"
    weather.loc[5, "sky"] = "\x1b[2Jpink"
    weather.to_csv(tmp_path / "weather.csv", index=False)
    raw, _ = on_terminal("detect", tmp_path / "weather.csv", columns=200)
    (entry,) = re.findall(r"6 rows: (.*) \(rows ([\d, ]+), …\)", STYLES.sub("", raw))
    assert "clera" in entry[0]
    assert set(entry[1].split(", ")) < {"4", "91", "151", "201", "211", "221"}
    assert "pink" in raw
    assert "\x1b[2J" not in raw


# Reviews -------------------------------------------------------------------------


class Session:
    """A review in a terminal of 80 columns and 24 lines, in a process of its own."""

    def __init__(self, folder):
        self._ours, self.terminal = pty.openpty()
        self._seen = self.shown = ""
        size = {"COLUMNS": "80", "LINES": "24", "TERM": "xterm-256color"}
        command = "review orders.csv --labels labels.csv --strangest"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "skim", *command.split()],
            **dict.fromkeys(["stdin", "stdout", "stderr"], self.terminal),
            cwd=folder,
            env=os.environ | size | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)
        os.close(self._ours)

    def wait_for(self, text):
        """Return what appears up to a text."""
        while text not in self._seen:
            assert self._read(60), f"{text!r} did not appear in:\n{self.shown}"
        before, _, self._seen = self._seen.partition(text)
        return before

    def _read(self, timeout):
        if not select.select([self._ours], [], [], timeout)[0]:
            return False
        part = os.read(self._ours, 65536).decode(errors="replace")
        part = STYLES.sub("", part).replace("\r\n", "\n")
        self._seen += part
        self.shown += part
        return True

    def answer(self, *keys):
        """Give answers, each at the next prompt; return the orders asked about."""
        orders = []
        for key in keys:
            question = self.wait_for(PROMPT)
            orders += re.findall(r"^row \d+, order (.*)$", question, re.MULTILINE)
            os.write(self._ours, key.encode())
        return orders

    def end(self):
        """Wait for the end and return the exit code."""
        while self._read(1):
            pass
        return self.process.wait(60)


def labels_in(folder):
    table = pd.read_csv(folder / "labels.csv", dtype=str, keep_default_na=False)
    return dict(zip(table["order"], table["label"], strict=True))


def test_reviews_are_killed_continued_and_interrupted(tmp_path):
    rng = np.random.default_rng(0)
    orders = pd.DataFrame({"order": [f"A-{i:02d}" for i in range(60)]})
    orders["price"] = rng.normal(50, 10, 60).round(2)
    orders["weight"] = rng.normal(5, 1, 60).round(2)
    orders.loc[30, "price"] = 900.0
    orders.to_csv(tmp_path / "orders.csv", index=False)
    with Session(tmp_path) as session:
        first = session.answer(*["y\n", "n\n", "s\n", "u\n", "y\n", "n\n"])
        assert first[0] == "A-30"
        assert re.search(r"\* +price +900 +\S+ to \S+", session.shown)
        session.wait_for(PROMPT)
        session.process.kill()
        session.end()
    answered = labels_in(tmp_path)
    assert list(answered.values()) == ["1", "0", "1", "0"]
    assert set(answered) <= set(first)
    assert sorted(os.listdir(tmp_path)) == ["labels.csv", "orders.csv"]

    with Session(tmp_path) as session:
        before = termios.tcgetattr(session.terminal)
        session.wait_for("Learning 4 labels (2 outliers, 2 inliers)")
        second = session.answer("n\n", "y\n", "u\n", "?\n")
        session.wait_for(PROMPT)
        session.process.send_signal(signal.SIGINT)
        assert session.end() == 130
        assert not set(second) & set(answered)
        assert "Please select one of the available options" in session.shown
        assert "Interrupted; all answers are in labels.csv." in session.shown
        assert "Traceback" not in session.shown
        shown = session.shown[session.shown.index("Question 1") :]
        lines = [line for line in shown.splitlines() if PROMPT not in line]
        assert max(map(len, lines)) <= 80
        assert termios.tcgetattr(session.terminal) == before
    assert list(labels_in(tmp_path).values()) == ["1", "0", "1", "0", "0", ""]
