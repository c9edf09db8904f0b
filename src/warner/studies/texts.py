"""What people read, by language, and how their answers are collected.

No mechanism, header or digest depends on any of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from warner._core.checks import show, unknown
from warner._core.errors import ArgumentError
from warner._core.text import look, meant, unreadable
from warner.domains import Categorical, Domain, Items
from warner.studies.problems import Path, Problem, ProblemLog, in_words
from warner.studies.schema import TO_DECIDE, UNDECIDED

DEFAULT_LANGUAGE = "en"

# A tag of BCP 47 as pages state it: "de", "pt-BR", "zh-Hant".
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")
# The tables whose parts are asked: {table: the texts of one part}.
_ASKED = {"attributes": ("label", "help"), "public": ("label", "help")}
_OF_STUDY = ("title", "introduction", "consent", "thanks")
# The answers to an item that is asked by itself.
_NO_AND_YES = {
    "en": ("no", "yes"),
    "ar": ("لا", "نعم"),
    "de": ("nein", "ja"),
    "es": ("no", "sí"),
    "fr": ("non", "oui"),
    "it": ("no", "sì"),
    "nl": ("nee", "ja"),
    "pl": ("nie", "tak"),
    "pt": ("não", "sim"),
    "ru": ("нет", "да"),
    "tr": ("hayır", "evet"),
    "uk": ("ні", "так"),
    "zh": ("否", "是"),
}
_SEVERAL_LINES = ("introduction", "consent", "thanks", "help")  # these may hold line ends


class Texts:
    """The texts of a study by language.

    Args:
        data: the study, checked.
        domains: {attribute or public column: its domain}, for the texts of the values.

    Attributes:
        languages: at least one; the first is that of the plain texts.

    >>> from warner import Categorical
    >>> data = {
    ...     "languages": ["en", "de"],
    ...     "attributes": {
    ...         "smokes": {
    ...             "label": {"en": "Do you smoke?", "de": "Rauchen Sie?"},
    ...             "answers": {"de": ["nein", "ja"]},
    ...         }
    ...     },
    ... }
    >>> texts = Texts(data, {"smokes": Categorical(["no", "yes"])})
    >>> texts.question("smokes", "de"), texts.answers("smokes", "de")
    ('Rauchen Sie?', ('nein', 'ja'))
    >>> texts.answer("smokes", 1, "en"), texts.help("smokes", "en")
    ('yes', '')
    """

    def __init__(self, data: Mapping[str, Any], domains: Mapping[str, Domain]) -> None:
        self.languages = languages_of(data)
        self._study = {key: _by_language(data.get(key), self.languages) for key in _OF_STUDY}
        self._parts = {
            name: question for table in _ASKED for name, question in data.get(table, {}).items()
        }
        self._domains = dict(domains)
        # Items that people tick can be asked one by one: {item: (question, its position)}.
        self._items = {
            item: (name, position)
            for name, domain in self._domains.items()
            if isinstance(domain, Items)
            for position, item in enumerate(domain.items)
            if item not in self._parts
        }

    def title(self, language: str) -> str:
        """The title of the study in a language; "" where there is none.

        Raises:
            ArgumentError: a language that the study does not have.
        """
        return self._study["title"].get(self._known(language), "")

    def introduction(self, language: str) -> str:
        """The text above the questions; "" where there is none. As :meth:`title`."""
        return self._study["introduction"].get(self._known(language), "")

    def consent(self, language: str) -> str:
        """What people agree to before they answer; "" where nobody is asked. As :meth:`title`."""
        return self._study["consent"].get(self._known(language), "")

    def thanks(self, language: str) -> str:
        """What people read after their report was sent; "" for nothing. As :meth:`title`."""
        return self._study["thanks"].get(self._known(language), "")

    def question(self, name: str, language: str) -> str:
        """The text of a question or of a public column; its name where it has none.

        Args:
            name: an attribute, an item of one, or a public column.
            language: one of ``languages``.

        Raises:
            ArgumentError: a name or a language that the study does not have.
        """
        if name in self._items:
            of, position = self._items[name]
            item = self.answers(of, language)[position]
            return f"{self.question(of, language)} \N{EN DASH} {item}"
        return self._of(name, "label").get(self._known(language), name)

    def help(self, name: str, language: str) -> str:
        """The hint below a question; "" where there is none. As :meth:`question`."""
        return self._of(name, "help").get(self._known(language), "")

    def unit(self, name: str) -> str:
        """The unit of a number, the same in all languages; "" where there is none."""
        return str(self._part(name).get("unit", ""))

    @property
    def units(self) -> dict[str, str]:
        """{question: the unit of its numbers}, where one is stated."""
        return {name: unit for name in self._parts if (unit := self.unit(name))}

    def only_if(self, name: str) -> tuple[str, tuple[Any, ...]] | None:
        """The question that decides whether a question is shown, and its answers that show it."""
        stated = self._part(name).get("only_if")
        return next(((of, tuple(labels)) for of, labels in (stated or {}).items()), None)

    def answers(self, name: str, language: str) -> tuple[str, ...]:
        """The displayed texts of all values in their order, as :meth:`answer`."""
        if name in self._items:
            primary = self._known(language).partition("-")[0]
            return _NO_AND_YES.get(primary, _NO_AND_YES[DEFAULT_LANGUAGE])
        stated = self._part(name).get("answers", {}).get(self._known(language), ())
        domain = self._values(name)
        if isinstance(domain, Items):  # a text for each item, and not for each set of them
            domain = Categorical(domain.items)
        form, unstated = domain.text, range(len(stated), domain.size)
        if form is not None and form.labels is not None:
            return (*map(str, stated), *form.labels[len(stated) :])
        return (*map(str, stated), *map(str, domain.decode(unstated)))

    def answer(self, name: str, index: int, language: str) -> str:
        """The displayed text of a value: that of the language, else the value itself.

        Args:
            name: an attribute or a public column.
            index: the index of the value in the domain. Nonresponse, where it is a value, has its
                label.
            language: one of ``languages``.

        Raises:
            ArgumentError: a name, an index or a language that the study does not have.
        """
        shown = self.answers(name, language)
        if not 0 <= index < len(shown):
            rule = f"must be from 0 to {len(shown) - 1}"
            raise ArgumentError("index", rule, show(index))
        return shown[index]

    def missing(self) -> list[str]:
        """What people will not read because it is not there, in sentences; [] where all is there.

        >>> from warner import Categorical
        >>> data = {"languages": ["en", "de"], "public": {"site": {"values": ["north", "south"]}}}
        >>> for sentence in Texts(data, {"site": Categorical(["north", "south"])}).missing():
        ...     print(sentence)
        The study has no label for site, so people read the name.
        The study has no translated answers for site.
        """
        unasked = [name for name, table in self._parts.items() if not table.get("label")]
        untold = [
            name
            for name, table in self._parts.items()
            if len(self.languages) > 1 and {"values", "items"} & {*table} and "answers" not in table
        ]
        stated = {
            "The study has no label for {}, so people read the name.": unasked,
            "The study has no translated answers for {}.": untold,
        }
        return [text.format(", ".join(names)) for text, names in stated.items() if names]

    def _known(self, language: str) -> str:
        """The language itself, if the study has it."""
        if language not in self.languages:
            raise unknown("language", language, self.languages)
        return language

    def _part(self, name: str) -> Mapping[str, Any]:
        """The table of an attribute or a public column."""
        if name in self._items:
            return {key: v for key, v in self._part(self._items[name][0]).items() if key == "help"}
        if name not in self._parts:
            raise unknown("name", name, self._parts)
        question: Mapping[str, Any] = self._parts[name]
        return question

    def _values(self, name: str) -> Domain:
        """The domain of an attribute or a public column."""
        self._part(name)
        return self._domains[name]

    def _of(self, name: str, key: str) -> dict[str, str]:
        """{language: a text of a part}."""
        return _by_language(self._part(name).get(key), self.languages)


def languages_of(data: Mapping[str, Any]) -> tuple[str, ...]:
    """The languages of a study, the default one first."""
    return tuple(data.get("languages") or (DEFAULT_LANGUAGE,))


def is_language(tag: str) -> bool:
    """Whether a text is the tag of a language, as pages state it.

    >>> is_language("de"), is_language("pt-BR"), is_language("German")
    (True, True, False)
    """
    return _LANGUAGE.fullmatch(tag) is not None


def _by_language(text: Any, languages: tuple[str, ...]) -> dict[str, str]:
    """{language: text}; a plain text is that of the default language."""
    if isinstance(text, Mapping):
        return {language: str(text[language]) for language in languages if language in text}
    return {languages[0]: text} if text else {}


def text_problems(data: Mapping[str, Any]) -> list[Problem]:
    """Everything that is wrong with the languages and texts of a study."""
    log = ProblemLog()
    languages = _languages(data, log)
    for path, text in _texts(data):
        if path[-1] != "answers":
            _check_text(text, path, languages, log)
    for table in _ASKED:
        for name, question in _tables(data.get(table)):
            _check_line(question.get("unit"), (table, name, "unit"), log)
            _check_answers(question, (table, name), languages, log)
            _check_only_if(data, (table, name), question, log)
    return list(dict.fromkeys(log.problems))


def _check_only_if(
    data: Mapping[str, Any], path: Path, question: Mapping[str, Any], log: ProblemLog
) -> None:
    """Refuse a condition that a page cannot decide, or whose "no answer" would not be protected."""
    stated, key = question.get("only_if"), (*path, "only_if")
    if not isinstance(stated, Mapping):
        return
    if len(stated) != 1:
        remedy = 'Write for example only_if = {smokes = ["yes"]}'
        log.add(key, "must name one question", None, remedy)
        return
    if question.get("missing") != "answer":
        rule = (
            'needs missing = "answer", which protects the people to whom the question does not '
            "apply"
        )
        log.add(key, rule, None, 'Add the line missing = "answer" to the question')
    if data.get("ask") is not None:
        log.add(key, "cannot be used with [ask], where each person is asked only some questions")
    ((name, labels),) = stated.items()
    attributes = dict(_tables(data.get("attributes")))
    names = list(attributes)
    if name not in names[: names.index(str(path[1]))]:
        log.add(key, "must name a question that comes before this one", show(name))
        return
    values = attributes[name].get("values")
    strange = [x for x in labels if not isinstance(values, list) or x not in values]
    if strange or not labels:
        rule = f"must list some of the values of {name}"
        log.add(key, rule, show(strange[0]) if strange else None)


def _texts(data: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    """The place of each text or list of texts that can be written by language, with it."""
    for key in _OF_STUDY:
        yield (key,), data.get(key)
    for table, keys in _ASKED.items():
        for name, question in _tables(data.get(table)):
            for key in (*keys, "answers"):
                yield (table, name, key), question.get(key)


def _languages(data: Mapping[str, Any], log: ProblemLog) -> tuple[str, ...]:
    """The languages of a study; () where they are wrong, so that no text can be held to them."""
    stated = data.get("languages")
    if stated is None:
        used = {path: text for path, text in _texts(data) if isinstance(text, Mapping)}
        named = dict.fromkeys(tag for text in used.values() for tag in text)
        if named.keys() <= {DEFAULT_LANGUAGE}:
            return (DEFAULT_LANGUAGE,)
        rule = f"is missing, but there are texts in {' and '.join(map(str, named))}"
        listed = ", ".join(f'"{tag}"' for tag in named)
        remedy = f"Write languages = [{listed}] above the first table, the default language first"
        log.add(next(iter(used)), rule, None, remedy, "languages")
        return ()
    before = len(log.problems)
    tags = [tag for tag in stated if isinstance(tag, str)] if isinstance(stated, list) else []
    for i, tag in enumerate(tags):
        if not is_language(tag):
            remedy = 'Write for example languages = ["en", "de", "pt-BR"]'
            log.add(("languages", i), "must be language tags", show(tag), remedy, "languages")
        elif tag.casefold() in {other.casefold() for other in tags[:i]}:
            rule = "must not list a language twice"
            log.add(("languages", i), rule, show(tag), None, "languages")
    return tuple(tags) if len(log.problems) == before else ()


def _tables(tables: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The parts of a table that are tables themselves."""
    for name, question in tables.items() if isinstance(tables, Mapping) else ():
        if isinstance(question, Mapping):
            yield str(name), question


def _check_text(text: Any, path: Path, languages: tuple[str, ...], log: ProblemLog) -> None:
    """Refuse a text that lacks a language, has one too many, or cannot be shown."""
    several = path[-1] in _SEVERAL_LINES
    if isinstance(text, str):
        if path != ("title",):  # a plain title was never checked: pages escape it
            _check_line(text, path, log, several)
        if text and len(languages) > 1:
            form = ", ".join(f'{tag} = "..."' for tag in languages)
            rule, remedy = _lacks(languages[1:]), f"Write {path[-1]} = {{ {form} }}"
            log.add(path, rule, "only one text", remedy)
    elif isinstance(text, Mapping):
        _check_keys(text, path, languages, log)
        for tag, shown in text.items():
            _check_line(shown, (*path, tag), log, several, is_needed=True)


def _lacks(missing: tuple[str, ...]) -> str:
    """The rule that a text with missing languages breaks."""
    return f"must have a text in {' and '.join(missing)}"


def _check_keys(
    table: Mapping[str, Any],
    path: Path,
    languages: tuple[str, ...],
    log: ProblemLog,
    spared: int = 0,
) -> None:
    """Refuse a table by language that has other languages than the study."""
    if not languages:
        return
    missing = tuple(tag for tag in languages if tag not in table)
    for tag in table:
        if tag in languages:
            continue
        near = meant(str(tag), missing)
        if near is not None:  # a misspelt language and the lack of the right one are one mistake
            missing = tuple(other for other in missing if repr(other) not in near)
        rule = f"must be one of the study's languages, {', '.join(languages)}"
        remedy = near or "Add it to languages = [...] at the beginning of the file"
        log.add((*path, tag), rule, None, remedy)
    if len(missing) > spared:
        log.add(path, _lacks(missing))


def _check_line(
    text: Any, path: Path, log: ProblemLog, several: bool = False, is_needed: bool = False
) -> None:
    """Refuse a text that a screen cannot show, or an empty one where a text is needed."""
    if not isinstance(text, str):
        return
    strange = unreadable(text.replace("\r\n", "\n").replace("\n", " ") if several else text)
    if strange is not None:
        rule = f"must be {'text' if several else 'one line'}, without {strange}"
        log.add(path, rule, None, "Delete the text and type it again")
    elif is_needed and not text.strip():
        log.add(path, "must not be empty")
    elif is_needed and text == TO_DECIDE:
        log.add(path, UNDECIDED)


def _check_answers(
    question: Mapping[str, Any], path: Path, languages: tuple[str, ...], log: ProblemLog
) -> None:
    """Refuse displayed answers that do not go with the values, or that repeat."""
    table, values = question.get("answers"), question.get("values", question.get("items"))
    path = (*path, "answers")
    # One language needs none: the values themselves are texts in it.
    if not isinstance(table, Mapping):
        return
    if values is None:
        rule, remedy = "can be used only for a question with a list of values", "Delete these lines"
        log.add(path, rule, None, remedy)
        return
    _check_keys(table, path, languages, log, spared=1)
    for tag, shown in table.items():
        if not isinstance(shown, list | tuple) or not all(isinstance(text, str) for text in shown):
            continue
        if isinstance(values, list | tuple) and len(shown) != len(values):
            rule = f"must have one text for each of the {len(values)} values"
            got, remedy = f"{len(shown)}", "Write them in the same order as the values"
            log.add((*path, tag), rule, got, remedy)
        _check_each(shown, (*path, tag), log)


def _check_each(texts: Sequence[str], path: Path, log: ProblemLog) -> None:
    """Refuse displayed answers that are empty or look like another one."""
    taken: dict[str, int] = {}
    for i, text in enumerate(texts):
        _check_line(text, (*path, i), log, is_needed=True)
        key = look(text)
        first = taken.setdefault(key, i)
        if text.strip() not in ("", TO_DECIDE) and first != i:
            rule = f"is the same as text number {first + 1}, so people could not tell the two apart"
            log.add((*path, i), rule, show(text), None, in_words((*path, i)))


# -----------------------------------------------------------------------------------------------
# How the answers of a study are collected from people: the table ``[collect]``.

PEOPLE = 1000  # planned, where the study does not say
_FEWEST_IN_A_STEP = 50
_STEPS = 100  # a step is 1 % of the planned people, where that is more


@dataclass(frozen=True)
class Tokens:
    """Where and for what people exchange their codes, see ``warner.collector.tokens``.

    The ``issuer`` has one of the ``keys`` for each block of questions that can be drawn. A report
    waits on a device for a time that is drawn at random, at most ``wait`` seconds.
    """

    issuer: str
    keys: tuple[str, ...]
    wait: int = 60


@dataclass(frozen=True)
class Collect:
    """How answers are collected, with the defaults filled in.

    Attributes:
        people: n, the planned number of people.
        planned: n where the study states it, else None.
        opens: when the survey opens, with its offset from UTC; None: as soon as it is served.
        closes: when it closes; None: when its owner closes it.
        step: B, the number of reports after which a new result is published.
        access: "open" to everyone with the address, "invited" by a code that works once, or
            "tokens": by a code that is exchanged for a token, from which it does not follow;
            None where the study does not say, which cannot be served.
        tokens: where codes are exchanged; None where access is not "tokens".
        contact: whom people can ask, "" where the study does not say.
        keep_ids: "closed": the ids that tell repeats are dropped when the survey closes;
            "always": they are kept.
        origins: those of other pages that may send reports, or show the survey in a frame.
        link: an address to go on to after the report was sent, "" for none.
        per_page: how many questions stand on one page of the survey; None for all.
        weak_protection: whether reports may tell more than odds of 22,027, which is epsilon 10, of
            any two answers, in all rounds together. The survey page then says so.

    >>> Collect.of({"people": 20_000}).step, Collect.of({}).step, Collect.of({"people": 10}).step
    (200, 50, 10)
    """

    people: int = PEOPLE
    planned: int | None = None
    opens: datetime | None = None
    closes: datetime | None = None
    step: int = _FEWEST_IN_A_STEP
    access: str | None = None
    tokens: Tokens | None = None
    contact: str = ""
    keep_ids: str = "closed"
    origins: tuple[str, ...] = ()
    link: str = ""
    per_page: int | None = None
    weak_protection: bool = False

    @property
    def has_codes(self) -> bool:
        """Whether people are invited, each by a code."""
        return self.access in ("invited", "tokens")

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Collect:
        """The table of a study, which was checked.

        Args:
            table: ``[collect]``; {} where the study has none.
        """
        stated = {key: value for key, value in table.items() if value is not None}
        for key in ("opens", "closes"):
            if key in stated:  # a text, where the study was JSON
                stated[key] = _datetime_of(stated[key])
        stated["origins"] = tuple(stated.get("origins", ()))
        if "tokens" in stated:
            tokens = stated["tokens"]
            stated["tokens"] = Tokens(**{**tokens, "keys": tuple(tokens["keys"])})
        people = stated.get("people", PEOPLE)
        usual = min(people, max(_FEWEST_IN_A_STEP, math.ceil(people / _STEPS)))
        return cls(**{"step": usual, "planned": stated.get("people"), **stated})


def collect_problems(table: Any) -> list[Problem]:
    """Everything that is wrong with the table, beyond its types, which the schema checks."""
    log = ProblemLog()
    if not isinstance(table, Mapping):
        return []
    times = {key: _checked_time(key, table.get(key), log) for key in ("opens", "closes")}
    opens, closes = times["opens"], times["closes"]
    if opens is not None and closes is not None and opens >= closes:
        rule = f"must be later than collect.opens, which is {opens.isoformat()}"
        log.add(("collect", "closes"), rule, closes.isoformat())
    people, step = _count(table.get("people", PEOPLE)), _count(table.get("step"))
    if people is not None and step is not None and step > people >= 1:
        rule = f"must be at most collect.people, which is {people:,}"
        log.add(("collect", "step"), rule, f"{step:,}")
    origins = table.get("origins")
    for i, origin in enumerate(origins if isinstance(origins, list) else []):
        if isinstance(origin, str) and not _is_origin(origin):
            rule = f"{_ORIGIN_RULE}, and no path"
            remedy = 'For example "https://app.example.org" or "http://localhost:5173"'
            log.add(("collect", "origins", i), rule, show(origin), remedy, "collect.origins")
    log.keep(_token_problems(table))
    link = table.get("link")
    if isinstance(link, str) and not _LINK.fullmatch(link):
        rule = "must be https://, the name of a server in small letters, and a path without ? or #"
        remedy = 'For example "https://example.org/thanks"'
        log.add(("collect", "link"), rule, show(link), remedy, "collect.link")
    contact = table.get("contact")
    if isinstance(contact, str) and (strange := unreadable(contact)) is not None:
        rule, remedy = f"must be one line, without {strange}", "Remove that character"
        log.add(("collect", "contact"), rule, None, remedy)
    return log.problems


def _token_problems(table: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with where codes are exchanged for tokens."""
    log = ProblemLog()
    tokens, access = table.get("tokens"), table.get("access")
    # Without the table the study can be read, so that warner collect keys can print it.
    if access != "tokens" and tokens is not None:
        rule = 'can be used only with access = "tokens" in [collect]'
        remedy = 'Write access = "tokens" there, or delete this table'
        log.add(("collect", "tokens"), rule, None, remedy)
    if not isinstance(tokens, Mapping):
        return log.problems
    issuer, keys = tokens.get("issuer"), tokens.get("keys")
    if isinstance(issuer, str) and not _is_origin(issuer):
        rule = f"{_ORIGIN_RULE}, and no path"
        remedy = 'For example "https://codes.example.org" or "https://codes.example.org:8443"'
        log.add(("collect", "tokens", "issuer"), rule, show(issuer), remedy)
    for i, key in enumerate(keys if isinstance(keys, list) else []):
        if isinstance(key, str) and not _KEY.fullmatch(key):
            remedy, where = (
                "To print the keys, run: warner collect keys STUDY",
                "collect.tokens.keys",
            )
            log.add((*where.split("."), i), "must be a public key", None, remedy, where)
    return log.problems


# 2,048 bits in letters and digits, the first of them 1: six bits to a letter, and two at the end;
# an odd number.
_KEY = re.compile("[g-z0-9_-][A-Za-z0-9_-]{340}[Qw]")
_LINK = re.compile(r"https://[a-z0-9.-]+(:[1-9][0-9]{0,4})?(/[A-Za-z0-9._~/%+-]*)?")
_ORIGIN = re.compile(r"(https?)://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[1-9][0-9]{0,4})?")
_SAME_MACHINE = ("localhost", "127.0.0.1", "[::1]")
_ORIGIN_RULE = (
    "must be https:// and the name of a server in small letters, or http:// and this machine "
    "(localhost or 127.0.0.1)"
)


def _is_origin(text: str) -> bool:
    """Whether a text is an origin over TLS, or one of the same machine.

    >>> _is_origin("https://a.example:8443"), _is_origin("http://localhost:80"), _is_origin("https://a/")
    (True, True, False)
    """
    match = _ORIGIN.fullmatch(text)
    return match is not None and (match[1] == "https" or match[2] in _SAME_MACHINE)


def _count(value: Any) -> int | None:
    """A number of people; None for what the schema refuses."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _checked_time(key: str, value: Any, log: ProblemLog) -> datetime | None:
    """The time that the file states; None where it states none, or none that can be used."""
    if value is None:
        return None
    stated_time = _datetime_of(value) if isinstance(value, str | datetime) else None
    if stated_time is not None and stated_time.utcoffset() is not None:
        return stated_time
    rule = "must be a date, a time and a time zone"
    got = value.isoformat() if isinstance(value, date | time) else show(value)
    remedy = f"Write for example {key} = 2026-05-31T18:00:00+02:00, without quotes"
    log.add(("collect", key), rule, got, remedy)
    return None


def _datetime_of(value: str | datetime) -> datetime | None:
    """The time that a value states; None for a text that states no time."""
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None
