"""Problems of a study file: each has a place in the file, and all are told at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from warner._core.errors import StudyError, message
from warner._core.text import visible
from warner.studies.toml_lines import Path, key_lines, line_of


class Problem(NamedTuple):
    """One problem.

    Attributes:
        path: the keys from the top of the file, or from the table that is read, to what is wrong.
        text: the place, the rule and the remedy in words.
    """

    path: Path
    text: str

    def within(self, path: Path) -> Problem:
        """The same problem, seen from the table around the one that it is told of."""
        return Problem((*path, *self.path), self.text)


class StudyProblems(StudyError):
    """All problems of a study.

    Attributes:
        problems: at least one.
    """

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
    parts = [f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).removeprefix(".") or "study"


def problems_of(error: StudyError) -> tuple[Problem, ...]:
    """The problems that an error holds; one for an error without places."""
    if isinstance(error, StudyProblems):
        return error.problems
    return (Problem((), str(error)),)


class Found:
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
    places = [(line_of(lines, problem.path), problem.text) for problem in problems]
    places.sort(key=lambda place: place[0] or 0)
    name = visible(name)
    if len(places) == 1:
        ((line, text),) = places
        return text if line is None else f"{name}, line {line}: {text}"
    told = [text if line is None else f"line {line}: {text}" for line, text in places]
    return "\n".join([f"{name} has {len(told)} problems:", *told])
