import numpy as np
import pytest
import torch

from benchmarks._shared.detectors import Detector
from benchmarks.weights import find
from skim.embedding import MissingWeightsError


@pytest.fixture
def own_data(tmp_path, table, is_outlier):
    """Paths of two files of one's own."""
    paths = [tmp_path / "first.npz", tmp_path / "second.npz"]
    np.savez(paths[0], X=table, y=is_outlier)
    np.savez(paths[1], X=table[::-1, :4], y=is_outlier[::-1])
    return paths


@pytest.fixture
def short_training(monkeypatch):
    """Makes every detector a single network that is trained for two epochs."""
    build = Detector.build
    monkeypatch.setattr(
        Detector,
        "build",
        lambda self, **kw: build(self, **kw).set_params(epochs=2, n_estimators=1),
    )


@pytest.fixture
def torch_kept():
    """Restores torch's threads and random state afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng():
        yield
    torch.set_num_threads(before)


@pytest.fixture
def cached():
    """Returns the path of a package's files, or skips the test without them."""

    def path_of(name):
        try:
            return find(name)
        except MissingWeightsError:
            pytest.skip("weights not cached: make weights")

    return path_of
