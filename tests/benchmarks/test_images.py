"""The study of images, on sets that are small."""

import numpy as np
import pandas as pd

from benchmarks.images import select
from tests.benchmarks.commands import run_command, run_twice


def test_pixels_are_scaled_and_reduced():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), 200)
    pixels = rng.integers(0, 256, (2000, 12, 12), dtype=np.uint8)
    X, y = select(pixels, labels, 0, seed=0)
    assert X.shape == (len(y), 128)
    small, _ = select(pixels[:, :4, :4], labels, 0, seed=0)
    assert small.shape == (len(y), 16)
    assert 0.9 < small.max() <= 1


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
