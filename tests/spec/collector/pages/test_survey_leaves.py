"""What a report tells is said of the realised law, for every mechanism that can be served."""

from __future__ import annotations

import pytest

from tests.registry import MECHANISMS
from warner import Categorical, Grid, Integers, Interval
from warner._core.errors import WarnerError
from warner.collector.pages.survey import LANGUAGES, Question, Words, law, survey_page
from warner.mechanisms import Mechanism
from warner.studies.study import Study
from warner.studies.texts import Texts

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
            "Of 100 people whose answer is “no”, 73 send the report that speaks most for it. Of 100 "
            "whose answer is “yes”, 27 send the same report. A report is at most 2.72 times as "
            "likely from one answer as from any other. Somebody who thought two answers equally "
            "likely is afterwards at most 73.2\N{NO-BREAK SPACE}% sure of one of them.",
        ),
        (
            'mechanism = "UtilityOptimizedRR"\nsensitive = ["yes"]\nepsilon = 1.0',
            "Only these answers are protected: yes. A report is at most 2.72 times as likely from "
            "one of them as from any other answer.",
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


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("text", "promised"),
    [
        (COIN.format("x", 2.9), ["strong"]),
        (COIN.format("x", 1) + COIN.format("y", 2), ["strong", "together"]),  # 3 is 95.3 %
        (COIN.format("x", 3), ["weak"]),
        (COIN.format("x", 10), ["weak"]),
        (LINE.format("x", 0.01), ["weak"]),
        (COIN.format("x", 9) + COIN.format("y", 9), ["weak", "together"]),
        (COIN.format("x", 10.5) + YES, ["none"]),
        (LINE.format("x", 10) + YES, ["none"]),
        (COIN.format("x", 1) + LINE.format("y", 10) + COIN.format("z", 4) + YES, ["none", "weak"]),
        (COIN.format("x", 1) + YES, ["strong"]),
    ],
)
def test_the_promise_follows_the_odds_of_the_most_distant_answers(
    text: str, promised: list[str], language: str
) -> None:
    """Rejects: "nobody can be sure" beside odds of 22,026, or of 2.72 for each unit of a thousand."""
    words = Words(language)
    page = survey_page(Study.parse(f'languages = ["{language}"]\n{text}'))
    keys = ("none", "weak", "strong", "together")
    assert [key for key in keys if words(f"promise_{key}") in page] == promised
    assert f'data-promises="{" ".join(promised)}"' in page
    hardly = "none" in promised
    assert (words("badge_hardly") in page) is hardly and (words("badge") in page) is not hardly
    some = [f"{words('promise_concerns', questions=name)}" in page for name in ("z", "y")]
    assert some == [len(promised) > 1 and hardly] * 2


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
