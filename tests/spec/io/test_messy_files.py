"""Files as spreadsheets write them: delimiters, decimal commas, encodings, and files that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from warner import Categorical, Grid, Integers, Interval
from warner.errors import EmptyError, FileError, ValuesError
from warner.io import csv_format, read_values
from warner.io.read_answers import kinds_of

DOMAINS = {"ville": Categorical(["Zürich", "Genève"]), "pay": Interval(0, 100, 4)}
TEXT = "id;ville;pay\n1;Zürich;12,5\n2;Genève;99\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _refusal(content: bytes | str, bare: bool = False) -> str:
    Path("x.csv").write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises((FileError, ValuesError, EmptyError)) as caught:
        list(read_values("x.csv", DOMAINS, bare))
    assert caught.value.__context__ is None
    return str(caught.value)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_of_a_spreadsheet_is_read(
    here: Path, delimiter: str, encoding: str, end: str
) -> None:
    text = (TEXT.replace(",", ".") if delimiter == "," else TEXT).replace(";", delimiter)
    Path("x.csv").write_bytes(text.replace("\n", end).encode(encoding))
    (batch,) = read_values("x.csv", DOMAINS)
    assert batch["ville"].tolist() == [0, 1] and batch["pay"].tolist() == [0, 3]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_line_that_names_the_delimiter_is_no_line_of_names(
    here: Path, delimiter: str, mark: str
) -> None:
    text = (TEXT.replace(",", ".") if delimiter == "," else TEXT).replace(";", delimiter)
    Path("x.csv").write_text(f"{mark}sep={delimiter}\n{text}", "utf-8", newline="\r\n")
    (batch,) = read_values("x.csv", DOMAINS)
    assert batch["ville"].tolist() == [0, 1] and batch["pay"].tolist() == [0, 3]
    assert kinds_of("x.csv", ["ville", "pay"]) == {"ville": "labels", "pay": "numbers"}
    # Without names the first line is an answer.
    Path("x.csv").write_text("sep=;\n")
    assert "data row 1" in _refusal("sep=;\n", bare=True)


def test_words_beside_a_number_are_named_as_such(here: Path) -> None:
    said = _refusal("ville;pay\nGenève;12,5 EUR\n")
    assert "Write only the number" in said and "clip" not in said and "EUR" not in said
    assert "or clip = true in a study file" in _refusal("ville;pay\nGenève;125\n")


def test_another_encoding_is_read_in_blocks(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_format, "_ANSWER_BLOCK", 2**10)
    Path("x.csv").write_bytes(("ville\n" + "Zürich\nGenève\n" * 1000).encode("utf-16"))
    parts = list(read_values("x.csv", {"ville": DOMAINS["ville"]}))
    assert [i for part in parts for i in part["ville"]] == [0, 1] * 1000


def test_a_file_without_names_may_have_semicolons(here: Path) -> None:
    Path("x.csv").write_text("Zürich;12,5\nGenève;99\n")
    (batch,) = read_values("x.csv", DOMAINS, True)
    assert batch["ville"].tolist() == [0, 1] and batch["pay"].tolist() == [0, 3]
    Path("x.csv").write_text("0,1\n1,1\n")
    (batch,) = read_values("x.csv", {"cell": Grid(2, 2)}, True)
    assert batch["cell"].tolist() == [1, 3]


def test_a_comma_stays_the_delimiter_where_it_was_one(here: Path) -> None:
    Path("x.csv").write_text('a;b,q\n"x;y",2\n')
    (batch,) = read_values("x.csv", {"q": Integers(0, 3)})
    assert batch["q"].tolist() == [2]
    assert "must be a number" in _refusal('id,ville,pay\n1,Zürich,"12,5"\n')


def test_commas_and_points_in_one_column_are_not_guessed(here: Path) -> None:
    text = _refusal("ville;pay\nZürich;12,5\nZürich;1.234\nZürich;1.234,5\n")
    assert "column 'pay', data row 2: must have a decimal comma" in text and "data row: 3" in text


def test_files_that_are_no_text_are_named_with_a_remedy(here: Path) -> None:
    assert "Save it again in Excel, or as CSV UTF-8" in _refusal(
        b"PK\x03\x04\x14\x00\x06\x00 sheet"
    )
    assert "Excel" in _refusal(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    assert "ends in .parquet" in _refusal(b"PAR1\x15\x04")
    assert "PDF" in _refusal(b"%PDF-1.7\n")
    assert "is empty" in _refusal(b"")


def test_missing_columns_are_named_and_no_cell_is(here: Path) -> None:
    text = _refusal("id;ville\n1;secret\n")
    assert (
        "has no column 'pay'. The columns that are needed are ville, pay" in text
        and "secret" not in text
    )
    text = _refusal("id, Ville ,pay\n1,a,2\n")
    assert "has no column 'ville'" in text and "which differs only in capital letters" in text
    text = _refusal("Zürich;secret\nGenève;4\n")
    assert "has no columns 'ville', 'pay'" in text and "--bare" in text and "secret" not in text
