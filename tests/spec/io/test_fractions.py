"""Where whole numbers are asked for, a fraction is refused with its column, its row and a remedy.

A whole number may be written as a float: 1.0 is 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spec.app._command import run
from warner import Categorical, Integers
from warner.domains import Domain, with_missing
from warner.errors import ValuesError
from warner.io import read_values
from warner.io.read_answers import Contents, contents_of, kinds_of

STUDY = """
[attributes.drinks]
integers = [0, 9]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""


@pytest.fixture(autouse=True)
def _study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)


@pytest.mark.parametrize("written", ["7.5", '"7,5"', "7.000", "7 glasses"])
def test_in_a_text_file(written: str) -> None:
    Path("a.csv").write_text(f"drinks\n2\n{written}\n")
    said = run("randomize", "study.toml", "a.csv", "-o", "r.csv", ok=False).stderr
    assert "column 'drinks', data row 2: must be a whole number" in said
    assert "such as 12, without a fraction" in said and "7" not in said
    assert not Path("r.csv").exists()


def test_in_a_column_of_floats() -> None:
    pq.write_table(pa.table({"drinks": [2.0, 7.5]}), "a.parquet")
    said = run("randomize", "study.toml", "a.parquet", "-o", "r.csv", ok=False).stderr
    assert "column 'drinks', data row 2: must be int; got a number. Round the answers" in said
    assert "7" not in said


BOOLEANS = Categorical([False, True])


@pytest.mark.parametrize("domain", [Categorical([0, 1]), Integers(0, 1), BOOLEANS])
@pytest.mark.parametrize(
    "text", ["q\n1.0\n0.0\n", "q;p\n1,0;2\n0,00;2\n", "q\n1\n0\n", "q\n1.\n0\n"]
)
def test_a_whole_float_in_a_text_file_is_what_it_looks_like(domain: Domain, text: str) -> None:
    Path("a.csv").write_text(text)
    assert [batch["q"].tolist() for batch in read_values("a.csv", {"q": domain})] == [[1, 0]]


@pytest.mark.parametrize("domain", [Categorical([0, 1]), Integers(0, 1), BOOLEANS])
def test_a_gap_makes_floats_of_a_column_and_changes_no_answer(domain: Domain) -> None:
    silent = with_missing(domain, "answer")
    frame = pandas.DataFrame({"q": [1, None, 0]})
    assert silent.encode(frame["q"]).tolist() == [1, 2, 0]
    frame.to_csv("a.csv", index=False)
    frame.to_parquet("a.parquet")
    for path in ("a.csv", "a.parquet"):
        assert [b["q"].tolist() for b in read_values(path, {"q": silent})] == [[1, 2, 0]]
        assert kinds_of(path, ["q"]) == {"q": "integers"}
        assert dict(contents_of(path, {"q": "integers"}))["q"] == Contents(low=0, high=1)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([1.0, 0.5], "position 1: must be .*int; got a number. Round the answers first"),
        (np.array([1.0, 0.5]), "position 1: must be .*int; got a number"),
        ([1.0, float("inf")], "position 1: must be .*int; got a number"),
        (
            np.array([1.0, np.nan]),
            "position 1: must be .*int; got NaN. For missing answers use warner",
        ),
        ([1.0, 2], "position 1: must be one of .*; got an"),
        (["True"], "position 0: must be .*int; got a string"),
    ],
)
@pytest.mark.parametrize("domain", [Categorical([0, 1]), Integers(0, 1), BOOLEANS])
def test_what_is_not_whole_stays_refused(domain: Domain, answers: Any, words: str) -> None:
    assert domain.encode(np.array([1.0, 0.0])).tolist() == [1, 0]
    assert domain.encode([1.0, np.float32(0)]).tolist() == [1, 0]
    with pytest.raises(ValuesError, match=words):
        domain.encode(answers)


def test_a_number_for_a_missing_answer_may_have_become_a_float() -> None:
    Path("a.csv").write_text("q\n1.0\n-9.0\n")
    silent = with_missing(Integers(0, 1), "answer", ["-9"])
    assert [batch["q"].tolist() for batch in read_values("a.csv", {"q": silent})] == [[1, 2]]
