"""Reviews in a real terminal."""

import os
import re
import select
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from skim.cli._keys import Keys

pty = pytest.importorskip("pty", reason="terminals of Unix")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")

STYLES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
PROMPT = "(q)uit: "


class Session:
    """A command in a terminal of 80 columns and 24 lines."""

    def __init__(self, *arguments, folder):
        self._ours, self.terminal = pty.openpty()
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, b"\x18\0\x50\0\0\0\0\0")
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("COLUMNS", "LINES")
        }
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        self._seen = ""
        self.shown = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "skim", *map(str, arguments)],
            stdin=self.terminal,
            stdout=self.terminal,
            stderr=self.terminal,
            cwd=folder,
            env=environment | {"TERM": "xterm-256color"},
            preexec_fn=self._own_terminal,
        )

    def _own_terminal(self):
        """Make it the controlling terminal, so that Ctrl-C reaches the command."""
        os.setsid()
        fcntl.ioctl(self.terminal, termios.TIOCSCTTY, 0)

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
        """Press keys, each at the next prompt; return the orders asked about."""
        orders = []
        for key in keys:
            question = self.wait_for(PROMPT)
            orders += re.findall(r"^row \d+, order (.*)$", question, re.MULTILINE)
            os.write(self._ours, key.encode())
        return orders

    def end(self):
        """Wait for the end and return the exit code."""
        while self.process.poll() is None:
            self._read(0.05)
        while self._read(0.05):
            pass
        return self.process.returncode


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("review")
    rng = np.random.default_rng(0)
    orders = pd.DataFrame(
        {
            "order": [f"A-{i:02d}" for i in range(60)],
            "price": rng.normal(50, 10, 60).round(2),
            "weight": rng.normal(5, 1, 60).round(2),
        }
    )
    orders.loc[30, "price"] = 900.0
    orders.to_csv(folder / "orders.csv", index=False)
    return folder


def labels_in(folder):
    table = pd.read_csv(folder / "labels.csv", dtype=str, keep_default_na=False)
    return dict(zip(table["order"], table["label"], strict=True))


def test_reviews_on_a_terminal(folder):
    """Single keys, a kill, a continuation and an interruption."""
    command = ["review", "orders.csv", "--labels", "labels.csv", "--ask", "strangest"]
    with Session(*command, folder=folder) as session:
        first = session.answer("y", "n", "s", "u", "y", "n")
        assert first[0] == "A-30"
        assert re.search(r"\* +price +900 +\S+ to \S+", session.shown)
        session.wait_for(PROMPT)
        session.process.kill()
        session.end()
    answered = labels_in(folder)
    assert list(answered.values()) == ["1", "0", "1", "0"]
    assert set(answered) <= set(first)
    assert sorted(os.listdir(folder)) == ["labels.csv", "orders.csv"]

    with Session(*command, folder=folder) as session:
        before = termios.tcgetattr(session.terminal)
        session.wait_for("Learning 4 labels (2 outliers, 2 inliers)")
        second = session.answer("n", "Y", "q")
        assert session.end() == 0
        assert not set(second) & set(answered)
        assert "2 answers; labels.csv now has 6 labels" in session.shown
        assert "The threshold agrees with" in session.shown
        shown = session.shown[session.shown.index("Question 1") :]
        assert max(map(len, shown.splitlines())) <= 80
        assert termios.tcgetattr(session.terminal) == before
    assert list(labels_in(folder).values()) == ["1", "0", "1", "0", "0", "1"]

    with Session(*command, folder=folder) as session:
        before = termios.tcgetattr(session.terminal)
        session.answer("u", "\x03")
        assert session.end() == 130
        assert "Interrupted; all answers are in labels.csv." in session.shown
        assert "Traceback" not in session.shown
        assert termios.tcgetattr(session.terminal) == before
    assert list(labels_in(folder).values()) == ["1", "0", "1", "0", "0"]


def test_keys_pressed_too_early_and_arrows_are_no_answers(monkeypatch):
    ours, theirs = pty.openpty()
    read = os.read

    def reading(fd, n):
        data = read(fd, n)
        if data.startswith(b"\x1b"):
            os.write(ours, b"N")
        return data

    with open(theirs) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        monkeypatch.setattr(os, "read", reading)
        with Keys() as keys:
            os.write(ours, b"y")
            assert select.select([terminal], [], [], 60)[0]
            keys.drop()
            assert not select.select([terminal], [], [], 0)[0]
            os.write(ours, b"\x1b[A")
            assert keys.read() == "n"
            os.write(ours, b"\x04")
            assert keys.read() == ""
    os.close(ours)
