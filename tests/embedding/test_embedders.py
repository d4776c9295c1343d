"""What all embedders have in common."""

import copy
import logging
import os
import pickle
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from skim.embedding import (
    MissingWeightsError,
    TabPFNEmbedder,
    TextEmbedder,
    ViTEmbedder,
    weights_home,
)
from tests.embedding.conftest import global_state, save_quietly, vit_config

BLANK = np.zeros((1, 4, 4))

# scikit-learn skips these for estimators of images or texts, but they need no data.
CHECKS = [
    estimator_checks.check_estimator_cloneable,
    estimator_checks.check_estimator_repr,
    estimator_checks.check_get_params_invariance,
    estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_param_validation,
    estimator_checks.check_parameters_default_constructible,
]


@parametrize_with_checks([TabPFNEmbedder()])
def test_scikit_learn_contract(estimator, check, arguments):
    check(estimator.set_params(**arguments[type(estimator)]))


@pytest.mark.parametrize("cls", [TextEmbedder, ViTEmbedder])
def test_scikit_learn_contract_beside_the_data(cls, arguments):
    for check in CHECKS:
        check(cls.__name__, cls(**arguments[cls]))


ALONE = """
import socket, sys, warnings
warnings.simplefilter("error")
tried = []
def refuse(*args, **kwargs):
    tried.append(args)
    raise OSError("no network")
socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
import numpy as np
from skim.embedding import TabPFNEmbedder, TextEmbedder, ViTEmbedder
ViTEmbedder(model=sys.argv[1]).fit_transform(np.zeros((2, 4, 4)))
TextEmbedder(model=sys.argv[2]).fit_transform(["paid", "cat"])
with warnings.catch_warnings(action="ignore"):  # those of tabpfn's own import
    TabPFNEmbedder(model=sys.argv[3]).fit_transform(np.random.rand(9, 3))
assert "torchvision" not in sys.modules
assert not tried, tried
"""


def test_local_checkpoints_need_no_network_no_torchvision_and_print_nothing(
    vit_folder, text_folder, regressor
):
    done = subprocess.run(
        [sys.executable, "-c", ALONE, vit_folder, text_folder, regressor],
        capture_output=True,
        text=True,
        env={name: os.environ[name] for name in os.environ if "HF_" not in name},
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_nothing_is_printed_and_no_global_state_is_touched(case, capfd, monkeypatch):
    monkeypatch.setattr(logging.getLogger("tabpfn"), "level", logging.ERROR)
    before = global_state()
    case.make().fit_transform(case.X)
    assert global_state() == before
    assert capfd.readouterr() == ("", "")


def test_output_can_be_a_data_frame_with_names_and_index(case):
    is_table = isinstance(case.X, np.ndarray) and case.X.ndim == 2
    index = np.arange(len(case.X)) + 7
    columns = list("abcde") if is_table else ["x"]
    X = [*case.X] if is_table else [[item] for item in case.X]
    X = pd.DataFrame(X, columns=columns, index=index)
    embedder = case.make().set_output(transform="pandas")
    embedding = embedder.fit_transform(X)
    assert_array_equal(embedding.index, index)
    assert_array_equal(embedding, case.expected)
    names = [f"{case.cls.__name__.lower()}{i}" for i in range(embedding.shape[1])]
    assert list(embedding.columns) == list(embedder.get_feature_names_out()) == names
    embedder.set_output(transform="polars")
    assert_array_equal(embedder.transform(X).to_numpy(), case.expected)
    if is_table:
        assert list(embedder.feature_names_in_) == columns
        found = embedder.fit_transform(pl.from_pandas(X))
        assert_array_equal(found, case.expected)


def test_embedding_of_a_row_does_not_depend_on_its_batch(case):
    order = np.random.default_rng(0).permutation(len(case.X))
    shuffled = case.fitted.transform([case.X[row] for row in order])
    one_by_one = [case.fitted.transform([row])[0] for row in case.X[:7]]
    # Padding and the kernels for a batch of one round differently.
    atol = 0 if case.cls is TabPFNEmbedder else 1e-6
    assert_allclose(shuffled, case.expected[order], rtol=0, atol=atol)
    assert_allclose(one_by_one, case.expected[:7], rtol=0, atol=atol)


def test_copies_give_the_same(case):
    data = skops.io.dumps(case.fitted)
    trusted = skops.io.get_untrusted_types(data=data)
    assert all(name.startswith("skim.") for name in trusted)
    for again in (
        pickle.loads(pickle.dumps(case.fitted)),
        skops.io.loads(data, trusted=trusted),
        copy.deepcopy(case.fitted),
        clone(case.fitted).fit(case.X),
    ):
        assert_array_equal(again.transform(case.X), case.expected)


def test_pickles_are_small_and_need_the_weights_where_they_are_loaded(case, tmp_path):
    model = Path(case.make().model)
    own = tmp_path / model.name
    shutil.copy(model, own) if model.is_file() else shutil.copytree(model, own)
    stored = pickle.dumps(case.make(model=str(own)).fit(case.X))
    assert len(stored) < 5_000
    own.rename(tmp_path / "elsewhere")
    with pytest.raises(MissingWeightsError):
        pickle.loads(stored).transform(case.X)


def test_fitted_embedder_from_a_lost_device_works_on_the_cpu(case):
    lost = pickle.loads(pickle.dumps(case.fitted))
    lost.device_ = "cuda:99"
    assert_array_equal(lost.transform(case.X), case.expected)
    with pytest.raises(ValueError, match="use 'cpu' or 'auto'"):
        case.make(device="cuda:99").fit(case.X)


def test_threads_may_share_an_embedder(case):
    shared = pickle.loads(pickle.dumps(case.fitted))  # not loaded yet
    parts = [case.X[row:] for row in (0, 3, 0, 5, 2, 0)]
    parallel = joblib.Parallel(4, prefer="threads")
    found = parallel(joblib.delayed(shared.transform)(part) for part in parts)
    for part, embedding in zip(parts, found, strict=True):
        assert_array_equal(embedding, case.fitted.transform(part))


HUB_NAMES = {
    TabPFNEmbedder: "v2",
    TextEmbedder: "some/model",
    ViTEmbedder: "some/model",
}


@pytest.fixture
def no_weights(tmp_path, monkeypatch):
    """Refuses connections, which are recorded, and hides all weights."""
    asked = []

    def refuse(*args, **kwargs):
        asked.append(args)
        raise socket.gaierror("no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setenv("SKIM_WEIGHTS_HOME", str(tmp_path))
    cache = "tabpfn.settings.settings.tabpfn.model_cache_dir"
    monkeypatch.setattr(cache, tmp_path / "cache")
    return asked


@pytest.mark.parametrize("offline", [True, False])
def test_missing_weights_are_explained(case, monkeypatch, no_weights, offline):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", offline)
    name = HUB_NAMES[case.cls]
    with pytest.raises(MissingWeightsError, match=rf"{name}.*\$SKIM_WEIGHTS_HOME"):
        case.make(model=name).fit(case.X)
    assert bool(no_weights) != offline


def test_weights_are_found_in_their_home(case, no_weights, tmp_path):
    model = Path(case.make().model)
    (tmp_path / "some").mkdir()
    is_file = case.cls is TabPFNEmbedder
    for place in (model.name,) if is_file else ("some/model", "model"):
        (tmp_path / place).symlink_to(model)
        assert weights_home() == tmp_path
        found = case.make(model=HUB_NAMES[case.cls]).fit(case.X)
        assert_array_equal(found.transform(case.X), case.expected)
        (tmp_path / place).unlink()
    assert no_weights == []


def test_missing_extra_is_named(case, monkeypatch):
    extras = {TabPFNEmbedder: "tabpfn", TextEmbedder: "text", ViTEmbedder: "vit"}
    needed = {TabPFNEmbedder: ["tabpfn"], ViTEmbedder: ["transformers", "PIL.Image"]}
    for package in needed.get(case.cls, ["transformers"]):
        monkeypatch.setitem(sys.modules, package, None)
        message = rf"needs {package[:3]}.*'skim-od\[{extras[case.cls]}\]'"
        with pytest.raises(ImportError, match=message):
            case.make().fit(case.X)


def test_folders_that_are_not_checkpoints_are_refused(
    tmp_path, text_folder, vit_folder, vit_processor, monkeypatch
):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    embedder = ViTEmbedder(model=tmp_path)
    with pytest.raises(MissingWeightsError, match=r"were not found"):
        embedder.fit(BLANK)
    shutil.copy(Path(text_folder) / "config.json", tmp_path)
    torch.save({}, tmp_path / "pytorch_model.bin")  # a pickle, which can run code
    with pytest.raises(ValueError, match=r"Cannot load .* model.safetensors"):
        embedder.fit(BLANK)
    shutil.copy(Path(text_folder) / "model.safetensors", tmp_path)
    with pytest.raises(ValueError, match=r"Cannot load the checkpoint"):
        embedder.fit(BLANK)
    save_quietly(tmp_path, vit_processor)
    with pytest.raises(ValueError, match=r"not a model of images"):
        embedder.fit(BLANK)
    folder = shutil.copytree(vit_folder, tmp_path / "vit")
    vit_config(num_hidden_layers=3).save_pretrained(folder)
    with pytest.raises(ValueError, match=r"Cannot load .* it lacks \d+ weights"):
        ViTEmbedder(model=folder).fit(BLANK)
    vit_config().save_pretrained(folder)
    for path in Path(text_folder).glob("*token*"):
        shutil.copy(path, folder)
    with pytest.raises(ValueError, match=r"not a model of texts"):
        TextEmbedder(model=folder).fit(["cat"])
