"""What all commands have in common."""

import pytest

from tests.benchmarks.commands import run_command


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("accuracy", ["--data", "--topic", "--part", "--detector"]),
        ("contrastive", ["--data"]),
        ("judgement", ["--data", "--part"]),
        ("scale", ["--step", "--data"]),
        ("networks", ["--data", "--detector", "--network"]),
        ("images", ["--data", "--method", "--representation"]),
        ("stopping", ["--data", "--detector"]),
        ("tabpfn", ["--data", "--method", "--column"]),
        ("texts", ["--topic", "--method", "--representation"]),
    ],
)
def test_unknown_names_are_refused_before_anything_is_written(
    tmp_path, command, options
):
    output = tmp_path / "none"
    for option in options:
        told = run_command(command, option, "colour", "--output", output, exit_code=2)
        assert "'colour'" in told
    assert not output.exists()
