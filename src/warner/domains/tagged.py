"""A domain with placeholders of tags, which devices send in place of secret answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from warner._core.checks import integer, kind, legible, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    WarnerError,
)
from warner.domains.answers import built_in, encoded_at, sequence
from warner.domains.base import LARGEST_SIZE, Domain


class Tagged(Domain):
    """A domain and one placeholder for each tag, such as "@home" for the tag "home" [P2 sec 5].

    A device sends the placeholder in place of an answer that its owner keeps secret. The K values
    of the domain keep their indices 0..K-1. The placeholders follow in the order of the tags.

    Args:
        domain: the domain of the answers, without tags.
        tags: the distinct names of the tags, at least one.

    Raises:
        ArgumentError: no tags, a tag twice, or a tag that files or messages could misread.
        ArgumentTypeError: a domain with tags, or tags that are no list.

    >>> from warner import Integers
    >>> Tagged(Integers(0, 2), ["home", "work"]).encode([1, "@work"]).tolist()
    [1, 4]
    """

    kind = "tagged"

    def __init__(self, domain: Domain, tags: Sequence[str]) -> None:
        if not isinstance(domain, Domain) or domain.tags:
            raise ArgumentTypeError("domain", "must be a Domain without tags", kind(domain))
        self.tags = _names(tags)
        self.domain, self.missing = domain, domain.missing
        self._placeholders = {f"@{tag}": domain.size + i for i, tag in enumerate(self.tags)}
        taken = [placeholder for placeholder in self._placeholders if _accepts(domain, placeholder)]
        if taken:
            rule = "must not look like a value of the domain"
            raise ArgumentError("tags", rule, show(min(taken)))
        self.size = integer("values and tags", domain.size + len(self.tags), 2, LARGEST_SIZE)

    @property
    def placeholders(self) -> Mapping[str, int]:
        return self._placeholders

    @property
    def untagged(self) -> Domain:
        return self.domain

    def encode(self, values: Any) -> np.ndarray:
        answers = sequence(values)
        if isinstance(answers, np.ndarray) and answers.dtype.kind not in "OU":
            return self.domain.encode(answers)
        answers = list(built_in(list(answers)))
        places = (self._placeholders.get(v, -1) if isinstance(v, str) else -1 for v in answers)
        index = np.fromiter(places, dtype=np.int64, count=len(answers))
        rest = np.flatnonzero(index < 0)
        if rest.size:
            index[rest] = encoded_at(self.domain.encode, answers, rest)
        return index

    def decode(self, index: Any) -> list[Any]:
        index = self._index(index)
        found = np.empty(index.size, dtype=object)
        proper = index < self.domain.size
        for i, value in zip(np.flatnonzero(proper), self.domain.decode(index[proper]), strict=True):
            found[i] = value
        names = list(self._placeholders)
        for i in np.flatnonzero(~proper):
            found[i] = names[index[i] - self.domain.size]
        return list(found)

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "domain": self.domain.spec(), "tags": list(self.tags)}

    @classmethod
    def from_spec(
        cls, spec: Mapping[str, Any], build: Callable[[Mapping[str, Any]], Domain]
    ) -> Self:
        return cls(build(spec["domain"]), spec["tags"])


def _names(tags: Sequence[str]) -> tuple[str, ...]:
    """Checked names of tags."""
    if isinstance(tags, str) or not hasattr(tags, "__iter__"):
        raise ArgumentTypeError("tags", "must be a list of names", kind(tags))
    names = list(tags)
    are_names = bool(names) and all(isinstance(tag, str) and tag for tag in names)
    if not are_names or len(set(names)) < len(names):
        raise ArgumentError("tags", "must be distinct names, at least one", show(names))
    for tag in names:
        legible("tags", tag)
    if not all(_is_plain(tag) for tag in names):
        rule = "must not begin with '@' or hold '=', '.', control characters or spaces around"
        raise ArgumentError("tags", rule, show(names))
    return tuple(names)


def _accepts(domain: Domain, value: Any) -> bool:
    """Whether ``value`` is one of the domain's own."""
    try:
        domain.encode([value])
    except WarnerError:
        return False
    return True


def _is_plain(tag: str) -> bool:
    """Whether a tag can stand in a file and on a command line without being misread."""
    clean = tag == tag.strip() and tag.isprintable()
    return clean and not tag.startswith("@") and not set("=.") & set(tag)
