"""The command line: ``skim --help``."""

import signal
import sys


def main():
    """Run the command line."""
    try:
        from skim.cli._app import app
    except ImportError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        sys.exit(f"skim: The command line needs {error.name}: pip install 'skim[cli]'")
    # Ended from outside, it tidies up all the same.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    app(prog_name="skim")
