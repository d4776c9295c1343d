"""``skim score``: new tables, and files that are not models."""

import json
import os
import zipfile

import numpy as np
import pandas as pd
import skops.io
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import skim
from skim import ALTBIDetector, IMBoostDetector, TableDetector
from skim.cli._model_file import is_trusted, load_model, save_model
from tests.cli.conftest import STRANGE, assert_refused, quick_detector, run


def score(folder, table, *options):
    return run("score", table, "--model", folder / "model.skops", *options)


def test_scoring_the_same_table_gives_the_same_scores(folder):
    result = score(folder, folder / "orders.csv", "--quiet", "--output", "-")
    assert result.exit_code == 0
    assert result.stdout == (folder / "found.csv").read_text()
    assert result.stderr == ""


def test_columns_may_be_in_any_order_and_one_row_is_enough(folder, orders, tmp_path):
    names = ["country", "weight", "price", "name"]
    new = orders.iloc[[STRANGE]][names].assign(batch=7)
    new.to_csv(tmp_path / "new.csv", index=False)
    result = score(folder, tmp_path / "new.csv", "-o", tmp_path / "found.csv")
    assert result.exit_code == 0, result.stderr
    assert "Note: Columns unknown to the model are ignored: 'batch'." in result.stderr
    found = pd.read_csv(tmp_path / "found.csv")
    expected = pd.read_csv(folder / "found.csv").iloc[[STRANGE]]
    assert found.iloc[0, 1:].tolist() == expected.iloc[0, 1:].tolist()


def test_new_rows_are_named_by_any_of_their_columns(folder, orders, tmp_path):
    save = ["--drop", "label", "--save", tmp_path / "m.skops"]
    assert run("detect", folder / "orders.csv", *save).exit_code == 0
    new = tmp_path / "new.csv"

    def header(table, *options):
        table.to_csv(new, index=False)
        result = run("score", new, "--model", tmp_path / "m.skops", *options)
        assert "by the threshold of the training data (" in result.stderr
        return result.stdout.splitlines()[0]

    rest = "loss,probability,outlier,reasons"
    assert header(orders[:5], "--id", "label") == f"row,label,{rest}"
    more = orders.assign(batch=1)[:5]
    assert header(more, "--id", "batch") == f"row,batch,{rest}"
    fewer = orders.drop(columns="label")[:5]
    assert header(fewer) == f"row,name,{rest}"


def test_missing_columns_are_named(folder, orders, tmp_path):
    table = orders.drop(columns=["price", "weight"])
    table.to_csv(tmp_path / "new.csv", index=False)
    result = score(folder, tmp_path / "new.csv", "-q", "-o", tmp_path / "out.csv")
    assert_refused(result, "lacks columns of the training data: 'price', 'weight'")
    assert os.listdir(tmp_path) == ["new.csv"]


def test_a_table_that_differs_as_a_whole_is_noticed(folder, orders, tmp_path):
    new = orders.sample(frac=0.8, random_state=0)
    new.to_csv(tmp_path / "new.csv", index=False)
    log = score(folder, tmp_path / "new.csv", "-o", "-").stderr
    assert "No column differs from the training data beyond chance." in log
    new["price"] += 20
    new["country"] = "IT"
    new["weight"] = new["weight"].where(new.index % 2 == 0)
    new.to_csv(tmp_path / "new.csv", index=False)
    lines = score(folder, tmp_path / "new.csv", "-o", "-").stderr.splitlines()
    (line,) = [line for line in lines if line.startswith("The table differs")]
    assert "country is IT in 100.0% (0.0%)" in line
    assert "weight is missing in " in line
    assert "nine of ten values of price are 6" in line


def relabelled(path, target, **label):
    """Copy a model with other versions in its label."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as sink:
        for item in source.infolist():
            content = source.read(item)
            if item.filename == "skim.json":
                content = json.dumps(json.loads(content) | label)
            sink.writestr(item, content)
    return target


def test_another_version_is_refused(folder, tmp_path):
    table, path = folder / "orders.csv", tmp_path / "m.skops"
    relabelled(folder / "model.skops", path, skim="9.8.7\x1b[2J")
    result = run("score", table, "--model", path)
    assert_refused(result, "saved with skim 9.8.7", f"this is skim {skim.__version__}")
    assert "\x1b" not in result.stderr


def test_files_that_are_not_models_are_refused(folder, tmp_path):
    table = folder / "orders.csv"
    assert_refused(run("score", table, "--model", tmp_path / "no"), "does not exist")
    (tmp_path / "text.skops").write_text("hello")
    skops.io.dump(ALTBIDetector(), tmp_path / "unlabelled.skops")
    labelled(ALTBIDetector(), tmp_path / "labelled.skops")
    for path in [tmp_path, *tmp_path.iterdir()]:
        result = run("score", table, "--model", path)
        assert_refused(result, "is not a model saved by skim")


def labelled(model, path):
    """Save any model as if it were one of skim's."""
    save_model(model, path)
    return path


def test_foreign_code_is_never_run(folder, tmp_path):
    trap = make_pipeline(FunctionTransformer(os.mkdir), ALTBIDetector())
    path = labelled(trap, tmp_path / "trap.skops")
    result = run("score", folder / "orders.csv", "--model", path)
    assert_refused(result, "posix.mkdir", "was not loaded")
    assert is_trusted("skim.tables._detector.TableDetector")
    for name in ("skim.cli.main", "skim.tables._read.read_table", "os.PathLike"):
        assert not is_trusted(name)


def test_damaged_models_are_refused(folder, tmp_path):
    with zipfile.ZipFile(folder / "model.skops") as source:
        label = source.read("skim.json")
    path = tmp_path / "m.skops"
    with zipfile.ZipFile(path, "w") as sink:
        sink.writestr("skim.json", label)
    result = run("score", folder / "orders.csv", "--model", path)
    assert_refused(result, "is damaged")


def test_models_with_labels_and_wide_ones_are_saved_and_loaded(orders, tmp_path):
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 210))).add_prefix("x")
    labels = np.where(orders.index == STRANGE, 1.0, np.nan)
    with_labels = IMBoostDetector(TableDetector(quick_detector()), random_state=0)
    by_country = TableDetector(quick_detector(), by="country", random_state=0)
    for model, table in [
        (with_labels.fit(orders, labels=labels), orders),
        (by_country.fit(orders), orders),
        (TableDetector(quick_detector(), random_state=0).fit(wide), wide),
    ]:
        save_model(model, tmp_path / "m.skops")
        loaded = load_model(tmp_path / "m.skops")
        expected = model.score_samples(table)
        np.testing.assert_array_equal(loaded.score_samples(table), expected)
