"""The study of images, on sets that are small."""

import numpy as np
import pandas as pd

from tests.benchmarks.commands import run_command, run_twice


def test_the_command_resumes_and_summarises(tmp_path, short_training):
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(10), 100))
    pixels = rng.integers(0, 100, (len(labels), 3, 4), dtype=np.uint8)
    output = tmp_path / "new" / "results.csv"
    command = ["images", "--representation", "raw", "--classes", 1, "--seeds", 1]
    command += ["--data", "CIFAR10", "--folder", tmp_path]
    assert "CIFAR10.npz" in run_command(*command, exit_code=2)
    np.savez(tmp_path / "CIFAR10.npz", images=pixels, labels=labels)
    run_twice(*command, output=output)
    assert len(output.read_text().splitlines()) == 1 + 2
    summary = pd.read_csv(output.with_name("summary.csv"))
    assert summary["runs of raw"].tolist() == [1, 1, 0, 0] * 2
