"""Questions on a terminal, whose answers make a first study."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import click

from warner._core.errors import WarnerError
from warner.app.new_study.question import WORDS, Question, with_grid, with_labels, with_range
from warner.io.answer_kinds import Kind

_T = TypeVar("_T")
_KINDS: dict[str, Kind] = {
    "labels": "labels",
    "whole numbers": "integers",
    "decimals": "numbers",
    "places": "cells",
    "dates": "dates",
}
_SECRET, _PUBLIC = (
    ("labels", "whole numbers", "decimals", "places"),
    (
        "labels",
        "whole numbers",
        "dates",
    ),
)


def ask(text: str, default: str = "") -> str:
    """One line from the terminal, without spaces around it."""
    answer = None
    try:
        answer = str(click.prompt(text, default=default, show_default=bool(default), err=True))
    except click.Abort:
        click.echo(err=True)
    if answer is None:
        raise KeyboardInterrupt
    return answer.strip()


def ask_until(text: str, read: Callable[[str], _T], default: str = "") -> _T:
    """What ``read`` makes of one line; asked again while it refuses the line."""
    while True:
        answer = ask(text, default)
        try:
            return read(answer)
        except WarnerError as error:
            click.echo(str(error), err=True)


def split(text: str) -> list[str]:
    """The parts of a list with commas; a part with a comma stands in quotes, as in CSV.

    >>> split(" never, often,")
    ['never', 'often', '']
    >>> split('North, "South, City"')
    ['North', 'South, City']
    """
    if not text.strip():
        return []
    try:
        parts = next(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error:
        parts = text.split(",")
    return [part.strip() for part in parts]


def ask_title() -> str:
    """The title of a study."""
    return ask("Title of the study (Enter: the names of its questions)")


def ask_names(what: str) -> list[str]:
    """Names of columns."""
    return ask_until(f"{what}, separated by commas", lambda text: [n for n in split(text) if n])


def complete(question: Question, is_public: bool = False) -> Question:
    """The question with what the terminal says of its text and its values, where these lack."""
    if not is_public and question.text is None:
        text = ask(f"{question.name}: the question as people read it (Enter: decide later)")
        question = replace(question, text=text or None)
    is_dated = is_public and question.kind == "dates"
    if question.is_decided or is_dated:
        return question

    def read(text: str) -> Question:
        if not text:
            return question
        if question.kind == "cells":
            return with_grid(question, text)
        if question.kind in ("integers", "numbers") and ":" in text:
            return with_range(question, text)
        return with_labels(question, split(text))

    wanted = {
        "integers": "from which to which, such as 0:60",
        "numbers": "from which to which, such as 0:60",
        "cells": "rows x columns, such as 24x16",
    }.get(question.kind, "all that can be answered, separated by commas")
    prompt = f"{question.name} ({WORDS[question.kind]}): {wanted} (Enter: decide later)"
    return ask_until(prompt, read)


def ask_all() -> tuple[list[Question], list[Question]]:
    """All questions of a study, from the terminal alone."""
    secret: list[Question] = []
    public: list[Question] = []
    while True:
        more = "another column" if secret or public else "a column of answers, such as smokes"
        stop = " (Enter: no more)" if secret else ""
        name = ask(f"Name of {more}{stop}")
        if not name:
            if secret:
                return secret, public
            continue
        if name in [q.name for q in (*secret, *public)]:
            click.echo(f"{name}: is there already", err=True)
            continue
        is_public = _choose(f"{name}: secret, or public", ("secret", "public")) == "public"
        kinds = _PUBLIC if is_public else _SECRET
        kind = _KINDS[_choose(f"{name}: kind of answers ({', '.join(kinds)})", kinds)]
        question = complete(Question(name, kind), is_public)
        (public if is_public else secret).append(question)


def _choose(text: str, allowed: Sequence[str]) -> str:
    """One of some words, of which the beginning is enough."""
    while True:
        answer = ask(text, allowed[0]).casefold()
        found = [word for word in allowed if answer and word.startswith(answer)]
        if len(found) == 1:
            return found[0]
        click.echo(f"Type one of {', '.join(allowed)}", err=True)
