"""How functions on the path of a call are counted."""

import json

from benchmarks.path import functions_of
from tests.benchmarks.commands import run_command


def test_functions_count_once_and_lambdas_classes_and_other_packages_do_not():
    def call():
        for _ in range(2):
            json.loads(json.dumps({"a": [1]}), object_hook=lambda found: found)

    functions = functions_of(json, [""], call)
    assert ("__init__.py", "dumps") in functions
    assert ("decoder.py", "JSONDecoder.decode") in functions
    assert {file for file, _ in functions} <= {
        "__init__.py",
        "decoder.py",
        "encoder.py",
    }
    assert not any("<lambda>" in name for _, name in functions)
    only = functions_of(json, ["decoder.py"], call)
    assert only == {each for each in functions if each[0] == "decoder.py"}


def test_the_command_counts_and_lists():
    told = run_command("path", "--list")
    for method in ("fit", "predict"):
        for name in ("ALTBIDetector", "IsolationForest"):
            assert f"{name}.{method}" in told
    assert "_altbi.py" in told
