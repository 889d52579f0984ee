"""CSV as it comes: separators, decimal marks, encodings, thousands, dates; and Excel."""

import datetime
import sys
from pathlib import Path

import pytest
from hiring import COLUMNS, make_table, write_table

from equipoise.cli.tables.dialect import Dialect
from equipoise.cli.tables.files import read_batches, read_table

ROWS = [("Zoë", 1.5, 1200), ("Jörg", 2.25, 7), ("Ana", 10.0, 31000)]


def write(path, separator=",", decimal=".", encoding="utf-8", quote=False):
    lines = [separator.join(("näme", "size", "pay"))]
    for name, size, pay in ROWS:
        number = str(size).replace(".", decimal)
        lines.append(separator.join((name, f'"{number}"' if quote else number, str(pay))))
    path.write_bytes(("\n".join(lines) + "\n").encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le"])
@pytest.mark.parametrize(
    ("separator", "decimal"), [(",", "."), (";", ","), (";", "."), ("\t", ","), ("|", ".")]
)
def test_a_csv_file_is_read_however_it_was_written(tmp_path, separator, decimal, encoding):
    path = write(tmp_path / "people.csv", separator, decimal, encoding)
    expected = [dict(zip(("näme", "size", "pay"), row, strict=True)) for row in ROWS]
    assert read_table(path).to_pylist() == expected
    kinds = {"size": "number", "pay": "number", "näme": "category"}
    batches = [row for batch in read_batches(path, kinds) for row in batch.to_pylist()]
    assert batches == expected


def test_decimal_commas_in_quotes_between_commas(tmp_path):
    path = write(tmp_path / "people.csv", ",", ",", quote=True)
    assert read_table(path)["size"].to_pylist() == [1.5, 2.25, 10.0]


def test_what_is_said_counts(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("a;b\n1,234;1\n2,345;2\n")
    assert read_table(path)["a"].to_pylist() == [1.234, 2.345]
    said = Dialect(decimal=".")
    assert read_table(path, dialect=said)["a"].to_pylist() == [1234.0, 2345.0]
    whole = read_table(path, dialect=Dialect(separator="|"))
    assert whole["a;b"].to_pylist() == ["1,234;1", "2,345;2"]


def test_letters_late_in_a_file_tell_its_encoding(tmp_path):
    path = tmp_path / "late.csv"
    path.write_bytes(b"town,n\n" + b"Rome,1\n" * 300_000 + "Köln,2\n".encode("latin-1"))
    assert Dialect().found_in(path).encoding == "cp1252"
    assert read_table(path)["town"].to_pylist()[-1] == "Köln"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"1,234"\n"12"\n"1,234,567.5"', [1234.0, 12.0, 1234567.5]),
        ("1 234\n12\n-5 000", [1234.0, 12.0, -5000.0]),
        ("1'234\n12\n5'000", [1234.0, 12.0, 5000.0]),
    ],
)
def test_marks_of_thousands(tmp_path, text, expected):
    path = tmp_path / "pay.csv"
    path.write_text(f"pay\n{text}\n")
    assert read_table(path)["pay"].to_pylist() == expected
    (batch,) = read_batches(path, {"pay": "number"})
    assert batch["pay"].to_pylist() == expected


def test_european_numbers_and_dates(tmp_path):
    path = tmp_path / "pay.csv"
    path.write_text("pay;day\n1.234,5;31.01.2020\n12,25;01.02.2020\n")
    table = read_table(path)
    assert table["pay"].to_pylist() == [1234.5, 12.25]
    (batch,) = read_batches(path, {"day": "number"})
    first = (datetime.date(2020, 1, 31) - datetime.date(1970, 1, 1)).days
    assert batch["day"].to_pylist() == [first, first + 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--separator", ";;"), "--separator is ';;'"),
        (("--decimal", "x"), "--decimal is 'x'"),
        (("--encoding", "latin-99"), "--encoding is 'latin-99'"),
        (("--encoding", "ascii"), "people.csv cannot be read as a csv file"),
    ],
)
def test_wrong_options_and_errors_name_the_file(run, data, options, message):
    data.write_text(data.read_text().replace("Rome", "Röm"), encoding="utf-8")
    ran = run("audit", data, "--label", "hired", "--sensitive", "sex", *options)
    assert ran.code == 2
    assert message in ran.err


def european(path: Path) -> Path:
    columns = make_table()
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=at % 365) for at in range(600)]
    columns["since"] = [day.strftime("%d.%m.%Y") for day in days]
    columns["pay"] = [f"{at // 10 + 1}.{at % 1000:03},50" for at in range(600)]
    columns["skill"] = [str(value).replace(".", ",") for value in columns["skill"]]
    columns["importance"] = [str(value).replace(".", ",") for value in columns["importance"]]
    columns["points"] = [str(at % 50) if at % 10 else "unknown" for at in range(600)]
    lines = [";".join(columns)]
    for row in zip(*columns.values(), strict=True):
        lines.append(";".join("" if value is None else str(value) for value in row))
    path.write_text("\n".join(lines), encoding="utf-16")
    return path


def test_a_european_file_from_fit_to_predict(run, data):
    path = european(data.parent / "leute.csv")
    ran = run("fit", path, *COLUMNS, "--eps", 0.05)
    assert ran.code == 0, ran.err
    head = ran.err.split("people to learn from")[0]
    assert "separator semicolon, decimal comma, encoding utf-16" in head
    assert "date, as days since 1970" in head
    assert "number, without marks of thousands" in head
    assert "number, true and false" in head
    assert "column 'points' was read as text, although 90% of its values" in ran.err
    assert "'unknown'" in ran.err
    for command in (("certify", "model.equipoise"), ("predict", "model.equipoise")):
        done = run(*command, path)
        assert done.code == 0, done.err
    assert len(run("predict", "model.equipoise", path).out.splitlines()) == 601
    told = run("fit", path, *COLUMNS, "--json", "--force").json["data"]
    roles = {column["name"]: (column["role"], column["kind"]) for column in told["columns"]}
    assert roles["hired"] == ("label", "category")
    assert roles["sex"] == ("group", "category")
    assert roles["person"] == ("left out", "category")
    assert roles["skill"] == ("feature", "number")


def test_how_columns_were_read_is_on_the_page(run, data):
    assert run("frontier", data, *COLUMNS, "--bounds", "0.1").code == 0
    page = (data.parent / "frontier.html").read_text(encoding="utf-8")
    assert "How the columns were read" in page
    assert "separator comma, decimal point, encoding utf-8" in page


def test_excel(run, data):
    openpyxl = pytest.importorskip("openpyxl", reason="needs equipoise[excel]")
    columns = make_table()
    columns["since"] = [datetime.date(2020, 1, 1 + at % 28) for at in range(600)]
    book = openpyxl.Workbook()
    book.active.append(list(columns))
    for row in zip(*columns.values(), strict=True):
        book.active.append(row)
    book.save(data.parent / "people.xlsx")
    write_table(columns, data.parent / "people.parquet")
    found = []
    for name in ("people.xlsx", "people.parquet"):
        ran = run("fit", name, *COLUMNS, "--json", "--force")
        assert ran.code == 0, ran.err
        found.append(ran.json["measured"])
    assert found[0] == found[1]
    assert run("predict", "model.equipoise", "people.xlsx").code == 0


def test_texts_of_excel_are_read_as_in_a_csv_file(run, data):
    openpyxl = pytest.importorskip("openpyxl", reason="needs equipoise[excel]")
    columns = make_table()
    columns["since"] = [f"{1 + at % 28}.01.2020" for at in range(600)]
    columns["pay"] = [f"{at % 7}.{100 + at},50" for at in range(600)]
    columns["skill"] = [f"{skill:.3f}".replace(".", ",") for skill in columns["skill"]]
    del columns["importance"]
    columns["sex"] = ["01" if sex == "F" else "1" for sex in columns["sex"]]
    book = openpyxl.Workbook()
    book.active.append(list(columns))
    for row in zip(*columns.values(), strict=True):
        book.active.append(row)
    book.save(data.parent / "people.xlsx")
    lines = [";".join(columns)]
    for row in zip(*columns.values(), strict=True):
        lines.append(";".join("" if value is None else str(value) for value in row))
    (data.parent / "same.csv").write_text("\n".join(lines))
    read = {}
    for name in ("people.xlsx", "same.csv"):
        ran = run("fit", name, *COLUMNS, "--json", "--force")
        assert ran.code == 0, ran.err
        kinds = {entry["name"]: entry["kind"] for entry in ran.json["data"]["columns"]}
        assert kinds["since"] == "date, as days since 1970"
        assert kinds["pay"].startswith("number")
        assert kinds["skill"].startswith("number")
        assert kinds["sex"] == "category"
        read[name] = ran.json["measured"]
    assert read["people.xlsx"] == read["same.csv"]
    assert run("predict", "model.equipoise", "people.xlsx").code == 0


def test_excel_without_openpyxl_and_what_is_none(run, data, monkeypatch):
    (data.parent / "people.xlsx").write_text("no workbook")
    pytest.importorskip("openpyxl")
    ran = run("audit", "people.xlsx", "--label", "hired", "--sensitive", "sex")
    assert "people.xlsx cannot be read as an Excel file" in ran.err
    assert "Save it again" in ran.err
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    ran = run("audit", "people.xlsx", "--label", "hired", "--sensitive", "sex")
    assert ran.code == 2
    assert "pip install 'equipoise[excel]'" in ran.err
