"""Texts of a study by language, and how its answers are collected, with every problem at its line."""

import pickle
from datetime import UTC, datetime
from pathlib import Path

import pytest

import warner
from warner.collector.survey_document import survey_document
from warner.domains import Categorical
from warner.errors import ArgumentError, StudyError
from warner.studies.study import Study
from warner.studies.texts import Collect

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
    with pytest.raises(StudyError, match=r"smokes.help: must be the same for all groups"):
        warner.Study.parse(STUDY + groups + change)


LABEL = '{ en = "Do you smoke?", de = "Rauchen Sie?" }'


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ((LABEL, '{ en = "a" }'), ["line 5: attributes.smokes.label: must have a text in de."]),
        ((LABEL, '"a"'), ["line 5: ", "in de; got only one text. Write label = { en = "]),
        ((LABEL, '{ en = "a", de = 3 }'), ["line 5: attributes.smokes.label.de: must be text"]),
        ((LABEL, "3"), ["line 5: attributes.smokes.label: must be text in quotes; got 3."]),
        ((LABEL, '{ en = "a", de = " " }'), ["label.de: must not be empty"]),
        ((LABEL, '{ en = "a", de = "a\\nb" }'), ["label.de: must be one line, without the contr"]),
        ((LABEL, '{ en = "a", DE = "b" }'), ["line 5: ", "label.DE", "Is 'de' meant?"]),
        ((LABEL, '{ en = "a", de = "b", fr = "c" }'), ["label.fr: ", "Add it to languages"]),
        (('["nein", "ja"]', '["nein"]'), ["line 7: ", "of the 2 values; got 1."]),
        (('["nein", "ja"]', '["ja", " ja "]'), ["answers.de[2]: is the same as text number 1"]),
        (('["nein", "ja"]', '["ja", ""]'), ["answers.de[2]: must not be empty"]),
        (('{ de = ["nein", "ja"] }', "{}"), ["answers: must have a text in en and de"]),
        (('{ de = ["nein", "ja"] }', '["nein", "ja"]'), ["answers: must be a table"]),
        (
            ("unit =", 'answers = { de = ["a"] }\nunit ='),
            ["can be used only for a question with a list"],
        ),
        (("unit = ", "units = "), ["line 14: ", "Is 'unit' meant?"]),
        (("introduction", "introductoin"), ["Is 'introduction' meant?"]),
        (("unit =", "introduction ="), ["weight.introduction", "above the first table"]),
        (('languages = ["en", "de"]\n', ""), ["line 1: languages: is missing", '["en", "de"]']),
        (('["en", "de"]', '["en", "German"]'), ["line 1: languages: must be language tags"]),
        (
            ('["en", "de"]', '["en", "en"]'),
            ["line 1: languages: must not list a language twice; got 'en'"],
        ),
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
    with pytest.raises(ArgumentError, match=r"index: must be from 0 to 1"):
        texts.answer("ward", 2, "en")


def test_answers_in_the_place_of_a_study_are_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("label,help\nCANARY1,CANARY2\n")
    with pytest.raises(StudyError) as caught:
        warner.Study.load(path)
    assert "CANARY" not in str(caught.value)


COLLECTED = """\
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
    found = warner.Study.parse(COLLECTED).collect
    assert found.opens == datetime(2026, 5, 1, 6, tzinfo=UTC)
    assert found.closes == datetime(2026, 5, 31, 16, tzinfo=UTC)
    assert (found.people, found.access, found.keep_ids) == (2000, "invited", "always")
    assert found.contact == "survey@clinic.example"


def test_a_study_without_the_table_has_the_defaults() -> None:
    found = warner.Study.parse(COLLECTED.partition("[collect]")[0]).collect
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
    study = warner.Study.parse(COLLECTED)
    again = warner.Study.parse(study.to_json())
    assert again == study and again.collect == study.collect
    assert again.to_json() == study.to_json()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("people = 2000", "people = 0"), "line 6: collect.people: must be at least 1; got 0."),
        (("people = 2000", "people = 2.5"), "collect.people: must be a whole number; got 2.5."),
        (
            ("people = 2000", "step = 1001"),
            "line 6: collect.step: must be at most collect.people, which is 1,000",
        ),
        (("people = 2000", "step = 0"), "collect.step: must be at least 1; got 0."),
        (("16:00:00Z", "16:00:00"), "line 8: collect.closes: must be a date, a time and a"),
        (("2026-05-31T16:00:00Z", "2026-05-31"), "collect.closes: must be a date, a time"),
        (("2026-05-31T16:00:00Z", "16:00:00"), "collect.closes: must be a date, a time"),
        (("2026-05-31T16:00:00Z", '"tomorrow"'), "got 'tomorrow'. Write for example closes = 2026"),
        (("2026-05-31T16:00:00Z", "1780000000"), "got 1780000000"),
        (
            ("05-31T16", "04-30T16"),
            "line 8: collect.closes: must be later than collect.opens, which is 2026-05-01",
        ),
        (("05-31T16:00:00", "05-01T06:00:00"), "collect.closes: must be later than collect.opens"),
        (
            ('"invited"', '"invite"'),
            "collect.access: must be 'open', 'invited' or 'tokens'; got 'invite'.",
        ),
        (('"always"', '"never"'), "collect.keep_ids: must be 'closed' or 'always'; got 'never'."),
        (("clinic.example", "\\u202e"), "collect.contact: must be one line, without the direction"),
        (("contact", "kontakt"), "line 10: collect.kontakt: is not a key of a study file. Is 'con"),
        (("[collect]", "[collct]"), "line 5: collct: is not a key of a study file. Is 'collect' "),
    ],
)
def test_each_problem_is_named(change: tuple[str, str], told: str) -> None:
    with pytest.raises(StudyError) as caught:
        warner.Study.parse(COLLECTED.replace(*change), "study.toml")
    assert told in str(caught.value)


def test_a_key_of_the_table_that_stands_elsewhere_is_sent_to_it() -> None:
    with pytest.raises(StudyError, match=r"line 1: .*It belongs in the table \[collect\]"):
        warner.Study.parse("contact = 'x'\n" + COLLECTED, "study.toml")


ONLY_IF = """
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.packs]
integers = [0, 9]
{missing}
only_if = {condition}
mechanism = "RandomizedResponse"
epsilon = 1.0
"""


@pytest.mark.parametrize(
    ("condition", "missing", "rule"),
    [
        ('{smokes = ["yes"]}', "", "needs missing ="),
        ('{smokes = ["maybe"]}', 'missing = "answer"', "must list some of the values of smokes"),
        ("{smokes = []}", 'missing = "answer"', "must list some of the values of smokes"),
        (
            '{packs = ["yes"]}',
            'missing = "answer"',
            "must name a question that comes before this one",
        ),
        (
            '{drinks = ["yes"]}',
            'missing = "answer"',
            "must name a question that comes before this one",
        ),
        ("{}", 'missing = "answer"', "must name one question"),
    ],
)
def test_a_condition_that_a_page_cannot_keep_is_refused(
    condition: str, missing: str, rule: str
) -> None:
    """Rejects: nonresponse that shows who was asked, and a question that never is shown."""
    with pytest.raises(StudyError, match=rule):
        Study.parse(ONLY_IF.format(condition=condition, missing=missing))


def test_a_condition_names_a_question_and_its_answers() -> None:
    text = ONLY_IF.format(condition='{smokes = ["yes"]}', missing='missing = "answer"')
    assert Study.parse(text).texts.only_if("packs") == ("smokes", ("yes",))
    assert Study.parse(text).texts.only_if("smokes") is None
