"""Files and frames that other programs made: one set of rules, whichever reader reads them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import warner
from warner import Categorical, Grid, Integers
from warner._core.canonical_json import (
    canonical,
)
from warner.app.cli import main
from warner.io import (
    open_reports,
    read_reports,
    read_values,
    tally_file,
    tally_frame,
    write_reports,
)
from warner.io.file_seal import UNSEALED, seal
from warner.io.frames import _GroupedFrame
from warner.mechanisms import Mechanism, from_header
from warner.reports.tally import Tally
from warner.reports.tally_kinds import Histogram

YES = Categorical(["no", "yes"])
COIN = warner.RandomizedResponse(YES, 1.0)


def run(*args: str, ok: bool = True) -> str:
    result = CliRunner().invoke(main, list(args))
    assert (result.exit_code == 0) is ok and "Traceback" not in result.output, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.output


def sealed(path: str, mechanism: Any, columns: Mapping[str, Any], n: Any) -> str:
    """A report file of columns that its mechanism may not have sent, with a checksum that fits."""
    header = mechanism.header if isinstance(mechanism, Mechanism) else mechanism
    head = json.dumps(
        {"format": "warner-reports", "schema": 1, "attributes": {"a": header}},
        separators=(",", ":"),
    )
    end = canonical({"n": n, "sha256": UNSEALED})
    if path.endswith(".csv"):
        rows = zip(*columns.values(), strict=True)
        lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
        Path(path).write_text("\n".join([f"#warner {head}", *lines, f"#end {end}", ""]))
    else:
        table = pa.table(dict(columns)).replace_schema_metadata({"warner": head, "warner.end": end})
        pq.write_table(table, path)
    seal(path)
    return path


READERS: list[Callable[[str], Any]] = [tally_file, read_reports]
U8 = pa.uint8()
STRANGE = {
    "-1": pa.array([-1, 0], pa.int8()),
    "-2^63": pa.array([-(2**63), 0], pa.int64()),
    "wide": pa.array([0, 1], pa.int64()),
    "float": pa.array([1.7, 0.0]),
    "NaN": pa.array([float("nan"), 0.0]),
    "string": pa.array(["1", "0"]),
    "boolean": pa.array([True, False]),
    "decimal": pa.array([Decimal(1), Decimal(0)]),
    "timestamp": pa.array([1, 0], pa.timestamp("us")),
    "date": pa.array([1, 0], pa.date32()),
    "list": pa.array([[1], [0]], pa.list_(U8)),
    "nothing": pa.array([None, None], pa.null()),
    "missing": pa.array([1, None], U8),
    "beyond": pa.array([2, 0], U8),
}


@pytest.mark.parametrize("column", STRANGE.values(), ids=STRANGE)
def test_both_readers_refuse_the_same_columns(column: Any, tmp_path: Path) -> None:
    path = sealed(str(tmp_path / "r.parquet"), COIN, {"a_report": column}, 2)
    for reader in READERS:
        with pytest.raises((warner.errors.ReportError, warner.errors.FileError), match="a_report"):
            reader(path)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize(
    "names", [["A_REPORT"], ["b_report"], ["a_report", "more"], ["more", "a_report"]], ids=str
)
def test_both_readers_want_the_columns_of_the_header(
    names: list[str], suffix: str, tmp_path: Path
) -> None:
    column = pa.array([1, 0], U8) if suffix == "parquet" else [1, 0]
    path = sealed(str(tmp_path / f"r.{suffix}"), COIN, dict.fromkeys(names, column), 2)
    for reader in READERS:
        with pytest.raises(warner.errors.FileError, match="must have the 1 columns of its header"):
            reader(path)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_both_readers_take_the_same_reports(suffix: str, tmp_path: Path) -> None:
    """Also the dictionaries of Arrow, which are stored as the plain type."""
    column = pa.array([1, 0, 1], U8).dictionary_encode() if suffix == "parquet" else [1, 0, 1]
    path = sealed(str(tmp_path / f"r.{suffix}"), COIN, {"a_report": column}, 3)
    assert tally_file(path)["a"].counts.tolist() == [1, 2]
    assert read_reports(path)["a"].columns["report"].tolist() == [1, 0, 1]


@pytest.mark.parametrize("row", ["1#2", "#0", "", "-1", "1.0", "2", "256", "yes"])
def test_both_readers_refuse_the_same_lines(row: str, tmp_path: Path) -> None:
    path = sealed(
        str(tmp_path / "r.csv"), COIN, {"a_report": ["0", row, "1"]}, 2 if row in ("#0", "") else 3
    )
    for reader in READERS:
        with pytest.raises((warner.errors.ReportError, warner.errors.FileError)):
            reader(path)


@pytest.mark.parametrize("n", [True, 1.0, "1", 0, -1, None], ids=repr)
def test_the_number_of_reports_is_an_integer(n: Any, tmp_path: Path) -> None:
    path = sealed(str(tmp_path / "r.parquet"), COIN, {"a_report": pa.array([1], U8)}, n)
    with pytest.raises(warner.errors.FileError, match="has no end"):
        tally_file(path)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize(
    "folder", ["value_report=0", "VALUE_REPORT=1", "value_report=yes", "date=2024-01-01", "s3:"]
)
def test_names_of_folders_are_no_columns(
    folder: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(folder).mkdir()
    reports = COIN.reports([1] * 7 + [0] * 3)
    path = f"{folder}/r.{suffix}"
    write_reports(reports, path, keep_order=True)
    assert tally_file(path) == {"value": COIN.tally(reports)}
    assert read_reports(path)["value"].columns["report"].tolist() == [1] * 7 + [0] * 3


def test_many_columns_are_counted_in_one_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warner.io.file_tallies._QUERIES", 2)
    mechanism = warner.UnaryEncoding(Integers(0, 30), 1.0)
    reports = mechanism.randomize(np.arange(31))
    write_reports(reports, str(tmp_path / "r.parquet"))
    assert tally_file(str(tmp_path / "r.parquet"))["value"] == mechanism.tally(reports)


# Copies


def test_copies_of_tallies_and_reports_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reports = COIN.randomize(["yes", "no", "yes"] * 50)
    write_reports(reports, "r.parquet")
    write_reports(read_reports("r.parquet"), "again.csv")
    run("tally", "r.parquet", "-o", "t.json")
    shutil.copy("t.json", "copy.json")
    write_reports(COIN.randomize(["no"] * 40), "other.csv")
    run("tally", "other.csv", "-o", "other.json")
    for command, first, copy, other in (
        ("merge", "t.json", "copy.json", "other.json"),
        ("tally", "r.parquet", "again.csv", "other.csv"),
    ):
        said = run(command, first, other, copy, ok=False)
        assert f"{first} and {copy}" in said and "--allow-equal" in said
        run(command, first, other, "-o", "both.json")
        assert Tally.load("both.json").n == 190
        run(command, first, copy, "--allow-equal", "-o", "both.json")
        assert Tally.load("both.json").n == 300


# Bounds


def header(mechanism: Mechanism, **changes: Any) -> dict[str, Any]:
    return {**mechanism.header, **changes}


def test_subsets_of_a_million_values_cost_nothing() -> None:
    """The law is a ratio of two integers; the binomials with 280,000 factors are not worked out."""
    mechanism = warner.SubsetSelection(Integers(0, 2**20 - 1), 1.0)
    assert (
        mechanism.subset > 280_000
        and 1 - 1e-9 < mechanism.epsilon <= 1
        and not mechanism.is_enumerable
    )
    small = warner.SubsetSelection(Integers(0, 6), 1.0)
    table = small.probabilities()
    assert (table.sum(axis=0) == 1).all()
    assert max(row.max() / row.min() for row in table) == small.law.ratio()


def test_the_number_of_reports_of_one_person_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    daily = warner.Repeated(COIN, 2)
    deep = {**daily.header, "parameters": {"parts": [[COIN.header, 10_001]]}}
    nested = {**daily.header, "parameters": {"parts": [[deep, 1000], [deep, 1000]]}}
    monkeypatch.setattr(
        "warner.mechanisms.headers._from_header", lambda text: pytest.fail("was built")
    )
    for forged in (
        deep,
        nested,
        {**daily.header, "parameters": {"parts": [[COIN.header, 3_000_000]]}},
    ):
        with pytest.raises(warner.errors.MismatchError, match="more than 10000 reports"):
            from_header(forged)
    with pytest.raises(warner.errors.ArgumentError, match="number of reports"):
        warner.Repeated([COIN] * 10_001)


@pytest.mark.parametrize(
    "make",
    [
        lambda d: warner.mechanisms.Exponential(d, 1.0),
        lambda d: warner.mechanisms.Gaussian(d, 1.0, 1e-5),
    ],
)
def test_large_grids_are_refused_before_their_points_are_made(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Grid, "points", property(lambda self: pytest.fail("points were made")))
    with pytest.raises(warner.errors.ArgumentError, match="number of values"):
        make(Grid(8192, 8192))


LARGE = {
    "RandomizedResponse": (
        warner.RandomizedResponse(Integers(0, 2**26 - 1), 1.0),
        {"a_report": [0]},
        "67108864 counts",
    ),
    "LocalHashing": (
        warner.LocalHashing(YES, 1.0, seeds=2**24),
        {"a_seed": [0], "a_bucket": [0]},
        "67108864 counts",
    ),
    "UnaryEncoding": (
        warner.UnaryEncoding(Integers(0, 2**26 - 1), 1.0),
        {"a_bits_0": [0]},
        "67108864 counts",
    ),
    "wide": (
        warner.UnaryEncoding(Integers(0, 2**24 - 1), 1.0),
        {"a_bits_0": [0]},
        "2097152 columns of its header",
    ),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_few_bytes_do_not_make_gigabytes(
    name: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a study of another size: its headers are compared before anything is built."""
    mechanism, columns, said = LARGE[name]
    kinds = {key: pa.uint32() for key in columns} | {"a_bucket": U8, "a_bits_0": U8}
    typed = {
        key: pa.array(v, kinds[key]) if suffix == "parquet" else v for key, v in columns.items()
    }
    path = sealed(str(tmp_path / f"r.{suffix}"), mechanism, typed, 1)
    study = tmp_path / "s.toml"
    study.write_text(
        '[attributes.a]\nvalues = ["no", "yes"]\nepsilon = 1.0\nmechanism = "RandomizedResponse"\n'
    )
    monkeypatch.setattr(
        "warner.io.report_file.file_columns", lambda *_: pytest.fail("names were made")
    )
    with pytest.raises(warner.errors.FileError, match=said):
        tally_file(path)
    assert said in run("tally", path, ok=False) and said in run("estimate", path, ok=False)
    monkeypatch.setattr("warner.io.report_file.from_header", lambda _: pytest.fail("was built"))
    assert "do not belong together" in run("tally", path, "--study", str(study), ok=False)


def test_a_study_may_ask_for_more_than_a_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warner.io.file_tallies.LARGEST", 1)
    path = str(tmp_path / "r.csv")
    write_reports(COIN.reports([0, 1]), path)
    with pytest.raises(warner.errors.FileError, match="--study"):
        tally_file(path)
    assert tally_file(open_reports(path).expected({"value": COIN}))["value"].n == 2
    with pytest.raises(warner.errors.MismatchError):
        open_reports(path).expected({"value": warner.RandomizedResponse(YES, 2.0)})
    with pytest.raises(warner.errors.MismatchError):
        open_reports(path).expected({"other": COIN})


def test_nested_brackets_are_a_named_error(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    brackets = "[" * 200_000 + "]" * 200_000
    path.write_text(f"#warner {brackets}\na_report\n1\n" + '#end {"n":1,"sha256":"0"}\n')
    with pytest.raises(warner.errors.FileError):
        open_reports(str(path))
    path.with_suffix(".json").write_text(brackets)
    for name in (path, path.with_suffix(".json")):
        run("estimate", str(name), ok=False)


def test_a_domain_of_millions_is_not_estimated_by_default() -> None:
    mechanism = warner.RandomizedResponse(Integers(0, 2**20), 1.0)
    counts = np.zeros(2**20 + 1, dtype=np.int64)
    counts[0] = 1
    with pytest.raises(warner.errors.ArgumentError, match="at most 1048576 values"):
        warner.estimate(Tally(mechanism.header, Histogram(), counts, 1))


def test_memory_that_is_not_enough_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("warner.app.command_files.load_tallies", fail)
    assert "memory: is not enough" in run("estimate", str(tmp_path / "t.json"), ok=False)


# Frames and outputs


def test_frames_of_bits_are_grouped_column_by_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of groups is at most 256 for each byte, and does not grow with the reports."""
    sizes = []

    class Watched(_GroupedFrame):
        def groups(self, columns: Mapping[str, int]) -> Any:
            found = super().groups(columns)
            sizes.append(len(found[1]))
            return found

    monkeypatch.setattr("warner.io.frames._GroupedFrame", Watched)
    for mechanism in (
        warner.UnaryEncoding(Integers(0, 29), 1.0),
        warner.SubsetSelection(Integers(0, 29), 1.0),
        warner.UtilityOptimizedRappor(Integers(0, 29), 1.0, sensitive=[1, 2]),
    ):
        sizes.clear()
        reports = mechanism.randomize(np.arange(3000) % 30, np.random.default_rng(5))
        frame = warner.io.reports_frame(reports)
        assert tally_frame(mechanism, frame, simulated=True) == mechanism.tally(reports)
        assert len(sizes) == 4 and max(sizes) <= 256


@pytest.mark.parametrize("lazy", [False, True])
def test_frames_of_bits_are_checked_as_whole_reports(lazy: bool) -> None:
    polars = pytest.importorskip("polars")
    kind = polars.LazyFrame if lazy else polars.DataFrame
    subset = warner.SubsetSelection(Integers(0, 8), 0.1, size=2)
    # Four ones in two reports, and 0 or more padding: right in sum, wrong in each.
    for rows, rule in (
        ([[0b11100000, 0], [0b10000000, 0]], "must have 2 bits set"),
        ([[0b11000000, 1]], "padding"),
    ):
        frame = kind({"value_bits_0": [r[0] for r in rows], "value_bits_1": [r[1] for r in rows]})
        with pytest.raises(warner.errors.ReportError, match=rule):
            tally_frame(subset, frame)
    rappor = warner.UtilityOptimizedRappor(Integers(0, 8), 1.0, sensitive=[0])
    with pytest.raises(warner.errors.ReportError, match="non-sensitive"):
        tally_frame(rappor, kind({"value_bits_0": [0b01100000], "value_bits_1": [0]}))


def test_outputs_of_other_packages_are_taken_where_they_are_exact() -> None:
    unary, coin = warner.UnaryEncoding(Integers(0, 2), 1.0), COIN
    bits = np.array([[0, 1, 1], [1, 0, 0]])
    wanted = unary.reports(bits).columns["bits"].tolist()
    for dtype in (bool, np.float32, np.float64, np.float16, np.int8, np.uint64):
        assert unary.reports(bits.astype(dtype)).columns["bits"].tolist() == wanted
        assert coin.reports(bits[0].astype(dtype)).columns["report"].tolist() == [0, 1, 1]
    assert coin.reports([0.0, 1.0]).columns["report"].tolist() == [0, 1]
    for outputs in ([0.5, 1], [float("nan"), 1], [float("inf"), 0], [1 - 2**-53, 0]):
        with pytest.raises(
            warner.errors.ReportError, match=r"1 of 2 float64 values.*zeros and ones"
        ):
            coin.reports(outputs)
    with pytest.raises(warner.errors.ReportError, match="Convert it"):
        coin.reports(["0", "1"])
    with pytest.raises(warner.errors.ReportError, match=r"0\.\.1"):
        coin.reports([2.0, 0.0])


# Forged bytes


@pytest.mark.parametrize(
    "dtype, shape",
    [(",", []), ("O", []), ("<U8", []), ("|u1", [-1]), ("|u1", [True]), ("|u1,|u1", []), (3, [])],
    ids=str,
)
def test_forged_columns_of_the_wire_format_are_refused(dtype: Any, shape: list[Any]) -> None:
    import hashlib

    data = COIN.reports([0, 1]).to_bytes()
    magic, size = data.split(b"\n", 1)[0] + b"\n", len(b"warner-reports 1\n")
    length = int.from_bytes(data[size : size + 4], "little")
    head = json.loads(data[size + 4 : size + 4 + length])
    head["columns"] = [["report", dtype, shape]]
    forged = canonical(head).encode()
    text = magic + len(forged).to_bytes(4, "little") + forged + data[size + 4 + length : -32]
    with pytest.raises(warner.errors.FileError):
        warner.Reports.from_bytes(text + hashlib.sha256(text).digest())


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


def test_forged_tallies_are_named_errors(tmp_path: Path) -> None:
    """Entries of a tally file replaced by all kinds of JSON: never another error than the library's
    own.
    """
    COIN.tally(COIN.reports([0, 1])).save(tmp_path / "t.json")
    text = (tmp_path / "t.json").read_text()
    strange = [
        None,
        True,
        -1,
        2**70,
        1.5,
        "x",
        "\ud800",
        [],
        [[]],
        {},
        {"a": 1},
        [2**60],
        ["1", "2"],
        [[1, 2], [3]],
    ]
    depth = sys.getrecursionlimit()
    for key in ("header", "kind", "shape", "counts", "n", "rows", "sha256"):
        for value in strange:
            data = json.loads(text)
            data["attributes"]["value"][key] = value
            with pytest.raises(warner.WarnerError):
                Tally.from_json(data["attributes"]["value"])
            (tmp_path / "u.json").write_text(json.dumps(data))
            with pytest.raises(warner.WarnerError):
                Tally.load(tmp_path / "u.json")
    for levels in (depth // 2, depth, 10 * depth):
        deep = "[" * levels + "]" * levels
        (tmp_path / "u.json").write_text(text.replace('"kind": "histogram"', f'"kind": {deep}'))
        with pytest.raises(warner.WarnerError):
            Tally.load(tmp_path / "u.json")
