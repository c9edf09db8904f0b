"""The command line refuses bad answers and bad files in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spec.app._command import SECRET, STUDY, run

BAD_LINES = [
    *(f"3,{SECRET}", f"{SECRET},no", f"3,no,{SECRET}", "3"),
    *(
        "10,no",
        "-1,no",
        "3.0,no",
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
        run("randomize", f"{name}.toml", "answers.csv", "-o", f"{name}.csv")
        run("tally", f"{name}.csv", "-o", f"{name}.json")
    result = run("merge", "study.json", "other.json", ok=False)
    assert "the one has epsilon 1.5, and the other has 1.6" in result.stderr
