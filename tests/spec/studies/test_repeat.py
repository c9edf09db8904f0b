"""Studies whose people report again and again: the table [repeat]."""

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from tests.refusals import refused
from warner import Categorical, Study, Tally, audit, compare_groups, estimate
from warner.app.cli import main
from warner.collector.access import invited_id
from warner.collector.remote import BulkUpload
from warner.collector.survey_document import survey_document
from warner.errors import ArgumentError, FileError, FrameWarning, MismatchError, StudyError
from warner.io import open_reports
from warner.mechanisms import OneOf, Permanent, RandomizedResponse
from warner.reports.tally import load_tallies

TEXT = """
budget = {budget}
[attributes.setting]
values = ["low", "middle", "high"]
mechanism = "{mechanism}"
epsilon = 0.5
[attributes.fine]
values = ["no", "yes"]
mechanism = "UnaryEncoding"
epsilon = 0.5
[repeat]
rounds = 52
forever = 2.0
values = 3
{more}
"""


def _study(
    budget: float = 10.0,
    mechanism: str = "RandomizedResponse",
    more: str = "",
    forever: float = 2.0,
) -> Study:
    text = TEXT.format(budget=budget, mechanism=mechanism, more=more)
    return Study.parse(text.replace("forever = 2.0", f"forever = {forever}"))


def test_too_little_for_all_rounds_is_one_problem_of_the_table_repeat() -> None:
    """Rejects the same error for each question, at its own line, in words of Python."""
    asked = '[ask]\neach = "one"\nepsilon = 2.0\n'
    attributes = "".join(f'[attributes.q{i}]\nvalues = ["a", "b"]\n' for i in range(4))
    text = f"{asked}{attributes}[repeat]\nrounds = 5\nforever = 2.0\n"
    said = refused(StudyError, "must be larger than the epsilon of one round", Study.parse, text)
    assert (
        "repeat.forever: must be larger than the epsilon of one round, which is 2.0; got 2.0"
        in said
    )
    assert said.count("must be larger") == 1 and "Permanent" not in said
    Study.parse(text.replace("forever = 2.0", "forever = 2.5"))
    # Too much for 64 bits is not a fault of the epsilon of one round.
    said = refused(
        StudyError, "64-bit random numbers allow at least", _study, 99.0, more="", forever=30.0
    )
    assert "repeat.forever, for attributes.setting: is too large" in said and "got 30.0" in said
    assert "Pass a smaller forever" in said and "epsilon: " not in said
    # Groups with epsilons of their own are each a study, which the common epsilon is not of.
    common = (
        '[attributes.a]\nvalues = ["a", "b"]\nmechanism = "RandomizedResponse"\nepsilon = 2.0\n'
    )
    groups = "".join(
        f'[[groups]]\nname = "{g}"\n[groups.attributes.a]\nepsilon = 1.0\n' for g in "xy"
    )
    Study.parse(f"{common}[repeat]\nrounds = 3\nforever = 1.5\n{groups}")


def test_every_attribute_has_a_permanent_report() -> None:
    study = _study()
    assert study.rounds == 52 and study.epsilon == pytest.approx(1.0)
    setting = study.mechanisms["setting"]
    assert isinstance(setting, Permanent) and (setting.forever, setting.values) == (2.0, 3)
    device = setting.device()
    assert study.mechanisms["setting"].tally(device.report("high")).n == 1


def test_what_a_person_spends_is_said_of_all_rounds(tmp_path: Path) -> None:
    # Rejects "at most epsilon = 1 in all", which is of one round of 52.
    study, path = _study(), tmp_path / "study.toml"
    path.write_text(TEXT.format(budget=10.0, mechanism="RandomizedResponse", more=""))
    assert study.epsilon < study.epsilon_of_rounds <= 4.0
    said = f"= 1 in each round, and {study.epsilon_of_rounds:.6g} in all 52 rounds"
    assert said in study._repr_html_()
    assert said in CliRunner().invoke(main, ["study", "check", str(path)]).output


def test_the_budget_is_of_all_rounds_and_values() -> None:
    # Three values of one attribute, two of the other: 5 times 2.0.
    refused(StudyError, "the person spends epsilon 10 in all rounds together", _study, 9.9)
    # The ways out are named with the numbers that make them fit.
    said = refused(StudyError, r"forever = 1\.98 in \[repeat\]", _study, 9.9)
    assert "only one of the 2 questions, which it draws once and for good" in said
    assert 'write [ask] with each = "one"; the key "forever" can then stay as it is' in said
    drawn = TEXT.format(budget=6.0, mechanism="RandomizedResponse", more='[ask]\neach = "one"')
    assert Study.parse(drawn).budget == 6.0
    said = refused(StudyError, r"forever = 1\.9666 in", Study.parse, drawn.replace("6.0", "5.9"))
    assert "write [ask]" not in said
    text = TEXT.format(budget=9.9, mechanism="RandomizedResponse", more="")
    assert Study.parse(text.replace("forever = 2.0", "forever = 1.98")).budget == 9.9


def test_a_budget_of_one_round_names_the_ways_to_keep_it() -> None:
    once, _ = TEXT.format(budget=0.7, mechanism="RandomizedResponse", more="").split("[repeat]")
    said = refused(StudyError, "epsilon = 0.35 for each of the 2 questions", Study.parse, once)
    assert '[ask] with each = "one" and epsilon = 0.7' in said
    assert Study.parse(once.replace("epsilon = 0.5", "epsilon = 0.35")).epsilon <= 0.7


def test_what_does_not_go_with_it() -> None:
    rows = TEXT.replace("budget = {budget}", "rows_per_person = 2")
    text = rows.format(mechanism="RandomizedResponse", more="")
    refused(StudyError, "rows_per_person: cannot be used with", Study.parse, text)
    several = TEXT.format(budget=10.0, mechanism="RandomizedResponse", more="")
    several = several.replace(
        "epsilon = 0.5\n[attributes.fine]", "epsilon = 3.0\n[attributes.fine]"
    )
    refused(
        StudyError, "forever: must be larger than the epsilon of one round", Study.parse, several
    )
    for ask in ('each = "pair"', "each = 2", 'each = "one"\nhide = true'):
        drawn = several.replace("epsilon = 3.0", "epsilon = 0.5") + f"[ask]\nepsilon = 0.5\n{ask}\n"
        said = refused(StudyError, "ask: can be used with", Study.parse, drawn)
        assert "only if each device draws one question for all rounds" in said
        remedy = 'leave out the key "hide".' if "hide" in ask else 'write each = "one".'
        assert f"In [ask], {remedy}" in said
    subsets = _study(mechanism="SubsetSelection").mechanisms["setting"]
    refused(
        ArgumentError,
        "all its rounds use one permanent report",
        audit,
        subsets,
        shuffled=1000,
        rounds=2,
    )
    said = refused(StudyError, "round: must say which round is served", survey_document, _study())
    assert said.endswith("Write its number into [repeat]: for the first round, round = 1.")
    last = several.replace("epsilon = 3.0", "epsilon = 0.5").replace(
        "[repeat]", "[repeat]\nround = 53"
    )
    refused(StudyError, "repeat.round: must be from 1 to 52", Study.parse, last)


def _drawn(number: int = 1) -> Study:
    return _study(budget=6.0, more=f'round = {number}\n[ask]\neach = "one"\n')


def test_a_question_that_is_drawn_for_good_spends_what_its_own_rounds_do() -> None:
    """Rejects the sum over questions of which a device reports on one, and a draw in each round."""
    study = _drawn()
    draw = study.draw
    assert isinstance(draw, OneOf) and [len(one) for one in study.permanent] == [1, 1]
    setting, fine = draw.permanent["setting"], draw.permanent["fine"]
    assert study.epsilon <= 0.5 and study.epsilon_of_rounds == setting.of_rounds(52).epsilon
    assert draw.of_reports(52).epsilon == setting.of_values().epsilon > fine.of_values().epsilon
    repeat = survey_document(study)["repeat"]
    assert repeat["values"] == 3 and repeat["epsilon"] == pytest.approx(6.0)
    assert repeat["draw"] == survey_document(_drawn(2))["repeat"]["draw"] == study.draw_digest
    assert study.digest != _drawn(2).digest
    refused(
        ArgumentError,
        "all its rounds use one permanent report",
        audit,
        draw,
        shuffled=1000,
        rounds=2,
    )
    answers = [{"setting": "high", "fine": "no"}]
    refused(
        ArgumentError,
        "which keeps the question that was drawn for the person",
        draw.randomize,
        answers,
    )
    tally = draw.tally(draw.randomize(answers * 9, np.random.default_rng(1)))
    refused(ArgumentError, "a person's rounds share the noise", tally.per_person, 2)
    mixed = {"setting": setting, "fine": RandomizedResponse(fine.domain, 0.5)}
    refused(
        ArgumentError,
        "can be Permanent only if all of them are",
        OneOf,
        draw.domain,
        mechanisms=mixed,
    )


def test_the_rounds_of_drawn_questions_are_estimated_from_those_who_drew_them() -> None:
    """Rejects shares of all people, whatever they were asked, and rounds that are added up."""
    rng, tallies = np.random.default_rng(5), {}
    for number, share in ((1, 0.2), (2, 0.7)):
        draw = _drawn(number).together
        people = [
            {"setting": "high" if x < share else "low", "fine": "no"} for x in rng.random(40_000)
        ]
        tallies[number] = draw.tally(draw.randomize(people, rng)).of_round(number)
        estimated = estimate(tallies[number], attributes=["setting"])
        assert 15_000 < estimated.n < 25_000
        low, high = estimated.interval(0.999)[2]
        assert low < share < high and high - low < 0.2
    refused(MismatchError, "come from the same people", lambda: tallies[1] + tallies[2])


def test_the_ids_and_codes_of_a_round_are_not_those_of_another() -> None:
    """Rejects a survey in which a code of round 1 is spent in round 2, or counts are of both."""
    first, second = (_study(more=f"round = {n}") for n in (1, 2))
    assert first.round == 1 and first.digest != second.digest != _study().digest
    code = "ABCD-EFGH-JKMN-PQRS"
    assert invited_id(first.digest, code) != invited_id(second.digest, code)
    repeat = survey_document(first)["repeat"]
    assert repeat == {"round": 1, "rounds": 52, "values": 3, "epsilon": pytest.approx(10.0)}
    assert repeat["epsilon"] >= 10.0


def test_commands_say_three_numbers_and_randomise_nothing(tmp_path: Path) -> None:
    file, answers = tmp_path / "study.toml", tmp_path / "answers.csv"
    file.write_text(TEXT.format(budget=10.0, mechanism="RandomizedResponse", more=""))
    said = CliRunner().invoke(main, ["audit", str(file)])
    assert said.exit_code == 0, said.output
    line = " ".join(said.output.split())
    assert "can be at most 62.3 % sure of one of the two. If the answer stays" in line
    assert "this limit is 88.1 % after any number of" in line
    assert "reports on up to 3 different answers (values in [repeat]), and a person spends" in line
    assert "spends up to epsilon 6 on each question." in line
    assert (
        "a person spends at most epsilon 10 on all questions together. Reports protect what the answers"
        in line
    )
    single = TEXT.replace("values = 3\n", "")
    file.write_text(single.format(budget=10.0, mechanism="RandomizedResponse", more=""))
    line = " ".join(CliRunner().invoke(main, ["audit", str(file)]).output.split())
    assert (
        "if the answer changes, the device sends nothing more. To let devices report on a second"
        in line
    )
    assert "spends up to epsilon 4 in place of 2 on each question" in line
    # A device that reports on one answer only spends nothing on another.
    assert (
        "In any number of rounds, a person spends at most epsilon 4 on all questions together."
        in line
    )
    assert "sends nothing more, which shows the change." in line
    assert "If the answers change" not in line and "changed in the same rounds" not in line
    file.write_text(TEXT.format(budget=10.0, mechanism="RandomizedResponse", more=""))
    assert "reports do not hide whether an answer changed, when it changed, and whether" in line
    read = json.loads(CliRunner().invoke(main, ["audit", str(file), "--json"]).output)
    repeat = read["setting"]["repeat"]
    assert repeat["rounds"] == 52 and repeat["epsilon_of_rounds"] <= repeat["epsilon_forever"] <= 2
    answers.write_text("setting,fine\nlow,no\n")
    command = ["randomize", str(file), str(answers), "-o", str(tmp_path / "out.parquet")]
    done = CliRunner().invoke(main, command)
    assert done.exit_code != 0 and "the device of each person must make" in done.output
    # Rejects device() of each question, which spends on all of them where [ask] draws one.
    assert "call warner.Device(study, url, folder)" in done.output
    assert not (tmp_path / "out.parquet").exists()


def test_a_rehearsal_says_what_people_spend_in_all_rounds(tmp_path: Path) -> None:
    """Rejects "at most epsilon = 1 in all" of 52 rounds, in which a person can spend 10."""
    study, answers = tmp_path / "study.toml", tmp_path / "answers.csv"
    study.write_text(TEXT.format(budget=10.0, mechanism="RandomizedResponse", more=""))
    answers.write_text("setting,fine\nlow,no\n")
    command = ["randomize", str(study), str(answers), "--seed", "1"]
    done = CliRunner().invoke(main, [*command, "-o", str(tmp_path / "out.parquet")])
    assert done.exit_code == 0 and f"1 person. {_study().spending}" in done.output, done.output
    assert "at most epsilon 10 " in done.output and "1 in all" not in done.output


def test_the_audit_says_which_questions_a_changed_study_asks_anew(tmp_path: Path) -> None:
    """Rejects one more value whose permanent reports spend again in silence, for every person."""
    before, more, ask = (tmp_path / name for name in ("before.toml", "more.toml", "ask.toml"))
    text = TEXT.format(budget=10, mechanism="RandomizedResponse", more="round = 2")
    before.write_text(text)
    more.write_text(text.replace('"high"]', '"high", "top"]'))

    def said(*command: Any, ok: bool = True) -> str:
        done = CliRunner().invoke(main, [*map(str, command)])
        assert (done.exit_code == 0) is ok, done.output
        return " ".join(done.output.split())

    audited = said("audit", more, "--after", before)
    assert "each device draws a new permanent report on setting. People" in audited
    assert "spend once more, in epsilon: setting 2." in audited
    data = json.loads(said("audit", more, "--after", before, "--json"))
    assert [data[name]["repeat"]["drawn_again"] for name in ("setting", "fine")] == [True, False]
    assert "no question spends anew" in said("audit", before, "--after", before)
    # A device that draws its question draws again, whatever changed.
    asked = text.replace("budget = 10\n", '[ask]\neach = "one"\nepsilon = 0.5\n')
    asked = asked.replace('mechanism = "RandomizedResponse"\nepsilon = 0.5\n', "")
    asked = asked.replace('mechanism = "UnaryEncoding"\nepsilon = 0.5\n', "")
    ask.write_text(asked)
    before.write_text(asked.replace('"high"]', '"high", "top"]'))
    assert "a new permanent report on setting, fine." in said("audit", ask, "--after", before)
    ask.write_text(text.partition("[repeat]")[0])
    assert "--after: needs two studies in rounds" in said("audit", ask, "--after", more, ok=False)


def test_rounds_of_the_same_people_are_never_one_pool(tmp_path: Path) -> None:
    """Rejects a sum of two rounds that counts each person twice, also through files and commands."""
    paths = []
    for number in (1, 2):
        study = _study(more=f"round = {number}")
        phones = [study.mechanisms["setting"].device() for _ in range(40)]  # type: ignore[attr-defined]
        reports = [phone.report("high") for phone in phones]
        tally = sum(study.tally({"setting": each})["setting"] for each in reports)
        assert tally.n == 40 and tally.round == number  # people of one round add
        tally.save(tmp_path / f"{number}.json")
        paths.append(str(tmp_path / f"{number}.json"))
    first, second = map(Tally.load, paths)
    assert first.round == 1 and first != second
    for pool in (
        lambda: first + second,
        lambda: estimate([first, second]),
        lambda: estimate({1: first, 2: second}, total=True),
    ):
        refused(MismatchError, "come from the same people, in rounds 1 and 2", pool)
    assert [n.item() for n in estimate({1: first, 2: second}).sizes] == [40, 40]
    by_file = ("estimate", *(f"{i}={path}" for i, path in enumerate(paths, 1)), "--by", "file")
    done = CliRunner().invoke(main, [*by_file, "--total"])
    assert done.exit_code == 1 and "come from the same people" in " ".join(done.output.split())
    compared = [*by_file, "--compare-groups"]
    said = " ".join(CliRunner().invoke(main, compared).output.split())
    assert "The files are of several rounds, which the same people answered." in said
    same = CliRunner().invoke(main, [*compared, "--same-people"]).output
    assert "of several rounds" not in " ".join(same.split())
    for command in ("merge", "estimate"):
        more = ["-o", str(tmp_path / "all.json")] if command == "merge" else []
        done = CliRunner().invoke(main, [command, *paths, *more])
        assert done.exit_code == 1 and "come from the same people" in " ".join(done.output.split())
    rounds = compare_groups({"spring": first, "autumn": second}, same_people=True)
    assert "low_if_kept" in rounds.rows()[0]
    # Rejects intervals that hold 0 in 73 % of surveys in which nobody changed: with another
    # forever, devices have drawn new permanent reports.
    another = _study(more="round = 3", forever=1.5)
    phones = [another.mechanisms["setting"].device() for _ in range(40)]  # type: ignore[attr-defined]
    third = sum(another.tally({"setting": phone.report("high")})["setting"] for phone in phones)
    redrawn = {"autumn": second, "winter": third}
    words = "permanent reports were drawn in different ways"
    refused(ArgumentError, words, compare_groups, redrawn, same_people=True)
    assert "low_if_kept" not in compare_groups(redrawn).rows()[0]
    first.save(tmp_path / "again.json")
    text = (tmp_path / "again.json").read_text().replace('"round": 1', '"round": 2')
    (tmp_path / "again.json").write_text(text)
    refused(FileError, "was changed", Tally.load, tmp_path / "again.json")


def test_files_of_rounds_stand_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects week10 before week2, and a path over names of files that blames a public column."""
    monkeypatch.chdir(tmp_path)
    setting = _study().mechanisms["setting"]
    files = [f"week{number}.json" for number in (1, 10, 2)]  # as a shell lists them
    for number in (1, 10, 2):
        reports = setting.randomize(["low", "high"] * 40, np.random.default_rng(number))
        setting.tally(reports).of_round(number).save(f"week{number}.json")

    def groups(*more: str) -> list[str]:
        done = CliRunner().invoke(main, ["estimate", *files, "--by", "file", "--csv", *more])
        assert done.exit_code == 0, done.output
        lines = done.stdout.splitlines()
        column = lines[0].split(",").index("group")
        return list(dict.fromkeys(line.split(",")[column] for line in lines[1:]))

    assert groups() == ["week1", "week2", "week10"]
    setting.tally(setting.randomize(["low"] * 50, np.random.default_rng(3))).save("week10.json")
    assert groups() == ["week1", "week10", "week2"]  # of which one has no round
    command = ["estimate", *files, "--by", "file", "--pool", "path"]
    said = " ".join(CliRunner().invoke(main, command).output.split())
    assert "--pool path: needs names of files that are numbers or dates; got week1." in said
    assert "Write the time before each file: 1=week1.json 2=week2.json." in said


@pytest.mark.parametrize("asks_one", [False, True])
def test_files_counted_with_the_study_of_a_round_are_of_that_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asks_one: bool
) -> None:
    """Rejects tallies of files that lose the round of the study: two weeks then add up to one."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)

    def run(*command: str, ok: bool = True) -> str:
        done = CliRunner().invoke(main, [*command])
        assert (done.exit_code == 0) is ok, done.output
        return " ".join(done.output.split())

    for number, share in ((1, 0.3), (2, 0.4), (3, 0.5)):
        week = 1 if number == 3 else number  # the third file has other people of week 1
        more = f"round = {week}\n" + asks_one * '[ask]\neach = "one"\n'
        text = TEXT.format(budget=10.0, mechanism="RandomizedResponse", more=more)
        Path(f"week{week}.toml").write_text(text)
        study = Study.parse(text)
        drawn = rng.random(3000) < share
        answers = {
            "setting": np.where(drawn, "high", "low"),
            "fine": np.where(drawn, "yes", "no"),
        }
        if study.draw is not None:
            frame = study.draw.randomize(answers, rng).to_frame(attribute="questions")
        else:
            frames = [
                m.randomize(answers[name], rng).to_frame(attribute=name)
                for name, m in study.mechanisms.items()
            ]
            frame = frames[0]
            for each in frames[1:]:
                for column in each.column_names:
                    frame = frame.append_column(column, each[column])
        pq.write_table(frame.replace_schema_metadata(None), f"{number}.parquet")
        run("tally", f"{number}.parquet", "--study", f"week{week}.toml", "-o", f"{number}.json")
        assert {tally.round for tally in load_tallies(f"{number}.json").values()} == {week}
        # The same, counted by a database.
        statement = run("sql", f"week{week}.toml", "--dialect", "duckdb", "--table", "frame")
        duckdb.sql(statement.rstrip("; ")).write_csv(f"{number}.csv", header=True)
        counted = ("tally", "--counts", f"{number}.csv", "--study", f"week{week}.toml")
        run(*counted, "-o", f"sql{number}.json")
        assert {tally.round for tally in load_tallies(f"sql{number}.json").values()} == {week}
    assert "6,000 reports" in run("merge", "1.json", "3.json", "-o", "both.json")
    assert {tally.round for tally in load_tallies("both.json").values()} == {1}
    for command in (
        ("merge", "1.json", "2.json", "-o", "all.json"),
        ("estimate", "1.json", "2.json"),
        ("merge", "sql1.json", "sql2.json", "-o", "all.json"),
    ):
        assert "come from the same people, in rounds 1 and 2" in run(*command, ok=False)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_report_files_say_their_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """Rejects report files of two rounds in one tally, and those of round 2 taken for round 1."""
    monkeypatch.chdir(tmp_path)

    def said_by(*command: str, ok: bool = True) -> str:
        done = CliRunner().invoke(main, [*command])
        assert (done.exit_code == 0) is ok, done.output
        return " ".join(done.output.split())

    Path("answers.csv").write_text("setting,fine\n" + "low,no\nhigh,yes\nlow,yes\n" * 60)
    for number in (1, 2):
        text = TEXT.format(budget=10.0, mechanism="RandomizedResponse", more=f"round = {number}")
        Path(f"{number}.toml").write_text(text)
        for seed in (1, 2):
            out = f"{number}{seed}.{ending}"
            more = ("--seed", str(10 * number + seed), "-o", out)
            said_by("randomize", f"{number}.toml", "answers.csv", *more)
            assert open_reports(out).round == number
    to, study = ("-o", "t.json"), ("--study", "1.toml")
    for stated in ((), study):
        said = said_by("tally", f"11.{ending}", f"12.{ending}", *to, *stated)
        assert "360 reports" in said and "which round" not in said
        assert {tally.round for tally in load_tallies("t.json").values()} == {1}
    two = ("tally", f"11.{ending}", f"21.{ending}", *to)
    assert "come from the same people, in rounds 1 and 2" in said_by(*two, ok=False)
    said = said_by("tally", f"21.{ending}", *to, *study, ok=False)
    assert f"21.{ending}: must be of round 1, as the study is; got round 2" in said
    # A collector of the same round takes the file, as its study has the same digest.
    digests = [Study.load(f"{number}.toml").layout for number in (1, 2)]
    layouts = [BulkUpload(open_reports(f"{n}1.{ending}"), True)._form.layout for n in (1, 2)]
    assert layouts == digests


@pytest.mark.filterwarnings("default:Permanent reports were added")
def test_permanent_reports_of_unknown_rounds_are_added_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects two weeks of the same devices that add up silently because no study says a round."""
    monkeypatch.chdir(tmp_path)
    weekly = Permanent(RandomizedResponse(Categorical(["no", "yes"]), 1.0), 2.0)
    text = (
        '[attributes.on]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\n'
        "epsilon = 1.0\n[repeat]\nrounds = 52\nforever = 2.0\n"
    )
    Path("none.toml").write_text(text)
    Path("one.toml").write_text(f"{text}round = 1\n")
    weeks = []
    for name, yes in (("a", 50), ("b", 60)):
        reports = weekly.randomize(["yes"] * yes + ["no"] * 70, np.random.default_rng(yes))
        pq.write_table(reports.to_frame(attribute="on"), f"{name}.parquet")
        weeks.append(weekly.tally(reports))
        weeks[-1].save(f"{name}.json")
    first, second = weeks
    for added in (lambda: first + second, lambda: estimate([first, second])):
        with pytest.warns(FrameWarning, match="the same people are counted twice"):
            added()
    with pytest.warns(FrameWarning, match="but they may be of several rounds"):
        first.of_round(1) + second
    assert (first.of_round(1) + second.of_round(1)).round == 1  # other people of one round

    def said_by(*command: str) -> str:
        done = CliRunner().invoke(main, [*command])
        assert done.exit_code == 0, done.output
        return " ".join(done.stderr.split())

    for command in (
        ("merge", "a.json", "b.json", "-o", "m.json"),
        ("estimate", "a.json", "b.json"),
        ("estimate", "m.json"),  # the file of the sum says it again
    ):
        said = said_by(*command)
        assert said.count("WARNING: Permanent reports were added as if all came") == 1, said
        assert ".py" not in said
    assert "WARNING" not in said_by("estimate", "a.json", "b.json", "--by", "file")
    # Weeks that stand side by side are not added, also where each has platforms.
    for number in (1, 2):
        answers, rng = ["yes", "no"] * 100, np.random.default_rng(number)
        of_week = weekly.tally(weekly.randomize(answers, rng), {"at": ["mac", "tv"] * 100})
        of_week.of_round(number).save(f"g{number}.json")
    compared = ("estimate", "1=g1.json", "2=g2.json", "--compare-groups", "--within", "at")
    assert "WARNING" not in said_by(*compared)
    files = ("tally", "a.parquet", "b.parquet", "-o", "t.json", "--study")
    said = said_by(*files, "none.toml")
    assert "a.parquet and b.parquet: the reports do not say which round they are from" in said
    assert "They are counted as round 1, as the study says." in said_by(*files, "one.toml")
    assert "which round" not in said_by("tally", "a.parquet", "-o", "t.json", "--study", "one.toml")
    # So does a sum of files of other programs, and of counts, until somebody says the round.
    command = ("sql", "none.toml", "--dialect", "duckdb", "--table", "frame")
    statement = CliRunner().invoke(main, command).stdout.rstrip("; \n")
    for name in ("a", "b"):
        duckdb.sql(statement.replace('"frame"', f"'{name}.parquet'")).write_csv(f"{name}.csv")
    files = ("tally", "a.parquet", "b.parquet", "-o", "t.json", "--study", "none.toml")
    counts = ("tally", "--counts", "a.csv", "b.csv", "-o", "t.json", "--study", "none.toml")
    for counted in (files, counts):
        assert "the same people are counted twice" in said_by(*counted)
        assert Tally.from_json(load_tallies("t.json")["on"].to_json()).may_mix_rounds
        assert "Permanent reports were added" in said_by("estimate", "t.json")
        assert "two rounds" not in said_by(*counted, "--round", "3")
        assert load_tallies("t.json")["on"].round == 3
        assert "WARNING" not in said_by("estimate", "t.json")


@pytest.mark.filterwarnings("ignore:Permanent reports were added")
def test_a_mark_of_mixed_rounds_stays_with_what_is_made_of_a_tally() -> None:
    """Rejects groups, totals and sums of a tally that forget that rounds may be added in it."""
    weekly = Permanent(RandomizedResponse(Categorical(["no", "yes"]), 1.0), 2.0)
    drawn = [weekly.randomize(["yes"] * n + ["no"] * 70, np.random.default_rng(n)) for n in (1, 2)]
    first, second = (
        weekly.tally(reports, {"at": ["mac", "tv"] * 35 + ["tv"] * (len(reports) - 70)})
        for reports in drawn
    )
    with pytest.warns(FrameWarning, match="say which: tally.of_round"):
        both = first + second
    third = weekly.tally(drawn[0], {"at": ["box"] * len(drawn[0])})
    made = [both, both["mac",], both.total(), both.by("at"), both + third, third + both]
    made.append(Tally.from_tallies("week", [both["mac",], first["tv",]]))
    assert all(tally.may_mix_rounds for tally in made)
    assert not first.may_mix_rounds and not (first + third).may_mix_rounds
    assert both != both.of_round(1) and not both.of_round(1).may_mix_rounds


@pytest.mark.filterwarnings("default:Permanent reports were added")
def test_a_total_over_rounds_is_a_sum_of_the_same_people() -> None:
    """Rejects two weeks of the same devices that become one by total() or by()."""
    weekly = Permanent(RandomizedResponse(Categorical(["no", "yes"]), 1.0), 2.0)
    reports = weekly.randomize(["yes"] * 70 + ["no"] * 70, np.random.default_rng(1))
    apart = {"round": [1, 2] * 70, "at": ["mac"] * 70 + ["tv"] * 70}
    tally = weekly.tally(reports, apart)
    assert not tally.may_mix_rounds and not tally.by("round").may_mix_rounds
    # Shards of the same rounds are people side by side, as where of_round says the round.
    shards = tally + weekly.tally(reports[:70], {name: at[:70] for name, at in apart.items()})
    assert not shards.may_mix_rounds and shards.total().may_mix_rounds
    for made in (tally.total(), tally.by("at")):
        assert made.may_mix_rounds
        with pytest.warns(FrameWarning, match="the same people are counted twice"):
            estimate(made)
    # One round, or rounds of different people, are not.
    week = weekly.tally(reports, apart | {"round": [1] * 140})
    assert not week.total().may_mix_rounds
    assert not weekly.tally(reports, apart | {"at": [1, 2] * 70}).by("at").may_mix_rounds
    once = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    other = once.tally(once.randomize(["yes"] * 140, np.random.default_rng(1)), apart)
    assert not other.total().may_mix_rounds


@pytest.mark.filterwarnings("default:Permanent reports were added")
def test_a_table_in_a_database_is_counted_by_its_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a statement that counts two weeks of the same devices as one, without a word."""
    monkeypatch.chdir(tmp_path)
    for name, more in (("study", ""), ("second", "round = 2")):
        text = TEXT.format(budget=10.0, mechanism="RandomizedResponse", more=more)
        Path(f"{name}.toml").write_text(text)
    frames = []
    for number in (1, 2):
        answers, rng = ["low"] * 50 + ["high"] * 50, np.random.default_rng(number)
        drawn = {"setting": answers, "fine": ["yes"] * 100}
        of_week = [
            m.randomize(drawn[name], rng).to_frame(attribute=name).to_pandas()
            for name, m in _study().mechanisms.items()
        ]
        frames.append(of_week[0].join(of_week[1]).assign(round=number))
    pd.concat(frames, ignore_index=True).to_parquet("r.parquet")

    def said_by(*command: str, ok: bool = True) -> str:
        done = CliRunner().invoke(main, [*command])
        assert (done.exit_code == 0) is ok, done.output
        return " ".join(done.stderr.split())

    def counted(*options: str, study: str = "study.toml") -> None:
        command = ["sql", study, "--dialect", "duckdb", "--table", "r.parquet", *options]
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
        duckdb.sql(done.stdout.rstrip("; \n")).write_csv("c.csv")

    to = ("tally", "--counts", "c.csv", "-o", "t.json", "--study")
    counted()
    said = said_by(*to, "study.toml")
    assert (
        "whether all rows are of one round (warner sql --round N counts only the rows of round"
        in said
    )
    assert "the same people are counted twice" in said
    assert "the same people are counted twice" in said_by("estimate", "t.json")
    counted(study="second.toml")
    assert "whether all rows are of one round" in said_by(*to, "second.toml")
    for study in ("study.toml", "second.toml"):
        counted("--round", "2", study=study)
        said = said_by(*to, study)
        assert "one round" not in said and "counted twice" not in said
        assert {(t.n, t.round, t.may_mix_rounds) for t in load_tallies("t.json").values()} == {
            (100, 2, False)
        }
    counted("--round", "1", study="second.toml")
    said = said_by(*to, "second.toml", ok=False)
    assert "must be of round 2, as the study is; got round 1" in said
    more = ("--dialect", "duckdb", "--table", "r", "--round", "53")
    assert "--round: must be from 1 to 52" in said_by("sql", "study.toml", *more, ok=False)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_says_its_round_in_a_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """Rejects a table with two weeks of the same devices that is counted as one of more people."""
    monkeypatch.chdir(tmp_path)
    study = _study()
    Path("study.toml").write_text(TEXT.format(budget=10.0, mechanism="RandomizedResponse", more=""))
    Path("two.toml").write_text(
        TEXT.format(budget=10.0, mechanism="RandomizedResponse", more="round = 2")
    )
    tables = {}
    for number in (1, 2):
        rng = np.random.default_rng(number)
        frames = [
            m.randomize(list(m.domain.labels[:2]) * 50, rng).to_frame(attribute=name).to_pandas()
            for name, m in study.mechanisms.items()
        ]
        frame = frames[0].join(frames[1])
        frame["round"] = number
        tables[str(number)] = frame
    tables["both"] = pd.concat(tables.values(), ignore_index=True)
    for name, frame in tables.items():
        if ending == "csv":
            frame.to_csv(f"{name}.csv", index=False)
        else:
            frame.to_parquet(f"{name}.parquet", index=False)

    def run(*command: str, ok: bool = True) -> str:
        done = CliRunner().invoke(main, [*command])
        assert (done.exit_code == 0) is ok, done.output
        return " ".join(done.output.split())

    to = ("--study", "study.toml", "-o", "t.json")
    for number in (1, 2):
        assert "which round" not in run("tally", f"{number}.{ending}", *to)
        counted = load_tallies("t.json")
        assert {(tally.round, tally.n, tally.names) for tally in counted.values()} == {
            (number, 100, ())
        }
        assert study.tally(tables[str(number)]) == counted
    two = "has several rounds of the same people in its column round"
    assert two in run("tally", f"both.{ending}", *to, ok=False)
    assert two in refused(MismatchError, "rounds 1 and 2", study.tally, tables["both"])
    assert "in rounds 1 and 2" in run("tally", f"1.{ending}", f"2.{ending}", *to, ok=False)
    said = run("tally", f"1.{ending}", "--study", "two.toml", "-o", "t.json", ok=False)
    assert f"1.{ending}: must be of round 2, as the study is; got round 1" in said
    said = run("tally", f"1.{ending}", *to, "--round", "2", ok=False)
    assert "must be of round 2, as --round says; got round 1. Leave out --round." in said
    assert "--round: must be from 1 to 52" in run(
        "tally", f"1.{ending}", *to, "--round", "53", ok=False
    )


def test_the_total_of_all_rounds_stands_wherever_a_study_is_shown(tmp_path: Path) -> None:
    """Rejects the epsilon of one round where people ask for all of them."""
    study, path = _study(), tmp_path / "s.toml"
    path.write_text(TEXT.format(budget=10.0, mechanism="RandomizedResponse", more=""))
    whole = f"{study.epsilon_of_rounds:.6g} in all 52 rounds"
    assert f"{study.epsilon_of_rounds:.4g} in all 52" in repr(study) and whole in study.spending
    for command in ("audit", "plan"):
        done = CliRunner().invoke(main, [command, str(path)])
        assert done.exit_code == 0 and whole in done.output, done.output


def test_an_audit_adds_up_what_people_spend_on_all_questions_whose_answers_change(
    tmp_path: Path,
) -> None:
    """Rejects the epsilon of one question as what a person spends, and silence on no protection."""
    path = tmp_path / "study.toml"
    question = '[attributes.s{}]\nvalues = ["off", "on"]\nmechanism = "RandomizedResponse"\n'
    questions = "".join(f"{question.format(n)}epsilon = 1.0\n" for n in range(32))
    path.write_text(f"{questions}[repeat]\nrounds = 52\nforever = 2.0\nvalues = 2\n")
    said = " ".join(CliRunner().invoke(main, ["audit", str(path)]).output.split())
    condition = "Reports protect what the answers were, but do not"
    assert (
        f"a person spends at most epsilon 128 on all questions together. {condition} hide when"
        in said
    )
    assert "hardly any protection" in said
    # The check says the same worst case, and so do both as JSON.
    check = " ".join(CliRunner().invoke(main, ["study", "check", str(path)]).output.split())
    assert (
        f"a person spends at most epsilon 128 on all questions together. {condition} hide when"
        in check
    )
    spent = {"epsilon": 32, "delta": 0, "rounds": 52, "epsilon_of_values": 128}
    for command, key in ((["audit"], "all.questions"), (["study", "check"], None)):
        read = json.loads(CliRunner().invoke(main, [*command, str(path), "--json"]).output)
        total = read if key is None else read[key]
        assert {name: total[name] for name in spent} == pytest.approx(spent)
        assert 63.9 < total["epsilon_of_rounds"] <= 64
    assert "a person spends up to epsilon 4 on each question" in said


def test_an_audit_of_questions_drawn_for_good_says_what_one_of_them_spends(tmp_path: Path) -> None:
    """Rejects 128, the sum of 32 questions of which a device reports on one, and silence on loss."""
    path = tmp_path / "study.toml"
    questions = "".join(f'[attributes.s{n}]\nvalues = ["off", "on"]\n' for n in range(32))
    path.write_text(
        f'{questions}[ask]\neach = "one"\nepsilon = 1.0\n'
        "[repeat]\nrounds = 52\nforever = 2.0\nvalues = 2\n"
    )
    said = " ".join(CliRunner().invoke(main, ["audit", str(path)]).output.split())
    assert "at most epsilon = 1 in each round, and 2 in all 52 rounds if the answers stay" in said
    assert "a person spends up to epsilon 4 in all, because their device reports on one" in said
    assert "Each device draws one of 32 questions once and for good" in said
    assert (
        "loses what it keeps, it draws again, and spends as much once more. Each further device"
        in said
    )
    assert "128" not in said and "on each question" not in said
    read = json.loads(CliRunner().invoke(main, ["audit", str(path), "--json"]).output)
    assert read["questions"]["repeat"]["epsilon_of_values"] == pytest.approx(4.0)
    assert read["all.questions"]["epsilon_of_values"] == pytest.approx(4.0)
    assert read["all.questions"]["hides_changes"] is False


def test_an_audit_of_a_study_without_rounds_is_of_people_who_are_asked_once(
    tmp_path: Path,
) -> None:
    path = tmp_path / "study.toml"
    path.write_text(TEXT.split("[repeat]")[0].format(budget=10.0, mechanism="RandomizedResponse"))
    said = " ".join(CliRunner().invoke(main, ["audit", str(path)]).output.split())
    assert "A person who is asked once spends at most epsilon = 1 in all. Each further time" in said


def test_the_audit_of_a_tally_knows_no_number_of_rounds(tmp_path: Path) -> None:
    setting = _study().mechanisms["setting"]
    setting.tally(setting.device().report("high")).save(tmp_path / "t.json")  # type: ignore[attr-defined]
    said = " ".join(CliRunner().invoke(main, ["audit", str(tmp_path / "t.json")]).output.split())
    assert "stays the same, this limit is 88.1 % after any number of rounds" in said
    assert "1 rounds" not in said


def test_an_audit_of_several_studies_says_how_their_epsilons_add_up(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(TEXT.format(budget=10.0, mechanism="RandomizedResponse", more=""))
    done = CliRunner().invoke(main, ["audit", str(path), str(path)])
    said = " ".join(done.output.split())
    assert done.exit_code == 1 and "FILE: must be one file" in said and "got 2 files" in said
    assert "spends the sum of their epsilons" in said
