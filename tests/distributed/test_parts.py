"""Files as the parts of a table."""

import fsspec
import numpy as np
import pandas as pd
import pytest

from skim.distributed import DaskDetector, _parts
from skim.distributed._parts import count_rows, find_parts, read_part
from tests.distributed.conftest import cut, detector, pipeline


@pytest.fixture
def write(tmp_path):
    """Writes parts as files of a format, and returns the folder."""

    def write(parts, extension):
        for i, part in enumerate(parts):
            path = tmp_path / f"part-{i}{extension}"
            if extension == ".parquet":
                part.to_parquet(path, index=False)
            else:
                part.to_csv(path, index=False)
        return tmp_path

    return write


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(_parts, "PART_BYTES", 1500)


def whole(parts):
    return pd.concat([read_part(part) for part in parts], ignore_index=True)


@pytest.mark.parametrize("extension", [".parquet", ".csv", ".csv.gz"])
def test_files_give_what_the_table_gives(orders, write, extension):
    folder = write(cut(orders), extension)
    (folder / "_SUCCESS").touch()
    model = DaskDetector(pipeline(), n_rows=1000).fit(folder)
    wanted = pipeline().fit(orders).score_samples(orders)
    for source in (folder, f"{folder}/*{extension}", f"file://{folder}"):
        scores = model.score_samples(source)
        assert scores.npartitions == 5
        np.testing.assert_array_equal(scores.compute(), wanted)


@pytest.mark.parametrize("extension", [".parquet", ".csv"])
def test_remote_files(orders, write, extension):
    folder = write(cut(orders), extension)
    memory = fsspec.filesystem("memory")
    memory.put(f"{folder}/", "/orders/", recursive=True)
    try:
        model = DaskDetector(pipeline(), n_rows=1000).fit("memory://orders")
        scores = model.score_samples(f"memory://orders/*{extension}").compute()
    finally:
        memory.rm("/orders", recursive=True)
    np.testing.assert_array_equal(scores, pipeline().fit(orders).score_samples(orders))


@pytest.mark.parametrize("extension", [".parquet", ".csv"])
def test_large_files_are_several_parts(orders, tmp_path, small_parts, extension):
    path = tmp_path / f"orders{extension}"
    if extension == ".parquet":
        orders.to_parquet(path, row_group_size=50, index=False)
    else:
        orders.to_csv(path, index=False)
    parts = find_parts(path)
    assert len(parts) > 3
    pd.testing.assert_frame_equal(whole(parts), orders, check_dtype=False)
    assert sum(map(count_rows, parts)) == len(orders)
    assert str(path) in parts[1].name
    assert "to" in parts[1].name


def test_a_large_file_without_a_header(numbers, tmp_path, small_parts):
    path = tmp_path / "numbers.csv"
    np.savetxt(path, numbers, delimiter=";")
    parts = find_parts(path)
    assert len(parts) > 3
    table = whole(parts)
    assert list(table) == ["x0", "x1", "x2", "x3"]
    np.testing.assert_allclose(table, numbers)


def test_line_breaks_in_quotes_at_the_end_of_a_range(tmp_path, small_parts):
    path = tmp_path / "notes.csv"
    note = "\n".join(["line"] * 100)
    pd.DataFrame({"a": range(30), "note": note}).to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"notes.csv \(bytes .*line breaks in quotes"):
        whole(find_parts(path))


def test_what_looks_like_text_at_first_is_text_in_all_files(orders, write):
    parts = cut(orders)
    parts[-1] = parts[-1].assign(zip="10115")
    found = whole(find_parts(write(parts, ".csv")))
    assert set(found["zip"]) == {"01067", "10115", "80331"}


def test_the_version_of_a_part_changes_with_its_file(orders, write):
    folder = write(cut(orders), ".parquet")
    before = find_parts(folder)
    orders[:7].to_parquet(folder / "part-2.parquet", index=False)
    after = find_parts(folder)
    assert [a == b for a, b in zip(before, after, strict=True)] == [
        *(True, True, False, True, True)
    ]


# Bad input -----------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 3])
def test_a_file_that_is_no_parquet_is_named(orders, write, number):
    folder = write(cut(orders), ".parquet")
    bad = folder / f"part-{number}.parquet"
    bad.write_text("nothing of the kind")
    with pytest.raises(ValueError, match=f"{bad.name} is not a valid Parquet file"):
        DaskDetector(pipeline()).fit(folder)


def test_files_with_other_columns_or_infinities_are_named(numbers, write):
    parts = cut(pd.DataFrame(numbers, columns=list("abcd")))
    folder = write(parts, ".parquet")
    model = DaskDetector(detector(), random_state=0).fit(folder)
    write([*parts[:3], parts[3].replace(parts[3].iloc[0, 1], np.inf)], ".parquet")
    with pytest.raises(ValueError, match=r"part-3\.parquet contains infinity in c"):
        model.score_samples(folder).compute()
    write([parts[0], parts[1].drop(columns="c"), *parts[2:]], ".parquet")
    with pytest.raises(ValueError, match=r"part-1\.parquet has other columns.*'c'"):
        DaskDetector(detector()).fit(folder)


@pytest.mark.parametrize(
    ("files", "pattern", "words"),
    [
        ([], "", "is a folder without CSV or Parquet files"),
        ([], "*.csv", "No file matches"),
        ([], "absent.csv", "does not exist"),
        (["a.csv", "b.parquet"], "", "has both CSV and Parquet files"),
        (["a.xlsx"], "*", "a.xlsx is neither a CSV nor a Parquet file"),
        (["a.csv"], "", "a.csv is empty"),
    ],
)
def test_sources_that_cannot_be_read(tmp_path, files, pattern, words):
    for name in files:
        (tmp_path / name).touch()
    with pytest.raises((ValueError, FileNotFoundError), match=words):
        find_parts(tmp_path / pattern)
