"""The command line: ``skim --help``."""

import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    try:
        from skim.cli._app import app
    except ImportError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        sys.exit(
            f"skim: The command line needs {error.name}: pip install 'skim-od[cli]'"
        )
    # Clean up on SIGTERM as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    app(prog_name="skim")
