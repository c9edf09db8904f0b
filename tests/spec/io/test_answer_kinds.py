"""What a column of answers holds, from a look at it."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from warner.errors import ArgumentError, EmptyError, FileError
from warner.io.read_answers import contents_of, kinds_of, other_columns


def csv(path: Path, columns: dict[str, list[str]], delimiter: str = ",") -> str:
    """A CSV file in which every cell is in quotes."""
    rows = zip(*columns.values(), strict=True)
    lines = [delimiter.join(columns), *(delimiter.join(f'"{c}"' for c in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.mark.parametrize(
    "answers, kind",
    [
        (["never", "often"], "labels"),
        (["1", "2", "-3", " 4 "], "integers"),
        (["1", "2.5"], "numbers"),
        (["1e3", ".5", "7."], "numbers"),
        (["007", "013"], "labels"),
        (["2024-05-31", "2024-06-01T10:00"], "dates"),
        (["31.5.2024", "1/6/2024"], "dates"),
        (["3,5", "[12, 4]"], "cells"),
        (["", "NA", ""], "labels"),
        (["", "NA", "4"], "integers"),
        (["1"] * 18 + ["x", "y"], "integers"),  # 9 in 10
        (["1"] * 17 + ["x", "y"], "labels"),
        ([str(10**18)], "labels"),  # no 64 bits
    ],
)
def test_the_kind_is_that_of_most_answers(tmp_path: Path, answers: list[str], kind: str) -> None:
    path = csv(tmp_path / "a.csv", {"x": answers})
    assert kinds_of(path, ["x"]) == {"x": kind}
    pq.write_table(pa.table({"x": pa.array(answers, pa.large_string())}), tmp_path / "a.parquet")
    assert kinds_of(str(tmp_path / "a.parquet"), ["x"]) == {"x": kind}


def test_the_type_of_a_parquet_column_is_its_kind(tmp_path: Path) -> None:
    columns = {
        "integers": pa.array([1, 2], pa.int8()),
        "numbers": pa.array([1.0, 2.5]),
        "booleans": pa.array([True, None]),
        "dates": pa.array([datetime.date(2024, 1, 1)] * 2),
        "labels": pa.array(["a", "b"]).dictionary_encode(),
    }
    path = str(tmp_path / "a.parquet")
    pq.write_table(pa.table(columns), path)
    assert kinds_of(path, list(columns)) == {name: name for name in columns}
    found = dict(contents_of(path, {"integers": "integers", "labels": "labels"}))
    assert (found["integers"].low, found["integers"].high) == (1, 2)
    assert found["labels"].labels == ("a", "b")


def test_contents_are_labels_in_alphabetical_order_and_limits(tmp_path: Path) -> None:
    columns = {"s": ["often", "never", "NA"], "n": ["4", "nan", "-2"], "w": ["1.5", "", "7e1"]}
    path = csv(tmp_path / "a.csv", columns)
    found = dict(contents_of(path, {"s": "labels", "n": "integers", "w": "numbers"}))
    assert found["s"].labels == ("never", "often")
    assert (found["n"].low, found["n"].high) == (-2, 4)
    assert (found["w"].low, found["w"].high) == (1.5, 70.0)


def test_decimals_are_limits_and_what_is_no_text_is_refused(tmp_path: Path) -> None:
    path, secret = str(tmp_path / "a.parquet"), "CANARY"
    columns = {
        "d": pa.array([Decimal("1.50"), Decimal("7.25")]),
        "b": pa.array([b"\xff" + secret.encode(), b"b"]),
        "l": pa.array([[secret], ["b"]]),
        "s": pa.array([{"q": secret}, {"q": "b"}]),
    }
    pq.write_table(pa.table(columns), path)
    found = dict(contents_of(path, {"d": "numbers"}))["d"]
    assert (repr(found.low), repr(found.high)) == ("1.5", "7.25")
    for name in "bls":
        with pytest.raises(
            ArgumentError, match=f"'{name}': has values that are not text"
        ) as caught:
            dict(contents_of(path, {name: "labels"}))
        assert secret not in str(caught.value) and caught.value.__context__ is None


def test_free_text_is_not_copied_and_not_quoted(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", {"x": [f"answer {i}" for i in range(70)]})
    with pytest.raises(ArgumentError, match="'x': has more than 64 different values") as caught:
        dict(contents_of(path, {"x": "labels"}))
    assert "answer" not in str(caught.value)
    path = csv(tmp_path / "b.csv", {"x": ["answer\x1b[2J", "other"]})
    with pytest.raises(ArgumentError, match="characters that a screen cannot show") as caught:
        dict(contents_of(path, {"x": "labels"}))
    assert "answer" not in str(caught.value)


def test_other_columns_are_named_only_where_the_known_ones_are_there(tmp_path: Path) -> None:
    for delimiter in (",", ";", "\t"):
        path = csv(tmp_path / "a.csv", {"x": ["1"], "y": ["2"], "z z": ["3"]}, delimiter)
        assert other_columns(path, ["y"]) == ["x", "z z"]
        with pytest.raises(FileError, match="has no column 'w'") as caught:
            other_columns(path, ["y", "w"])
        assert "z z" not in str(caught.value)
    text = Path(path).read_text()
    Path(path).write_bytes(text.encode("utf-16"))
    assert other_columns(path, ["y"]) == ["x", "z z"]


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("x\n")
    with pytest.raises(EmptyError, match="holds no answers"):
        kinds_of(str(tmp_path / "empty.csv"), ["x"])
    with pytest.raises(FileError, match="does not exist"):
        kinds_of(str(tmp_path / "none.csv"), ["x"])
