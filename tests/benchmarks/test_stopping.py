from benchmarks import stopping as study
from skim import ALTBIDetector
from tests.benchmarks.commands import run_command


def test_the_command_compares_criteria_and_resumes(tmp_path, monkeypatch, own_data):
    monkeypatch.setattr(
        study,
        "ALTBIDetector",
        lambda **params: ALTBIDetector(epochs=4, n_estimators=1, **params),
    )
    output = tmp_path / "stopping.csv"
    command = ["stopping", "--data", own_data[0], "--seeds", 1, "--output", output]
    told = run_command(*command)
    assert all(criterion in told for criterion in study.CRITERIA)
    first = output.read_text()
    assert len(first.splitlines()) == 1 + 4
    run_command(*command)
    assert output.read_text() == first
