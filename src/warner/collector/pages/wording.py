"""The words of the survey page: one JSON file for a language, in ``words/``.

A translator needs nothing else: ``{key: text}``, the keys of ``en.json`` in every file. Numbers and
names stand in ``{braces}``. Where words must agree with a number, an object takes the text's place:
``{"by": "count", "one": ..., "few": ..., "other": ...}``, with the plural categories of the
language in the Unicode CLDR. ``survey.js`` fills the texts that it is given and chooses none, so
those are plain. ``read_by`` says which native speaker has read the file; "" is nobody.

A new key goes into every file, with the same claim in each, which must not be stronger than in
English. The tests name the files that lack it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files as resources
from pathlib import Path

from babel import Locale, UnknownLocaleError
from babel.numbers import format_decimal, get_decimal_symbol
from markupsafe import Markup, escape

from warner._core.checks import show
from warner._core.errors import ArgumentError
from warner._core.text import at_most, of_hundred
from warner.studies.texts import is_language

Text = str | dict[str, str]
WordsFile = Mapping[str, Text]
"""{key: text}, or {key: {"by": placeholder, category: text}}."""

SOURCE = "en"  # the language from which the others are translated
_FOLDER = resources("warner.collector.pages").joinpath("words")
LANGUAGES = tuple(sorted(file.name.removesuffix(".json") for file in _FOLDER.iterdir()))
"""The languages whose words warner has."""

CATEGORIES = ("zero", "one", "two", "few", "many", "other")
_TRADITIONAL = {"hant", "tw", "hk", "mo"}  # zh.json is in simplified characters
_OPTIONAL = {"read_by"}  # it may be empty


class Numeral(str):
    """A number as text, which knows its value, so that the words beside it can agree with it."""

    value: Decimal

    def __new__(cls, text: str, value: Decimal | int) -> Numeral:
        made = super().__new__(cls, text)
        made.value = Decimal(value)
        return made


@cache
def words_of(language: str) -> WordsFile:
    """The words of one of LANGUAGES."""
    words: WordsFile = json.loads(_FOLDER.joinpath(f"{language}.json").read_text(encoding="utf-8"))
    return words


def _written_in(language: str) -> str | None:
    """The one of LANGUAGES that a reader of a language reads; None where there is none.

    >>> [_written_in(tag) for tag in ("de-AT", "zh-Hans", "zh-TW", "sw")]
    ['de', 'zh', None, None]
    """
    base, *rest = language.lower().split("-")
    if base == "zh" and _TRADITIONAL & set(rest):
        return None
    return base if base in LANGUAGES else None


def read_words(path: str) -> tuple[str, WordsFile]:
    """The language and the words of a file of one's own, named LANGUAGE.json.

    It may hold a part of the words where warner has the others.
    """
    language = Path(path).name.removesuffix(".json")
    if not is_language(language):
        rule = "must be named after the language of its texts"
        raise ArgumentError(path, rule, None, "For example sw.json or pt-BR.json")
    try:
        stated = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ArgumentError(path, f"cannot be read ({error.strerror})") from None
    except ValueError:  # neither UTF-8 nor JSON
        stated = None
    if not isinstance(stated, dict):
        rule = "must be a JSON object of keys and texts, in UTF-8"
        remedy = 'Begin with the file that "warner collect words" writes'
        raise ArgumentError(path, rule, None, remedy)
    base = _written_in(language)
    words = {**({} if base is None else words_of(base)), "read_by": "", **stated}
    for key, rule in word_problems(words):
        raise ArgumentError(f"{path}: {key}", rule)
    return language, words


def word_problems(words: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """What is wrong with the words of a language: (key, the rule that is broken)."""
    source = words_of(SOURCE)
    for key in source.keys() - words.keys():
        yield key, "is missing"
    for key in words.keys() - source.keys():
        yield key, "is not the key of a text on the survey page"
    if words.get("direction") not in ("ltr", "rtl"):
        yield (
            "direction",
            'must be "ltr" for a language written from left to right, or "rtl" for right to left',
        )
    for key in source.keys() & words.keys():
        text, rooms = words[key], _rooms(source[key])
        forms = text if isinstance(text, dict) else {"other": text}
        texts = [form for category, form in forms.items() if category != "by"]
        if isinstance(text, dict) and not (
            text.get("by") in (rooms | _by(source[key]))
            and "other" in text
            and {*text} <= {"by", *CATEGORIES}
        ):
            numbers = " or ".join(map(json.dumps, sorted(rooms | _by(source[key]))))
            rule = f'must have a key "other", and a key "by" whose value is {numbers}'
            more = ", ".join(name for name in CATEGORIES if name != "other")
            yield key, f"{rule}. Further keys can be {more}" if numbers else "must be text"
        elif not all(isinstance(form, str) for form in texts):
            yield key, "must be text"
        elif key not in _OPTIONAL and not all(str(form).strip() for form in texts):
            yield key, "must not be empty"
        elif any(_rooms(str(form)) != rooms for form in texts):
            yield key, f"must have exactly these placeholders: {', '.join(sorted(rooms)) or 'none'}"


def _rooms(text: object) -> set[str]:
    """The placeholders of a text; "{" of something else is a placeholder with a strange name."""
    one = text["other"] if isinstance(text, dict) else text
    return set(re.findall(r"{([^{}]*)}?|}", str(one)))


def _by(text: Text) -> set[str]:
    """The number with which the English words agree; it need not stand in the text."""
    return {text["by"]} if isinstance(text, dict) else set()


class Words:
    """The words of the page in the language of a study's texts.

    Args:
        language: a tag, such as "de-AT".
        translations: {language: words of :func:`read_words`}, which come first.

    Raises:
        ArgumentError: there are no words in the language.

    >>> Words("de-AT").plain("send"), Words("ar").direction
    ('Senden', 'rtl')
    >>> Words("sw")
    Traceback (most recent call last):
    ...
    warner._core.errors.ArgumentError: language: must be a language of the survey page (ar, de, ...
    """

    def __init__(self, language: str, translations: Mapping[str, WordsFile] | None = None) -> None:
        base, translations = _written_in(language), translations or {}
        if language not in translations and base is None:
            rule = f"must be a language of the survey page ({', '.join(LANGUAGES)})"
            remedy = (
                f"For another language, run: warner collect words -o {language}.json. Translate "
                f"the file, then serve with --words {language}.json"
            )
            raise ArgumentError("language", rule, show(language), remedy)
        self.language = language
        self._words = translations.get(language) or words_of(str(base))
        try:
            self._locale = Locale.parse(language.partition("-")[0])
        except (UnknownLocaleError, ValueError):  # Unicode knows nothing of it
            self._locale = Locale.parse("und")

    @property
    def direction(self) -> str:
        """The direction in which the language is written, as the attribute ``dir`` names it."""
        return self.plain("direction")

    @property
    def name(self) -> str:
        """How the language calls itself, with the region or script of its tag."""
        rest = self.language.partition("-")[2]
        return self.plain("language_name") + (f" ({rest})" if rest else "")

    @property
    def read_by(self) -> str:
        """The native speaker who has read the words; "" for nobody."""
        return self.plain("read_by")

    @property
    def file(self) -> str:
        """All words as JSON, as files of words have them."""
        return json.dumps(self._words, ensure_ascii=False, indent=1) + "\n"

    def plain(self, key: str, **values: object) -> str:
        """A text with its placeholders filled, not escaped."""
        shown = {
            name: self._numeral(value) if isinstance(value, int) else value
            for name, value in values.items()
        }
        text = self._words[key]
        if isinstance(text, dict):
            number = shown[text["by"]]
            category = (
                self._locale.plural_form(number.value) if isinstance(number, Numeral) else "other"
            )
            text = text.get(category, text["other"])
        return text.format(**shown)

    def __call__(self, key: str, **values: object) -> Markup:
        """A text with its placeholders filled, escaped."""
        return escape(self.plain(key, **values))

    def at_most(self, value: float, digits: int = 3) -> Numeral:
        """A number rounded up, as the language writes it.

        >>> Words("de").at_most(8103.08), Words("de").at_most(2.71828)
        ('8.110', '2,72')
        """
        return self._rounded(at_most(value, digits))

    def of_hundred(self, share: float) -> Numeral:
        """A share as a number of 100 people, as the language writes it."""
        return self._rounded(of_hundred(share))

    def count(self, number: int) -> Numeral:
        """A number of questions, as a word where the language has one.

        >>> Words("en").count(10), Words("de").count(13)
        ('ten', '13')
        """
        named = self.plain("number_words").split()
        return Numeral(named[number - 1] if number <= len(named) else str(number), number)

    def decimal(self, number: float | int) -> str:
        """A number as it is, with the decimal point of the language.

        >>> Words("de").decimal(0.5), Words("en").decimal(60)
        ('0,5', '60')
        """
        exact = Decimal(repr(number))
        return str(
            format_decimal(
                exact, locale=self._locale, decimal_quantization=False, group_separator=False
            )
        )

    def _numeral(self, number: Decimal | int) -> Numeral:
        """A number with the marks of the language."""
        shown = format_decimal(number, locale=self._locale, decimal_quantization=False)
        return Numeral(shown, number)

    def _rounded(self, english: str) -> Numeral:
        """A number that was rounded to English text."""
        value = Decimal(english.replace(",", ""))
        if "e" in english:  # 1.2e+09
            return Numeral(english.replace(".", get_decimal_symbol(self._locale)), value)
        return self._numeral(value)


def unread(languages: Iterable[Words]) -> str:
    """What the owner should know of translations that no native speaker has read; "" for none."""
    listed = [
        f"{words.language} ({words.name})"
        for words in languages
        if not words.read_by and words.language.partition("-")[0] != SOURCE
    ]
    if not listed:
        return ""
    tag = listed[0].split()[0]
    return (
        f"No native speaker has checked warner's words in: {', '.join(listed)}. Let a native "
        "speaker read the words before people answer. To get the words, run: warner collect words "
        f"--language {tag} -o {tag}.json. Correct the file, then serve with --words {tag}.json."
    )
