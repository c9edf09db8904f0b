"""Answers of a data frame, randomised as the study says."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

from tests.refusals import refused
from warner import Study, Tally, compare_groups, estimate
from warner.app.cli import main
from warner.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    FrameWarning,
    ReportError,
    ValuesError,
)
from warner.io import read_public, tally_file, write_reports

WEEKS = """
[public.week]
values = ["W48", "W49"]
[attributes.theme]
values = ["light", "dark", "auto"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.minutes]
interval = { low = 0, high = 240, bins = 48 }
mechanism = "SquareWave"
epsilon = 1.0
[attributes.items]
items = ["sync", "share", "print", "search"]
epsilon = 1.0
"""
OTHERS = """
[attributes.sex]
values = ["f", "m"]
[attributes.smokes]
values = ["no", "yes"]
missing = "answer"
[[joint]]
attributes = ["sex", "smokes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.pay]
keys = ["police", "fire"]
interval = { low = 0, high = 100, bins = 4 }
mechanism = "KeyValue"
value = "piecewise"
epsilon = 1.0
[attributes.services]
items = ["bank", "post"]
split = "/"
epsilon = 1.0
[attributes.units]
integers = [0, 9]
missing = "drop"
mechanism = "RandomizedResponse"
epsilon = 1.0
"""
DRAWN = """
[ask]
each = "pair"
epsilon = 2.0
[attributes.theme]
values = ["light", "dark", "auto"]
[attributes.size]
integers = [0, 9]
[attributes.sex]
values = ["f", "m"]
"""
ANSWERS = {
    "theme": ["light", "dark", "auto", "dark"] * 30,
    "minutes": [0.0, 12.5, 240.0, 30.25] * 30,
    "items": ["sync;share", "", "print", "search, sync"] * 30,
    "week": ["W48", "W49", "W49", "W48"] * 30,
    "sex": ["f", "m", "m", "f"] * 30,
    "smokes": ["no", "", "yes", "yes"] * 30,
    "pay_key": ["police", "fire", "fire", "fire"] * 30,
    "pay_value": [1.0, 2.0, 99.5, 3.0] * 30,
    "services/bank": [0, 1, 1, 0] * 30,
    "services/post": ["yes", "no", "no", "no"] * 30,
    "size": [3, 4, 9, 0] * 30,
    "units": [3, None, 9, 0] * 30,
}


def _command(study: str, folder: Path) -> dict[str, Any]:
    (folder / "study.toml").write_text(study)
    pl.DataFrame(ANSWERS, strict=False).write_csv(folder / "answers.csv")
    files = [str(folder / name) for name in ("study.toml", "answers.csv", "reports.parquet")]
    options = ["--seed", "1", "--keep-order", "-o"]
    result = CliRunner().invoke(main, ["randomize", *files[:2], *options, files[2]])
    assert result.exit_code == 0, result.output
    return tally_file(files[2])


@pytest.mark.filterwarnings("ignore::warner.errors.FrameWarning")
@pytest.mark.parametrize("library", ["pandas", "polars", "lazy", "dict"])
@pytest.mark.parametrize("study", [WEEKS, OTHERS, DRAWN], ids=["weeks", "others", "drawn"])
def test_a_frame_is_randomised_as_the_command_randomises_a_file(
    study: str, library: str, tmp_path: Path
) -> None:
    """Rejects: a method that knows only one column for each question, as pandas has it, or keeps
    people whom the study leaves out."""
    frame: Any = pl.DataFrame(ANSWERS, strict=False)
    frame = {"pandas": frame.to_pandas, "lazy": frame.lazy}.get(library, lambda: frame)()
    frame = ANSWERS if library == "dict" else frame
    plan = Study.parse(study)
    tallies = plan.tally(plan.randomize(frame, np.random.default_rng(1)))
    assert tallies == {n: tally.total() for n, tally in _command(study, tmp_path).items()}


def test_items_stand_beside_other_questions_and_are_counted_by_week() -> None:
    """Rejects: study.together, which no study with items has, as the only way to reports."""
    study, rng = Study.parse(WEEKS), np.random.default_rng(2)
    frame = pd.DataFrame(ANSWERS, index=np.arange(120)[::-1])
    frame["items"] = [text.replace(", ", ";").split(";") if text else [] for text in frame["items"]]
    tallies = study.tally(study.randomize(frame, rng), frame["week"].sample(frac=1, random_state=1))
    assert {tally["W48",].n for tally in tallies.values()} == {60}
    assert estimate(tallies["items"].total())["sync"].high <= 1
    said = refused(ArgumentError, "only some items of items", lambda: study.together)
    assert "study.tally(study.randomize(answers))" in said


def test_what_is_no_answer_is_refused_and_quoted_nowhere() -> None:
    """Rejects: the errors of Arrow, which quote answers."""
    study, good = Study.parse(WEEKS), pl.DataFrame(ANSWERS, strict=False).to_pandas()
    renamed = good.rename(columns={"theme": "Theme"})
    said = refused(ArgumentError, "no column 'theme'", study.randomize, renamed)
    assert "'Theme' meant" in said
    refused(ArgumentTypeError, "a data frame", study.randomize, 3)
    refused(EmptyError, "empty", study.randomize, good.head(0))
    mixed = good.assign(theme=[1, *["secret"] * 119])
    said = refused(ArgumentTypeError, "of one type", study.randomize, mixed)
    assert "secret" not in said
    refused(ValuesError, "'minutes', data row 1", study.randomize, good.assign(minutes=999.0))
    refused(ArgumentError, "different lengths", study.randomize, {**ANSWERS, "theme": ["light"]})


def test_groups_and_cards_are_randomised_where_they_belong() -> None:
    """Rejects: answers that people randomised on paper, and randomised once more."""
    one = '[attributes.smokes]\nvalues = ["no", "yes"]\n'
    groups = "".join(
        f'[[groups]]\nname = "{n}"\n[groups.attributes.smokes]\nepsilon = {e}\n'
        for n, e in (("north", 1.0), ("south", 2.0))
    )
    study = Study.parse(f'{one}mechanism = "RandomizedResponse"\n{groups}')
    answers = {"smokes": ["no", "yes"]}
    refused(ArgumentError, r"study.groups\['north'\].randomize", study.randomize, answers)
    assert len(study.groups["north"].randomize(answers)["smokes"]) == 2
    card = Study.parse(f'{one}design = "crosswise:1/4"\n')
    refused(ArgumentError, "on paper", card.randomize, answers)
    assert card.randomize(answers, np.random.default_rng(1))["smokes"].simulated


def test_people_who_are_left_out_are_counted_aloud() -> None:
    """Rejects: fewer reports than rows in silence."""
    study = Study.parse(OTHERS)
    with pytest.warns(FrameWarning, match="30 of 120 people are left out"):
        reports = study.randomize(pl.DataFrame(ANSWERS, strict=False).to_pandas())
    assert reports["units"].index.tolist()[:4] == [0, 2, 3, 4]


def test_results_of_a_study_have_the_name_of_the_question() -> None:
    """Rejects: "value: 120 simulated reports" above the table of a question that has a name."""
    study, rng = Study.parse(WEEKS), np.random.default_rng(2)
    weeks = study.tally(study.randomize(ANSWERS, rng), {"week": ANSWERS["week"]})
    for name, tally in weeks.items():
        first, second = (tally[key] for key in tally)
        for part in (
            tally,
            tally.total(),
            tally.by("week"),
            first,
            first + second,
            [first, second],
        ):
            result = estimate(part)
            assert result.attribute == name
            assert str(result).startswith(f"{name}: ") and f"{name}: " in result.table().title
        assert str(compare_groups(tally)).startswith(f"{name}: the difference W49 minus W48")
        assert f"{name}: " in str(compare_groups({"a": first, "b": second}))
        assert tally == Tally.from_json(tally.to_json())
    assert estimate(weeks["items"], attributes="sync").attribute == "sync"
    assert (weeks["theme"].about("") + weeks["theme"].of_others()).question == ""
    chart = estimate(weeks["minutes"].total()).plot().to_dict()
    assert "minutes" in chart["vconcat"][0]["layer"][0]["encoding"]["x"]["title"]


def test_what_people_of_frames_write_is_told_what_to_become() -> None:
    """Rejects: weeks of pandas that nobody declared, durations saved as text, and a frame's column
    that is a string."""
    study, frame = Study.parse(WEEKS), pl.DataFrame(ANSWERS, strict=False).to_pandas()
    durations = frame.assign(minutes=pd.to_timedelta(frame["minutes"], unit="m"))
    refused(ValuesError, r"column.dt.total_seconds\(\) / 60", study.randomize, durations)
    coin = study.mechanisms["theme"]
    reports = coin.randomize(frame["theme"], np.random.default_rng(1))
    weeks = pd.Series(pd.period_range("2026-01-05", periods=2, freq="W").repeat(60), name="week")
    beside = reports.to_frame("pandas").assign(week=weeks)
    said = [
        refused(ValuesError, r"column.astype\(str\)", coin.tally, reports, weeks),
        refused(ReportError, r"column.astype\(str\)", coin.tally, beside, "week"),
    ]
    assert all("a pandas Period. " in text and "declared" not in text for text in said)
    assert len(coin.tally(reports, weeks.astype(str))) == 2
    bands = pd.cut(pd.Series(range(120), name="band"), [-1, 60, 120])
    for by, of in ((bands, reports), ("band", reports.to_frame("pandas").assign(band=bands))):
        words = r"a pandas Interval. .*column.astype\(str\)"
        refused((ValuesError, ReportError), words, coin.tally, of, by)
    assert len(coin.tally(reports, bands.astype(str))) == 2
    refused(ArgumentTypeError, "got a pandas Series", estimate, frame["theme"])
    refused(ArgumentTypeError, "got a polars Series", estimate, pl.Series(["a"]))


def test_slips_of_frames_are_told_by_column_and_row() -> None:
    """Rejects: the error of narwhals, "values: position 0" of a list, and reports of nobody."""
    study, good = Study.parse(WEEKS), pl.DataFrame(ANSWERS, strict=False).to_pandas()
    twice = pd.concat([good, good[["theme"]]], axis=1)
    refused(ArgumentError, "answers: has two columns with the same name", study.randomize, twice)
    rng = np.random.default_rng(3)
    reports = pd.DataFrame(np.zeros((2, 2), int), columns=["theme", "theme"])
    refused(ArgumentError, "data: has two columns with the same name", study.tally, reports)
    ticked = [[], ["sync", "other"], *([["print"]] * 118)]
    said = "column 'items', data row 2: must name only items of the question; got another item"
    refused(ValuesError, said, study.randomize, good.assign(items=ticked))
    nobody = pl.DataFrame(ANSWERS, strict=False).to_pandas().assign(units=None)
    refused(EmptyError, "answers: has no person", Study.parse(OTHERS).randomize, nobody, rng)


def _people(n: int) -> dict[str, list[Any]]:
    return {
        "theme": ["light", "dark"] * n,
        "minutes": [30.0, 60.0] * n,
        "items": [["sync", "print"], ["print"]] * n,
        "week": ["W48", "W49"] * n,
    }


@pytest.mark.parametrize("library", [pd, pl])
def test_a_file_of_reports_has_the_week_of_a_frame(library: Any, tmp_path: Path) -> None:
    """Rejects: public columns of a file that only a PublicColumn can be, without saying so."""
    study, frame = Study.parse(WEEKS), library.DataFrame(_people(20))
    reports, path = study.randomize(frame), str(tmp_path / "reports.parquet")
    for given in (frame[["week"]], {"week": frame["week"]}, ["week"]):
        words = r"PublicColumn.*public=study\.public_columns\(columns\)"
        refused(ArgumentTypeError, words, write_reports, reports, path, public=given)
    for i, by in enumerate((frame[["week"]], frame["week"], {"week": frame["week"]})):
        path = str(tmp_path / f"{i}.parquet")
        write_reports(reports, path, public=study.public_columns(by))
        assert sorted(read_public(path)["week"]) == ["W48"] * 20 + ["W49"] * 20
        assert tally_file(path, ["week"])["theme"] == study.tally(reports, by)["theme"]
    refused(ArgumentError, "week", study.public_columns, {"weak": ["W48"]})
    refused(ArgumentTypeError, "by: must be a dict", study.public_columns, "week")


def test_people_who_stand_twice_in_the_index_are_warned_of() -> None:
    """Rejects: an exploded frame in which each person counts as often as they ticked."""
    study, frame = Study.parse(WEEKS), pd.DataFrame(_people(20))
    exploded = frame.explode("items")
    words = r"rows: 60, different labels: 40.* reset_index\(drop=True\)"
    with pytest.warns(FrameWarning, match=words):
        study.randomize(exploded)
    with pytest.warns(FrameWarning, match=words):
        study.mechanisms["theme"].randomize(exploded["theme"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.randomize(frame)
        study.randomize(exploded.reset_index(drop=True))
        # A study that expects several rows of a person takes them in silence.
        Study.parse(f"rows_per_person = 2\n{WEEKS}").randomize(exploded)


def test_a_list_with_another_item_is_told_by_column_row_and_items() -> None:
    """Rejects: "position 0", and items of another question as the example."""
    frame = pl.DataFrame(_people(1) | {"items": [["sync"], ["sync;share"]]})
    words = "column 'items', data row 2: .* such as 'sync;share'"
    refused(ValuesError, words, Study.parse(WEEKS).randomize, frame)


def test_one_question_of_a_study_is_compared_at_a_time() -> None:
    """Rejects: advice to call total(), which takes away the weeks that are to be compared."""
    study, frame = Study.parse(WEEKS), pd.DataFrame(_people(200))
    tallies = study.tally(study.randomize(frame), frame[["week"]])
    words = r"one question; got the tallies of 3 questions .*tallies\['theme'\]"
    assert "total()" not in refused(ArgumentTypeError, words, compare_groups, tallies)
    refused(ArgumentTypeError, r"total\(\)", compare_groups, {"north": tallies["theme"]})
    # Two questions to the same people with the same values are no two groups of people.
    yes = (
        '[attributes.{}]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\nepsilon = 2.0\n'
    )
    alike = Study.parse(yes.format("smokes") + yes.format("drinks"))
    answers = pd.DataFrame({"smokes": ["no", "yes"] * 50, "drinks": ["yes"] * 100})
    both = alike.tally(alike.randomize(answers))
    for function in (estimate, compare_groups):
        refused(ArgumentTypeError, r"of 2 questions .*tallies\['smokes'\]", function, both)
    assert len(estimate({"before": both["smokes"]})) == 1
