"""Tables, HTML and texts."""

from __future__ import annotations

import csv
import io
import re
import sys
import unicodedata
from typing import Any
from unittest.mock import Mock
from xml.etree import ElementTree

import numpy as np
import openpyxl  # type: ignore[import-untyped]
import pytest

from tests.refusals import refused
from warner import errors
from warner._core.html import Bar, Markup, interval_bar, table
from warner._core.table import UNITS, Column, Table, as_cell
from warner._core.text import unreadable

ROWS: list[dict[str, Any]] = [
    {"value": "yes", "share": 0.561, "low": 0.5321, "high": 0.5899, "n": 1234.4, "seed": 1},
    {"value": "<b>", "share": None, "low": None, "high": None, "n": 3.0, "seed": 2},
]
TABLE = Table(
    [
        "value",
        Column("share", unit="share"),
        Column("interval", "95 % interval", "share", ends=("low", "high")),
        Column("n", "people", "people", priority=2),
        Column("seed", unit="data"),
        Column("share", "", "bar", ends=("low", "high")),
    ],
    ROWS,
    notes=["One sentence."],
    title="Shares",
)


def test_people_read_units() -> None:
    assert TABLE.text().splitlines() == [
        "Shares",
        "value   share   95 % interval  people  0 %             60 %",
        "-----  ------  --------------  ------  --------------------",
        "yes    56.1 %  53.2 to 59.0 %   1,234                   \N{BOX DRAWINGS LIGHT HORIZONTAL}"
        "\N{BLACK CIRCLE}\N{BOX DRAWINGS LIGHT HORIZONTAL}",
        "<b>                                 3",
        "One sentence.",
    ]
    # Pictures are the first to go where a line is too short, and nothing is said of them.
    assert TABLE.text(50).splitlines()[1] == "value   share   95 % interval  people"
    assert len(TABLE.text(50).splitlines()) == 6
    assert str(TABLE) == repr(TABLE) == TABLE.text()


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("share", 0.00561, "0.561 %"),
        ("share", 1.0, "100.0 %"),
        ("points", 0.032, "+3.20 points"),
        ("points", -0.32, "-32.0 points"),
        ("points", 0.0, "0.0 points"),
        ("people", 1234.4, "1,234"),
        ("number", 0.123456, "0.1235"),
        ("epsilon", 1.0, "1"),
        ("probability", 1e-9, "< 0.0001"),
        ("times", 1.234, "1.23 times"),
        ("seconds", 185.0, "3.1 min"),
        ("number", float("nan"), ""),
        ("people", None, ""),
        ("people", "a few", "a few"),
    ],
)
def test_units(unit: str, value: Any, text: str) -> None:
    cells = Column("a", unit=unit).cells([{"a": value}])
    assert [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in cells] == [text]


def test_narrow_lines_leave_columns_out_and_say_so() -> None:
    text = TABLE.text(width=30)
    assert "people" not in text.splitlines()[1] and "interval" in text
    assert "Columns not shown here: people." in " ".join(text.split())


@pytest.mark.parametrize("width", [20, 40, 79])
def test_lines_are_as_wide_as_asked_and_words_stay_whole(width: int) -> None:
    told = " ".join(["protects"] * 30)
    table = Table(["a", Column("b", unit="number")], [{"a": told, "b": 1}])
    lines = table.text(width).splitlines()
    assert max(map(len, lines)) <= width
    assert set(re.findall("[a-z]{2,}", " ".join(lines))) == {"protects"}


def test_many_rows_are_counted() -> None:
    table = Table(["a"], [{"a": i} for i in range(1000)])
    assert "The first 50 of 1,000 rows are shown. To see all, call to_frame()." in str(table)
    assert len(table.csv().splitlines()) == 1001 and len(table) == len(list(table)) == 1000


def test_html_escapes_and_draws() -> None:
    page = TABLE.html()
    assert "&lt;b&gt;" in page and "<b>" not in page
    assert page.count("<svg") == 2 and "56.1\N{NO-BREAK SPACE}%" in page and "seed" not in page


def test_csv_holds_data() -> None:
    header, first, second = csv.reader(io.StringIO(TABLE.csv()))
    assert header == ["value", "share", "low", "high", "n", "seed"]
    assert first == ["yes", "0.561", "0.5321", "0.5899", "1234.4", "1"]
    assert second == ["<b>", "", "", "", "3.0", "2"]


def test_excel_holds_what_csv_holds_under_headings_for_people() -> None:
    shares, notes = openpyxl.load_workbook(io.BytesIO(TABLE.xlsx())).worksheets
    assert list(shares.values) == [
        ("value", "share", "95 % interval, from", "95 % interval, to", "people", "seed"),
        ("yes", 0.561, 0.5321, 0.5899, 1234.4, 1),
        ("<b>", None, None, None, 3, 2),
    ]
    assert list(notes.values) == [("Shares",), ("One sentence.",)]


def test_excel_shows_numbers_with_the_digits_that_people_read() -> None:
    rows = [
        {"mean": 39.9856747, "p": 0.65750305, "share": 0.25, "n": 6613, "is_share": False},
        {"mean": 4.1, "p": 1e-9, "share": 0.5, "n": 2, "is_share": True},
    ]
    columns = [Column("mean", unit="number"), Column("p", unit="probability"), Column("share"), "n"]
    sheet = openpyxl.load_workbook(io.BytesIO(Table(columns, rows).xlsx())).worksheets[0]
    shown = [[cell.number_format for cell in line] for line in sheet.iter_rows(min_row=2)]
    assert [line[:2] for line in shown] == [["#,##0.00", '[<0.0001]"< 0.0001";0.0000']] * 2
    assert [line[3] for line in shown] == ["General"] * 2 and sheet["A2"].value == 39.9856747
    assert sheet.column_dimensions["A"].width == 10


def test_a_paper_with_all_columns_has_decimals_of_points() -> None:
    """Rejects whole points, of which no reader of a paper can compute anything."""
    columns = [
        Column("difference", unit="points"),
        Column("interval", unit="points", ends=("low", "high")),
    ]
    table = Table(columns, [{"difference": 0.2345, "low": 0.0911, "high": 0.3899}])
    assert "difference (points) & interval (points)" in table.latex()
    assert "+23 & +9 to +39 " in table.latex()
    assert "+23.45 & +9.11 to +38.99 " in table.latex(wide=True)
    assert "+23.45" in table.typst(wide=True) and "+23 points" in table.text()


def test_a_workbook_reads_as_the_tables_for_people_do() -> None:
    """Rejects a workbook with names of programs above its columns, or without the sentences."""
    rows = [{"p_holm": 0.04, "difference": 0.1, "width_50": 0.2, "low_odds": 1.2}]
    data = Table(["p_holm", "difference", "width_50", "low_odds"], rows, title="Told")
    columns = [
        Column("p_holm", "p (Holm)", "probability"),
        Column("difference", unit="points"),
        Column("width_50", "50", "half_width"),
        Column("odds", "odds ratio (interval)", "ratio", ends=("low_odds", "high"), has_value=True),
    ]
    bands = (
        "x: the 40 values are shown in bands. To see all values, add -o FILE.csv to the command."
    )
    notes = [f"{bands} Numbers are ages.", "WARNING: doubtful."]
    shown = Table(columns, [], notes, title="Told")
    book = openpyxl.load_workbook(io.BytesIO(data.read_as([shown], ["x: How old?"]).xlsx()))
    sheet, sentences = book.worksheets
    titles = ("p (Holm)", "difference", "width with 50 people", "odds ratio, from")
    assert next(sheet.values) == titles
    formats = [cell.number_format for cell in sheet[2]]
    assert formats[1:3] == ["+0.0 %;-0.0 %;0.0 %", "0.0 %"] and "0.0001" in formats[0]
    said = [line for (line,) in sentences.values]
    assert said == ["Told", "x: How old?", "Numbers are ages.", "WARNING: doubtful."]
    assert sentences.column_dimensions["A"].width > 100 and sentences["A1"].alignment.wrap_text


def test_a_workbook_begins_with_the_tables_of_an_article() -> None:
    """Rejects a first sheet of records, which has columns and rows that no article prints."""
    columns = [
        Column("group", shown="words"),
        Column("share", unit="share"),
        Column("z", unit="number", priority=3),
        Column("interval", "95 % interval", "share", ends=("low", "high")),
    ]
    row = {"group": "g[T.a]", "words": "g: a", "share": 0.2, "z": 1.5, "low": 0.1, "high": 0.3}
    article = Table(columns, [row], title="Shares")
    records = Table(["group", "value", "share"], [{**row, "value": v} for v in ("no", "yes")])
    book = openpyxl.load_workbook(io.BytesIO(records.xlsx(shown=[article, article])))
    assert book.sheetnames[:2] == ["tables", "results"]
    lines = [list(filter(None, line)) for line in book["tables"].values]
    head = ["group", "share", "95 % interval, from", "95 % interval, to"]
    each = [["Shares"], head, ["g: a", 0.2, 0.1, 0.3]]
    assert lines == [*each, [], *each]
    assert book["tables"]["B3"].number_format == "0.0 %"
    assert [line[1] for line in book["results"].values] == ["value", "no", "yes"]


def test_a_document_has_the_table_of_an_article_and_its_notes() -> None:
    columns = ["value", Column("share", unit="points"), Column("z", unit="number", priority=3)]
    rows = [{"value": "<b>", "share": -0.25, "z": 1.0}]
    summary = [("People", "1,200")]
    table = Table(columns, rows, ["A & b."], "Shares", simulated=True, summary=summary)
    shown = table.document()
    assert "<p><b>Shares</b></p>" in shown and '<td align="left">&lt;b&gt;</td>' in shown
    assert "\u221225.0" in shown and '<td colspan="2">People: 1,200</td>' in shown
    assert "<p>A &amp; b.</p>" in shown and "<p>The reports are simulated.</p>" in shown
    assert "Columns not shown here: z." in shown and ">z</th>" in table.document(wide=True)


def test_no_cell_of_excel_is_a_formula_or_a_number_that_excel_changes() -> None:
    """Rejects a writer that leaves the type of a cell to openpyxl: =1+1 is then run, and #N/A an error."""
    values = ["=1+1", "#N/A", "007", "x\x1b[2J", 2**60, np.inf, np.nan, True, (1, "a")]
    table = Table(["a"], [{"a": value} for value in values], simulated=True)
    sheet, _ = openpyxl.load_workbook(io.BytesIO(table.xlsx())).worksheets
    kinds = [cell.data_type for cell in sheet["A"]]
    assert kinds == ["s", "s", "s", "s", "s", "s", "s", "n", "b", "s"]
    texts = ["=1+1", "#N/A", "007", "x\\x1b[2J", str(2**60), "inf", None, True, '[1, "a"]']
    assert [cell.value for cell in sheet["A"]] == ["a", *texts]
    assert {cell.value for cell in sheet["B"]} == {"simulated", "yes"}


def test_more_rows_than_excel_has_are_refused() -> None:
    table = Table(["a"], [{"a": 1}] * 2**20)
    refused(
        errors.ArgumentError,
        "fewer than 1,048,576 rows for Excel.*Write a .csv file instead",
        table.xlsx,
    )


def test_every_form_says_that_data_are_simulated() -> None:
    table = Table(["=a"], [{"=a": "@b"}], simulated=True)
    assert table.csv() == "'=a,simulated\n'@b,yes\n"
    for form in (table.text(), table.html(), table.latex(), table.typst()):
        assert "The reports are simulated." in form
    told = Table(["a"], [{"a": 1}], title="12 simulated reports", simulated=True)
    assert told.text().count("simulated") == 1


def test_prints_escape_their_markup() -> None:
    table = Table([Column("a", "a_1")], [{"a": '50% "#x"\\'}])
    assert "a\\_1" in table.latex() and '50\\% "\\#x"\\textbackslash{}' in table.latex()
    assert '"50% \\"#x\\"\\\\",' in table.typst()


def test_no_form_shows_what_screens_cannot() -> None:
    table = Table(["a"], [{"a": "x\x1b[2J"}])
    for form in (table.text(), table.csv(), table.latex(), table.typst()):
        assert "\x1b" not in form


def test_frames_hold_data() -> None:
    frame = TABLE.to_frame("pyarrow", week=3)
    assert frame.column_names == ["week", "value", "share", "low", "high", "n", "seed"]
    refused(errors.ArgumentError, "the table does not have", TABLE.to_frame, value=1)
    refused(errors.EmptyError, "", Table(["a"], []).to_frame)


def test_every_unit_aligns_to_the_right() -> None:
    assert all(Column("a", unit=unit).is_number for unit in UNITS)
    assert as_cell("-x") == "'-x"


# HTML of notebooks and reports: escaped, without scripts, styles or requests.


def test_cells_captions_and_headings_are_escaped() -> None:
    hostile = '<script>alert("1")</script> & more'
    html = table([hostile, "b"], [[hostile, hostile]], caption=hostile)
    assert "<script" not in html
    parsed = ElementTree.fromstring(html)
    texts = [
        parsed.findtext(path) for path in ("caption", "thead/tr/th", "tbody/tr/th", "tbody/tr/td")
    ]
    assert texts == [hostile] * 4


def test_markup_in_a_cell_stays_as_it_is() -> None:
    html = table(["a", "b"], [["x", Markup("<b>y</b>")]])
    assert ElementTree.fromstring(html).findtext("tbody/tr/td/b") == "y"


def test_nothing_of_it_is_forbidden_by_a_strict_policy() -> None:
    html = table(["a", "b"], [["x", interval_bar(Bar(0.2, 0.1, 0.3, 1.0))]])
    assert not any(word in html for word in ("style=", "<style", "<script", "href", "src=", "url("))


@pytest.mark.parametrize("estimate, low, high", [(-0.1, -0.2, 0.1), (0.9, 0.8, 1.4)])
def test_a_bar_stays_inside_its_picture(estimate: float, low: float, high: float) -> None:
    svg = ElementTree.fromstring(interval_bar(Bar(estimate, low, high, 1.0), width=100))
    rect, path = svg
    assert 0 <= float(rect.attrib["width"]) <= 100
    numbers = [
        float(x)
        for x in path.attrib["d"].replace("M", " ").replace("H", " ").replace("V", " ").split()
    ]
    assert all(0 <= x <= 100 for x in numbers)


# Which characters cannot be shown.


def test_what_is_unreadable_is_every_control_separator_surrogate_direction_mark_and_noncharacter() -> (
    None
):
    directions = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    for point in range(sys.maxunicode + 1):
        char = chr(point)
        marks = (
            unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")
            or unicodedata.bidirectional(char) in directions
        )
        nothing = point & 0xFFFE == 0xFFFE or 0xFDD0 <= point < 0xFDF0
        if marks or nothing or point in (0x61C, 0x200E, 0x200F):
            assert unreadable(char) is not None, hex(point)
        else:
            assert unreadable(char) is None, hex(point)


def test_a_library_of_data_frames_that_is_missing_is_named_with_its_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Narwhals remembers the libraries that were imported before.
    missing = ModuleNotFoundError("No module named 'polars'")
    monkeypatch.setattr("narwhals.stable.v2.from_dict", Mock(side_effect=missing))
    refused(errors.ArgumentError, "Run: pip install polars", TABLE.to_frame, "polars")


@pytest.mark.parametrize("backend", ["pyarrow", "polars", "pandas"])
def test_a_missing_number_is_nan_in_frames(backend: str) -> None:
    rows = [{"value": "a", "low": None, "high": 2}, {"value": "b", "low": None, "high": None}]
    made = Table(["value", "low", "high"], rows).to_frame(backend)
    for name in ("low", "high"):
        dtype = made[name].type if backend == "pyarrow" else made[name].dtype
        assert str(dtype).lower() in ("float64", "double")
        assert np.isnan(np.asarray(made[name])[-1])


def test_a_narrow_column_comes_back_where_a_wide_one_had_no_room() -> None:
    """Rejects: the priority alone, which leaves out a column that has room."""
    rows = [{"a": "x" * 20, "b": "y" * 6, "c": "z" * 40}]
    table = Table(["a", Column("b", priority=2), Column("c", priority=1)], rows)
    head = table.text(width=40).splitlines()[0]
    assert head.split() == ["a", "b"]


def test_a_value_stands_before_its_interval_and_all_three_are_data() -> None:
    ratio = Column("r", "ratio", "ratio", ends=("low", "high"), has_value=True)
    table = Table(
        [ratio], [{"r": 2.0, "low": 1.0, "high": 4.0}, {"r": 3.0, "low": None, "high": 1}]
    )
    assert [line.strip() for line in str(table).splitlines()[2:]] == ["2.00 (1.00 to 4.00)", "3.00"]
    assert table.csv().splitlines()[0] == "r,low,high"


@pytest.mark.parametrize(
    ("ratio", "written"),
    [
        ((1.0, 0.969, 1.03), "1.000 (0.969 to 1.030)"),
        ((1.5, 0.504, 4.49), "1.50 (0.50 to 4.49)"),
        ((1.0604, 1.0004, 1.1244), "1.06 (1.0004 to 1.12)"),
        ((0.9857, 0.9712, 0.99996), "0.986 (0.971 to 0.99996)"),
        ((1.02, 1.0, 1.04), "1.020 (1.000 to 1.040)"),
        ((153.2, 12.3, 1890.2), "153 (12 to 1,890)"),
        ((0.0162, 0.00077, 0.3424), "0.016 (0.00077 to 0.34)"),
        ((1e-9, 0.0, float("inf")), "1e-09 (0 to inf)"),
    ],
)
def test_no_end_of_an_interval_of_a_ratio_is_written_as_1_that_is_not_1(
    ratio: tuple[float, float, float], written: str
) -> None:
    """Rejects 1.06 (1 to 1.12) beside p = 0.0499, in each form that people read."""
    column = Column("r", "ratio", "ratio", ends=("low", "high"), has_value=True)
    table = Table([column], [dict(zip(("r", "low", "high"), ratio, strict=True))])
    assert str(table).splitlines()[-1].strip() == written
    assert written in table.latex() and written in table.typst() and written in table.html()


def test_no_end_of_an_interval_in_an_article_is_written_as_0_that_is_not_0() -> None:
    column = Column("i", unit="fixed", ends=("low", "high"), decimals=3)
    rows = [{"i": 0.1, "low": 0.0003, "high": 0.2}, {"i": 0.1, "low": -0.1, "high": 0.0}]
    latex = Table([column], rows).latex()
    assert "0.0003 to 0.200" in latex and "$-$0.100 to 0.000" in latex
