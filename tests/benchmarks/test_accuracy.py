"""The study of accuracy."""

import json

import numpy as np
import pandas as pd
import pytest

import benchmarks.accuracy as study
from benchmarks._shared.measure import measure
from benchmarks._shared.tables import Table, choose_tables
from benchmarks.accuracy import _references as references
from benchmarks.accuracy import _summary as summary
from benchmarks.accuracy import _wide as wide
from benchmarks.accuracy import summaries
from benchmarks.accuracy._references import REFERENCES, StandardisedKNN
from benchmarks.accuracy._summary import Comparison, interval
from benchmarks.accuracy._variants import DEFAULT, VARIANTS, Variant
from tests.benchmarks.commands import run_command


def test_the_interval_of_equal_differences_is_a_point():
    assert interval(np.full(4, 0.25), n_draws=50) == (0.25, 0.25)


def test_the_interval_is_that_of_a_mean_over_sources():
    values = np.random.default_rng(0).normal(0.1, 0.02, size=400)
    low, high = interval(values, n_draws=2000)
    error = 1.96 * values.std() / 20
    assert low == pytest.approx(values.mean() - error, abs=3e-4)
    assert high == pytest.approx(values.mean() + error, abs=3e-4)


def results(auroc, auprc=0.5, cpu_seconds=1.0, detector="default", n=1000):
    """Return results by family and task, from one value per seed."""
    rows = [
        (f"{family}:{task}", family, "keel", n, detector, seed, value)
        for family, tasks in auroc.items()
        for task, values in enumerate(tasks)
        for seed, value in enumerate(values)
    ]
    frame = pd.DataFrame(rows, columns=summary.COLUMNS[:7])
    return frame.assign(auprc=auprc, cpu_seconds=cpu_seconds)


def test_a_comparison_pairs_tasks_and_seeds_and_averages_by_family_then_source():
    default = results(
        {
            "keel/wisconsin": [[0.5, 0.7], [0.9, 0.9]],
            "WBC": [[0.5, 0.5]],
            "campaign": [[0.6, 0.6]],
            "wine": [[0.1, 0.1]],
        }
    )
    own = results(
        {
            "campaign": [[0.8, 0.8]],
            "keel/wisconsin": [[0.6, 0.8], [0.8, 0.8]],
            "WBC": [[0.7, 0.7]],
        },
        auprc=0.6,
        cpu_seconds=3.0,
    )
    comparison = Comparison(own, default)
    differences = comparison.differences
    assert differences["auroc"].to_dict() == pytest.approx(
        {"campaign": 0.2, "wisconsin": 0.1}
    )
    assert (comparison.n_tasks, comparison.n_seeds, comparison.time) == (4, 2, 3)
    cells = dict(zip(summary.DIFFERENCES[2:], comparison.row(), strict=True))
    assert cells["AUROC"] == "+0.1500"
    assert cells["AUROC, chosen on"] == cells["AUPRC"] == "+0.1000"
    assert cells["AUROC, confirmed on"] == "+0.2000"
    assert cells["sources better / worse"] == "2 / 0"
    assert cells["tasks × seeds"] == "4 × 2"
    assert cells["time"] == "3.00"


def test_a_detector_without_a_random_state_is_compared_with_every_seed():
    own = results({"wine": [[0.5, 0.7]]})
    comparison = Comparison(own, results({"wine": [[0.5]]}))
    assert comparison.differences["auroc"]["wine"] == pytest.approx(0.1)
    assert comparison.n_seeds == 2


def beside_references():
    """Return results of the default and the references on four sources."""
    own = {"ALOI": [[0.6]], "campaign": [[0.9]]}
    forest = {"ALOI": [[0.7]], "campaign": [[0.8]]}
    neighbours = {"ALOI": [[0.9]], "campaign": [[0.5]]}
    for each, value in ((own, 0.8), (forest, 0.7), (neighbours, 0.6)):
        each["keel/wine"] = [[value], [value + 0.1]]
        each["keel/glass"] = [[value]]
    return pd.concat(
        results(values, detector=name, cpu_seconds=seconds)
        for name, values, seconds in (
            ("default", own, 6.0),
            ("IsolationForest", forest, 2.0),
            ("kNN", neighbours, 1.0),
        )
    )


def test_expectations_are_told_for_both_halves_and_suites():
    found = summary.against(beside_references(), "default")
    means, gains = (table.set_index("data") for table in found)
    assert means["number"].tolist() == [2, 2, 4, 2, 2]
    assert means.loc["KEEL, families", "AUROC, kNN"] == "0.625"
    half = "confirming half of the sources"
    assert means.index[0] == half
    assert means.loc[half, "AUROC, ALTBI"] == "0.875"
    assert gains.loc[half, "AUROC"] == "+0.1000"
    assert gains.loc[half, "better than IsolationForest"] == "2 of 2"
    worst = gains.loc["all sources", "worst against the better reference"]
    assert worst == "aloi -0.300"


def test_variants_are_put_beside_the_references_on_the_confirming_half():
    (row,) = summary.confirmed(beside_references(), ["default", "absent"]).to_dict(
        "records"
    )
    assert row["AUROC over IsolationForest"] == "+0.1000"
    assert row["AUROC over kNN"] == "+0.3000"
    assert row["time, multiples of IsolationForest's"] == "3.0"
    assert row["worst against the better reference"] == "campaign +0.100"


def test_every_source_is_listed_with_its_half():
    table = summary.by_source(beside_references(), "default").set_index("source")
    assert table["half"].to_dict() == {
        "aloi": "chosen on",
        "campaign": "confirmed on",
        "glass": "chosen on",
        "wine": "confirmed on",
    }
    assert table.loc["wine", "AUROC, ALTBI"] == "0.850"


def test_the_spread_over_seeds_is_that_of_small_tables():
    small = results({"wine": [[0.5, 0.7, 0.6]], "keel/wine": [[0.9, 0.9, 0.9]]}, n=499)
    large = results({"cardio": [[0.1, 0.9, 0.5]]}, n=500)
    table = summary.spread(pd.concat([small, large]), 500)
    assert table["source"].tolist() == ["wine", "mean of sources"]
    np.testing.assert_allclose(table["deviation, default"], [0.05, 0.05])
    np.testing.assert_allclose(table["range, default"], [0.1, 0.1])


def test_times_are_multiples_of_those_of_the_forest():
    table = summary.times(beside_references(), "default", ["ALOI:0", "absent"])
    assert table.to_numpy().tolist() == [["ALOI:0", 6.0, 3.0]]


def test_neighbours_are_others_on_standardised_columns():
    X = np.c_[[0.0, 1, 2, 10, 2], 1000 * np.array([0.0, 1, 2, 10, 2])]
    detector = StandardisedKNN(n_neighbors=1).fit(X)
    unit = np.sqrt(2) / X[:, 0].std()
    np.testing.assert_allclose(
        -detector.training_scores_, np.array([1, 1, 0, 8, 0]) * unit
    )


def test_neighbours_in_large_tables_are_searched_in_a_sample(monkeypatch, table):
    whole = StandardisedKNN().fit(table).training_scores_
    monkeypatch.setattr(references, "MAX_ROWS", 200)
    sampled = StandardisedKNN().fit(table).training_scores_
    assert (sampled <= whole + 1e-12).all()
    assert np.corrcoef(whole, sampled)[0, 1] > 0.9


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_every_variant_can_be_measured(variant, table):
    detector = variant.detector().build(seed=0)
    detector.set_params(epochs=detector.truncate_after + 2)
    result = measure(detector, table, np.arange(len(table)) % 2)
    assert 0 < result.auroc < 1
    assert variant.detector().fingerprint() != DEFAULT.detector().fingerprint()


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda reference: reference.name)
def test_references_find_what_is_far_away(reference, table, is_outlier):
    assert measure(reference.build(seed=0), table, is_outlier).auroc > 0.9


def test_a_hundred_rows_keep_the_share_of_outliers():
    y = np.arange(1000) % 5 == 0
    rows = wide.draw_rows(y, np.random.default_rng(0))
    assert len({*rows}) == 100
    assert y[rows].sum() == 20
    rare = np.arange(1000) % 100 == 0
    assert rare[wide.draw_rows(rare, np.random.default_rng(0))].sum() == 5


def test_cuts_are_drawn_once(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(300, 4)), (np.arange(300) % 10 == 0).astype(int)
    calls = []
    monkeypatch.setattr(
        wide, "fetch_adbench", lambda name, **kw: calls.append(name) or data
    )
    file = Table("Made_0", "Made", "image", 300, 4)
    found = wide.cuts([file], tmp_path)
    assert wide.cuts([file], tmp_path) == found
    assert calls == ["Made_0"]
    assert len({table.file for table in found}) == wide.N_CUTS
    first, second = (np.load(table.path)["X"] for table in found[:2])
    assert first.shape == (100, 4)
    assert (first != second).any()
    assert len([*tmp_path.iterdir()]) == wide.N_CUTS


def test_sets_are_averaged_over_files_and_then_over_sets():
    def of_group(group, **values):
        frames = [
            results(values, detector=name, cpu_seconds=2.0).assign(group=group)
            for name in ("default", wide.NEIGHBOURS.name)
        ]
        return pd.concat(frames)

    found = wide.wide_table(
        pd.concat(
            [
                of_group("image", A=[[0.5], [0.7]], B=[[0.8]]),
                of_group("cut", A=[[0.4]]),
            ]
        ),
        "default",
    )
    assert found[["rows", "set"]].to_numpy().tolist() == [
        ["all rows", "A"],
        ["all rows", "B"],
        ["all rows", "mean of sets"],
        ["100 rows", "A"],
        ["100 rows", "mean of sets"],
    ]
    np.testing.assert_allclose(found["AUROC, ALTBI"], [0.6, 0.8, 0.7, 0.4, 0.4])


def record(detector, file, auroc, settings=None, seed=0):
    """Return a record of a result on a table of ADBench."""
    settings = detector.fingerprint() if settings is None else settings
    same = {"group": "tabular", "threads": 1, "status": "ok", "auprc": 0.5, "n": 900}
    own = {"detector": detector.name, "settings": settings, "file": file, "seed": seed}
    return own | {"dataset": file, "auroc": auroc, "cpu_seconds": 1.0} | same


def test_results_of_other_settings_do_not_count():
    default, variant = DEFAULT.detector(), VARIANTS[0].detector()
    records = [
        *(record(default, file, 0.5) for file in ("wine", "cardio")),
        *(record(variant, file, 0.75) for file in ("wine", "cardio")),
        record(variant, "cardio", 0.0, settings="another"),
        record(default, "wine", 0.0, settings="another"),
    ]
    found = summaries(records)["differences"]
    (row,) = found[["topic", "variant", "AUROC"]].to_numpy().tolist()
    assert row == [VARIANTS[0].topic, VARIANTS[0].name, "+0.2500"]


def test_references_are_put_beside_the_default():
    detectors = [DEFAULT.detector(), *REFERENCES]
    values = (0.75, 0.5, 0.25)
    records = [
        record(detector, "wine", value)
        for detector, value in zip(detectors, values, strict=True)
    ]
    found = summaries(records)
    rows = found["differences"][["topic", "variant", "AUROC"]].to_numpy().tolist()
    assert rows == [
        ["another detector", "IsolationForest", "-0.2500"],
        ["another detector", "kNN", "-0.5000"],
    ]
    assert found["confirmed"]["detector"].tolist() == ["default"]


def test_an_earlier_default_is_put_beside_whatever_its_settings():
    default = DEFAULT.detector()
    records = [record(default, "wine", 0.75)]
    earlier = [record(default, "wine", 0.5, settings="of old")]
    found = summaries(records, earlier=earlier)["differences"]
    (row,) = found[["variant", "AUROC"]].to_numpy().tolist()
    assert row == [study.EARLIER, "-0.2500"]


@pytest.fixture
def two_tasks(tmp_path, monkeypatch, table, is_outlier):
    """A folder with two tasks of KEEL, and no data of ADBench."""
    monkeypatch.setenv("SKIM_KEEL_HOME", str(tmp_path))
    monkeypatch.setenv("SKIM_DATA_HOME", str(tmp_path))
    for name in ("wine__wine-but-1", "glass__glass0"):
        np.savez(tmp_path / f"{name}.npz", X=table[::2], y=is_outlier[::2])
    return tmp_path


def test_the_command_resumes_where_it_stopped(two_tasks, monkeypatch):
    monkeypatch.setattr(study, "DEFAULT", Variant("", "default", {"epochs": 4}))
    few = Variant("steps", "few", {"epochs": 3})
    monkeypatch.setattr(study, "VARIANTS", (few,))
    monkeypatch.setattr(study, "N_SEEDS", 2)
    output = two_tasks / "output"
    command = ["accuracy", "--seeds", 1, "--topic", "steps", "--output", output]
    command += ["--part", "sources", "--part", "seeds"]
    run_command(*command)
    names = {path.stem for path in output.glob("*.csv")}
    assert names == {
        "differences",
        "expected",
        "gains",
        "confirmed",
        "by_source",
        "seeds",
    }
    assert (output / "differences.csv").read_text().splitlines()[1].startswith("steps,")
    lines = (output / "results.jsonl").read_text().splitlines()
    # Two tasks, with a second seed for the default and the forest.
    assert len(lines) == 2 * (4 + 2)
    assert {json.loads(line)["status"] for line in lines} == {"ok"}
    run_command(*command)
    assert (output / "results.jsonl").read_text().splitlines() == lines


def test_a_variant_of_ones_own_takes_part(two_tasks, monkeypatch):
    monkeypatch.setattr(study, "DEFAULT", Variant("", "default", {"epochs": 4}))
    output = two_tasks / "output"
    name = "mine=tests.benchmarks.detectors:Good"
    command = ["accuracy", "--data", "keel/wine", "--seeds", 1, "--topic", "none"]
    run_command(*command, "--part", "sources", "--detector", name, "--output", output)
    rows = (output / "differences.csv").read_text().splitlines()
    assert rows[1].startswith("own,mine,")
    assert len(rows) == 4


def test_only_tables_and_tasks_take_part(two_tasks):
    assert len(study._tables(None)) == 2
    assert study._tables(["keel/glass"]) == choose_tables(["keel/glass"], local=True)
    with pytest.raises(ValueError, match="no such data here"):
        study._tables(["wine"])
