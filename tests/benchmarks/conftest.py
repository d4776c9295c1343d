import numpy as np
import pytest

from benchmarks._shared.detectors import Detector


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
