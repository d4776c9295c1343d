"""The benchmark on ADBench: tasks in processes of their own, and resumed runs."""

import numpy as np
import pytest

from benchmarks._shared.detectors import choose
from benchmarks._shared.results import Store, key
from benchmarks._shared.tables import Table, choose_tables
from benchmarks._shared.tasks import run_tasks
from tests.benchmarks.commands import run_command

HERE = "tests.benchmarks.detectors"


def adbench(*arguments, **options):
    return run_command("adbench", *arguments, **options)


def run(tmp_path, path, *names, n_seeds=1, **options):
    """Return the records of detectors of the given names on a file."""
    store = Store(tmp_path / "results.jsonl")
    detectors = choose([f"{HERE}:{name}" for name in names])
    found = run_tasks(store, choose_tables([str(path)]), detectors, n_seeds, **options)
    records = list(found)
    assert [key(record) for record in store.read()] == [key(each) for each in records]
    return records


def test_a_task_comes_back_measured(tmp_path, own_data):
    first, second = run(tmp_path, own_data[0], "Probe", n_seeds=2)
    assert (first["status"], first["seed"], second["seed"]) == ("ok", 0, 1)
    assert (first["n"], first["p"], first["dataset"]) == (300, 6, "first")
    assert first["auroc"] > 0.9
    assert 0 < first["seconds"] < first["wall"]
    assert first["limits"] == [None, None]
    assert "torch" in first["versions"]
    assert first["peak_gb"] > 0.01


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("Failing", "failed", "RuntimeError: I do not like this table"),
        ("Crashing", "failed", "ended with 3"),
        ("OutOfMemory", "memory", "MemoryError"),
        ("Busy", "timeout", "ended with -24"),
    ],
)
def test_a_bad_task_is_recorded_and_the_next_goes_well(
    tmp_path, own_data, name, status, message
):
    bad, good = run(tmp_path, own_data[0], name, "Good", timeout=1)
    assert (bad["status"], good["status"]) == (status, "ok")
    assert message in bad["error"]
    assert "auroc" not in bad


def test_a_run_is_resumed_without_computing_anything_again(tmp_path, own_data):
    arguments = ["--data", own_data[0], "--data", own_data[1], "--jobs", 2]
    arguments += ["--detector", f"{HERE}:Good", "--detector", f"{HERE}:Failing"]
    arguments += ["--output", tmp_path / "out", "--seeds", 2]
    told = adbench(*arguments)
    assert "4 failed, 4 ok" in told
    assert "4 × Failing: failed: RuntimeError: I do not like" in told
    first = (tmp_path / "out" / "results.jsonl").read_bytes()
    assert "New tasks: none" in adbench(*arguments)
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == first
    assert "New tasks: 4 failed" in adbench(*arguments, "--retry-failed")


def test_wrong_options_are_refused(tmp_path):
    output = tmp_path / "out"
    for option, value, message in (
        ("--detector", f"{HERE}:NoSuchClass", "NoSuchClass"),
        ("--detector", f"{HERE}:Demanding", "required"),
        ("--data", "tabluar", "tabular"),
        ("--data", "no_such_file.npz", "is not an .npz file"),
        ("--timeout", "-1", "greater than"),
    ):
        assert message in adbench(option, value, "--output", output, exit_code=2)
    assert not output.exists()


def test_own_files_are_known_by_their_content(tmp_path, own_data):
    (before,) = choose_tables([str(own_data[0])])
    assert (before.dataset, before.group) == ("first", "own")
    (tmp_path / "other").mkdir()
    namesake = tmp_path / "other" / "first.npz"
    namesake.write_bytes(own_data[1].read_bytes())
    (other,) = choose_tables([str(namesake)])
    assert other.file != before.file
    with pytest.raises(ValueError, match="have the same name"):
        choose_tables([str(own_data[0]), str(namesake)])
    for X, y in (
        (np.zeros(5), np.zeros(5)),
        (np.zeros((5, 2)), np.zeros(4)),
        (np.zeros((5, 2)), np.zeros(5)),
        (np.zeros((2, 2)), np.array([1, 2])),
    ):
        np.savez(tmp_path / "bad.npz", X=X, y=y)
        with pytest.raises(ValueError, match=r"bad\.npz"):
            choose_tables([str(tmp_path / "bad.npz")])


def test_data_sets_are_taken_in_all_their_parts_or_only_if_they_are_here(
    tmp_path, monkeypatch
):
    tables = choose_tables(["CIFAR10", "imdb", "CV_by_ViT/SVHN_3"])
    assert [(table.file, table.dataset, table.group) for table in tables] == [
        *((f"CIFAR10_{i}", "CIFAR10", "image") for i in range(10)),
        ("imdb", "Imdb", "text"),
        ("CV_by_ViT/SVHN_3", "SVHN", "image-vit"),
    ]
    monkeypatch.setenv("SKIM_DATA_HOME", str(tmp_path))
    (tmp_path / "Classical").mkdir()
    np.savez(tmp_path / "Classical" / "6_cardio.npz", X=np.eye(3), y=np.eye(3)[0])
    tables = choose_tables(["tabular", "CIFAR10"], local=True)
    assert tables == [Table("cardio", "cardio", "tabular", 3, 3)]
    assert "SKIM_DATA_HOME" in adbench("--data", "wine", "--local", exit_code=2)
