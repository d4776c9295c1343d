"""Every common kind of file becomes a table, or an error in one clear sentence."""

import bz2
import gzip
import io
import json
import lzma
import sys
import zipfile
from types import SimpleNamespace

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from skim.tables import _csv, _read, read_table
from skim.tables._read import BatchReader, typed_frame

CSV = b"name,size\none,1.5\ntwo,\n"
RECORDS = [{"name": "one", "size": 1.5}, {"name": "two", "size": None}]


def zipped(*members, name="t.csv"):
    """Return a ZIP archive of the given contents."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for i, content in enumerate(members):
            archive.writestr(name if i == 0 else f"{i}{name}", content)
    return buffer.getvalue()


def zst(content):
    return pa.Codec("zstd").compress(content, asbytes=True)


def workbook(**sheets):
    """Return an Excel workbook with the given rows of cells."""
    buffer = io.BytesIO()
    with pd.ExcelWriter(buffer, engine="openpyxl") as writer:
        for name, rows in sheets.items():
            frame = pd.DataFrame(rows)
            frame.to_excel(writer, sheet_name=name, header=False, index=False)
    return buffer.getvalue()


COMPRESS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zst,
    "zip": zipped,
}


@pytest.fixture
def write(tmp_path):
    def write(content, name="table.csv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def pipe(monkeypatch):
    def pipe(content):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        return "-"

    return pipe


@pytest.fixture
def small():
    """A table with columns of several types and missing values."""
    return pd.DataFrame(
        {
            "order": np.arange(6) + 7000,
            "price": [1.25, np.nan, 3.5, 4.0, 1e-3, 1e9],
            "country": ["DE", "FR", None, "IT", "Côte d’Ivoire", "a,b"],
            "paid": [True, False, True, True, False, False],
        }
    )


def assert_small(table, size=(2, 2)):
    """Check the table that CSV and RECORDS stand for."""
    assert table.shape == size
    assert table["name"].tolist() == ["one", "two"]
    assert table["size"][0] == 1.5
    assert table["size"].isna().tolist() == [False, True]


# Formats -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "save"),
    [
        ("t.csv", lambda t, path: t.to_csv(path, index=False)),
        ("t.CSV", lambda t, path: t.to_csv(path, index=False)),
        ("t.tsv", lambda t, path: t.to_csv(path, index=False, sep="\t")),
        ("t.txt", lambda t, path: t.to_csv(path, index=False, sep="|")),
        ("t.parquet", lambda t, path: t.to_parquet(path)),
        ("t.feather", lambda t, path: t.to_feather(path)),
        ("t.xlsx", lambda t, path: t.to_excel(path, index=False)),
        ("t.jsonl", lambda t, path: t.to_json(path, orient="records", lines=True)),
        ("t.ndjson", lambda t, path: t.to_json(path, orient="records")),
        ("t.json", lambda t, path: t.to_json(path)),
        (
            "t.parquet.gz",
            lambda t, path: path.write_bytes(gzip.compress(t.to_parquet())),
        ),
    ],
)
def test_all_formats_give_the_same_table(small, tmp_path, name, save):
    save(small, tmp_path / name)
    table = read_table(tmp_path / name)
    found, saved = table.convert_dtypes(), small.convert_dtypes()  # all gaps are NA
    pd.testing.assert_frame_equal(found, saved, check_dtype=False, rtol=1e-12)
    assert table.attrs["notes"] == []


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize("content", [CSV, json.dumps(RECORDS).encode()])
def test_compressed_text(write, pipe, tmp_path, compression, content):
    data = COMPRESS[compression](content)
    assert_small(read_table(write(data, "t")))
    assert_small(read_table(pipe(data)))
    if compression == "zip":  # as from macOS
        with zipfile.ZipFile(tmp_path / "t", "a") as archive:
            archive.writestr("__MACOSX/._t.csv", b"\0")
        assert_small(read_table(tmp_path / "t"))


def test_formats_from_a_pipe(small, pipe):
    for content in (small.to_parquet(), workbook(s=[["a"], ["x"], ["y"]])):
        assert len(read_table(pipe(content))) > 1
    assert list(read_table(pipe(b"[id],[name]\n1,x\n")).columns) == ["[id]", "[name]"]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(map(json.dumps, RECORDS)),
        json.dumps(RECORDS),
        json.dumps(RECORDS, indent=2),
        "\ufeff" + json.dumps(RECORDS),
        '{"name": ["one", "two"], "size": [1.5, null]}',
        '{\n"name": ["one", "two"],\n"size": [1.5, null]}',
        '{"name": {"0": "one", "1": "two"}, "size": {"0": 1.5}}',
    ],
)
def test_layouts_of_json(write, text):
    assert_small(read_table(write(text, "t.jsonl")))


def test_the_layout_of_json_does_not_change_the_types(write):
    rows = [{"when": "2024-01-05", "n": 1, "ok": True}, {"when": "2024-02-05", "n": 2}]
    lines = read_table(write("\n".join(map(json.dumps, rows)), "t.jsonl"))
    pd.testing.assert_frame_equal(read_table(write(json.dumps(rows), "t.json")), lines)


def test_other_json(write):
    table = read_table(write('{"a": 1}\n\n{"a": "x", "b": 2}\n', "t.jsonl"))
    assert table["a"].tolist() == ["1", "x"]
    assert read_table(write("[[1, 2], [3, 4]]", "t.json")).columns.tolist() == [
        "x0",
        "x1",
    ]
    assert read_table(write('{"a": 1, "b": "x"}', "t.json")).shape == (1, 2)
    table = read_table(write('{"a": "ä"}\n'.encode("cp1252"), "t.jsonl"))
    assert table["a"].tolist() == ["ä"]
    assert "cp1252" in table.attrs["notes"][0]


@pytest.mark.parametrize("sheet", ["Feb", 2, "2"])
def test_sheets_of_a_workbook(write, sheet):
    book = workbook(Jan=[["a", "b"], [1, "x"], [2, "y"]], Feb=[["c"], [5], [6], [7]])
    path = write(book, "t.xlsx")
    first = read_table(path)
    assert first["a"].tolist() == [1, 2]
    assert "the first of 2 (Jan, Feb)" in first.attrs["notes"][0]
    chosen = read_table(path, sheet=sheet)
    assert chosen["c"].tolist() == [5, 6, 7]
    assert chosen.attrs["notes"] == []
    for odd in ("Mar", 3):
        with pytest.raises(ValueError, match="cannot be read: Worksheet"):
            read_table(path, sheet=odd)


def test_cells_of_a_workbook(write):
    day = pd.Timestamp("2024-03-01")
    rows = [
        ["day", "zip", "n", None, 2020, "paid"],
        [day, "01067", 1, "x", 0.5, True],
        [None] * 6,
        [day, "10115", "-", "y", 1.5, None],
    ]
    table = read_table(write(workbook(s=rows), "t.xlsx"))
    assert list(table.columns) == ["day", "zip", "n", "column 4", "2020", "paid"]
    assert table["day"].tolist() == [day, day]
    assert table["zip"].tolist() == ["01067", "10115"]
    assert table["n"].isna().tolist() == [False, True]
    assert table.dtypes[["n", "2020", "paid"]].tolist() == [float, float, "boolean"]
    table = read_table(write(workbook(s=[[1, 2], [3, 4]]), "t.xlsx"))
    assert list(table.columns) == ["x0", "x1"]
    assert len(table) == 2


def test_a_title_above_the_cells_is_skipped_on_request(write):
    path = write(workbook(s=[["Sales", None], ["a", "b"], [1, 2]]), "t.xlsx")
    with pytest.raises(ValueError, match=r"row 1 names 1 of 2 .* skip_rows"):
        read_table(path)
    assert read_table(path, skip_rows=1)["b"].tolist() == [2]


# Text ----------------------------------------------------------------------------


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_quotes_line_ends_and_byte_order_marks(write, mark, end):
    lines = ['name;"two\nlines";Größe 📏;', "anna;1,5;3;x", '"b;ob";"2,5";;y']
    table = read_table(write(mark + end.join(lines).encode()))
    assert list(table.columns) == ["name", "two\nlines", "Größe 📏", "column 4"]
    assert list(table["name"]) == ["anna", "b;ob"]
    assert list(table["two\nlines"]) == ["1,5", "2,5"]
    assert table["Größe 📏"].isna().tolist() == [False, True]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_delimiters_are_detected(write, delimiter):
    rows = [["a", "b", "c"], ["1", "2", "3"], ["4", "5", "6"]]
    table = read_table(write("\n".join(map(delimiter.join, rows)), "t.txt"))
    assert table.shape == (2, 3)
    assert read_table(write("full name\nAnn Lee\nBob\n")).shape == (2, 1)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("1.5,2\n3,4\n5,6\n", {"x0": [1.5, 3, 5], "x1": [2, 4, 6]}),
        ("a,a,b,a.1\n1,2,3,4\n", {"a": [1], "a.2": [2], "b": [3], "a.1": [4]}),
        ("zip,n\n01067,1\n10115,2\n", {"zip": ["01067", "10115"], "n": [1, 2]}),
        ("card\n12345678901234567890\n", {"card": ["12345678901234567890"]}),
        ("n\n9007199254740993\n?\n", {"n": [9007199254740993, None]}),
    ],
)
def test_columns_are_what_the_text_says(write, text, columns):
    """No row, column or digit is lost."""
    assert read_table(write(text)).to_dict("list") == columns


@pytest.mark.parametrize("mark", ["?", "-", "NA", "n/a", "None", "", "nan", "\\N"])
def test_missing_value_marks_do_not_turn_numbers_into_text(write, mark):
    table = read_table(write(f"a,b\n1.5,1\n{mark},2\n"))
    assert table["a"].dtype == float
    assert table["a"].isna().tolist() == [False, True]


PREAMBLES = {
    "Sales 2024\n\nby region\na,b\n1,2\n5,6\n": {"skip_rows": 3},
    "a,b\n1,2\n3\n5,6\ntotal: 2 rows\n": {"skip_bad_lines": True},
    "a,b\n1,2\n3,4,5\n5,6\n": {"skip_bad_lines": True},
}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("text", PREAMBLES)
def test_errors_name_the_option_that_reads_the_file(write, text, end):
    path = write(text.replace("\n", end))
    ((option, value),) = PREAMBLES[text].items()
    with pytest.raises(ValueError, match=f"set {option}={value!r}[.]"):
        read_table(path)
    for encoding in (None, "utf-16"):
        if encoding:
            path = write(text.replace("\n", end).encode(encoding))
        table = read_table(path, encoding=encoding, **{option: value})
        assert table.to_dict("list") == {"a": [1, 5], "b": [2, 6]}


def test_skipped_lines_count(write):
    table = read_table(write("a,b\n1,2\n3\n5,6\n7,8,9\n1,1\n"), skip_bad_lines=True)
    (note,) = table.attrs["notes"]
    assert "fields: 2, such as '3'" in note
    with pytest.raises(ValueError, match=r"set skip_rows=1\."):
        read_table(write("title\na,b\n1,2\n3,4\n"), skip_bad_lines=True)
    path = write("title\n\na,b\n1,2\n3,4,5\n")
    with pytest.raises(ValueError, match="line 5: 3 fields, but line 3 has 2"):
        read_table(path, skip_rows=1)


# Encodings -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("cp1252", "Müller Straße café naïve São “Åse”"),
        ("cp1252", "é"),
        ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy"),
        ("cp1251", "Москва Санкт-Петербург Новосибирск Екатеринбург"),
        ("cp932", "東京 大阪 名古屋 こんにちは"),
        ("gb18030", "北京 上海 广州 深圳 中华人民共和国"),
    ],
)
@pytest.mark.parametrize("n_ascii", [0, 3000])
def test_encodings_are_detected_and_noted(write, encoding, words, n_ascii):
    lines = ["name,n", *n_ascii * ["x" * 400 + ",1"]]  # 3000 are beyond what is sampled
    lines += [f"{word},{len(word)}" for word in words.split()]
    path = write("\n".join(lines).encode(encoding))
    table = read_table(path)
    assert table["name"].tolist()[n_ascii:] == words.split()
    (note,) = table.attrs["notes"]
    assert note.startswith(f"Read {path} as {encoding}; ")
    chosen = read_table(path, encoding=encoding.upper())
    pd.testing.assert_frame_equal(chosen, table)
    assert chosen.attrs["notes"] == []
    marked = read_table(write("\n".join(lines).encode("utf-16")))
    pd.testing.assert_frame_equal(marked, table)
    assert marked.attrs["notes"] == []


# Several files -------------------------------------------------------------------


@pytest.mark.parametrize("source", ["", "*.csv*", "**/*.csv*"])
def test_files_of_a_folder_are_read_together(write, tmp_path, source):
    write("a,zip\n1,10115\n", "d/1.csv")
    write(gzip.compress(b"zip,a\n01067,2.5\n"), "d/2.csv.gz")
    write("a,zip\n", "d/3.csv")
    write("", "d/_SUCCESS")
    name = str(tmp_path / "d" / source)
    table = read_table(name)
    assert table.to_dict("list") == {"a": [1, 2.5], "zip": ["10115", "01067"]}
    assert table.attrs["notes"] == [f"Read 3 files of {name}."]


def test_parquet_files_are_read_together(small, tmp_path):
    small[:2].to_parquet(tmp_path / "1.parquet")
    small[2:].to_parquet(tmp_path / "2.parquet", index=False)
    table = read_table(tmp_path)
    pd.testing.assert_frame_equal(table, small, check_dtype=False)
    pd.DataFrame({"a": [1]}).to_csv(tmp_path / "readme.txt")
    with pytest.raises(ValueError, match=r"several formats \(\.parquet, \.txt\)"):
        read_table(tmp_path)
    assert len(read_table(tmp_path / "*.parquet")) == len(small)
    small.assign(order="x").to_parquet(tmp_path / "3.parquet")
    with pytest.raises(ValueError, match="order has incompatible types"):
        read_table(tmp_path / "*.parquet")


def test_a_file_with_other_columns_is_named(write, tmp_path):
    write("a,b\n1,2\n", "1.csv")
    odd = write("a,c\n1,2\n", "2.csv")
    with pytest.raises(ValueError, match="only one of them has 'b', 'c'") as raised:
        read_table(tmp_path)
    assert str(raised.value).startswith(f"{odd} ")


def test_notes_about_many_files_are_few_and_not_repeated(write, tmp_path):
    for i in range(5):
        write(f"a,b\né,{'x' if i else 1}\n".encode("cp1252"), f"{i}.csv")
    notes = read_table(tmp_path).attrs["notes"]
    assert len(notes) == 4
    assert sum("cp1252" in note for note in notes) == 3


def test_links_and_odd_names_are_read_and_damaged_parts_are_named(write, tmp_path):
    assert_small(read_table(write(CSV, "t[1].csv")))
    write("a\n1\n", "part/one.xlsx.csv")
    write("a\n2\n", "two::2.csv")
    (tmp_path / "part" / "two.csv").symlink_to(tmp_path / "two::2.csv")
    assert read_table(tmp_path / "part")["a"].tolist() == [1, 2]
    assert read_table(tmp_path / "two::2.csv")["a"].tolist() == [2]
    (tmp_path / "part" / "two.csv.gz").write_bytes(gzip.compress(b"a\n3\n")[:-6])
    with pytest.raises(ValueError, match=r"two\.csv\.gz cannot be read"):
        read_table(tmp_path / "part" / "two*")


# Faults --------------------------------------------------------------------------

GZ = gzip.compress(CSV * 1000)
BOOK = workbook(s=[["a", "b"], [1, 2]])
ENCRYPTED = zipped(CSV).replace(b"\x14\0\0\0\x08", b"\x14\0\1\0\x08")
OLE = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504)
FAULTS = {
    "empty": ("t.csv", b"", "is empty"),
    "blank": ("t.csv", b" \n\n", "is empty"),
    "names only": ("t.csv", b"a,b\n", "column names but no rows"),
    "long row": ("t.csv", b"a,b\n1,2\n3,4,5\n6,7\n", "line 3: 3 fields, .* has 2"),
    "short row": ("t.csv", b'a,b\n1,"x\ny"\n3\n', "line 4: 1 field, .* has 2"),
    "not text": ("t.csv", bytes(range(256)) * 4, "is not text"),
    "no zeros": ("t.csv", bytes(range(1, 256)) * 4, "is not text"),
    "damaged UTF-8": ("t.csv", "ä\nö\nü\n".encode() + b"\xe4\n", "line 4: not UTF-8"),
    "Parquet": ("t.parquet", b"PAR1 and then nothing", "Parquet magic bytes not found"),
    "text as Parquet": ("t.parquet", CSV, "is not a valid .parquet file"),
    "Feather": ("t.feather", b"ARROW1 and then nothing", "cannot be read: "),
    "JSON": ("t.jsonl", b'{"a": 1}\n{"a": \n', "line 2"),
    "truncated array": ("t.json", b'[{"a": 1},\n{"a"', "not valid JSON: .* line 2"),
    "empty array": ("t.json", b"[]", "no columns"),
    "blank JSON": ("t.json", b" \n", "is empty"),
    "nested array": ("t.json", b'[{"a": [1]}]', "nested values in 'a'"),
    "deep": ("t.json", b"[" * 200_000, "nested too deeply"),
    "uneven": ("t.json", b'{"a": [1, 2], "b": [1]}', "must be of the same length"),
    "array of numbers": ("t.json", b"[1, 2]", "rows that are not JSON objects"),
    "number": ("t.json", b"1", "rows that are not JSON objects"),
    "truncated gzip": ("t.csv.gz", GZ[:-20], "cannot be read: .*ended before"),
    "gzip checksum": ("t.csv.gz", GZ[:-8] + bytes(8), "cannot be read: CRC"),
    "truncated bz2": ("t.csv.bz2", bz2.compress(CSV)[:-9], "ended before"),
    "truncated xz": ("t.json.xz", lzma.compress(CSV)[:-9], "ended before"),
    "truncated zst": ("t.csv.zst", zst(CSV)[:-3], "cannot be read: "),
    "empty gzip": ("t.csv.gz", gzip.compress(b""), "is empty"),
    "truncated zip": ("t.zip", zipped(CSV)[:-30], "cannot be read: .*not a zip"),
    "zip of many": ("t.zip", zipped(CSV, CSV), "it contains 2 files"),
    "encrypted zip": ("t.zip", ENCRYPTED, "is encrypted"),
    "twice compressed": ("t.gz", gzip.compress(GZ), "is not text"),
    "tar": ("t.tar.gz", gzip.compress(b"t.csv" + bytes(507)), "is not text"),
    "damaged Excel": ("t.xlsx", BOOK[:-90], "cannot be read: "),
    "old Excel": ("t.xlsx", OLE, "is an old or protected Excel workbook"),
    "empty sheet": ("t.xlsx", workbook(s=[]), "Sheet 's' of .* is empty"),
    "open quote": ("t.csv", b'a,b\n1,"' + b"x" * 2**22, "a line of more than 2 MB"),
    "Excel names": ("t.xlsx", workbook(s=[["a", "b"]]), "column names but no rows"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_errors_in_files_are_explained_in_one_sentence(write, fault):
    name, content, message = FAULTS[fault]
    with pytest.raises(ValueError, match=message) as raised:
        read_table(write(content, name))
    assert name in str(raised.value)
    assert "\n" not in str(raised.value)


LIMITED = {
    "wide.csv": (b"a,b\n" + b"1,2\n" * 300_000, "more than 0.001 GB of data"),
    "bomb.csv.gz": (gzip.compress(b"a,b\n" + b"1,2\n" * 300_000), "0.001 GB of data"),
    "bomb.json.xz": (lzma.compress(b"[" + b"1," * 600_000), "0.001 GB of data"),
    "bomb.xlsx": (
        zipped(bytes(2_000_000), name="[Content_Types].xml"),
        "0.001 GB of data",
    ),
    "rows.parquet": (
        pd.DataFrame({"a": np.zeros(200_000, np.int8)}).to_parquet(),
        "give a folder as the output",
    ),
}


@pytest.mark.parametrize("name", LIMITED)
def test_what_is_too_large_is_refused_unless_it_is_meant(write, monkeypatch, name):
    content, message = LIMITED[name]
    path = write(content, name)
    monkeypatch.setenv("SKIM_MAX_GB", "0.001")
    with pytest.raises(ValueError, match=message) as raised:
        read_table(path)
    assert "SKIM_MAX_GB" in str(raised.value)
    assert "\n" not in str(raised.value)
    monkeypatch.setenv("SKIM_MAX_GB", "1")
    if name not in ("bomb.json.xz", "bomb.xlsx"):
        assert len(read_table(path)) > 0
    monkeypatch.setenv("SKIM_MAX_GB", "much")
    with pytest.raises(ValueError, match="SKIM_MAX_GB must be a number, not 'much'"):
        read_table(path)


def test_batches_are_the_whole_table(write, monkeypatch, tmp_path):
    monkeypatch.setattr(_read, "BATCH_CELLS", 200)
    monkeypatch.setattr(_read, "MIN_BATCH", 2)
    monkeypatch.setattr(_csv, "MAX_LINE", 30)
    lines = [f"{i};{i % 7},5;n{i}" for i in range(1000)]
    write("a;b;c\n" + "\n".join(lines), "d/1.csv")
    write(gzip.compress(b"b;a;c\n7;#REF!;\n"), "d/2.csv.gz")
    reader = BatchReader(tmp_path / "d", [])
    assert (list(reader.header), len(reader.header)) == (["a", "b", "c"], 0)
    names, batches = zip(*reader, strict=True)
    assert {len(batch) for batch in batches} == {66, 10, 1}
    assert names[-1].endswith("2.csv.gz")
    table = pd.concat(batches, ignore_index=True)
    assert table["a"].tolist() == [*map(str, range(1000)), "#REF!"]
    assert table["c"].isna().tolist() == [False] * 1000 + [True]
    kinds = typed_frame(table, ["a", "b"]).dtypes, typed_frame(table[:9], ["a"]).dtypes
    assert [str(dtype["a"]) for dtype in kinds] == ["str", "int64"]
    write(b"b;a\n7;1\n", "d/3.csv")
    with pytest.raises(ValueError, match=r"3\.csv has other columns .* has 'c'"):
        list(BatchReader(tmp_path / "d", []))
    with pytest.raises(ValueError, match=r"t\.json is neither a CSV nor a Parquet"):
        BatchReader(write("[]", "t.json"), [])


def test_remote_files(small):
    memory = fsspec.filesystem("memory")
    memory.pipe("/shop/1.parquet", small[:2].to_parquet())
    memory.pipe("/shop/2.parquet", small[2:].to_parquet())
    memory.pipe("/t.csv", CSV)
    try:
        assert_small(read_table("memory://t.csv"))
        for source in ("memory://shop", "memory://shop/*.parquet"):
            assert len(read_table(source)) == len(small)
            assert [len(batch) for _, batch in BatchReader(source, [])] == [2, 4]
        with pytest.raises(FileNotFoundError, match=r"no\.csv does not exist"):
            read_table("memory://no.csv")
    finally:
        memory.rm("/shop", recursive=True)
        memory.rm("/t.csv")


def test_directories_missing_files_and_bad_options(tmp_path, write):
    with pytest.raises(FileNotFoundError, match="without CSV or Parquet files"):
        read_table(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_table(tmp_path / "nowhere.csv")
    with pytest.raises(FileNotFoundError, match="No file matches"):
        read_table(tmp_path / "*.csv")
    path = write("a,b\n1,2\n")
    for encoding in ("utf-9", "hex"):
        with pytest.raises(ValueError, match=f"Unknown encoding '{encoding}'"):
            read_table(path, encoding=encoding)
    with pytest.raises(ValueError, match="is not ASCII text"):
        read_table(write("a,b\nä,2\n"), encoding="ascii")
    for option, value, message in (
        ("delimiter", "::", "must be a single character"),
        ("skip_rows", -1, "must not be negative"),
        ("skip_rows", 5, "is empty without the skipped lines"),
    ):
        with pytest.raises(ValueError, match=message):
            read_table(path, **{option: value})


@pytest.mark.parametrize(
    ("missing", "name", "content"),
    [
        ("openpyxl", "t.xlsx", BOOK),
        ("charset_normalizer", "t.csv", b"a,b\n\xe4,1\n"),
        ("pyarrow", "t.csv", CSV),
        ("pandas", "t.csv", CSV),
    ],
)
def test_a_missing_package_names_the_extra(write, monkeypatch, missing, name, content):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=r"pip install 'skim-od\[cli\]'"):
        read_table(write(content, name))
