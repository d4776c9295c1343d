"""Answers by single keys on a terminal, and by lines elsewhere."""

import os
import select
import sys

try:
    import termios
    import tty
except ImportError:  # Windows
    termios = tty = None  # type: ignore[assignment]

PATIENCE = 0.5  # seconds
END, ESCAPE = "\x04", "\x1b"  # Ctrl-D closes the input


class Keys:
    """Reads one answer at a time from standard input.

    On a terminal, a key is an answer, and keys are not echoed while the context is
    open. Elsewhere, an answer is the first letter of a line.
    """

    def __init__(self):
        self.is_terminal = sys.stdin.isatty() and termios is not None

    def __enter__(self):
        if self.is_terminal:
            self._before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin, termios.TCSADRAIN)
        return self

    def __exit__(self, *_):
        if self.is_terminal:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)

    def drop(self):
        """Forget keys that were pressed before there was a question."""
        if self.is_terminal:
            termios.tcflush(sys.stdin, termios.TCIFLUSH)

    def read(self):
        """Return the next answer in lower case, "" at the end of the input."""
        if not self.is_terminal:
            line = sys.stdin.readline()
            return line.strip()[:1].lower() or ("\n" if line else "")
        while True:
            while not select.select([sys.stdin], [], [], PATIENCE)[0]:
                # Shells undo it when they continue what was suspended.
                tty.setcbreak(sys.stdin, termios.TCSADRAIN)
            keys = os.read(sys.stdin.fileno(), 1024).decode(errors="replace")
            if not keys.startswith(ESCAPE):  # of arrows and function keys
                return keys[:1].replace(END, "").lower()
