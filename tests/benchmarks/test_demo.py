from typer.testing import CliRunner

from benchmarks import demo
from benchmarks.__main__ import app
from skim import IMAutoencoderDetector


def test_demo_prints_a_table_and_draws_it(tmp_path, monkeypatch):
    def quick(seed):
        return {"one": IMAutoencoderDetector(epochs=2, random_state=seed)}

    monkeypatch.setattr(demo, "detectors", quick)
    picture = tmp_path / "table.png"
    result = CliRunner().invoke(app, ["demo", "--picture", str(picture)])
    assert result.exit_code == 0
    assert "AUROC" in result.output
    assert picture.stat().st_size > 10_000
