"""Studies with [ask]: each person is asked one question, or one pair, drawn by chance."""

from __future__ import annotations

import json
import math
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import warner
from tests.spec.app._command import whatever_file
from warner import Study, estimate
from warner.app.cli import main
from warner.errors import FrameWarning, StudyError
from warner.io import count_statement, read_counts
from warner.mechanisms import HiddenQuestion, OneOf
from warner.reports.tally import load_tallies, save_tallies

QUESTIONS = """
[attributes.a]
values = ["no", "yes"]
[attributes.b]
values = ["x", "y", "z"]
[attributes.c]
integers = [0, 3]
"""
ONE = '[ask]\neach = "one"\nepsilon = 2.0\n' + QUESTIONS
PUBLIC = '[public.ward]\nvalues = ["n", "s"]\n'


def study_of(each: str) -> Study:
    return Study.parse(ONE.replace('"one"', each) + PUBLIC)


def answers(n: int = 3000) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    columns = {
        "a": rng.choice(["no", "yes"], n, p=[0.8, 0.2]),
        "b": rng.choice(["x", "y", "z"], n),
        "c": rng.integers(0, 4, n),
        "ward": rng.choice(["n", "s"], n),
    }
    return pl.DataFrame(columns)


def warn(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


def test_the_whole_epsilon_is_spent_on_what_is_drawn() -> None:
    study = study_of('"one"')
    assert study.draw is study.mechanisms["questions"]
    assert study.draw is not None and study.together is study.draw
    assert [part.requested for part in study.draw.parts.values()] == [2.0] * 3
    assert study.epsilon <= 2.0
    assert list(study_of('"pair"').draw.parts) == ["a x b", "a x c", "b x c"]  # type: ignore[union-attr]
    assert study_of("2").epsilon <= 2.0
    assert study.answer_columns == ["a", "b", "c"]
    weekly = Study.parse("rows_per_person = 7\n" + ONE)
    assert weekly.epsilon <= 2.0 and weekly.mechanisms["questions"].requested < 2.0 / 6.9


def test_a_question_in_every_block_is_asked_of_everybody() -> None:
    """Rejects estimates of such a question from a part of the people."""
    text = ONE.replace('each = "one"', 'blocks = [["a", "b"], ["a", "c"]]')
    draw = Study.parse(text).draw
    assert draw is not None
    tally = draw.tally(draw.randomize(answers().drop("ward"), np.random.default_rng(4)))
    of_all, of_some = (estimate(tally, attributes=[name]) for name in ("a", "b"))
    assert of_all.n == 3000 and 1300 < of_some.n < 1700
    low, high = of_all.interval(0.999)[1]
    assert low < 0.2 < high and high - low < 0.2


def test_a_question_may_have_its_own_mechanism_and_epsilon_and_the_largest_counts() -> None:
    text = ONE.replace("integers = [0, 3]", 'integers = [0, 60]\nmechanism = "SquareWave"')
    text = text.replace("[attributes.b]", "epsilon = 0.5\n[attributes.b]")
    study = Study.parse(text)
    parts = study.draw.parts  # type: ignore[union-attr]
    assert [type(part).__name__ for part in parts.values()][2] == "SquareWave"
    assert [part.requested for part in parts.values()] == [0.5, 2.0, 2.0]
    own = text.replace("epsilon = 2.0\n", "")
    for name in ("b", "c"):
        own = own.replace(f"[attributes.{name}]", f"[attributes.{name}]\nepsilon = 1.5")
    assert Study.parse(own).epsilon == pytest.approx(1.5)


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("epsilon = 2.0", "", "attributes.a.epsilon: is missing"),
        ('"one"', "3", "ask.each: must be 'one', 'pair', 'all' or 2; got 3"),
        (
            'each = "one"',
            "",
            'must have exactly one of the keys each, blocks. For example each = "one"',
        ),
        ('each = "one"', 'blocks = [["a", "b"]]', "must have 2 or more entries"),
        ('each = "one"', 'blocks = [["a", "b"], ["a"]]', "but 'c' is in no block"),
        ('"one"', '"all"', 'ask.epsilon: cannot be used with each = "all"'),
        (
            "[attributes.b]",
            "epsilon = 3.0\n[attributes.b]",
            "must be at most 2.0, the epsilon of [ask]",
        ),
        ("[attributes.b]", "reports = 2\n[attributes.b]", "a.reports: cannot be used with [ask]"),
        (
            "[attributes.b]",
            'keys = ["k", "l"]\n[attributes.b]',
            "a.keys: cannot be used with [ask]",
        ),
        ("[attributes.b]", 'missing = "drop"\n[attributes.b]', "a.missing: cannot be 'drop'"),
        (
            "[attributes.b]",
            'variant = "oue"\n[attributes.b]',
            'a.variant: can be used only together with the key "mechanism"',
        ),
        ("[ask]", "budget = 1.0\n[ask]", "budget: is exceeded"),
        (
            "attributes.a",
            "attributes.Questions",
            "cannot be a name in a study with [ask]",
        ),
        ("2.0", "-1.0", "ask: epsilon: must be above 0"),
        ("2.0", "inf", "ask: epsilon: must be a finite number"),
    ],
)
def test_what_does_not_go_with_ask_is_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(StudyError) as refused:
        Study.parse(ONE.replace(old, new, 1))
    assert said in str(refused.value)
    assert "mechanism: is missing" not in str(refused.value) or '"all"' in new


@pytest.mark.parametrize("more", ["mechanism", "epsilon", "variant", "tags"])
def test_the_questions_of_pairs_name_no_mechanism_of_their_own(more: str) -> None:
    value = {"epsilon": "1.0", "tags": '["t"]'}.get(more, '"RandomizedResponse"')
    text = ONE.replace('"one"', '"pair"').replace(
        "[attributes.b]", f"{more} = {value}\n[attributes.b]"
    )
    with pytest.raises(StudyError, match='can be used only with each = "one"'):
        Study.parse(text)


@pytest.mark.parametrize("table", ["joint", "groups"])
def test_joint_tables_and_groups_of_budgets_do_not_go_with_ask(table: str) -> None:
    tables = {
        "joint": '[[joint]]\nattributes = ["a", "b"]\nmechanism = "RandomizedResponse"\nepsilon = 1.0',
        "groups": '[[groups]]\nname = "n"\n[[groups]]\nname = "s"',
    }
    with pytest.raises(StudyError, match=f"{table}: cannot be used with .ask"):
        Study.parse(ONE + tables[table])


@pytest.mark.parametrize("each", ['"one"', '"pair"', "2"])
def test_the_whole_way_from_answers_to_estimates(each: str, here: Path) -> None:
    Path("study.toml").write_text(ONE.replace('"one"', each) + PUBLIC)
    answers().write_csv("a.csv")
    for kind in ("csv", "parquet"):
        warn("randomize", "study.toml", "a.csv", "-o", f"r.{kind}", "--seed", "3")
        warn("tally", f"r.{kind}", "-o", f"{kind}.json", "--study", "study.toml")
    assert whatever_file("csv.json") == whatever_file("parquet.json")
    text = warn("estimate", "csv.json")
    for name in "abc":
        assert f"\n{name}: " in "\n" + text
    assert "questions" not in text
    assert "0 %" in warn("estimate", "csv.json", "--only", "b") or each
    if each != '"one"':
        assert "a x b: " in warn("estimate", "csv.json", "--joint", "a,b")
    else:
        assert "nobody is asked both" in warn("estimate", "csv.json", "--joint", "a,b", code=1)
    assert "must be one of" in warn("estimate", "csv.json", "--only", "d", code=1)
    warn("report", "csv.json", "-o", "r.html")
    assert "questions" in warn("audit", "r.csv", code=1)


def test_groups_count_the_people_who_were_asked(here: Path) -> None:
    study = study_of('"one"')
    frame = answers()
    reports = study.mechanisms["questions"].randomize(frame, rng=np.random.default_rng(1))
    tallies = study.tally({"questions": reports}, {"ward": frame["ward"].to_list()})
    save_tallies(tallies, "t.json")
    groups = estimate(tallies["questions"], attributes=["a"])
    whole = estimate(tallies["questions"].total(), attributes=["a"])
    assert groups.sizes.sum() == whole.n < 2000
    text = warn("estimate", "t.json", "--by", "ward", "--only", "a")
    assert f"a: 2 groups, {whole.n:,} simulated reports" in text
    assert "b: " not in text
    assert "c: the difference s minus n" in warn("estimate", "t.json", "--compare-groups")
    warn("report", "t.json", "-o", "r.html")
    page = Path("r.html").read_text()
    for name in ("a", "b", "c"):
        for ward, n in zip(
            "ns", estimate(tallies["questions"], attributes=[name]).sizes, strict=True
        ):
            assert f"{ward} ({n:,})" in page
    assert "n (1," not in page


@pytest.mark.filterwarnings("default:Questions were not drawn")
@pytest.mark.parametrize("each", ['"one"', '"pair"'])
def test_a_group_of_whom_nobody_was_asked_a_question_is_shown_without_reports(
    each: str, here: Path
) -> None:
    survey, frame = study_of(each).draw, answers()
    assert survey is not None
    reports = survey.randomize(frame, rng=np.random.default_rng(1))
    # Of ward s all were asked the first question or pair: nobody c.
    is_small = (reports.columns["block"] == 0) & (np.arange(3000) % 20 == 0)
    tally = survey.tally(reports, {"ward": np.where(is_small, "s", "n")})
    save_tallies({"questions": tally}, "t.json")
    text = warn("estimate", "t.json", "-o", "t.csv", "--allow-simulated")
    written = Path("t.csv").read_text()
    assert "\nc,s,,share,,,,,,0,no_reports" in written and "\na,s,no,share,0." in written
    text = warn("estimate", "t.json")
    nobody = [line.split()[:2] for line in text.split("\n") if "nobody was asked" in line]
    assert nobody == [["s", name] for name in ("bc" if each == '"one"' else "c")]
    text = warn("estimate", "t.json", "--only", "c", "--json")
    groups, _ = json.JSONDecoder().raw_decode(text[text.index("[") :])  # a note follows
    assert [group["n"] for group in groups if group["group"] == {"ward": "s"}] == [0]
    assert "no_reports" in warn("estimate", "t.json", "--by", "ward", "--only", "c")
    if each == '"pair"':
        assert "nobody was asked" in warn("estimate", "t.json", "--joint", "a,c")
    warn("report", "t.json", "-o", "r.html")
    assert Path("r.html").read_text().count("No reports: s.") == len(nobody)
    # Of all together, a sentence names the questions.
    save_tallies({"questions": tally[("s",)]}, "s.json")
    text = warn("estimate", "s.json")
    assert "nobody was asked them: " in text and "\na: " in text and "\nc: " not in text
    assert "Name a question that somebody was asked" in warn(
        "estimate", "s.json", "--only", "c", code=1
    )
    warn("report", "s.json", "-o", "s.html")
    assert "Nobody was asked these questions: " in Path("s.html").read_text()


def test_joint_shares_say_how_many_people_were_asked_all_of_them(here: Path) -> None:
    study = study_of('"pair"')
    reports = study.mechanisms["questions"].randomize(answers(), rng=np.random.default_rng(1))
    save_tallies(study.tally({"questions": reports}), "t.json")
    of_pairs = np.bincount(reports.columns["block"], minlength=3)
    both, one = of_pairs[0], of_pairs[1:].sum()
    pair = " ".join(warn("estimate", "t.json", "--joint", "a,b").split())
    assert f"{both:,} people were asked both questions, {one:,} only one of them" in pair
    assert "people (about)" not in pair and "95 % interval" in pair
    rows = json.loads(warn("estimate", "t.json", "--joint", "a,b", "--json").partition("\n")[2])
    assert all(row["people_about"] is None for row in rows[0]["shares"])
    three = " ".join(warn("estimate", "t.json", "--joint", "a,b,c").split())
    assert "nobody was asked all three questions, 3,000 only some of them" in three
    assert "There are no intervals" in three and "interval " not in three and "100.0" not in three
    warn("report", "t.json", "--joint", "a,b", "--joint", "a,b,c", "-o", "r.html")
    page = Path("r.html").read_text()
    assert f"{both:,} people were asked both questions, {one:,} only one of them." in page
    assert "Nobody was asked all three questions, 3,000 only some of them." in page
    assert "(0 to 100 %)" not in page and "There are no intervals." in page


def test_two_tallies_of_pairs_add_the_people_who_were_asked_both() -> None:
    rng, tallies = np.random.default_rng(1), []
    for epsilon in (1.0, 2.0):
        mechanism = Study.parse(
            ONE.replace('"one"', '"pair"').replace("epsilon = 2.0", f"epsilon = {epsilon}")
        ).mechanisms["questions"]
        tallies.append(mechanism.tally(mechanism.randomize(answers(), rng=rng)))
    apart = [estimate(tally, attributes=["a", "b"]).data.n_of_all for tally in tallies]
    together = estimate(tallies, attributes=["a", "b"])
    assert 0 < together.data.n_of_all == sum(apart) < together.n
    assert estimate(tallies, attributes=["a"]).rows()[0]["people_about"] is not None


@pytest.mark.parametrize("each", ['"one"', '"pair"', "2"])
def test_frames_and_databases_count_blocks_as_files_do(each: str, here: Path) -> None:
    study = study_of(each)
    frame = answers()
    mechanism = study.mechanisms["questions"]
    reports = mechanism.randomize(frame, rng=np.random.default_rng(1))
    expected = study.tally({"questions": reports}, {"ward": frame["ward"].to_list()})["questions"]
    columns = mechanism.schema.to_file(reports.columns)
    table = pl.DataFrame(
        {f"questions_{k}": v for k, v in columns.items()} | {"ward": frame["ward"]}
    )
    with pytest.warns(warner.errors.FrameWarning):
        tally = study.tally(table, by="ward")["questions"]
    assert tally.total().counts.tolist() == expected.total().counts.tolist()
    assert tally[("n",)].counts.tolist() == expected[("n",)].counts.tolist()
    text = count_statement(study.mechanisms, "t", "duckdb", by=study.public, study=study.digest)
    connection = duckdb.connect()
    connection.register("t", table)
    connection.sql(text).write_csv("counts.csv")
    counted = read_counts("counts.csv").tallies(study.mechanisms, study.public, study.digest)[
        "questions"
    ]
    assert counted[("s",)].counts.tolist() == expected[("s",)].counts.tolist()


def test_one_question_cannot_be_drawn_and_is_told_once() -> None:
    one = ONE[: ONE.index("[attributes.b]")]
    for each in ('"one"', '"pair"', "2"):
        with pytest.raises(StudyError) as refused:
            Study.parse(one.replace('"one"', each))
        assert str(refused.value).endswith(
            "needs two or more questions (attributes) to draw from. Leave out the table [ask]."
        )
        assert "blocks" not in str(refused.value)


def test_a_tally_of_drawn_questions_is_no_pilot(here: Path) -> None:
    survey = study_of('"pair"').draw
    assert survey is not None
    tally = survey.tally(survey.randomize(answers()))
    save_tallies({"questions": tally}, "t.json")
    assert 'write the line each = "all" into the table [ask]' in warn("plan", "t.json", code=1)


def test_a_report_that_its_block_does_not_have_is_refused_wherever_it_stands() -> None:
    study = study_of('"one"')
    table = pl.DataFrame({"questions_block": [0, 0, 2], "questions_report": [0, 3, 3]})
    with pytest.raises(warner.errors.ReportError, match="'a': must be from 0"):
        study.tally(table)


def test_the_schema_of_study_files_has_the_table() -> None:
    each = Study.schema()["$defs"]["AskSpec"]["properties"]["each"]
    assert each["enum"] == ["one", "pair", "all", 2] and "type" not in each
    assert json.loads(study_of('"one"').to_json())["study"]["ask"]["each"] == "one"
    assert Study.parse(study_of("2").to_json()) == study_of("2")


HIDDEN = """
[ask]
each = "one"
epsilon = 2.0
hide = true
[attributes.smokes]
values = ["no", "yes"]
[attributes.drinks]
values = ["never", "sometimes", "often"]
"""


def test_a_study_hides_the_question(tmp_path: Path) -> None:
    file, truth, reports, tally = (tmp_path / n for n in ("s.toml", "a.csv", "r.csv", "t.json"))
    runner = CliRunner()
    file.write_text(HIDDEN)
    truth.write_text("smokes,drinks\n" + "no,often\nyes,never\nno,never\n" * 100)
    survey = Study.parse(HIDDEN).mechanisms["questions"]
    assert isinstance(survey, HiddenQuestion) and survey.epsilon == 2.0
    runner.invoke(main, ["randomize", str(file), str(truth), "--output", str(reports)])
    runner.invoke(main, ["tally", str(reports), "--output", str(tally)])
    shown = runner.invoke(main, ["estimate", str(tally)]).output
    assert "smokes: 300 reports" in shown and "drinks: 300 reports" in shown
    both = runner.invoke(main, ["estimate", str(tally), "--joint", "smokes,drinks"])
    assert both.exit_code and "must name one question" in both.output
    pairs = HIDDEN.replace('"one"', '"pair"')
    with pytest.raises(StudyError, match='can be used only with each = "one"'):
        Study.parse(pairs)
    open_ended = HIDDEN.replace(
        'values = ["no", "yes"]', "interval = {low = 0, high = 1, bins = 2}"
    )
    open_ended = open_ended.replace("bins = 2}", 'bins = 2}\nmechanism = "SquareWave"')
    with pytest.raises(StudyError, match="RandomizedResponse or SubsetSelection"):
        Study.parse(open_ended)


def test_an_audit_calls_hidden_reports_what_they_are(here: Path) -> None:
    Path("hidden.toml").write_text(HIDDEN)
    shown = warn("audit", "hidden.toml")
    assert "  smokes, seen alone  RandomizedResponse  " in shown and "WithFakes" not in shown


def test_audit_and_check_say_what_is_drawn_and_what_it_spends(here: Path) -> None:
    names = [f"q{i}" for i in range(15)]
    tables = "".join(f'[attributes.{name}]\nvalues = ["no", "yes"]\n' for name in names)
    Path("many.toml").write_text('[ask]\neach = "one"\nepsilon = 2.0\n' + tables)
    text = warn("audit", "many.toml")
    assert "questions" in text and "  q9 " in text and "  q10" not in text
    assert "... and 5 like these" in text and "one of 15 questions" in text
    blocks = json.loads(warn("audit", "many.toml", "--json"))["questions"]["blocks"]
    assert list(blocks) == names and sum(
        block["asked"] for block in blocks.values()
    ) == pytest.approx(1)
    # Rejects an audit that leaves out what one forged report does where questions are drawn.
    alone = (math.exp(2) + 1) / (math.exp(2) - 1)
    assert [block["influence"] for block in blocks.values()] == pytest.approx([15 * alone] * 15)
    assert (
        f"can add at most {math.ceil(15 * alone)} people to the count of an answer to q0," in text
    )
    assert (
        "and no more than that to other questions. Whoever makes up a report can choose which"
        in text
    )
    assert f"{15 * alone:.4g} people" in warn("audit", "many.toml", "--wide")
    shown = warn("study", "check", "many.toml")
    assert "q14" in shown and "at most epsilon = 2 in all" in shown and "draft" not in shown
    pairs = warn("plan", "many.toml", "--people", "3000", "--json")
    assert list(json.loads(pairs)) == names
    Path("pairs.toml").write_text('[ask]\neach = "pair"\nepsilon = 2.0\n' + tables)
    shown = warn("plan", "pairs.toml", "--people", "10000")
    assert "and 95 more rows, each with at least 95 people" in shown and "blocks = [[" in shown


def test_plan_asks_one_question_from_three_on_and_says_why(here: Path) -> None:
    names = ["a", "b", "c"]
    tables = [f'[attributes.{name}]\nvalues = ["no", "yes"]\n' for name in names]
    Path("draft.toml").write_text("# A comment.\n" + "".join(tables))
    text = warn("plan", "draft.toml", "--people", "3000", "--write", "study.toml")
    assert "asked of about 1,000 people" in text and "Each person is asked one of 3" in text
    assert "the same precision would need about" in text and 'write each = "all"' in text
    study = Study.load("study.toml")
    assert study.draw is not None and "# A comment." in Path("study.toml").read_text()
    Path("all.toml").write_text('[ask]\neach = "all"\n' + "".join(tables))
    text = warn("plan", "all.toml", "--people", "3000", "--write", "every.toml")
    assert "A person who answers all questions" in text
    assert list(Study.load("every.toml").mechanisms) == names
    text = warn("plan", "every.toml")
    assert 'write a table [ask] with each = "one"' not in text
    Path("without.toml").write_text(
        Path("every.toml").read_text().replace("[ask]\n", "", 1).replace('each = "all"\n', "")
    )
    assert 'write a table [ask] with each = "one"' in warn("plan", "without.toml")
    Path("two.toml").write_text("".join(tables[:2]))
    assert "asked one of" not in warn("plan", "two.toml", "--people", "3000")


def test_plan_spends_the_budget_of_a_draft_on_the_one_question(here: Path) -> None:
    tables = [f'[attributes.{name}]\nvalues = ["no", "yes"]\n' for name in "abc"]
    Path("draft.toml").write_text("budget = 1.5\n" + "".join(tables))
    warn("plan", "draft.toml", "--people", "3000", "--write", "study.toml")
    study = Study.load("study.toml")
    assert [part.requested for part in study.draw.parts.values()] == [1.5] * 3  # type: ignore[union-attr]
    assert study.epsilon <= 1.5 and study.budget == 1.5


def test_the_ledger_notices_answers_to_one_question_and_what_was_spent(here: Path) -> None:
    Path("study.toml").write_text(ONE)
    answers().write_csv("a.csv")
    warn("randomize", "study.toml", "a.csv", "-o", "r.csv")
    again = warn("randomize", "study.toml", "a.csv", "-o", "s.csv", code=1)
    assert "epsilon = 2 was spent on them" in again
    table = '[attributes.b]\nvalues = ["x", "y", "z"]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    Path("study.toml").write_text(table)
    again = warn("randomize", "study.toml", "a.csv", "-o", "s.csv", code=1)
    assert "epsilon = 2 was spent" in again and "epsilon = 3 in all" in again


def test_the_report_for_readers_tells_of_each_question(here: Path) -> None:
    Path("study.toml").write_text(ONE)
    answers().write_csv("a.csv")
    warn("randomize", "study.toml", "a.csv", "-o", "r.csv")
    warn("report", "r.csv", "-o", "r.html")
    text = Path("r.html").read_text()
    assert "one of 3 questions, chosen by chance" in text and "a (2 values)" in text
    assert "RandomizedResponse" in text and "OneOf" not in text and "24 values" not in text


def test_plan_lists_fewer_blocks_where_pairs_have_few_people(here: Path) -> None:
    tables = "".join(f'[attributes.q{i}]\nvalues = ["no", "yes"]\n' for i in range(7))
    study = '[ask]\neach = "pair"\nepsilon = 2.0\n' + tables
    Path("study.toml").write_text(study)
    text = warn("plan", "study.toml", "--people", "2100")
    assert "Ask 4,243 people in all" in text or "fewer than 200 people" in text
    blocks = text[text.index("\nblocks = ") :]
    Path("cover.toml").write_text(study.replace('each = "pair"', " ".join(blocks.split())))
    cover = Study.load("cover.toml").draw
    assert cover is not None and len(cover.blocks) < 21


@pytest.mark.parametrize("each", ['"one"', '"pair"', "2"])
def test_a_regression_of_a_report_file_is_of_the_people_who_were_asked(
    each: str, here: Path
) -> None:
    Path("study.toml").write_text(ONE.replace('"one"', each) + PUBLIC)
    answers().write_csv("a.csv")
    warn("randomize", "study.toml", "a.csv", "-o", "r.csv", "--seed", "3")
    command = ("regress", "r.csv", "b ~ ward", "--json")
    shown = json.loads(CliRunner().invoke(main, list(command)).stdout)
    block = pl.read_csv("r.csv", comment_prefix="#")["questions_block"].to_numpy()
    # The questions are a, b and c; their pairs are a x b, a x c and b x c.
    assert shown["n"] == np.isin(block, [1] if each == '"one"' else [0, 2]).sum()


ITEMS = '[attributes.settings]\nitems = ["dark", "wrap", "tips"]\neach = "one"\nepsilon = 3.0\n'


def two_weeks(folder: Path, text: str, answers: dict[str, list[float]]) -> list[str]:
    """Tallies of two weeks, as arguments; answers {question: the share of its last answer}."""
    rng, study, files = np.random.default_rng(5), Study.parse(text), []
    name, mechanism = next(iter(study.mechanisms.items()))
    for week in (0, 1):
        columns = {}
        for question, domain in mechanism.domain.attributes.items():
            share = answers[question][week]
            columns[question] = rng.choice(domain.labels, 3000, p=[1 - share, share])
        path = folder / f"week{week + 1}.json"
        save_tallies(study.tally({name: mechanism.randomize(columns, rng)}), path)
        files.append(f"week{week + 1}={path}")
    return [*files, "--allow-simulated"]


def test_items_are_compared_in_one_table(tmp_path: Path) -> None:
    shares = {"dark": [0.2, 0.6], "wrap": [0.5, 0.5], "tips": [0.8, 0.8]}
    files = two_weeks(tmp_path, ITEMS, shares)
    said = warn("estimate", "--compare-groups", *files)
    assert "settings: the difference week2 minus week1, of simulated reports" in said
    rows = [line.split() for line in said.splitlines() if line.startswith(("dark", "wrap", "tips"))]
    assert [row[0] for row in rows] == ["dark", "wrap", "tips"] and "\nno " not in said
    assert rows[0][1].startswith("+") and "comparisons of all 3 items" in " ".join(said.split())
    warn("estimate", "--compare-groups", *files, "-o", str(tmp_path / "found.csv"))
    table = pl.read_csv(tmp_path / "found.csv", comment_prefix="#")
    assert table.height == 6
    p = table.filter(pl.col("value") == "yes").sort("p")
    # Holm's method over the items, and not within each of them.
    expected = [3 * p["p"][0], 2 * p["p"][1], max(2 * p["p"][1], p["p"][2])]
    assert p["p_holm"].to_list() == pytest.approx([min(1.0, each) for each in expected])
    warn("estimate", "--compare-groups", *files, "-o", str(tmp_path / "dark.tex"))
    first = (tmp_path / "dark.tex").read_text().splitlines()[0]
    # Rejects a title that begins with the question twice.
    assert "settings: dark: the difference week2 minus week1" in first and first.count("dark") == 1
    warn("estimate", "--compare-groups", *files, "--plot", str(tmp_path / "forest.json"))
    forest = (tmp_path / "forest.json").read_text()
    assert all(f'"{item}"' in forest for item in shares) and "week2 minus week1" in forest


TWO_QUESTIONS = (
    '[ask]\neach = "one"\nepsilon = 3.0\n[attributes.dark]\nvalues = ["no", "yes"]\n'
    '[attributes.wrap]\nvalues = ["no", "yes"]\n'
)


@pytest.mark.parametrize(
    ("text", "title", "noun"),
    [
        (ITEMS.replace(', "tips"', ""), "settings", "items"),
        (TWO_QUESTIONS, "questions", "questions"),
    ],
)
def test_within_corrects_the_questions_of_one_tally_together(
    text: str, title: str, noun: str, tmp_path: Path
) -> None:
    ((name, mechanism),) = Study.parse(text).mechanisms.items()
    rng, both, ios = np.random.default_rng(3), [], []
    for week, share in (("week1", 0.3), ("week2", 0.34)):
        answers = {
            question: rng.choice(["no", "yes"], 2000, p=[1 - share, share])
            for question in ("dark", "wrap")
        }
        reports = mechanism.randomize(answers, rng)
        tally = mechanism.tally(reports, {"platform": ["ios", "mac"] * 1000})
        for files, folder, counted in (
            (both, tmp_path / "both", tally),
            (ios, tmp_path / "ios", tally.only([("ios",)]).total()),
        ):
            folder.mkdir(exist_ok=True)
            save_tallies({name: counted}, folder / f"{week}.json")
            files.append(f"{week}={folder / week}.json")
    command = ("estimate", "--compare-groups", "--allow-simulated")
    within = (*command, *both, "--within", "platform")
    said = " ".join(warn(*within).split())
    warn(*within, "-o", str(tmp_path / "both.json"), "--plot", str(tmp_path / "forest.json"))
    forest = (tmp_path / "forest.json").read_text()
    for heading in (f"{title}, ios", f"{title}, mac"):
        assert f"{heading}: the difference week2 minus week1" in said and heading in forest
    assert said.count(f"comparisons of all 2 {noun}") == 2
    warn(*command, *ios, "-o", str(tmp_path / "ios.json"))
    of_ios = json.loads((tmp_path / "ios.json").read_text())
    found = json.loads((tmp_path / "both.json").read_text())
    expected = [each | {"platform": "ios"} for each in of_ios]
    assert [each for each in found if each["platform"] == "ios"] == expected
    assert any(row["p_holm"] > row["p"] for row in of_ios[0]["differences"])


def test_drawn_questions_with_two_answers_show_yes_or_the_last_answer(tmp_path: Path) -> None:
    text = (
        '[ask]\neach = "one"\nepsilon = 3.0\n[attributes.a]\nvalues = ["no", "yes"]\n'
        '[attributes.b]\nvalues = ["on", "off"]\n'
    )
    files = two_weeks(tmp_path, text, {"a": [0.2, 0.6], "b": [0.5, 0.5]})
    said = warn("estimate", "--compare-groups", *files)
    rows = [line for line in said.splitlines() if line.startswith(("a ", "b: off "))]
    assert len(rows) == 2 and "question " in said


def test_a_picture_has_a_row_for_each_item(tmp_path: Path) -> None:
    shares = {"dark": [0.2, 0.6], "wrap": [0.5, 0.5], "tips": [0.8, 0.8]}
    two_weeks(tmp_path, ITEMS, shares)
    path, picture = str(tmp_path / "week1.json"), tmp_path / "picture.json"
    warn("estimate", path, "--allow-simulated", "--plot", str(picture))
    drawn = json.loads(picture.read_text())
    assert len(drawn["vconcat"]) == 1
    assert "about each item" in drawn["vconcat"][0]["title"]["subtitle"][0]
    assert all(item in picture.read_text() for item in shares)
    warn("estimate", path, "--allow-simulated", "--plot", str(picture), "--top", "2")
    assert "the 2 largest of 3 items" in picture.read_text()
    lone = (
        '[attributes.lone]\nvalues = ["x", "y"]\nmechanism = "RandomizedResponse"\nepsilon = 9.0\n'
    )
    study, rng = (
        Study.parse(ITEMS + ITEMS.replace("settings", "others") + lone),
        np.random.default_rng(1),
    )
    ticked = [{"dark": "yes", "wrap": "no", "tips": "no"}] * 3000
    answers = {"settings": ticked, "others": ticked, "lone": ["x", "x", "y"] * 1000}
    reports = {n: m.randomize(answers[n], rng) for n, m in study.mechanisms.items()}
    save_tallies(study.tally(reports), path)
    warn("estimate", path, "--allow-simulated", "--plot", str(picture), "--with-reports")
    panels = json.loads(picture.read_text())["vconcat"]
    assert len(panels) == 3  # two questions with items, and one with the reports of its own
    assert picture.read_text().count("about each item") == 2


@pytest.mark.filterwarnings("default:Questions were not drawn")
def test_people_who_choose_their_question_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a client that asks most people one question, which nothing says of the estimates."""
    monkeypatch.chdir(tmp_path)
    draw = study_of('"one"').draw
    assert draw is not None
    reports = draw.randomize(answers().drop("ward"), np.random.default_rng(2))
    warner.results.plausibility(draw.tally(reports))  # an honest draw, of which pytest would tell
    block = reports.columns["block"]
    chosen = np.concatenate([np.flatnonzero(block == 1), np.flatnonzero(block != 1)[:430]])
    frame = reports.to_frame(attribute="questions").to_pandas().iloc[chosen]
    frame.to_csv("chosen.csv", index=False)
    Path("s.toml").write_text(ONE)
    said = f"{(block == 1).sum():,} of {len(chosen):,} reports are about 'b', but about "
    for command in (
        ("tally", "chosen.csv", "--study", "s.toml", "-o", "t.json"),
        ("estimate", "t.json"),
        ("estimate", "t.json", "--only", "c"),
    ):
        done = " ".join(CliRunner().invoke(main, command).output.split())
        assert done.count(said) == done.count("Questions were not drawn") == 1, done
    with pytest.warns(FrameWarning, match="not drawn as the study says"):
        estimate(load_tallies("t.json")["questions"], attributes=["a"])


@pytest.mark.parametrize(
    "counts, odds, most, is_noticed",
    [
        ((500, 500), (1, 1), 1, False),
        ((700, 300), (1, 1), 1, True),
        ((750, 250), (3, 1), 1, False),  # as the odds say
        ((579, 421), (1, 1), 1, False),  # 1.3 in a million, with the four tails of two blocks
        ((580, 420), (1, 1), 1, True),  # 0.9 in a million
        ((700, 300), (1, 1), 40, False),  # of 25 people, each of whom may have one question
        ((1300, 0), (99, 1), 1, False),  # a rare question that chance left out
        ((2000, 0), (99, 1), 1, True),
        ((2000, 0, 2000), (1, 1, 1), 1, True),
    ],
)
def test_a_draw_is_judged_by_its_odds_and_by_people(
    counts: tuple[int, ...], odds: tuple[int, ...], most: int, is_noticed: bool
) -> None:
    coin = warner.Categorical(["no", "yes"])
    names = "abc"[: len(counts)]
    survey = OneOf(
        warner.Product(**dict.fromkeys(names, coin)), 2.0, odds=dict(zip(names, odds, strict=True))
    )
    block = np.repeat(np.arange(len(counts)), counts)
    reports = survey.reports({"block": block, "report": np.arange(len(block)) % 2})
    tally = survey.tally(reports).per_person(most)
    assert bool(survey.uneven_draw(tally)) is is_noticed


def test_an_audit_as_a_table_has_all_epsilons_that_the_print_has(tmp_path: Path) -> None:
    """Rejects one epsilon of all questions alone, without those of each, and of all rounds."""
    study = tmp_path / "study.toml"
    coin = 'values = ["no", "yes"]\nmechanism = "RandomizedResponse"\n'
    study.write_text(
        f"[attributes.a]\nepsilon = 1.0\n{coin}[attributes.b]\nepsilon = 2.0\n{coin}"
        '[ask]\neach = "one"\n[repeat]\nrounds = 4\nforever = 4.0\n'
    )
    data = json.loads(warn("audit", str(study), "--json"))
    rows = pl.read_csv(warn("audit", str(study), "--csv").encode()).to_dicts()
    assert [(row["attribute"], row["block"]) for row in rows] == [
        ("questions", None),
        ("questions", "a"),
        ("questions", "b"),
        ("all.questions", None),
    ]
    assert [row["requested"] for row in rows] == [2, 1, 2, None]
    assert [row["epsilon"] for row in rows] == pytest.approx([2, 1, 2, 2])
    blocks = data["questions"]["blocks"]
    assert [blocks[name]["requested"] for name in "ab"] == [1, 2]
    printed = warn("audit", str(study), "--wide")
    assert blocks["a"]["guarantee"] == "1-LDP" and "1-LDP" in printed
    for row in (rows[0], rows[3]):
        of = data[row["attribute"]]
        more = of.get("repeat", of)
        for key in ("rounds", "epsilon_of_rounds", "epsilon_of_values"):
            assert row[key] == pytest.approx(more[key])
