"""From the options of ``warner new`` to the questions of a first study."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from warner._core.checks import show
from warner._core.errors import ArgumentError
from warner._core.text import meant
from warner.app.new_study.dialogue import split
from warner.app.new_study.question import (
    Question,
    rounded_outwards,
    with_grid,
    with_labels,
    with_range,
)
from warner.io.answer_kinds import Contents, Kind, contents_of, kinds_of

KINDS: tuple[Kind, ...] = get_args(Kind)


def by_name(option: str, texts: Iterable[str], names: Sequence[str]) -> dict[str, str]:
    """{name: value} of an option that is written NAME=VALUE."""
    found: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        name = name.strip()
        if not sign or not value.strip():
            raise ArgumentError(option, "must be NAME=VALUE", show(text))
        if name not in names:
            rule = f"must name one of {', '.join(names)}"
            raise ArgumentError(option, rule, show(name), meant(name, names))
        if name in found:
            raise ArgumentError(option, f"names {name!r} twice")
        found[name] = value.strip()
    return found


def names_in(option: str, text: str | None) -> list[str]:
    """The names in a list with commas."""
    names = split(text or "")
    if not all(names) or len(set(names)) < len(names):
        rule = "must be different names, separated by commas"
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
    }
    found = []
    for name in names:
        question = Question(name, kinds.get(name) or _kind_stated(name, options))
        if sum(name in options[key] for key in ("values", "range", "grid")) > 1:
            rule = "must be given one of --values, --range and --grid"
            raise ArgumentError(name, rule)
        for option, read in readers.items():
            if name in options[option]:
                question = read(question, options[option][name])
        found.append(question)
    return found


def as_public(question: Question) -> Question:
    """The question as a public column, which has no bins and no grid."""
    return replace(question, kind="labels") if question.kind in ("numbers", "cells") else question


def _kind_stated(name: str, options: Mapping[str, Mapping[str, str]]) -> Kind:
    """The kind of a column that nobody looked at."""
    if name in options["range"]:
        parts = options["range"][name].split(":")
        whole = all(re.fullmatch(" *-?[0-9]+ *", part) for part in parts) and len(parts) == 2
        return "integers" if whole else "numbers"
    return "cells" if name in options["grid"] else "labels"


def looked_at(
    path: str | None, names: Sequence[str], options: Mapping[str, Mapping[str, str]]
) -> dict[str, Kind]:
    """The kinds of columns: as stated, or from a look at the file.

    A column whose kind, labels or grid are stated is not read.
    """
    found: dict[str, Kind] = {}
    for name, word in options["kind"].items():
        if word not in KINDS:
            rule = f"must be one of {', '.join(KINDS)}"
            raise ArgumentError("--kind", rule, show(word), meant(word, KINDS))
        found[name] = next(kind for kind in KINDS if kind == word)
    told = {*found, *options["values"], *options["grid"]}
    rest = [name for name in names if name not in told]
    return found | (kinds_of(path, rest) if path is not None and rest else {})


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
