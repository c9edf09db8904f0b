"""Frames say which mechanism made their reports, or people are told the order of codes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import warner
from tests.spec.app._command import run
from warner import Categorical, RandomizedResponse, Study
from warner.errors import FileError, FrameWarning, MismatchError

LABELS = Categorical(["no", "yes"])
COIN = RandomizedResponse(LABELS, 1.0)
MADE = COIN.randomize(["no", "yes", "yes"] * 9, np.random.default_rng(1))
STUDY = Study.parse("""
[public.ward]
values = ["a", "b"]
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.drinks]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
""")
pytestmark = pytest.mark.filterwarnings("error")


def _written_by_pandas(path: Path) -> Any:
    MADE.to_frame("pandas", "smokes").to_parquet(path)
    return path


def _written_by_arrow(path: Path) -> Any:
    pq.write_table(MADE.to_frame("pyarrow", "smokes"), path)
    return path


def _written_by_warner(path: Path) -> Any:
    warner.io.write_reports({"smokes": MADE}, str(path))
    return path


@pytest.mark.parametrize("write", [_written_by_pandas, _written_by_arrow, _written_by_warner])
@pytest.mark.parametrize(
    "read",
    [
        pd.read_parquet,
        pq.read_table,
        ds.dataset,
        lambda path: ds.dataset(path).scanner().to_reader(),
    ],
)
def test_parquet_keeps_the_header_and_the_mark_of_a_simulation(
    write: Callable[[Path], Any], read: Callable[[Path], Any], tmp_path: Path
) -> None:
    path = write(tmp_path / "r.parquet")
    assert COIN.tally(read(path)) == COIN.tally(MADE)
    with pytest.raises(MismatchError, match=r"mechanism has epsilon 3\.0, and its header has 1\.0"):
        RandomizedResponse(LABELS, 3.0).tally(read(path))


@pytest.mark.parametrize("backend", ["pyarrow", "pandas"])
@pytest.mark.parametrize(
    "other, words",
    [
        (RandomizedResponse(LABELS, 3.0), r"epsilon 3\.0"),
        (RandomizedResponse(Categorical(["yes", "no"]), 1.0), "the same values in another order"),
        (warner.UnaryEncoding(LABELS, 1.0), "the mechanism 'UnaryEncoding'"),
    ],
)
def test_frames_of_another_mechanism_are_refused(backend: str, other: Any, words: str) -> None:
    for count in (other.tally, other.reports):
        with pytest.raises(MismatchError, match=words):
            count(MADE.to_frame(backend))


def test_renamed_columns_are_known_and_other_columns_are_not() -> None:
    frame = MADE.to_frame("pandas").rename(columns={"report": "said"}).assign(week=1)
    assert COIN.tally(frame, "week", column="said").simulated
    with pytest.raises(MismatchError):
        RandomizedResponse(LABELS, 3.0).tally(frame, column="said")
    beside = MADE.to_frame("pandas").assign(other_report=1)
    with pytest.warns(FrameWarning):  # the header is not about this column
        assert RandomizedResponse(LABELS, 3.0).tally(beside, column="other").simulated


@pytest.mark.parametrize("how", ["join", "merge", "concat"])
def test_a_joined_frame_says_it_again_with_the_attrs_of_the_reports(how: str) -> None:
    """Rejects advice in the guide that does not hold."""
    frame = MADE.to_frame("pandas")
    ages = pd.DataFrame({"age": range(len(frame))})
    joined = {
        "join": lambda: frame.join(ages),
        "merge": lambda: frame.merge(ages, left_index=True, right_index=True),
        "concat": lambda: pd.concat([frame, ages], axis=1),
    }[how]()
    with pytest.warns(FrameWarning, match="does not say which mechanism"):
        COIN.tally(joined)
    joined.attrs = frame.attrs
    assert COIN.tally(joined) == COIN.tally(MADE)
    with pytest.raises(MismatchError):
        RandomizedResponse(LABELS, 3.0).tally(joined)


def test_a_study_compares_each_attribute() -> None:
    frame = MADE.to_frame("pandas", "smokes").assign(ward=["a"] * 13 + ["b"] * 14)
    with pytest.warns(FrameWarning, match=r"counted as RandomizedResponse .* 0 = no, 1 = yes\. If"):
        tallies = STUDY.tally(frame.assign(drinks_report=0), "ward")
    assert all(t.simulated for t in tallies.values())
    assert STUDY.mechanisms["smokes"].reports(frame, "smokes") == MADE


@pytest.mark.parametrize(
    "mechanism, frame, words",
    [
        (
            COIN,
            pl.DataFrame({"report": [0, 1]}),
            "RandomizedResponse with epsilon 1.0, where 0 = no",
        ),
        (COIN, pd.DataFrame({"x": [0, 1]}), "0 = no, 1 = yes. If that is right"),
        (COIN, pa.table({"report": [0, 1]}).to_reader(), "0 = no, 1 = yes"),
        (
            RandomizedResponse(warner.Integers(18, 90), 1.0),
            pl.LazyFrame({"report": [0, 1]}),
            "0 = 18, 1 = 19, 2 = 20, ..., 72 = 90",
        ),
        (
            warner.mechanisms.PerAttribute({"a": COIN, "b": COIN}),
            pl.DataFrame({"a.report": [0], "b.report": [0]}),
            "where 0 = no, 1 = yes; 'b' by RandomizedResponse with epsilon 1.0, where 0 = no",
        ),
        (
            warner.mechanisms.PerAttribute(dict.fromkeys("abcd", COIN)),
            pl.DataFrame({f"{name}.report": [0] for name in "abcd"}),
            "'c' by RandomizedResponse with epsilon 1.0, where 0 = no, 1 = yes; and 1 more. If",
        ),
    ],
)
def test_without_a_header_people_are_told_the_order_of_codes(
    mechanism: Any, frame: Any, words: str
) -> None:
    with pytest.warns(FrameWarning) as told:
        mechanism.tally(frame)
    assert words in str(told[0].message) and told[0].filename == __file__
    if not isinstance(frame, pa.RecordBatchReader):
        assert mechanism.tally(mechanism.reports(frame)).n == len(mechanism.reports(frame))


def test_the_call_that_says_so_counts_by_the_same_columns() -> None:
    frame = pl.DataFrame({"report": [0, 1] * 10, "ward": ["n", "s"] * 10, "year": [1] * 20})
    said = r"reports\(frame\), \{'ward': frame\['ward'\], 'year': frame\['year'\]\}\)\. If the"
    with pytest.warns(FrameWarning, match=said):
        warned = COIN.tally(frame, ["ward", "year"])
    by = {"ward": frame["ward"], "year": frame["year"]}
    assert COIN.tally(COIN.reports(frame), by) == warned


@pytest.mark.parametrize("text", ["{", '{"attributes": 3}', "[]", "3"])
def test_an_altered_header_is_refused(text: str) -> None:
    frame = MADE.to_frame("pandas")
    frame.attrs["warner"] = text
    with pytest.raises(
        FileError, match="a description of the mechanism that was changed after warner wrote it"
    ):
        COIN.tally(frame)


def test_the_command_line_reads_headers_of_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = '[attributes.smokes]\nvalues = [{}]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    Path("study.toml").write_text(text.format('"no", "yes"'))
    Path("other.toml").write_text(text.format('"yes", "no"'))
    _written_by_pandas(Path("pandas.parquet"))
    _written_by_arrow(Path("arrow.parquet"))
    with pytest.warns(warner.errors.FrameWarning, match="cannot say that its reports are simulat"):
        MADE.to_frame("polars", "smokes").write_parquet("polars.parquet")
    for name in ("pandas", "arrow"):
        done = run("tally", f"{name}.parquet", "--study", "study.toml", "-o", f"{name}.json")
        assert "these reports are simulated" in done.stderr, done.stderr
        assert "Every report belongs to this study" in done.stderr
        assert warner.Tally.load(f"{name}.json") == COIN.tally(MADE)
        done = run("tally", f"{name}.parquet", "--study", "other.toml", "-o", "no.json", ok=False)
        assert "the same values in another order" in done.stderr
        done = run("tally", f"{name}.parquet", "-o", "no.json", ok=False)
        assert "warner tally FILE --study" in done.stderr
    done = run("tally", "polars.parquet", "--study", "study.toml", "-o", "polars.json")
    assert "RandomizedResponse with epsilon 1.0, where 0 = no, 1 = yes." in done.stderr
    Path("folder.parquet").mkdir()
    for name in ("arrow", "polars"):
        Path(f"{name}.parquet").rename(f"folder.parquet/{name}.parquet")
    done = run("tally", "folder.parquet", "--study", "study.toml", "-o", "no.json", ok=False)
    assert "arrow.parquet: holds simulated reports, but" in done.stderr


def test_the_advice_for_a_study_is_of_the_study() -> None:
    """Rejects advice with a mechanism that who has a study has no name for."""
    study = Study.parse(
        '[public.ward]\nvalues = ["a", "b"]\n[attributes.smokes]\nvalues = ["no", "yes"]\n'
        'mechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    )
    frame = pa.table({"smokes_report": [0, 1, 1, 0] * 10, "ward": ["a", "b", "b", "a"] * 10})
    said = r"stop this warning with study\.tally\(\{'smokes': study\.mechanisms\['smokes'\]\.reports\(frame, column"
    with pytest.warns(FrameWarning, match=said):
        tallies = study.tally(frame, by="ward")
    # As it is advised, without a warning.
    reports = {"smokes": study.mechanisms["smokes"].reports(frame, column="smokes_report")}
    assert study.tally(reports, {"ward": frame["ward"]}) == tallies
