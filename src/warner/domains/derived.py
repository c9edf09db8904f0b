"""Domains made of other domains: some of their values, tags beside them, and missing answers."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np

from warner._core.checks import integer, kind, legible, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    WarnerError,
)
from warner.domains.base import (
    LARGEST_SIZE,
    NO_ANSWER,
    Domain,
    Missing,
    Raster,
    TextForm,
    built_in,
    encoded_at,
    require_domain,
    sequence,
)


class Subset(Domain):
    """Some values of another domain, in its order; all other answers are refused.

    :func:`warner.estimate` returns an estimate on such a domain if some values are excluded. A
    value of an Interval is then the centre of its bin.

    Args:
        domain: the domain of all values, of a single question.
        index: (k,) the indices in ``domain`` of the k >= 2 distinct values to keep.

    Raises:
        ArgumentError: indices outside the domain, twice, or fewer than two.
        ArgumentTypeError: not a domain, or indices that are no integers.

    >>> from warner import Integers
    >>> even = Subset(Integers(0, 9), [0, 2, 4, 6, 8])
    >>> even.labels, even.encode([4, 0]).tolist()
    ([0, 2, 4, 6, 8], [2, 0])
    """

    kind = "subset"
    _stated = ("domain", "index")
    noun = "values that were kept"

    def __init__(self, domain: Domain, index: Any) -> None:
        require_domain(domain)
        members = np.unique(domain._index(index))
        if len(members) != np.size(index) or np.ndim(index) != 1:
            raise ArgumentError("index", "must be a list of whole numbers, all different")
        self.size = integer("number of values", len(members), 2, LARGEST_SIZE)
        self.domain, self._members = domain, members
        self.is_ordered, self.dimension = domain.is_ordered, domain.dimension

    @cached_property
    def points(self) -> np.ndarray | None:
        points = self.domain.points
        return None if points is None else points[self._members]

    @property
    def raster(self) -> Raster | None:
        """The grid of the domain, without the cells that were not kept."""
        cells = self.domain.raster
        if cells is None:
            return None
        places = self._members if cells.places is None else cells.places[self._members]
        return cells._replace(places=places)

    @property
    def text(self) -> TextForm | None:
        form = self.domain.text
        if form is None or form.labels is None:
            return form
        return replace(form, labels=[form.labels[i] for i in self._members])

    def encode(self, values: Any) -> np.ndarray:
        index = self.domain.encode(values)
        rank = np.minimum(np.searchsorted(self._members, index), self.size - 1)
        self._refuse(self._members[rank] != index, "a value that was not kept")
        return rank

    def decode(self, index: Any) -> list[Any]:
        return self.domain.decode(self._members[self._index(index)])

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "domain": self.domain.spec(), "index": self._members.tolist()}


# -----------------------------------------------------------------------------------------------
# A domain with placeholders of tags, which devices send in place of secret answers.


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
    _stated = ("domain", "tags")

    def __init__(self, domain: Domain, tags: Sequence[str]) -> None:
        require_domain(domain)
        if domain.tags:
            rule, remedy = "must have no tags yet", "Pass the domain without tags"
            raise ArgumentTypeError(
                "domain", rule, f"a domain tagged with {', '.join(domain.tags)}", remedy
            )
        self.tags = _names(tags)
        self.domain, self.missing = domain, domain.missing
        self._placeholders = {f"@{tag}": domain.size + i for i, tag in enumerate(self.tags)}
        taken = [placeholder for placeholder in self._placeholders if _accepts(domain, placeholder)]
        if taken:
            rule, remedy = "must not look like one of the values", "Rename the tag"
            raise ArgumentError("tags", rule, show(min(taken)), remedy)
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
        return _decoded(self.domain, self._index(index), list(self._placeholders))

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "domain": self.domain.spec(), "tags": list(self.tags)}


def _decoded(domain: Domain, index: np.ndarray, names: Sequence[str]) -> list[Any]:
    """The values at ``index`` (n,) of a domain, whose values are followed by names."""
    values, size = iter(domain.decode(index[index < domain.size])), domain.size
    return [next(values) if i < size else names[i - size] for i in index.ravel().tolist()]


def _names(tags: Sequence[str]) -> tuple[str, ...]:
    """Checked names of tags."""
    if isinstance(tags, str) or not hasattr(tags, "__iter__"):
        raise ArgumentTypeError("tags", "must be a list of names", kind(tags))
    names = list(tags)
    are_names = bool(names) and all(isinstance(tag, str) and tag for tag in names)
    if not are_names or len(set(names)) < len(names):
        raise ArgumentError("tags", "must be one or more different names", show(names))
    for tag in names:
        legible("tags", tag)
    if not all(_is_plain(tag) for tag in names):
        rule = (
            "must not contain '=', '.' or control characters, begin with '@' or a space, or end "
            "with a space"
        )
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


# -----------------------------------------------------------------------------------------------
# A domain with nonresponse as a value of its own.


class Optional(Domain):
    """The values of a domain, and nonresponse: a person may give no answer.

    Nonresponse is one more value, which is randomised like any other. So a report does not tell
    whether its sender answered. The K values keep their indices 0..K-1. Nonresponse is the last
    value, with the index K and the label ``"(no answer)"``.

    The K + 1 values have no coordinates, since nonresponse has none, so mechanisms of labels take
    the domain and mechanisms of numbers do not. ``Estimate.answered()`` is about those who
    answered: on the K values in their order, with means and quantiles where they are numbers.

    Args:
        domain: the domain of the answers, of a single question.
        empty: the texts that are missing answers, beside None, NaN and the label of nonresponse.
            They say how answers are read, and are not part of ``spec``.

    Raises:
        ArgumentError: a text in ``empty`` that is a value of the domain.
        ArgumentTypeError: not a domain of a single question, or one with nonresponse or tags.

    >>> from warner import Integers
    >>> units = Optional(Integers(0, 2), empty=["", "NA"])
    >>> units.encode([1, None, "NA"]).tolist(), units.labels
    ([1, 3, 3], [0, 1, 2, '(no answer)'])
    """

    kind = "optional"

    def __init__(self, domain: Domain, empty: Sequence[str] = ("",)) -> None:
        _require_single(domain)
        self.missing = Missing("answer", empty)
        _refuse_values(domain, (*self.missing.empty, NO_ANSWER))
        self._spelled = Missing("answer", [*dict.fromkeys((*self.missing.empty, NO_ANSWER))])
        self.domain = domain
        self._stand_in = domain.decode([0])[0]
        self.size = integer("values and nonresponse", domain.size + 1, 2, LARGEST_SIZE)
        self.remedy = domain.remedy

    @property
    def answered(self) -> Domain:
        return self.domain

    @property
    def nonresponse(self) -> int:
        return self.domain.size

    @property
    def text(self) -> TextForm | None:
        form = self.domain.text
        if form is None or form.labels is None:
            return None
        return replace(form, labels=[*form.labels, NO_ANSWER])

    def position(self, values: Any) -> NoReturn:
        rule = 'has the value "no answer", which is not a number'
        remedy = "Use a mechanism for labels, for example SubsetSelection or UnaryEncoding"
        raise ArgumentTypeError("domain", rule, None, remedy)

    def encode(self, values: Any) -> np.ndarray:
        return self.encode_with(self.domain.encode, values, self.nonresponse)

    def encode_with(
        self, encode: Callable[[Any], np.ndarray], values: Any, nonresponse: float
    ) -> np.ndarray:
        """Encode answers by a function, and missing ones as one number.

        Args:
            encode: a function of n answers that returns (n,) numbers.
            values: answers, some of them missing.
            nonresponse: the number of a missing answer. With an integer all numbers are integers.
        """
        is_masked = np.ma.isMaskedArray(values)
        answers = sequence(np.ma.getdata(values) if is_masked else values, one_each=False)
        absent = self._spelled.mask(values if is_masked else answers)
        index = np.full(len(absent), nonresponse)
        present, missing = np.flatnonzero(~absent), np.flatnonzero(absent)
        # A person's nonresponse is encoded as an answer would be, so that time does not tell it.
        stand_ins = [self._stand_in] * len(absent)
        for given, places in ((answers, present), (stand_ins, missing[:1])):
            if places.size:
                index[places] = encoded_at(encode, given, places)
        index[missing] = nonresponse
        return index

    def decode(self, index: Any) -> list[Any]:
        return _decoded(self.domain, self._index(index), [NO_ANSWER])

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "domain": self.domain.spec()}

    @classmethod
    def from_spec(
        cls, spec: Mapping[str, Any], build: Callable[[Mapping[str, Any]], Domain]
    ) -> Self:
        domain = build(spec["domain"])
        # A label "" is no missing answer; the header does not say how answers were spelt.
        return cls(domain, () if _reads(domain, "") else ("",))


def with_missing(domain: Domain, policy: str, empty: Sequence[str] = ("",)) -> Domain:
    """Return a domain with a policy on missing answers.

    Args:
        domain: the domain of the answers, of a single question.
        policy: ``"answer"`` makes nonresponse a value of its own, see :class:`Optional`. ``"drop"``
            leaves people without an answer out where a file is read, and ``"refuse"`` refuses the
            file. Both leave the values and the law as they are.
        empty: the texts that are missing answers, beside null and NaN.

    Returns:
        The domain with nonresponse as a value, or a copy of ``domain`` with the policy.

    Raises:
        ArgumentError: another policy, or a text in ``empty`` that is a value of the domain.
        ArgumentTypeError: not a domain of a single question.

    ``encode`` returns one index for each answer. So it refuses missing answers under ``"drop"``
    too; leave them out before, with ``domain.missing.mask(values)``:

    >>> from warner import Categorical
    >>> smokes = with_missing(Categorical(["no", "yes"]), "drop", ["", "NA"])
    >>> answers = np.array(["no", "NA", "yes"])
    >>> smokes.encode(answers[~smokes.missing.mask(answers)]).tolist()
    [0, 1]
    """
    missing = Missing(policy, empty)
    if policy == "answer":
        return Optional(domain, missing.empty)
    _require_single(domain)
    _refuse_values(domain, missing.empty)
    changed = copy.copy(domain)
    changed.missing = missing
    return changed


def _require_single(domain: Any) -> None:
    """Refuse what is no domain of a single question without nonresponse."""
    is_domain = isinstance(domain, Domain)
    if (
        not is_domain
        or domain.attributes
        or domain.tags
        or domain.pairs
        or domain.answered != domain
    ):
        rule = 'must be the domain of one question, without "no answer", tags or pairs'
        raise ArgumentTypeError("domain", rule, kind(domain))


def _refuse_values(domain: Domain, texts: Sequence[str]) -> None:
    """Refuse spellings of a missing answer that are answers."""
    taken = [text for text in texts if _reads(domain, text)]
    if taken:
        rule, remedy = "must not list an answer", "Leave out this text, or rename the answer"
        raise ArgumentError("empty", rule, show(taken[0]), remedy)


def _reads(domain: Domain, text: str) -> bool:
    """Whether a text is an answer of the domain, in Python or in a file."""
    form = domain.text
    answers: list[Any] = [text]
    if form is not None and form.labels is not None:
        if (text.lower() if form.any_case else text) in form.labels:
            return True
    elif form is not None and re.match(form.pattern, text):
        answers = [form.number(text)] if form.parts is None else domain.decode([0])
    try:
        domain.encode(answers)
    except WarnerError:
        return False
    return True


# -----------------------------------------------------------------------------------------------
# A domain for one of several answers of a person, with padding for people who hold few.


class Padded(Domain):
    """The values that a person may hold several of, and a placeholder for padding.

    A device draws one slot at random. A person with k values has max(pairs, k) slots. The slots
    without a value hold the placeholder "@padding", whose index is K. If nobody holds more than
    ``pairs`` values, the share of a value times ``pairs`` is the share of people who hold it.

    Args:
        domain: the domain of the values.
        pairs: the number of slots, 1 to 2^20.

    Raises:
        ArgumentError: ``pairs`` out of range.
        ArgumentTypeError: not a domain, or a domain with tags.

    >>> from warner import Categorical
    >>> Padded(Categorical(["a", "b"]), 4).labels
    ['a', 'b', '@padding']
    """

    kind = "padded"
    _stated = ("domain", "pairs")
    pairs: int

    def __init__(self, domain: Domain, pairs: int) -> None:
        self._tagged = Tagged(domain, ["padding"])
        self.domain, self.size = domain, self._tagged.size
        self.missing = domain.missing
        self.pairs = integer("pairs", pairs, 1, 2**20)

    @property
    def placeholders(self) -> Mapping[str, int]:
        return self._tagged.placeholders

    @property
    def unpadded(self) -> Domain:
        return self.domain

    def encode(self, values: Any) -> np.ndarray:
        return self._tagged.encode(values)

    def decode(self, index: Any) -> list[Any]:
        return self._tagged.decode(index)

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "domain": self.domain.spec(), "pairs": self.pairs}
