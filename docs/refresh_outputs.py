"""Run the commands of a page and put their outputs into it.

    python -m docs.refresh_outputs docs/command_line.rst

Python after a comment ``.. run`` is executed, and so are the commands in console
blocks after one, in a folder of their own and on a terminal of 100 columns.
"""

import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.portable import PORTABLE

TERMINAL = {"COLUMNS": "100", "LINES": "40", "TERM": "dumb"}
STYLES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
BLOCK = re.compile(
    r"^\.\. run\n\n(?:\.\. code-block:: (\w+)\n\n|.*?::\n\n)((?:[ ]{3,}.*\n|\n)+)",
    re.MULTILINE,
)


def refresh(text):
    """Return a page with the outputs of its commands."""
    with tempfile.TemporaryDirectory() as folder:
        return BLOCK.sub(lambda block: _refresh_block(block, folder), text)


def _refresh_block(block, folder):
    body = block[2]
    if block[1] != "console":
        lines = [line[4:] for line in body.splitlines()]
        subprocess.run([sys.executable, "-c", "\n".join(lines)], cwd=folder, check=True)
        return block[0]
    commands = [line[5:] for line in body.splitlines() if line.startswith("   $ ")]
    shown = []
    for command in commands:
        shown += [
            f"   $ {command}",
            *(f"   {line}" for line in _output(command, folder)),
        ]
    content = "\n".join(line.rstrip() for line in shown)
    return block[0][: block.start(2) - block.start()] + content + "\n\n"


def _output(command, folder):
    """Return the lines that a command shows on a terminal."""
    ours, theirs = pty.openpty()
    environment = os.environ | PORTABLE | TERMINAL
    run = command.replace("skim ", f"{sys.executable} -m skim ", 1)
    process = subprocess.Popen(
        run, shell=True, cwd=folder, env=environment, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    parts = []
    try:
        while part := os.read(ours, 65536):
            parts.append(part)
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    if process.wait():
        raise RuntimeError(f"{command} failed: {b''.join(parts).decode()}")
    return STYLES.sub("", b"".join(parts).decode()).replace("\r\n", "\n").splitlines()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(refresh(page.read_text("utf-8")), "utf-8")
