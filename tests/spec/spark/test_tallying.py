"""The counters of partitions add up to the tally of the same reports in memory, bit for bit."""

from __future__ import annotations

import pickle
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import warner.spark
from tests.refusals import refused
from tests.spec.spark._frame import Frame
from warner import (
    Integers,
    LocalHashing,
    RandomizedResponse,
    Reports,
    Study,
    SubsetSelection,
    UnaryEncoding as Bits,
)
from warner.domains.interval import Dates
from warner.errors import ArgumentError, ArgumentTypeError, EmptyError, ReportError, ValuesError
from warner.spark import _Job, _places

N = 600
_RNG = np.random.default_rng(11)
DOMAIN = Integers(0, 19)
MECHANISMS = {
    "index": RandomizedResponse(DOMAIN, 1.0),
    "bits": Bits(DOMAIN, 1.0),
    "subsets": SubsetSelection(DOMAIN, 1.0),
    "field": LocalHashing(DOMAIN, 1.0),
}
REPORTS = {
    name: Reports(m.header, m.randomize(np.arange(N) % 20, _RNG).columns)
    for name, m in MECHANISMS.items()
}
WARDS = np.array(["north", "south", "west"])[np.arange(N) // 20 % 3].tolist()
DAYS = [date(2026, 1, 1) + timedelta(days=i % 30) for i in range(N)]
STUDY = Study.parse("""
rows_per_person = 2
[public.ward]
values = ["north", "south", "west"]
[public.day]
dates = "week"
[attributes.setting]
values = ["a", "b", "c"]
mechanism = "RandomizedResponse"
missing = "answer"
epsilon = 1.0
[attributes.long]
integers = [0, 10]
mechanism = "SubsetSelection"
epsilon = 1.0
""")
ANSWERS: dict[str, Any] = {"setting": ["a", "b", "c", None] * (N // 4), "long": np.arange(N) % 11}
OF_STUDY = {
    name: Reports(m.header, m.randomize(ANSWERS[name], _RNG).columns)
    for name, m in STUDY.mechanisms.items()
}


def _columns(reports: dict[str, Reports], mechanisms: Any) -> dict[str, Any]:
    return {
        f"{name}_{part}": pa.array(column, pa.int32())
        for name, own in reports.items()
        for part, column in mechanisms[name].schema.to_file(own.columns).items()
    }


@pytest.fixture(autouse=True)
def by_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The frames of these tests have workers and no GROUP BY; tests/spark has engines with both."""
    monkeypatch.setattr(_Job, "_by_engine", lambda *_: None)


FRAME = Frame.of({"ward": WARDS, "day": DAYS, **_columns(REPORTS, MECHANISMS)})
OF_PEOPLE = Frame.of({"ward": WARDS, "day": DAYS, **_columns(OF_STUDY, STUDY.mechanisms)})


@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_of_every_kind(name: str) -> None:
    mechanism, real = MECHANISMS[name], REPORTS[name]
    assert warner.spark.tally(mechanism, FRAME, name) == mechanism.tally(real)
    slow = mechanism.tally(real, {"ward": WARDS})
    assert warner.spark.tally(mechanism, FRAME, name, by="ward") == slow
    kept = mechanism.tally(real, keep_reports=True)
    assert warner.spark.tally(mechanism, FRAME, name, keep_reports=True) == kept
    both = mechanism.tally(real, {"ward": WARDS, "day": DAYS}, keep_reports=True)
    by = ["ward", "day"]
    assert warner.spark.tally(mechanism, FRAME, name, by=by, keep_reports=True) == both


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("per_row", [1, 20])
def test_bytes_and_blocks(name: str, per_row: int) -> None:
    mechanism, real = MECHANISMS[name], REPORTS[name]
    records = real.record_array()
    blocks = [records[i : i + per_row].tobytes() for i in range(0, N, per_row)]
    frame = Frame.of({"ward": WARDS[::per_row], "q_records": pa.array(blocks, pa.binary())})
    assert warner.spark.tally(mechanism, frame, "q") == mechanism.tally(real)
    slow = mechanism.tally(real, {"ward": WARDS})
    assert warner.spark.tally(mechanism, frame, by="ward") == slow


def test_studies_tuples_and_weeks() -> None:
    wanted = {n: t.per_person(2) for n, t in STUDY.tally(OF_STUDY).items()}
    assert warner.spark.tally(STUDY, OF_PEOPLE) == wanted
    slow = STUDY.tally(OF_STUDY, {"ward": WARDS, "day": DAYS})
    by = {n: t.per_person(2) for n, t in slow.items()}
    assert warner.spark.tally(STUDY, OF_PEOPLE, by=["ward", "day"]) == by
    whole = STUDY.together
    joined = whole.schema.join({name: own.columns for name, own in OF_STUDY.items()})
    pairs = whole.count(joined, ways=2).per_person(2)
    assert warner.spark.tally(STUDY, OF_PEOPLE, ways=2) == {"joint": pairs}
    weeks = MECHANISMS["bits"].tally(
        REPORTS["bits"], {"day": warner.reports.public_columns.PublicColumn(Dates("week"), DAYS)}
    )
    assert warner.spark.tally(MECHANISMS["bits"], FRAME, "bits", by={"day": Dates("week")}) == weeks


def test_few_rows_are_handed_over_where_each_holds_many_reports() -> None:
    frame = Frame.of({"records": pa.array([bytes(60_000)], pa.binary())}, parts=1)
    tally = warner.spark.tally(MECHANISMS["bits"], frame)
    assert tally.n == 20_000
    ((name, value),) = frame.settings.items()  # as it was before
    assert name.endswith("maxRecordsPerBatch") and value == "10000"


@pytest.mark.parametrize(
    "column, words",
    [
        (pa.array([1, None]), "must have a report in each row"),
        (
            pa.array([1, 2, 3, 4, 20]),
            r"must be from 0 to 19; got another number in row 0 of the partition",
        ),
        (pa.array([1, -1]), r"must be from 0 to 19"),
        (pa.array([Decimal("0.5")]), "not whole"),
        (pa.array(["1"]), "of integers"),
        (pa.array([0.5]), "not whole"),
    ],
)
def test_what_is_no_report_is_refused(column: Any, words: str) -> None:
    with pytest.raises(ReportError, match=f"frame: .*{words}"):
        warner.spark.tally(MECHANISMS["index"], Frame.of({"report": column}))


@pytest.mark.parametrize("dtype", [pa.decimal128(20, 0), pa.float64()], ids=str)
def test_whole_decimals_and_floats_are_counted(dtype: Any) -> None:
    values = [Decimal(int(v)) for v in REPORTS["index"].columns["report"]]
    frame = Frame.of({"report": pa.array(values, pa.decimal128(20, 0)).cast(dtype)})
    mechanism = MECHANISMS["index"]
    assert warner.spark.tally(mechanism, frame) == mechanism.tally(REPORTS["index"])


def test_what_is_no_frame_of_reports_is_refused() -> None:
    index = MECHANISMS["index"]
    with pytest.raises(ArgumentTypeError, match="must be a Spark frame; got a dict"):
        warner.spark.tally(index, {"index_report": [1]})
    with pytest.raises(ArgumentTypeError, match="must be a Spark frame; got a pyarrow Table"):
        warner.spark.tally(index, pa.table({"index_report": [1]}))
    refused(ReportError, "no setting_report among", warner.spark.tally, STUDY, FRAME)
    with pytest.raises(ArgumentError, match="must be one of the attributes of the study"):
        warner.spark.tally(STUDY, OF_PEOPLE, {"colour": "x"})
    refused(ArgumentTypeError, "attribute: its columns", warner.spark.tally, STUDY, OF_PEOPLE, "x")
    for by in ("town", []):
        refused(
            ArgumentError,
            "columns of the frame, which are: ward, day",
            warner.spark.tally,
            index,
            FRAME,
            "index",
            by=by,
        )
    refused(ArgumentError, "ways", warner.spark.tally, index, FRAME, "index", ways=2)
    with pytest.raises(EmptyError, match="no reports"):
        warner.spark.tally(index, Frame.of({"report": pa.array([], pa.int64())}))
    missing = Frame.of({"ward": [None, "north"], "report": [1, 2]})
    refused(ReportError, "public column 'ward'", warner.spark.tally, index, missing, by="ward")


PEOPLE = Frame.of(
    {"ward": WARDS, "day": DAYS, "id": list(range(N)), **{n: list(a) for n, a in ANSWERS.items()}}
)


@pytest.mark.parametrize("blocks", [None, 16])
def test_answers_are_randomized_by_partition(
    blocks: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ArgumentError, match="does not number its partitions"):
        warner.spark.randomize(STUDY, PEOPLE, blocks, seed=5)
    monkeypatch.setattr("warner.spark.partition", lambda: 3)
    found = warner.spark.randomize(STUDY, PEOPLE, blocks, seed=5)
    assert found.table() == warner.spark.randomize(STUDY, PEOPLE, blocks, seed=5).table()
    again = warner.spark.randomize(STUDY, PEOPLE, blocks)
    assert not {"id", "setting", "long"} & set(found.columns)
    tallies = warner.spark.tally(STUDY, found, by=["ward", "day"])
    people = STUDY.tally(OF_STUDY, {"ward": WARDS, "day": DAYS})
    assert tallies["long"].sizes.tolist() == people["long"].sizes.tolist()
    assert found.table() != again.table()
    if blocks is not None:
        lengths = [len(v) for v in found.table()["setting_records"].to_pylist()]
        assert max(lengths) <= blocks * STUDY.mechanisms["setting"].schema.bytes_per_report


def test_answers_outside_their_domain_are_not_shown() -> None:
    bad = Frame.of({"ward": ["north"], "day": [DAYS[0]], "setting": ["secret"], "long": [1]}, 1)
    said = refused(ValuesError, "", warner.spark.randomize, STUDY, bad)
    assert "secret" not in said
    for wrong in ((STUDY, 3), (3, PEOPLE)):
        refused(ArgumentTypeError, "", warner.spark.randomize, *wrong)
    refused(ArgumentError, "", warner.spark.randomize, STUDY, PEOPLE, blocks=0)


def test_a_frame_that_changes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = STUDY.mechanisms["setting"]
    fewer = setting.count({"report": OF_STUDY["setting"].columns["report"][1:]})
    monkeypatch.setattr(
        _Job, "_by_engine", lambda job, name, frame: fewer if name == "setting" else None
    )
    refused(ReportError, "Write the frame to files once", warner.spark.tally, STUDY, OF_PEOPLE)


def test_the_work_of_a_partition_can_be_sent() -> None:
    places = _places({"q": MECHANISMS["bits"]}, {"q": "bits"}, FRAME, False)
    job = pickle.loads(pickle.dumps(_Job({"q": MECHANISMS["bits"]}, places, {})))
    batches = FRAME.table().to_batches()
    (rows,) = list(job.count(iter(batches)))
    assert (
        sum(
            r
            for c, r in zip(rows["cell"].to_pylist(), rows["reports"].to_pylist(), strict=True)
            if c == -1
        )
        == N
    )
