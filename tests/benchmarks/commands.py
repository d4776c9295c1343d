"""Commands of the benchmarks, as a user would run them."""

from pathlib import Path

from typer.testing import CliRunner

from benchmarks.__main__ import app


def run_command(*arguments, exit_code=0):
    """Run a command, check how it ends, and return what it prints, on one line."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == exit_code, result.output
    return " ".join(result.output.replace("│", " ").split())


def run_twice(*arguments, output):
    """Run a command, check that it has nothing to do again, return what it prints."""
    told = run_command(*arguments, "--output", output)
    paths = list(Path(output).iterdir()) if Path(output).is_dir() else [output]
    before = [path.read_bytes() for path in paths]
    run_command(*arguments, "--output", output)
    assert [path.read_bytes() for path in paths] == before
    return told
