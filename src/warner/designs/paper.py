"""The base of designs for paper: an exact law, words of reports, and the card of instructions."""

from __future__ import annotations

import contextlib
import math
import re
import textwrap
import unicodedata
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from warner._core.errors import ArgumentError, ArgumentTypeError
from warner._core.sampling import Source
from warner._core.text import look, of_hundred
from warner.channels import DenseChannel
from warner.domains import Categorical, Domain
from warner.domains.base import require_domain
from warner.mechanisms.base import Mechanism
from warner.mechanisms.direct import TableMechanism
from warner.privacy.report_laws import ExactTable, common_denominator, epsilon_of
from warner.reports.rules import smallest_dtype
from warner.reports.schema import IntegerColumns

_MOST = 2**62  # the largest common denominator of a law
_WIDTH = 76
YES_OR_NO = ("no", "yes")

Answers = Sequence[str] | None
"""The texts of the answers (K,) on a card; None for the words of reports and the values."""

Rules = tuple[str, tuple[str, ...], tuple[tuple[str, str], ...], str]
"""The title of a card, its steps, its boxes and what is to be brought."""


def _plain(label: object) -> str:
    """An answer without case, accents and what follows a comma: "sí, claro" is "si"."""
    first = re.split(r"[,;:.!](?:\s|$)|\s[(/]", str(label).strip())[0]
    letters = unicodedata.normalize("NFKD", first)
    return "".join(each for each in letters if not unicodedata.combining(each)).casefold()


# Words for yes and no in many languages, and signs for them. "jo" and other words that are yes in
# one language and no in another are left out.
_YES = """
yes y true 1 positive agree ja oui si sim da tak evet ano áno igen taip jā jah kyllä joo jes ya bai
ναι да так نعم بله ہاں כן 是 是的 有 はい 예 네 हाँ हां হ্যাঁ có ใช่ ndiyo
"""
_NO = """
no n false 0 negative disagree never none nein nie non nej nei nee não ne nē nem ei hayır hayir
tidak ez όχι нет не ні لا خیر نہیں לא 否 不
不是 没有 沒有 いいえ 아니요 아니오 नहीं না không ไม่ ไม่ใช่ hapana
"""
_YES_WORDS = frozenset(map(_plain, _YES.split()))
_NO_WORDS = frozenset(map(_plain, _NO.split()))


@dataclass(frozen=True)
class Card:
    """The instructions of a design, for the person who answers and for who asks.

    Attributes:
        title: the name of the design.
        steps: what the person does, one sentence or more in each.
        boxes: what can be ticked: ``(word, what it means)``; the words are the design's reports.
        protects: what an answer gives away, in one sentence or two, for the consent.
        brings: what the person who asks brings, and its chances.

    >>> print(Card("Title", ("Do this.",), (("yes", ""),), "It protects.", "A die."))
    Title
    <BLANKLINE>
    1. Do this.
    2. Tick one box:
       [ ] yes
    <BLANKLINE>
    It protects.
    <BLANKLINE>
    For the interviewer: A die.
    """

    title: str
    steps: tuple[str, ...]
    boxes: tuple[tuple[str, str], ...]
    protects: str
    brings: str

    def __str__(self) -> str:
        def folded(text: str, indent: str = "") -> str:
            return textwrap.fill(text, _WIDTH, subsequent_indent=indent)

        steps = [*self.steps, "Tick one box:"]
        lines = [folded(f"{i}. {step}", "   ") for i, step in enumerate(steps, 1)]
        boxes = [
            folded(f"   [ ] {word}{f': {meaning}' if meaning else ''}", "       ")
            for word, meaning in self.boxes
        ]
        end = folded(f"For the interviewer: {self.brings}")
        return "\n".join([self.title, "", *lines, *boxes, "", folded(self.protects), "", end])


class PaperDesign(TableMechanism):
    """A question on paper that people randomise themselves, by a draw with exact chances. Abstract.

        Pr(report y | answer x) = A[y, x],   Fractions

    Where a report can rule an answer out, the design protects the other answers alone, and its
    guarantee says which (ULDP or OSLDP).

    Args:
        domain: K answers; of a question with no and yes, no comes first.
        table: A (m, K), rows in the order of ``words``.
        words: of the reports, (m,).

    Attributes:
        short_name: the name in texts such as ``crosswise:1/4``.
        report_words: the words of reports, in the order of their codes 0..m-1.
        reads_as: further words that are read as reports: {word: code}.
        text: the design as a text that :func:`~warner.designs.from_text` reads.
        drawn: the chances of the outcomes that the card names, of one draw; none of packs of cards.
        chance_is_of: what p is the chance of, where the card with 1 - p is as usual; else "".

    Raises:
        ArgumentError: a law whose reports do not depend on the answer, that protects no answer (of
            two, not "yes"), or whose chances have no common denominator below 2^62.
    """

    is_on_paper = True
    is_of_studies = False  # a study says design = "crosswise:1/4"
    short_name: ClassVar[str]
    chance_is_of: ClassVar[str] = ""
    drawn: Sequence[Fraction] = ()
    references: ClassVar[tuple[str, ...]] = ("heck2018",)

    def __init__(
        self, domain: Domain, table: Sequence[Sequence[Fraction]], words: Sequence[str]
    ) -> None:
        exact = np.empty((len(table), len(table[0])), dtype=object)
        exact[:] = [list(row) for row in table]
        numerators, total = common_denominator(exact)
        if total > _MOST:
            rule = "are too complicated to be drawn: their common denominator is 2^62 or more"
            raise ArgumentError("chances", rule, None, "Use simpler fractions, or fewer draws")
        if all(len(set(row)) == 1 for row in numerators.tolist()):
            rule = (
                "would make all reports useless, because every report would be equally likely for "
                "all answers"
            )
            remedy = "Use other chances, such as 1/4 instead of 1/2"
            raise ArgumentError("chances", rule, None, remedy)
        mask = _protected_answers(numerators)
        if not mask.any() or (domain.size == 2 and not mask[1]):
            whom = "nobody" if not mask.any() else "no person whose answer is yes"
            rule = f"protect {whom}, because a report shows the answer"
            raise ArgumentError("chances", rule, None, "Use chances above 0 and below 1")
        self.sensitive_mask = None if mask.all() else mask
        self.law = ExactTable(numerators, self.sensitive_mask, total)
        Mechanism.__init__(self, domain, epsilon_of(self.law.ratio()), infinite=True)
        self.schema = IntegerColumns(("report",), (len(words),))
        self._words = tuple(words)
        self._edges = np.cumsum(numerators, axis=0)[:-1].astype(np.int64)
        self.check_realisable()

    @property
    def report_words(self) -> tuple[str, ...]:
        return self._words

    @cached_property
    def code_of_look(self) -> dict[str, int]:
        codes = dict(super().code_of_look)
        if self.report_words == YES_OR_NO:  # sheets are in the language of those who answer
            for code, words in enumerate((_NO, _YES)):
                for word in words.split():
                    codes.setdefault(look(word), code)
        return codes

    @property
    def means_yes(self) -> Any | None:
        """The answer that the card calls yes; None where the card names the answers."""
        return self.domain.labels[1]

    @property
    def text(self) -> str:
        values = ",".join(in_days(value) for value in self.parameters().values())
        return f"{self.short_name}:{values}"

    def thresholds(self) -> dict[str, str]:
        rows = [" ".join(map(str, row)) for row in self.probabilities().tolist()]
        return {"table": "; ".join(rows)}

    def channel(self) -> DenseChannel:
        channel = super().channel()
        channel.is_on_paper = True
        return channel

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        return cls(**parameters, domain=domain)

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        drawn = source.uniform(self.law.total, len(index))
        report = (drawn[:, None] >= self._edges.T[index]).sum(axis=1)
        return {"report": report.astype(smallest_dtype(self.n_reports))}

    def _no_program(self) -> ArgumentTypeError:
        rule = "is a design for paper, where people draw cards or throw dice themselves"
        total = self.guarantee.total
        epsilon = 1.0 if math.isinf(total) else math.floor(100 * total) / 100 or total
        remedy = (
            "To ask on phones too, save a copy of the study under another name. In the copy, "
            f"replace the line of the design with two lines: mechanism = "
            f'"RandomizedResponse" and epsilon = {epsilon:g}'
        )
        return ArgumentTypeError("mechanism", rule, type(self).__name__, remedy)

    def __repr__(self) -> str:
        values = ", ".join(f"{key}={value!r}" for key, value in self.parameters().items())
        plain = self.domain == Categorical(YES_OR_NO)
        return f"{type(self).__name__}({values}{'' if plain else f', domain={self.domain!r}'})"

    def card(
        self, question: str | None = None, by: str | None = None, answers: Answers = None
    ) -> Card:
        """The instructions for people and interviewers.

        Args:
            question: the sensitive question; None for "Question A".
            by: what people draw with, see :func:`~warner.designs.draw_with`; None for the simplest
                that has the exact chances.
            answers: the texts of the answers (K,), in their order; None for the words of reports
                and the values.

        Raises:
            ArgumentError: a device that does not have the chances of the design.
        """
        title, steps, boxes, brings = self._rules(question, by, answers)
        return Card(title, steps, boxes, self._protects(answers), brings)

    @abstractmethod
    def _rules(self, question: str | None, by: str | None, answers: Answers) -> Rules:
        """What stands on the card, but for what an answer gives away."""

    def words_on_card(self, answers: Answers) -> tuple[str, ...]:
        """The words of reports in the order of their codes, or the texts of answers for them.

        >>> from warner.designs import Crosswise, Warner
        >>> Warner("1/4").words_on_card(["nein", "ja"])
        ('nein', 'ja')
        >>> Crosswise("1/4").words_on_card(["nein", "ja"])
        ('different', 'same')
        """
        are_answers = self.report_words in (YES_OR_NO, tuple(map(str, self.domain.labels)))
        return self.report_words if answers is None or not are_answers else tuple(answers)

    def likely_slip(self, counts: np.ndarray) -> str:
        """What counts (m,) say that hardly any answers make, and which slip would explain them.

        >>> from warner.designs import Triangular
        >>> slip = Triangular("1/4").likely_slip(np.array([900, 100]))
        >>> print(textwrap.fill(slip, 80))
        With this card, 25 to 100 of 100 people say "either". Here 10 do, so the
        estimated share of yes is -20.0 %. With the two counts exchanged, the estimate
        would be 86.7 %.
        """
        if len(self.report_words) != 2 or self.domain.size != 2:
            return "Are words or chances in the wrong order, or did people answer without the card?"
        say, share = self.report_words[1], float(counts[1] / counts.sum())
        low, high = (of_hundred(float(end)) for end in sorted(self.probabilities()[1]))
        name = str(self.domain.labels[1])
        seen = (
            f'With this card, {low} to {high} of 100 people say "{say}". Here {of_hundred(share)} '
            f"do, so the estimated share of {name} is {100 * self._share_of_yes(share):.1f} %."
        )
        slips = {"the two counts exchanged": self._share_of_yes(1 - share)}
        slips |= {each.text: each._share_of_yes(share) for each in self._nearby()}
        likely = [
            (slip, f"{100 * would:.1f} %") for slip, would in slips.items() if 0 <= would <= 1
        ]
        if not likely:
            return f"{seen} Was another card used, or did people answer without a card?"
        (slip, would), *others = likely
        # All of them: nobody but the reader knows which slip it was.
        more = "".join(f", with {each} {share}" for each, share in others)
        return f"{seen} With {slip}, the estimate would be {would}{more}."

    def _share_of_yes(self, share: float) -> float:
        """The unbiased share of the second answer, of two, from that of the second word, of two."""
        at_no, at_yes = map(float, self.probabilities()[1])
        return (share - at_no) / (at_yes - at_no)

    def _nearby(self) -> list[Self]:
        """The same design with one chance p read as 1 - p, or two chances exchanged."""
        stated = {k: Fraction(v) for k, v in self.parameters().items() if isinstance(v, str)}
        others = [stated | {key: 1 - p} for key, p in stated.items()]
        if len(stated) == 2:
            others.insert(0, dict(zip(stated, reversed(stated.values()), strict=True)))
        made = []
        for chances in others:
            with contextlib.suppress(ArgumentError):
                made.append(type(self)(**self.parameters() | chances, domain=self.domain))
        return [each for each in made if each.text != self.text]

    def mirrored(self, counts: np.ndarray) -> str:
        """What counts (m,) of a card and of that with 1 - p mean, where most would say yes."""
        if not self.chance_is_of:
            return ""
        (other,), share = self._nearby(), float(counts[1] / counts.sum())
        here, there = (each._share_of_yes(share) for each in (self, other))
        if here <= 0.5:
            return ""
        there = min(max(there, 0.0), 1.0)
        return (
            f"With {other.text}, the same counts would give {100 * there:.1f} % "
            f"{self.domain.labels[1]}: check that {self.parameters()['p']} is {self.chance_is_of}."
        )

    def _protects(self, answers: Answers) -> str:
        """What one answer gives away, in words."""
        odds = self.law.ratio()
        most = f"{odds.numerator}" if odds.denominator == 1 else f"{float(odds):.3g}"
        if self.sensitive_mask is None:
            return (
                "No box shows your answer, because each box is ticked by people with every answer. "
                f"One answer leads to a box at most {most} times as often as another answer."
            )
        shown = " or ".join(
            f'"{word}"'
            for word, one in zip(self.words_on_card(answers), self.law.protected, strict=True)
            if not one
        )
        texts = dict(zip(self.domain.labels, answers or self.domain.labels, strict=True))
        sensitive = " or ".join(f'"{texts[value]}"' for value in self.sensitive)
        return (
            f"No box shows that your answer is {sensitive}: each box that people with this answer "
            "tick is also ticked by people with another answer. One answer leads to such a box at "
            f"most {most} times as often as another answer. The box {shown} shows that your answer "
            f"is not {sensitive}."
        )


def in_days(chance: Fraction | str) -> str:
    """A chance as people write it: that of a birthday in days of a year.

    >>> in_days(Fraction(18, 73)), in_days("1/4"), in_days("1/5")
    ('90/365', '1/4', '1/5')
    """
    exact = Fraction(chance)
    return f"{exact * 365}/365" if exact.denominator == 73 else str(exact)


def _protected_answers(numerators: np.ndarray) -> np.ndarray:
    """The answers all of whose reports can come from every answer.

    Shapes: numerators (m, K) -> (K,).
    """
    possible = numerators > 0
    from_all = np.all(possible, axis=1, keepdims=True)
    return np.asarray(~(possible & ~from_all).any(axis=0))


def begins_with_yes(labels: Sequence[object]) -> bool:
    """Whether two answers are yes and no, in this order."""
    first, second = map(_plain, labels)
    return first in _YES_WORDS or (second in _NO_WORDS and first not in _NO_WORDS)


def two_answers(domain: Domain | None) -> Domain:
    """The domain of a question with no and yes, refused where it has other values."""
    domain = Categorical(YES_OR_NO) if domain is None else domain
    require_domain(domain)
    if domain.size != 2:
        rule = "must have two answers, no and yes"
        remedy = "For more answers use ForcedResponse, such as forced:1/10"
        raise ArgumentError("domain", rule, f"{domain.size}", remedy)
    if begins_with_yes(domain.labels):
        first, second = domain.labels
        rule = "must have the answer no first, and then yes"
        remedy = f"Write values = {[str(second), str(first)]}"
        raise ArgumentError("domain", rule, f"{first!r}, {second!r}", remedy)
    return domain
