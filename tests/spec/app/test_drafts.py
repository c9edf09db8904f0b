"""Plans of drafts: what is proposed, and the study that they complete."""

from __future__ import annotations

import csv
import io
import json
import math
import tomllib
from pathlib import Path

import pytest

from tests.spec.app._command import run
from warner import Categorical, OneOf
from warner.app.draft import Draft, Planned, split
from warner.design.proposal import propose
from warner.errors import ArgumentError, StudyError
from warner.studies.study import Study

DRAFT = """# For the board
title = "Clinic"   # short

[attributes.smokes]
label = "Do you smoke?"   # asked first
values = ["no", "yes"]

[attributes."how often"]
values = [
    "never",   # as in the code book
    "sometimes",
    "often",
]
# the end of this part

[attributes.ill]
values = ["a", "b", "c"]
sensitive = ["a"]

[attributes.known]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0

[public.ward]
values = ["north", "south"]
"""


REPEATED = """[repeat]
rounds = 52
forever = FOREVER
[attributes.theme]
values = ["light", "dark"]
[attributes.font]
integers = [8, 12]
[attributes.minutes]
integers = [0, 600]
"""


@pytest.mark.parametrize("forever", ["2.0", "0.4"])
def test_a_draft_of_rounds_gets_what_goes_with_rounds(tmp_path: Path, forever: str) -> None:
    """Rejects the plan that proposes a mechanism, or an epsilon, that its own study refuses, and the
    plan that compares nothing for many numbers, whose mechanisms rounds do not take.
    """
    draft, study = tmp_path / "draft.toml", tmp_path / "study.toml"
    draft.write_text(REPEATED.replace("FOREVER", forever))
    said = run("plan", str(draft), "--people", "2000", "--write", str(study)).output
    assert "in each round" in said and "in all." not in said
    assert "forever limits what all rounds tell of an answer that stays" in " ".join(said.split())
    made = Study.load(study)
    assert all(0 < m.guarantee.epsilon < float(forever) for m in made.mechanisms.values())


def test_a_draft_of_rounds_with_many_questions_draws_one_for_all_of_them(tmp_path: Path) -> None:
    """Rejects a proposal that spends the sum of all questions, or the budget of a year in a week."""
    draft, study = tmp_path / "draft.toml", tmp_path / "study.toml"
    more = '[attributes.wrap]\nvalues = ["off", "on"]\n'
    draft.write_text(f"budget = 2.0\n{REPEATED.replace('FOREVER', '2.0')}{more}")
    said = " ".join(run("plan", str(draft), "--write", str(study)).output.split())
    assert "Each device draws one of 4 questions for all rounds, by chance, and spends" in said
    made = Study.load(study)
    assert [len(asked) for asked in made.permanent] == [1, 1, 1, 1]
    assert made.epsilon < 2.0 and made.epsilon_of_rounds <= 2.0


def test_a_ranking_marks_what_a_study_in_rounds_refuses(tmp_path: Path) -> None:
    """Rejects a ranking whose best mechanisms the table [repeat] of the same study refuses."""
    path, repeat = tmp_path / "s.toml", "[repeat]\nrounds = 4\nround = 1\nforever = 2.0\n"
    question = (
        '[attributes.size]\nintegers = [1, 6]\nmechanism = "SubsetSelection"\nepsilon = 1.0\n'
    )
    for head in ("", repeat):
        path.write_text(head + question)
        done = run("plan", str(path), "--people", "200")
        rows = [line.split("  ")[0] for line in done.output.splitlines()]
        assert ("Piecewise (not with [repeat])" in rows) == bool(head)
        assert ("Piecewise" in rows) == (not head)
        assert "UnaryEncoding" in rows  # which [repeat] takes
        assert "SubsetSelection (in the study)" in rows and "Permanent" not in done.output


@pytest.mark.parametrize(("forever", "is_proposed"), [("2.0", False), ("5.0", True)])
def test_a_plan_of_rounds_proposes_an_epsilon_that_the_study_takes(
    tmp_path: Path, forever: str, is_proposed: bool
) -> None:
    """Rejects: advice to spend in one round the sum of all questions, which is above ``forever``."""
    path, repeat = tmp_path / "s.toml", f"[repeat]\nrounds = 4\nround = 1\nforever = {forever}\n"
    question = '[attributes.{}]\nvalues = ["a", "b"]\n'
    law = 'mechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    path.write_text(repeat + "".join((question + law).format(name) for name in "xyz"))
    said = " ".join(run("plan", str(path), "--people", "2000").output.split())
    assert ("A person spends epsilon 3 in each round. You can" in said) == is_proposed
    assert (
        'each = "one" and epsilon = 3' in said
    ) == is_proposed and "spends epsilon 3 in all" not in said
    if is_proposed:  # and followed literally
        text = '[ask]\neach = "one"\nepsilon = 3\n' + repeat
        assert Study.parse(text + "".join(map(question.format, "xyz"))).epsilon <= 3


@pytest.fixture
def draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("draft.toml").write_text(DRAFT)
    return Path("draft.toml")


def test_a_draft_gets_mechanisms_and_epsilons_and_keeps_its_text(draft: Path) -> None:
    shown = run("plan", "draft.toml", "--people", "2000", "--write", "study.toml").output
    text = Path("study.toml").read_text()
    left = iter(text.splitlines())
    assert all(line in left for line in DRAFT.splitlines())  # every line, in its order
    study = Study.load("study.toml")
    assert list(study.mechanisms) == ["smokes", "how often", "ill", "known"]
    assert type(study.mechanisms["ill"]).__name__ == "UtilityOptimizedRR"
    data = tomllib.loads(text)["attributes"]
    assert data["known"] == tomllib.loads(DRAFT)["attributes"]["known"]
    assert "known: RandomizedResponse, epsilon 1, as the study says." in shown
    # Two wards of 1,000 people.
    assert "people in a group" in shown and "1,000" in shown
    assert "of 100 people who answer yes, 73 report yes; of 100 who answer no, 27" in shown
    # The completed study is planned as before, and is no draft.
    assert "a liar adds" in run("plan", "study.toml").output
    assert "Leave out --write" in run("plan", "study.toml", "--write", "x.toml", ok=False).output
    for option, value in {"--share": "0.2", "--width": "0.1", "--sizes": "50,60"}.items():
        refused = run("plan", "study.toml", option, value, ok=False).output
        assert f"{option}: is for a draft" in refused and "delete the lines" in refused


def test_what_is_stated_stays(draft: Path) -> None:
    stated = DRAFT.replace(
        '"yes"]\n\n[attributes."how', '"yes"]\nepsilon = 0.7\n\n[attributes."how'
    )
    stated = stated.replace(
        'sensitive = ["a"]', 'sensitive = ["a"]\nmechanism = "UtilityOptimizedRappor"'
    )
    draft.write_text(stated)
    found = json.loads(run("plan", "draft.toml", "--json", "--sizes", "50,60").stdout)
    assert list(found["smokes"]["added"]) == ["mechanism"]
    assert found["smokes"]["best"]["epsilon"] == 0.7
    assert list(found["ill"]["added"]) == ["epsilon"]
    assert [group["people"] for group in found["ill"]["groups"]] == [50, 60]
    assert "mechanism" in found["how often"]["added"]
    assert "such as 800" in run("plan", "draft.toml", "--sizes", "many", ok=False).output


def test_a_budget_is_split_so_that_intervals_are_equally_wide(draft: Path) -> None:
    draft.write_text("budget = 4.0\n" + DRAFT)
    found = Draft.load("draft.toml")
    planned = found.proposals(2000, 0.1)
    spent = {name: found.added["epsilon"] for name, found in planned.items()}
    assert 2.98 < sum(spent.values()) <= 3.0  # 1.0 is spent already
    widths = [found.proposal.best.expected.share for found in planned.values()]
    assert max(w or 1 for w in widths) < 1.25 * min(w or 1 for w in widths)
    assert spent["smokes"] < spent["how often"]
    assert Study.parse(found.completed(planned, {})).epsilon <= 4.0
    draft.write_text("budget = 1.0\n" + DRAFT)
    with pytest.raises(ArgumentError, match="is used up"):
        Draft.load("draft.toml").proposals(2000, 0.1)


def test_too_few_people_are_told_so(draft: Path) -> None:
    draft.write_text('[attributes.smokes]\nvalues = ["no", "yes"]\nepsilon = 1.0\n')
    said = " ".join(run("plan", "draft.toml", "--people", "20").output.split())
    assert (
        "people are enough. Or allow a larger epsilon. Such wide intervals tell next to nothing"
        in said
    )
    assert "fewer values" not in said
    said = run("plan", "draft.toml", "--people", "1000").output
    assert "wider than wanted" in said and "next to nothing" not in said
    assert "is at most 10 points wide, ±5 (--width 0.1).\n" in said  # no epsilon was chosen


def test_a_proposal_says_what_it_aims_at(draft: Path) -> None:
    draft.write_text('[attributes.smokes]\nvalues = ["no", "yes"]\n')
    said = " ".join(run("plan", "draft.toml", "--people", "2000", "--width", "0.08").output.split())
    assert (
        "of this share is at most 8 points wide, ±4 (--width 0.08). Of the epsilons that were "
        "tried, "
        "1.2 is the smallest that reaches this width." in said
    )
    half = run("plan", "draft.toml", "--people", "2000", "--margin", "4%").output
    assert " ".join(half.split()) == said  # twice the margin is the width
    for option, rule in (
        (("--margin", "4"), "4 must be above 0 and below 1. Write 0.04 for ±4 points."),
        (("--margin", "0.04", "--width", "0.04"), "--width is twice the --margin"),
    ):
        assert rule in run("plan", "draft.toml", *option, ok=False).output
    draft.write_text("[attributes.units]\nintegers = [0, 20]\n")
    said = " ".join(run("plan", "draft.toml", "--people", "5000").output.split())
    assert (
        "±5 (--width 0.1). The wanted interval of the mean is at most 10 % of the range of values. "
        "Of" in said
    )


def test_a_split_adds_up() -> None:
    parts = split(2.0, {"a": [(0.5, 0.2), (1.0, 0.1)], "b": [(0.5, 0.4), (1.0, 0.1), (2.0, 0.1)]})
    assert sum(parts.values()) == pytest.approx(2.0) and parts["b"] >= parts["a"] > 0


def test_several_reports_share_an_epsilon(draft: Path) -> None:
    draft.write_text('[attributes.smokes]\nvalues = ["no", "yes"]\nreports = 4\nepsilon = 2.0\n')
    (found,) = Draft.load("draft.toml").proposals(2000, 0.1).values()
    assert found.proposal.epsilon == 0.5
    assert "7.39 times" in run("plan", "draft.toml", "--wide").output


def test_a_draft_that_breaks_other_rules_is_refused(draft: Path) -> None:
    draft.write_text(
        DRAFT.replace('["no", "yes"]\n\n[attributes."how', '["no"]\n\n[attributes."how')
    )
    assert "smokes" in run("plan", "draft.toml", ok=False).output
    draft.write_text("attributes = { smokes = { values = ['no', 'yes'] } }\n")
    message = run("plan", "draft.toml", "--write", "s.toml", ok=False).output
    assert "[attributes.smokes]" in message and not Path("s.toml").exists()
    draft.write_text(
        '[attributes.pay]\ninterval = {low = 0, high = 1, bins = 4}\nkeys = ["a", "b"]\n'
    )
    assert "KeyValue" in run("plan", "draft.toml", ok=False).output


def test_tables_below_an_attribute_and_line_ends_are_kept() -> None:
    text = "[attributes.pay.interval]\r\nlow = 0\r\nhigh = 1\r\nbins = 3\r\n# end\r\n"
    found = Draft.parse(text)
    cheap = propose(Categorical(["a", "b"]), 100, 1.0)
    planned = {"pay": Planned(cheap, {"mechanism": "SquareWave", "epsilon": 1.0})}
    new = found.completed(planned, {"pay": ["why"]})
    assert "\n" not in new.replace("\r\n", "") and new.endswith(text)
    assert new.startswith("[attributes.pay]\r\n# why\r\nmechanism")
    assert list(Study.parse(new).mechanisms) == ["pay"]


def test_any_name_and_any_text_is_kept() -> None:
    """Python ends lines at characters where TOML does not; JSON escapes names as TOML does not."""
    name = "q \U0001f600"
    text = f'# one\u2028two\n[attributes."{name}".interval]\nlow = 0\nhigh = 1\nbins = 3\n'
    cheap = propose(Categorical(["a", "b"]), 100, 1.0)
    planned = {name: Planned(cheap, {"mechanism": "SquareWave", "epsilon": 1.0})}
    new = Draft.parse(text).completed(planned, {})
    assert new.startswith(text.split("\n")[0] + "\n") and list(Study.parse(new).mechanisms) == [
        name
    ]


def test_what_is_no_text_is_not_read_as_a_draft(draft: Path) -> None:
    draft.write_bytes(b"label = '\xff CANARY'")
    with pytest.raises(StudyError, match="is not a text file in UTF-8") as caught:
        Draft.load("draft.toml")
    assert "CANARY" not in str(caught.value) and caught.value.__context__ is None


def test_json_drafts_are_planned_and_not_written(draft: Path) -> None:
    text = json.dumps({"attributes": {"smokes": {"values": ["no", "yes"]}}})
    found = Draft.parse(text)
    planned = found.proposals(2000, 0.1)
    assert planned["smokes"].added["mechanism"] == "RandomizedResponse"
    with pytest.raises(StudyError, match="as TOML"):
        found.completed(planned, {})


def test_tables_fit_the_width_of_the_screen(draft: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complete = '[attributes.smokes]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\n'
    Path("study.toml").write_text(complete + "epsilon = 1.0\n")
    for width in (60, 80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        shown = run("audit", "study.toml").output
        assert max(map(len, shown.splitlines())) <= width
        assert "RandomizedResponse" in shown and "exact epsilon" in shown
        assert "Columns not shown here" in shown
        assert "were checked" in run("audit", "study.toml", "--wide").output
    monkeypatch.delenv("COLUMNS")
    shown = run("audit", "study.toml").output  # a pipe is as wide as a screen
    lines = [line for line in shown.splitlines() if "  " in line]  # no sentences
    assert max(map(len, lines)) <= 80


ITEMS = '[attributes.settings]\nitems = ["dark", "wrap", "tips"]\neach = "one"\n'


def test_a_draft_with_items_is_planned_for_the_people_of_each_item(tmp_path: Path) -> None:
    draft, study = tmp_path / "draft.toml", tmp_path / "study.toml"
    draft.write_text(ITEMS)
    done = run("plan", str(draft), "--people", "6000", "--write", str(study))
    assert "asked of about 2,000 people" in done.output
    mechanism = Study.load(study).mechanisms["settings"]
    assert isinstance(mechanism, OneOf) and "mechanism" not in study.read_text().split("#")[0]
    draft.write_text(ITEMS.replace('"one"', '"pair"'))
    refused = run("plan", str(draft), ok=False)
    assert 'each = "one"' in refused.output


def test_questions_with_equal_plans_are_printed_once(tmp_path: Path) -> None:
    draft = tmp_path / "draft.toml"
    draft.write_text(
        "".join(f'[attributes.s{i}]\nvalues = ["no", "yes"]\n' for i in range(5))
        + '[attributes.size]\nvalues = ["s", "m", "l"]\n'
    )
    said = run("plan", str(draft), "--people", "6000").output
    assert "Planned alike: s0, s1, s2, s3, s4" in said and "each of these 5 questions: 2" in said
    assert said.count("Expect a 95 % interval") == 2 and "\nsize: 3 values" in said
    assert said.count("interval at 10 %: how wide") == said.count("near 50 % is wider") == 1
    draft.write_text(ITEMS + "epsilon = 2.0\n")  # of 6,000 people, blocks differ by rounding
    said = run("plan", str(draft), "--people", "6000").output
    assert "each of these 3 questions: 2 values" in said and said.count("(in the study)") == 1


def test_how_labels_are_called_does_not_matter_to_a_plan(tmp_path: Path) -> None:
    """Rejects a table for each of two equal questions, and one table of different mechanisms."""
    study = tmp_path / "study.toml"
    questions = {"theme": '"light", "dark"', "font": '"small", "large"', "long": '"a", "b", "c"'}
    made = dict.fromkeys(questions, "RandomizedResponse")
    questions["bits"], made["bits"] = '"no", "yes"', "UnaryEncoding"
    study.write_text(
        "".join(
            f'[attributes.{name}]\nvalues = [{values}]\nmechanism = "{made[name]}"\nepsilon = 1.0\n'
            for name, values in questions.items()
        )
    )
    said = run("plan", str(study), "--people", "6000").output
    assert "Planned alike: theme, font\n" in said and "\nbits: 2 values" in said
    assert said.count("Column unbiased:") == 1 and said.count("in the first row") == 3


def test_a_liar_chooses_the_item(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(ITEMS + "epsilon = 2.0\n")
    said = " ".join(run("audit", str(study)).output.split())
    # Three times as many as where everybody is asked the item.
    alone = (math.exp(2) + 1) / (math.exp(2) - 1)
    count = math.ceil(10 * 3 * alone - 1e-9) / 10
    assert (
        f"One made-up report can add at most {count:.2g} people to the count of an answer to "
        "settings" in said
    )
    assert "about one of its 3 items, chosen by chance" in said


def test_a_wanted_difference_is_planned_for_a_draft(draft: Path) -> None:
    """Rejects a program that takes --difference for a draft and prints the same plan without it."""
    text = (
        '[attributes.Q7]\nvalues = ["a", "b", "c", "d"]\n[public.ward]\nvalues = ["N", "O", "R"]\n'
    )
    draft.write_text(text)
    wanted = ("--people", "1500", "--difference", "0.15", "--by", "ward")
    said = run("plan", "draft.toml", *wanted, "--write", "study.toml").output
    needed = json.loads(run("plan", "study.toml", *wanted, "--json").stdout)["Q7"]["results"]
    own = next(row for row in needed if row["mechanism"] == "RandomizedResponse")
    lines = " ".join(said.split())
    assert (
        f"as proposed, {own['people']:,} people are needed for this difference. With 1,500 "
        f"people, the survey would find this difference with probability {own['power']:.2g}."
        in lines
    )
    assert (
        "finds with probability 0.8 that the share of a value differs" in lines
        and "no protection" in lines
    )
    data = json.loads(run("plan", "draft.toml", *wanted, "--json", "--power", "0.9").stdout)["Q7"]
    assert data["wanted"] == {"difference": 0.15, "groups": 3, "power": 0.9}
    assert min(row["people"] for row in data["by_epsilon"]) > 0
    draft.write_text("[attributes.units]\nintegers = [0, 20]\n")
    lines = " ".join(run("plan", "draft.toml", "--difference", "0.05").output.split())
    assert "(proposed), the 95 % interval of the mean of a group of 5,000 is about" in lines
    # Of three questions that are drawn, a group is asked this one by a third of its people.
    more = "".join(f'[attributes.Q{i}]\nvalues = ["a", "b"]\n' for i in (1, 2))
    draft.write_text("[attributes.units]\nintegers = [0, 20]\n" + more)
    lines = " ".join(run("plan", "draft.toml", "--difference", "0.05").output.split())
    assert "the mean of a group of 4,998 is about" in lines
    first = next(csv.DictReader(io.StringIO(run("plan", "draft.toml", "--csv").stdout)))
    assert f"{int(first['people']):,}" in lines and int(first["people"]) % 3 == 0


@pytest.mark.parametrize("option", [("--error", "0.1"), ("--loss", "l2"), ("--runs", "3")])
def test_a_draft_refuses_what_would_change_nothing(draft: Path, option: tuple[str, str]) -> None:
    """Rejects a program that takes an option of complete studies and does not use it."""
    said = run("plan", "draft.toml", *option, ok=False).output
    assert f"{option[0]}: can be used only with a complete study or --design" in said
    for what in (["draft.toml"], ["--design", "crosswise:1/4"]):
        said = run("plan", *what, "--power", "0.9", ok=False).output
        assert "--power: can be used only together with --difference" in said


def test_a_budget_that_makes_intervals_wide_is_named(draft: Path) -> None:
    """Rejects a program that does not say that the budget left one epsilon to try."""
    text = '[attributes.Q7]\nvalues = ["a", "b", "c", "d"]\n'
    draft.write_text("budget = 1.0\n" + text)
    said = " ".join(run("plan", "draft.toml", "--people", "500").output.split())
    assert "people are enough. Or raise the budget, now 1, or ask for fewer values." in said
    draft.write_text(text + "epsilon = 1.0\n")
    said = " ".join(run("plan", "draft.toml", "--people", "500").output.split())
    assert "people are enough. Or allow a larger epsilon, or ask for fewer values." in said
