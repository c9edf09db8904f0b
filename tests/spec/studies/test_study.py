"""Study files: checked in words, counted as reports and as frames, and written as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import warner
from tests.refusals import refused
from tests.spec.app._command import STUDY
from warner import Integers, Study, UtilityOptimizedRR
from warner.app.cli import main
from warner.collector.refusals import Refused
from warner.collector.submissions import SubmissionFormat
from warner.errors import ArgumentError, ArgumentTypeError, ReportError, StudyError
from warner.io import write_reports
from warner.mechanisms import PersonalizedULDP
from warner.privacy import OSLDP


def test_attributes_that_differ_only_in_case_are_refused_before_anything_is_written(
    here: Path,
) -> None:
    mechanism = warner.RandomizedResponse(warner.Integers(0, 1), 1.0)
    with pytest.raises(warner.errors.ArgumentError, match="upper and lower case"):
        write_reports({"Age": mechanism.reports([0]), "age": mechanism.reports([1])}, "c.csv")
    with pytest.raises(warner.errors.StudyError, match="upper and lower case"):
        warner.Study.parse(STUDY.replace("smokes", "Age"))
    assert not Path("c.csv").exists()


@pytest.mark.parametrize(
    "change, complaint",
    [
        (("[attributes.age]", "[attributes.age"), "not valid TOML"),
        (
            ('values = ["no", "yes"]', ""),
            "attributes.smokes: must have exactly one of the keys values, integers, interval",
        ),
        (('values = ["no", "yes"]', "values = []"), "attributes.smokes"),
        (
            ('values = ["no", "yes"]', 'values = ["no", "no"]'),
            "attributes.smokes: values: must have each label only once",
        ),
        (('values = ["no", "yes"]', "values = [1.5, 2]"), "attributes.smokes.values"),
        (("integers = [0, 9]", "integers = [9, 0]"), "attributes.age"),
        (("epsilon = 1.0", "epsilon = -1"), "attributes.smokes: epsilon: must be above 0"),
        (("epsilon = 1.0", "epsilon = nan"), "attributes.smokes: epsilon"),
        (("epsilon = 1.0", 'epsilon = "1"'), "attributes.smokes.epsilon"),
        (("epsilon = 1.0", "epsilon = true"), "attributes.smokes.epsilon"),
        (
            ('values = ["no", "yes"]', 'values = ["1", 1]'),
            "1 and \"1\" are then the same; got '1' and 1",
        ),
        (
            ("RandomizedResponse", "MatrixMechanism"),
            "attributes.smokes.matrix: is missing: MatrixMechanism needs this key",
        ),
        (("epsilon = 1.0", ""), "attributes.smokes.epsilon: is missing"),
        (
            ("RandomizedResponse", "RandomisedResponse"),
            "attributes.smokes.mechanism: must be one of RandomizedResponse",
        ),
        (('variant = "oue"', 'variant = "best"'), "attributes.age: variant: must be"),
        (
            ('variant = "oue"', "kept = 0.5"),
            "attributes.age.kept: is not an option of UnaryEncoding, whose options are variant",
        ),
        (
            ('variant = "oue"', "forever = 2.0"),
            "forever: is not an option of UnaryEncoding, whose options are variant. "
            "It belongs in the table [repeat]",
        ),
        (
            ("budget = 3.0", "budget = 2.0"),
            "budget: is exceeded: the questions (attributes) spend 2.5 together",
        ),
        (("budget = 3.0", "budgit = 3.0"), "budgit"),
        (("[attributes.smokes]", '[attributes."smo.kes"]'), "attributes.smo.kes: names must not"),
    ],
)
def test_study_files_are_checked_in_words(change: tuple[str, str], complaint: str) -> None:
    with pytest.raises(warner.errors.StudyError) as caught:
        warner.Study.parse(STUDY.replace(*change))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_studies_travel_as_json_with_their_digest() -> None:
    study = warner.Study.parse(STUDY)
    again = warner.Study.parse(study.to_json())
    assert again.digest == study.digest and again.title == "test"
    with pytest.raises(warner.errors.StudyError, match="was changed after it was saved"):
        warner.Study.parse(study.to_json().replace("1.5", "1.4"))
    assert "attributes" in warner.Study.schema()["properties"]


def test_a_study_is_saved_to_a_file_that_load_reads(tmp_path: Path) -> None:
    study = warner.Study.parse(STUDY)
    study.save(tmp_path / "study.json")
    assert warner.Study.load(tmp_path / "study.json") == study
    words = r"must end in \.json, because the study is saved as JSON; .* study.save\('study.json'\)"
    for name in ("study.toml", "study"):
        refused(warner.errors.ArgumentError, words, study.save, tmp_path / name)
        assert not (tmp_path / name).exists()


@pytest.mark.parametrize(
    "answers",
    [
        "[CANARY-1234]\n[CANARY-1234]\n",
        "CANARY1234 = 1\n",
        "smokes\nCANARY-1234\n",
        '{"CANARY-1234": 1}',
        '{"CANARY-1234" 1}',
        '["CANARY-1234"]',
        'x = "CANARY\\q"',
    ],
    ids=ascii,
)
def test_answers_in_the_place_of_a_study_are_not_shown(answers: str, tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text(answers)
    (tmp_path / "study.toml").write_text("")
    result = CliRunner().invoke(
        main, ["randomize", str(tmp_path / "answers.csv"), str(tmp_path / "study.toml")]
    )
    assert (
        result.exit_code == 1
        and "CANARY" not in result.output
        and "Each line" not in result.output
        and "If this is the file of answers, give the study file in its place." in result.output
    )
    with pytest.raises(warner.errors.StudyError) as caught:
        Study.load(tmp_path / "answers.csv")
    assert caught.value.__context__ is None and caught.value.__cause__ is None


def test_a_broken_study_is_told_by_line_and_column() -> None:
    for text, place in (
        ("a = 1\nb = = 2\n", "at line 2, column 5"),
        ('{\n"a": ,}', "at line 2, column 6"),
        ("[a", "at end of document"),
    ):
        with pytest.raises(warner.errors.StudyError, match=f"is not valid TOML or JSON, {place}"):
            Study.parse(text)


@pytest.mark.parametrize(
    "line", ['valuez = ["a", "b"]', 'values = ["a", "a"]', "integers = [3]", 'dates = "wek"']
)
def test_one_mistake_in_a_public_column_is_one_error(line: str) -> None:
    """Rejects: a question on paper said to lack a mechanism, and a column said to be undeclared."""
    text = f"""
    [public.ward]
    {line}
    [design]
    cluster = "ward"
    [attributes.smokes]
    values = ["no", "yes"]
    design = "crosswise:1/4"
    """
    with pytest.raises(StudyError) as error:
        Study.parse(text)
    assert "public.ward" in str(error.value) and "problems" not in str(error.value)


def test_bytes_that_are_no_text_hang_on_no_error(tmp_path: Path) -> None:
    (tmp_path / "answers.parquet").write_bytes(b"PAR1\xff\xfeCANARY")
    with pytest.raises(warner.errors.StudyError, match="UTF-8") as caught:
        Study.load(tmp_path / "answers.parquet")
    assert caught.value.__context__ is None


def test_a_study_counts_metric_budgets_at_the_largest_distance_and_deltas_apart() -> None:
    text = """
    [attributes.age]
    integers = [0, 10]
    mechanism = "Geometric"
    epsilon = 0.5
    [attributes.pay]
    interval = { low = 0, high = 1, bins = 4 }
    mechanism = "Gaussian"
    delta = 1e-5
    epsilon = 1.0
    """
    study = warner.Study.parse(text)
    assert study.epsilon == pytest.approx(6.0, abs=1e-8) and 0 < study.delta <= 1e-5
    assert isinstance(study.guarantee, warner.privacy.ApproximateLDP)
    with pytest.raises(warner.errors.StudyError, match="budget"):
        warner.Study.parse("budget = 5\ndelta = 1e-4\n" + text)
    with pytest.raises(warner.errors.StudyError, match="delta"):
        warner.Study.parse("budget = 7\n" + text)
    assert warner.Study.parse("budget = 7\ndelta = 1e-4\n" + text).budget == 7


DOMAIN = Integers(0, 9)


SENSITIVE = """
[attributes.place]
values = ["clinic", "park", "school", "shop"]
mechanism = "UtilityOptimizedRR"
sensitive = ["clinic"]
tags = ["home"]
epsilon = 1.0
[attributes.age]
integers = [0, 30]
mechanism = "UtilityOptimizedRappor"
sensitive = [3, 4]
epsilon = 0.5
"""


def test_studies_name_sensitive_values_and_tags() -> None:
    study = Study.parse(SENSITIVE)
    assert study.mechanisms["place"].domain.labels == ["clinic", "park", "school", "shop", "@home"]
    assert study.guarantee == OSLDP(
        study.epsilon, (("place", "clinic"), ("place", "@home"), ("age", 3), ("age", 4))
    )
    assert Study.parse(study.to_json()).digest == study.digest
    for old, new in (
        ('sensitive = ["clinic"]\ntags = ["home"]', "sensitive = []"),
        ('["clinic"]\ntags', '["moon"]\ntags'),
        ('tags = ["home"]', 'tags = ["home", "home"]'),
    ):
        with pytest.raises(warner.errors.StudyError, match=r"attributes\.place"):
            Study.parse(SENSITIVE.replace(old, new))
    with pytest.raises(warner.errors.StudyError, match="be used only with UtilityOptimizedRR"):
        Study.parse(
            SENSITIVE.replace("UtilityOptimizedRR", "RandomizedResponse").replace(
                'sensitive = ["clinic"]\n', ""
            )
        )


def test_a_study_with_tags_need_name_no_sensitive_value() -> None:
    for text in (
        SENSITIVE.replace('sensitive = ["clinic"]', "sensitive = []"),
        SENSITIVE.replace('sensitive = ["clinic"]\n', ""),
    ):
        study = Study.parse(text)
        assert study.mechanisms["place"].sensitive == ["@home"]
        assert Study.parse(study.to_json()).digest == study.digest
    assert PersonalizedULDP.of(
        UtilityOptimizedRR, DOMAIN, 1.0, ["home"], sensitive=[3]
    ).mechanism.header == (
        PersonalizedULDP(UtilityOptimizedRR(DOMAIN, 1.0, [3]), ["home"]).mechanism.header
    )


ATTRIBUTE = """
[attributes.{name}]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""


def _study(*names: str) -> Study:
    return Study.parse("".join(ATTRIBUTE.format(name=name) for name in names))


def test_attributes_in_another_order_have_one_digest_and_two_layouts() -> None:
    one, other = _study("smokes", "drinks"), _study("drinks", "smokes")
    assert one.digest == other.digest and one.layout != other.layout
    assert one.layout == _study("smokes", "drinks").layout


def test_a_page_that_was_loaded_before_attributes_changed_places_is_refused() -> None:
    before, after = _study("smokes", "drinks"), _study("drinks", "smokes")
    reports = {n: m.randomize(["yes"]) for n, m in before.mechanisms.items()}
    body = SubmissionFormat(before).seal(reports)
    with pytest.raises(Refused) as error:
        SubmissionFormat(after).parse(body)
    assert error.value.name == "other_study"


TWO_QUESTIONS = Study.parse("""
[public.week]
integers = [1, 10]
[public.ward]
values = ["n", "s"]
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.drinks]
values = ["no", "yes", "often"]
mechanism = "RandomizedResponse"
epsilon = 1.0
""")
ROWS = {
    "week": [2, 1, 2, 1],
    "ward": ["n", "s", "s", "s"],
    "smokes_report": [0, 1, 1, 0],
    "drinks_report": [2, 1, 0, 0],
}
REPORTS = {
    name: TWO_QUESTIONS.mechanisms[name].reports(ROWS[f"{name}_report"])
    for name in TWO_QUESTIONS.mechanisms
}


@pytest.mark.parametrize("frame", [pl.DataFrame, pl.LazyFrame])
def test_groups_are_counted_from_a_frame(frame: Any) -> None:
    slow = TWO_QUESTIONS.tally(REPORTS, {"week": ROWS["week"]})
    for by in ("week", ["week"], {"week": ROWS["week"]}):
        assert TWO_QUESTIONS.tally(frame(ROWS), by) == slow
    both = TWO_QUESTIONS.tally(frame(ROWS), ["ward", "week"])["drinks"]
    assert list(both) == [("n", 2), ("s", 1), ("s", 2)]
    renamed = frame(ROWS).rename({"smokes_report": "said"})
    assert TWO_QUESTIONS.tally(renamed, "week", columns={"smokes": "said"}) == slow


def test_what_does_not_belong_to_the_study_is_refused() -> None:
    frame = pl.DataFrame(ROWS)
    for by in ("year", ["week", "year"], 3, [["week"]]):
        with pytest.raises(
            ArgumentError, match="must be one of the public columns of the study: week, ward"
        ):
            TWO_QUESTIONS.tally(frame, by)
    by_week = Study.parse(
        '[attributes.a]\nvalues = ["x", "y"]\nmechanism = "RandomizedResponse"\n'
        'epsilon = 1.0\n[public.day]\ndates = "week"\n'
    )
    for name, remedy in (("week", "counts the column day by week: write day"), ("", "no blanks")):
        with pytest.raises(ArgumentError, match=remedy):
            by_week.tally(frame, name)
    with pytest.raises(ArgumentTypeError, match=r"\{name: values\}; got a list"):
        TWO_QUESTIONS.tally(REPORTS, ["week"])
    with pytest.raises(ReportError, match="'week': must have a declared value"):
        TWO_QUESTIONS.tally(frame.with_columns(week=pl.lit(11)), "week")
    with pytest.raises(ArgumentError, match="must be one of the attributes of the study"):
        TWO_QUESTIONS.tally(frame, "week", columns={"eats": "smokes_report"})
    with pytest.raises(ReportError, match="no smokes_report among"):
        TWO_QUESTIONS.tally(frame.drop("smokes_report"), "week")
    with pytest.raises(ArgumentTypeError, match="or a data frame; got a list"):
        TWO_QUESTIONS.tally([1, 2], {"week": [1, 2]})
