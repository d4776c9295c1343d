from matplotlib.figure import Figure

from benchmarks._svg import save_svg


def picture():
    figure = Figure()
    figure.subplots().plot([0, 1], [0, 1], marker="o")  # markers and clips have ids
    return figure


def test_the_same_picture_gives_the_same_file(tmp_path):
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        save_svg(picture(), tmp_path / folder / "line.svg")
    first = (tmp_path / "first" / "line.svg").read_bytes()
    assert first == (tmp_path / "second" / "line.svg").read_bytes()
