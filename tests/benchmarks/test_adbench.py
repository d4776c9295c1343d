"""The runner: isolated tasks, durable results, resuming, Dask."""

import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
from rich.console import Console

from benchmarks._shared import worker
from benchmarks._shared.detectors import choose
from benchmarks._shared.results import Store
from benchmarks._shared.runner import Plan, execute, watch
from benchmarks._shared.tables import Table, choose_tables
from benchmarks._shared.worker import Limits, run
from tests.benchmarks.commands import run_command

HERE = "tests.benchmarks.detectors"
LIMITS = Limits()


def adbench(*arguments, **options):
    return run_command("adbench", *arguments, **options)


def make_plan(sizes, names, n_seeds=1, records=(), limits=LIMITS, **options):
    """Plan for tables of the given sizes and detectors of the given names."""
    tables = [Table(name, name, "own", *size) for name, size in sizes.items()]
    detectors = choose([f"{HERE}:{name}" for name in names])
    return Plan(tables, detectors, n_seeds, records, limits, **options)


@pytest.fixture(scope="module", autouse=True)
def _no_child_is_left():
    yield
    child = worker._here.__dict__.pop("child", None)
    if child is not None:
        child.close()


@pytest.fixture
def task(own_data):
    def make(name):
        (detector,) = choose([f"{HERE}:{name}"])
        how = detector._asdict()
        where = {"file": "first", "path": str(own_data[0]), "data_home": None}
        return where | {"seed": 0, "threads": 1, "how": how, "detector": name}

    return make


def test_a_task_comes_back_measured(task):
    result = run(task("Good"), LIMITS)
    assert result["status"] == "ok"
    assert (result["n"], result["p"], result["file"]) == (300, 6, "first")
    assert result["auroc"] > 0.9
    assert 0 < result["seconds"] < result["wall"]
    assert "torch" in result["versions"]
    assert result["peak_gb"] > 0.01
    assert not {"path", "how", "data_home"} & set(result)


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("Failing", "failed", "RuntimeError: I do not like this table"),
        ("NotANumber", "failed", "NaN"),
        ("TooFew", "failed", "299"),
        ("Crashing", "failed", "ended with exit code 3. Goodbye"),
        ("Endless", "timeout", "more than 1 s"),
        ("EndlessFromTheStart", "timeout", "more than 1 s"),
        ("Greedy", "memory", "more than 1.5 GB"),
        ("GreedyByProxy", "memory", "more than 1.5 GB"),
    ],
)
def test_a_bad_task_is_recorded_and_the_next_goes_well(task, name, status, message):
    seconds = 1 if name.startswith("Endless") else 120
    run(task("Good"), LIMITS)  # has the process ready
    result = run(task(name), Limits(seconds=seconds, gigabytes=1.5))
    assert result["status"] == status
    assert message in result["error"]
    assert "auroc" not in result
    assert run(task("Good"), LIMITS)["status"] == "ok"


def test_what_others_left_in_memory_is_not_the_detectors_fault(task):
    assert run(task("Leaky"), LIMITS)["peak_gb"] > 1.6
    result = run(task("Good"), Limits(gigabytes=1.5))
    assert result["status"] == "ok"
    assert result["peak_gb"] < 1.5


def test_what_one_detector_does_to_the_process_is_undone(task):
    assert run(task("Meddler"), LIMITS)["status"] == "ok"
    assert run(task("Probe"), LIMITS)["status"] == "ok"


def test_what_a_detector_started_ends_with_it(task, tmp_path, monkeypatch):
    monkeypatch.setenv("SKIM_TEST_PID_FILE", str(tmp_path / "pid"))
    run(task("Good"), LIMITS)  # there is a process, whichever tests ran before
    worker._here.__dict__.pop("child").close()  # the next one knows the variable
    result = run(task("Parent"), Limits(seconds=2))
    assert result["status"] == "timeout"
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if not psutil.pid_exists(pid):
            break
        time.sleep(0.1)
    else:
        pytest.fail("a process is left behind")


def test_missing_data_is_not_the_detectors_fault(task, tmp_path):
    result = run(task("Good") | {"path": str(tmp_path / "nothing.npz")}, LIMITS)
    assert result["status"] == "no data"
    assert result["limits"] == (None, None)


def test_slow_data_is_not_the_detectors_fault(task, tmp_path, monkeypatch):
    run(task("Good"), LIMITS)
    monkeypatch.setattr(worker, "START_SECONDS", 0.1)
    os.mkfifo(tmp_path / "slow.npz")  # nobody ever writes to it
    result = run(task("Good") | {"path": str(tmp_path / "slow.npz")}, LIMITS)
    assert result["status"] == "no data"
    assert "loading takes more than 0.1 s" in result["error"]
    monkeypatch.undo()
    assert run(task("Good"), LIMITS)["status"] == "ok"


def test_missing_data_is_asked_for_once_a_run(tmp_path, own_data):
    (table,) = choose_tables([str(own_data[0])])
    own_data[0].unlink()
    plan = Plan([table], choose([f"{HERE}:Good"]), 3, [], LIMITS)
    store = Store(tmp_path / "results.jsonl")
    records = list(execute(plan, store))
    assert [record["status"] for record in records] == ["no data"] * 3
    assert ["wall" in record for record in records].count(True) == 1
    again = Plan([table], choose([f"{HERE}:Good"]), 3, store.read(), LIMITS)
    assert len(again.todo) == 3


def test_small_tables_come_first_and_seeds_only_where_they_matter():
    sizes = {"big": (1000, 5), "small": (10, 5)}
    plan = make_plan(sizes, ["Good", "Deterministic"], n_seeds=2)
    tasks = [(task["seed"], task["file"], task["detector"]) for task in plan.todo]
    assert tasks == [
        (0, "small", "Good"),
        (0, "small", "Deterministic"),
        (0, "big", "Good"),
        (0, "big", "Deterministic"),
        (1, "small", "Good"),
        (1, "big", "Good"),
    ]


def test_what_is_hopeless_is_not_tried():
    sizes = {"a": (100, 5), "b": (200, 5), "c": (1000, 4)}
    plan = make_plan(sizes, ["Good"], n_seeds=2, limits=Limits(seconds=5))
    late = plan.todo[0] | {"status": "timeout", "error": "late", "limits": (5, None)}
    assert late["file"] == "a"
    assert plan.hopeless(plan.todo[1]) is None
    plan.add(late)
    hopeless = [(t["file"], t["seed"]) for t in plan.todo if plan.hopeless(t)]
    assert hopeless == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]


def test_memory_that_was_short_once_says_nothing_of_other_tasks():
    plan = make_plan({"a": (100, 5), "b": (200, 5)}, ["Good"], n_seeds=2)
    plan.add(plan.todo[0] | {"status": "memory", "error": "", "limits": (None, None)})
    assert not any(plan.hopeless(task) for task in plan.todo)


def test_sizes_of_parts_are_not_relied_on():
    tables = [Table(f"part_{i}", "parts", "image", 10, 5) for i in range(2)]
    plan = Plan(tables, choose([f"{HERE}:Good"]), 2, [], Limits(seconds=5))
    late = plan.todo[0] | {"status": "timeout", "error": "late", "limits": (5, None)}
    plan.add(late)
    hopeless = [(t["file"], t["seed"]) for t in plan.todo if plan.hopeless(t)]
    assert hopeless == [("part_0", 0), ("part_0", 1)]


@pytest.mark.parametrize(
    ("status", "before", "now", "done"),
    [
        ("timeout", (5, None), Limits(seconds=5), True),
        ("timeout", (5, None), Limits(seconds=4), True),
        ("timeout", (5, None), Limits(seconds=6), False),
        ("timeout", (5, None), Limits(), False),
        ("memory", (None, 2), Limits(gigabytes=1), True),
        ("memory", (None, 2), Limits(gigabytes=3), False),
        ("memory", (None, None), Limits(), True),
        ("failed", (5, None), Limits(seconds=6), True),
        ("no data", (5, None), Limits(seconds=5), False),
        ("ok", (5, None), Limits(seconds=1), True),
    ],
)
def test_wider_limits_give_another_chance(status, before, now, done):
    (task,) = make_plan({"a": (10, 2)}, ["Good"]).todo
    records = [task | {"status": status, "error": "", "limits": before}]
    plan = make_plan({"a": (10, 2)}, ["Good"], records=records, limits=now)
    assert (plan.todo == []) == done
    if status != "ok":
        again = make_plan({"a": (10, 2)}, ["Good"], 1, records, now, retry=True)
        assert again.todo == [task]
        assert again.hopeless(task) is None


def test_a_run_is_resumed_without_computing_anything_again(tmp_path, own_data):
    arguments = ["--data", own_data[0], "--data", own_data[1]]
    arguments += ["--detector", f"{HERE}:Good", "--detector", f"{HERE}:Failing"]
    arguments += ["--output", tmp_path / "out", "--seeds", 2]
    told = adbench(*arguments)
    assert "4 failed, 4 ok" in told
    assert "4 × Failing: failed: RuntimeError: I do not like" in told
    first = (tmp_path / "out" / "results.jsonl").read_bytes()
    assert "8 of them done before" in adbench(*arguments)
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == first
    assert "4 of them done before" in adbench(*arguments, "--retry-failed")


def test_a_killed_run_loses_nothing(tmp_path, own_data):
    output = tmp_path / "out" / "results.jsonl"
    command = [sys.executable, "-m", "benchmarks", "adbench", "--seeds", "6"]
    command += ["--data", str(own_data[0]), "--output", str(output.parent)]
    command += ["--detector", f"{HERE}:slow"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while not output.exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = output.read_bytes()
    assert 1 <= len(Store(output).read()) < 6
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert output.read_bytes().startswith(kept.rpartition(b"\n")[0])
    lines = [json.loads(line) for line in output.read_text().splitlines() if line]
    assert sorted(line["seed"] for line in lines) == list(range(6))


def test_time_left_is_told_of_tasks_that_take_long():
    now = 0.0
    console = Console(file=io.StringIO(), width=80, get_time=lambda: now)
    plan = make_plan({"a": (10, 2)}, ["Good"], n_seeds=4)

    def records():
        nonlocal now
        for task in plan.todo:
            now += 90
            yield task | {"status": "ok"}

    assert watch(plan, records(), console) == {"ok": 4}
    lines = console.file.getvalue().splitlines()
    assert lines[:3] == ["1 of 4", "2 of 4, 0:03:00 left", "3 of 4, 0:01:30 left"]


def test_a_full_disk_ends_a_run_in_good_order(tmp_path, own_data, monkeypatch):
    def fail(self, record):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "append", fail)
    arguments = ["--detector", f"{HERE}:Good", "--output", tmp_path / "out"]
    told = adbench("--data", own_data[0], *arguments, exit_code=1)
    assert "Stopped: [Errno 28] No space left on device" in told
    assert "Invalid value" not in told


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--detector", "iforst", "IForest"),
        ("--detector", "no_such_module:Detector", "no_such_module"),
        ("--detector", f"{HERE}:NoSuchClass", "NoSuchClass"),
        ("--data", "cardoi", "cardio"),
        ("--data", "99", "1 to 57"),
        ("--data", "tabluar", "'tabular'"),
        ("--data", "no_such_file.npz", "no data set"),
        ("--detector", f"{HERE}:Demanding", "required"),
        ("--detector", "mistaken:Mine", "invalid syntax"),
        ("--timeout", "-1", "greater than"),
    ],
)
def test_wrong_options_are_refused(tmp_path, monkeypatch, option, value, message):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "mistaken.py").write_text("class Mine(:\n    pass\n")
    output = tmp_path / "out"
    assert message in adbench(option, value, "--output", output, exit_code=2)
    assert not output.exists()


def test_local_leaves_out_what_is_not_here(tmp_path):
    (tmp_path / "Classical").mkdir()
    (tmp_path / "Classical" / "6_cardio.npz").touch()
    tables = choose_tables(["tabular", "CIFAR10"], data_home=tmp_path, local=True)
    assert [table.file for table in tables] == ["cardio"]
    wine = ["--data", "wine", "--local", "--data-home", tmp_path]
    assert "layout" in adbench(*wine, exit_code=2)


def test_own_files_are_known_by_their_content(tmp_path, own_data):
    (before,) = choose_tables([str(own_data[0])])
    assert (before.dataset, before.group) == ("first", "own")
    (tmp_path / "other").mkdir()
    namesake = tmp_path / "other" / "first.npz"
    namesake.write_bytes(own_data[1].read_bytes())
    (other,) = choose_tables([str(namesake)])
    assert other.file != before.file
    with pytest.raises(ValueError, match="two files are called first"):
        choose_tables([str(own_data[0]), str(namesake)])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros(5), np.zeros(5), "one row for each"),
        (np.zeros((5, 2)), np.zeros(4), "one row for each"),
        (np.zeros((5, 2)), np.zeros(5), "1 for outliers"),
        (np.zeros((2, 2)), np.array([1, 2]), "1 for outliers"),
    ],
)
def test_own_files_must_make_sense(tmp_path, X, y, message):
    np.savez(tmp_path / "bad.npz", X=X, y=y)
    bad = ["--data", tmp_path / "bad.npz", "--output", tmp_path / "out"]
    assert message in adbench(*bad, exit_code=2)


def test_data_sets_in_parts_are_all_taken():
    tables = choose_tables(["48", "imdb", "CV_by_ViT/SVHN_3"])
    assert [table.file for table in tables] == [
        *(f"CIFAR10_{i}" for i in range(10)),
        "imdb",
        "CV_by_ViT/SVHN_3",
    ]


def local_cluster(n_workers):
    from distributed import LocalCluster

    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    return LocalCluster(n_workers=n_workers, **options)


@pytest.mark.filterwarnings("default")  # a killed worker makes distributed talk
def test_a_dask_cluster_loses_a_worker_and_nothing_else(tmp_path, own_data):
    (table,) = choose_tables([str(own_data[0])])
    plan = Plan([table], choose([f"{HERE}:slow"]), 12, [], LIMITS)
    store = Store(tmp_path / "results.jsonl")
    with local_cluster(n_workers=2) as cluster:
        address = cluster.scheduler_address
        victim = cluster.workers[0].pid
        for i, _ in enumerate(execute(plan, store, dask=address)):
            if i == 1:
                os.kill(victim, signal.SIGKILL)
    records = store.read()
    assert sorted(each["seed"] for each in records) == list(range(12))
    assert {each["status"] for each in records} == {"ok"}


@pytest.mark.filterwarnings("default")
def test_a_task_that_ends_its_workers_is_recorded_and_the_rest_goes_on(
    tmp_path, own_data
):
    import dask

    output = tmp_path / "out"
    arguments = ["--data", own_data[0], "--output", output, "--seeds", 1]
    for name in ("KillerOfWorkers", "Good"):
        arguments += ["--detector", f"{HERE}:{name}"]
    settings = {"distributed.scheduler.allowed-failures": 1}
    with dask.config.set(settings), local_cluster(n_workers=1) as cluster:
        adbench(*arguments, "--dask", cluster.scheduler_address)
    records = {
        each["detector"]: each for each in Store(output / "results.jsonl").read()
    }
    assert records["Good"]["status"] == "ok"
    assert records["KillerOfWorkers"]["status"] == "failed"
    assert "its worker ended" in records["KillerOfWorkers"]["error"]


def test_a_cluster_that_is_not_there_is_told(tmp_path, own_data):
    import dask

    arguments = ["--data", own_data[0], "--detector", f"{HERE}:Good"]
    arguments += ["--output", tmp_path / "out", "--dask", "tcp://127.0.0.1:9"]
    with dask.config.set({"distributed.comm.timeouts.connect": "0.5s"}):
        assert "tcp://127.0.0.1:9" in adbench(*arguments, exit_code=1)
