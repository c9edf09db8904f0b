"""The survey page and the owner's live page."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import warner.collector
from tests.registry import MECHANISMS
from tests.spec.collector._html import Parsed
from tests.spec.collector._live import ONE_IS_SMALL, STUDY, STUDY_TEXT, Memory, published
from warner import Categorical, Grid, Integers, Interval
from warner._core.errors import WarnerError
from warner.collector.live import state as live_state
from warner.collector.live.publisher import ALIVE, LivePublisher, live_events
from warner.collector.live.state import LiveView, Section, Step
from warner.collector.live.tables import (
    Wording,
    event_of,
    hidden_groups,
    progress,
    reject_rows,
    shares_table,
)
from warner.collector.pages.live import live_page
from warner.collector.pages.survey import Question, chosen_language, law, survey_page
from warner.collector.pages.wording import LANGUAGES, Words
from warner.collector.submissions import SubmissionFormat
from warner.collector.survey_document import survey_bytes, survey_digest
from warner.collector.web.responses import packaged
from warner.errors import IdentifiabilityError
from warner.mechanisms import Mechanism
from warner.results.estimate import estimate
from warner.studies.study import Study
from warner.studies.texts import Texts

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


@pytest.fixture(scope="module")
def study() -> Study:
    return Study.parse(WHOLE)


@pytest.fixture(scope="module")
def page(study: Study) -> Parsed:
    return Parsed(survey_page(study))


DRAWN = """
[collect]
access = "ACCESS"
[ask]
each = EACH
epsilon = 1.0
[attributes.smokes]
values = ["no", "yes"]
[attributes.drinks]
integers = [0, 9]
missing = "answer"
[attributes.town]
values = ["north", "south", "west"]
"""


@pytest.mark.parametrize("access", ["open", "invited"])
@pytest.mark.parametrize(("each", "asked"), [('"one"', "one"), ('"pair"', "two"), ("2", "two")])
def test_questions_that_are_drawn_are_hidden_until_then(access: str, each: str, asked: str) -> None:
    """Rejects a page that asks all questions, or that promises to hide which ones were asked."""
    study = Study.parse(DRAWN.replace("ACCESS", access).replace("EACH", each))
    page = survey_page(study)
    assert page.count('<fieldset class="question" id="q') == 3
    assert len(re.findall(r'<fieldset class="question" id="q\d" hidden', page)) == 3
    assert f"You are asked {asked} of three questions, chosen by chance." in page
    assert 'data-promises="strong drawn"' in page and "the page sends it unchanged" in page
    assert ("follows from your invitation code" in page) == (access == "invited")
    assert ("other questions can be chosen. So please" in page) == (access == "open")
    parts = Parsed(page)
    assert parts is not None and "Question 1 of" not in page
    blocks = sorted(
        {int(b) for found in re.findall('data-blocks="([^"]*)"', page) for b in found.split()}
    )
    assert blocks == list(range(len(study.draw.blocks)))  # type: ignore[union-attr]
    assert page.count("ε = 1<") >= 1 and "ε is at most 1." in page


def test_nothing_stands_inline_and_nothing_is_loaded_from_elsewhere(page: Parsed) -> None:
    for _tag, attributes in page.elements:
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href", "action"):
            assert "//" not in (attributes.get(name) or "")
    assert page.every("style") == []


@pytest.mark.parametrize("has_rounds", [False, True])
def test_every_script_is_named_with_the_digest_of_the_file_that_is_served(has_rounds: bool) -> None:
    """Rejects: a script, or a module that it imports, which a cache or a proxy can replace."""
    text = STUDY_TEXT + "\n[repeat]\nrounds = 2\nround = 1\nforever = 5.0\n" * has_rounds
    page = Parsed(survey_page(Study.parse(text)))
    preloaded = [one for one in page.every("link") if one.get("rel") == "modulepreload"]
    stated = {
        **{one["src"]: one["integrity"] for one in page.every("script")},
        **{one["href"]: one["integrity"] for one in preloaded},
    }
    imported = re.findall(r'"\./(\w+\.js)"', packaged()["survey.js"].content.decode())
    unused = set() if has_rounds else {"memo.js"}
    assert stated.keys() == {"survey.js", *imported} - unused
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
    assert Words("ar").plain("promise_start") in page.text and "Send" not in page.text


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
    folded = "<details><summary>The bytes of the sealed report</summary>"
    assert survey_page(study).split(folded)[1].lstrip().startswith('<table class="parts sent-bytes')


def test_a_second_code_in_one_browser_is_warned_of_twice(study: Study) -> None:
    notice = 'data-when="already" hidden>'
    assert survey_page(study).count(notice) == 2  # above the questions, and above Send
    assert notice not in survey_page(Study.parse(WHOLE.replace('"invited"', '"open"')))


def test_a_report_with_a_code_is_not_said_to_be_counted(study: Study) -> None:
    """Another report with the code, sent after the page had asked, has the same reply."""
    invited = survey_page(study)
    assert "only one of the two reports is counted" in invited
    assert "The collector has counted your report" not in invited
    assert "The collector has counted" in survey_page(
        Study.parse(WHOLE.replace('"invited"', '"open"'))
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_last_step_says_what_send_does(language: str) -> None:
    """Rejects a list of true answers above a button Send without a word on what is sent, and a
    page that names "the report" before anybody knows what that is."""
    words, asked = Words(language), '[attributes.q]\nvalues = ["a", "b"]\n'
    asked += 'mechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    for access, kind in (("invited", "_invited"), ("open", "")):
        for public in ("", '[public.w]\nvalues = ["n", "s"]\n'):
            text = f'languages = ["{language}"]\n[collect]\naccess = "{access}"\n{asked}{public}'
            page = survey_page(Study.parse(text), language)
            review = page[page.index('id="review"') : page.index('id="send"')]
            above = review.partition("<dl")[0]
            assert str(words("review_note")) in above and words.plain("send") in above
            assert (str(words("promise_public")) in above) == bool(public)
            once = review.index(str(words("before_once")))
            assert once < review.index(str(words("before_send" + kind)))


def test_one_byte_is_one(study: Study) -> None:
    page = survey_page(study)
    assert '1 <span class="narrow">byte</span>' in page
    assert '36 <span class="narrow">bytes</span>' in page


def test_an_open_survey_asks_for_no_code() -> None:
    page = survey_page(Study.parse(WHOLE.replace('"invited"', '"open"')))
    assert 'id="code-0"' not in page and "state-not-invited" not in page
    assert "Random number" in page


# -----------------------------------------------------------------------------------------------
# What a report tells is said of the realised law, for every mechanism that can be served.


LABELS = ["a", "b", "c", "d", "e", "f"]


def _told(mechanism: Mechanism, language: str = "en") -> str:
    texts = Texts({"languages": [language], "attributes": {"x": {}}}, {"x": mechanism.domain})
    words, domain = Words(language), mechanism.domain.answered
    nonresponse = mechanism.domain.nonresponse is not None
    return " ".join(
        law(mechanism, Question("q0", "x", domain, nonresponse, texts, language, words))
    )


DOMAINS = (Categorical(LABELS), Integers(0, 9), Interval(0.0, 1.0, 16), Grid(2, 3))


def _any(name: str) -> Mechanism:
    """A mechanism of the registry, on the first domain that it takes."""
    for domain in DOMAINS:
        try:
            return MECHANISMS[name](domain, 1.0)
        except WarnerError:
            continue
    raise AssertionError(f"{name} takes none of the domains")


@pytest.mark.crossed(60)
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_mechanism_has_a_sentence(name: str, language: str) -> None:
    told = _told(_any(name), language)
    assert told and "{" not in told.replace("{of}", "").replace("{same}", "").replace("{other}", "")


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (
            'mechanism = "RandomizedResponse"\nepsilon = 1.0',
            "Of 100 people whose answer is “no”, 73 send the report that points to “no”. Of 100 "
            "people whose answer is “yes”, 27 send this report too. A report is at most 2.72 times as "
            "likely from one answer as from any other. Somebody who thought two answers equally "
            "likely is afterwards at most 73.2\N{NO-BREAK SPACE}% sure of one of them.",
        ),
        (
            'mechanism = "UtilityOptimizedRR"\nsensitive = ["yes"]\nepsilon = 1.0',
            "Only these answers are protected: yes. A report is at most 2.72 times as likely from "
            "one of these answers as from any other answer.",
        ),
        (
            'mechanism = "RandomizedResponse"\nepsilon = 8.0',
            "A report is at most 2,990 times as likely from one answer as from any other.",
        ),
    ],
)
def test_the_sentences_have_the_numbers_of_the_law(entries: str, expected: str) -> None:
    study = Study.parse(f'[attributes.x]\nvalues = ["no", "yes"]\n{entries}\n')
    assert expected in survey_page(study)


def test_people_with_both_answers_are_dots() -> None:
    """Rejects a picture of one answer alone, which does not show that others send the report too."""
    study = Study.parse(COIN.format("x", 1.0))
    figure = survey_page(study).partition('<figure class="people">')[2].partition("<figcaption>")[0]
    rows = dict(re.findall(r"<p>(.*?)</p>(<svg.*?</svg>)", figure))
    filled = {answer: (row.count('"on"'), row.count('"off"')) for answer, row in rows.items()}
    assert filled == {"no": (73, 27), "yes": (27, 73)}


def test_numbers_are_rounded_against_us_in_every_language() -> None:
    study = Study.parse(
        'languages = ["de"]\n[attributes.x]\nvalues = ["nein", "ja"]\n'
        'mechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    )
    page = survey_page(study)
    assert "höchstens 2,72-mal" in page and "höchstens zu 73,2\N{NO-BREAK SPACE}%" in page


COIN = '[attributes.{}]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\nepsilon = {}\n'
LINE = '[attributes.{}]\nintegers = [0, 1000]\nmechanism = "Geometric"\nepsilon = {}\n'
YES = "[collect]\nweak_protection = true\n"
ROUNDS = "[repeat]\nrounds = 52\nround = 1\nforever = {}\nvalues = {}\n"


@pytest.mark.crossed(30)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("text", "promised"),
    [
        (COIN.format("x", 2.9), ["strong"]),
        (COIN.format("x", 1) + COIN.format("y", 2), ["strong", "together"]),  # 3 is 95.3 %
        (COIN.format("x", 3), ["weak"]),
        (COIN.format("x", 10), ["weak"]),
        (LINE.format("x", 0.01), ["weak"]),
        (COIN.format("x", 4) + COIN.format("y", 4), ["weak"]),
        (COIN.format("x", 4) + COIN.format("y", 7), ["weak", "together_hardly"]),  # 11
        (COIN.format("x", 9) + COIN.format("y", 9), ["weak", "together_hardly"]),
        (COIN.format("x", 10.5) + YES, ["none"]),
        (LINE.format("x", 10) + YES, ["none"]),
        (COIN.format("x", 1) + LINE.format("y", 10) + COIN.format("z", 4) + YES, ["none", "weak"]),
        (COIN.format("x", 1) + YES, ["strong"]),
        (COIN.format("x", 1) + ROUNDS.format(2.9, 1), ["rounds", "strong"]),
        (COIN.format("x", 1) + ROUNDS.format(1.5, 2), ["rounds", "weak"]),  # 3
        (COIN.format("x", 1) + ROUNDS.format(9, 1), ["rounds", "weak"]),
        (COIN.format("x", 1) + ROUNDS.format(20, 1) + YES, ["rounds", "none"]),
        (
            COIN.format("x", 1) + COIN.format("y", 1) + ROUNDS.format(1.4, 2),
            ["rounds", "strong", "together"],
        ),
        (
            COIN.format("x", 1) + COIN.format("y", 1) + ROUNDS.format(3, 2),
            ["rounds", "weak", "together_hardly"],
        ),
    ],
)
def test_the_promise_follows_the_odds_of_the_most_distant_answers(
    text: str, promised: list[str], language: str
) -> None:
    """Rejects: "nobody can be sure" beside odds of 22,026, or of 2.72 for each unit of a thousand, or
    where the reports of all rounds together have such odds.
    """
    words = Words(language)
    page = survey_page(Study.parse(f'languages = ["{language}"]\n{text}'))
    keys = ("rounds", "none", "weak", "strong", "together", "together_hardly")
    fills = {"rounds": words.decimal(52)}
    assert [key for key in keys if words(f"promise_{key}", **fills) in page] == promised
    assert f'data-promises="{" ".join(promised)}"' in page
    hardly = "none" in promised
    assert (words("badge_hardly") in page) is hardly and (words("badge") in page) is not hardly
    some = [f"{words('promise_concerns', questions=name)}" in page for name in ("z", "y")]
    assert some == [hardly and "weak" in promised] * 2


def test_what_is_not_protected_is_said_at_once() -> None:
    protected = (
        '[attributes.x]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    )
    part = protected.replace('"RandomizedResponse"', '"UtilityOptimizedRR"\nsensitive = ["yes"]')
    with_public = protected + '[public.ward]\nvalues = ["a", "b"]\n'
    said = {"promise_public": with_public, "promise_sensitive": part}
    for key, text in said.items():
        assert Words("en").plain(key) in survey_page(Study.parse(text))
        assert Words("en").plain(key) not in survey_page(Study.parse(protected))


# The live page: it can be read without script, and holds nothing that is not escaped.


STATIC = Path(warner.collector.__file__).parent / "static"


def test_the_page_has_everything_without_script() -> None:
    publisher = published(412)
    text = live_page(publisher.view(), STUDY, "secret-value")
    page = Parsed(text)
    assert (
        "412 of 1,000 reports; shares are now uncertain by about" in text
        and "percentage points." in text
    )
    assert "Open: answers are counted." in text and STUDY.digest in text
    assert text.count("<caption>") == len(page.every("table")) == 4
    assert all(facts.get("scope") in ("col", "row") for facts in page.every("th"))
    assert len(page.every("svg")) == 12 and all(
        s["aria-hidden"] == "true" for s in page.every("svg")
    )
    assert (
        "share by up to about 3 percentage points. This holds for estimates that are right on average"
        in text
    )
    assert "warner estimate tally.json --interval=anytime:1000 --summary=alcohol=mean," in text
    shares = re.search(r">no</th>" + r"<td>([0-9.]+)\s%</td>" * 3, text)
    assert shares is not None
    (share, low, high) = map(float, shares.groups())
    row = json.loads(publisher.file("estimates.json"))[0]["shares"][0]
    decimals = 0 if row["high"] - row["low"] >= 0.2 else 1
    assert shares[1] == f"{100 * row['estimate']:.{decimals}f}" and low < share < high


def test_nothing_of_the_page_needs_an_inline_script_or_style() -> None:
    view = published(412).view()
    for text in (live_page(view, STUDY, "x"), live_page(view, STUDY, "x", "ward", None)):
        page = Parsed(text)
        assert [facts["src"] for facts in page.every("script")] == ["live.js"]
        for tag, facts in page.elements:
            assert "style" not in facts and not any(name.startswith("on") for name in facts)
            assert tag not in ("style", "iframe", "object", "base")
        assert "<b>yes" not in text and "<health>" not in text


def test_forms_carry_the_anti_forgery_value_and_fit_the_status() -> None:
    value = 'a"><script>'
    for status, shown in (
        ("open", ["close"]),
        ("closed", ["open"]),
        ("not_open", ["close", "open"]),
    ):
        view = LiveView(1, 1000, 100, status)
        page = Parsed(live_page(view, STUDY, value))
        forms = page.every("form")
        assert [facts["action"] for facts in forms] == [
            f"live/{name}" for name in ("close", "open", "leave")
        ]
        assert all(facts["method"] == "post" for facts in forms)
        assert [facts["id"] for facts in forms if "hidden" not in facts] == [*shown, "leave"]
        hidden = [facts for facts in page.every("input") if facts["type"] == "hidden"]
        assert [facts["value"] for facts in hidden] == [value] * 3
        assert all(facts["name"] == "anti_forgery" for facts in hidden)


def test_groups_are_shown_on_demand_and_small_ones_hidden() -> None:
    publisher = published(150, wards=ONE_IS_SMALL, now="closed")
    view, groups = publisher.view(), publisher.groups("ward")
    text = live_page(view, STUDY, "x", "ward", groups)
    assert "north:" in text and "west:" not in text and "small groups with" in text
    assert "north:" not in live_page(view, STUDY, "x")
    assert '<a href="live?by=ward#groups">' in text


def test_hidden_groups_cannot_be_had_by_subtraction() -> None:
    """With one small group hidden, all people less the others would be that group."""
    assert hidden_groups({"a": 100, "b": 50, "c": 3}) == {"b", "c"}
    assert hidden_groups({"a": 100, "b": 6, "c": 5}) == {"b", "c"}
    assert hidden_groups({"a": 9}) == {"a"} and hidden_groups({"a": 10, "b": 10}) == set()


def test_progress_says_why_there_is_no_estimate() -> None:
    assert progress(LiveView(1, 500, 50, "closed")) == "No result: no report was counted."
    # Rejects the same words of a survey of 29 people, until their result is there.
    closed = LiveView(1, 500, 50, "closed", 29)
    assert progress(closed) == "The result from 29 reports is being computed."
    assert "after 50 reports" in progress(LiveView(1, 500, 50, "open"))
    assert progress(LiveView(1, 500, 50, "open", step=Step(1, 60, {}))) == "60 of 500 reports."


def test_reasons_of_rejects_are_plain_words() -> None:
    rows = reject_rows({"closed": 2, "malformed": 9, "type": 0, "a_new_one": 1})
    assert [count for _, count in rows] == [9, 2, 1]
    assert rows[1][0] == "sent after the survey closed" and rows[2][0] == "a new one"


def test_a_survey_that_closed_for_good_is_not_offered_to_be_opened() -> None:
    page = Parsed(live_page(LiveView(1, 1000, 100, "closed", is_final=True), STUDY, "value"))
    assert [facts["id"] for facts in page.every("form") if "hidden" not in facts] == ["leave"]
    final = [facts for facts in page.every("p") if facts.get("id") == "final"]
    assert final and "hidden" not in final[0]


def test_one_click_closes_only_what_can_be_opened_again() -> None:
    again = Study.parse(STUDY_TEXT.replace("[collect]", '[collect]\nkeep_ids = "always"'))
    for study, boxes in ((STUDY, 1), (again, 0)):
        page = Parsed(live_page(LiveView(1, 1000, 100, "open"), study, "value"))
        asked = [facts for facts in page.every("input") if facts["type"] == "checkbox"]
        assert len(asked) == boxes and all("required" in facts for facts in asked)


def test_the_files_of_a_step_are_shown_when_there_is_one() -> None:
    for view, shown in ((LiveView(1, 1000, 100, "open", 3), False), (published(130).view(), True)):
        page = Parsed(live_page(view, STUDY, "value"))
        [files] = [facts for facts in page.every("div") if facts.get("id") == "files"]
        assert ("hidden" not in files) == shown
        [without] = [facts for facts in page.every("p") if facts.get("id") == "no-files"]
        assert ("hidden" in without) == shown


def test_few_forged_reports_among_few_are_not_counted_in_points() -> None:
    small = Study.parse(STUDY_TEXT.replace("step = 100", "step = 1"))
    assert "an estimated share to anything" in live_page(published(3, small).view(), small, "value")
    assert "shares are now uncertain" in live_page(published(1000).view(), STUDY, "value")


def test_a_stream_sends_each_step_once_comments_in_between_and_ends() -> None:
    memory = Memory(STUDY)
    publisher = LivePublisher(memory, STUDY)
    publisher.look()

    async def read() -> list[bytes]:
        found: list[bytes] = []
        async for part in live_events(publisher, keep_alive=0.05):
            found.append(part)
            if part == ALIVE and found.count(ALIVE) == 1:
                memory.send(120)
                await asyncio.to_thread(publisher.look)
            elif part == ALIVE and found.count(ALIVE) == 2:
                memory.send(1)  # between two steps, and too early for the number of reports
                await asyncio.to_thread(publisher.look, True, False)
            elif part == ALIVE:
                publisher.stop()
        return found

    found = asyncio.run(asyncio.wait_for(read(), 20))
    steps = [part for part in found if b"event: step" in part]
    data = [json.loads(part.split(b"data: ")[1]) for part in steps]
    assert [event["n"] for event in data if not event["step"]] == [0] * (len(data) - 1)
    assert data[-1]["n"] == 120 and data[-1]["step"] == 1 and found.count(ALIVE) == 3
    assert all(part.endswith(b"\n\n") and part.count(b"\n\n") == 1 for part in found)
    assert publisher._listeners == set()


def test_an_event_says_what_the_page_says() -> None:
    view = published(412).view()
    event, text = event_of(view), live_page(view, STUDY, "x")
    for section in json.loads(json.dumps(event))["sections"]:
        for table in section["tables"]:
            for row in table["rows"]:
                for cell in row["cells"]:
                    assert cell.replace("<", "&lt;").replace(">", "&gt;") in text
    assert event["progress"] in text and event["about_step"] in text


def test_the_script_is_short_and_parses_no_html() -> None:
    script = (STATIC / "live.js").read_text()
    assert script.count("\n") < 170
    for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert sink not in script
    assert "https:" not in script and "import " not in script


def test_numbers_without_an_interval_of_every_look_have_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where reports do not determine the shares, an interval for one look would be wrong here."""

    def unknown(*_: object) -> None:
        raise IdentifiabilityError("the channel has no inverse")

    monkeypatch.setattr(live_state, "summary_rows", unknown)
    memory = Memory(STUDY)
    memory.send(150)
    result = estimate(memory.tallies["alcohol"].total())
    question = live_state.question_of("alcohol", result, 1000)
    assert question.summaries == () and question.numbers[0]["estimate"] == float(result.mean())
    _, numbers = Wording(STUDY).section(question, 1000).tables
    assert numbers.head == ("number", "estimate") and len(numbers.rows[0].cells) == 2


def _section(attribute: str, values: list[Any]) -> Section:
    """What the live page shows of reports on one question."""
    study = Study.parse(f"[attributes.a]\n{attribute}\n[collect]\naccess = 'open'")
    mechanism = study.mechanisms["a"]
    tally = mechanism.tally(mechanism.randomize(values))
    (question,) = live_state.questions_of({"a": tally}, 1000)
    return Wording(study).section(question, 1000)


def test_numbers_are_shown_in_bands_with_all_rows_folded() -> None:
    """Rejects a page of 31 bars, of which each says little, and bands of people without an answer."""
    text = "integers = [0, 30]\nmechanism = 'SubsetSelection'\nepsilon = 3.0\nmissing = 'answer'"
    section = _section(text, [*range(31), None] * 40)
    *shares, numbers = section.tables
    assert [len(table.rows) for table in shares] == [7, 32, 31]
    assert [table.is_long for table in shares] == [False, True, True] and not numbers.is_long
    assert shares[0].caption.startswith("In bands: share of each answer among the people who answ")
    total = sum(row.bar[0] for row in shares[0].rows if row.bar)
    assert abs(total - 1) < 1e-6


def test_where_nothing_is_known_a_sentence_says_so() -> None:
    """Rejects a table that is folded away for it, and 100 % of ten people without the sentence,
    because its interval is cut off at 100 % and so is less than 80 points wide."""
    weak = "values = ['no', 'yes']\nmechanism = 'RandomizedResponse'\nepsilon = 0.05"
    strong = weak.replace("0.05", "4.0")
    for text, values in ((weak, ["no", "yes"] * 50), (strong, ["yes"] * 10)):
        (table,) = _section(text, values).tables
        assert "So few reports tell almost nothing: shares can be" in table.caption
        assert not table.is_long
    (table,) = _section(strong, ["no", "yes"] * 50).tables
    assert "almost nothing" not in table.caption


def test_of_very_many_values_the_largest_are_shown_and_folded() -> None:
    rows = [{"estimate": i / 1000, "low": 0.0, "high": 1.0} for i in range(300)]
    table = shares_table("Shares", [str(i) for i in range(300)], rows, has_intervals=True)
    assert [row.cells[0] for row in table.rows] == [str(i) for i in range(299, 99, -1)]
    assert "the 200 largest of 300" in table.caption and table.is_long
