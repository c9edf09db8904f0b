"""Text files: empty lines, columns that stand twice, long files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warner
from tests.spec.io._people import ONE, STUDY, run
from warner import Study
from warner._core import sampling
from warner.domains import with_missing
from warner.io import csv_format, read_answers, read_values, report_writer, tally_file


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("one.toml").write_text(ONE)
    return tmp_path


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few thousand people are as many for this program as some millions for the real one."""
    monkeypatch.setattr(csv_format, "_ANSWER_BLOCK", 2**14)
    monkeypatch.setattr(read_answers, "ROWS_PER_BATCH", 1000)
    monkeypatch.setattr(report_writer, "_ROW_GROUP", 700)
    monkeypatch.setattr(sampling, "_SHUFFLED", 1500)
    monkeypatch.setattr(sampling, "_PERMUTED", 300)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "\n", "\n\n\n"])
def test_an_empty_line_is_an_empty_cell_and_of_nobody_at_the_end(
    here: Path, end: str, last: str
) -> None:
    text = end.join(["yes", "", "", "no", ""]) + last.replace("\n", end)
    found = ["yes", "", "", "no"]
    domains = {"q": warner.Categorical(["", "no", "yes"])}
    for bare in (True, False):
        Path("a.csv").write_bytes((text if bare else "q" + end + text).encode())
        (batch,) = read_values("a.csv", domains, bare)
        assert [domains["q"].labels[i] for i in batch["q"]] == found
    run("randomize", "one.toml", "a.csv", "-o", "r.csv")
    assert tally_file("r.csv")["q"].counts.tolist() == [found.count(""), 1, 1]
    with pytest.raises(warner.errors.ValuesError, match=r"data row 2: .* got an empty cell"):
        list(read_values("a.csv", {"q": warner.Categorical(["no", "yes"])}))
    with pytest.raises(warner.errors.ValuesError, match=r"data row 2: .* got an empty cell"):
        list(read_values("a.csv", {"q": warner.Categorical(["yes", "NO"])}))


@pytest.mark.parametrize("block", [3, 2**14])
def test_one_answer_may_be_blank(here: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """Rejects people made of blank lines, where a blank is nonresponse."""
    monkeypatch.setattr(csv_format, "_PIECE", block)
    domain = with_missing(warner.Categorical(["no", "yes"]), "answer")
    for text, found in (
        ("\n", [2]),  # one person's device sends nothing but a blank
        ("yes\n\n\n", [1]),
        ('yes\n""\n\n', [1, 2]),  # as programs write the blank of one person
        ("\n\n\n\nno\n", [2, 2, 2, 2, 0]),
    ):
        Path("a.csv").write_text(text)
        (batch,) = read_values("a.csv", {"q": domain}, True)
        assert batch["q"].tolist() == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "smokes,age\nno,3\nno\n",
            "data row 2 has 1 cell, but the first line has 2. The file may be damaged or cut off",
        ),
        ("smokes,age\nno,3,secret\n", "data row 1 has 3 cells, but the first line has 2"),
        ("smokes;age\n\nno;3;secret\n", "data row 2 has 3 cells, but the first line has 2"),
    ],
)
def test_a_row_of_another_length_is_named(here: Path, text: str, words: str) -> None:
    Path("a.csv").write_text(text)
    with pytest.raises(warner.errors.FileError, match=words) as caught:
        list(read_values("a.csv", Study.load("study.toml").mechanisms))
    assert "secret" not in str(caught.value) and caught.value.__context__ is None


def test_an_empty_line_among_several_columns_is_a_row_of_empty_cells(here: Path) -> None:
    Path("a.csv").write_text("smokes,age\nno,3\n\nno,4\n")
    with pytest.raises(warner.errors.ValuesError, match=r"data row 2: .* got an empty cell"):
        list(read_values("a.csv", Study.load("study.toml").mechanisms))


def test_a_column_that_stands_twice_is_refused(here: Path) -> None:
    for head in ("smokes,age,smokes", '"smokes",age,x,smokes', "\ufeffsmokes,age,smokes"):
        Path("a.csv").write_text(
            head + "\n" + ",".join(["no", "3", "no", "no"][: head.count(",") + 1]) + "\n"
        )
        assert (
            "column 'smokes': occurs twice"
            in run("randomize", "study.toml", "a.csv", ok=False).stderr
        )
        assert (
            "column 'smokes': occurs twice"
            in run("randomize", "study.toml", text=Path("a.csv").read_text(), ok=False).stderr
        )
    Path("a.csv").write_text("smokes,other,age,other\nno,1,3,2\n")
    run("randomize", "study.toml", "a.csv")
    table = pa.Table.from_arrays(
        [pa.array(["no"]), pa.array([3]), pa.array(["no"])], names=["smokes", "age", "smokes"]
    )
    pq.write_table(table, "a.parquet")
    assert (
        "column 'smokes': occurs twice"
        in run("randomize", "study.toml", "a.parquet", ok=False).stderr
    )


def test_long_files_and_pipes_are_read_alike(here: Path, small: None) -> None:
    Path("a.csv").write_text("q\n" + "no\nyes\n" * 20_000)
    domains = {"q": warner.Categorical(["no", "yes"])}
    with open("a.csv", "rb") as file:
        whole = [
            np.concatenate([batch["q"] for batch in read_values(source, domains)])
            for source in ("a.csv", file)
        ]
    assert all(part.tolist() == [0, 1] * 20_000 for part in whole)
