"""Files with missing answers: each attribute has its policy, and rows keep their numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warner
from warner import Categorical, Grid, Integers, Interval, Product
from warner.domains import Tagged, with_missing
from warner.errors import EmptyError, ValuesError
from warner.io import read_answers, read_values
from warner.io.read_answers import read_groups

SECRET = "secret-7391"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _read(domains: dict[str, Any], **options: Any) -> dict[str, list[Any]]:
    parts = list(read_values("a.csv", domains, **options))
    return {name: np.concatenate([part[name] for part in parts]).tolist() for name in domains}


def test_nonresponse_is_a_value_of_each_sort_of_column(here: Path) -> None:
    domains = {
        "label": with_missing(Categorical(["no", "yes"]), "answer", ["", "NA"]),
        "count": with_missing(Integers(0, 9), "answer", ["", "-9"]),
        "bin": with_missing(Interval(0, 1, 2), "answer"),
        "cell": with_missing(Grid(2, 2), "answer"),
        "tag": Tagged(with_missing(Categorical(["a", "b"]), "answer"), ["home"]),
    }
    Path("a.csv").write_text(
        "label,count,bin,cell,tag\nyes,3,0.7,'1,0',b\n,,,,\nNA,-9,,\"1,0\",@home\n"
        '(no answer),(no answer),0,"0,0",(no answer)\n'.replace("'1,0'", '"1,0"')
    )
    assert _read(domains) == {
        "label": [1, 2, 2, 2],
        "count": [3, 10, 10, 10],
        "bin": [1, 2, 2, 0],
        "cell": [2, 4, 2, 0],
        "tag": [1, 2, 3, 2],
    }


@pytest.mark.parametrize(
    "column, found",
    [
        (pa.array([1, None, 2]), [1, 4, 2]),
        (pa.array([1.0, float("nan"), 2.0]), [1, 4, 2]),
        (pa.array([1.0, 3.0, 2.0]), [1, 3, 2]),  # NaN may stand in another batch
        (pa.array([1, -9, 2], pa.int16()), [1, 4, 2]),
        (pa.array(["1", None, "-9"]), [1, 4, 4]),
        (pa.array(["1", "-9", "2"]).dictionary_encode(), [1, 4, 2]),
        (pa.array([None, None, None], pa.int64()), [4, 4, 4]),
        (pa.array([None, "", "-9"], pa.large_string()), [4, 4, 4]),
    ],
    ids=lambda v: str(getattr(v, "type", "")),
)
def test_parquet_has_null_nan_and_codes(here: Path, column: Any, found: list[int]) -> None:
    pq.write_table(pa.table({"q": column}), "a.parquet")
    domain = with_missing(Integers(0, 3), "answer", ["", "-9"])
    (batch,) = read_values("a.parquet", {"q": domain})
    assert batch["q"].tolist() == found


def test_dropping_leaves_out_whole_people_and_counts_them(here: Path) -> None:
    dropping = warner.SquareWave(with_missing(Interval(0, 1, 2), "drop", ["", "NA"]), 1.0)
    domains = {"x": dropping, "y": with_missing(Categorical(["n", "y"]), "answer")}
    Path("a.csv").write_text("x,y\n0.25,y\n,n\nNA,\n0.5,\n")
    counts: list[int] = []
    found = _read(domains, dropped=counts.append)
    assert found == {"x": [0.25, 0.5], "y": [1, 2]} and sum(counts) == 2
    Path("a.csv").write_text("x,y\n,n\nNA,y\n")
    with pytest.raises(EmptyError, match="no person who answered"):
        _read(domains)


def test_batches_have_one_length_though_people_are_left_out(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_answers, "ROWS_PER_BATCH", 100)
    silent = np.random.default_rng(0).random(1003) < 0.3
    Path("a.csv").write_text(
        "q\n" + "".join("\n" if s else f"{i % 7}\n" for i, s in enumerate(silent))
    )
    domain = with_missing(Integers(0, 6), "drop")
    sizes = [len(part["q"]) for part in read_values("a.csv", {"q": domain})]
    left = int((~silent).sum())
    assert sizes[:-1] == [100] * (left // 100) and sum(sizes) == left
    assert _read({"q": domain})["q"] == [i % 7 for i in range(1003) if not silent[i]]


def test_groups_drop_people_too(here: Path) -> None:
    domain = with_missing(Integers(0, 3), "drop")
    groups = {g: {"q": warner.RandomizedResponse(domain, e)} for g, e in (("a", 1.0), ("b", 2.0))}
    Path("a.csv").write_text("g,q\na,1\nb,\nb,2\na,\nb,3\n")
    counts: list[int] = []
    (batch,) = read_groups("a.csv", "g", groups, dropped=counts.append)
    assert {g: part["q"].tolist() for g, part in batch.items()} == {"a": [1], "b": [2, 3]}
    assert sum(counts) == 2
    Path("a.csv").write_text("g,q\na,\nb,\n")
    with pytest.raises(EmptyError, match="no person who answered"):
        list(read_groups("a.csv", "g", groups, dropped=counts.append))


def test_attributes_together_and_pairs_have_their_policies(here: Path) -> None:
    both = Product(
        a=with_missing(Integers(0, 1), "answer"), b=with_missing(Categorical(["n", "y"]), "drop")
    )
    pay = warner.KeyValue(
        with_missing(Categorical(["k", "l"]), "drop"), with_missing(Interval(0, 1, 2), "drop"), 1.0
    )
    Path("a.csv").write_text("a,b,pay_key,pay_value\n,y,k,0.5\n1,,k,0.5\n1,n,l,\n0,n,,1\n1,y,l,1\n")
    found = _read({"both": warner.RandomizedResponse(both, 1.0), "pay": pay})
    assert found == {"both": [5, 3], "pay": [[0, 0.5], [1, 1]]}


def test_all_bad_rows_of_all_columns_are_named_at_once(here: Path) -> None:
    domains: dict[str, Any] = {
        "smokes": warner.RandomizedResponse(Categorical(["Never", "Often"]), 1.0),
        "units": warner.RandomizedResponse(Integers(0, 9), 1.0),
    }
    rows = ["Never,1", "never,99", f"{SECRET},", "Often ,x", "Often,2", ",77", f"{SECRET},3"]
    Path("a.csv").write_text("smokes,units\n" + "\n".join(rows) + "\n")
    with pytest.raises(ValuesError) as caught:
        _read(domains)
    text = str(caught.value)
    assert SECRET not in text and "99" not in text and "77" not in text
    lines = text.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "column 'smokes', data row 2",
        "column 'smokes', data row 6",
        "column 'units', data row 2",
        "column 'units', data row 3",
        "column 'units', data row 4",
    ]
    assert "differ from a label only in capital letters" in lines[0]
    assert "data rows: 3, 4, 7." in lines[0]
    assert 'missing = "answer"' in lines[1] and 'missing = "drop"' in lines[3]
    assert "data row: 6" in lines[2]


def test_bad_rows_of_later_batches_are_counted_too(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_answers, "ROWS_PER_BATCH", 100)
    Path("a.csv").write_text("q\n" + "".join("x\n" if i % 10 == 5 else "1\n" for i in range(1000)))
    with pytest.raises(
        ValuesError, match=r"data row 6: .* in 99 more data rows: 16, 26, "
    ) as caught:
        _read({"q": Integers(0, 3)})
    assert "196, ..." in str(caught.value) and "206" not in str(caught.value)


def test_a_public_column_has_no_policy_to_recommend(here: Path) -> None:
    Path("a.csv").write_text("ward\n\nnorth\n")
    with pytest.raises(ValuesError, match="got an empty cell") as caught:
        _read({"ward": Categorical(["north", "south"])})
    assert "missing =" not in str(caught.value)
