import numpy as np
import pytest
import torch

from skim._training._train import COLUMNS, QUANTILES, History


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (3, 7), (5, 256)])
def test_quantiles_are_those_of_numpy(shape):
    losses = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    history = History("run", total=1)
    history.record(1, 5, shape[1], losses)
    columns = history.columns()
    assert tuple(columns) == COLUMNS
    found = [columns[name].item() for name in COLUMNS if name.startswith("loss_q")]
    expected = np.quantile(losses.double().numpy(), QUANTILES)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_the_progress_bar_says_why_it_ended_early(capsys):
    history = History("Run", total=4, verbose=1, on_entry=lambda: True)
    assert history.record(1, 5, 3, torch.ones(1, 3))
    history.close()
    bar = "[=======                       ] 1/4"
    expected = f"\rRun {bar} median loss 1.000 (stopped by a callback)\n"
    assert capsys.readouterr().err == expected
