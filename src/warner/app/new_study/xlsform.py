"""From an XLSForm, the form of ODK and KoboToolbox, to the questions of a first study.

Columns of the sheet ``survey`` say which questions are asked through warner: ``warner_epsilon``,
``warner_mechanism``, and others whose names begin with ``warner_`` for the options of the mechanism
and further keys of study files. ``warner::epsilon`` is read as well. A question with one of these
is marked; ``warner_public`` marks a public column. All other questions are left out.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from warner._core.checks import show
from warner._core.errors import ArgumentError, FileError, StudyError
from warner._core.extras import not_installed
from warner.app.new_study.text import FirstStudy, Question, listed, with_labels, with_range
from warner.studies.schema import TO_DECIDE
from warner.studies.study import Study
from warner.studies.texts import DEFAULT_LANGUAGE, is_language

SUFFIXES = (".xlsx", ".xlsm", ".xls", ".csv", ".md")
NOT_MARKED = "no entry in warner_epsilon, warner_mechanism or warner_public"
_PLAIN = "default"  # pyxform's name of the language of texts without one
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_AFTER = re.compile(rf"\.\s*(<=|>=|<|>)\s*({_NUMBER})")
_BEFORE = re.compile(rf"({_NUMBER})\s*(<=|>=|<|>)\s*\.")
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_MOST_BYTES = 32 << 20  # of a form after it is unzipped
_MOST_CODES = 1000  # values of a range with steps
# Why a question of a type cannot be randomised, by pyxform's name of the type.
_REASONS = {
    "rank": "people rank answers",
    "text": "free text has no list of values",
    "geopoint": "it asks for a place; ask for a cell of a grid instead",
    "geotrace": "it asks for places; ask for a cell of a grid instead",
    "geoshape": "it asks for places; ask for a cell of a grid instead",
    "date": "a date has too many values; ask for a year as an integer instead",
    "dateTime": "a time has too many values; ask for an hour as an integer instead",
    "time": "a time has too many values; ask for an hour as an integer instead",
    "acknowledge": "it has one answer only",
    "trigger": "it has one answer only",
    "note": "nobody answers it",
    "calculate": "nobody answers it",
    "hidden": "nobody answers it",
}
# What a form has beside questions; it is not named as left out unless it is marked.
_NO_QUESTIONS = ("note", "calculate", "hidden", "start", "end", "today", "deviceid", "username",
                 "email", "phonenumber", "audit", "start-geopoint", "background-audio")  # fmt: skip
_SHOWN = ("unit",)  # keys of study files that are texts


@dataclass(frozen=True)
class Form:
    """What a form asks."""

    title: str | Mapping[str, str]  # of the form, by language where it has several
    # the tags of its languages, the default one first; () for one without a name
    languages: tuple[str, ...]
    secret: list[Question]  # the marked questions
    public: list[Question]  # the marked public columns
    # {reason: the questions that are left out for it}
    left: dict[str, list[str]] = field(default_factory=dict)
    # the questions that the form asks of some people only
    always_asked: list[str] = field(default_factory=list)
    # the questions that people may skip in the form, and not in the study, because the mechanism
    # has no value for nonresponse
    must_answer: list[str] = field(default_factory=list)

    def study(self, epsilon: float) -> FirstStudy:
        """The first study."""
        languages = self.languages if self.languages != (DEFAULT_LANGUAGE,) else ()
        return FirstStudy(
            self.title,
            self.secret,
            self.public,
            repr(epsilon),
            languages=languages,
            per_distance=[q.name for q in self.secret if _is_per_distance(q)],
        )


def read_form(path: str, tags: Mapping[str, str] | None = None) -> Form:
    """The questions of an XLSForm."""
    return _Reader(path, _read(path), dict(tags or {})).form()


def _read(path: str) -> dict[str, Any]:
    """The form as pyxform reads it."""
    try:
        from pyxform.errors import PyXFormError
        from pyxform.xls2json import workbook_to_json
        from pyxform.xls2json_backends import get_xlsform
    except ImportError:
        raise not_installed("pyxform", "an XLSForm") from None
    if Path(path).suffix.lower() not in SUFFIXES:
        rule = f"must be a form with the ending {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        remedy = "Open it in a spreadsheet program, and save it there as .xlsx"
        raise ArgumentError(path, rule, None, remedy)
    with open(path, "rb") as file:  # the system says why a file cannot be opened
        size = os.fstat(file.fileno()).st_size
    where = ""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as parts:
                size = sum(member.file_size for member in parts.infolist())
        if size > _MOST_BYTES:
            rule = f"is too large for a form, which has at most {_MOST_BYTES >> 20} MiB"
            remedy = "Give the form, not a file of answers"
            raise FileError(path, rule, f"{size >> 20:,} MiB", remedy)
        form: dict[str, Any] = workbook_to_json(get_xlsform(os.fspath(path)), form_name="form")
        return form
    except FileError:
        raise
    except PyXFormError as error:  # it can quote the file, which may hold answers
        row = re.search(r"\[row : ([0-9]+)\]", str(error))
        where = f" (see row {row[1]} of a sheet)" if row else ""
    except Exception:  # what pyxform and its readers of spreadsheets raise else, quotes it too
        pass
    rule = f"cannot be read as an XLSForm{where}"
    raise FileError(path, rule, None, f"To see what is wrong, run: xls2xform {shlex.quote(path)}")


class _Reader:
    """The form of a file, while it is read."""

    def __init__(self, path: str, data: Mapping[str, Any], tags: dict[str, str]) -> None:
        self._path, self._data, self._tags = path, data, tags
        self._form = Form("", (), [], [])
        self._taken: set[str] = set()

    def form(self) -> Form:
        """The questions, with what is left out."""
        items = list(_questions(self._data.get("children", ()), ""))
        marked = [item for item in items if _options(item.row)]
        for item in items:
            if not _options(item.row) and item.row["type"] not in _NO_QUESTIONS:
                self._leave(item.row["name"], NOT_MARKED)
        languages = self._languages(marked)
        self._form = replace(self._form, languages=languages, title=self._title(languages))
        for item in marked:
            try:
                self._add(item)
            except _LeftOutError as error:
                self._leave(item.row["name"], str(error))
        if not self._form.secret:
            rule = "has no question that can be randomised"
            remedy = (
                'In the sheet "survey" of the form, add a column warner_epsilon, and write an '
                "epsilon such as 1.0 into the row of each sensitive question"
            )
            reasons = [f"{listed(names)}: {why}" for why, names in self._form.left.items()]
            rule += f" ({'. '.join(reasons)})" if reasons else ""
            raise ArgumentError(self._path, rule, None, remedy)
        return self._form

    def _leave(self, name: str, reason: str) -> None:
        self._form.left.setdefault(reason, []).append(name)

    def _languages(self, marked: Sequence[_Item]) -> tuple[str, ...]:
        """The tags of the languages in which marked questions have texts, the default first."""
        names: dict[str, None] = {}
        default = str(self._data.get("default_language") or _PLAIN)
        for item in marked:
            texts = [item.row.get(key) for key in ("label", "hint")]
            for text in (*texts, *(c.get("label") for c in item.row.get("choices", ()))):
                names |= dict.fromkeys(_by_name(text))
        ordered = sorted(names, key=lambda name: name != default)
        if set(ordered) <= {_PLAIN} and _PLAIN not in self._tags:
            return (DEFAULT_LANGUAGE,)
        return tuple(dict.fromkeys(self._tag(name) for name in ordered))

    def _tag(self, name: str) -> str:
        """The tag of a language."""
        stated = self._tags.get(name)
        in_brackets = re.search(r"\(([A-Za-z-]+)\)\s*\Z", name)
        tag = stated or (in_brackets[1] if in_brackets else name)
        if tag == _PLAIN:
            return DEFAULT_LANGUAGE
        if not is_language(tag):
            rule = f"does not say the short tag, such as fr or sw, of the language {show(name)}"
            remedy = f'Add --language "{name}=TAG"'
            raise ArgumentError(self._path, rule, None, remedy)
        return tag

    def _title(self, languages: tuple[str, ...]) -> str | dict[str, str]:
        """The title of the form; forms have one for all languages."""
        title = _line(str(self._data.get("title") or ""))
        title = "" if title == self._data.get("id_string") == "data" else title
        return dict.fromkeys(languages, title) if len(languages) > 1 and title else title

    def _texts(self, text: Any) -> str | dict[str, str] | None:
        """A text in all languages of the form; None where it has none at all."""
        texts = {self._tag(name): _line(own_text) for name, own_text in _by_name(text).items()}
        if not any(texts.values()):
            return None
        languages = self._form.languages
        if languages == (DEFAULT_LANGUAGE,):
            return next(iter(texts.values()))
        return {tag: texts.get(tag) or TO_DECIDE for tag in languages}

    def _add(self, item: _Item) -> None:
        """Add a marked question, or leave it out."""
        row, options = item.row, _options(item.row)
        is_public = str(options.pop("public", "")).casefold() in ("yes", "true", "true()", "1")
        question = self._question(item, is_public)
        if is_public:
            self._form.public.append(question)
            return
        epsilon = options.pop("epsilon", None)
        shown = {key: options.pop(key) for key in _SHOWN if key in options}
        question = replace(
            question,
            epsilon=None if epsilon is None else _budget(question.name, epsilon),
            shown={**question.shown, **shown},
            options=options,
        )
        bind = row.get("bind") or {}
        if item.is_conditional:
            self._form.always_asked.append(question.name)
        may_skip = str(bind.get("required", "")).casefold() not in ("yes", "true", "true()")
        # Where nobody ticks anything, nothing is skipped.
        may_skip = may_skip and not question.is_ticked
        if (may_skip or item.is_conditional) and "missing" not in options:
            silent = replace(question, options={**options, "missing": "answer"})
            if _is_sound(silent) or not _is_sound(question):
                question = silent
            else:
                self._form.must_answer.append(question.name)
        self._form.secret.append(question)

    def _question(self, item: _Item, is_public: bool) -> Question:
        """A question with its text and its domain."""
        row = item.row
        if item.is_repeated:
            raise _LeftOutError("it stands in a repeat, so one person answers it several times")
        label = row.get("label")
        texts = list(_by_name(label).values())
        if any("${" in text for text in texts):
            raise _LeftOutError("its text holds the answer to another question")
        name = row["name"]
        if name in self._taken and item.group:
            name = f"{item.group}_{name}"
        self._taken.add(name)
        text = self._texts(label)
        if text is None and len(self._form.languages) > 1:
            text = dict.fromkeys(self._form.languages, TO_DECIDE)
        help_text = self._texts(row.get("hint"))
        shown = {} if help_text is None else {"help": help_text}
        question = Question(name, "labels", text, shown=shown)
        form = row["type"]
        if form in ("select one", "select one external"):
            return self._with_choices(question, row)
        if form == "select all that apply" and not is_public:
            return self._with_choices(replace(question, is_ticked=True), row)
        constraint = str((row.get("bind") or {}).get("constraint", ""))
        if form == "integer" or (form == "decimal" and not is_public):
            whole = form == "integer"
            question = replace(question, kind="integers" if whole else "numbers")
            limits = limits_of(constraint, whole)
            return question if limits is None else with_range(question, ":".join(limits))
        if form == "range":
            return _ranged(question, row.get("parameters") or {})
        if form == "date" and is_public:
            return replace(question, kind="dates")
        reason = _REASONS.get(form, f"questions of the type {form} cannot be randomised")
        if form == "select all that apply":
            reason = "people choose several answers, but a public column can hold only one"
        raise _LeftOutError(reason)

    def _with_choices(self, question: Question, row: Mapping[str, Any]) -> Question:
        """The question with the choices of its list."""
        if row.get("choice_filter"):
            raise _LeftOutError("its choices depend on other answers")
        choices = row.get("choices")
        if not choices:
            raise _LeftOutError("its choices are in another file")
        names = [str(choice["name"]) for choice in choices]
        try:
            question = with_labels(question, names)
        except ArgumentError:
            raise _LeftOutError("it needs two or more different choices") from None
        texts = [self._texts(choice.get("label")) for choice in choices]
        answers = {}
        for tag in self._form.languages:
            displayed = [
                text.get(tag, TO_DECIDE) if isinstance(text, Mapping) else text or name
                for text, name in zip(texts, names, strict=True)
            ]
            if displayed != names:
                answers[tag] = displayed
        more = {"answers": answers} if answers else {}
        return replace(question, shown={**question.shown, **more})


class _LeftOutError(Exception):
    """The reason why a question is left out."""


@dataclass(frozen=True)
class _Item:
    """A row of the form that is no group."""

    row: Mapping[str, Any]  # as pyxform reads it
    group: str  # the innermost group around it, "" for none
    is_repeated: bool  # whether it is in a repeat
    is_conditional: bool  # whether it, or a group around it, is asked of some people only


def _questions(
    rows: Sequence[Mapping[str, Any]], group: str, repeated: bool = False, conditional: bool = False
) -> Iterator[_Item]:
    """All rows that are no groups, in their order."""
    for row in rows:
        asked_of_some = conditional or bool((row.get("bind") or {}).get("relevant"))
        if row["type"] in ("group", "repeat"):
            if row["name"] != "meta":
                again = repeated or row["type"] == "repeat"
                yield from _questions(row.get("children", ()), row["name"], again, asked_of_some)
        else:
            yield _Item(row, group, repeated, asked_of_some)


def _options(row: Mapping[str, Any]) -> dict[str, object]:
    """{key without the prefix: value} of the columns of a row for warner."""
    nested = row.get("warner")
    cells = {str(k): v for k, v in nested.items()} if isinstance(nested, Mapping) else {}
    cells |= {k.removeprefix("warner_"): v for k, v in row.items() if k.startswith("warner_")}
    return {key: value for key, cell in cells.items() if (value := _value(cell)) != ""}


def _value(text: Any) -> object:
    """A cell as TOML reads it, where it does; else its text.

    >>> _value("1.50"), _value("optimized"), _value('["a"]'), _value("TRUE")
    (1.5, 'optimized', ['a'], True)
    """
    written = str(text).strip()
    if written.casefold() in ("true", "false"):
        return written.casefold() == "true"
    with contextlib.suppress(ValueError, RecursionError):
        parsed: object = tomllib.loads(f"a = {written}")["a"]
        return parsed
    return written


def _budget(name: str, epsilon: object) -> str:
    """A budget as a study writes it."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 < epsilon <= 700:
        rule = "must be a number above 0 and at most 700"
        raise ArgumentError(f"{name}: warner_epsilon", rule, show(epsilon))
    return repr(float(epsilon))


def _by_name(text: Any) -> dict[str, str]:
    """{language as the form calls it: text}."""
    if isinstance(text, Mapping):
        return {str(name): each for name, each in text.items() if isinstance(each, str)}
    return {_PLAIN: text} if isinstance(text, str) and text else {}


def _line(text: str) -> str:
    """A text in one line."""
    return " ".join(text.split())


def _is_sound(question: Question) -> bool:
    """Whether a study can have a question."""
    try:
        _alone(question)
    except StudyError:
        return False
    return True


def _is_per_distance(question: Question) -> bool:
    """Whether the epsilon of a question is for values at one distance."""
    with contextlib.suppress(StudyError):  # also where its values are still to be decided
        mechanism = Study.parse(_alone(question)).mechanisms[question.name]
        return mechanism.guarantee.is_metric
    return False


def _alone(question: Question) -> str:
    """The text of a study of one question, without a budget."""
    plain = replace(question, text=None, shown={})
    return FirstStudy("", [plain], (), "1.0", per_distance=[question.name]).text()


def limits_of(constraint: str, whole: bool = True) -> tuple[str, str] | None:
    """The limits of numbers by a constraint: comparisons of ``.`` joined by ``and``; else None.

    >>> limits_of(". >= 18 and . < 100"), limits_of("(.>0) and 1.5 >= .", whole=False)
    (('18', '99'), ('0', '1.5'))
    >>> limits_of(". > 3"), limits_of(". > 3 or . = 0"), limits_of(". < ${age} and . > 0")
    (None, None, None)
    """
    lows: list[Decimal] = []
    highs: list[Decimal] = []
    for comparison in re.split(r"\band\b", constraint.replace("(", " ").replace(")", " ")):
        after, before = _AFTER.fullmatch(comparison.strip()), _BEFORE.fullmatch(comparison.strip())
        if after is not None:
            sign, bound = after[1], Decimal(after[2])
        elif before is not None:
            sign, bound = _TURNED[before[2]], Decimal(before[1])
        else:
            return None
        is_low = sign.startswith(">")
        if whole:
            step = int(sign in ("<", ">") and bound % 1 == 0)
            bound = bound.to_integral_value("ROUND_CEILING" if is_low else "ROUND_FLOOR")
            bound += step if is_low else -step
        (lows if is_low else highs).append(bound)
    if not lows or not highs or max(lows) >= min(highs):
        return None
    return f"{max(lows):f}", f"{min(highs):f}"


def _ranged(question: Question, parameters: Mapping[str, Any]) -> Question:
    """The question with the values of a range: whole numbers, codes with steps, or an interval."""
    try:
        start, end, step = (
            Decimal(str(parameters.get(key, usual)))
            for key, usual in (("start", 1), ("end", 10), ("step", 1))
        )
        if step == 0:
            raise _LeftOutError("its step is 0; write 1 or another step")
        low, high, step = min(start, end), max(start, end), abs(step)
        count = int((high - low) / step)
    except (ArithmeticError, ValueError):
        raise _LeftOutError("its start, end or step is not a number") from None
    if count < 1:
        raise _LeftOutError("it has one answer only")
    if all(number % 1 == 0 for number in (low, high, step)):
        if step == 1:
            return with_range(replace(question, kind="integers"), f"{low:f}:{high:f}")
        if count < _MOST_CODES:
            return with_labels(question, [str(int(low + i * step)) for i in range(count + 1)])
    return with_range(replace(question, kind="numbers"), f"{low:f}:{high:f}:{count}")
