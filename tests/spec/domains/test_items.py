"""Questions of which people tick all answers that apply."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from tests.refusals import refused
from warner import (
    Categorical,
    OneOf,
    PerAttribute,
    RandomizedResponse,
    Study,
    UnaryEncoding,
    compare_groups,
    estimate,
)
from warner.app.cli import main
from warner.domains import Items, from_spec
from warner.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    IdentifiabilityError,
    StudyError,
    ValuesError,
)
from warner.results.differences import holm
from warner.results.weights import weighted

SERVICES = Items(["bank", "dentist", "post office"])
THREE = Items(["a", "b", "c"])


def test_answers_are_lists_texts_or_columns() -> None:
    rows = [["bank", "post office"], [], {"dentist"}, "bank; post office", "", ("dentist",)]
    assert SERVICES.encode(rows).tolist() == [5, 0, 2, 5, 0, 2]
    assert SERVICES.decode([5, 0]) == [["bank", "post office"], []]
    assert from_spec(SERVICES.spec()) == SERVICES
    columns = {"a": [1, 0], "b": [False, True], "c": ["yes", "no"]}
    for frame in (columns, pl.DataFrame(columns), pd.DataFrame(columns)):
        assert THREE.encode(frame).tolist() == [5, 2]
    for column in (pd.Series, pl.Series, lambda rows: np.array(rows, dtype=object)):
        assert THREE.encode(column([["a", "c"], [], ["b"]])).tolist() == [5, 0, 2]
    for text in ("a b", "a,b", "a | b", " b;a ", "a\nb", "b a a"):
        assert THREE.encode([text]).tolist() == [6]


def test_what_is_no_item_is_refused_by_its_row_and_not_shown() -> None:
    for answer in (
        ["bank", "secret"],
        "secret",
        "bank;secret",
        "bank dentist",
        "post",
        ["bank", 1],
    ):
        error = refused(
            ValuesError, "must name only items of the question", SERVICES.encode, [[], answer]
        )
        assert "position 1" in error and "secret" not in error
    refused(ValuesError, "must be a list", SERVICES.encode, [3])
    refused(ValuesError, "must be a list", SERVICES.encode, [None])
    refused(EmptyError, "", SERVICES.encode, [])
    refused(ValuesError, "no or yes", THREE.encode, {"a": [2], "b": [0], "c": [0]})
    refused(ArgumentError, "no column 'c'", THREE.encode, {"a": [1], "b": [0]})
    refused(ArgumentTypeError, r"pandas\.DataFrame\(", THREE.encode, np.zeros((2, 3), int))


def test_columns_of_ticks_where_one_column_is_needed_say_how_answers_are_given() -> None:
    ticks = pd.get_dummies(pd.Series(["a", "c", "b", "c"]))
    one = RandomizedResponse(Categorical(["a", "b", "c"]), 1.0)
    for frame in (ticks, pl.from_pandas(ticks), ticks.to_numpy().astype(int)):
        refused(ArgumentTypeError, "idxmax", one.randomize, frame)
    assert one.domain.encode(ticks.idxmax(axis="columns")).tolist() == [0, 2, 1, 2]
    refused(ArgumentTypeError, "tick several answers, use .*Items", one.randomize, ticks | True)
    refused(ArgumentTypeError, "Pass only the column", one.randomize, ticks.assign(a="x"))
    both = PerAttribute({"ticks": UnaryEncoding(THREE, 1.0), "one": one})
    refused(ArgumentError, "'ticks'.* such as 'a;b'", both.randomize, ticks.assign(one="a"))
    study = Study.parse('[attributes.x]\nitems = ["a", "b", "c"]\nepsilon = 1.0')
    refused(ArgumentError, 'split = "/"', study.randomize, ticks.add_prefix("x/"))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_a_wrong_cell_of_a_frame_is_named_by_its_column_and_data_row(library: Any) -> None:
    """Rejects position 0 of a frame, in which a person sees neither positions nor values."""
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    frame = library({"smokes": ["no", "often"], "drinks": ["yes", "yes"]})
    here = "column 'smokes', data row 2: "
    refused(ValuesError, here, coin.randomize, frame["smokes"])
    refused(ValuesError, here, coin.randomize, frame[["smokes"]])
    both = PerAttribute({"smokes": coin, "drinks": coin})
    assert refused(ValuesError, here, both.randomize, frame).startswith("column")
    wards = library({"ward": ["north", None]})
    refused(
        ValuesError, "by: column 'ward', data row 2", coin.tally, coin.randomize(["no"] * 2), wards
    )


@pytest.mark.parametrize("items", [["a"], ["a", "a"], ["a x b", "c"], ["a", " "], []])
def test_items_that_could_be_confused_are_refused(items: list[str]) -> None:
    refused(ArgumentError, "", Items, items)
    refused(ArgumentTypeError, "texts", Items, ["a", 1])


@pytest.mark.parametrize("blocks", ["attributes", "pairs"])
def test_each_person_is_asked_an_item_or_a_pair(blocks: str) -> None:
    # the error of a share exceeds six of its standard errors with a probability below 1e-8
    rng = np.random.default_rng(5)
    true = np.array([0.6, 0.3, 0.1])
    people = [
        [n for n, t in zip("abc", row, strict=True) if t] for row in rng.random((9000, 3)) < true
    ]
    survey = OneOf(THREE, 2.0, blocks)
    assert round(survey.epsilon, 9) == 2.0
    tally = survey.tally(survey.randomize(people, rng))
    for name, share in zip("abc", true, strict=True):
        one = estimate(tally, attributes=[name])
        assert abs(one.probabilities[1] - share) < 6 * 0.02
    if blocks == "pairs":
        both = estimate(tally, attributes=["a", "b"]).probabilities
        assert abs(both[3] - 0.18) < 0.12


STUDY = """
[attributes.services]
items = ["a", "b", "c"]
each = "pair"
epsilon = 2.0
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""


def _run(*arguments: object) -> str:
    return CliRunner().invoke(main, [str(a) for a in arguments]).output


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_study_counts_what_was_ticked(tmp_path: Path, suffix: str) -> None:
    study, reports, tally = tmp_path / "s.toml", tmp_path / "r.csv", tmp_path / "t.json"
    answers = tmp_path / f"answers.{suffix}"
    study.write_text(STUDY)
    if suffix == "csv":
        answers.write_text("services,smokes\n" + "a;b,no\nc b,yes\n,no\n" * 400)
    else:
        ticked = [["a", "b"], ["c", "b"], []] * 400
        pq.write_table(pa.table({"services": ticked, "smokes": ["no", "yes", "no"] * 400}), answers)
    assert "services" in _run("study", "check", study)
    planned = _run("plan", study, "--people", 900)
    assert "one of 3 pairs of its items" in planned and "a x b" in planned and "smokes" in planned
    assert "1,200 people. Each person spends at most epsilon = 3" in _run(
        "randomize", study, answers, "--output", reports
    )
    _run("tally", reports, "--output", tally)
    shown = _run("estimate", tally)
    table, _, rest = shown.partition("smokes: 1,200 reports")
    assert [line.split()[0] for line in table.splitlines()[3:6]] == ["a", "b", "c"] and rest
    one = _run("estimate", tally, "--only", "b").splitlines()
    assert "services: up to" in one[0] and one[3].startswith("b ") and len(one[3].split()) > 4
    assert "smokes" not in _run("estimate", tally, "--only", "services")
    assert "no, yes" in _run("estimate", tally, "--joint", "a,b")
    answers = tmp_path / "wrong.csv"
    answers.write_text("services,smokes\na,no\na;z,no\nz,no\n")
    wrong = _run("randomize", study, answers, "--output", tmp_path / "w.csv")
    assert (
        "column 'services', data row 2" in wrong and "must name only items of the question" in wrong
    )


def test_mistakes_in_a_study_are_named() -> None:
    mistakes = {
        'mechanism = "RandomizedResponse"\nepsilon = 2.0': "services.mechanism: cannot be used with the key .items.",
        'missing = "answer"\nepsilon = 2.0': "services.missing: cannot be used with the key .items.",
        "reports = 2\nepsilon = 2.0": "services.reports: cannot be used with the key .items.",
        "epsilon = -1.0": "epsilon",
        "": "services.epsilon: is missing",
    }
    for line, match in mistakes.items():
        with pytest.raises(StudyError, match=match):
            Study.parse(STUDY.replace("epsilon = 2.0", line))
    with pytest.raises(StudyError, match='can be used only with the key "items"'):
        Study.parse(STUDY.replace("epsilon = 1.0", 'epsilon = 1.0\neach = "one"'))
    with pytest.raises(StudyError, match="must be 2 to 10,000 blocks"):
        Study.parse(STUDY.replace('"b", "c"', '"b"'))
    assert isinstance(Study.parse(STUDY.replace('each = "pair"', "")).mechanisms["services"], OneOf)
    with pytest.raises(StudyError, match="items: cannot be used with"):
        Study.parse('[ask]\neach = "pair"\nepsilon = 1.0\n' + STUDY)
    joint = '[[joint]]\nattributes = ["services", "smokes"]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    plain = STUDY.replace('each = "pair"\nepsilon = 2.0', "").replace(
        'mechanism = "RandomizedResponse"\nepsilon = 1.0', ""
    )
    with pytest.raises(StudyError, match="items"):
        Study.parse(plain + joint)


def test_items_have_displayed_texts() -> None:
    shown = 'epsilon = 2.0\nanswers = {en = ["Bank", "Dentist", "Post"]}'
    texts = Study.parse(STUDY.replace("epsilon = 2.0", shown)).texts
    assert texts.answers("services", "en") == ("Bank", "Dentist", "Post")
    many = ", ".join(f'"i{i}"' for i in range(80))
    survey = Study.parse(STUDY.replace('"a", "b", "c"', many))
    assert len(survey.texts.answers("services", "en")) == 80
    assert "services" in repr(survey)


def test_one_column_for_each_item(tmp_path: Path) -> None:
    study, reports, answers = (tmp_path / name for name in ("s.toml", "r.csv", "a.csv"))
    study.write_text(STUDY.replace("epsilon = 2.0", 'epsilon = 2.0\nsplit = "/"'))
    header = "services/a,services/b,services/c,smokes\n"
    answers.write_text(header + "1,0,TRUE,no\n0,1,false,yes\n" * 50)
    assert "100 people" in _run("randomize", study, answers, "--output", reports)
    answers.write_text(header + "1,0,1,no\n0,secret,0,yes\n1,,0,no\n")
    wrong = _run("randomize", study, answers, "--output", tmp_path / "w.csv")
    assert "column 'services/b', data row 2" in wrong and "secret" not in wrong
    answers.write_text(header + "1,0,1,no\n1,,0,no\n")
    blank = _run("randomize", study, answers, "--output", tmp_path / "w.csv")
    assert "got a blank cell" in blank
    answers.write_text("services,smokes\na,no\n")
    assert "services/a" in _run("randomize", study, answers, "--output", tmp_path / "w.csv")
    study.write_text(STUDY)
    answers.write_text(header + "1,0,1,no\n")
    said = _run("randomize", study, answers, "--output", tmp_path / "w.csv")
    assert 'write split = "/" in the study' in said
    with pytest.raises(StudyError, match='split: can be used only with the key "items"'):
        Study.parse(STUDY.replace("epsilon = 1.0", 'epsilon = 1.0\nsplit = "/"'))


@pytest.mark.parametrize("names", [["a", "b", "c"], ["a", "b", "c", "d"]])
def test_the_name_of_an_item_gives_the_share_who_ticked_it(names: list[str]) -> None:
    """Rejects the share who ticked this item alone, which nobody sees in what is printed."""
    survey = OneOf(Items(names), 4.0, blocks="pairs")
    people = [["a", "b"], ["a"], ["a", "c"], []] * 500
    result = estimate(survey.tally(survey.randomize(people, np.random.default_rng(2))))
    share = result["a"]
    assert share == pytest.approx(0.75, abs=0.06) and 0 < share.low < 0.75 < share.high < 1
    (printed,) = (question for question in result.by_question if question.attribute == "a")
    assert share == pytest.approx(float(printed["yes"]))
    assert float(result[["a"]]) == float(result["a;"]) < 0.5
    assert sum(each for _, each in result.items()) == pytest.approx(1)
    assert "must be one of" in refused(ArgumentError, "", result.__getitem__, "e")


def test_what_is_printed_of_items_is_what_is_exported(tmp_path: Path) -> None:
    """Rejects: 16 combinations without intervals in tables, files and charts, where the shares of
    four items are printed."""
    items = ["a", "b", "c", "d"]
    survey = OneOf(Items(items), 4.0, blocks="pairs")
    people = [["a", "b"], ["a"], ["a", "c"], []] * 500
    result = estimate(survey.tally(survey.randomize(people, np.random.default_rng(2))))
    rows = list(csv.DictReader(io.StringIO(result.table().csv())))
    assert [row["item"] for row in rows] == items
    frame = result.to_frame("pandas", week="W48")
    assert frame["item"].tolist() == items and set(frame["week"]) == {"W48"}
    for item, row, of_frame in zip(items, rows, frame.to_dict("records"), strict=True):
        share = result[item]
        assert float(row["estimate"]) == of_frame["estimate"] == float(share)
        assert (float(row["low"]), float(row["high"])) == (share.low, share.high)
        assert 0 < of_frame["high"] - of_frame["low"] < 0.2
        assert f"{100 * share:.1f} %" in str(result)
    assert str(result).count("\n") < 12 and "rows()" not in str(result)
    assert len(result.rows()) == 16
    result.plot(str(tmp_path / "items.json"))
    drawn = json.loads(json.loads((tmp_path / "items.json").read_text())["data"]["values"])
    assert {row["value"] for row in drawn} == set(items)
    refused(ArgumentError, "by_question", result.plot, truth=[1 / 16] * 16)


@pytest.mark.parametrize("names", [["a", "b", "c"], ["a", "b", "c", "d"]])
def test_items_by_week_are_estimated_and_compared_at_once(names: list[str]) -> None:
    """Rejects: the demand to ask for one item after the other, each with its own correction."""
    survey = OneOf(Items(names), 4.0, blocks="pairs")
    people = [["a"], []] * 300 + [["a", "b"], ["a", "b"]] * 300
    by = {"week": ["W48"] * 600 + ["W49"] * 600}
    counted = survey.tally(survey.randomize(people, np.random.default_rng(3)), by)
    result = estimate(counted.about("features"))
    frame = result.to_frame("polars")
    assert frame["item"].unique(maintain_order=True).to_list() == names
    assert frame["week"].to_list() == ["W48", "W49"] * len(names)
    for name in names:
        alone = estimate(counted, attributes=name).to_frame("polars").filter(value="yes")
        of_item = frame.filter(pl.col("item") == name)
        assert of_item["estimate"].to_list() == pytest.approx(alone["estimate"].to_list(), abs=1e-3)
        assert of_item["low"].to_list() == pytest.approx(alone["low"].to_list(), abs=1e-3)
    assert str(result).startswith("features: up to ")
    assert result.table().csv().startswith("week,item,estimate,low,high")
    weeks = [panel["title"]["text"] for panel in result.plot().to_dict()["concat"]]
    assert weeks == [[name] for name in names]

    differences = compare_groups(counted)
    rows = differences.rows()
    assert [row["value"] for row in rows] == names
    one_by_one = [compare_groups(counted, attributes=name).rows()[1] for name in names]
    assert [row["p"] for row in rows] == pytest.approx([row["p"] for row in one_by_one])
    corrected = holm(np.array([row["p"] for row in rows]))
    assert [row["p_holm"] for row in rows] == pytest.approx(corrected.tolist())
    assert rows[1]["p_holm"] < 1e-6 and f"of all {len(names)} items" in str(differences)
    pair = [estimate(counted[week]) for week in ("W49", "W48")]
    of_pair = [row["p"] for row in compare_groups(*pair).rows()]
    assert of_pair == pytest.approx([row["p"] for row in rows])


def test_what_needs_all_combinations_of_items_says_so() -> None:
    """Rejects the advice to use another mechanism, where naming one item is enough."""
    survey = OneOf(Items(["a", "b", "c", "d"]), 4.0, blocks="pairs")
    people = [["a"], []] * 300
    by = {"ward": ["north", "south"] * 300}
    counted = survey.tally(survey.randomize(people, np.random.default_rng(3)), by)
    words = "cannot distinguish all 16 combinations of answers. For example attributes='a'"
    refused(IdentifiabilityError, words, estimate, counted, pool="partial")
    sizes = {"north": 1.0, "south": 2.0}
    refused(IdentifiabilityError, words, weighted, counted, {"ward": sizes})
    for function in (estimate, compare_groups):
        function(counted, attributes="a")


def test_the_largest_of_ticks_are_items_and_not_combinations() -> None:
    """Rejects: combinations of items, of which nobody is asked more than two."""
    survey = OneOf(Items(["a", "b", "c", "d"]), 4.0, blocks="pairs")
    people = [["a", "b"], ["a"], ["a", "c"], []] * 500
    result = estimate(survey.tally(survey.randomize(people, np.random.default_rng(2))))
    first, second = result.top(2)
    assert (first["value"], first["rank_low"], first["rank_high"]) == ("a", 1, 1)
    assert second["value"] in ("b", "c") and second["rank_low"] == 2
    assert first["estimate"] == float(result["a"])
    # All items hold together, so each interval is wider than one that holds alone.
    assert first["low"] < result["a"].low and result["a"].high < first["high"]
    assert result.top(2).surely == ["a"] and len(result.top()) == 4
    assert "1 to 1" not in str(result.top(2))
