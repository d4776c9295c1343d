"""Reproducible scores, complete pickles, light imports, no side effects."""

import importlib
import operator
import pickle
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pkgutil import iter_modules

import joblib
import numpy as np
import pytest
import skops.io
import torch

import skim._training
from tests.conftest import make_quick


def test_the_seed_alone_decides_about_the_scores(quick, fitted, table):
    detector = quick().fit(table[:100])  # and what was fitted before does not matter
    scores = detector.fit(table).training_scores_
    assert np.array_equal(scores, fitted.training_scores_)
    for other in (4, None, np.random.RandomState(1)):
        seen = scores
        detector.set_params(random_state=other)
        for _ in range(1 if other == 4 else 2):
            found = detector.fit(table).training_scores_
            assert not np.array_equal(found, seen)
            seen = found


def test_another_process_gives_bitwise_equal_scores(table, tmp_path):
    detectors = [make_quick(kind) for kind in ("altbi", "autoencoder", "network")]
    joblib.dump((detectors, table), tmp_path / "task.joblib")
    code = (
        "import sys, joblib, numpy as np\n"
        "detectors, table = joblib.load(sys.argv[1])\n"
        "scores = [each.fit(table).score_samples(table) for each in detectors]\n"
        "np.save(sys.argv[2], scores)\n"
    )
    arguments = [str(tmp_path / "task.joblib"), str(tmp_path / "scores.npy")]
    subprocess.run([sys.executable, "-c", code, *arguments], check=True)
    expected = [each.fit(table).training_scores_ for each in detectors]
    assert np.array_equal(np.load(tmp_path / "scores.npy"), expected)


def test_score_of_a_row_does_not_depend_on_its_batch_or_order(fitted, table):
    detector, scores = fitted, fitted.score_samples(table)
    order = np.random.default_rng(0).permutation(len(table))
    assert np.array_equal(detector.score_samples(table[order]), scores[order])
    alone = [detector.score_samples(table[i : i + 1]).item() for i in range(0, 300, 30)]
    assert np.array_equal(alone, scores[::30])
    many = detector.score_samples(np.tile(table, (20, 1)))
    assert np.array_equal(many, np.tile(scores, 20))


def test_nothing_is_printed_and_no_global_state_is_touched(quick, table, capfd):
    def states():
        return (
            pickle.dumps(np.random.get_state()),  # noqa: NPY002
            torch.get_rng_state().tolist(),
            random.getstate(),
            torch.get_num_threads(),
            torch.is_grad_enabled(),
            torch.get_default_dtype(),
        )

    before = states()
    quick(random_state=None).fit(table).explain(table)
    assert states() == before
    assert capfd.readouterr() == ("", "")


def test_files_keep_all_that_was_fitted(quick, table, tmp_path):
    gappy = np.where(table > 5, np.nan, table)
    detector = quick(store_snapshots=True).fit(gappy)
    detector.explain(gappy)  # so that something is cached
    joblib.dump(detector, tmp_path / "detector.joblib")
    data = skops.io.dumps(detector)
    untrusted = skops.io.get_untrusted_types(data=data)
    assert all(name.startswith("skim.") for name in untrusted)
    pickled = pickle.dumps(detector)
    assert b"torch" not in pickled
    assert len(pickled) < 1e6
    for copy in (
        pickle.loads(pickled),
        joblib.load(tmp_path / "detector.joblib"),
        skops.io.loads(data, trusted=untrusted),
    ):
        assert repr(copy) == repr(detector)
        assert np.array_equal(copy.score_samples(gappy), detector.training_scores_)
        *_, last = copy.staged_score_samples(gappy)
        assert np.array_equal(last, detector.training_scores_)
        assert copy.reasons(gappy[:5]).equals(detector.reasons(gappy[:5]))


def test_scoring_from_several_threads_is_safe():
    # Wide enough for the number of threads to matter.
    X = np.random.default_rng(0).normal(size=(600, 200))
    detector = make_quick("altbi").fit(X)
    expected = detector.score_samples(X)
    before = torch.get_num_threads()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(detector.score_samples, [X] * 24))
        inside = list(pool.map(lambda _: torch.get_num_threads(), range(8)))
    assert all(np.array_equal(scores, expected) for scores in results)
    assert {torch.get_num_threads(), *inside} == {before}


def modules_of(package):
    return [f"{package.__name__}.{m.name}" for m in iter_modules(package.__path__)]


@pytest.mark.parametrize(
    ("statements", "absent"),
    [
        (
            [
                "import skim",
                f"import {', '.join(modules_of(skim._training))}",
                "from skim._nets import *",
            ],
            "sklearn",
        ),
        (
            [
                "import skim._nets, skim._training",
                "from skim import *; ALTBIDetector(); import skim.datasets",
                "from skim.embedding import *; TabPFNEmbedder(); TextEmbedder()",
            ],
            "torch",
        ),
    ],
)
def test_imports_stay_light(statements, absent):
    lines = "\n".join(
        f"{statement}; assert {absent!r} not in sys.modules, {statement!r}"
        for statement in statements
    )
    subprocess.run([sys.executable, "-c", f"import sys\n{lines}"], check=True)


def test_public_names_are_found_and_others_are_not():
    public = [name for name in modules_of(skim) if "._" not in name]
    for name in ("skim", *public):
        module = importlib.import_module(name)
        assert module.__all__
        assert all(hasattr(module, each) for each in module.__all__)
        assert name == "skim.cli" or operator.attrgetter(name[5:] or "__doc__")(skim)
    assert set(skim.__all__) <= set(dir(skim))
    assert all(getattr(skim, name).__name__ == name for name in skim.__all__)
    with pytest.raises(AttributeError, match="no attribute 'IsolationForest'"):
        _ = skim.IsolationForest


def test_torchs_default_dtype_does_not_matter(quick, fitted, table):
    expected = fitted.training_scores_
    torch.set_default_dtype(torch.float64)
    try:
        found = quick().fit(table).training_scores_
    finally:
        torch.set_default_dtype(torch.float32)
    assert np.array_equal(found, expected)


def test_a_detector_from_a_lost_device_scores_on_the_cpu(table):
    detector = make_quick("altbi").fit(table)
    detector.model_ = replace(detector.model_, device="cuda:99")
    assert np.array_equal(detector.score_samples(table), detector.training_scores_)
