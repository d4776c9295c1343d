from benchmarks import demo
from tests.benchmarks.commands import run_command


def test_demo_prints_a_table_and_draws_it(tmp_path, monkeypatch, short_training):
    monkeypatch.setattr(demo, "CONTENDERS", {"one": "IMAutoencoder"})
    picture = tmp_path / "table.png"
    assert "AUROC" in run_command("demo", "--picture", picture)
    assert picture.stat().st_size > 10_000
