"""Files that commands read and write: what is refused, replaced, marked or weighed."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import warner
from tests.spec.app._command import SECRET, STUDY, run
from tests.spec.io._people import COIN, ONE, STUDY as STUDY_OF_PEOPLE
from warner.app.cli import main
from warner.app.commands.options import generator
from warner.reports.tally import load_tallies

BAD_LINES = [
    *(f"3,{SECRET}", f"{SECRET},no", f"3,no,{SECRET}", "3"),
    *(
        "10,no",
        "-1,no",
        "3.5,no",
        ",no",
        "3,",
        "nan,no",
        "3,NO",
        "99999999999999999999,no",
        "+7391,no",
        "+3,no",
        "0x3,no",
        " 3,no",
    ),
]


@pytest.mark.parametrize("line", BAD_LINES)
def test_a_bad_answer_stops_everything_and_is_not_shown(here: Path, line: str) -> None:
    before = sorted(p.name for p in here.iterdir())
    text = "age,smokes\n" + "1,yes\n" * 5 + line + "\n"
    for output in ("r.csv", "r.parquet", "-"):
        result = run("randomize", "study.toml", "-o", output, text=text, ok=False)
        assert result.stdout == "" and result.stderr.startswith("Error: ")
        assert (
            SECRET not in result.output
            and "99999999" not in result.output
            and "7391" not in result.output
        )
        if line.count(",") == 1:
            assert "data row 6" in result.stderr
    assert sorted(p.name for p in here.iterdir()) == before


def test_bad_files_end_in_one_line(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    run("tally", "r.csv", "-o", "t.json")
    Path("empty.csv").write_text("")
    Path("header.csv").write_text("age,smokes\n")
    Path("latin.csv").write_bytes(b"age,smokes\n1,\xe9\n")
    Path("cut.json").write_text(Path("t.json").read_text()[:500])
    Path("other.toml").write_text(STUDY.replace("1.5", "1.6"))
    Path("fake.parquet").write_text("not parquet")
    cases = [
        ("randomize", "none.toml", "answers.csv"),
        ("randomize", "study.toml", "none.csv"),
        ("randomize", "study.toml", "empty.csv"),
        ("randomize", "study.toml", "header.csv"),
        ("randomize", "study.toml", "latin.csv"),
        ("randomize", "study.toml", "fake.parquet"),
        ("randomize", "study.toml", "answers.csv", "-o", "r.txt"),
        ("randomize", "study.toml", "answers.csv", "-o", "no/folder/r.csv"),
        ("tally", "none.csv"),
        ("tally", "answers.csv"),
        ("tally", "fake.parquet"),
        ("tally", "study.toml"),
        ("tally", "r.csv", "--study", "other.toml"),
        ("merge", "t.json", "cut.json"),
        ("merge", "none.json"),
        ("estimate", "study.toml"),
        ("estimate", "t.json", "-m", "best"),
        ("estimate", "t.json", "--only", "weight"),
        ("estimate", "t.json", "--level", "1"),
        ("estimate", "t.json", "--plot", "p.gif"),
        ("audit", "none"),
        ("audit", "answers.csv"),
    ]
    for case in cases:
        result = run(*case, ok=False)
        assert result.stdout == "" and "Error: " in result.stderr, case
    assert not Path("r.txt").exists() and not Path("p.gif").exists()


def test_tallies_of_other_studies_do_not_merge(here: Path) -> None:
    Path("other.toml").write_text(STUDY.replace("epsilon = 1.5", "epsilon = 1.6"))
    for name in ("study", "other"):
        run("randomize", f"{name}.toml", "answers.csv", "-o", f"{name}.csv", "--again")
        run("tally", f"{name}.csv", "-o", f"{name}.json")
    result = run("merge", "study.json", "other.json", ok=False)
    assert "the first has epsilon 1.5, and the second has 1.6" in result.stderr


def test_outputs_never_replace_inputs_links_or_devices(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    run("tally", "r.csv", "-o", "t.json")
    Path("link.csv").symlink_to("answers.csv")
    for case in (
        ("randomize", "study.toml", "answers.csv", "-o", "answers.csv"),
        ("randomize", "study.toml", "answers.csv", "-o", "link.csv"),
        ("tally", "r.csv", "-o", "r.csv"),
        ("tally", "r.csv", "--study", "study.toml", "-o", "study.toml"),
        ("merge", "t.json", "-o", "./t.json"),
        ("estimate", "t.json", "-o", "t.json"),
    ):
        assert "must not be one of the inputs" in run(*case, ok=False).stderr
    Path("target.json").write_text("old")
    Path("target.json").chmod(0o640)
    Path("link.json").symlink_to("target.json")
    run("tally", "r.csv", "-o", "link.json")
    assert (
        Path("link.json").is_symlink()
        and load_tallies("target.json")
        and Path("target.json").stat().st_mode & 0o777 == 0o640
    )
    run("tally", "r.csv", "-o", "/dev/null")
    assert Path("/dev/null").is_char_device()


def test_nothing_is_counted_twice(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    Path("copy.csv").write_bytes(Path("r.csv").read_bytes())
    assert "counted twice" in run("tally", "r.csv", "copy.csv", ok=False).stderr
    run("tally", "r.csv", "-o", "t.json")
    assert "added twice" in run("merge", "t.json", "./t.json", ok=False).stderr


@pytest.fixture
def here_of_result_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY_OF_PEOPLE)
    Path("one.toml").write_text(ONE)
    return tmp_path


def test_standard_input_is_not_replaced(here_of_result_files: Path) -> None:
    Path("same.csv").write_text("q\nno\nyes\n")
    code = "from warner.app.cli import main; main()"
    with open("same.csv") as answers:
        command = [sys.executable, "-c", code, "randomize", "one.toml", "-", "-o", "same.csv"]
        done = subprocess.run(command, stdin=answers, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "must not be one of the inputs" in done.stderr
    assert Path("same.csv").read_text() == "q\nno\nyes\n"


def test_two_results_do_not_go_to_one_file(here_of_result_files: Path) -> None:
    COIN.tally(COIN.randomize([0, 1, 2] * 30)).save("t.json")
    for second in ("z", "./z"):
        assert (
            "must not be written to the same file"
            in run("estimate", "t.json", "-o", "z", "-o", second, ok=False).stderr
        )
    assert (
        "--output and --plot"
        in run("estimate", "t.json", "-o", "z.svg", "--plot", "z.svg", ok=False).stderr
    )
    assert not Path("z").exists()
    run("estimate", "t.json", "-o", "/dev/null", "-o", "/dev/null")


@pytest.fixture
def here_of_simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY_OF_PEOPLE)
    Path("one.toml").write_text(ONE)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [("estimate", "a.json", "-o", "new.xlsx"), ("estimate", "a.json", "--plot", "new.svg"),
     ("report", "a.json", "-o", "new.html")],
)  # fmt: skip
def test_a_result_in_place_of_an_earlier_file_says_so(
    here_of_result_files: Path, command: tuple[str, ...]
) -> None:
    """Rejects a page that somebody worked on and that is replaced without a word."""
    COIN.tally(COIN.randomize([0, 1, 2] * 30)).save("a.json")
    name = command[-1]
    assert f"Written: {name}\n" in run(*command).stderr
    written = f"Written: {name} (replaced the earlier file of this name)\n"
    assert written in run(*command).stderr
    Path(name).unlink()
    assert f"Written: {name}\n" in run(*command).stderr


def test_the_commands_do_not_vouch_for_simulated_reports(here_of_simulated: Path) -> None:
    Path("a.csv").write_text("q\n" + "no\nyes\n" * 100)
    Path("b.csv").write_text("q\n" + "no\n" * 200)  # of answers alike, counts can be equal too
    Path("coin.toml").write_text(ONE.replace("inf", "1.0"))
    run("randomize", "coin.toml", "a.csv", "-o", "real.csv")
    run("randomize", "coin.toml", "b.csv", "-o", "sim.parquet", "--seed", "1")
    for name in ("real.csv", "sim.parquet"):
        run("tally", name, "-o", f"{name}.json")
    for file in ("sim.parquet", "sim.parquet.json"):
        result = run("audit", file, ok=False)
        assert "NO: the reports are simulated" in result.stdout
        assert json.loads(run("audit", file, "--json", ok=False).stdout)["q"]["holds"] is False
        assert "these reports are simulated" in run("estimate", file).stderr
    assert (
        " yes " in run("audit", "real.csv").stdout and " yes " in run("audit", "coin.toml").stdout
    )
    assert "simulation" not in run("estimate", "real.csv.json").stderr
    for command in (
        ("merge", "real.csv.json", "sim.parquet.json"),
        ("tally", "real.csv", "sim.parquet"),
    ):
        refusal = run(*command, "-o", "all.json", ok=False).stderr
        simulated, real = command[2], command[1]
        assert f"{simulated}: holds simulated reports, but {real} holds real reports" in refusal
        assert "--allow-simulated" in refusal
        assert not Path("all.json").exists()
        run(*command, "-o", "all.json", "--allow-simulated")
        assert warner.Tally.load("all.json").simulated and warner.Tally.load("all.json").n == 400
        Path("all.json").unlink()
    both = ("real.csv.json", "sim.parquet.json")
    for command in (("estimate", *both), ("report", *both, "-o", "page.html")):
        refusal = run(*command, ok=False).stderr
        assert f"{both[1]}: holds simulated reports, but {both[0]} holds real reports" in refusal
        notes = run(*command, "--allow-simulated").stderr
        assert f"{both[1]}: these reports are simulated" in notes and f"{both[0]}," not in notes


def test_tables_pictures_and_texts_say_that_reports_are_simulated(here_of_simulated: Path) -> None:
    """Each output can be taken from its command and shown alone."""
    Path("a.csv").write_text("q\n" + "no\nyes\n" * 100)
    Path("coin.toml").write_text(ONE.replace("inf", "1.0"))
    for seed in ((), ("--seed", "1")):
        for name in "ab":
            Path(f"{name}.parquet").unlink(missing_ok=True)
            run("randomize", "coin.toml", "a.csv", "-o", f"{name}.parquet", "--again", *seed)
            run("tally", f"{name}.parquet", "-o", f"{name}.json")
            seed = seed and ("--seed", "2")
        groups = ("a.json", "b.json", "--by", "file")
        differences = ("a.json", "b.json", "--compare-groups")
        shown = [
            run("estimate", "a.json", "-o", "a.out.csv", "-o", "-", "--plot", "a.plot.json").stdout,
            run("estimate", *groups, "-o", "g.csv", "-o", "-", "--plot", "g.plot.json").stdout,
            run("estimate", *differences, "-o", "d.csv", "-o", "d.json", "-o", "-").stdout,
            *(Path(name).read_text() for name in ("a.plot.json", "g.plot.json", "d.json")),
            warner.estimate(warner.Tally.load("a.json"))._repr_html_(),
        ]
        assert ["simulated" in text for text in shown] == [bool(seed)] * len(shown)
        for name, real in {"a.out.csv": "no", "g.csv": "no", "d.csv": None}.items():
            rows = list(csv.DictReader(Path(name).read_text().splitlines()))
            assert {row.get("simulated") for row in rows} == {"yes" if seed else real}


def test_the_commands_say_the_weight_and_that_answers_randomised_again_spend_again(
    tmp_path: Path,
) -> None:
    text = 'budget = 0.3\n[attributes.a]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\nepsilon = 0.1\n'
    (tmp_path / "s.toml").write_text(
        text + text.removeprefix("budget = 0.3\n").replace(".a]", ".b]").replace("0.1", "0.2")
    )
    (tmp_path / "x.csv").write_text("a,b\n" + "no,yes\n" * 3)
    run = CliRunner().invoke
    spent = run(
        main,
        [
            "randomize",
            str(tmp_path / "s.toml"),
            str(tmp_path / "x.csv"),
            "-o",
            str(tmp_path / "r.csv"),
        ],
    )
    assert spent.exit_code == 0, spent.output
    assert (
        "epsilon = 0.3 in this run. Do this once: a second run on the same answers costs as much again"
        in spent.stderr
    )
    for command in ("audit", "plan"):
        shown = run(main, [command, str(tmp_path / "s.toml"), "--wide", "--explain"])
        assert shown.exit_code == 0 and "A liar is somebody who sends" in shown.output
        assert "asked once spends at most epsilon = 0.3 in all. Each further" in shown.output
        assert "20.02" in shown.output and "10.03" in shown.output  # (e + 1) / (e - 1)
        data = json.loads(run(main, [command, str(tmp_path / "s.toml"), "--json"]).stdout)
        assert data.keys() - {"all.questions"} == {"a", "b"}


def test_the_help_says_whose_random_numbers_a_seed_gives() -> None:
    """Rejects silence on answers and noise that are made of the same random numbers."""
    made = generator(1)
    assert made is not None and made.random() == np.random.default_rng(1).random()
    said = " ".join(run("randomize", "--help").stdout.split())
    assert (
        "made up the answers with a seed of numpy.random.default_rng, give another number" in said
    )
    assert "with the same number, the noise would depend on the answers" in said


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("4", "got a number. The column has numbers, such as codes, and the study lists texts."),
        (
            "NA",
            'If a text such as NA means no answer, write two lines below the question in the study: empty = ["", "NA"], and missing',
        ),
    ],
)
def test_codes_and_gaps_are_named_where_labels_are_expected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cell: str, words: str
) -> None:
    """Rejects: "allow one more value, such as 'other'", of codes and of texts for no answer."""
    monkeypatch.chdir(tmp_path)
    Path("q.toml").write_text(
        '[attributes.q]\nvalues = ["never", "often"]\n'
        'mechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    )
    Path("q.csv").write_text(f"q\nnever\n{cell}\noften\n")
    said = run("randomize", "q.toml", "q.csv", "-o", "r.csv", ok=False).output
    assert words in said and "'other'" not in said
