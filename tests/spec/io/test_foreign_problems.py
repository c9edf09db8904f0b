"""Files of other programs that are no reports say what is wrong, where, and what helps."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from warner import Categorical, Integers, LocalHashing, RandomizedResponse, UnaryEncoding
from warner.errors import ReportError, WarnerError
from warner.io.foreign_files import is_foreign, open_foreign, tally_foreign

MECHANISMS = {
    "smokes": RandomizedResponse(Categorical(["no", "yes", "else"]), 1.0),
    "item": UnaryEncoding(Integers(0, 9), 1.0),
}
WARD = Categorical(["north", "south"])
COLUMNS: dict[str, list[Any]] = {
    "ward": ["south"] * 20,
    "smokes_report": [0, 1] * 10,
    "item_bits_0": [255, 1] * 10,
    "item_bits_1": [192, 64] * 10,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _bytes(form: str, **changed: Any) -> bytes:
    """A file of 20 rows, with other columns; None drops one."""
    columns = {name: v for name, v in (COLUMNS | changed).items() if v is not None}
    buffer = pa.BufferOutputStream()
    (pq.write_table if form == "parquet" else pa.csv.write_csv)(pa.table(columns), buffer)
    content: bytes = buffer.getvalue().to_pybytes()
    return content


def _csv(row: int, cell: str) -> bytes:
    """CSV whose cell of smokes_report in a row, from 1, is another text."""
    lines = _bytes("csv").decode().splitlines()
    cells = lines[row].split(",")
    lines[row] = ",".join([cells[0], cell, *cells[2:]])
    return "\n".join(lines).encode()


def _tally(path: str, by: bool = False, values: Any = None) -> Any:
    assert is_foreign(path)
    wanted = {"ward": WARD} if by else None
    return tally_foreign(open_foreign(path), MECHANISMS, by=wanted, values=values)


def test_the_file_itself_is_counted(folder: Path) -> None:
    for form in ("parquet", "csv"):
        Path(f"x.{form}").write_bytes(_bytes(form))
        counted = _tally(f"x.{form}")
        assert counted["item"].n == 20
        # Other programs make floats of integers beside gaps.
        floats = {name: [float(v) for v in c] for name, c in COLUMNS.items() if name != "ward"}
        Path(f"x.{form}").write_bytes(_bytes(form, **floats))
        assert _tally(f"x.{form}") == counted


WRONG = {
    "cut off": (
        "csv",
        _bytes("csv")[:-6],
        "data row 20 has 2 fields, but the first line has 4. The",
    ),
    "one field more": ("csv", _csv(7, "1,1"), "data row 7 has 5 fields, but the first line has 4"),
    "no bytes": ("csv", b"", "x.csv: is empty"),
    "no bytes of Parquet": ("parquet", b"", "x.parquet: is empty"),
    "Parquet as CSV": (
        "csv",
        _bytes("parquet"),
        "x.csv: is a Parquet file, but its name ends in .csv",
    ),
    "CSV as Parquet": ("parquet", _bytes("csv"), "is text such as CSV, but its name ends"),
    "packed": (
        "csv",
        gzip.compress(_bytes("csv")),
        "is compressed by gzip. Unpack the file with gunzip",
    ),
    "a word": (
        "csv",
        _csv(9, "two"),
        "data row 9 of column smokes_report has no whole number. The file may be damaged",
    ),
    "a label": (
        "csv",
        _csv(9, "else"),
        "data row 9 of column smokes_report has an answer instead of a report",
    ),
    "a fraction": ("csv", _csv(9, "1.5"), "data row 9 of column smokes_report has no whole number"),
    "a gap": (
        "csv",
        _csv(9, ""),
        "must have a report in each row; got missing values.* first wrong row is data row 9",
    ),
    "beyond": (
        "csv",
        _csv(9, "3"),
        r"smokes_report: must be from 0 to 2.*reports were made\. .*data row 9",
    ),
    "a decimal": (
        "parquet",
        _bytes("parquet", smokes_report=[Decimal("1.00")] * 5 + [Decimal("1.50")] * 15),
        "smokes_report: has numbers that are not whole; got Decimal.* row is data row 6",
    ),
    "a float": ("parquet", _bytes("parquet", smokes_report=[1.0] * 5 + [0.5] * 15), "data row 6"),
    "a text": (
        "parquet",
        _bytes("parquet", smokes_report=["1"] * 20),
        r"x.parquet: smokes_report: must be a column of integers; got String. If these are answers, randomise them first. If these are reports, convert them to integers\.$",
    ),
    "another name": (
        "parquet",
        _bytes("parquet", smokes_report=None, smoke_report=[1] * 20),
        "must have the column smokes_report; got no .* --column smokes=COLUMN",
    ),
    "more values": (
        "parquet",
        _bytes("parquet", item_bits_2=[0] * 20, item_bits_x=[0] * 20),
        "has item_bits_2, but reports of this mechanism have only item_bits_0 to item_bits_1. Use the study",
    ),
    "padding": (
        "parquet",
        _bytes("parquet", item_bits_1=[192] * 19 + [32]),
        "item: unused .padding. bits must be 0.*row is data row 20",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_file_says_what_is_wrong(folder: Path, wrong: str) -> None:
    form, content, words = WRONG[wrong]
    Path(f"x.{form}").write_bytes(content)
    with pytest.raises(WarnerError, match=words) as caught:
        _tally(f"x.{form}")
    assert str(caught.value).startswith(f"x.{form}: ") and not {"two", "else"} & set(
        str(caught.value).split()
    )


@pytest.mark.parametrize(
    ("value", "column", "words"),
    [
        ("north", COLUMNS["ward"], "folder says ward=north, but the column says .* in 20 rows. Move"),
        ("south", ["north"] + ["south"] * 19, "ward=south, but the column says .* in 1 row. Move"),
        ("east", None, "folder ward=east: the study does not declare the value east"),
        ("east", COLUMNS["ward"], "folder ward=east: the study does not declare the value east"),
        ("south", ["west"] * 20, "must have a declared value.* a string that is not declared. Corr"),
        (None, None, "has no public column 'ward'. Add the column, or put the file into a folder ward=VALUE"),
    ],
)  # fmt: skip
def test_a_folder_and_its_files_say_the_same(
    folder: Path, value: Any, column: Any, words: str
) -> None:
    for form in ("parquet", "csv"):
        Path(f"x.{form}").write_bytes(_bytes(form, ward=column))
        values = {} if value is None else {"ward": value}
        assert _tally(f"x.{form}", values=values)["item"].n == 20
        with pytest.raises(ReportError, match=words) as caught:
            _tally(f"x.{form}", by=True, values=values)
        assert "west" not in str(caught.value)
        Path(f"x.{form}").write_bytes(_bytes(form))
        assert _tally(f"x.{form}", by=True, values={"ward": "south"})["item"].total().n == 20


def test_a_folder_of_integers_agrees_by_value(folder: Path) -> None:
    pq.write_table(pa.table({"report": [0, 1], "week": [3, 3]}), "x.parquet")
    file, by = open_foreign("x.parquet"), {"week": Integers(1, 9)}
    one = {"q": MECHANISMS["smokes"]}
    assert tally_foreign(file, one, by=by, values={"week": "03"})["q"].total().n == 2
    with pytest.raises(ReportError, match=r"the folder says week=4, .* in 2 rows"):
        tally_foreign(file, one, by=by, values={"week": "4"})
    # Rejects "declare their values in the study" of numbers that were written as texts.
    pq.write_table(pa.table({"report": [0, 1], "week": ["3", "3"]}), "x.parquet")
    with pytest.raises(ReportError, match=r"must be a column of whole .* a string\. Cast the"):
        tally_foreign(open_foreign("x.parquet"), one, by=by)


def test_decimals_of_hashed_reports_are_counted(folder: Path) -> None:
    hashing = LocalHashing(Integers(0, 9), 1.0)
    reports = hashing.randomize(list(range(10)))
    columns = {
        f"units_{name}": [Decimal(int(v)) for v in column]
        for name, column in hashing.schema.to_file(reports.columns).items()
    }
    pq.write_table(pa.table(columns), "x.parquet")
    found = tally_foreign(open_foreign("x.parquet"), {"units": hashing})["units"]
    assert (found.counts == hashing.tally(reports).counts).all()


def test_a_file_that_is_removed_meanwhile_is_named(folder: Path) -> None:
    Path("x.parquet").write_bytes(_bytes("parquet"))
    file = open_foreign("x.parquet")
    Path("x.parquet").unlink()
    with pytest.raises(WarnerError, match=r"x.parquet: was removed while it was counted\. Run"):
        tally_foreign(file, MECHANISMS)
