"""The survey page holds a study, and nothing in it can run or submit."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from html.parser import HTMLParser
from typing import Any

import pytest

from warner.collector.pages.survey import chosen_language, survey_page
from warner.collector.submissions import SubmissionFormat
from warner.collector.survey_document import survey_bytes, survey_digest
from warner.collector.web.responses import packaged
from warner.studies.study import Study

VOID = {"meta", "link", "input", "br", "path"}
WHOLE = """
title = { en = "Well <b>being</b>", ar = "الرفاه" }
introduction = { en = "First.\\n\\nSecond & last.", ar = "مقدمة" }
languages = ["en", "ar"]
[collect]
contact = "ask@example.org"
access = "invited"
[attributes.smokes]
label = { en = "Do you <script>smoke</script>?", ar = "هل تدخن؟" }
help = { en = "\\"Now\\" & then", ar = "الآن" }
values = ["no", "yes & more"]
answers = { ar = ["لا", "نعم"] }
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.sleep]
interval = { low = 0.5, high = 16, bins = 31 }
unit = "h"
mechanism = "UnaryEncoding"
epsilon = 1.0
[attributes.drinks]
integers = [-5, 60]
missing = "answer"
mechanism = "SubsetSelection"
epsilon = 1.0
[attributes.rate]
integers = [1, 5]
mechanism = "UnaryEncoding"
epsilon = 1.0
[attributes.place]
grid = { rows = 3, columns = 4 }
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.month]
values = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
missing = "answer"
mechanism = "HadamardResponse"
epsilon = 1.0
[public.visit]
label = { en = "When?", ar = "متى؟" }
dates = "month"
"""


class Parsed(HTMLParser):
    """A page: its elements with their attributes, and whether they nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def every(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def by_id(self, place: str) -> dict[str, str | None]:
        (found,) = [attributes for _, attributes in self.elements if attributes.get("id") == place]
        return found


@pytest.fixture(scope="module")
def study() -> Study:
    return Study.parse(WHOLE)


@pytest.fixture(scope="module")
def page(study: Study) -> Parsed:
    return Parsed(survey_page(study))


def test_nothing_stands_inline_and_nothing_is_loaded_from_elsewhere(page: Parsed) -> None:
    for _tag, attributes in page.elements:
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href", "action"):
            assert "//" not in (attributes.get(name) or "")
    assert page.every("style") == []


def test_every_script_is_named_with_the_digest_of_the_file_that_is_served(page: Parsed) -> None:
    """Rejects: a script, or a module that it imports, which a cache or a proxy can replace."""
    preloaded = [one for one in page.every("link") if one.get("rel") == "modulepreload"]
    stated = {
        **{one["src"]: one["integrity"] for one in page.every("script")},
        **{one["href"]: one["integrity"] for one in preloaded},
    }
    imported = re.findall(r'"\./(\w+\.js)"', packaged()["survey.js"].content.decode())
    assert stated.keys() == {"survey.js", *imported}
    for name, integrity in stated.items():
        digest = hashlib.sha256(packaged()[name].content).digest()
        assert integrity == f"sha256-{base64.b64encode(digest).decode()}"


def test_texts_of_the_study_are_escaped(study: Study, page: Parsed) -> None:
    assert "Do you <script>smoke</script>?" in page.text
    assert "yes & more" in page.text and '"Now" & then' in page.text
    assert page.every("b") == []


def test_without_a_script_the_form_submits_nothing(page: Parsed) -> None:
    (form,) = page.every("form")
    assert form["method"] == "dialog" and "action" not in form and form["autocomplete"] == "off"
    submits = [b for b in page.every("button") if b.get("type") != "button"]
    assert [(b["id"], "disabled" in b) for b in submits] == [("continue", True)]
    assert page.by_id("clear").get("disabled", "") is None
    assert "JavaScript" in page.text


def test_ids_are_unique_and_every_reference_leads_to_one(page: Parsed) -> None:
    ids = Counter(a["id"] for _, a in page.elements if "id" in a)
    assert [place for place, times in ids.items() if times > 1] == []
    for _tag, attributes in page.elements:
        for name in ("for", "aria-describedby", "aria-labelledby"):
            assert set((attributes.get(name) or "").split()) <= ids.keys()


def test_every_control_has_a_label_and_every_question_a_legend(page: Parsed) -> None:
    labelled = {label["for"] for label in page.every("label")}
    controls = [*page.every("input"), *page.every("select")]
    assert {control["id"] for control in controls} == labelled
    assert len(page.every("legend")) == len(page.every("fieldset")) == 8  # one is the code's


@pytest.mark.parametrize(
    ("name", "kind", "number"),
    [
        ("smokes", "choice", 2),
        ("sleep", "number", 1),
        ("drinks", "number", 2),  # with a box for no answer
        ("rate", "choice", 5),
        ("place", "grid", 2),
        ("month", "choice", 1),  # twelve values and nonresponse: a list that opens
        ("visit", "date", 1),
    ],
)
def test_each_domain_has_its_native_control(
    page: Parsed, name: str, kind: str, number: int
) -> None:
    (field,) = [f for f in page.every("fieldset") if f.get("data-question") == name]
    assert field["data-kind"] == kind
    controls = [*page.every("input"), *page.every("select")]
    own = [c for c in controls if str(c["id"]).startswith(f"{field['id']}-")]
    assert len(own) == number


def test_numbers_have_the_limits_of_their_domain(page: Parsed) -> None:
    sleep, drinks = page.by_id("q1-0"), page.by_id("q2-0")
    assert (sleep["min"], sleep["max"], sleep["step"]) == ("0.5", "16", "any")
    assert (drinks["min"], drinks["max"], drinks["step"]) == ("-5", "60", "1")
    assert "required" in sleep and "required" not in drinks


def test_the_page_of_another_language_has_its_texts_and_direction(study: Study) -> None:
    page = Parsed(survey_page(study, "AR"))
    (html,) = page.every("html")
    assert (html["lang"], html["dir"]) == ("ar", "rtl")
    assert "هل تدخن؟" in page.text and "نعم" in page.text
    # The page has no Arabic words of its own: they are English, and say so.
    assert {"lang": "en", "dir": "ltr"} in page.every("span")


@pytest.mark.parametrize("language", [None, "", "xx", "en\n", '"><script>'])
def test_any_other_language_is_the_first_one(study: Study, language: Any) -> None:
    assert chosen_language(study, language) == "en"
    assert survey_page(study, language) == survey_page(study, "en")


def test_the_page_names_the_survey_by_its_fingerprint(study: Study, page: Parsed) -> None:
    (body,) = page.every("body")
    digest = survey_digest(survey_bytes(study))
    assert body["data-fingerprint"] == digest
    assert digest in page.text.replace(" ", "")


def test_the_parts_are_those_of_a_submission(study: Study, page: Parsed) -> None:
    spans = [
        tuple(map(int, str(c["data-bytes"]).split("-")))
        for c in page.every("code")
        if "data-bytes" in c
    ]
    assert spans[0] == (0, 36) and spans[1] == (36, 52) and spans[2] == (52, 56)
    assert [start for start, _ in spans[1:]] == [end for _, end in spans[:-1]]
    assert spans[-1][1] == 36 + SubmissionFormat(study).length


def test_a_second_code_in_one_browser_is_warned_of_twice(study: Study) -> None:
    notice = 'data-when="already" hidden>'
    assert survey_page(study).count(notice) == 2  # above the questions, and above Send
    assert notice not in survey_page(Study.parse(WHOLE.replace('"invited"', '"open"')))


def test_a_report_with_a_code_is_not_said_to_be_counted(study: Study) -> None:
    """Another report with the code, sent after the page had asked, has the same reply."""
    invited = survey_page(study)
    assert "only one of the two is counted" in invited
    assert "The collector has counted your report" not in invited
    assert "The collector has counted" in survey_page(
        Study.parse(WHOLE.replace('"invited"', '"open"'))
    )


def test_one_byte_is_one(study: Study) -> None:
    page = survey_page(study)
    assert '1 <span class="narrow">byte</span>' in page
    assert '36 <span class="narrow">bytes</span>' in page


def test_an_open_survey_asks_for_no_code() -> None:
    page = survey_page(Study.parse(WHOLE.replace('"invited"', '"open"')))
    assert 'id="code-0"' not in page and "state-not-invited" not in page
    assert "Random number" in page
