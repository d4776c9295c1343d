"""What the report makes of known results."""

import numpy as np
import pandas as pd
import pytest

from benchmarks._shared.detectors import DETECTORS
from benchmarks._shared.results import Store
from benchmarks.report import Summary, compare_with_published
from tests.benchmarks.commands import run_command

TABLES = ("cardio", "wine", "glass", "thyroid", "Pima")


def made_up(detectors, *, files=TABLES, group="tabular", seeds=(0, 1), settings="s"):
    """Records whose AUROC is the detector's own, a little more with each seed."""
    return [
        {
            "file": file,
            "dataset": file.split("_")[0],
            "group": group,
            "detector": detector,
            "family": DETECTORS[detector].family if detector in DETECTORS else "own",
            "settings": settings,
            "threads": 1,
            "limits": [600, None],
            "seed": seed,
            "status": "ok",
            "auroc": value + 0.01 * seed,
            "auprc": value / 2,
            "seconds": 1.0 + seed,
            "cpu_seconds": 1.0 + seed,
            "peak_gb": 0.5,
            "n": 100 * (i + 1),
            "p": 5,
        }
        for detector, value in detectors.items()
        for i, file in enumerate(files)
        for seed in seeds
    ]


def write(records, path):
    for record in records:
        Store(path).append(record)


@pytest.fixture
def records():
    rows = made_up({"ALTBI": 0.9, "ALTBI-paper": 0.7, "IForest": 0.8})
    rows += made_up({"kNN": 0.95}, files=TABLES[:3])
    rows += made_up(
        {"ALTBI": 0.7, "IForest": 0.6}, files=["CIFAR10_0", "CIFAR10_1"], group="image"
    )
    failed = rows[0] | {"detector": "VAE", "status": "timeout", "error": "<too late>"}
    return [*rows, {key: failed[key] for key in failed if key not in ("auroc", "p")}]


def test_seeds_and_parts_are_averaged(records):
    results = Summary(records).results.set_index(["title", "detector"])
    assert results.loc[("cardio", "ALTBI"), "auroc"] == pytest.approx(0.905)
    assert results.loc[("cardio", "ALTBI"), "seeds"] == 2
    assert results.loc[("CIFAR10", "ALTBI"), "auroc"] == pytest.approx(0.705)
    assert results.loc[("CIFAR10", "ALTBI"), "parts"] == "2 of 10"


def test_only_complete_detectors_are_ranked(records):
    averages = Summary(records).averages.set_index("detector")
    assert averages.loc["kNN", "n_sets"] == 3
    assert not averages.loc["kNN", "complete"]
    assert np.isnan(averages.loc["kNN", "auroc_rank"])
    assert averages.loc["kNN", "reference_auroc"] == pytest.approx(0.905)
    assert averages.index[-1] == "kNN"
    assert averages.loc["ALTBI", "auroc_rank"] < averages.loc["IForest", "auroc_rank"]
    assert averages.loc["DTE-C", "family"] == "published"


def test_the_command_writes_tables_and_pictures(records, tmp_path):
    write(records, tmp_path / "results.jsonl")
    told = run_command("report", tmp_path, "--reference", "IForst", exit_code=2)
    assert "choose from IForest" in told
    run_command("report", tmp_path)
    folder = tmp_path / "report"
    pictures = {path.stem for path in folder.glob("*.svg")}
    assert pictures == {"averages", "critical_difference", "time_and_size"}
    brief = pd.read_csv(folder / "summary.csv", index_col=0)
    assert brief.loc["kNN", "ALTBI on the same"] == "0.905 / 0.450"
    embeddings = pd.read_csv(folder / "embeddings.csv", index_col=0)
    assert embeddings.loc["IForest", "CIFAR10"] == "0.605 / 0.300"
    table = pd.read_csv(folder / "tabular_auroc.csv", index_col=0)
    assert table.loc["wine", "ALTBI"] == 0.905
    failures = pd.read_csv(folder / "failures.csv")
    assert failures["error"].tolist() == ["<too late>"]
    duels = pd.read_csv(folder / "duels.csv").set_index("detector")
    assert duels.loc["IForest", "wins"] == 5
    comparison = compare_with_published(tmp_path, "auprc")
    assert comparison["published"].notna().all()


def test_nothing_to_report_is_said(tmp_path):
    assert "There is no" in run_command("report", tmp_path, exit_code=2)
    failed = made_up({"ALTBI": 0.5})[0] | {"status": "failed", "error": "x"}
    write([failed], tmp_path / "results.jsonl")
    assert "no result to report" in run_command("report", tmp_path, exit_code=2)
