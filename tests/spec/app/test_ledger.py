"""The ledger of randomize: answers that were randomised before are noticed, and nothing else."""

from __future__ import annotations

import json
import os
import random
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spec.app._command import SECRET, STUDY, run
from warner.app.ledger import Ledger
from warner.io.report_writer import ReportWriter
from warner.studies.study import Study

_DRAW = random.Random(8)
ROWS = [f"{_DRAW.choice(['no', 'yes'])},{_DRAW.randrange(10)}" for _ in range(1000)]


def answers(rows: list[str], name: str = "a.csv") -> str:
    Path(name).write_text("\n".join(["smokes,age", *rows, ""]))
    return name


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study, and answers that were randomised as it says."""
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    run("randomize", "study.toml", answers(ROWS), "-o", "first.csv")
    return tmp_path


def _parquet(rows: list[str]) -> str:
    smokes, age = zip(*(row.split(",") for row in rows), strict=True)
    pq.write_table(pa.table({"age": list(map(int, age)), "smokes": smokes}), "other.parquet")
    return "other.parquet"


@pytest.mark.parametrize(
    ("again", "words"),
    [
        (
            lambda: "a.csv",
            "all its answers were randomised before. According to study.ledger, epsilon = 2.5 was",
        ),
        (
            lambda: answers(ROWS, "copy.csv"),
            "warner makes new reports, and each person spends epsilon = 5 in",
        ),
        (lambda: answers(sorted(ROWS), "sorted.csv"), "Use the earlier reports"),
        (
            lambda: answers(ROWS + ROWS[:99]),
            "the first 1,000 of 1,099 answers were randomised before. According to",
        ),
        (lambda: _parquet(ROWS), "all its answers were randomised before"),
    ],
)
def test_answers_that_were_randomised_before_are_refused(
    here: Path, again: Any, words: str
) -> None:
    path, before = again(), Path("study.ledger").read_bytes()
    said = run("randomize", "study.toml", path, "-o", "second.csv", ok=False).output
    assert f"Error: {path}: " in said and words in said
    assert not Path("second.csv").exists() and Path("study.ledger").read_bytes() == before
    said = run("randomize", "study.toml", path, "-o", "second.csv", "--again").stderr
    assert "Together with earlier runs, epsilon = 5 is now spent on these answers" in said
    said = run("randomize", "study.toml", "a.csv", "-o", "third.csv", ok=False).output
    assert "epsilon = 5 was spent" in said


def test_all_ledgers_in_the_folder_are_read(here: Path) -> None:
    """Rejects a program that knows only the runs of a study of the same name."""
    Path("mine.toml").write_text(STUDY)
    (here / "a").mkdir()
    Path("other.ledger").write_text("2026-11-29 Opening balances\n")  # of an accountant
    for ledger in ([], ["--ledger", "new.ledger"], ["--ledger", "a/new.ledger"]):
        more = ("mine.toml", "a.csv", "-o", "second.csv", *ledger)
        said = run("randomize", *more, ok=False).output
        assert "epsilon = 2.5 was spent on them. Use the earlier" in said
    run("randomize", "mine.toml", "a.csv", "-o", "second.csv", "--again")
    said = run("randomize", "study.toml", "a.csv", "-o", "third.csv", ok=False).output
    assert "According to study.ledger and mine.ledger, epsilon = 5 was spent on them." in said
    assert len(Path("study.ledger").read_text().splitlines()) == 2
    said = run("randomize", "mine.toml", answers(ROWS[1:], "b.csv"), "-o", "third.csv").stderr
    assert "999 people. Each person spends at most epsilon = 2.5 in this run." in said
    assert (
        "mine.ledger and study.ledger record 2 earlier runs. A person who was in all of them and "
        "in this run has now spent at most epsilon = 7.5 in all." in said
    )
    Path("study.ledger").write_text(Path("study.ledger").read_text().replace('"people"', '"n"'))
    said = run("randomize", "mine.toml", "b.csv", "-o", "fourth.csv", ok=False).output
    assert "study.ledger: is a ledger of warner, but was changed. Put back the file" in said


def test_groups_of_one_run_are_one_run(here: Path) -> None:
    """Rejects a program that counts a line of the ledger as a run."""
    studies: dict[str | None, Study] = dict.fromkeys("abc", Study.load("study.toml"))
    for modulus in (2, 3):
        ledger = Ledger("groups.ledger", "-")
        for group in studies:
            batch = {"smokes": np.arange(500) % modulus, "age": np.arange(500) // modulus % 7}
            ledger.add(group, batch)
        ledger.enter(studies, again=False)
    assert (ledger.earlier, ledger.at_most) == (2, 7.5)  # with that of study.ledger


def test_a_question_that_another_study_asks_too_is_noticed(here: Path) -> None:
    """Another epsilon, and another question beside it; the sum is that of the questions asked."""
    Path("study.toml").write_text(
        STUDY.replace("1.0\n", "0.5\n").replace("[attributes.age]", "[attributes.year]")
    )
    Path("b.csv").write_text(
        "\n".join(["year,smokes", *(f"{i % 7},{r[:-2]}" for i, r in enumerate(ROWS))])
    )
    said = run("randomize", "study.toml", "b.csv", "-o", "second.csv", ok=False).output
    assert "epsilon = 1 was spent" in said and "spends epsilon = 3 in all" in said


def test_other_answers_are_taken(here: Path) -> None:
    for name, rows in {
        "later.csv": ROWS[1:],
        "back.csv": ROWS[900::-1],
        "part.csv": ROWS[:99],
    }.items():
        said = run("randomize", "study.toml", answers(rows, "b.csv"), "-o", name).stderr
    assert (
        "study.ledger records 3 earlier runs. A person who was in all of them and in this run has now "
        "spent at most epsilon = 10 in all." in said
    )
    assert "Each person spends at most epsilon = 2.5 in this run." in said
    assert "had as many people" not in said
    # Too many others have the same counts of one question: it asks, and does not refuse.
    Path("one").mkdir()
    Path("one/one.toml").write_text(STUDY.split("[attributes.age]")[0])
    run("randomize", "one/one.toml", "a.csv", "-o", "one.csv")
    rows = answers(sorted(ROWS), "sorted.csv")
    said = run("randomize", "one/one.toml", rows, "-o", "two.csv").stderr
    assert (
        "An earlier run had the same number of people. Check that the earlier run did not have "
        "the same answers in another order." in said
    )


def test_few_answers_are_known_by_their_file_and_never_by_themselves(here: Path) -> None:
    """Two files of one answer are equal by chance, and a hash of one answer says what it is."""
    for name in ("b.csv", "c.csv"):
        run("randomize", "study.toml", answers(["yes,3"], name), "-o", f"r{name}")
    said = run("randomize", "study.toml", "b.csv", "-o", "again.csv", ok=False).output
    assert "all its answers were randomised before" in said
    os.utime("b.csv", ns=(1, 1))
    run("randomize", "study.toml", "b.csv", "-o", "again.csv")
    entries = Path("study.ledger").read_text().splitlines()
    for _ in range(2):
        run("randomize", "study.toml", text="smokes,age\nyes,3\n")
    assert Path("study.ledger").read_text().splitlines() == entries
    assert all(json.loads(line)["all"] == [] for line in entries[2:])


def test_the_ledger_says_how_secret_it_is_and_holds_no_answer(tmp_path: Path, here: Path) -> None:
    path = Path("study.ledger")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    head, run_entry = map(json.loads, path.read_text().splitlines())
    assert "as secret as the answers" in head["note"]
    assert {len(mark) for mark in [*run_entry["all"], *run_entry["each"]]} == {32}
    assert run_entry["epsilon"] == "2.5" and run_entry["people"] == 1000
    other = tmp_path / "other"
    other.mkdir()
    (other / "study.toml").write_text(STUDY)
    run("randomize", str(other / "study.toml"), "a.csv", "-o", "other.csv")
    # Another key: what one ledger holds says nothing to who has another.
    assert not set(run_entry["all"]) & set(
        json.loads((other / "study.ledger").read_text().splitlines()[1])["all"]
    )


def test_what_was_not_made_is_not_entered_and_a_simulation_never(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Path("study.ledger").read_bytes()
    run("randomize", "study.toml", "a.csv", "-o", "s.csv", "--seed", "1")
    run("randomize", "study.toml", answers([*ROWS[:50], f"{SECRET},1"]), "-o", "b.csv", ok=False)
    answers(ROWS[:50])
    with monkeypatch.context() as patch:
        patch.setattr(ReportWriter, "finish", lambda self: (_ for _ in ()).throw(SystemExit(3)))
        run("randomize", "study.toml", "a.csv", "-o", "b.csv", ok=False)
    assert Path("study.ledger").read_bytes() == before
    # A crash between the entry and the name of the file: the spending is not lost.
    with monkeypatch.context() as patch:
        patch.setattr(os, "link", lambda a, b: (_ for _ in ()).throw(SystemExit(3)))
        run("randomize", "study.toml", "a.csv", "-o", "b.csv", ok=False)
    assert not Path("b.csv").exists()
    assert "randomised before" in run("randomize", "study.toml", "a.csv", ok=False).output


def test_of_two_runs_at_once_one_is_refused(here: Path) -> None:
    """Rejects a program that reads the ledger at its start alone."""
    studies = {None: Study.load("study.toml")}
    batch = {"smokes": np.arange(500) % 2, "age": np.arange(500) // 9 % 10}
    runs = [Ledger("study.ledger", "-") for _ in range(2)]
    for ledger in runs:
        ledger.add(None, batch)
        ledger.refuse(studies)
    runs[0].enter(studies, again=False)
    with pytest.raises(ValueError, match="all its answers were randomised before"):
        runs[1].enter(studies, again=False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"smokes,age\nno,1\n", "is not a ledger of warner, or was changed"),
        (b'{"format": "warner-tally"}\n', "is not a ledger of warner, or was changed"),
        (None, "cannot be written; got Is a directory"),
    ],
)
def test_what_is_no_ledger_is_left_as_it_is(here: Path, text: bytes | None, words: str) -> None:
    path = here / "mine"
    path.mkdir() if text is None else path.write_bytes(text)
    more = ("-o", "r.csv", "--ledger", "mine")
    said = run("randomize", "study.toml", "a.csv", *more, ok=False)
    assert (words if text else "mine") in said.output and not Path("r.csv").exists()
    assert text is None or path.read_bytes() == text


def test_a_line_that_a_crash_cut_off_is_dropped(here: Path) -> None:
    whole = Path("study.ledger").read_bytes()
    Path("study.ledger").write_bytes(whole + b'{"all":["97')
    assert "randomised before" in run("randomize", "study.toml", "a.csv", ok=False).output
    assert Path("study.ledger").read_bytes() == whole


def test_lines_that_do_not_say_their_run_are_runs(here: Path) -> None:
    """Rejects: "is not a ledger of warner", of one that an earlier version wrote."""
    path = Path("study.ledger")
    path.write_text(path.read_text().replace(',"run":0', ""))
    assert '"run"' not in path.read_text()
    assert "randomised before" in run("randomize", "study.toml", "a.csv", ok=False).output
    said = run("randomize", "study.toml", answers(ROWS[1:], "b.csv"), "-o", "b.parquet").stderr
    assert (
        "study.ledger records 1 earlier run. A person who was in that run and in this run has now"
        in said
    )


def test_a_copy_of_a_ledger_spends_nothing_more(here: Path) -> None:
    """Rejects a sum over all ledgers of a folder: a backup would double what was spent."""
    Path("copy.ledger").write_bytes(Path("study.ledger").read_bytes())
    done = run("randomize", "study.toml", answers(ROWS), ok=False)
    assert "According to study.ledger, epsilon = 2.5 was spent on them. Use" in done.output
    Path("study.ledger").rename("old.ledger")
    said = run("randomize", "study.toml", answers(ROWS[1:], "b.csv"), "-o", "b.parquet").stderr
    assert (
        "copy.ledger records 1 earlier run. A person who was in that run and in this run has now"
        in said
    )
