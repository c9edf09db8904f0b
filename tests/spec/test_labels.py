"""Labels and names may come from files of others: they are text wherever they are shown, and
nothing else.
"""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import warner
from warner import Categorical, Estimate, Integers, KeyValue, Product, Study
from warner._core.text import (
    unreadable,
    visible,
)
from warner.app.cli import main
from warner.app.csv_table import as_cell, csv_of
from warner.app.terminal import show_estimate
from warner.domains import Tagged, from_spec
from warner.io import open_reports, write_reports
from warner.io.file_seal import seal
from warner.reports.tally import Tally, canonical, dump_tallies, parse_tallies
from warner.reports.tally_kinds import Histogram

BAD = [
    "\x00",
    "\x07",
    "\x1b[2J",
    "\t",
    "\n",
    "\x7f",
    "\x9b",
    "\u061c",
    "\u200e",
    "\u202e",
    "\u2066",
    "\u2028",
    "\ud800",
    "\ufdd0",
    "\ufffe",
    "\U0010ffff",
]
LEGAL = [
    "<script>alert(1)</script>",
    "<!--",
    "é",
    "日本",
    "\u05d0\u05d1",
    "👩\u200d👩\u200d👧",
    "a\u0301",
    "",
    " ",
    "=1+1",
    "]]>",
    "&amp;",
    "\\",
    "{x}",
    "[red]",
]


def _estimate(labels: list[Any], name: str | None = None) -> Estimate:
    mechanism = warner.RandomizedResponse(Categorical(labels), 3.0)
    tally = mechanism.tally(mechanism.randomize(labels * 40, np.random.default_rng(0)))
    result = warner.estimate(tally, warner.Inversion("project"))
    return Estimate(result.fit, result.data, result.estimator, name)


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


@pytest.mark.parametrize("bad", BAD, ids=ascii)
def test_labels_and_names_that_cannot_be_shown_are_refused_wherever_a_domain_is_built(
    bad: str,
) -> None:
    held = f"a{bad}b"
    builds = (
        lambda: Categorical(["x", held]),
        lambda: Product(**{held: Integers(0, 1)}),
        lambda: Tagged(Integers(0, 2), [held]),
        lambda: KeyValue(Categorical([held, "k"]), Integers(0, 1), 1.0),
        lambda: from_spec({"kind": "categorical", "values": ["x", held]}),
        lambda: from_spec(
            {"kind": "product", "domains": [[held, {"kind": "integers", "low": 0, "high": 1}]]}
        ),
        lambda: Study(
            {
                "attributes": {
                    held: {"values": ["x", "y"], "mechanism": "RandomizedResponse", "epsilon": 1.0}
                }
            }
        ),
        lambda: Study(
            {
                "attributes": {
                    "a": {"values": ["x", held], "mechanism": "RandomizedResponse", "epsilon": 1.0}
                }
            }
        ),
    )
    for i, build in enumerate(builds):
        with pytest.raises(
            (warner.errors.ArgumentError, warner.errors.StudyError),
            match=r"must not hold the [a-z ]+ U\+[0-9A-F]{4}",
        ) as caught:
            pytest.fail(f"case {i} gave {build()!r}")
        assert unreadable(str(caught.value)) is None


@pytest.mark.parametrize("label", LEGAL, ids=ascii)
def test_text_of_any_language_or_syntax_is_a_label(label: str) -> None:
    assert Categorical(["another", label]).encode([label]).tolist() == [1]


@pytest.mark.parametrize("bad", ["\x1b]0;x\x07", "\x00", "\u202e", "\ud800"], ids=ascii)
def test_a_foreign_header_or_file_with_such_a_name_is_refused_and_the_message_says_why(
    bad: str, tmp_path: Path
) -> None:
    mechanism = warner.RandomizedResponse(Categorical(["x", "y"]), 1.0)
    header = json.loads(canonical(mechanism.header))
    header["domain"]["values"] = ["x", f"y{bad}"]
    with pytest.raises(warner.errors.MismatchError, match="label 1: must not hold") as caught:
        warner.estimate(Tally(header, Histogram(), np.array([1, 2]), 3))
    assert unreadable(str(caught.value)) is None
    # A tally file and a report file whose checksums fit.
    tally = mechanism.tally(mechanism.randomize(["x"]))
    assert parse_tallies(dump_tallies({"z": tally}).encode(), "file")
    entry, digest = (
        {f"z{bad}": tally.to_json()},
        __import__("hashlib").sha256(canonical({f"z{bad}": tally.to_json()}).encode()).hexdigest(),
    )
    forged = (
        json.dumps({"format": "warner-tally", "schema": 1, "attributes": entry, "sha256": digest})
        + "\n"
    )
    with pytest.raises(warner.errors.FileError, match="names an attribute that holds the"):
        parse_tallies(forged.encode(), "file")
    with pytest.raises(warner.errors.ArgumentError, match="name of an attribute: must not hold"):
        dump_tallies({f"z{bad}": tally})
    path = str(tmp_path / "r.csv")
    write_reports({"zzz": mechanism.randomize(["x", "y"])}, path)
    text = Path(path).read_text().replace('"zzz"', json.dumps(f"z{bad}"), 1)
    Path(path).write_text(
        re.sub(r'"sha256":"[0-9a-f]{64}"(?!.*"sha256")', f'"sha256":"{"0" * 64}"', text, flags=re.S)
    )
    seal(path)
    with pytest.raises(warner.errors.FileError, match="names an attribute that holds the"):
        open_reports(path)
    with pytest.raises(warner.errors.ArgumentError, match="name of an attribute: must not hold"):
        write_reports({f"z{bad}": mechanism.randomize(["x", "y"])}, str(tmp_path / "s.csv"))


def test_no_label_or_name_begins_a_tag_or_a_comment_in_a_page(tmp_path: Path) -> None:
    """The page holds the same tags as one of harmless labels, and the chart in it is the same
    chart.
    """
    evil = [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "</SCRIPT >",
        "<img src=x onerror=alert(1)>",
    ]
    pages = []
    for labels, name in (
        (evil, "</script><script>alert(2)</script>"),
        (["a", "b", "c", "d"], "harmless"),
    ):
        path = tmp_path / "page.html"
        result = _estimate(labels, name)
        result.plot(str(path))
        page = path.read_text()
        spec = json.loads(
            page[
                page.rindex("const spec = ") + len("const spec = ") : page.rindex(
                    ";\n  const embedOpt"
                )
            ]
        )
        shown = spec["vconcat"][0]
        values = [row["value"] for row in json.loads(next(iter(_data(spec)))["values"])]
        assert values == labels and shown["title"]["text"] == [name]
        pages.append([page.lower().count(part) for part in ("</script", "<script", "<!--", "<img")])
    assert pages[0] == pages[1]


def _data(spec: Any) -> list[Any]:
    """Every inline data set of a chart."""
    if isinstance(spec, dict):
        own = (
            [spec["data"]]
            if isinstance(spec.get("data"), dict) and "values" in spec["data"]
            else []
        )
        return own + [found for part in spec.values() for found in _data(part)]
    return [found for part in spec for found in _data(part)] if isinstance(spec, list) else []


def test_no_label_or_name_stops_a_picture(tmp_path: Path) -> None:
    """A character that is not allowed in XML used to abort the whole process, so another one draws."""
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.spec.test_labels import LEGAL, _estimate
result = _estimate([*LEGAL, "x" * 10_000, "x" * 9_999 + "y"], "\\x00\\x1b\\ufffe\\ud800" + "n" * 10_000)
for suffix in ("svg", "png", "html", "json"):
    result.plot({str(tmp_path)!r} + "/picture." + suffix)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_long_labels_are_cut_in_pictures_and_stay_apart() -> None:
    from warner.results.charts import _distinct

    labels = _distinct(["x" * 500 + "a", "x" * 500 + "b", "short"])
    assert len(set(labels)) == 3 and max(map(len, labels)) < 220 and labels[2] == "short"


def test_nothing_raw_reaches_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    show_estimate(
        _estimate(["[bold]x[/bold]", "y[/]"], "\x1b[2J\u202ename [red]"), 0.95, "population"
    )
    shown = capsys.readouterr().out
    assert unreadable(shown.replace("\n", "")) is None
    assert "\\x1b[2J\\u202ename [red]" in shown and "[bold]x[/bold]" in shown
    # A key of a foreign study, in a message.
    (tmp_path / "study.toml").write_text(
        '"\\u001b[31mkey" = 1\n[attributes.a]\nvalues = [1, 2]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    )
    result = CliRunner().invoke(main, ["audit", str(tmp_path / "study.toml")])
    assert (
        result.exit_code == 1
        and "\\x1b[31mkey" in result.output
        and unreadable(result.output.replace("\n", "")) is None
    )
    assert visible("plain\ntext") == "plain\ntext"


def test_spreadsheets_do_not_run_labels_and_numbers_stay_numbers() -> None:
    labels = [
        '=HYPERLINK("http://x")',
        "+cmd|' /C calc'!A0",
        "-2+3",
        "@SUM(1)",
        " =1",
        "'=1",
        "＝1+1",
        "-5",
        "1e3",
        "a=b",
        "it's",
    ]
    rows = list(csv.reader(io.StringIO(csv_of([_estimate(labels, "=name")], 0.95, "population"))))
    cells = [row[1] for row in rows[1:]]
    assert cells == ["'" + label for label in labels[:7]] + labels[7:]
    assert {row[0] for row in rows[1:]} == {"'=name"}
    assert all(np.isfinite(float(cell)) for row in rows[1:] for cell in row[2:7])
    assert [as_cell(v) for v in (-5, 3, -0.5, True, (1, 2))] == [
        "-5",
        "3",
        "-0.5",
        "true",
        "[1, 2]",
    ]


@pytest.mark.parametrize(
    "answers",
    [
        "[CANARY-1234]\n[CANARY-1234]\n",
        "CANARY1234 = 1\n",
        "smokes\nCANARY-1234\n",
        '{"CANARY-1234": 1}',
        '{"CANARY-1234" 1}',
        '["CANARY-1234"]',
        'x = "CANARY\\q"',
    ],
    ids=ascii,
)
def test_answers_in_the_place_of_a_study_are_not_shown(answers: str, tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text(answers)
    (tmp_path / "study.toml").write_text("")
    result = CliRunner().invoke(
        main, ["randomize", str(tmp_path / "answers.csv"), str(tmp_path / "study.toml")]
    )
    assert (
        result.exit_code == 1
        and "CANARY" not in result.output
        and "Is it the study file" in result.output
    )
    with pytest.raises(warner.errors.StudyError) as caught:
        Study.load(tmp_path / "answers.csv")
    assert caught.value.__context__ is None and caught.value.__cause__ is None


def test_a_broken_study_is_told_by_line_and_column() -> None:
    for text, place in (
        ("a = 1\nb = = 2\n", "at line 2, column 5"),
        ('{\n"a": ,}', "at line 2, column 6"),
        ("[a", "at end of document"),
    ):
        with pytest.raises(warner.errors.StudyError, match=f"is not valid TOML or JSON, {place}"):
            Study.parse(text)


def test_bytes_that_are_no_text_hang_on_no_error(tmp_path: Path) -> None:
    (tmp_path / "answers.parquet").write_bytes(b"PAR1\xff\xfeCANARY")
    with pytest.raises(warner.errors.StudyError, match="UTF-8") as caught:
        Study.load(tmp_path / "answers.parquet")
    assert caught.value.__context__ is None
