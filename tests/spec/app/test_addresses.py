"""Files at addresses are counted as files of this machine are, and no message shows a secret.

The store is the memory of this process, which fsspec reads as it reads S3.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from tests.spec.app._command import run
from warner import Study
from warner.io import data_sets, write_reports
from warner.io.data_sets import files_of
from warner.reports.tally import load_tallies

STUDY = """
[public.ward]
values = ["north", "the south"]
[attributes.setting]
values = ["a", "b", "c"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.long]
integers = [0, 20]
mechanism = "UnaryEncoding"
epsilon = 1.0
"""
PLAN = Study.parse(STUDY)
N = 60
_RNG = np.random.default_rng(5)
_ANSWERS: dict[str, Any] = {"setting": ["a", "b", "c"] * 20, "long": np.arange(N) % 21}
COLUMNS = {
    f"{name}_{part}": pa.array(column)
    for name, m in PLAN.mechanisms.items()
    for part, column in m.schema.to_file(m.randomize(_ANSWERS[name], _RNG).columns).items()
}
TABLE = pa.table(COLUMNS)
WANTED = PLAN.tally(TABLE)
WARDS = ["north"] * 36 + ["the south"] * 24
SECRET = "secret-7391"


class Store(MemoryFileSystem):
    """A store in memory that says what was read of it."""

    protocol = "memory"
    store: dict[str, Any] = {}  # noqa: RUF012 - as in its base, of all instances
    pseudo_dirs = [""]  # noqa: RUF012
    read = 0
    changes = False
    fails: Exception | None = None

    def open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        file = super().open(path, mode, **options)
        if mode == "rb":
            original = file.read

            def read(size: int = -1) -> bytes:
                if Store.fails:
                    raise Store.fails
                found = original(size)
                Store.read += len(found)
                return found

            file.read = read
        return file

    def info(self, path: str, **options: Any) -> Any:
        found = super().info(path, **options)
        return found | ({"ETag": Store.read} if Store.changes else {})


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """Five objects in folders of wards, in Parquet and CSV, and what engines leave."""
    fsspec.register_implementation("memory", Store, clobber=True)
    data_sets._system.cache_clear()
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    store = Store(skip_instance_cache=True)
    for i in range(5):
        rows = TABLE[12 * i : 12 * i + 12]
        ward = "ward=north" if i < 3 else "ward=the%20south"
        path = f"/lake/reports/{ward}/part-{i}.{'csv' if i % 2 else 'parquet'}"
        with store.open(path, "wb") as file:
            pa.csv.write_csv(rows, file) if i % 2 else pq.write_table(rows, file)
    for path in ("_SUCCESS", "_temporary/part-9.parquet", "notes.txt"):
        store.pipe(f"/lake/reports/{path}", b"not whole")
    Store.read, Store.changes, Store.fails = 0, False, None
    yield store
    store.rm("/", recursive=True)
    Store.store.clear()


def _tally(*options: str, ok: bool = True) -> Any:
    done = run("tally", *options, "--study", "study.toml", "-o", "t.json", ok=ok)
    assert SECRET not in done.output
    return done


def _written(store: Store, path: str, table: pa.Table) -> None:
    with store.open(path, "wb") as file:
        pq.write_table(table, file)


FIRST = "/lake/reports/ward=north/part-0.parquet"


def test_folders_patterns_and_objects_are_counted(store: Store) -> None:
    for path in ("memory://lake/reports/", "memory://lake/reports", "memory://lake/**/*.*", "memory://lake/reports/ward=*"):  # fmt: skip
        done = _tally(path)
        assert "60 rows in 5 files" in done.stderr
        assert load_tallies("t.json") == WANTED, path
        said = "1 file was left out, because its name has no known ending. It is memory:///lake/reports/not"
        assert said in done.stderr or path.endswith("=*")
    _tally("memory://lake/reports/", "--by", "ward")
    slow = PLAN.tally(TABLE.append_column("ward", [WARDS]), "ward")
    assert load_tallies("t.json") == slow
    objects = [file.path for file in files_of("memory://lake/reports/")]
    _tally(*objects)
    assert load_tallies("t.json") == WANTED
    done = _tally(f"memory:/{FIRST}", f"memory:/{FIRST}", "memory://lake/reports", ok=False)
    assert "counted twice" in done.stderr
    for nothing in ("memory://lake/reports/x/", "memory://lake/*.parquet", "memory://empty/"):
        assert _tally(nothing, ok=False).stderr.startswith(f"Error: {nothing}: ")


def test_names_with_signs_of_patterns_are_names(store: Store) -> None:
    _written(store, "/odd/part[1]-a*.parquet", TABLE)
    _written(store, "/odd/part1-ab.parquet", TABLE[:1])
    _tally("memory://odd/")
    assert load_tallies("t.json")["setting"].n == 61


def test_only_the_columns_of_reports_are_fetched(store: Store) -> None:
    rng = np.random.default_rng(1)
    many = pa.concat_tables([TABLE] * 500)
    noise = {f"noise{i}": rng.random(len(many)) for i in range(8)}
    wide = pa.table({**dict(zip(many.column_names, many.columns, strict=True)), **noise})
    _written(store, "/wide/a.parquet", wide)
    size, Store.read = store.size("/wide/a.parquet"), 0
    _tally("memory://wide/a.parquet", "--allow-implausible", "--allow-equal")
    assert load_tallies("t.json")["long"].n == 30_000
    assert Store.read < size / 4, (Store.read, size)


def test_report_files_of_warner_are_fetched_whole_and_checked(store: Store) -> None:
    for i, suffix in enumerate(("parquet", "csv")):
        reports = {n: m.randomize(_ANSWERS[n]) for n, m in PLAN.mechanisms.items()}
        write_reports(reports["setting"], f"own-{i}.{suffix}", "setting")
        store.pipe(f"/own/part-{i}.{suffix}", Path(f"own-{i}.{suffix}").read_bytes())
    done = run("tally", "memory://own/", "-o", "t.json")
    assert "120 reports" in done.stderr and "another program" not in done.stderr
    run("tally", "own-0.parquet", "own-1.csv", "-o", "own.json", "--allow-equal")
    assert Path("t.json").read_bytes() == Path("own.json").read_bytes()
    whole = Path("own-0.parquet").read_bytes()
    store.pipe("/own/copy.parquet", whole)
    assert "counted twice" in run("tally", "memory://own/", ok=False).stderr
    store.rm("/own/copy.parquet")
    place = whole.index(b"PAR1", 4)
    store.pipe(
        "/own/part-0.parquet", whole[:100] + bytes([whole[100] ^ 1]) + whole[101 : place + 4]
    )
    done = run("tally", "memory://own/", ok=False)
    assert "own/part-0.parquet" in done.stderr and ".warner-" not in done.stderr
    done = run("tally", f"memory:/{FIRST}", ok=False)
    assert "with --study if another program wrote the file" in done.stderr


def test_a_truncated_object_among_many_is_named_and_a_restart_goes_on(store: Store) -> None:
    path = "/lake/reports/ward=north/part-2.parquet"
    whole = store.cat_file(path)
    for wrong in (whole[:-20], whole[:4], b"", whole[: len(whole) // 2]):
        store.pipe(path, wrong)
        done = _tally("memory://lake/reports/", "--checkpoint", "c.jsonl", ok=False)
        assert f"memory://{path}" in done.stderr and not Path("t.json").exists()
    store.pipe(path, whole)
    _tally("memory://lake/reports/", "--checkpoint", "c.jsonl")
    assert load_tallies("t.json") == WANTED


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_wrong_row_is_named_by_the_address(store: Store, suffix: str) -> None:
    place = TABLE.column_names.index("setting_report")
    table = TABLE.set_column(place, "setting_report", [[0] * 40 + [3] * 20])
    with store.open(f"/bad/a.{suffix}", "wb") as file:
        pa.csv.write_csv(table, file) if suffix == "csv" else pq.write_table(table, file)
    done = _tally("memory://bad/", ok=False)
    assert f"memory:///bad/a.{suffix}: setting_report: must be from 0 to 2" in done.stderr
    assert "data row 41" in done.stderr and ".warner-" not in done.stderr


def test_what_is_counted_is_not_read_again_and_what_was_changed_is_refused(store: Store) -> None:
    count = ("memory://lake/reports/", "--checkpoint", "c.jsonl")
    _tally(*count)
    whole, Store.read = Path("t.json").read_bytes(), 0
    _tally(*count)
    assert Path("t.json").read_bytes() == whole and Store.read == 0
    text = "/lake/reports/ward=north/part-1.csv"
    store.pipe(text, store.cat_file(text))  # written again, and not changed
    _tally(*count)
    _written(store, "/lake/reports/ward=north/part-7.parquet", TABLE[:12])
    _tally(*count)
    assert load_tallies("t.json")["long"].n == 72
    for path in (FIRST, text):
        kept = store.cat_file(path)
        with store.open(path, "wb") as file:
            rows = TABLE[1:13]
            pa.csv.write_csv(rows, file) if path == text else pq.write_table(rows, file)
        assert "was changed after it was counted" in _tally(*count, ok=False).stderr
        store.pipe(path, kept)


def test_an_object_that_changes_meanwhile_is_refused(store: Store) -> None:
    Store.changes = True
    done = _tally(f"memory:/{FIRST}", ok=False)
    assert f"memory://{FIRST}: was changed while it was counted" in done.stderr


@pytest.mark.parametrize("error", [PermissionError, type("ClientError", (Exception,), {})])
def test_errors_of_a_store_do_not_show_what_it_says(store: Store, error: Any) -> None:
    Store.fails = error(f"no access with {SECRET}")
    for path in (FIRST, "/lake/reports/ward=north/part-1.csv"):
        done = _tally(f"memory:/{path}", ok=False)
        assert f"memory://{path}" in done.stderr
        assert f"got {error.__name__}" in done.stderr or "cannot be read" in done.stderr


@pytest.mark.parametrize(
    "address, said",
    [
        (f"https://host/a.parquet?X-Amz-Signature={SECRET}", "https://host/a.parquet?..."),
        (f"https://host:8080/b@c/a.csv#{SECRET}", "https://host:8080/b@c/a.csv"),
        (f"https://me:{SECRET}@host/a.csv", "https://...@host/a.csv"),
        (f"https://{SECRET}@host/a.csv", "https://...@host/a.csv"),
        (f"s3://key:{SECRET}@bucket/a/*.csv", "s3://...@bucket/a/*.csv"),
        (f"s3://key:{SECRET}/with/slashes@bucket/a.csv", "s3://...@bucket/a.csv"),
        (f"s3://key:{SECRET}?/signs@bucket/a.csv", "s3://...@bucket/a.csv"),
        (f"s3://b/a.csv?s3_secret_access_key={SECRET}/+=", "s3://b/a.csv?..."),
        (f"abfs://box:{SECRET}@account/a.csv", "abfs://...@account/a.csv"),
        ("abfs://box@account/a.csv", "abfs://box@account/a.csv"),
        ("s3://bucket/year=2024/part-?.csv", "s3://bucket/year=2024/part-?.csv"),
    ],
)
def test_an_address_is_named_without_secrets(address: str, said: str) -> None:
    found = data_sets.redacted_address(address)
    assert found == said
    done = run("estimate", address, ok=False)
    assert SECRET not in done.output


def test_signed_addresses_leave_no_secret(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address with a query is one file. Its name has no query, in a checkpoint too."""
    monkeypatch.setattr(data_sets, "_WEB", ("memory",))
    signed = f"memory://web/a.parquet?X-Amz-Signature={SECRET}"
    _written(store, signed.removeprefix("memory:/"), TABLE)
    for i in range(2):
        _tally(signed, "--checkpoint", "c.jsonl")
        assert load_tallies("t.json") == WANTED
        assert SECRET not in Path("c.jsonl").read_text()
        if not i:  # signed anew for the next night
            signed += "2"
            _written(store, signed.removeprefix("memory:/"), TABLE)
    done = _tally(signed, signed.removesuffix("2"), ok=False)
    assert "stands for several addresses" in done.stderr
    _written(store, signed.removeprefix("memory:/"), TABLE.drop_columns(["setting_report"]))
    assert "memory://web/a.parquet?...: " in _tally(signed, ok=False).stderr
    assert "memory://web/b.csv?...: " in _tally(f"memory://web/b.csv?sig={SECRET}", ok=False).stderr


def test_without_fsspec_duckdb_reads_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB reads addresses of files of this machine without an extension."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(data_sets, "_system_of", lambda address: None)
    root = f"file://{tmp_path}"
    found = {f"{root}/lake/ward={ward}/a.parquet": None for ward in ("north", "the south")}
    for i, ward in enumerate(("north", "the south")):
        Path(f"lake/ward={ward}").mkdir(parents=True)
        pq.write_table(TABLE[36 * i : 36 + 24 * i], f"lake/ward={ward}/a.parquet")
    Path("study.toml").write_text(STUDY)
    for way in ("lake", "lake/", "lake/*/*.parquet"):
        # DuckDB lists files of this machine by their paths.
        listed = [f"file://{path}" for path in data_sets.listed(f"{root}/{way}")]
        assert listed == list(found), way
    monkeypatch.setattr("warner.io.data_sets.listed", lambda address: found)
    count = (f"{root}/lake", "--by", "ward", "--checkpoint", "c.jsonl")
    _tally(*count)
    assert load_tallies("t.json") == PLAN.tally(TABLE.append_column("ward", [WARDS]), "ward")
    _tally(*count)
    pq.write_table(TABLE[:36], "lake/ward=north/a.parquet", compression="none")
    assert "was changed after it was counted" in _tally(*count, ok=False).stderr
    Path("lake/ward=north/a.parquet").unlink()
    write_reports(
        PLAN.mechanisms["setting"].randomize(["a"]), "lake/ward=north/a.parquet", "setting"
    )
    done = _tally(f"{root}/lake", ok=False)
    assert "is a report file of warner, which DuckDB cannot download as a whole" in done.stderr


def test_where_nothing_reads_an_address_both_remedies_are_named(store: Store) -> None:
    for address in (f"nowhere://me:{SECRET}@bucket/*.parquet", "nowhere://bucket/a.parquet"):
        done = _tally(address, ok=False).stderr
        assert "s3fs" in done and "INSTALL httpfs" in done and "bucket" in done
