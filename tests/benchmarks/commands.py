"""Commands of the benchmarks, as a user would run them."""

from typer.testing import CliRunner

from benchmarks.__main__ import app


def run_command(*arguments, exit_code=0):
    """Run a command, check how it ends, and return what it prints, on one line."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == exit_code, result.output
    return " ".join(result.output.replace("│", " ").split())
