from statistics import mean

import pytest

from skim.datasets import list_adbench, load_published_scores


def test_averages_are_those_of_the_paper():
    auroc, auprc = load_published_scores("auroc"), load_published_scores("auprc")
    averages = {
        "ALTBI": (0.757, 0.350),
        "ALTBI+EMA": (0.762, 0.349),
        "ALTBI+EMA+embedding": (0.766, 0.352),
        "ODIM": (0.751, 0.334),
        "IForest": (0.737, 0.336),
        "MCD": (0.748, 0.337),
    }
    for method, (roc, prc) in averages.items():
        assert mean(auroc[method].values()) == pytest.approx(roc, abs=6e-4)
        assert mean(auprc[method].values()) == pytest.approx(prc, abs=6e-4)


def test_every_method_has_every_data_set():
    scores = load_published_scores()
    assert len(scores) == 28
    assert all(len(values) == 57 for values in scores.values())
    assert set(list_adbench("tabular")) < set(scores["MCD"])
    with pytest.raises(ValueError, match="metric must be one of"):
        load_published_scores("f1")
