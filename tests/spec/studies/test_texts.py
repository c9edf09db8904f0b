"""Texts of a study by language, with every problem at its line."""

import pickle
from pathlib import Path

import pytest

import warner
from warner.collector.survey_document import survey_document
from warner.domains import Categorical
from warner.errors import ArgumentError, StudyError

STUDY = """\
languages = ["en", "de"]
title = { en = "Habits", de = "Gewohnheiten" }
introduction = { en = "Hello.", de = "Guten\\nTag." }
[attributes.smokes]
label = { en = "Do you smoke?", de = "Rauchen Sie?" }
help = { en = "Pipes too.", de = "Auch Pfeife." }
answers = { de = ["nein", "ja"] }
values = ["no", "yes"]
missing = "answer"
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.weight]
integers = [30, 200]
unit = "kg"
mechanism = "SubsetSelection"
epsilon = 1.0
[public.ward]
label = { en = "Your ward", de = "Ihre Station" }
answers = { en = ["North", "South"], de = ["Nord", "Süd"] }
values = ["n", "s"]
"""
PLAIN = """\
title = "Habits"
[attributes.smokes]
label = "Do you smoke?"
values = ["no", "yes"]
missing = "answer"
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.weight]
integers = [30, 200]
mechanism = "SubsetSelection"
epsilon = 1.0
[public.ward]
values = ["n", "s"]
"""


def test_texts_come_by_language() -> None:
    study = warner.Study.parse(STUDY)
    texts = study.texts
    assert study.languages == ("en", "de")
    assert study.titles == {"en": "Habits", "de": "Gewohnheiten"}
    assert (texts.title("de"), texts.introduction("de")) == ("Gewohnheiten", "Guten\nTag.")
    assert (texts.question("smokes", "de"), texts.help("smokes", "de")) == (
        "Rauchen Sie?",
        "Auch Pfeife.",
    )
    assert texts.answers("smokes", "de") == ("nein", "ja", "(no answer)")
    assert texts.answers("smokes", "en") == ("no", "yes", "(no answer)")
    assert texts.answers("ward", "de") == ("Nord", "Süd")
    assert texts.question("weight", "de") == "weight"
    assert (texts.unit("weight"), texts.unit("smokes")) == ("kg", "")
    assert texts.answer("weight", 3, "de") == "33"


def test_texts_of_ten_thousand_labels_are_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects a list of all labels for each of them, with which such a study was never served."""
    labels = ", ".join(f'"town {i}"' for i in range(10_000))
    study = warner.Study.parse(
        f'[attributes.town]\nvalues = [{labels}]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    )
    listed, usual = [], Categorical.text.fget
    assert usual is not None
    monkeypatch.setattr(
        Categorical, "text", property(lambda self: listed.append(self) or usual(self))
    )
    (question,) = survey_document(study)["questions"]
    assert question["answers"]["en"][9_999] == "town 9999" and len(listed) < 10


def test_title_and_labels_stay_texts_of_the_default_language() -> None:
    study, plain = warner.Study.parse(STUDY), warner.Study.parse(PLAIN)
    assert study.title == plain.title == "Habits"
    assert study.labels == plain.labels == {"smokes": "Do you smoke?"}
    assert plain.languages == ("en",) and plain.titles == {"en": "Habits"}


def test_no_header_and_no_digest_depends_on_texts_or_on_how_answers_are_collected() -> None:
    study = warner.Study.parse(STUDY + "[collect]\npeople = 70\n")
    plain = warner.Study.parse(PLAIN)
    assert study.digest == plain.digest
    headers = [{a: m.header for a, m in s.mechanisms.items()} for s in (study, plain)]
    assert headers[0] == headers[1]


def test_a_plain_study_is_written_as_it_was() -> None:
    assert set(warner.Study.parse(PLAIN)._data) == {"title", "attributes", "public"}


def test_texts_travel_as_json_and_as_pickles() -> None:
    study = warner.Study.parse(STUDY)
    again = warner.Study.parse(study.to_json())
    assert again == study and again.to_json() == study.to_json()
    assert again.texts.answers("ward", "de") == ("Nord", "Süd")
    assert pickle.loads(pickle.dumps(study)) == study


def test_the_studies_of_groups_have_the_texts_too() -> None:
    groups = '[[groups]]\nname = "A"\n[[groups]]\nname = "B"\n'
    study = warner.Study.parse(STUDY + groups)
    assert study.title == study.groups["A"].title == "Habits"
    assert study.texts.answers("ward", "de") == ("Nord", "Süd")
    change = "[groups.attributes.smokes]\nhelp = 'x'\n"
    with pytest.raises(StudyError, match=r"smokes.help: is the same for all groups"):
        warner.Study.parse(STUDY + groups + change)


LABEL = '{ en = "Do you smoke?", de = "Rauchen Sie?" }'


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ((LABEL, '{ en = "a" }'), ["line 5: attributes.smokes.label: must have a text in de."]),
        ((LABEL, '"a"'), ["line 5: ", "in de; got one text. Write label = { en = "]),
        ((LABEL, '{ en = "a", de = 3 }'), ["line 5: attributes.smokes.label.de: must be text"]),
        ((LABEL, "3"), ["line 5: attributes.smokes.label: must be text in quotes; got 3."]),
        ((LABEL, '{ en = "a", de = " " }'), ["label.de: must not be empty"]),
        ((LABEL, '{ en = "a", de = "a\\nb" }'), ["label.de: must be one line, without the contr"]),
        ((LABEL, '{ en = "a", DE = "b" }'), ["line 5: ", "label.DE", "Is 'de' meant?"]),
        ((LABEL, '{ en = "a", de = "b", fr = "c" }'), ["label.fr: ", "Add it to languages"]),
        (('["nein", "ja"]', '["nein"]'), ["line 7: ", "of the 2 values; got 1."]),
        (('["nein", "ja"]', '["ja", " ja "]'), ["answers.de[2]: repeats the text number 1"]),
        (('["nein", "ja"]', '["ja", ""]'), ["answers.de[2]: must not be empty"]),
        (('{ de = ["nein", "ja"] }', "{}"), ["answers: must have a text in en and de"]),
        (('{ de = ["nein", "ja"] }', '["nein", "ja"]'), ["answers: must be a table"]),
        (("unit =", 'answers = { de = ["a"] }\nunit ='), ["of values, and there are none"]),
        (("unit = ", "units = "), ["line 14: ", "Is 'unit' meant?"]),
        (("introduction", "introductoin"), ["Is 'introduction' meant?"]),
        (("unit =", "introduction ="), ["weight.introduction", "above the first table"]),
        (('languages = ["en", "de"]\n', ""), ["line 1: languages: is missing", '["en", "de"]']),
        (('["en", "de"]', '["en", "German"]'), ["line 1: languages: must be tags"]),
        (('["en", "de"]', '["en", "en"]'), ["line 1: languages: must not repeat; got 'en'"]),
        (('["en", "de"]', "[]"), ["line 1: languages: must have 1 or more entries"]),
    ],
)
def test_each_problem_of_a_text_is_named_once(change: tuple[str, str], told: list[str]) -> None:
    with pytest.raises(StudyError) as caught:
        warner.Study.parse(STUDY.replace(*change), "study.toml")
    said = str(caught.value)
    assert all(part in said for part in told), said
    assert "\n" not in said


def test_all_problems_are_told_at_once_with_those_of_mechanisms_and_of_the_table() -> None:
    text = STUDY.replace('["nein", "ja"]', '["nein"]').replace("epsilon = 1.0", "epsilon = -1", 1)
    text = text.replace(LABEL, '{ de = "a" }') + "[collect]\npeople = 0\n"
    with pytest.raises(StudyError) as caught:
        warner.Study.parse(text, "study.toml")
    said = str(caught.value).splitlines()
    assert said[0] == "study.toml has 4 problems:"
    assert [line.split(":")[0] for line in said[1:]] == ["line 5", "line 7", "line 11", "line 22"]


def test_values_are_the_texts_of_one_language_which_may_be_any() -> None:
    text = STUDY.replace('de = ["nein", "ja"]', 'en = ["not me", "me"]')
    assert warner.Study.parse(text).texts.answers("smokes", "de")[:2] == ("no", "yes")
    three = text.replace('"en", "de"', '"fr", "en", "de"')
    with pytest.raises(StudyError, match=r"smokes.answers: must have a text in fr and de"):
        warner.Study.parse(three)


def test_what_a_study_does_not_have_is_refused_by_name() -> None:
    texts = warner.Study.parse(STUDY).texts
    with pytest.raises(ArgumentError, match="language: must be one of en, de; got 'fr'"):
        texts.title("fr")
    with pytest.raises(ArgumentError, match="Is 'smokes' meant"):
        texts.question("smoke", "en")
    with pytest.raises(ArgumentError, match=r"index: must lie in 0..1"):
        texts.answer("ward", 2, "en")


def test_answers_in_the_place_of_a_study_are_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("label,help\nCANARY1,CANARY2\n")
    with pytest.raises(StudyError) as caught:
        warner.Study.load(path)
    assert "CANARY" not in str(caught.value)
