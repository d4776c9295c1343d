"""What all embedders have in common, above all those with a checkpoint."""

import copy
import os
import pickle
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from skim.embedding import MissingWeightsError, TextEmbedder, ViTEmbedder
from tests.embedding.conftest import (
    CHECKS,
    global_state,
    save_quietly,
    vit_config,
)

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

BLANK = np.zeros((1, 4, 4))


def test_embedders_are_constructed_without_their_heavy_dependencies():
    code = (
        "import sys; from skim import embedding as e;"
        "e.ContrastiveEmbedder(), e.TabPFNEmbedder();"
        "e.TextEmbedder(), e.ViTEmbedder();"
        "assert not {'PIL', 'tabpfn', 'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


ALONE = """
import socket, sys, warnings
warnings.simplefilter("error")
tried = []
def refuse(*args, **kwargs):
    tried.append(args)
    raise OSError("no network")
socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
import numpy as np
from skim.embedding import TextEmbedder, ViTEmbedder
ViTEmbedder(model=sys.argv[1]).fit_transform(np.zeros((2, 4, 4)))
TextEmbedder(model=sys.argv[2]).fit_transform(["paid", "cat"])
assert "torchvision" not in sys.modules
assert not tried, tried
"""


def test_local_checkpoints_need_no_network_no_torchvision_and_print_nothing(
    vit_folder, text_folder
):
    done = subprocess.run(
        [sys.executable, "-c", ALONE, vit_folder, text_folder],
        capture_output=True,
        text=True,
        env={name: os.environ[name] for name in os.environ if "HF_" not in name},
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# Embedders with a checkpoint ------------------------------------------------------


@pytest.fixture(scope="session", params=["text", "vit"])
def case(request, text_folder, text_texts, vit_folder, vit_images):
    """An embedder with a tiny checkpoint, its input and its output."""
    if request.param == "text":
        cls, folder, X = TextEmbedder, text_folder, text_texts
    else:
        cls, folder, X = ViTEmbedder, vit_folder, vit_images
    fitted = cls(model=folder).fit(X)
    return SimpleNamespace(
        cls=cls, folder=folder, X=X, fitted=fitted, expected=fitted.transform(X)
    )


@pytest.fixture
def own_copy(tmp_path, case):
    """A checkpoint that tests may damage."""
    return shutil.copytree(case.folder, tmp_path / "own")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_contract(case):
    results = check_estimator(case.cls(model=case.folder), on_skip=None)
    assert [result["status"] for result in results] == ["passed"]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_scikit_learn_contract_beside_the_data(check, case):
    check(case.cls.__name__, case.cls(model=case.folder))


def test_unfitted_embedder_says_so(case):
    with pytest.raises(NotFittedError):
        case.cls().transform(case.X)


def test_bad_settings_are_refused(case):
    for bad in ({"pooling": "max"}, {"model": 3}, {"dtype": "int8"}):
        with pytest.raises(ValueError, match=r"must be"):
            case.cls(**bad).fit(case.X)
    with pytest.raises(TypeError):
        case.cls(case.folder)


def test_nothing_is_printed_and_no_global_state_is_touched(case, capfd):
    before = global_state()
    case.cls(model=case.folder).fit_transform(case.X)
    assert global_state() == before
    assert capfd.readouterr() == ("", "")


def test_output_can_be_a_data_frame(case):
    X = pd.Series(list(case.X), index=list("abcdefg"))
    embedder = case.cls(model=case.folder).set_output(transform="pandas")
    table = embedder.fit_transform(X)
    assert list(table.index) == list("abcdefg")
    names = [f"{case.cls.__name__.lower()}{i}" for i in range(16)]
    assert list(table.columns) == list(embedder.get_feature_names_out()) == names


def test_clone_is_not_fitted_and_gives_the_same(case):
    again = clone(case.fitted)
    assert again.get_params() == case.fitted.get_params()
    assert not hasattr(again, "device_")
    assert_array_equal(again.fit_transform(case.X), case.expected)


def test_pickle_without_weights_loads_them_again(case, own_copy):
    stored = pickle.dumps(case.cls(model=str(own_copy)).fit(case.X))
    assert len(stored) < 2_000
    assert_array_equal(pickle.loads(stored).transform(case.X), case.expected)
    (own_copy / "model.safetensors").unlink()
    with pytest.raises(MissingWeightsError):
        pickle.loads(stored).transform(case.X)


def test_pickle_with_weights_needs_no_checkpoint(case, own_copy, tmp_path):
    embedder = case.cls(model=str(own_copy), keep_weights=True).fit(case.X)
    assert all(isinstance(array, np.ndarray) for array in embedder.weights_.values())
    joblib.dump(embedder, tmp_path / "embedder.joblib")
    pickled, data = pickle.dumps(embedder), skops.io.dumps(embedder)
    shutil.rmtree(own_copy)
    trusted = skops.io.get_untrusted_types(data=data)
    assert trusted == [f"{case.cls.__module__}.{case.cls.__name__}"]
    for again in (
        pickle.loads(pickled),
        skops.io.loads(data, trusted=trusted),
        joblib.load(tmp_path / "embedder.joblib"),
        copy.deepcopy(embedder),
    ):
        assert_array_equal(again.transform(case.X), case.expected)


# Weights --------------------------------------------------------------------------


@pytest.mark.parametrize("offline", [True, False])
def test_missing_weights_are_explained_in_one_message(
    case, monkeypatch, tmp_path, offline
):
    def refuse(*args, **kwargs):
        raise socket.gaierror("no network")

    monkeypatch.setenv("SKIM_WEIGHTS_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", str(int(offline)))
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    advice = r"'some/model' .*hf download some/model --local-dir DIR.*SKIM_WEIGHTS_HOME"
    with pytest.raises(MissingWeightsError, match=advice):
        case.cls(model="some/model").fit(case.X)


@pytest.mark.parametrize("place", ["some/model", "model"])
def test_weights_are_found_in_their_home(monkeypatch, tmp_path, case, place):
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).symlink_to(case.folder, target_is_directory=True)
    monkeypatch.setenv("SKIM_WEIGHTS_HOME", str(tmp_path))
    found = case.cls(model="some/model").fit(case.X)
    assert_array_equal(found.transform(case.X), case.expected)


def test_pickled_weights_are_refused(tmp_path, vit_processor):
    network = transformers.ViTModel(vit_config())
    network.config.save_pretrained(tmp_path)
    torch.save(network.state_dict(), tmp_path / "pytorch_model.bin")
    save_quietly(tmp_path, vit_processor)
    with pytest.raises(MissingWeightsError, match=r"pickle .*save_pretrained"):
        ViTEmbedder(model=str(tmp_path)).fit(BLANK)


def test_weights_of_another_architecture_are_refused(tmp_path, vit_processor):
    save_quietly(tmp_path, transformers.ViTModel(vit_config()), vit_processor)
    vit_config(num_hidden_layers=3).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"do not match its config.json"):
        ViTEmbedder(model=str(tmp_path)).fit(BLANK)


def test_folders_that_are_not_checkpoints_are_refused(
    tmp_path, text_folder, vit_folder
):
    with pytest.raises(ValueError, match=r"not a model of images"):
        ViTEmbedder(model=text_folder).fit(BLANK)
    with pytest.raises(ValueError, match=r"not a model of texts"):
        TextEmbedder(model=vit_folder).fit(["cat"])
    embedder = ViTEmbedder(model=tmp_path)
    with pytest.raises(MissingWeightsError, match=r"no config.json"):
        embedder.fit(BLANK)
    shutil.copy(Path(vit_folder) / "config.json", tmp_path)
    with pytest.raises(MissingWeightsError, match=r"no weights"):
        embedder.fit(BLANK)
    shutil.copy(Path(vit_folder) / "model.safetensors", tmp_path)
    with pytest.raises(ValueError, match=r"no preprocessor_config.json"):
        embedder.fit(BLANK)
