import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks.simulation._experiments import (
    simulated,
)
from benchmarks.simulation._stack import auroc, train
from tests.benchmarks.commands import run_command


def member(seed=0, **arguments):
    return simulated("variation", 1.0, seed, n_samples=200, **arguments)


def test_the_stack_trains_like_torch():
    stacked = member(0)  # its 200 rows are one batch, so no order of rows matters
    weights = stacked.weights
    train([stacked], epochs=20)
    W, A = (each.clone().requires_grad_() for each in (weights[0], weights[1].T))
    X = torch.from_numpy(stacked.X.astype(np.float32))
    adam = torch.optim.Adam([W, A], lr=2e-4)
    for expected in stacked.auroc:
        adam.zero_grad()
        losses = (torch.tanh(X @ W.T) @ A.T - X).square().sum(1)
        losses.mean().backward()
        adam.step()
        losses = (torch.tanh(X @ W.T) @ A.T - X).square().sum(1).detach().numpy()
        assert auroc(losses, stacked.y) == pytest.approx(expected, abs=2e-3)


def test_the_command_writes_tables_and_pictures(tmp_path):
    arguments = ["simulation", "--epochs", 2, "--seeds", 1, "--threads", 1]
    run_command(*arguments, "--output", tmp_path / "new")
    table = pd.read_csv(tmp_path / "new" / "windows.csv")
    assert set(table["experiment"]) == {
        "variation",
        "balance",
        "rate",
        "initialisation",
        "real",
    }
    for name in ("variation", "balance", "rate", "initialisation"):
        assert (tmp_path / "new" / f"{name}.svg").read_text().startswith("<?xml")
