"""The table ``[collect]`` of a study, with every problem at its line."""

from datetime import UTC, datetime

import pytest

import warner
from warner.errors import StudyError
from warner.studies.texts import Collect

STUDY = """\
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[collect]
people = 2000
opens = 2026-05-01T08:00:00+02:00
closes = 2026-05-31T16:00:00Z
access = "invited"
contact = "survey@clinic.example"
keep_ids = "always"
"""


def test_a_study_says_how_its_answers_are_collected() -> None:
    found = warner.Study.parse(STUDY).collect
    assert found.opens == datetime(2026, 5, 1, 6, tzinfo=UTC)
    assert found.closes == datetime(2026, 5, 31, 16, tzinfo=UTC)
    assert (found.people, found.access, found.keep_ids) == (2000, "invited", "always")
    assert found.contact == "survey@clinic.example"


def test_a_study_without_the_table_has_the_defaults() -> None:
    found = warner.Study.parse(STUDY.partition("[collect]")[0]).collect
    assert found == Collect() == Collect.of({})
    assert (found.people, found.step, found.access, found.keep_ids) == (1000, 50, None, "closed")


@pytest.mark.parametrize(
    ("people", "step"), [(1, 1), (49, 49), (50, 50), (5000, 50), (5001, 51), (10**6, 10**4)]
)
def test_the_default_step_is_a_hundredth_of_the_people_and_at_least_fifty(
    people: int, step: int
) -> None:
    assert Collect.of({"people": people}).step == step
    assert Collect.of({"people": people, "step": 1}).step == 1


def test_moments_travel_as_json() -> None:
    study = warner.Study.parse(STUDY)
    again = warner.Study.parse(study.to_json())
    assert again == study and again.collect == study.collect
    assert again.to_json() == study.to_json()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("people = 2000", "people = 0"), "line 6: collect.people: must be at least 1; got 0."),
        (("people = 2000", "people = 2.5"), "collect.people: must be a whole number; got 2.5."),
        (("people = 2000", "step = 1001"), "line 6: collect.step: must be at most people, 1,000"),
        (("people = 2000", "step = 0"), "collect.step: must be at least 1; got 0."),
        (("16:00:00Z", "16:00:00"), "line 8: collect.closes: must be a date and a time with an"),
        (("2026-05-31T16:00:00Z", "2026-05-31"), "collect.closes: must be a date and a time"),
        (("2026-05-31T16:00:00Z", "16:00:00"), "collect.closes: must be a date and a time"),
        (("2026-05-31T16:00:00Z", '"tomorrow"'), "got 'tomorrow'. It is written closes = 2026"),
        (("2026-05-31T16:00:00Z", "1780000000"), "got 1780000000"),
        (("05-31T16", "04-30T16"), "line 8: collect.closes: must be later than opens, 2026-05-01"),
        (("05-31T16:00:00", "05-01T06:00:00"), "collect.closes: must be later than opens"),
        (('"invited"', '"invite"'), "collect.access: must be 'open' or 'invited'; got 'invite'."),
        (('"always"', '"never"'), "collect.keep_ids: must be 'closed' or 'always'; got 'never'."),
        (("clinic.example", "\\u202e"), "collect.contact: must be one line, without the direction"),
        (("contact", "kontakt"), "line 10: collect.kontakt: is not a key of a study file. Is 'con"),
        (("[collect]", "[collct]"), "line 5: collct: is not a key of a study file. Is 'collect' "),
    ],
)
def test_each_problem_is_named(change: tuple[str, str], told: str) -> None:
    with pytest.raises(StudyError) as caught:
        warner.Study.parse(STUDY.replace(*change), "study.toml")
    assert told in str(caught.value)


def test_a_key_of_the_table_that_stands_elsewhere_is_sent_to_it() -> None:
    with pytest.raises(StudyError, match=r"line 1: .*It goes to the table \[collect\]"):
        warner.Study.parse("contact = 'x'\n" + STUDY, "study.toml")
