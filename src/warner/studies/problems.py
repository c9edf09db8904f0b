"""The text of a study file, and its problems: each has a line, and all are told at once."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from warner._core.atomic_files import read_whole
from warner._core.errors import StudyError, message
from warner._core.text import nearest, visible

# -----------------------------------------------------------------------------------------------
# On which line of a TOML text each key stands.
#
# Python's ``tomllib`` returns the values without their lines. This scanner reads the keys of a
# text that ``tomllib`` has read, and leaves every value to it.


Path = tuple[str | int, ...]

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
# A text of several lines ends at the first three quotes, of which two more belong to the text.
_TEXT = re.compile(
    r"""\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\])*"|'[^']*'""", re.DOTALL
)
_OTHER = re.compile(r"[^,\]}\n#]*")  # a number, a date, true or false


def key_lines(text: str) -> dict[Path, int]:
    """Return the line of each key, counted from 1.

    >>> lines = key_lines('a = 1\\n[b]\\nc = { d = [2,\\n3] }')
    >>> lines["a",], lines["b",], lines["b", "c", "d"], lines["b", "c", "d", 1]
    (1, 2, 3, 4)
    """
    scanner = _Scanner(text)
    with contextlib.suppress(RecursionError, LookupError, ValueError):
        scanner.scan()
        return scanner.lines
    return {}


def line_of(lines: Mapping[Path, int], path: Path) -> int | None:
    """Return the line of a key, or of the innermost table around it that is written.

    >>> line_of({("a",): 3}, ("a", "missing")), line_of({("a",): 3}, ("b",))
    (3, None)
    """
    for stop in range(len(path), 0, -1):
        if path[:stop] in lines:
            return lines[path[:stop]]
    return None


class _Scanner:
    """A position in a text, with the lines of the keys before it."""

    def __init__(self, text: str) -> None:
        # tomllib reads the two characters of a line end on Windows as one.
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self._counted, self._line = 0, 1
        self._lists: dict[Path, int] = {}  # the number of tables of each [[list of tables]]
        self.lines: dict[Path, int] = {}

    def scan(self) -> None:
        """Read the whole text."""
        table: Path = ()
        self._skip()
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip()

    def _skip(self, also: str = "") -> None:
        """Go past spaces, line ends and comments, and one character of ``also``."""
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at
        if also and self._text[self._at : self._at + 1] in tuple(also):
            self._at += 1
            self._skip()

    def _note(self, path: Path) -> None:
        """Record that ``path`` stands here, where it was not written before."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        for stop in range(1, len(path) + 1):
            self.lines.setdefault(path[:stop], self._line)

    def _key(self) -> list[str]:
        """The parts of a key with dots."""
        parts: list[str] = []
        while True:
            self._skip()
            quoted = self._text[self._at] in "\"'"
            match = (_TEXT if quoted else _BARE).match(self._text, self._at)
            if match is None:  # what tomllib reads and this scanner does not
                raise ValueError
            segment = match[0]
            parts.append(tomllib.loads(f"a = {segment}")["a"] if quoted else segment)
            self._at = match.end()
            self._skip()
            if self._text[self._at : self._at + 1] != ".":
                return parts
            self._at += 1

    def _header(self) -> Path:
        """The path of the table whose header begins here."""
        start, many = self._at, self._text.startswith("[[", self._at)
        self._at += 2 if many else 1
        *outer, last = self._key()
        stop, self._at = self._at + (2 if many else 1), start
        path: Path = ()
        for outer_key in outer:
            path = self._newest((*path, outer_key))
        path = (*path, last)
        if many:
            self._lists[path] = self._lists.get(path, 0) + 1
        path = self._newest(path)
        self._note(path)
        self._at = stop
        return path

    def _newest(self, path: Path) -> Path:
        """The newest table, where ``path`` is a list of tables; else ``path``."""
        return (*path, self._lists[path] - 1) if path in self._lists else path

    def _pair(self, table: Path) -> None:
        """A key and its value."""
        start = self._at
        path = (*table, *self._key())
        stop, self._at = self._at + 1, start  # after the sign of equality
        self._note(path)
        self._at = stop
        self._value(path)

    def _value(self, path: Path) -> None:
        """A value, with the lines of the keys and positions in it."""
        self._skip()
        first = self._text[self._at]
        if first == "[":
            self._at += 1
            self._skip()
            position = 0
            while self._text[self._at] != "]":
                self._note((*path, position))
                self._value((*path, position))
                self._skip(",")
                position += 1
            self._at += 1
        elif first == "{":
            self._at += 1
            self._skip()
            while self._text[self._at] != "}":
                self._pair(path)
                self._skip(",")
            self._at += 1
        else:
            match = (_TEXT if first in "\"'" else _OTHER).match(self._text, self._at)
            self._at = match.end() if match else len(self._text)


class Problem(NamedTuple):
    """One problem."""

    # The keys from the top of the file, or from the table that is read, to what is wrong.
    path: Path
    text: str  # the place, the rule and the remedy in words

    def within(self, path: Path) -> Problem:
        """The same problem, seen from the table around the one that it is told of."""
        return Problem((*path, *self.path), self.text)


class StudyProblems(StudyError):
    """All problems of a study, at least one."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(problem.text for problem in self.problems))

    def __reduce__(self) -> tuple[type[StudyProblems], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)


def broken(
    path: Path,
    rule: str,
    got: str | None = None,
    remedy: str | None = None,
    name: str | None = None,
) -> StudyProblems:
    """The error of one problem."""
    text = message(in_words(path) if name is None else name, rule, got, remedy)
    return StudyProblems([Problem(path, text)])


def in_words(path: Path) -> str:
    """A place in a study file, such as ``groups[2].name``: the second table counts as 2.

    >>> in_words(("groups", 1, "name"))
    'groups[2].name'
    """
    parts = [f"[{segment + 1}]" if isinstance(segment, int) else f".{segment}" for segment in path]
    return "".join(parts).removeprefix(".") or "study"


def problems_of(error: StudyError) -> tuple[Problem, ...]:
    """The problems that an error holds; one for an error without places."""
    if isinstance(error, StudyProblems):
        return error.problems
    return (Problem((), str(error)),)


class ProblemLog:
    """The problems of a study that were found so far."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    @contextlib.contextmanager
    def within(self, *path: str | int) -> Iterator[None]:
        """Keep the problems that the block raises, and go on after the block."""
        try:
            yield
        except StudyError as error:
            self.keep(problems_of(error), path)

    def keep(self, problems: Iterable[Problem], path: Path = ()) -> None:
        """Keep problems in the table at ``path``."""
        self.problems += [problem.within(path) for problem in problems]

    def add(self, path: Path, rule: str, *more: str | None) -> None:
        """Keep one more problem, as :func:`broken` says it."""
        self.keep(broken(path, rule, *more).problems)

    def refuse(self) -> None:
        """Raise what was found."""
        if self.problems:
            raise StudyProblems(dict.fromkeys(self.problems))


def located(error: StudyError, name: str, text: str) -> StudyError:
    """The same error with the lines of a text, for TOML; JSON has no lines for people."""
    lines = {} if text.lstrip().startswith("{") else key_lines(text)
    return StudyError(with_lines(name, problems_of(error), lines))


def with_lines(name: str, problems: Iterable[Problem], lines: Mapping[Path, int]) -> str:
    """All problems of a file in words, in the order of their lines.

    >>> with_lines("a.toml", [Problem(("b",), "b: must be text.")], {("b",): 7})
    'a.toml, line 7: b: must be text.'
    """
    listed_once = _undecided_together(list(problems))
    places = [(line_of(lines, problem.path), problem.text) for problem in listed_once]
    places.sort(key=lambda located: located[0] or 0)
    name = visible(name)
    if len(places) == 1:
        ((line, text),) = places
        return text if line is None else f"{name}, line {line}: {text}"
    listed = [text if line is None else f"line {line}: {text}" for line, text in places]
    return "\n".join([f"{name} has {len(listed)} problems:", *listed])


_FEW = 3  # questions, whose two lines each are still read


def _undecided_together(problems: list[Problem]) -> list[Problem]:
    """The same problems, with one line for all questions that lack both mechanism and epsilon."""
    lacking: dict[Path, list[Problem]] = {}
    for problem in problems:
        where, missing, _ = problem.text.partition(": is missing")
        if missing and problem.path[:1] == ("attributes",) and where.endswith(_OPEN_KEYS):
            lacking.setdefault(problem.path[:2], []).append(problem)
    whole = {path: both for path, both in lacking.items() if len(both) == len(_OPEN_KEYS)}
    if len(whole) <= _FEW:
        return problems
    first, *_, last = whole
    rule = f"lack a mechanism and an epsilon, from {first[-1]!r} to {last[-1]!r}"
    remedy = (
        "To get proposals, run: warner plan. To ask each person only one of all questions, write "
        'a table [ask] with each = "one" and one epsilon. Then no question needs a mechanism '
        "or an epsilon"
    )
    text = message("attributes", f"{len(whole)} questions {rule}", None, remedy)
    said = {problem for both in whole.values() for problem in both}
    return [Problem(first, text), *(problem for problem in problems if problem not in said)]


_OPEN_KEYS = (".mechanism", ".epsilon")


# -----------------------------------------------------------------------------------------------
# The text of a study file: read, and taken apart as TOML or JSON.

# On the command line the study file and the file of answers are easily swapped.
_SWAPPED = "If this is the file of answers, give the study file in its place"

# What tomllib says of a text that is no TOML, and what to do. Its own words can quote the text.
_REASONS = {
    "Invalid value": "Put text in quotes, and write true and false in small letters",
    "Cannot overwrite": "A table has the same key twice: delete one of the two lines",
    "Cannot declare": "The file has the same table twice: delete or rename one of the two",
    "Expected '=' after": "Each line must be a [table], or a key, the sign = and a value",
    "Invalid initial character": (
        "A key may have only the letters a to z and A to Z, digits, - and _. A table in braces "
        "must be on one line"
    ),
    "Expected newline or": "Put text in quotes, and every key on a line of its own",
    "Unclosed array": "A list must end in ]",
    "Unclosed inline": "A table that begins with { must end in }",
    "Illegal character": "Text must end in the quote that it begins with",
    "Unescaped": "Write each backslash in a text twice",
}


# What word processors and spreadsheets write into the line at which the parser stopped.
_HABITS = {
    r"[\u2018-\u201f\u00ab\u00bb]": 'Use straight quotes, as in "never"',
    r"=\s*-?\d+,\d+\s*(#.*)?\Z": "Write decimals with a point, as in 1.5",
    r"=\s*[+-]?(\.\d+|\d+\.)\s*(#.*)?\Z": "Write digits on both sides of a point, as in 0.5",
}


def study_text(path: str | os.PathLike[str]) -> str:
    """The text of a study file."""
    text = None
    # The decoding error holds the bytes of the file, so it must not be the context of ours.
    with contextlib.suppress(UnicodeDecodeError):
        text = read_whole(path).decode()
    if text is None:
        rule = "is not a text file in UTF-8, so it cannot be a study file"
        remedy = "Give the study file. If this is the study file, save it with the encoding UTF-8"
        raise StudyError(str(path), rule, None, remedy)
    return text


def parsed(text: str) -> Any:
    """The data of a text, which is JSON where it begins with a brace, else TOML."""
    return json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)


def study_data(text: str, name: str) -> dict[str, Any]:
    """The data of a study file, not yet validated."""
    data: Any = None
    problem = None
    try:
        data = parsed(text)
    except (ValueError, RecursionError) as error:
        # A file of answers may be given by mistake. So neither the message nor the context of
        # the error may hold the text.
        is_table = name.lower().endswith((".csv", ".tsv", ".jsonl"))
        remedy = f"{'' if is_table else _reason(error, text)}{_SWAPPED}"
        problem = message(name, f"is not valid TOML or JSON{_place(error)}", None, remedy)
    if problem is not None:
        raise StudyError(problem)
    is_within = isinstance(data, dict) and "attributes" not in data  # as JSON with a checksum
    study = data.get("study", data) if is_within else data
    if isinstance(data, dict) and data.get("format") == "warner-tally":
        rule = "is a tally, which holds counts of reports, and not a study file"
        raise StudyError(name, rule, None, "Give the study file first")
    # A misspelt [attribute.NAME], and [NAME] alone, are left to the schema, which names the key.
    if not isinstance(study, dict) or (
        nearest("attributes", study) is None
        and all(question_at(key, table) is None for key, table in study.items())
    ):
        rule = "has no table 'attributes', so it is not a study file"
        raise StudyError(name, rule, None, _SWAPPED)
    return {**data}


def question_at(key: str, table: Any) -> str | None:
    """The name of a question whose table stands under ``key``, or in the table there; else None.

    >>> question_at("smokes", {"epsilon": 1.0}), question_at("title", "Smoking")
    ('smokes', None)
    """
    if not isinstance(table, Mapping):
        return None
    tables = {key: table, **table}
    tables = {name: of for name, of in tables.items() if isinstance(of, Mapping)}
    return next((str(n) for n, of in tables.items() if _OF_QUESTIONS & {*of}), None)


_OF_QUESTIONS = {"mechanism", "epsilon", "values"}


def _place(error: Exception) -> str:
    """Where a parser stopped, for a message that quotes nothing from the text."""
    if isinstance(error, json.JSONDecodeError):
        return f", at line {error.lineno}, column {error.colno}"
    match = re.search(r"\(at (line \d+, column \d+|end of document)\)\Z", str(error))
    return f", at {match[1]}" if match else ""


def _reason(error: Exception, text: str) -> str:
    """What a parser stopped at, in words that quote nothing from the text."""
    said = str(error)
    if (match := re.search(r"line (\d+)", _place(error))) is not None:
        line = text.split("\n")[int(match[1]) - 1].strip()
        for habit, hint in _HABITS.items():
            if re.search(habit, line):
                return f"{hint}. "
    return next(
        (f"{hint}. " for beginning, hint in _REASONS.items() if said.startswith(beginning)), ""
    )
