"""Spark and Sail give the tally of the same reports in memory, bit for bit, header included."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warner.spark
from warner import (
    Integers,
    LocalHashing,
    RandomizedResponse,
    Reports,
    Study,
    SubsetSelection,
    UnaryEncoding,
)
from warner.collector.submissions import SubmissionFormat
from warner.errors import ArgumentError, ArgumentTypeError, EmptyError, ReportError
from warner.io import count_statement, read_counts

N = 4000
_RNG = np.random.default_rng(11)
AGES = np.arange(N) % 20
DOMAIN = Integers(0, 19)
MECHANISMS = {
    "index": RandomizedResponse(DOMAIN, 1.0),
    "bits": UnaryEncoding(DOMAIN, 1.0),
    "subsets": SubsetSelection(DOMAIN, 1.0),
    "field": LocalHashing(DOMAIN, 1.0),
}
REPORTS = {
    name: Reports(m.header, m.randomize(AGES, _RNG).columns) for name, m in MECHANISMS.items()
}
WARDS = np.array(["north", "south", "west"])[np.arange(N) // 16 % 3].tolist()
STUDY = Study.parse("""
rows_per_person = 2
[public.ward]
values = ["north", "south", "west"]
[attributes.setting]
values = ["a", "b", "c"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.long]
integers = [0, 10]
mechanism = "SubsetSelection"
epsilon = 1.0
""")
ANSWERS: dict[str, Any] = {"setting": [*"abca"] * (N // 4), "long": np.arange(N) % 11}
OF_STUDY = {
    name: Reports(m.header, m.randomize(ANSWERS[name], _RNG).columns)
    for name, m in STUDY.mechanisms.items()
}


def _file(folder: Path, columns: dict[str, Any]) -> str:
    """A folder of four Parquet files, which is as many partitions."""
    table = pa.table(columns)
    (folder / "lake").mkdir()
    rows = -(-len(table) // 4)
    for i in range(4):
        pq.write_table(table[i * rows : (i + 1) * rows], folder / "lake" / f"{i}.parquet")
    return str(folder / "lake")


def _columns(reports: dict[str, Reports], mechanisms: Any, dtype: Any = None) -> dict[str, Any]:
    return {
        f"{name}_{part}": pa.array(column, dtype or pa.from_numpy_dtype(column.dtype))
        for name, own in reports.items()
        for part, column in mechanisms[name].schema.to_file(own.columns).items()
    }


def test_reports_of_every_kind(engine: Any, tmp_path: Path) -> None:
    """Unsigned columns too: Spark widens them, and Sail cannot hand them to Python."""
    path = _file(tmp_path, {"ward": WARDS, **_columns(REPORTS, MECHANISMS, pa.int64())})
    frame = engine.read.parquet(path)
    for name, mechanism in MECHANISMS.items():
        real = REPORTS[name]
        assert warner.spark.tally(mechanism, frame, name) == mechanism.tally(real), name
        slow = mechanism.tally(real, {"ward": WARDS})
        assert warner.spark.tally(mechanism, frame, name, by="ward") == slow, name
    kept = MECHANISMS["bits"].tally(REPORTS["bits"], keep_reports=True)
    assert warner.spark.tally(MECHANISMS["bits"], frame, "bits", keep_reports=True) == kept
    for name in ("index", "bits", "subsets"):
        mechanism = MECHANISMS[name]
        assert mechanism.tally(frame, column=name) == mechanism.tally(REPORTS[name]), name
    slow = MECHANISMS["bits"].tally(REPORTS["bits"], {"ward": WARDS})
    assert MECHANISMS["bits"].tally(frame, "ward", column="bits") == slow


def test_columns_of_bytes_and_blocks(engine: Any, tmp_path: Path) -> None:
    for per_row in (1, 16):
        columns: dict[str, Any] = {"ward": WARDS[::per_row]}
        for name, own in REPORTS.items():
            records = own.record_array()
            blocks = [records[i : i + per_row].tobytes() for i in range(0, N, per_row)]
            columns[f"{name}_records"] = pa.array(blocks, pa.binary())
        folder = tmp_path / str(per_row)
        folder.mkdir()
        frame = engine.read.parquet(_file(folder, columns))
        for name, mechanism in MECHANISMS.items():
            assert warner.spark.tally(mechanism, frame, name) == mechanism.tally(REPORTS[name])
        slow = MECHANISMS["bits"].tally(REPORTS["bits"], {"ward": WARDS})
        assert warner.spark.tally(MECHANISMS["bits"], frame, "bits", by="ward") == slow


def test_studies_tuples_and_public_groups(engine: Any, tmp_path: Path) -> None:
    columns = {"ward": WARDS, **_columns(OF_STUDY, STUDY.mechanisms, pa.int32())}
    frame = engine.read.parquet(_file(tmp_path, columns))
    wanted = {n: t.per_person(2) for n, t in STUDY.tally(OF_STUDY).items()}
    assert warner.spark.tally(STUDY, frame) == wanted
    groups = {n: t.per_person(2) for n, t in STUDY.tally(OF_STUDY, {"ward": WARDS}).items()}
    assert warner.spark.tally(STUDY, frame, by=["ward"]) == groups
    whole = STUDY.together
    joined = whole.schema.join({name: own.columns for name, own in OF_STUDY.items()})
    pairs = whole.count(joined, ways=2).per_person(2)
    assert warner.spark.tally(STUDY, frame, ways=2) == {"joint": pairs}


def test_randomized_in_the_workers(engine: Any, tmp_path: Path) -> None:
    columns = {
        "ward": WARDS,
        "id": list(range(N)),
        "setting": ANSWERS["setting"],
        "long": ANSWERS["long"],
    }
    frame = engine.read.parquet(_file(tmp_path, columns))
    for blocks in (None, 64):
        found = warner.spark.randomize(STUDY, frame, blocks)
        assert "id" not in found.columns and "setting" not in found.columns
        place = str(tmp_path / f"reports{blocks}")
        found.write.parquet(place)
        again = engine.read.parquet(place)
        tallies = warner.spark.tally(STUDY, again, by="ward")
        assert tallies["setting"].total().n == N
        counts = tallies["setting"].total().counts
        law = STUDY.mechanisms["setting"].channel()
        expected = law.matvec(np.array([0.5, 0.25, 0.25])) * N
        # Six standard deviations; answers that are sent as they are miss it by twenty.
        assert np.all(np.abs(counts - expected) < 6 * np.sqrt(N * 0.25))
    again = frame.repartition(3)
    bad = again.withColumnRenamed("setting", "x").withColumnRenamed("ward", "setting")
    bad = bad.withColumn("ward", bad["setting"])
    with pytest.raises(Exception, match="setting") as caught:
        warner.spark.randomize(STUDY, bad).collect()
    assert "south" not in str(caught.value)


@pytest.mark.parametrize(
    "value, words",
    [
        (None, "must have a report in each row"),
        (20, r"must be from 0 to 19"),
        (-1, r"must be from 0 to 19"),
    ],
)
def test_a_wrong_report_in_one_partition_is_named(
    engine: Any, value: Any, words: str, tmp_path: Path
) -> None:
    values = [*REPORTS["index"].columns["report"].tolist()[:-1], value]
    frame = engine.read.parquet(_file(tmp_path, {"index_report": pa.array(values, pa.int64())}))
    with pytest.raises(ReportError, match=words):
        MECHANISMS["index"].tally(frame)
    # Found by GROUP BY, and then by the workers, who know the partition. Sail does not say it.
    place = "" if os.environ.get("WARNER_SPARK") == "sail" else r"partition [0-3]: .*"
    with pytest.raises(ReportError, match=place + words):
        warner.spark.tally(MECHANISMS["index"], frame)


def test_what_is_no_frame_of_reports_is_refused(engine: Any, tmp_path: Path) -> None:
    frame = engine.read.parquet(_file(tmp_path, {"ward": WARDS, "index_report": AGES.tolist()}))
    index = MECHANISMS["index"]
    with pytest.raises(ArgumentTypeError, match="must be a Spark frame"):
        warner.spark.tally(index, {"index_report": [1]})
    with pytest.raises(ReportError, match="no setting_report among"):
        warner.spark.tally(STUDY, frame)
    with pytest.raises(ArgumentError, match="must be one of the attributes of the study"):
        warner.spark.tally(STUDY, frame, {"colour": "x"})
    with pytest.raises(ArgumentError, match="columns of the frame, which are: ward, index_report"):
        warner.spark.tally(index, frame, by="town")
    with pytest.raises(EmptyError, match="no reports"):
        warner.spark.tally(index, frame.limit(0))


def test_the_counting_statement_runs_on_spark(engine: Any, tmp_path: Path) -> None:
    columns = {"ward": WARDS, **_columns(OF_STUDY, STUDY.mechanisms, pa.int32())}
    engine.read.parquet(_file(tmp_path, columns)).createOrReplaceTempView("reports")
    statement = count_statement(
        STUDY.mechanisms, "reports", "spark", None, STUDY.public, study=STUDY.digest
    )
    found = engine.sql(statement)
    counts = tmp_path / "counts.csv"
    rows = [",".join("" if v is None else str(v) for v in row) for row in found.collect()]
    counts.write_text("\n".join([",".join(found.columns), *rows]) + "\n")
    tallies = read_counts(str(counts)).tallies(STUDY.mechanisms, STUDY.public, STUDY.digest)
    counted = {name: tally.per_person(STUDY.rows_per_person) for name, tally in tallies.items()}
    assert counted == STUDY.tally(OF_STUDY, {"ward": WARDS})


def test_submissions_are_read_and_none_of_them_is_dropped(engine: Any) -> None:
    study = Study.parse(
        """
        [public.ward]
        values = ["north", "south"]
        [public.age]
        integers = [18, 99]
        [attributes.smokes]
        values = ["no", "yes"]
        mechanism = "RandomizedResponse"
        epsilon = 1.0
        [attributes.drinks]
        integers = [0, 9]
        mechanism = "UnaryEncoding"
        epsilon = 1.0
        """
    )
    form, n = SubmissionFormat(study), 50
    public = {"ward": ["north", "south"] * (n // 2), "age": [18 + i for i in range(n)]}
    answers = {"smokes": ["yes"] * n, "drinks": [i % 10 for i in range(n)]}
    reports = {name: m.randomize(answers[name]) for name, m in study.mechanisms.items()}
    body = form.seal(reports, public)
    batch = form.parse(body)
    rows = [form.head + batch.rows[i:j].tobytes() for i, j in ((0, 1), (1, 20), (20, n), (20, n))]
    wrong = bytearray(rows[0])
    wrong[len(form.head) + 16] = 7  # a ward that was never declared
    bodies = [*rows, bytes(wrong), b"WRN1" + bytes(40), None, b"x"]
    frame = engine.createDataFrame([(b,) for b in bodies], "value binary")
    read = warner.spark.read_submissions(study, frame)
    counts = {row[0]: row[1] for row in read.groupBy("refused").count().collect()}
    assert counts == {None: n + 30, "malformed": 3, "other_study": 1}
    good = read.filter("refused IS NULL")
    once = good.dropDuplicates(["id"])
    assert warner.spark.tally(study, once, by=["ward", "age"]) == study.tally(reports, public)
    ids = {bytes(row[0]) for row in good.select("id").collect()}
    assert ids == {row.tobytes() for row in batch.ids}
    with pytest.raises(ReportError, match="row"):
        warner.spark.tally(study, read)
