"""Public columns of report files: what is written beside reports, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warner
from tests.spec.io._sealed import COIN
from warner import Categorical, Integers, RandomizedResponse, io
from warner._core.table import frame
from warner._core.text import canonical
from warner.domains.interval import Dates
from warner.errors import (
    ArgumentError,
    ArgumentTypeError,
    FileError,
    MismatchError,
    ReportError,
)
from warner.io.file_format import UNSEALED, seal
from warner.reports.public_columns import PublicColumn

BOTH = ["reports.csv", "reports.parquet"]
WARD = [["ward", {"kind": "categorical", "values": ["north", "south"]}]]


@pytest.mark.parametrize("name", BOTH)
def test_values_come_back_as_they_are_declared(name: str, tmp_path: Path) -> None:
    public = {
        "label": PublicColumn(Categorical(["a, b", 'c"d', "", "ü\u2603"]), ["", "a, b", 'c"d', ""]),
        "number": PublicColumn(Categorical([3, -(2**60), 0]), [0, 3, -(2**60), 0]),
        "mixed": PublicColumn(Categorical(["other", 1]), [1, "other", 1, 1]),
        "flag": PublicColumn(Categorical([False, True]), [True, False, True, True]),
        "age": PublicColumn(Integers(-9, 99), [-9, 99, 0, 5]),
        "day": PublicColumn(Dates("day"), ["0001-01-01", "9999-12-31", "2024-02-29", "1970-01-01"]),
    }
    path = str(tmp_path / name)
    reports = COIN.randomize(["no", "yes", "no", "no"])
    io.write_reports({"a": reports}, path, keep_order=True, public=public)
    assert io.read_public(path) == {name: column.values for name, column in public.items()}
    opened = io.open_reports(path)
    assert dict(opened.public) == {name: column.domain for name, column in public.items()}
    again = io.read_reports(path)["a"]
    assert again.columns["report"].tolist() == reports.columns["report"].tolist()
    by = io.tally_file(path, list(public))["a"]
    assert by == COIN.tally(reports, public) and len(by) == 4
    # A path of pathlib is a name as well, and several files are no file.
    assert io.read_public(Path(path)) == io.read_public(path)
    assert io.tally_file(Path(path), list(public))["a"] == by
    of_path = io.read_reports(Path(path))["a"]
    assert of_path.columns["report"].tolist() == again.columns["report"].tolist()
    with pytest.raises(ArgumentTypeError, match="path: must be the name of one file; got a list"):
        io.tally_file([path])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", BOTH)
def test_a_file_without_public_columns_is_as_before(name: str, tmp_path: Path) -> None:
    path = str(tmp_path / name)
    io.write_reports({"a": COIN.randomize(["no"] * 9)}, path)
    assert io.read_public(path) == {} and io.open_reports(path).public == {}
    assert io.open_reports(path).format.read_ends(path)[0].count(b'"schema":1') == 1
    with pytest.raises(ArgumentError, match="none; got 'ward'"):
        io.tally_file(path, ["ward"])
    for bad in ("ward", 5):
        with pytest.raises(ArgumentTypeError, match="list of names of public columns"):
            io.tally_file(path, bad)  # type: ignore[arg-type]


def test_the_wire_format_has_no_public_columns(tmp_path: Path) -> None:
    COIN.randomize(["no"]).save(tmp_path / "one.warner")
    with pytest.raises(ArgumentError, match="none; got 'ward'"):
        io.tally_file(str(tmp_path / "one.warner"), ["ward"])


@pytest.mark.parametrize(
    "public, error, words",
    [
        ({"a": Integers(0, 1)}, ArgumentError, "name of a question"),
        ({"A_report": Integers(0, 1)}, ArgumentError, "column that holds its reports"),
        ({"w": Integers(0, 1), "W": Integers(0, 1)}, ArgumentError, "upper and lower case"),
        ({"": Integers(0, 1)}, ArgumentError, "empty"),
        ({"w": "north"}, ArgumentTypeError, "must be one of Categorical"),
    ],
)
def test_names_and_domains_are_checked(public: Any, error: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=words):
        io.ReportWriter(str(tmp_path / "r.csv"), {"a": COIN}, public=public)


@pytest.mark.parametrize(
    "given, error",
    [
        (None, MismatchError),
        ({"street": np.array([0, 1])}, MismatchError),
        ({"ward": np.array([0])}, MismatchError),
        ({"ward": np.array([0, 2])}, ArgumentError),
        ({"ward": np.array([-1, 1])}, ArgumentError),
        ({"ward": np.array([0.0, 1.0])}, ArgumentError),
        ({"ward": ["north", "south"]}, ArgumentError),
    ],
)
def test_each_batch_brings_the_declared_columns(given: Any, error: Any, tmp_path: Path) -> None:
    path, ward = tmp_path / "r.csv", Categorical(["north", "south"])
    with (
        pytest.raises(error, match="public column"),
        io.ReportWriter(str(path), {"a": COIN}, public={"ward": ward}) as writer,
    ):
        writer.write({"a": COIN.randomize(["no", "yes"])}, given)
    assert not path.exists()


def test_public_values_stay_with_their_reports_in_random_order(tmp_path: Path) -> None:
    certain = RandomizedResponse(Categorical(["no", "yes"]), float("inf"))
    answers = ["no", "no", "yes"] * 1000
    ward = PublicColumn(Categorical(["n", "s"]), ["s" if a == "yes" else "n" for a in answers])
    path = str(tmp_path / "r.parquet")
    io.write_reports({"a": certain.randomize(answers)}, path, public={"ward": ward})
    found = io.read_public(path)["ward"]
    reports = io.read_reports(path)["a"].columns["report"]
    assert [w == "s" for w in found] == (reports == 1).tolist() and found != ward.values


def _sealed(path: Path, public: Any, columns: dict[str, Any], n: int) -> str:
    """A file of public columns and reports that warner may not have written."""
    head = {
        "format": "warner-reports",
        "schema": 2,
        "public": public,
        "attributes": {"a": COIN.header},
    }
    text, end = json.dumps(head, separators=(",", ":")), canonical({"n": n, "sha256": UNSEALED})
    if path.suffix == ".csv":
        rows = zip(*columns.values(), strict=True)
        lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
        path.write_text(
            "\n".join([f"#warner {text}", ",".join(columns), *lines, f"#end {end}", ""])
        )
    else:
        columns = {k: pa.array(v, pa.uint8()) if k == "a_report" else v for k, v in columns.items()}
        table = pa.table(columns).replace_schema_metadata({"warner": text, "warner.end": end})
        pq.write_table(table, path)
    seal(str(path))
    return str(path)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("bad", ["east", None])
def test_values_that_were_never_declared_are_refused_by_row(
    name: str, bad: str | None, tmp_path: Path
) -> None:
    columns = {"ward": ["north", "south", bad], "a_report": [0, 1, 1]}
    path = _sealed(tmp_path / name, WARD, columns, 3)
    for read in (lambda: io.tally_file(path, ["ward"]), lambda: io.read_public(path)):
        with pytest.raises(ReportError, match="'ward', data row 3") as caught:
            read()
        assert "east" not in str(caught.value)


@pytest.mark.parametrize("name", BOTH)
def test_columns_must_be_those_of_the_header(name: str, tmp_path: Path) -> None:
    for columns in (
        {"a_report": [0, 1], "ward": ["north", "south"]},
        {"street": ["north", "south"], "a_report": [0, 1]},
        {"ward": ["north", "south"], "more": ["a", "b"], "a_report": [0, 1]},
        {"a_report": [0, 1]},
    ):
        with pytest.raises(FileError, match="columns that its beginning states"):
            io.tally_file(_sealed(tmp_path / name, WARD, columns, 2), ["ward"])
    if name.endswith(".parquet"):
        columns = {"ward": [0, 1], "a_report": [0, 1]}
        with pytest.raises(ReportError, match="must be of type string"):
            io.tally_file(_sealed(tmp_path / name, WARD, columns, 2), ["ward"])


@pytest.mark.parametrize(
    "public",
    [
        7,
        "ward",
        {"ward": {"kind": "dates", "unit": "day"}},
        [["ward", {"kind": "grid", "rows": 2, "columns": 2}]],
        [["ward", {"kind": "dates", "unit": "year"}]],
        [["ward"]],
        [["a,b", {"kind": "dates", "unit": "day"}]],
        WARD * 2,
    ],
)
def test_declarations_that_cannot_be_read_are_refused(public: Any, tmp_path: Path) -> None:
    columns = {"ward": ["north"], "a_report": [0]}
    with pytest.raises(FileError, match="declares public columns"):
        io.open_reports(_sealed(tmp_path / "r.csv", public, columns, 1))


def test_no_altered_byte_is_read_as_a_public_value(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    ward = PublicColumn(Categorical(["n", "s"]), ["n", "s"])
    io.write_reports({"a": COIN.randomize(["no", "yes"])}, str(path), public={"ward": ward})
    data = bytearray(path.read_bytes())
    data[data.rindex(b'"n"') + 1] = ord("s")
    path.write_bytes(data)
    with pytest.raises(FileError, match="another program may have changed it"):
        io.tally_file(str(path), ["ward"])


def test_frames_are_grouped_by_columns_that_they_have() -> None:
    reports = COIN.randomize(["no", "yes"])
    data = frame({"value_report": reports.columns["report"], "ward": ["north", "south"]})
    assert len(COIN.tally(data, ["ward"])) == 2
    for by in (["street"], [], "street"):
        with pytest.raises(ArgumentError, match="column of the frame"):
            COIN.tally(data, by)
    with pytest.raises(ReportError, match="public column 'ward'"):
        COIN.tally(data, {"ward": Categorical(["north", "west"])})
    holes = frame({"value_report": reports.columns["report"], "ward": ["north", None]})
    with pytest.raises(ReportError, match="a date in every row; got no value"):
        COIN.tally(holes, ["ward"])


@pytest.mark.parametrize("read", ["file", "pandas", "pyarrow"])
def test_columns_in_the_order_of_the_answers_are_refused_beside_reports_of_a_file(
    read: str, here: Path
) -> None:
    people = {"ward": ["n", "s"] * 200, "age": [20, 30, 40, 50] * 100}
    domains = {"ward": Categorical(["n", "s"]), "age": Integers(18, 99)}
    public = {name: PublicColumn(domains[name], people[name]) for name in people}
    io.write_reports({"a": COIN.randomize(["no", "yes"] * 200)}, "r.parquet", public=public)
    right: Any = pd.DataFrame(io.read_public("r.parquet"))
    reports = io.read_reports("r.parquet")["a"]
    if read != "file":
        right = {"pandas": pd.read_parquet, "pyarrow": pq.read_table}[read]("r.parquet")
        reports = COIN.reports(right, column="a_report")
    refused = pytest.raises(ArgumentError, match=r"order of .* random .* column 'ward'")
    with refused:
        COIN.tally(reports, {"ward": people["ward"]})
    with refused:
        warner.regress(reports, pd.DataFrame(people), "ward + age")
    with refused:
        io.write_reports(reports, "again.parquet", public=public)
    with pytest.raises(ArgumentError, match="'height', which the file does not have"):
        warner.regress(reports, {"height": list(range(400))})
    by = io.tally_file("r.parquet", ["ward"])["a"]
    assert COIN.tally(reports, {"ward": right["ward"]})["n"] == by["n"]
    beside = {"age": right["age"], "height": list(range(400))}
    assert warner.regress(reports[:300], {n: c[:300] for n, c in beside.items()}).names[1] == "age"
    kept = COIN.reports(reports.columns)
    assert COIN.tally(kept, {"ward": people["ward"]}).n == 400


def test_a_column_with_one_value_does_not_show_the_order_of_others(here: Path) -> None:
    public = {"week": PublicColumn(Integers(1, 9), [4] * 40)}
    io.write_reports({"a": COIN.randomize(["no", "yes"] * 20)}, "r.parquet", public=public)
    reports = io.read_reports("r.parquet")["a"]
    assert COIN.tally(reports, {"week": [4] * 40}).n == 40
    with pytest.raises(ArgumentError, match="got 'ward', which"):
        COIN.tally(reports, {"week": [4] * 40, "ward": ["n", "s"] * 20})


def test_all_tallies_of_a_file_by_groups_are_no_groups(here: Path) -> None:
    ward = PublicColumn(Categorical(["n", "s"]), ["n", "s"] * 200)
    io.write_reports({"a": COIN.randomize(["no", "yes"] * 200)}, "r.parquet", public={"ward": ward})
    for use in (warner.estimate, warner.compare_groups):
        with pytest.raises(ArgumentTypeError, match=r"Pass the tally of one: tallies\['a'\]"):
            use(io.tally_file("r.parquet", ["ward"]))
