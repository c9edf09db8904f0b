"""Reports are a column of numbers where a report is one number, and know the index of a frame."""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import warner
from warner import Categorical, Reports
from warner.errors import ArgumentError, ArgumentTypeError, FrameWarning
from warner.mechanisms import PerAttribute

LABELS = Categorical(["no", "yes"])
SURE = warner.RandomizedResponse(LABELS, float("inf"))  # reports that are the answers
COIN = warner.RandomizedResponse(LABELS, 1.0)
BITS = warner.UnaryEncoding(LABELS, 1.0)
PEOPLE = pd.DataFrame({"ward": ["a"] * 30 + ["b"] * 20, "ans": ["yes"] * 30 + ["no"] * 20})
SHUFFLED = PEOPLE.sample(frac=1, random_state=5)
REPORTS = SURE.randomize(SHUFFLED["ans"])


@pytest.mark.parametrize(
    "numbers",
    [
        np.asarray,
        list,
        lambda r: [r[i] for i in range(len(r))],
        lambda r: PEOPLE.assign(report=r)["report"],
        lambda r: pd.DataFrame(r)[0],
        pl.Series,
        lambda r: pl.DataFrame({"report": r})["report"],
        lambda r: pl.DataFrame({"a": [0] * 50}).with_columns(pl.Series("report", r))["report"],
    ],
)
def test_reports_of_one_number_fit_into_a_column(numbers: Callable[[Any], Any]) -> None:
    assert list(numbers(REPORTS)) == REPORTS.columns["report"].tolist()
    assert np.asarray(REPORTS, dtype=float).dtype == float
    with pytest.raises(ArgumentTypeError, match=r"bits of UnaryEncoding. Use reports.to_frame\("):
        numbers(BITS.randomize(PEOPLE["ans"]))


def test_reports_are_taken_by_numbers_and_slices_and_are_no_answers() -> None:
    assert REPORTS[-1] == REPORTS.columns["report"][-1] and len(REPORTS[3:5]) == 2
    with pytest.raises(ArgumentTypeError, match="by a number or a slice; got"):
        REPORTS["a"]  # type: ignore[index]
    with pytest.raises(ArgumentTypeError, match="must be the answers of people; got a Reports"):
        warner.RandomizedResponse(warner.Integers(0, 1), 1.0).randomize(REPORTS)
    assert SURE.reports(REPORTS) is REPORTS
    with pytest.raises(warner.errors.MismatchError, match=r"epsilon 1\.0"):
        COIN.reports(REPORTS)


def _groups(by: Any, reports: Reports = REPORTS) -> dict[Any, list[int]]:
    return {key: t.counts.tolist() for key, t in SURE.tally(reports, by).items()}


@pytest.mark.parametrize(
    "by",
    [
        {"ward": PEOPLE["ward"]},
        {"ward": SHUFFLED["ward"]},
        {"ward": SHUFFLED["ward"].to_numpy()},
        PEOPLE[["ward"]],
        PEOPLE["ward"],
        {
            "ward": warner.reports.public_columns.PublicColumn(
                Categorical(["a", "b"]), PEOPLE["ward"]
            )
        },
    ],
)
def test_public_columns_are_put_in_the_order_of_the_answers(by: Any) -> None:
    assert _groups(by) == {("a",): [0, 30], ("b",): [20, 0]}
    frame = SHUFFLED.assign(report=REPORTS)[["report"]]
    assert _groups(by, SURE.reports(frame)) == _groups(by)
    assert {k: t.counts.tolist() for k, t in SURE.tally(frame, by).items()} == _groups(by)


def test_frames_take_reports_and_groups_from_one_frame() -> None:
    frame = SHUFFLED.assign(report=REPORTS)
    for by in ("ward", ["ward"]):
        assert SURE.tally(frame, by, column="report") == SURE.tally(REPORTS, PEOPLE[["ward"]])
    with pytest.warns(FrameWarning, match="whose report each row is"):
        joined = PEOPLE.assign(report=REPORTS.to_frame("pandas")["report"])
    assert joined["report"].tolist() == [1] * 30 + [0] * 20
    # The covariates of a regression are put in order in the same way.
    fits = [
        warner.regress(COIN.randomize(SHUFFLED["ans"], np.random.default_rng(1)), rows[["ward"]])
        for rows in (PEOPLE, SHUFFLED)
    ]
    np.testing.assert_allclose(fits[0].coefficients, fits[1].coefficients)


def test_a_frame_to_give_away_has_neither_the_index_nor_the_order_of_the_answers() -> None:
    """Rejects a frame whose Parquet file has user ids beside the reports without a word, and one
    without the index whose rows still are in the order of the people.
    """
    people = pd.DataFrame({"ans": ["yes"] * 500 + ["no"] * 500})
    users = people.set_index(pd.Index([f"user{i}" for i in range(1000)]))
    reports = SURE.randomize(users["ans"])
    with pytest.warns(FrameWarning, match=r"to_frame\('pandas', keep_order=False\)"):
        assert reports.to_frame("pandas").index[0] == "user0"
    for backend in ("pandas", "pyarrow", "polars"):
        frame = reports.to_frame(backend, keep_order=False)
        column = np.asarray(frame["report"])
        assert column.sum() == 500 and 0.3 < column[:500].mean() < 0.7
        assert "user0" not in str(getattr(frame, "index", ""))
        assert SURE.tally(frame).counts.tolist() == SURE.tally(reports).counts.tolist()
        # Values in the order of the people do not belong to these rows; Polars cannot say so.
        if backend != "polars":
            week = {"week": [1] * 500 + [2] * 500}
            with pytest.raises(
                ArgumentError, match=r"to_frame\(keep_order=False\) put them in random order"
            ):
                SURE.tally(frame, week)
    # Row numbers name nobody, so they need no word; columns can be put beside them.
    kept = SURE.randomize(people["ans"]).to_frame("pandas")
    assert kept["report"].tolist() == [1] * 500 + [0] * 500


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_people_are_not_grouped_by_their_reports(library: Any) -> None:
    """Rejects pandas' own error, and with Polars groups of people by what they reported."""
    app = PerAttribute({"plan": SURE, "paid": COIN})
    frame = library({"plan.report": [0, 1] * 20, "paid.report": [1, 0] * 20, "ward": [1] * 40})
    for by in ("plan.report", ["ward", "plan.report"]):
        with pytest.raises(ArgumentError, match=r"holds reports; got 'plan\.report'\. The other"):
            app.tally(frame, by)
    assert list(app.tally(frame, "ward")) == [(1,)]


def _of_one_label() -> Reports:
    with pytest.warns(FrameWarning, match="rows: 50, different labels: 1"):
        return SURE.randomize(PEOPLE["ans"].set_axis([7] * 50))


@pytest.mark.parametrize(
    "reports, by",
    [
        (REPORTS, {"ward": PEOPLE["ward"].set_axis(range(100, 150))}),
        (REPORTS, {"ward": PEOPLE["ward"].set_axis([7] * 50)}),
        (_of_one_label(), {"ward": PEOPLE["ward"]}),
        (REPORTS[:10], {"ward": PEOPLE["ward"][:10]}),
    ],
)
def test_public_columns_of_another_index_are_refused(reports: Reports, by: Any) -> None:
    with pytest.raises(ArgumentError, match=r"'ward': must have the same index .* from one frame"):
        _groups(by, reports)


def test_columns_of_one_file_or_person_have_one_index(tmp_path: Any) -> None:
    both = PerAttribute({"a": COIN, "b": COIN})
    with pytest.raises(ArgumentError, match="must all have the same index"):
        both.randomize({"a": PEOPLE["ans"], "b": SHUFFLED["ans"]})
    pair = {"a": COIN.randomize(PEOPLE["ans"]), "b": COIN.randomize(SHUFFLED["ans"])}
    with pytest.raises(ArgumentError, match="must all have the same index"):
        warner.io.write_reports(pair, str(tmp_path / "r.parquet"))
    wards = warner.reports.public_columns.PublicColumn(Categorical(["a", "b"]), PEOPLE["ward"])
    warner.io.write_reports({"x": REPORTS}, str(tmp_path / "s.parquet"), public={"ward": wards})
    counted = warner.io.tally_file(str(tmp_path / "s.parquet"), ["ward"])["x"]
    assert {key: t.counts.tolist() for key, t in counted.items()} == _groups(PEOPLE[["ward"]])
    reports = both.randomize({"a": SHUFFLED["ans"], "b": SHUFFLED["ans"]})
    assert reports.index.equals(SHUFFLED.index)


def test_the_index_stays_in_memory(tmp_path: Any) -> None:
    named = PEOPLE.set_axis([f"person {i}" for i in range(50)])
    reports = SURE.randomize(named["ans"])
    assert reports[2:4].index.tolist() == ["person 2", "person 3"]
    reports.save(tmp_path / "r.warner")
    warner.io.write_reports(reports, str(tmp_path / "r.parquet"))
    for text in (
        pickle.dumps(reports),
        reports.to_bytes(),
        (tmp_path / "r.warner").read_bytes(),
        (tmp_path / "r.parquet").read_bytes(),
        str(reports.to_frame().to_pydict()).encode() + str(reports.to_frame().schema).encode(),
        repr(reports).encode(),
    ):
        assert b"person" not in text
    copy = pickle.loads(pickle.dumps(reports))
    assert copy == reports and copy.index is None


def test_the_warning_says_the_order_of_labels_and_no_numbers_for_cells() -> None:
    """Rejects "0 = 0, 1 = 1" for the cells of a square wave, which are no minutes."""
    answers = np.arange(50) % 10
    for device, said in [
        (warner.RandomizedResponse(warner.Integers(5, 14), 1.0), "0 = 5, 1 = 6"),
        (warner.SquareWave(warner.Integers(5, 14), 1.0), "SquareWave with epsilon 1.0. If that"),
    ]:
        frame = pd.DataFrame({"report": np.asarray(device.randomize(answers + 5))})
        with pytest.warns(warner.errors.FrameWarning, match=said):
            device.tally(frame)


IN_ORDER = ["before", "after"]
PERIODS = ["after", "before"] * 25


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.Categorical(PERIODS, IN_ORDER, ordered=True)),
        pd.Series(pd.Categorical(PERIODS, IN_ORDER)),
        pl.Series(PERIODS, dtype=pl.Enum(IN_ORDER)),
        pa.chunked_array(
            [pa.DictionaryArray.from_arrays([1, 0] * 25, pa.array(IN_ORDER), ordered=True)]
        ),
    ],
)
def test_groups_are_in_the_order_that_categories_state(column: Any) -> None:
    reports = SURE.randomize(PEOPLE["ans"].to_numpy())
    assert list(SURE.tally(reports, {"period": column})) == [("before",), ("after",)]
    library = type(column).__module__.split(".")[0]
    frame = reports.to_frame(library)
    if library == "pyarrow":
        frames = [frame.append_column("period", column)]
    elif library == "polars":
        frames = [frame.with_columns(period=column), frame.lazy().with_columns(period=column)]
    else:
        frames = [frame.assign(period=column)]
    for data in frames:
        tally = SURE.tally(data, "period")
        assert list(tally) == [("before",), ("after",)]
        assert tally["before"].counts.tolist() == [10, 15]


def test_categories_in_the_order_of_the_alphabet_add_up() -> None:
    one, two = (
        COIN.tally(COIN.reports([0, 1] * 10), {"ward": pd.Categorical([a, b] * 10)})
        for a, b in (("w9", "w10"), ("w9", "w8"))
    )
    assert list(one + two) == [("w10",), ("w8",), ("w9",)]


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(range(1000, 1050), name="user_id"),
        pd.Index(range(50), name="user_id"),
        pd.RangeIndex(1000, 1050),
        pd.Index([f"u{i}" for i in range(50)]),
    ],
)
def test_consecutive_ids_of_people_in_an_index_are_warned_of(index: pd.Index) -> None:
    """Rejects: no word about a RangeIndex, which pandas makes of consecutive ids."""
    reports = COIN.randomize(PEOPLE["ans"].set_axis(index))
    with pytest.warns(FrameWarning, match="whose report each row is"):
        reports.to_frame("pandas")
    COIN.randomize(PEOPLE["ans"]).to_frame("pandas")


def test_a_mask_is_refused_with_the_way_that_works() -> None:
    reports = COIN.randomize(PEOPLE["ans"])
    mask = PEOPLE["ward"] == "a"
    with pytest.raises(ArgumentTypeError) as refusal:
        reports[mask]
    (line,) = re.findall(r"write (mechanism.*)[.]$", str(refusal.value))
    assert len(eval(line, {"mechanism": COIN, "reports": reports, "mask": mask})) == 30


def test_public_columns_of_a_lazy_frame_and_of_other_rows_are_refused_with_a_way() -> None:
    reports, frame = COIN.randomize(PEOPLE["ans"].to_list()), pl.from_pandas(PEOPLE[["ward"]])
    study = warner.Study.parse(
        """
        [public.ward]
        values = ["a", "b"]
        [attributes.ans]
        values = ["no", "yes"]
        mechanism = "RandomizedResponse"
        epsilon = 1.0
        """
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for tally, given in ((COIN.tally, reports), (study.tally, {"ans": reports})):
            with pytest.raises(ArgumentTypeError, match=r"by=frame\.collect\(\)"):
                tally(given, frame.lazy())
            tally(given, frame.lazy().collect())
    with pytest.raises(ArgumentError, match=r"got 49 values\. Pass the values"):
        COIN.tally(reports, frame[1:])
