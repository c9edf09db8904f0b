"""The words of the survey page are complete in every language."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import warner.collector.pages as pages
from warner.collector.pages.survey import LANGUAGES, Words, direction, words_of

FOLDER = Path(pages.__file__).parent
ENGLISH = words_of("en")


def _rooms(text: str) -> set[str]:
    return set(re.findall(r"{(\w*)}", text))


def test_every_file_of_words_is_a_language_of_the_page() -> None:
    assert sorted(f.stem for f in (FOLDER / "words").glob("*.json")) == sorted(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_all_words_with_the_same_placeholders(language: str) -> None:
    own = words_of(language)
    assert own.keys() == ENGLISH.keys()
    assert {key: _rooms(own[key]) for key in own} == {key: _rooms(ENGLISH[key]) for key in ENGLISH}
    assert all(text.strip() and "<" not in text for text in own.values())


def test_no_word_is_left_over() -> None:
    files = [*FOLDER.glob("*.py"), *FOLDER.with_name("templates").glob("*.html")]
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    made = {"grid_row", "grid_column", "unit_week", "unit_month"}
    made |= {key for key in ENGLISH if key.startswith(("pending_", "promise_"))}
    made |= {"part_id_meaning", "part_id_invited_meaning"}
    made |= {key for key in ENGLISH if key.endswith("_invited")}
    assert [key for key in ENGLISH if f'"{key}"' not in source and key not in made] == []


def test_words_in_another_language_than_the_page_are_marked() -> None:
    assert Words("de-CH")("send") == "Senden"
    assert Words("ar")("send") == '<span lang="en" dir="ltr">Send</span>'
    assert Words("ar").mark == ' lang="en" dir="ltr"'


def test_directions_follow_the_script() -> None:
    assert [direction(tag) for tag in ("he", "ur-PK", "az-Arab", "az-Latn", "en")] == [
        "rtl",
        "rtl",
        "rtl",
        "ltr",
        "ltr",
    ]
