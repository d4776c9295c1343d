"""Large numbers, wide tables, busy processors, models of other versions."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import InconsistentVersionWarning
from threadpoolctl import threadpool_info, threadpool_limits

import skim
from skim import IMBoostDetector
from skim._detectors._imboost import LabelModel
from skim._model import _scaling
from skim._model._expectations import CellExpectations
from skim._model._fitted import FittedModel
from skim._nets import compute
from tests.conftest import make_quick


def blas_threads():
    return [
        library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas"
    ]


def test_blas_has_one_thread_while_a_detector_works(monkeypatch, table):
    inside = {}

    def watch(owner, name):
        def watched(*args, **kwargs):
            inside[owner, name] = set(blas_threads())
            return original(*args, **kwargs)

        original = getattr(owner, name)
        monkeypatch.setattr(owner, name, watched)

    for owner, name in (
        (_scaling.InputScaler, "fit"),
        (FittedModel, "losses"),
        (FittedModel, "contributions"),
        (CellExpectations, "predict"),
        (LabelModel, "fit"),
        (LabelModel, "most_informative"),
    ):
        watch(owner, name)
    with threadpool_limits(2, user_api="blas"):
        labels = np.where(np.arange(300) % 50 == 0, 0.0, np.nan)
        detector = IMBoostDetector(make_quick("altbi")).fit(table, labels=labels)
        detector.explain(table[:5])
        detector.reasons(table[:5])
        detector.query(3)
        assert set(blas_threads()) == {2}
        with pytest.raises(KeyError), compute():
            raise KeyError
        assert set(blas_threads()) == {2}
    assert list(inside.values()) == [{1}] * 6


@pytest.mark.parametrize("kind", ["altbi", "autoencoder"])
def test_numbers_next_to_the_largest_give_no_warning_in_wide_tables(kind):
    X = np.random.default_rng(0).normal(size=(60, 2000))
    giant = X.copy()
    giant[3, 1::4], giant[4, 1::4] = 1e308, -1e308
    for training in (X, giant):
        detector = make_quick(kind, epochs=4).fit(training)
        for scores in (detector.score_samples(giant), detector.explain(giant)):
            assert np.isfinite(scores).all()
        detector.reasons(giant[:5])


def test_pickles_of_another_version_warn(fitted, table, monkeypatch):
    same = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(same.score_samples(table), fitted.training_scores_)
    assert "_skim_version" not in vars(same)
    for version in ("0.0.9", None):
        state = fitted.__getstate__()
        assert state.pop("_skim_version") == skim.__version__
        if version is not None:
            state["_skim_version"] = version
        name, found = type(fitted).__name__, version or "unknown"
        with pytest.warns(
            InconsistentVersionWarning, match=f"skim.{name} from .*{found}"
        ):
            type(fitted)().__setstate__(state)


def test_a_model_of_another_layout_is_refused_in_a_sentence(fitted):
    state = fitted.model_.__getstate__()
    state["stages"] = state.pop("snapshots")
    with pytest.raises(ValueError, match=r"another version of skim .* fit it again"):
        FittedModel.__new__(FittedModel).__setstate__(state)
