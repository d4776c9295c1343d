"""The study of what moves accuracy."""

import json

import numpy as np
import pandas as pd
import pytest

import benchmarks.accuracy as study
from benchmarks._shared.measure import measure
from benchmarks.accuracy import Comparison, comparisons, interval, others
from benchmarks.accuracy._variants import (
    DEFAULT,
    RECOMBINED,
    SCALINGS,
    VARIANTS,
    Variant,
    agreement,
    best_of,
    by_quartiles,
    in_unit_range,
    ranks,
    recombined,
    standardised,
    tail_weight,
)
from skim import ALTBIDetector
from skim.datasets import fetch_adbench
from tests.benchmarks.commands import run_command


@pytest.fixture
def wine(adbench):
    return fetch_adbench("wine", return_X_y=True)


def test_the_interval_of_equal_differences_is_a_point():
    assert interval(np.full((4, 3), 0.25), n_draws=50) == (0.25, 0.25)


def test_the_interval_is_that_of_a_mean_over_tables():
    rng = np.random.default_rng(0)
    of_tables = rng.normal(0.1, 0.02, size=400)
    low, high = interval(np.repeat(of_tables[:, None], 3, axis=1), n_draws=2000)
    error = 1.96 * of_tables.std() / 20
    assert low == pytest.approx(of_tables.mean() - error, abs=3e-4)
    assert high == pytest.approx(of_tables.mean() + error, abs=3e-4)


def test_seeds_widen_the_interval():
    between = np.repeat(np.linspace(-1, 1, 30)[:, None], 3, axis=1)
    noise = np.array([-3.0, 0.0, 3.0])
    low, high = interval(between, n_draws=1000)
    lower, higher = interval(between + noise, n_draws=1000)
    assert lower < low < 0 < high < higher


def results(auroc, auprc=0.5, cpu_seconds=1.0):
    """Return results on some tables, from one value per table and seed."""
    rows = [
        (file, seed, value, auprc, cpu_seconds)
        for file, values in auroc.items()
        for seed, value in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=["file", "seed", "auroc", "auprc", "cpu_seconds"])


def test_a_comparison_pairs_tables_and_seeds():
    default = results({"ALOI": [0.5, 0.7], "campaign": [0.9, 0.9], "wine": [0.1, 0.1]})
    own = results(
        {"campaign": [0.8, 0.8], "ALOI": [0.6, 0.8]}, auprc=0.6, cpu_seconds=3.0
    )
    comparison = Comparison("topic", "name", own, default)
    assert comparison.files == ["ALOI", "campaign"]
    np.testing.assert_allclose(
        comparison.differences["auroc"], [[0.1, 0.1], [-0.1, -0.1]]
    )
    topic, name, auroc, _, first, second, auprc, _, *others = comparison.row()
    assert (topic, name, *others) == ("topic", "name", "1 / 1", "2 × 2", "3.00")
    assert float(auroc) == 0
    assert (float(first), float(second), float(auprc)) == (0.1, -0.1, 0.1)


def test_a_comparison_takes_the_tables_and_seeds_that_are_complete():
    default = results({name: [0.5, 0.5, 0.5] for name in "abcd"})
    own = results({"a": [0.6] * 3, "b": [0.7], "c": [0.8] * 3, "d": [0.6] * 3})
    comparison = Comparison("topic", "name", own, default)
    assert (comparison.files, comparison.seeds) == (["a", "c", "d"], [0, 1, 2])
    own = results({"a": [0.6] * 3, "b": [0.7], "c": [0.8], "d": [0.6]})
    comparison = Comparison("topic", "name", own, default)
    assert (comparison.files, comparison.seeds) == (["a", "b", "c", "d"], [0])
    assert Comparison("topic", "name", results({}), default).seeds == []


def write(path, *tasks):
    """Write records of (detector, settings, file, seed, AUROC) to a file."""
    names = ("detector", "settings", "file", "seed", "auroc")
    same = {"group": "tabular", "threads": 1, "status": "ok", "auprc": 0.5}
    records = [dict(zip(names, task, strict=True)) | same for task in tasks]
    path.write_text("\n".join(map(json.dumps, records)))


def test_results_of_other_settings_do_not_count(tmp_path):
    variant = VARIANTS[0]
    default, own = (each.detector().fingerprint() for each in (DEFAULT, variant))
    write(
        tmp_path / "results.jsonl",
        *(("default", default, file, 0, 0.5) for file in "ab"),
        *((variant.name, own, file, 0, 0.75) for file in "ab"),
        (variant.name, "another", "b", 0, 0.0),
    )
    (found,) = comparisons(tmp_path)
    assert (found.topic, found.name) == (variant.topic, variant.name)
    np.testing.assert_array_equal(found.differences["auroc"], [[0.25], [0.25]])


def test_other_detectors_that_have_all_tables_are_put_beside(tmp_path):
    path = tmp_path / "results.jsonl"
    write(
        path,
        *(("ALTBI", DEFAULT.detector().fingerprint(), f, 0, 0.75) for f in "ab"),
        *(("Better", "x", file, 0, 1.0) for file in "ab"),
        ("Incomplete", "x", "a", 0, 1.0),
        ("Better", "x", "a", 1, 0.0),
    )
    (found,) = others(path)
    assert (found.name, found.seeds) == ("Better", [0])
    np.testing.assert_array_equal(found.differences["auroc"], [[0.25], [0.25]])


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_every_variant_can_be_measured(variant, table):
    detector = variant.detector().build(seed=0)
    detector.set_params(epochs=detector.truncate_after + 2)
    result = measure(detector, table, np.arange(len(table)) % 2)
    assert 0 < result.auroc < 1
    assert variant.detector().fingerprint() != DEFAULT.detector().fingerprint()


def test_recombining_nothing_gives_the_scores_of_the_detector(wine):
    X, _ = wine
    rows, watched = np.arange(0, len(X), 2), np.arange(len(X))
    detector = ALTBIDetector(n_estimators=2, patience=1.5, random_state=0)
    found = recombined(detector, X, rows, watched[::2])
    assert tuple(found) == RECOMBINED
    scores = found[DEFAULT[:2]]
    for params, name in (({}, None), ({"patience": None}, "entropy, of all epochs")):
        expected = -detector.set_params(**params).fit(X).training_scores_[rows]
        own = scores if name is None else found["end", name]
        np.testing.assert_allclose(own, expected, rtol=1e-5)
    for other in found.values():
        assert np.isfinite(other).all()
        assert other.shape == scores.shape


def test_scores_of_some_rows_are_judged_as_if_of_all():
    y = np.array([0] * 8 + [1] * 2)
    scores = np.array([0.0, 1.0, 2.0, 5.0] * 2 + [3.0, 6.0])
    half = np.r_[0:4, 8:10]
    judged = study._metrics(y, half, [scores[half]])
    whole = study._metrics(y, np.arange(10), [scores])
    assert judged == whole
    assert whole["auroc"] == [0.875]


@pytest.mark.parametrize("scale", SCALINGS.values(), ids=list(SCALINGS))
def test_how_losses_are_scaled_does_not_depend_on_which_rows_are_scored(scale):
    rng = np.random.default_rng(0)
    losses, seen = rng.normal(size=(3, 2, 40)), rng.normal(size=(3, 2, 30))
    some = [0, 5, 6, 39]
    scaled = scale(losses, seen)
    np.testing.assert_array_equal(scale(losses[..., some], seen), scaled[..., some])
    order = losses.argsort(axis=-1)
    np.testing.assert_array_equal(scaled.argsort(axis=-1), order)


def test_losses_are_scaled_snapshot_by_snapshot():
    losses = np.array([[[0.0, 1.0, 2.0]], [[10.0, 10.0, 40.0]], [[5.0, 5.0, 5.0]]])
    np.testing.assert_allclose(in_unit_range(losses, losses)[1, 0], [0, 0, 1])
    means = standardised(losses, losses).mean(axis=-1)
    np.testing.assert_allclose(means, 0, atol=1e-12)
    quartiles = by_quartiles(losses, losses)
    np.testing.assert_allclose(quartiles[0, 0], np.arcsinh([-1, 0, 1]))
    np.testing.assert_allclose(
        ranks(losses, losses)[0, 0], [1 / 3, 2 / 3, 1], atol=1e-5
    )
    for scale in (in_unit_range, standardised, by_quartiles):
        np.testing.assert_array_equal(scale(losses, losses)[2], 0)


@pytest.mark.parametrize(
    ("values", "patience", "expected"),
    [
        ([9, 1, 3, 2, 2, 2, 2], 3, 3),  # the first two are too early
        ([9, 1, 3, 2, 2, 2, 4], 3, 3),  # better, but after three times the epochs
        ([9, 1, 3, 2, 2, 2, 4], None, 15),
        ([9, 1, 3, 2, 4, 2, 2], 3, 6),
        ([9, 1, 3, 2, 4, 2, 2], 1.3, 3),
        ([9, 1, 1, 1, 1, 1, 2], 3, 3),
    ],
)
def test_an_end_that_lasts(values, patience, expected):
    moments = [1, 2, 3, 4, 6, 9, 15]
    values = np.array(values, dtype=float)
    assert best_of(moments, values, 3, patience) == expected


def test_criteria_by_hand():
    alike = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 8.0]])
    opposite = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    np.testing.assert_allclose(agreement(np.stack([alike, opposite])), [1, -1])
    even, skewed = np.linspace(-1, 1, 101), np.exp(np.linspace(-1, 1, 101))
    weights = tail_weight(np.stack([even, skewed])[:, None])
    assert weights[0] == pytest.approx(1)
    assert weights[1] == pytest.approx(np.exp(0.9))


def test_the_command_resumes_where_it_stopped(adbench, tmp_path, monkeypatch):
    many = Variant("", "default", {"epochs": 4})
    few = Variant("steps", "few", {"epochs": 3})
    monkeypatch.setattr(study, "DEFAULT", many)
    monkeypatch.setattr(study, "VARIANTS", (few,))
    command = ["accuracy", "--data", "wine", "--data", "Hepatitis", "--seeds", 1]
    command += ["--topic", "steps", "--output", tmp_path]
    run_command(*command)
    rows = (tmp_path / "summary.csv").read_text().splitlines()
    assert rows[1].startswith("steps,few,")
    assert len(rows) > 10
    first = [path.read_text() for path in sorted(tmp_path.glob("*.jsonl"))]
    assert len(first) == 2
    run_command(*command)
    assert [path.read_text() for path in sorted(tmp_path.glob("*.jsonl"))] == first
