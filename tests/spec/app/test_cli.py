"""The command line as a user meets it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from types import SimpleNamespace

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warner
from tests.spec.app._command import STUDY, UTILITY, run
from warner.app.cli import main, whole_commands
from warner.io import open_reports, read_reports
from warner.reports.tally import load_tallies
from warner.results.named_summaries import DECLARE_CODES


def test_answers_become_shares_through_files_and_pipes(here: Path) -> None:
    for suffix in ("csv", "parquet"):
        run("randomize", "study.toml", "answers.csv", "-o", f"r.{suffix}", "--again")
        run("tally", f"r.{suffix}", "-o", f"{suffix}.json", "--study", "study.toml")
    run("merge", "csv.json", "parquet.json", "-o", "all.json")
    tallies = load_tallies("all.json")
    assert {name: t.n for name, t in tallies.items()} == {"smokes": 6000, "age": 6000}
    table = run("estimate", "all.json").stdout
    assert re.search(r"yes +[23]\d\.\d % +\d+\.\d to \d+\.\d % +[12],\d+", table)
    assert "population that these people come from" in table and "95 % interval" in table
    # The same through standard input and output.
    text = Path("answers.csv").read_text()
    reports = run("randomize", "study.toml", "--again", text=text).stdout
    piped = run("tally", "-", text=reports).stdout
    shares = json.loads(
        run("estimate", "-", "--json", "-m", "mle", "--target", "respondents", text=piped).stdout
    )
    assert [e["attribute"] for e in shares] == ["smokes", "age"] and shares[0]["interval"][
        "target"
    ] == "respondents"
    rows = list(
        csv.DictReader(io.StringIO(run("estimate", "r.parquet", "--csv", "--only", "age").stdout))
    )
    assert [r["value"] for r in rows] == [str(i) for i in range(10)]


def test_answers_may_come_from_parquet_or_as_bare_lines(here: Path) -> None:
    pq.write_table(
        pa.table(
            {
                "smokes": pa.array(["no", "yes"]).dictionary_encode(),
                "age": pa.array([1, 2], pa.int8()),
            }
        ),
        "a.parquet",
    )
    run("randomize", "study.toml", "a.parquet", "-o", "r.parquet")
    assert len(read_reports("r.parquet")["smokes"]) == 2
    Path("one.toml").write_text(
        '[attributes.q]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    )
    assert "2 people" in run("randomize", "one.toml", "--bare", text="no\nyes\n").stderr
    Path("n.toml").write_text(
        '[attributes.x]\ninterval = { low = 0, high = 1, bins = 4 }\nmechanism = "HadamardResponse"\nepsilon = 1\n'
        '[attributes.b]\nvalues = [true, false]\nmechanism = "LocalHashing"\nseeds = 16\nepsilon = 1\n'
        '[attributes.k]\nvalues = [3, 1]\nmechanism = "SubsetSelection"\nepsilon = 1\n'
        '[attributes.c]\nvalues = ["u", "v"]\nmechanism = "MatrixMechanism"\nmatrix = [[0.6, 0.4], [0.4, 0.6]]\nepsilon = 1\n'
    )
    run("randomize", "n.toml", "-o", "n.parquet", text="x,b,k,c\n0.25,true,3,u\n1e0,False,1,v\n")
    assert run("audit", "n.parquet").stdout.count(" yes ") == 4


def test_audit_and_plan_say_what_published_counts_promise(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY, encoding="utf-8")
    said = run("audit", str(study), "--shuffled", "500", "--rounds", "2").stdout
    assert (
        "smokes: epsilon is 0." in said
        and "counts of 500 people in 2 rounds. Epsilon is 2 against" in said
    )
    assert (
        "All 2 questions together: for somebody who sees only the counts of each question" in said
    )
    data = json.loads(run("audit", str(study), "--shuffled", "500", "--json").stdout)
    assert 0 < data["smokes"]["shuffled_epsilon"] < data["smokes"]["epsilon"]
    # One small question, because a plan and crowds of millions take seconds for each.
    study.write_text(STUDY.split("[attributes.age]")[0], encoding="utf-8")
    assert "counts of 500 people" in run("plan", str(study), "--people", "500", "--shuffled").stdout
    assert "counts of 2,000,000 people" in run("audit", str(study), "--shuffled", "2000000").stdout
    more = ("--shuffled", "2000000", "--delta", "1e-6")
    refused = run("audit", str(study), *more, ok=False)
    assert "below 5e-07 (1/2,000,000), because 2,000,000 people take part" in refused.output
    alone = run("audit", str(study), "--rounds", "52", ok=False)  # it was taken for one round
    assert "--rounds: needs --shuffled" in alone.output and "spend 52 times" in alone.output
    study.write_text(UTILITY, encoding="utf-8")
    assert (
        "does not protect all answers with one epsilon"
        in run("audit", str(study), "--shuffled", "9", ok=False).output
    )


def test_audit_says_on_any_screen_whom_a_mechanism_protects(tmp_path: Path) -> None:
    """Rejects: an epsilon of sensitive values that reads as that of all, where columns drop out."""
    study = tmp_path / "study.toml"
    study.write_text(UTILITY, encoding="utf-8")
    said = " ".join(run("audit", str(study)).stdout.split())
    assert "Only people with " in said and " are protected." in said
    assert said.count("A report can reveal an answer that is not sensitive.") == 1


def test_a_plan_names_the_option_that_plans_a_difference(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    coins = "".join(f'[attributes.{name}]\nvalues = ["no", "yes"]\n' for name in "abc")
    study.write_text(f'[ask]\neach = "one"\nepsilon = 2.0\n{coins}', encoding="utf-8")
    said = " ".join(run("plan", str(study), "--people", "300").stdout.split())
    assert "add --difference 0.05" in said
    said = " ".join(
        run("plan", str(study), "--people", "300", "--difference", "0.1").stdout.split()
    )
    assert "add --difference" not in said and "how many people are asked which question" in said


def test_a_plan_of_a_difference_says_what_of_a_mean_would_be_found(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        "[attributes.seconds]\ninterval = {low = 0, high = 60, bins = 20}\n"
        'mechanism = "SquareWave"\nepsilon = 2.0\n'
        '[attributes.code]\nintegers = [0, 19]\nmechanism = "RandomizedResponse"\nepsilon = 2.0\n'
    )
    shown = run("plan", str(study), "--people", "4000", "--difference", "0.1").stdout
    said = " ".join(shown.split())
    assert "SquareWave (in the study), the 95 % interval of the mean of a group of 2,000" in said
    assert said.count("a difference of") == 2
    assert said.count(DECLARE_CODES) == 1


def test_audit_says_how_sure_the_reports_of_a_person_can_make_others(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    coin = '[attributes.{}]\nvalues = ["no", "yes"]\n'
    two = "".join(map(coin.format, ("smokes", "drinks")))
    asked = two.replace("]\n[", ']\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n[')
    for text, words in (
        (
            f'[ask]\neach = "one"\nepsilon = 2.0\n{two}',
            "the report of a person, can be at most 88.1",
        ),
        (f"{asked}mechanism = 'LocalHashing'\nepsilon = 2.0\n", "sets of answers"),
        (f"{asked}mechanism = 'LocalHashing'\nepsilon = 2.0\n", "can be at most 95.3"),
    ):
        study.write_text(text, encoding="utf-8")
        said = " ".join(run("audit", str(study)).stdout.replace("\N{NO-BREAK SPACE}", " ").split())
        assert words in said, text


def test_audit_reads_studies_reports_and_tallies(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    run("tally", "r.csv", "-o", "t.json")
    for file in ("study.toml", "r.csv", "t.json"):
        data = json.loads(run("audit", file, "--json", "--samples", "2000").stdout)
        assert data["smokes"]["holds"] and data["age"]["epsilon"] == pytest.approx(1.5, abs=1e-9)


def test_an_estimate_of_nothing_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects a command that waits for somebody at a keyboard to type a tally."""
    terminal = SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("warner.app.commands.estimating.sys", terminal)
    said = run("estimate", ok=False).stderr
    assert "Name a tally: warner estimate tally.json." in said
    assert "warner estimate counts.csv --design crosswise:1/4." in said


def test_simulations_and_missing_protection_say_so(here: Path) -> None:
    assert (
        "Simulation only"
        in run("randomize", "study.toml", "answers.csv", "-o", "s.csv", "--seed", "1").stderr
    )
    assert (
        open_reports("s.csv").simulation
        and "these reports are simulated" in run("tally", "s.csv").stderr
    )
    Path("open.toml").write_text(
        STUDY.replace("epsilon = 1.0", "epsilon = inf").replace("budget = 3.0", "")
    )
    assert (
        "NO PROTECTION of smokes"
        in run("randomize", "open.toml", "answers.csv", "-o", "o.csv").stderr
    )


def test_a_seed_repeats_and_its_absence_does_not(here: Path) -> None:
    def reports(*more: str) -> str:
        return run("randomize", "study.toml", "answers.csv", *more).stdout

    assert reports("--seed", "1") == reports("--seed", "1")
    assert reports() != reports("--again")


def test_the_report_file_says_what_made_it(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "r.parquet")
    file = open_reports("r.parquet")
    assert {a: m.header for a, m in file.mechanisms.items()} == {
        a: m.header for a, m in warner.Study.load("study.toml").mechanisms.items()
    }
    assert list(file.columns) == ["smokes_report", "age_bits_0", "age_bits_1"]


def test_help_names_every_command_and_option() -> None:
    text = run("--help").stdout
    ways = "answers --randomize--> reports --tally--> tally --estimate--> shares with intervals"
    assert ways in map(str.strip, text.splitlines())  # in a line of its own
    for name, command in whole_commands().items():
        assert name in text
        assert command.help
        page = run(name, "--help").stdout
        assert page == run(name, "-h").stdout
        for option in command.params:
            assert option.param_type_name == "argument" or option.help, (
                f"{name} {option.name} has no help"
            )
            assert option.param_type_name == "argument" or option.opts[-1] in page


def test_help_has_an_example_of_every_command() -> None:
    for name, command in whole_commands().items():
        inner = command.commands if isinstance(command, click.Group) else {}
        for each, text in {name: command, **{f"{name} {k}": c for k, c in inner.items()}}.items():
            has_inner = each == name and inner
            assert (
                has_inner or each in ("demo", "help") or f"    warner {each}" in (text.help or "")
            ), each


def test_the_list_of_commands_says_what_they_say() -> None:
    for name, command in whole_commands().items():
        assert main.commands[name].get_short_help_str(500) == command.get_short_help_str(500)
        assert command.name == name and not command.hidden


def test_a_plan_ranks_what_a_study_could_use(here: Path) -> None:
    Path("city.toml").write_text(UTILITY.replace('tags = ["home"]\n', ""))
    shown = run("plan", "city.toml", "--people", "5000", "--error", "0.05", "--wide").output
    lines = [line for line in shown.splitlines() if re.search(r"\d times", line)]
    assert (
        "UtilityOptimizedRR (in the study)" in lines[0]
        and "no protection" in lines[-1]
        and "needs unbiased" in shown
        and "needs default" in shown
    )
    data = json.loads(run("plan", "city.toml", "--json", "--loss", "l2").output)["place"]
    errors = [row["error"] for row in data["results"]]
    assert errors == sorted(errors) and data["loss"] == "l2" and data["n"] == 10_000
    Path("open.toml").write_text(
        '[attributes.q]\nvalues = ["a", "b"]\nmechanism = "RandomizedResponse"\nepsilon = inf\n'
    )
    assert "not protected" in run("plan", "open.toml", ok=False).output
    for wrong in (["--people", "0"], ["--error", "-1"], ["--loss", "l3"]):
        run("plan", "city.toml", *wrong, ok=False)


def test_quiet_leaves_results_warnings_and_errors(tmp_path: Path) -> None:
    """Rejects notes and progress with -q, and a -q that hides a warning, a result or an error."""
    study = tmp_path / "s.toml"
    study.write_text(
        '[attributes.smokes]\nvalues = ["yes", "no"]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    )
    answers = tmp_path / "a.csv"
    answers.write_text("smokes\n" + "yes\nno\n" * 50)

    def randomized(*quiet: str) -> str:
        (tmp_path / "r.csv").unlink(missing_ok=True)
        made = ("randomize", str(study), str(answers), "-o", str(tmp_path / "r.csv"))
        return str(run(*quiet, *made, "--seed", "1").stderr)

    loud, quiet, again = randomized(), randomized("-q"), randomized()
    assert "100 people. Each person spends" in loud and "spends" not in quiet and loud == again
    assert "Simulation only" in loud and "Simulation only" in quiet
    assert "Error: " in run("-q", "tally", "missing.csv", ok=False).stderr


@pytest.mark.parametrize(
    ("command", "loss", "said"),
    [
        ("plan", "mse", "'l2' is the sum of squared errors: for K shares, K times their MSE"),
        ("plan", "TV", "'l1' is twice the total variation"),
        ("plan", "kl", "warner benchmark has 'kl'"),
        ("benchmark", "tv", "'l1' is twice the total variation"),
    ],
)
def test_losses_of_the_literature_are_answered(command: str, loss: str, said: str) -> None:
    """Rejects the list of choices of click, which does not say which of them is meant."""
    refused = run(command, "study.toml", "--loss", loss, ok=False)
    assert said in refused.output


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["benchmark", "t.json", "--loss", "l1", "--loss", "l2"], "--loss"),
        (["plan", "study.toml", "--loss=l1", "--runs", "9", "--loss=l2"], "--loss"),
        (["study", "embed", "study.toml", "-o", "a", "--output", "b"], "-o / --output"),
        (["collect", "serve", "study.toml", "--port", "1", "--port", "2"], "--port"),
    ],
)
def test_an_option_of_one_value_that_is_given_twice_is_refused(
    arguments: list[str], option: str
) -> None:
    """Rejects a command that drops the first value in silence."""
    done = run(*arguments, ok=False)
    assert f"{option} can be given only once, and was given 2 times." in done.stderr


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("--epsilon 1,6", "'1,6' is not a number. Write 1.6."),
        ("--epsilon 1,2,3", "'1,2,3' is not a number.\n"),
        ("--people 1,000", "'1,000' is not a whole number. Write 1000."),
        ("--people 1.000.000", "'1.000.000' is not a whole number. Write 1000000."),
        ("--people many", "'many' is not a whole number.\n"),
        ("--level 0,9", "'0,9' is not a number. Write 0.9."),
    ],
)
def test_a_number_with_a_comma_is_refused_with_the_number_to_write(typed: str, said: str) -> None:
    """Rejects words of a programmer, such as "float range", and a guess of what 1,2,3 means."""
    command = "estimate" if "level" in typed else "new"
    assert said in run(command, *typed.split(), ok=False).output


def test_a_list_in_two_options_is_written_as_one() -> None:
    """Rejects a message that leaves open how two columns are named."""
    done = run("tally", "lake", "--by", "region", "--ways=2", "--by=day,week", ok=False)
    said = "--by can be given only once, and was given 2 times. Write --by region,day,week."
    assert said in done.stderr


def test_the_format_of_other_programs_is_json_here() -> None:
    done = run("estimate", "t.json", "--format", "json", ok=False)
    assert "There is no option '--format'. Did you mean --json?" in done.stderr
