"""Questions on a terminal, whose answers make a first study."""

from __future__ import annotations

import contextlib
import csv
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar, get_args

import click

from warner._core.checks import show, unknown
from warner._core.errors import ArgumentError, WarnerError
from warner._core.progress import steps
from warner.app.new_study.text import (
    WORDS,
    FirstStudy,
    Question,
    rounded_outwards,
    toml,
    with_grid,
    with_labels,
    with_range,
)
from warner.app.terminal import note
from warner.design.proposal import Proposal, propose
from warner.designs import from_text
from warner.designs.paper import YES_OR_NO, begins_with_yes
from warner.domains import Categorical
from warner.io.read_answers import Contents, Kind, contents_of, kinds_of
from warner.studies.study import Study

_T = TypeVar("_T")
_KINDS: dict[str, Kind] = {
    "labels": "labels",
    "whole numbers": "integers",
    "decimals": "numbers",
    "places": "cells",
    "dates": "dates",
}
_ON_PAPER = "yes or no on paper"
_SECRET = ("labels", "whole numbers", "decimals", "places", _ON_PAPER)
_PUBLIC = ("labels", "whole numbers", "dates")


def ask(text: str, default: str = "") -> str:
    """One line from the terminal, without spaces around it."""
    with contextlib.suppress(click.Abort):
        line: str = click.prompt(text, default=default, show_default=bool(default), err=True)
        return line.strip()
    click.echo(err=True)
    raise KeyboardInterrupt


def ask_until(text: str, read: Callable[[str], _T], default: str = "") -> _T:
    """What ``read`` makes of one line; asked again while it refuses the line."""
    while True:
        answer = ask(text, default)
        try:
            return read(answer)
        except WarnerError as error:
            note(str(error))


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
    return [item.strip() for item in parts]


def ask_title() -> str:
    """The title of a study."""
    return ask("Title of the study (Enter: use the names of its questions)")


def complete(question: Question, is_public: bool = False) -> Question:
    """The question with what the terminal says of its text and its values, where these lack."""
    if question.text is None:
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

    hint = {
        "integers": "smallest and largest number, such as 0:60",
        "numbers": "smallest and largest number, such as 0:60",
        "cells": "rows x columns of the grid, such as 24x16",
    }.get(question.kind, "all possible answers, separated by commas")
    prompt = f"{question.name} ({WORDS[question.kind]}): {hint} (Enter: decide later)"
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
            note(f"{name} is already in the study. Type another name.")
            continue
        sort = f"{name}: secret (randomised) or public (not protected)"
        is_public = _choose(sort, ("secret", "public")) == "public"
        kinds = _PUBLIC if is_public else _SECRET
        kind = _choose(f"{name}: kind of answers ({', '.join(kinds)})", kinds)
        question = Question(name, _KINDS.get(kind, "labels"))
        if kind == _ON_PAPER:
            read = partial(with_design, question)
            question = ask_until(f"{name}: the design of the card", read, "crosswise:1/4")
        question = complete(question, is_public)
        (public if is_public else secret).append(question)


def _choose(text: str, allowed: Sequence[str]) -> str:
    """One of some words; its beginning is enough."""
    while True:
        answer = ask(text, allowed[0]).casefold()
        matches = [word for word in allowed if answer and word.startswith(answer)]
        if len(matches) == 1:
            return matches[0]
        note(f"Type one of {', '.join(allowed)}")


KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}


def by_name(option: str, texts: Iterable[str], names: Sequence[str]) -> dict[str, str]:
    """{name: value} of an option that is written NAME=VALUE."""
    values: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        name = name.strip()
        if not sign or not value.strip():
            value = "VALUE" if sign or name in names else text
            example = shlex.quote(f"{name if name in names else names[0]}={value}") if names else ""
            remedy = f"Write {option} {example}" if names else None
            raise ArgumentError(option, "must be written NAME=VALUE", show(text), remedy)
        if name not in names:
            raise unknown(option, name, names)
        if name in values:
            raise ArgumentError(option, f"names {name!r} twice")
        values[name] = value.strip()
    return values


def names_in(option: str, text: str | None) -> list[str]:
    """The names in a list with commas."""
    names = split(text or "")
    if not all(names) or len(set(names)) < len(names):
        rule = "must name each column only once"
        if "" in names:
            rule = "must have a name on both sides of each comma"
        raise ArgumentError(option, rule, show(text))
    return names


def stated(
    names: Sequence[str], kinds: Mapping[str, Kind], options: Mapping[str, Mapping[str, str]]
) -> list[Question]:
    """The questions with what options state of them."""
    readers: dict[str, Callable[[Question, str], Question]] = {
        "label": lambda q, text: replace(q, text=text),
        "values": lambda q, text: with_labels(q, split(text)),
        "range": with_range,
        "grid": with_grid,
        "design": with_design,
    }
    questions = []
    for name in names:
        kind: Kind = "cells" if name in options["grid"] else "labels"
        if name in options["range"]:
            parts = options["range"][name].split(":")
            whole = all(re.fullmatch(" *-?[0-9]+ *", limit) for limit in parts) and len(parts) == 2
            kind = "integers" if whole else "numbers"
        question = Question(name, kinds.get(name, kind))
        given = [f"--{key}" for key in ("values", "range", "grid") if name in options[key]]
        if len(given) > 1:
            rule = f"has {' and '.join(given)}, but only one of these can be given"
            raise ArgumentError(name, rule)
        for option, read in readers.items():
            if name in options[option]:
                question = read(question, options[option][name])
        questions.append(question)
    return questions


def with_design(question: Question, text: str) -> Question:
    """The question with the design of a card, and its answers unless others are said."""
    labels = question.labels
    if labels is not None and len(labels) == len(YES_OR_NO) and begins_with_yes(labels):
        labels = labels[::-1]  # as the chances of cards are stated
    design = from_text(text, None if labels is None else Categorical(labels))
    return replace(
        question, labels=tuple(design.domain.labels), options={**question.options, "design": text}
    )


def as_public(question: Question) -> Question:
    """The question as a public column, which has no bins and no grid."""
    return replace(question, kind="labels") if question.kind in ("numbers", "cells") else question


def looked_at(
    path: str | None, names: Sequence[str], options: Mapping[str, Mapping[str, str]]
) -> dict[str, Kind]:
    """The kinds of columns, as stated or else from a look at the file."""
    stated_kinds = options["kind"].items()
    if words := [word for _, word in stated_kinds if word not in KINDS]:
        raise unknown("--kind", words[0], KINDS)
    kinds = {name: KINDS[word] for name, word in stated_kinds}
    described = {*kinds, *options["values"], *options["grid"]}
    rest = [name for name in names if name not in described]
    return kinds | (kinds_of(path, rest) if path is not None and rest else {})


def copied(
    path: str, questions: Sequence[Question], names: Sequence[str], is_rounded: bool
) -> list[Question]:
    """The questions with labels and limits from the file, where they are undecided."""
    kinds = {
        q.name: q.kind
        for q in questions
        if q.name in names and not q.is_decided and q.kind in ("labels", "integers", "numbers")
    }
    contents = dict(contents_of(path, kinds)) if kinds else {}
    return [
        _filled(q, contents[q.name], is_rounded) if q.name in contents else q for q in questions
    ]


def _filled(question: Question, contents: Contents, is_rounded: bool) -> Question:
    """A question with what a column contains."""
    if contents.low is not None and contents.high is not None:
        low, high = contents.low, contents.high
        if is_rounded:
            low, high = rounded_outwards(low, high)
        if low < high:
            return with_range(question, f"{low!r}:{high!r}", is_copied=True)
    if len(contents.labels) > 1:
        return with_labels(question, [str(label) for label in contents.labels], is_copied=True)
    return question


def with_mechanisms(study: FirstStudy, people: int) -> FirstStudy:
    """The study with a mechanism for each question whose values are decided, except of places."""
    # Proposals for places take long, and most protect near places less than distant ones.
    decided = [
        question for question in study.secret if question.is_decided and question.kind != "cells"
    ]
    if not decided:
        return study
    sound = Study.parse(replace(study, secret=decided, public=(), asks_one=False).text())
    among, chosen = len(study.secret) if study.asks_one else 1, {}
    for name, domain in steps(sound.domains.items(), "planning"):
        proposal = propose(domain, max(1, people // among), float(study.epsilon))
        if not proposal.best.mechanism.guarantee.is_metric:  # an epsilon of all values is stated
            chosen[name] = _lines(proposal, among)
    return replace(study, mechanisms=chosen)


def _lines(proposal: Proposal, among: int) -> tuple[str, str]:
    """The lines that state the mechanism, and what to expect of its estimate."""
    best = proposal.best
    stated = {"mechanism": best.name.split()[0], **best.options}
    lines = "\n".join(f"{key} = {toml(value)}" for key, value in stated.items())
    width, people = best.expected.share, f"{proposal.n:,} people"
    if among > 1:
        people += " who are asked it"
    if width is None:
        return lines, f"proposed for {people}"
    share = f"a share of {proposal.share:.0%}"
    return lines, f"with {people} {share} has an interval {width:.2f} wide"
