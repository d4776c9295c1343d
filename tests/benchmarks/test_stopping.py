from benchmarks import stopping as study
from skim import ALTBIDetector
from tests.benchmarks.commands import run_twice


def test_the_command_compares_criteria_and_resumes(tmp_path, monkeypatch, own_data):
    monkeypatch.setattr(
        study,
        "ALTBIDetector",
        lambda **params: ALTBIDetector(epochs=4, n_estimators=1, **params),
    )
    output = tmp_path / "stopping.csv"
    command = ["stopping", "--data", own_data[0], "--seeds", 1]
    told = run_twice(*command, output=output)
    assert all(criterion in told for criterion in study.CRITERIA)
    assert len(output.read_text().splitlines()) == 1 + 4
