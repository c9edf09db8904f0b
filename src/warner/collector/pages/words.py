"""The words of the survey page in each language: one JSON file for a language, in ``words/``."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files as resources

from warner._core.html import Markup, text
from warner._core.text import at_most, of_hundred

FALLBACK = "en"
LANGUAGES = ("en", "de")
"""The languages of the page itself. A study may be asked in any language."""

_RIGHT_TO_LEFT = frozenset({"ar", "ckb", "dv", "fa", "he", "iw", "ps", "sd", "ug", "ur", "yi"})
_SCRIPTS = frozenset({"arab", "hebr", "thaa", "nkoo", "adlm", "rohg"})  # subtags of such scripts


def direction(language: str) -> str:
    """The direction in which a language is written, as the attribute ``dir`` names it.

    >>> direction("de"), direction("ar-EG"), direction("pa-Arab")
    ('ltr', 'rtl', 'rtl')
    """
    base, *rest = language.lower().split("-")
    return "rtl" if base in _RIGHT_TO_LEFT or _SCRIPTS & set(rest) else "ltr"


@cache
def words_of(language: str) -> dict[str, str]:
    """{key: text} of a language that has a file."""
    file = resources("warner.collector.pages").joinpath("words", f"{language}.json")
    found: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return found


class Words:
    """The words of the page for a study's language; English where there are none in it.

    Args:
        language: the language of the study's texts, a tag of BCP 47.

    Attributes:
        language: the language of the words.

    >>> Words("de-AT").language, Words("fr").language
    ('de', 'en')
    >>> Words("de").plain("send"), Words("fr")("send")
    ('Senden', '<span lang="en" dir="ltr">Send</span>')
    """

    def __init__(self, language: str) -> None:
        base = language.lower().partition("-")[0]
        self.language = base if base in LANGUAGES else FALLBACK
        self._words = words_of(self.language)
        self._is_other = self.language != base

    def plain(self, key: str, **values: object) -> str:
        """A text with its placeholders filled, not escaped."""
        return self._words[key].format(**values)

    def __call__(self, key: str, **values: object) -> Markup:
        """A text with its placeholders filled, escaped; marked where it is in another language."""
        escaped = text(self.plain(key, **values))
        if not self._is_other:
            return escaped
        return Markup(f'<span lang="{self.language}" dir="ltr">{escaped}</span>')

    @property
    def mark(self) -> Markup:
        """The attributes of an element whose label is in the words' language."""
        return Markup(f' lang="{self.language}" dir="ltr"' if self._is_other else "")

    def at_most(self, value: float, digits: int = 3) -> str:
        """A number rounded up, with the marks of the language.

        >>> Words("de").at_most(8103.08), Words("de").at_most(2.71828)
        ('8.110', '2,72')
        """
        return self._marked(at_most(value, digits))

    def of_hundred(self, share: float) -> str:
        """A share as a number of 100 people, with the marks of the language."""
        return self._marked(of_hundred(share))

    def decimal(self, number: float | int) -> str:
        """A number as it is, with the decimal point of the language.

        >>> Words("de").decimal(0.5), Words("en").decimal(60)
        ('0,5', '60')
        """
        shown = repr(number).removesuffix(".0")
        return shown.replace(".", self.plain("decimal_point"))

    def _marked(self, number: str) -> str:
        """A number in English with the marks of this language."""
        marks = {",": self.plain("thousands_mark"), ".": self.plain("decimal_point")}
        return "".join(marks.get(sign, sign) for sign in number)
