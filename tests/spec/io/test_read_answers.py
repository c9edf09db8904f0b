"""Answers are read by column and row; a refused one is named by its place and never shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warner
from tests.spec.app._command import SECRET
from warner import Categorical
from warner.io import read_values


@pytest.mark.parametrize("line", [f"3,no,{SECRET}", f"3,{SECRET}", f"{SECRET},no", f"+{SECRET},no"])
def test_no_error_carries_an_answer_with_it(here: Path, line: str) -> None:
    """Not in its text, its attributes, nor in the error that it arose from: a traceback would print
    them all.
    """
    Path("bad.csv").write_text(f"age,smokes\n1,yes\n{line}\n")
    with pytest.raises(warner.errors.WarnerError) as caught:
        list(read_values("bad.csv", warner.Study.load("study.toml").domains))
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in f"{error} {error.args} {vars(error)}"
        error = error.__context__


def test_columns_of_other_types_are_refused_by_place(here: Path) -> None:
    domains = {"age": warner.Integers(0, 9)}
    for column in (
        pa.array([1.0, 2.5]),
        pa.array([True, False]),
        pa.array([1, 2], pa.timestamp("s")),
        pa.array([1, None]),
        pa.array([[1], [2]]),
    ):
        pq.write_table(pa.table({"age": column}), "typed.parquet")
        with pytest.raises(warner.errors.ValuesError, match=r"column 'age', data row [12]: "):
            list(read_values("typed.parquet", domains))
    for column in (
        pa.array([1, 2], pa.uint8()),
        pa.array(["1", "2"]).dictionary_encode(),
        pa.array(["1", "2"], pa.large_string()),
    ):
        pq.write_table(pa.table({"age": column}), "typed.parquet")
        assert [batch["age"].tolist() for batch in read_values("typed.parquet", domains)] == [
            [1, 2]
        ]


@pytest.mark.parametrize("labels", [[False, True], ["no", "yes"]], ids=str)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_answers_that_are_no_text_are_refused_by_position(
    labels: list[Any], kind: Any, tmp_path: Path
) -> None:
    good = str(labels[1]).lower().encode()
    offsets = pa.array(
        [0, len(good), len(good) + 2], pa.int64() if kind == pa.large_string() else pa.int32()
    )
    column = pa.Array.from_buffers(
        kind, 2, [None, offsets.buffers()[1], pa.py_buffer(good + b"\xff\xfe")]
    )
    path = str(tmp_path / "answers.parquet")
    pq.write_table(pa.table({"a": column}), path)
    with pytest.raises(warner.errors.ValuesError, match="data row 2"):
        list(read_values(path, {"a": warner.RandomizedResponse(Categorical(labels), 1.0)}))


def test_a_blank_line_and_a_folder_are_called_so(here: Path) -> None:
    Path("blank.csv").write_text("age,smokes\n1,yes\n\n2,no\n")
    domains = warner.Study.load("study.toml").domains
    with pytest.raises(warner.errors.ValuesError, match="If data row 2 is a blank line, delete it"):
        list(read_values("blank.csv", domains))
    Path("folder").mkdir()
    with pytest.raises(warner.errors.FileError, match="folder: is a folder"):
        list(read_values("folder", domains))
