"""Reviewing rows, and detecting with the labels."""

import io

import numpy as np
import pandas as pd
import pytest

from skim import IMBoostDetector, TableDetector
from tests.cli.conftest import assert_refused, quick_detector, run, run_process


@pytest.fixture(scope="module")
def orders():
    """Orders of which the last ten are heavy for their price."""
    rng = np.random.default_rng(0)
    price = rng.normal(50, 10, 80)
    weight = price / 10 + rng.normal(0, 0.2, 80)
    weight[70:] += 2
    return pd.DataFrame(
        {
            "order": [f"order {i:02d}" for i in range(80)],
            "price": price.round(2),
            "weight": weight.round(2),
            "country": rng.choice(["DE", "FR"], 80),
        }
    )


@pytest.fixture
def folder(orders, tmp_path):
    """A folder with the table."""
    orders.to_csv(tmp_path / "orders.csv", index=False)
    return tmp_path


def review(folder, answers, *options):
    command = ["review", folder / "orders.csv", "--labels", folder / "labels.csv"]
    result = run(*command, *options, input="\n".join(answers))
    assert result.exit_code == 0, result.output
    return result


def labels_in(folder):
    return pd.read_csv(folder / "labels.csv").set_index("order")["label"]


def asked(result):
    """The orders asked about, one for each question."""
    lines = result.stdout.splitlines()
    return [
        lines[i + 1].partition("order ")[2]
        for i, line in enumerate(lines)
        if line.startswith("Question")
    ]


def detect(folder, *options, source="orders.csv"):
    return run("detect", folder / source, *options)


# review --------------------------------------------------------------------------


def test_every_answer_is_kept(folder):
    result = review(folder, ["y", "n", "s", "what", "u", "y", "n", "q", "y"])
    first, second, third, fourth, again, then, last = asked(result)
    assert len({first, second, third, fourth}) == 4
    assert again == third
    assert len({first, second, third, then, last}) == 5
    expected = {first: 1, second: 0, third: 1, then: 0}
    assert labels_in(folder).to_dict() == expected
    assert "Please select one of the available options" in result.stdout
    assert "4 labels (2 outliers, 2 inliers)" in result.stdout


def test_rows_are_shown_with_reasons_in_80_columns(folder, orders):
    orders.assign(price=orders["price"].where(orders.index != 30, 900)).to_csv(
        folder / "orders.csv", index=False
    )
    shown = review(folder, ["q"], "--strangest").stdout
    lines = shown.splitlines()
    assert lines[2] == "row 31, order order 30"
    assert lines[3] == "number 1 of 80 by loss, flagged"
    assert any(
        line.split()[:3] == ["*", "price", "900"] and " to " in line for line in lines
    )
    assert max(map(len, lines[:-1])) <= 80
    assert lines[-1].endswith("labels.csv has 0 labels (0 outliers, 0 inliers).")
    assert not (folder / "labels.csv").exists()


def test_the_next_review_continues(folder):
    first = asked(review(folder, ["y", "n", "s"]))
    second = asked(review(folder, ["u", "n", "n"]))
    assert not {second[0], *second[2:]} & set(first[:3])
    assert second[1] == first[2]  # the last answer of the review before
    labels = labels_in(folder)
    assert labels.index.tolist() == [*first[:2], *second[1:3]]
    assert labels.tolist() == [1, 0, 0, 0]
    third = review(folder, ["u"] * 5 + ["q"])
    assert "Interrupted" not in third.stdout
    assert labels_in(folder).isna().all()


def test_an_answer_that_was_taken_back_is_a_change(folder):
    review(folder, ["y", "n", "n", "q"])
    shown = review(folder, ["u", "q"]).stdout
    assert "labels.csv has 2 labels (1 outlier, 1 inlier)" in " ".join(shown.split())


def test_a_review_ends_when_all_rows_were_seen(folder, orders):
    orders[:5].to_csv(folder / "orders.csv", index=False)
    result = review(folder, ["s", "y", "n", "n", "n", "n"], "--id", "order")
    assert "Every row has been asked about." in result.stdout
    assert "labels.csv has 4 labels" in result.stdout


def test_the_changes_are_those_between_two_detections(folder):
    first = review(folder, ["y", "n", "n", "y", "n", "y"])
    labels = (folder / "labels.csv").read_text()
    (folder / "labels.csv").unlink()
    assert asked(review(folder, ["y", "n", "n", "y", "n", "y"])) == asked(first)
    (folder / "labels.csv").write_text(labels)
    before, after = (
        pd.read_csv(io.StringIO(detect(folder, *options).stdout))["outlier"] == 1
        for options in ([], ["--labels", folder / "labels.csv"])
    )
    n_new, n_gone = (after & ~before).sum(), (before & ~after).sum()
    changes = f"{n_new} of them were not before, and {n_gone} no longer are."
    assert changes in first.stdout
    rows = [int(name[-2:]) for name in labels_in(folder).index]
    agreed = (labels_in(folder).to_numpy() == after[rows]).sum()
    assert f"agrees with {agreed} of 6 labels" in first.stdout


def test_networks_are_trained_once(folder, monkeypatch):
    n_fits, fit = 0, TableDetector.fit

    def counting(self, X, y=None):
        nonlocal n_fits
        n_fits += 1
        return fit(self, X, y)

    monkeypatch.setattr(TableDetector, "fit", counting)
    review(folder, ["y", "n"] * 4)
    assert n_fits == 1


def test_a_second_identifier_that_is_none_does_no_harm(folder, orders):
    customers = [f"customer-{i // 2:04d}" for i in range(80)]
    orders.assign(customer_id=customers).to_csv(folder / "orders.csv", index=False)
    review(folder, ["y", "n"])
    header = (folder / "labels.csv").read_text().splitlines()[0]
    assert header == "order,label,answered"
    result = detect(folder, "--labels", folder / "labels.csv")
    assert "2 labels (1 outlier, 1 inlier)" in result.stderr


def test_a_changed_table_is_refused(folder, orders):
    plain = orders.drop(columns="order")
    plain.to_csv(folder / "orders.csv", index=False)
    review(folder, ["y", "n"])
    plain[::-1].to_csv(folder / "orders.csv", index=False)
    labels = ["--labels", folder / "labels.csv"]
    for command in ("review", "detect"):
        result = run(command, folder / "orders.csv", *labels, "--quiet", input="y\n")
        assert_refused(result, "orders.csv has changed", "--id")


def test_a_review_cannot_read_answers_and_the_table(folder):
    result = run("review", "-", "--labels", folder / "labels.csv", input="y")
    assert result.exit_code == 2
    assert "give a file to read" in " ".join(result.stderr.split())
    path = folder / "orders.csv"
    assert run("review", path, "--labels", path, input="y").exit_code == 2
    nowhere = folder / "nowhere" / "labels.csv"
    result = run("review", path, "--labels", nowhere, "--quiet", input="y")
    assert_refused(result, "cannot be written", "does not exist")


# detect --------------------------------------------------------------------------


@pytest.fixture
def labelled(folder):
    """A folder with labels of eight rows."""
    names = [0, 10, 20, 30, 40, 50, 70, 75]
    lines = [f"order {i:02d},{int(i >= 70)}" for i in names]
    (folder / "labels.csv").write_text("\n".join(["order,label", *lines, ""]))
    return folder


def test_detect_learns_from_labels(labelled, orders):
    result = detect(
        *(labelled, "--labels", labelled / "labels.csv", "-o", labelled / "found.csv"),
        *("--save", labelled / "model.skops"),
    )
    assert "8 labels (2 outliers, 6 inliers)" in result.stderr
    assert "The threshold agrees with" in result.stderr
    found = pd.read_csv(labelled / "found.csv")
    labels = np.full(80, np.nan)
    labels[[0, 10, 20, 30, 40, 50]] = 0
    labels[[70, 75]] = 1
    table = TableDetector(quick_detector(), random_state=0)
    model = IMBoostDetector(table, random_state=0).fit(orders, labels=labels)
    np.testing.assert_allclose(found["loss"], -model.training_scores_, atol=1e-4)
    assert not np.allclose(table.fit(orders).training_scores_, model.training_scores_)
    again = run_process(  # in which nothing is imported yet
        *("score", labelled / "orders.csv", "--model", labelled / "model.skops"),
        *("-o", labelled / "again.csv"),
    )
    assert again.returncode == 0, again.stderr
    expected = (labelled / "found.csv").read_bytes()
    assert (labelled / "again.csv").read_bytes() == expected


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("order 70,0", ["an earlier line", "order 70"]),
        ("order 99,0", ["order 99", "does not have"]),
        ("order 11,maybe", ["must be 1, 0 or empty", "line 10"]),
    ],
)
def test_labels_that_make_no_sense_are_refused(labelled, line, words):
    path = labelled / "labels.csv"
    path.write_text(f"{path.read_text()}{line}\n")
    assert_refused(detect(labelled, "--labels", path, "--quiet"), *words)


def test_labels_need_a_file_and_something_in_them(labelled):
    labels = ["--labels", labelled / "labels.csv"]
    for option in (labels, ["--report", labelled / "report.html"]):
        result = detect(labelled, *option, "-o", f"{labelled / 'parts'}/")
        assert_refused(result, f"{option[0]} does not go with a folder", code=2)
    assert_refused(detect(labelled, *labels, "--clean"), "not go with a clean", code=2)
    (labelled / "labels.csv").write_text("order,label\norder 01,\n")
    assert_refused(detect(labelled, *labels, "-q"), "no labels", "skim review")
    (labelled / "labels.csv").unlink()
    assert_refused(detect(labelled, *labels, "-q"), "does not exist", "skim review")


def test_reasons_name_the_label_that_decided(orders, labelled):
    path = labelled / "labels.csv"
    known = {75: 1, 76: 1, 5: 0, 6: 0, 7: 0, 8: 0, 9: 0, 10: 0}
    lines = [f"order {row:02d},{label}" for row, label in known.items()]
    path.write_text("\n".join(["order,label", *lines]))
    detect(labelled, "--labels", path, "-o", labelled / "found.csv")
    found = pd.read_csv(labelled / "found.csv").set_index("order")
    assert found.loc["order 75", "outlier"] == 1
    likes = (
        found["reasons"]
        .dropna()
        .str.extract(r"like training row (\d+), labelled an outlier")[0]
    )
    assert likes.dropna().isin(["76", "77"]).all()
    assert likes.notna().any()


def test_a_known_inlier_is_not_flagged(labelled):
    detect(labelled, "-o", labelled / "without.csv")
    before = pd.read_csv(labelled / "without.csv")
    flagged = before.loc[before["outlier"] == 1, "order"]
    path = labelled / "labels.csv"
    path.write_text(f"order,label\n{flagged.iloc[0]},0\n")
    detect(labelled, "--labels", path, "-o", labelled / "found.csv")
    after = pd.read_csv(labelled / "found.csv").set_index("order")
    assert after.loc[flagged.iloc[0], "outlier"] == 0
    assert len(flagged) / 1.2 - 1 <= after["outlier"].sum() <= len(flagged)
