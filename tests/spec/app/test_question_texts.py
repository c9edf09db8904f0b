"""The title of a study and the texts of its questions, which only readers see."""

from __future__ import annotations

import pytest

from tests.spec.app._command import STUDY
from warner import Study
from warner.errors import StudyError

ASKED = STUDY.replace('title = "test"', 'title = "Habits"').replace(
    "[attributes.smokes]\n", '[attributes.smokes]\nlabel = "Do you smoke?"\n'
)
GROUPS = """
[[groups]]
name = "North"
[[groups]]
name = "South"
[groups.attributes.smokes]
mechanism = "UnaryEncoding"
"""


def test_a_study_keeps_its_title_and_the_texts_of_its_questions() -> None:
    study = Study.parse(ASKED)
    assert study.title == "Habits"
    assert study.labels == {"smokes": "Do you smoke?"}
    again = Study.parse(study.to_json())
    assert (again.title, again.labels) == (study.title, study.labels)


def test_texts_change_no_header_and_no_digest() -> None:
    with_texts, without = Study.parse(ASKED), Study.parse(STUDY)
    assert with_texts.digest == without.digest
    for name, mechanism in without.mechanisms.items():
        assert with_texts.mechanisms[name].header == mechanism.header


def test_attributes_that_are_randomised_together_have_texts_of_their_own() -> None:
    study = Study.parse("""
    [attributes.sex]
    label = "Your sex"
    values = ["f", "m"]
    [attributes.smokes]
    values = ["no", "yes"]
    [[joint]]
    attributes = ["sex", "smokes"]
    mechanism = "RandomizedResponse"
    epsilon = 1.0
    """)
    assert study.labels == {"sex": "Your sex"} and list(study.mechanisms) == ["sex x smokes"]


def test_groups_are_asked_the_same_question() -> None:
    study = Study.parse(ASKED + GROUPS)
    assert all(own.labels == study.labels for own in study.groups.values())
    with pytest.raises(StudyError, match=r"smokes\.label: is the same for all groups"):
        Study.parse(ASKED + GROUPS + 'label = "Smoker?"\n')


@pytest.mark.parametrize("text", ['"""two\nlines"""', '"\\u202e"', "3"])
def test_a_text_is_one_printable_line(text: str) -> None:
    with pytest.raises(StudyError, match=r"attributes\.smokes\.label: must be"):
        Study.parse(ASKED.replace('"Do you smoke?"', text))
