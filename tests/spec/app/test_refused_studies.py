"""Study files that are refused, and budgets that are unusual."""

from __future__ import annotations

import math
import pickle
import tomllib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import warner
from tests.spec.app._command import STUDY, run
from warner import Study
from warner.app.draft import Draft
from warner.errors import StudyError, WarnerError
from warner.studies.mechanisms import MECHANISMS
from warner.studies.problems import StudyProblems

WRONG = """\
title = "Clinic"
budgit = 3.0
epsilon = 1.0

[attributes.smokes]
values = ["never", "sometimes", "often"]
mechanism = "randomisedresponse"
epsilom = 1.0

[attributes.units]
interval = [0, 60]
mechanism = "SquareWave"
epsilon = -1

[attributes.weight]
interval = { low = 0, high = 60, bin = 3 }
mechanism = "SquareWave"
epsilon = 1
budget = 3

[attributes.height]
interval = { low = 60, high = 0, bins = 4 }
epsilon = 1

[attributes.condition]
value = ["yes", "no"]
mechanism = "RandomizedResponse"
epsilon = 1.0
variant = 3

[public.hospital]
values = ["a", "a"]

[public.visit]
dates = "year"

[public.smokes]
dates = "day"
"""
TOLD = """\
study.toml has 15 problems:
line 2: budgit: is not a key of a study file. Is 'budget' meant?
line 3: epsilon: is not a key of this table. It belongs in a table [attributes.NAME]
line 7: attributes.smokes.mechanism: must be one of
line 8: attributes.smokes.epsilon: is missing. Is 'epsilom' a misspelt 'epsilon'?
line 11: attributes.units.interval: must be a table; got [0, 60]. Write for example interval = { low
line 13: attributes.units: epsilon: must be above 0; got -1.0.
line 16: attributes.weight.interval.bin: is not a key of a study file. Is 'bins' meant?
line 19: attributes.weight.budget: is not an option of SquareWave, whose options are cells. It belongs in
line 21: attributes.height.mechanism: is missing.
line 22: attributes.height: high: must be greater than low
line 26: attributes.condition: must have exactly one of the keys values, integers, interval, grid, items, words. Is 'value'
line 29: attributes.condition.variant: is not an option of RandomizedResponse
line 32: public.hospital: values: must have each label only once
line 35: public.visit.dates: must be 'day', 'week' or 'month'; got 'year'.
line 37: public.smokes: has the name of a protected question""".splitlines()


def test_all_problems_of_a_study_are_told_at_once_by_their_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(WRONG)
    told = run("audit", "study.toml", ok=False).stderr.removeprefix("Error: ").splitlines()
    assert len(told) == len(TOLD), told
    for found, expected in zip(told, TOLD, strict=True):
        assert found.startswith(expected)
    assert "Is 'RandomizedResponse' meant?" in told[3]


def test_many_questions_without_mechanism_and_epsilon_are_one_line(tmp_path: Path) -> None:
    """Rejects two lines for each question of a draft, under which other problems are lost."""
    table = '[attributes.{}]\nvalues = ["no", "yes"]\n'
    draft = tmp_path / "draft.toml"
    draft.write_text("".join(map(table.format, "abcd")) + '[attributes.e]\nvalues = ["no"]\n')
    said = run("audit", str(draft), ok=False).output
    assert (
        "line 1: attributes: 5 questions lack a mechanism and an epsilon, from 'a' to 'e'" in said
    )
    assert "is missing" not in said and "attributes.e: number of values" in said
    # What the line advises is enough.
    draft.write_text('[ask]\neach = "one"\nepsilon = 1.0\n' + "".join(map(table.format, "abcd")))
    run("audit", str(draft))
    draft.write_text("".join(map(table.format, "abc")))
    assert run("audit", str(draft), ok=False).output.count("is missing") == 6


def test_a_single_problem_is_one_line_with_the_file_and_the_line() -> None:
    with pytest.raises(StudyError, match=r"^study, line 8: attributes\.age\.integers: must be"):
        Study.parse(STUDY.replace("[0, 9]", "9").lstrip())


@pytest.mark.parametrize(
    "old, new, line",
    [
        ('mechanism = "UnaryEncoding"\n', "", 8),  # what is missing: the table
        ('variant = "oue"', "\nvariant = 2", 12),  # an argument of the mechanism
        ("budget = 3.0", "budget = 1.0", 3),
        ("[0, 9]", "[9, 0]", 9),
        ("[attributes.age]", '[attributes."a.b"]', 8),
        ("[attributes.age]\n", '[attributes.age]\nlabel = "\\u0007"\n', 9),
    ],
)
def test_the_line_is_that_of_the_key_or_of_its_table(old: str, new: str, line: int) -> None:
    assert old in STUDY
    with pytest.raises(StudyError, match=rf"^study, line {line}: ") as caught:
        Study.parse(STUDY.replace(old, new))
    assert caught.value.__context__ is None


GROUPS = """
[[groups]]
name = "North"
[[groups]]
name = "South"
budget = 0.1
[groups.attributes.smokes]
epsilon = -1
[groups.attributes.aeg]
epsilon = 1
"""


def test_problems_of_groups_stand_where_the_group_or_the_common_table_has_them() -> None:
    with pytest.raises(StudyError) as caught:
        Study.parse(STUDY + GROUPS)
    assert (
        "line 21: groups.South.attributes.aeg: is not one of the questions smokes, age. Is 'age' meant?"
        in (str(caught.value))
    )
    sound = GROUPS.partition("[groups.attributes.aeg]")[0]
    with pytest.raises(StudyError) as caught:
        Study.parse(STUDY.replace("[0, 9]", "[9, 0]") + sound)
    told = str(caught.value).splitlines()
    assert told[0] == "study has 2 problems:"
    # The common table is wrong for both groups, and is told once.
    assert told[1].startswith("line 9: attributes.age: high: must be greater than low = 9; got 0.")
    assert told[2].startswith("line 20: groups.South: attributes.smokes: epsilon: must be above")
    with pytest.raises(StudyError, match=r"line 18: groups\.South: budget: is exceeded"):
        Study.parse(STUDY + sound.replace("-1", "1"))


def test_problems_of_attributes_together_are_told_together() -> None:
    text = """\
[attributes.sex]
values = ["f"]
[attributes.smokes]
values = ["no", "yes"]
epsilon = 1.0
[[joint]]
attributes = ["sex", "smokes", "agee"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.age]
integers = [0, 9]
mechanism = "UnaryEncodin"
epsilon = 1.0
"""
    with pytest.raises(StudyError) as caught:
        Study.parse(text)
    lines = [told.partition(": ")[0] for told in str(caught.value).splitlines()[1:]]
    assert lines == ["line 2", "line 5", "line 7", "line 12"]
    assert "Is 'age' meant?" in str(caught.value)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_an_infinite_epsilon_under_a_budget_is_an_error_with_a_name(mechanism: str) -> None:
    stated = tomllib.loads(Path("docs/every_mechanism.toml").read_text())["attributes"]
    for table in stated.values():
        if table.get("mechanism") == mechanism:
            for epsilon in (math.inf, math.nan, 10**400):
                data = {"budget": 1, "attributes": {"q": {**table, "epsilon": epsilon}}}
                with pytest.raises(StudyError, match=r"epsilon|budget|sensitiv"):
                    # A mechanism may spend less than it is allowed, as a given matrix does.
                    if Study(data).epsilon <= 1:
                        raise StudyError("within the budget")


def _edits(data: Any) -> Iterator[Any]:
    """The data with one entry replaced by something else."""
    others: list[Any] = [None, 3, -1.5, "x", [1], {"a": 1}, math.inf]
    places = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in places:
        changed: list[Any] = [*others]
        if isinstance(value, dict | list):
            changed += _edits(value)
        for other in changed:
            copy = data.copy()
            copy[key] = other
            yield copy


def test_no_edit_of_a_study_ends_in_the_words_of_a_library() -> None:
    data = tomllib.loads(
        STUDY + '[public.ward]\nvalues = ["a", "b"]\n[attributes.pay]\nepsilon = 1\n'
        'mechanism = "SquareWave"\ninterval = { low = 0, high = 1, bins = 4 }\n'
        '[attributes.sex]\nvalues = ["f", "m"]\n[attributes.x]\nvalues = ["f", "m"]\n'
        '[[joint]]\nattributes = ["sex", "x"]\nmechanism = "RandomizedResponse"\nepsilon = 0.1\n'
        '[[groups]]\nname = "A"\n[[groups]]\nname = "B"\n[groups.attributes.age]\nepsilon = 1\n'
    )
    refused = 0
    for edited in _edits(data):
        try:
            Study(edited)
        except WarnerError as error:
            refused += 1
            for words in ("KeyError", "Traceback", "object has no", "NoneType"):
                assert words not in str(error), edited
    assert refused > 200


def test_a_broken_text_is_answered_with_a_reason_that_quotes_nothing() -> None:
    for text, reason in (
        ("[attributes.a]\nmechanism = RandomizedResponse\n", "Put text in quotes"),
        ("[attributes.a]\n[attributes.a]\n", "has the same table twice"),
        ("[attributes.CANARY]\nx = 1\nx = 2\n", "has the same key twice"),
        ("a = { b = 1,\n c = 2 }\n", "on one line"),
        ("a = [1, 2\nb = 3\n", "A list must end in ]"),
        ("[attributes.a]\nepsilon = 1,5  # CANARY\n", "Write decimals with a point"),
        ("[attributes.a]\nepsilon = .5  # CANARY\n", "Write digits on both sides of a point"),
        ("[attributes.a]\nepsilon = 1.\n", "Write digits on both sides of a point, as in 0.5"),
        ("[attributes.a]\nlabel = \u201cCANARY\u201d\n", "Use straight quotes"),
    ):
        with pytest.raises(StudyError, match="is not valid TOML or JSON, at line") as caught:
            Study.parse(text)
        assert reason in str(caught.value) and "CANARY" not in str(caught.value)


def test_problems_are_data_too() -> None:
    with pytest.raises(StudyProblems) as caught:
        Study({"attributes": {"a": {"values": ["x", "y"], "epsilon": 1.0}}})
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.problems == caught.value.problems and str(again) == str(caught.value)
    assert caught.value.problems[0].path == ("attributes", "a")


def test_problems_of_a_draft_have_lines_and_are_not_what_a_draft_may_lack() -> None:
    text = '[attributes.a]\ninterval = [0, 60]\n[attributes.b]\nvalues = ["x", "x"]\n'
    with pytest.raises(StudyError) as caught:
        Draft.parse(text, "draft.toml")
    told = str(caught.value).splitlines()
    assert told[0] == "draft.toml has 2 problems:" and len(told) == 3
    assert told[1].startswith("line 2: attributes.a.interval: must be a table; got [0, 60].")
    assert told[2].startswith("line 4: attributes.b: values: must have each label only once")


@pytest.mark.parametrize(
    "change, complaint",
    [
        (
            ("epsilon = 1.0", "epsilom = 1.0"),
            "smokes.epsilon: is missing. Is 'epsilom' a misspelt 'epsilon'?",
        ),
        (
            ('mechanism = "R', 'mechnism = "R'),
            "smokes.mechanism: is missing. Is 'mechnism' a misspelt 'mechanism'?",
        ),
        (
            ("values = [", "value = ["),
            "interval, grid, items, words. Is 'value' a misspelt key?",
        ),
        (("epsilon = 1.0", "epsilon = 1.0\nreprots = 3"), "no options. Is 'reports' meant?"),
        (("RandomizedResponse", "RandomisedResponse"), "Is 'RandomizedResponse' meant?"),
        (("RandomizedResponse", "randomizedresponse"), "Is 'RandomizedResponse' meant?"),
        (("epsilon = 1.0", 'epsilon = "1"'), "smokes.epsilon: must be a number; got '1'."),
        (
            ("epsilon = 1.0", "epsilon = 1.0\nreports = 2.5"),
            "reports: must be a whole number; got 2.5.",
        ),
        (("epsilon = 1.0", "epsilon = 1.0\nreports = 0"), "reports: must be at least 1; got 0."),
        (("budget = 3.0", "budget = 0"), "budget: must be above 0; got 0."),
        (("budget = 3.0", "delta = 1"), "delta: must be below 1; got 1."),
        (
            ("[0, 9]", "[0, 4, 9]"),
            "attributes.age.integers: must have at most 2 entries; got [0, 4, 9].",
        ),
        (
            ("[attributes.smokes]", "[attribute.smokes]"),
            "attribute: is not a key of a study file. For a question, write [attributes.smokes].",
        ),
        (
            ("[attributes.smokes]", "[smokes]"),
            "smokes: is not a key of a study file. For a question, write [attributes.smokes].",
        ),
        (
            ("[attributes.smokes]", '[study]\ntitle = "Smoking"\n[attributes.smokes]'),
            "study: is not a key of a study file. Write title at the top of the file, without",
        ),
        (('title = "test"', "title = 3"), "title: must be text in quotes; got 3."),
        (
            ("budget = 3.0", 'groups = [{name = "A", budgett = 1}, {name = "B"}]'),
            "groups[1].budgett: is not a key of a study file. Is 'budget' meant?",
        ),
    ],
)
def test_a_mistake_in_a_study_is_named_in_plain_words(
    change: tuple[str, str], complaint: str
) -> None:
    assert change[0] in STUDY
    with pytest.raises(StudyError) as caught:
        Study.parse(STUDY.replace(*change, 1))
    assert complaint in str(caught.value)


def test_a_single_question_without_attributes_is_a_study_too() -> None:
    text = '[smokes]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    with pytest.raises(StudyError, match=r"smokes: .* a question, write \[attributes\.smokes\]\.$"):
        Study.parse(text)
    with pytest.raises(StudyError, match="In warner it is called UnaryEncoding variant='oue'"):
        Study.parse(
            text.replace("[smokes]", "[attributes.smokes]").replace("RandomizedResponse", "OUE")
        )
    with pytest.raises(StudyError, match="THE is not in this package; unary encoding has less"):
        Study.parse(
            text.replace("[smokes]", "[attributes.smokes]").replace("RandomizedResponse", "THE")
        )


def test_an_unprotected_attribute_exceeds_every_budget() -> None:
    with pytest.raises(StudyError, match=r"the questions \(attributes\) spend inf together"):
        Study.parse(STUDY.replace("epsilon = 1.0", "epsilon = inf"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("answers.csv").write_text("smokes,age\n" + "yes,3\nno,4\nno,5\n" * 50)
    for name, seed in (("a", "1"), ("b", "2")):
        run("randomize", "study.toml", "answers.csv", "-o", f"{name}.parquet", "--seed", seed)
        run("tally", f"{name}.parquet", "-o", f"{name}.json")
    return tmp_path


def test_joint_shares_of_separate_tallies_are_refused_with_the_remedy(here: Path) -> None:
    wanted = run("estimate", "a.json", "--joint", "smokes,age", ok=False)
    assert (
        "--joint: needs questions that were counted together; got smokes,age. "
        "To count them together, run: warner tally --ways 2." in wanted.output
    )
    unknown = run("estimate", "a.json", "--joint", "smokes,wrong", ok=False)
    assert "--joint: must be one or more of the questions smokes, age; got wrong." in unknown.output


def test_clusters_of_separate_tallies_are_refused_with_the_remedy(here: Path) -> None:
    refused = run("plan", "a.json", ok=False).output
    assert "a.json: has no counts of the reports on two questions together" in refused
    assert "warner tally --ways 2" in refused


def test_only_the_attributes_asked_for_are_said_to_be_estimated_together(here: Path) -> None:
    together = run("estimate", "a.json", "b.json", "--only", "smokes")
    assert (
        "smokes: 300 reports by RandomizedResponse at epsilon 1. All these reports are estimated "
        "together, as reports of different people." in together.output
    )
    assert "age" not in together.output


def test_a_misspelt_table_of_what_is_asked_is_the_only_problem(here: Path) -> None:
    """Rejects: that mechanisms are missing, which is right where [ask] states the epsilon."""
    coins = "".join(f'[attributes.{name}]\nvalues = ["no", "yes"]\n' for name in "abc")
    Path("asks.toml").write_text(f'[asks]\neach = "one"\nepsilon = 2.0\n{coins}')
    refused = run("audit", "asks.toml", ok=False).stderr
    assert "Is 'ask' meant?" in refused and "is missing" not in refused
    Path("asks.toml").write_text(f'[ask]\neach = "one"\nepsilon = 2.0\n{coins}')
    Path("raw.csv").write_text("a,b,c\nno,yes,no\n")
    refused = run("tally", "raw.csv", "--study", "asks.toml", "-o", "t.json", ok=False).stderr
    assert "If these are answers, randomise them first" in refused


def test_a_plan_says_how_many_reports_the_study_asks_for(here: Path) -> None:
    Path("several.toml").write_text(
        '[attributes.smokes]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\n'
        "reports = 3\nepsilon = 1.0\n"
    )
    said = run("plan", "several.toml").stdout
    assert (
        "In the study, each person sends 3 reports of RandomizedResponse. The expected error"
        in said
    )


def test_an_unknown_group_is_answered_with_the_groups(here: Path) -> None:
    Path("groups.toml").write_text(
        STUDY.replace("budget = 3.0", 'group_column = "at"\ngroups = [{name = "A"}, {name = "B"}]')
    )
    Path("grouped.csv").write_text("at,smokes,age\nA,yes,1\nC,no,2\n")
    refused = run("randomize", "groups.toml", "grouped.csv", "-o", "g.parquet", ok=False)
    assert "data row 2" in refused.output and "as in the study: A, B." in refused.output


def _study(
    budget: str,
    epsilons: list[str],
    more: str = 'values = ["no", "yes"]\nmechanism = "RandomizedResponse"',
) -> warner.Study:
    parts = [
        f"[attributes.a{i}]\n{more}\nepsilon = {epsilon}" for i, epsilon in enumerate(epsilons)
    ]
    return warner.Study.parse("\n".join([f"budget = {budget}", *parts]))


@pytest.mark.parametrize(
    "budget, epsilons",
    [
        ("0.3", ["0.1", "0.2"]),
        ("1.0", ["0.1"] * 10),
        ("0.3", ["0.25", "0.05"]),
        ("0.7", ["0.1"] * 7),
        ("1", ["0.7", "0.3"]),
    ],
)
def test_budgets_that_add_up_as_decimals_are_met(budget: str, epsilons: list[str]) -> None:
    """And what is really spent is never above the budget, neither as a decimal nor as a float."""
    study = _study(budget, epsilons)
    spent = sum(Fraction(m.epsilon) for m in study.mechanisms.values())
    assert (
        spent <= Fraction(budget)
        and spent <= Fraction(float(budget))
        and study.epsilon <= float(budget)
    )
    for mechanism, written in zip(study.mechanisms.values(), epsilons, strict=True):
        assert mechanism.epsilon <= float(written) and mechanism.requested == pytest.approx(
            float(written), abs=1e-15
        )
        assert warner.audit(mechanism).holds
    assert warner.Study.parse(study.to_json()).digest == study.digest


def test_metric_budgets_add_up_as_decimals_too() -> None:
    study = _study("10.0", ["0.1"] * 10, 'integers = [0, 10]\nmechanism = "Geometric"')
    assert study.epsilon <= 10
    assert (
        _study(
            "1.0", ["0.1", "0.2"], 'integers = [0, 10]\nmechanism = "Laplace"\nsensitivity = 3'
        ).epsilon
        <= 1.0
    )


@pytest.mark.parametrize(
    "budget, epsilons, spent",
    [
        ("0.3", ["0.1", "0.2000001"], "0.3000001"),
        ("0.3", ["0.1", "0.20000000000000004"], "0.30000000000000004"),
    ],
)
def test_budgets_that_are_exceeded_say_by_how_much(
    budget: str, epsilons: list[str], spent: str
) -> None:
    with pytest.raises(warner.errors.StudyError) as error:
        _study(budget, epsilons)
    assert f"the questions (attributes) spend {spent} together; got {budget}." in str(error.value)


STUDY_UNUSUAL_BUDGETS = """
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = {0}
[attributes.age]
integers = [0, 100]
mechanism = "Geometric"
epsilon = {1}
"""


@pytest.mark.parametrize(
    ("smokes", "age", "told"),
    [
        (1.0, 0.01, []),
        (0.04, 0.01, ["smokes: with an epsilon below 0.05, reports tell almost nothing"]),
        (
            5.5,
            0.01,
            ["smokes: an epsilon above 5 protects people little", "by a factor of 148 or more"],
        ),
        (1.0, 0.1, ["age: an epsilon above 5 protects people little"]),
        (0.04, 0.0004, ["smokes, age: with an epsilon below 0.05"]),
    ],
)
def test_epsilons_that_are_useless_or_protect_little_are_named(
    tmp_path: Path, smokes: float, age: float, told: list[str]
) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY_UNUSUAL_BUDGETS.format(smokes, age))
    said = run("audit", str(path)).stdout
    assert all(part in said for part in told), said
    assert said.count("an epsilon") == min(len(told), 1)


def test_audit_and_serve_have_one_rule_for_a_survey_page(tmp_path: Path) -> None:
    """Rejects an audit that accepts what serve then refuses."""
    path = tmp_path / "study.toml"
    question = '[attributes.a]\nvalues = ["x", "y"]\nmechanism = "RandomizedResponse"\n'
    page = '[collect]\naccess = "open"\n'
    for epsilon, collect, status in ((12, page, 1), (10, page, 0), (12, "", 0)):
        path.write_text(f"{question}epsilon = {epsilon}\n{collect}")
        audited = run("audit", str(path), ok=status == 0)
        assert audited.exit_code == status
        rule = "attributes.a: cannot be served: epsilon must be at most 10 between any two answers"
        refusal = f'"warner collect serve" refuses this study: {rule}; got 12.'
        assert (refusal in " ".join(audited.stdout.split())) is (status == 1)
    assert rule in run("collect", "serve", str(path), "--access", "open", ok=False).stderr
