"""The words of the survey page: whole in every language, and refused where there are none.

A new text goes into ``words/*.json`` under one key. The first test names the files that lack it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from babel import Locale

import warner.collector.pages as pages
from tests.spec.app._command import run
from warner._core.errors import ArgumentError
from warner.collector.pages.poster import poster
from warner.collector.pages.survey import survey_page
from warner.collector.pages.wording import (
    LANGUAGES,
    SOURCE,
    Words,
    read_words,
    unread,
    word_problems,
    words_of,
)
from warner.collector.survey_document import fingerprint
from warner.studies.study import Study

FOLDER = Path(pages.__file__).parent
ENGLISH = words_of(SOURCE)
# What survey.js fills in: it chooses no forms.
FILLED_BY_SCRIPT = {"repeated", "law_example_here", "grid_cell"}
# What may be the same in English and in another language.
SAME = {
    "direction",
    "error_prefix",
    "read_by",
    "epsilon",
    "part",
    "size",
    "sent_bytes",
    "bytes",
    "untitled",
    "code_title",
}


def _forms(text: Any) -> dict[str, str]:
    """{category: text} of one key."""
    return {k: v for k, v in text.items() if k != "by"} if isinstance(text, dict) else {"": text}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_all_words(language: str) -> None:
    """Rejects a missing key, another placeholder, English that was left, or a missing plural."""
    own = words_of(language)
    assert list(word_problems(own)) == []
    categories = {*Locale.parse(language).plural_form.tags, "other"} - {"zero"}
    for key, text in own.items():
        forms = _forms(text)
        assert not any("<" in form or form != form.strip(" ") for form in forms.values()) or (
            key == "error_prefix"
        ), key
        if isinstance(text, dict):
            assert key not in FILLED_BY_SCRIPT and forms.keys() <= categories, key
        if language != SOURCE and key not in SAME:
            assert not {*forms.values()} & {*_forms(ENGLISH[key]).values()}, key
    right = Locale.parse(language).text_direction
    assert own["direction"] == right and Words(language).direction == right


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("number", [1, 2, 5, 11, 21, 100, 2.72])
def test_words_agree_with_numbers_without_an_error(language: str, number: float) -> None:
    words = Words(language)
    rounded = words.at_most(number)
    for key, text in words_of(language).items():
        if isinstance(text, dict):
            rooms = dict.fromkeys(("factor", "certainty", "answers", "asked", "delta"), rounded)
            assert words.plain(key, **{**rooms, text["by"]: rounded, "count": rounded})


def test_the_forms_are_those_of_the_language() -> None:
    """Rejects the English rule, by which 21 and 22 take the same form in Russian."""
    forms = {"one": "байт", "few": "байта", "many": "байтов", "other": "байта"}
    own = {"xx": ENGLISH, "ru": {**ENGLISH, "bytes": {"by": "count", **forms}}}
    said = [Words("ru", own).plain("bytes", count=n) for n in (21, 22, 25, 11)]
    assert said == ["байт", "байта", "байтов", "байтов"]
    assert [Words("de").plain("bytes", count=n) for n in (1, 21)] == ["Byte", "Bytes"]
    assert Words("xx", own).plain("send") == "Send" and Words("xx", own).at_most(1234.0) == "1,240"


@pytest.mark.parametrize("language", LANGUAGES)
def test_nobody_is_promised_that_a_report_tells_nothing_of_one_person(language: str) -> None:
    """Who runs a survey learns something of one person, and of wards: not "only" of all people."""
    said = words_of(language)["promise_strong"]
    only = "only nur solo seulement alleen tylko só только yalnızca sadece тільки лише 只 仅 فقط"
    assert not {*only.split()} & {*said.lower().replace(".", " ").split()}
    assert "all people" not in said and "zusammen." not in said and "всех вместе" not in said
    if language == SOURCE:
        assert said.endswith(
            " From all changed answers together, these people work out how common each answer is."
        )


def test_no_word_is_left_over() -> None:
    files = [*FOLDER.glob("*.py"), *FOLDER.with_name("templates").glob("*.html")]
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    made = {"grid_row", "grid_column", "unit_week", "unit_month"}
    made |= {key for key in ENGLISH if key.startswith(("pending_", "promise_"))}
    made |= {key for key in ENGLISH if key.startswith("part_id")}
    made |= {key for key in ENGLISH if key.endswith(("_invited", "_tokens"))}
    made |= {"direction", "language_name", "read_by"}
    assert [key for key in ENGLISH if f'"{key}"' not in source and key not in made] == []


PLAIN = """
languages = ["TAG"]
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[collect]
access = "open"
"""


def test_a_language_without_words_is_refused(tmp_path: Path) -> None:
    """Rejects a page whose protection is explained in a language that people did not ask for."""
    for tag in ("sw", "zh-TW"):
        with pytest.raises(ArgumentError, match="must be a language of the survey page"):
            survey_page(Study.parse(PLAIN.replace("TAG", tag)))
    for tag in ("de-AT", "pt-BR", "zh-CN"):
        assert f'<html lang="{tag}" dir="ltr">' in survey_page(
            Study.parse(PLAIN.replace("TAG", tag))
        )
    path = tmp_path / "study.toml"
    path.write_text(PLAIN.replace("TAG", "sw"))
    result = run("collect", "serve", str(path), "--port", "0", ok=False)
    assert "warner collect words -o sw.json" in " ".join(result.output.split())
    assert not (tmp_path / "study.toml.counts.sqlite").exists()


def test_a_translator_gets_a_file_and_the_page_speaks_it(tmp_path: Path) -> None:
    file = tmp_path / "sw.json"
    assert run("collect", "words", "-o", str(file))
    assert run("collect", "words", "-o", str(file), ok=False)  # a translation is not lost
    words = json.loads(file.read_text(encoding="utf-8"))
    assert words == ENGLISH
    file.write_text(json.dumps({**words, "send": "Tuma", "read_by": "A. Speaker"}))
    language, own = read_words(str(file))
    page = survey_page(Study.parse(PLAIN.replace("TAG", "sw")), translations={language: own})
    assert language == "sw" and '<html lang="sw" dir="ltr">' in page and ">Tuma<" in page
    assert unread([Words("sw", {"sw": own}), Words("en-GB")]) == ""
    assert "checked warner's words in: de (Deutsch), ar (العربية)." in unread(
        [Words("de"), Words("ar")]
    )
    part = tmp_path / "de.json"
    part.write_text('{"send": "Los"}')
    assert Words("de", dict([read_words(str(part))])).plain("back") == "Meine Antworten ändern"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"send": ""}, "send must not be empty"),
        ({"sned": "x"}, "sned is not the key of a text on the survey page"),
        ({"total": "ε"}, "total must have exactly these placeholders: epsilon"),
        ({"total": "{epsilon} {0}"}, "total must have exactly these placeholders: epsilon"),
        ({"total": "{epsilon} {"}, "total must have exactly these placeholders: epsilon"),
        ({"direction": "left"}, "direction must be"),
        ({"send": {"other": "x"}}, "send must be text"),
        (
            {"total": {"by": "epsilon", "other": "x {epsilon}", "some": "y"}},
            'total must have a key "other", and a key "by" whose value is "epsilon". Further',
        ),
        ({"send": 5}, "send must be text"),
    ],
)
def test_words_that_cannot_be_used_are_named(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    file = tmp_path / "sw.json"
    file.write_text(json.dumps({**ENGLISH, **change}), encoding="utf-8")
    with pytest.raises(ArgumentError) as caught:
        read_words(str(file))
    assert said in str(caught.value).replace(": ", " ").replace("placeholders ", "placeholders: ")
    file.write_text(json.dumps({"send": "Tuma"}))
    with pytest.raises(ArgumentError, match="is missing"):
        read_words(str(file))


def test_a_poster_has_the_address_and_promises_no_more_than_the_page() -> None:
    """Rejects a poster that says of hardly hidden answers that they are protected, in one round or
    in all.
    """
    text = '\n[attributes.x]\nvalues = ["<b>", "yes"]\nmechanism = "RandomizedResponse"\nepsilon = {}\n'
    head = 'title = { en = "Pills & <i>", ar = "x" }\nlanguages = ["en", "ar"]\n[collect]\naccess = "open"\n'
    good = poster(Study.parse(head + text.format(1.0)), "https://survey.example.org/")
    assert "Pills &amp; &lt;i&gt;" in good and "<svg" in good and 'dir="rtl"' in good
    assert "https://survey.example.org/" in good and str(words_of("en")["badge"]) in good
    assert fingerprint(Study.parse(head + text.format(1.0))) in good
    weak = head + "weak_protection = true\n"
    rounds = "[repeat]\nrounds = 52\nround = 1\nforever = 20\n"
    for study in (weak + text.format(11.0), weak + text.format(1.0) + rounds):
        bad = poster(Study.parse(study), "https://survey.example.org/")
        assert (
            str(words_of("en")["badge_hardly"]) in bad and str(words_of("en")["badge"]) not in bad
        )
