"""Keys with values in study files and on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import warner
from warner.app.cli import main

STUDY = """
[attributes.pay]
keys = ["a", "b"]
interval = { low = -1, high = 1, bins = 8 }
mechanism = "KeyValue"
epsilon = 4.0
"""


@pytest.mark.parametrize(
    "options",
    [
        "",
        'key = "direct"',
        'value = "piecewise"\ncells = 31',
        'key = "direct"\nvalue = "piecewise"\nvalue_epsilon = 2.0',
    ],
)
def test_a_study_asks_for_keys_and_values(options: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY + options)
    (tmp_path / "answers.csv").write_text("pay_value,pay_key\n" + "0.5,a\n-0.5,b\n" * 4000)
    run = CliRunner()
    for command in (
        ["randomize", "study.toml", "answers.csv", "-o", "reports.parquet"],
        ["tally", "reports.parquet", "-o", "tally.json", "--study", "study.toml"],
        ["audit", "study.toml"],
    ):
        done = run.invoke(main, [str(tmp_path / part) if "." in part else part for part in command])
        assert done.exit_code == 0, done.output
    shown = run.invoke(main, ["estimate", str(tmp_path / "tally.json")]).output
    assert "frequency" in shown and "mean" in shown
    rows = [
        line.split(",")
        for line in run.invoke(
            main, ["estimate", str(tmp_path / "tally.json"), "--csv"]
        ).stdout.splitlines()
    ]
    means = {row[1]: float(row[2]) for row in rows if row[0] == "pay (mean of key)"}
    assert means == pytest.approx({"a": 0.5, "b": -0.5}, abs=0.2)


def test_answers_in_files_are_refused_by_column_and_row(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    for text, problem in (
        ("pay_key,pay_value\na,0\nb,7.25\n", "column 'pay_value', data row 2"),
        ("pay_key,pay_value\nsecret,0\n", "column 'pay_key', data row 1"),
        ("key,value\na,0\n", "pay_key, pay_value"),
    ):
        (tmp_path / "answers.csv").write_text(text)
        done = CliRunner().invoke(
            main, ["randomize", str(tmp_path / "study.toml"), str(tmp_path / "answers.csv")]
        )
        assert (
            done.exit_code != 0
            and problem in done.output
            and "secret" not in done.output
            and "7.25" not in done.output
        )


@pytest.mark.parametrize(
    "text, place",
    [
        (STUDY.replace('keys = ["a", "b"]', ""), "pay.keys"),
        (STUDY.replace("KeyValue", "Piecewise"), "pay.keys"),
        (STUDY + "pairs = 2", "pay.pairs"),
        (STUDY + "value_epsilon = 9.0", "value_epsilon"),
        (
            STUDY.replace("interval = { low = -1, high = 1, bins = 8 }", 'values = ["x", "y"]'),
            "pay",
        ),
    ],
)
def test_a_study_that_breaks_a_rule_says_where(text: str, place: str) -> None:
    with pytest.raises(warner.errors.StudyError, match=place):
        warner.Study.parse(text)


def test_a_study_in_which_two_attributes_would_be_read_from_one_column_is_refused() -> None:
    """The command line ended in Arrow's own KeyError."""
    text = """
[attributes.pay]
keys = ["a", "b"]
integers = [0, 1]
mechanism = "KeyValue"
epsilon = 1.0
[attributes.pay_key]
values = ["a", "b"]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""
    with pytest.raises(warner.errors.StudyError, match="pay_key"):
        warner.Study.parse(text)
