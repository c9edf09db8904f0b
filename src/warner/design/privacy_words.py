"""Privacy in plain words: odds from the law that was sampled, for one question and for all."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from warner._core.errors import ArgumentError, WarnerError
from warner._core.text import at_most, of_hundred
from warner.designs.paper import PaperDesign
from warner.domains import Items
from warner.mechanisms import HiddenQuestion, Mechanism, OneOf, Optimal
from warner.privacy.guarantees import Guarantee, side_by_side
from warner.privacy.report_laws import INFINITE, worst_pair
from warner.results.tables import name_of

_READABLE = 40  # nats; beyond, odds are no numbers to read
_TOO_RARE = 0.1  # a report that fewer people send is no example
_NEARLY = 1e-9  # between ratios that differ by the rounding of realised chances


OPEN_TO_ALL = (
    "Everyone who has the web address can answer. So a person can send several reports, and each "
    "report counts. With invitation codes, each code counts once."
)
"""What is said of a survey that invites nobody."""

CHANGED_ALIKE = (
    "Reports can show in which rounds an answer changed. So this limit is for two people whose "
    "answers changed in the same rounds."
)
"""What is said of all reports of a person where devices keep permanent reports."""


def about_public(columns: Sequence[str]) -> str:
    """What is said of public columns, which nothing hides.

    >>> about_public(["ward"]).partition(". ")[2]
    'Whoever sees a report can read its public columns: ward.'
    """
    return (
        "Public columns are not protected. Whoever sees a report can read its public columns: "
        f"{', '.join(columns)}."
    )


STRONG_ODDS = 19
"""Odds up to which nobody is more than 95 % sure of one of two answers, as in :class:`Strength`."""


class Strength(IntEnum):
    """How well a guarantee hides an answer, by the odds of the two answers that it hides least.

    STRONG: odds of at most 19, so somebody who held two answers to be equally likely is afterwards
    at most 95 % sure of one of them, and a page may say that nobody can be sure. WEAK: odds of at
    most 22,027, a little above e^10; or a delta, because a rare report can then tell everything.
    NONE: odds above that. Answers are hardly hidden, and a survey is served only if its study says
    so. `promisesOf` of warner.js draws the same lines, with the same slack for rounded sums.
    """

    STRONG = 0
    WEAK = 1
    NONE = 2


_SLACK = 1 + 1e-9
_STRONG_NATS, _MOST_NATS = math.log(STRONG_ODDS) * _SLACK, math.log(22027) * _SLACK


def strength(promised: Guarantee) -> Strength:
    """How well a guarantee hides the answers that it protects.

    >>> from warner.privacy import LDP, MetricLDP
    >>> strength(LDP(1.0)).name, strength(LDP(10.0)).name, strength(MetricLDP(1.0, 200.0)).name
    ('STRONG', 'WEAK', 'NONE')
    """
    if promised.total > _MOST_NATS:
        return Strength.NONE
    is_strong = promised.total <= _STRONG_NATS and promised.delta is None
    return Strength.STRONG if is_strong else Strength.WEAK


def odds(epsilon: float) -> str:
    """What an epsilon bounds, as a ratio of probabilities, rounded up.

    >>> odds(1.0), odds(math.inf)
    ('2.72 times', 'any number of times')
    """
    return f"{at_most(math.exp(epsilon))} times" if epsilon <= _READABLE else "any number of times"


def certainty(epsilon: float, delta: float = 0.0) -> str:
    r"""How sure somebody can be afterwards who held two answers to be equally likely, rounded up.

        (e^epsilon + delta) / (1 + e^epsilon)

    With a delta, it is how often the best guess between the two answers is right, before the report
    is known: Pr(right) = (1 + TV) / 2 with TV <= (e^epsilon - 1 + 2 delta) / (e^epsilon + 1). A
    single report can then tell more.

    >>> certainty(1.0), certainty(3.0), certainty(math.inf), certainty(1.0, 0.01)
    ('73.2\xa0%', '95.3\xa0%', '100\xa0%', '73.4\xa0%')
    """
    if epsilon > _READABLE or delta >= 1:
        return "100\N{NO-BREAK SPACE}%"
    doubt = 100 * (1 - delta) / (1 + math.exp(epsilon))
    decimals = max(1, math.ceil(-math.log10(doubt)) + 1)
    sure = math.ceil((100 - doubt) * 10**decimals - 1e-6) / 10**decimals
    return f"{min(sure, 100.0):.{decimals}f}\N{NO-BREAK SPACE}%"


def of_mechanism(mechanism: Mechanism) -> list[str]:
    """What one report tells of one answer, as sentences."""
    promised = mechanism.guarantee
    if math.isinf(promised.total):
        return ["Answers were sent without protection: a report shows the answer."]
    return [*_example(mechanism), *of_guarantee(promised, "a report")]


_MOST_PATTERNS = 6  # that are shown as dots
_DOTS = str.maketrans("e1-", "●○·")


def dots_of(mechanism: Optimal, report: int) -> str:
    """A report as a row of dots, one for each answer: ● sends it most, ○ less, · never."""
    row = mechanism.rows[report]
    return (row if "e" in row else row.replace("1", "e")).translate(_DOTS)


def patterns_of(mechanism: Mechanism, name: str = "") -> list[str]:
    """The reports of an Optimal that are sent most, each a row of dots, as lines; else none.

    >>> from warner import Integers, Optimal
    >>> print(*patterns_of(Optimal(Integers(1, 2), 1.0)), sep="\\n")
    A report is one of 2 sets of answers. In each set below, a dot stands for an
    answer, from 1 to 2. People whose answer has ● send the set 2.72 times as
    often as people whose answer has ○:
      ●○  73 of 100 people with ● send it
      ○●  73 of 100 people with ● send it
    """
    if not isinstance(mechanism, Optimal):
        return []
    table = mechanism.probabilities().astype(float)
    labels = mechanism.domain.labels
    factor = f"{math.exp(mechanism.epsilon):.3g}"
    lines = textwrap.wrap(
        f"{name and name + ': '}A report is one of {len(table)} sets of answers. In each set "
        f"below, a dot stands for an answer, from {labels[0]} to {labels[-1]}. People whose answer "
        f"has ● send the set {factor} times as often as people whose answer has ○:",
        78,
    )
    order = np.argsort(-table.mean(axis=1), kind="stable")
    for i in order[:_MOST_PATTERNS]:
        sent = of_hundred(float(table[i].max()))
        lines.append(f"  {dots_of(mechanism, i)}  {sent} of 100 people with ● send it")
    if len(table) > _MOST_PATTERNS:
        most = of_hundred(float(table[order[_MOST_PATTERNS:]].max()))
        lines.append(
            f"  and {len(table) - _MOST_PATTERNS} more sets, each sent by at most {most} of 100 "
            "people"
        )
    return lines


def about_draw(mechanism: OneOf | HiddenQuestion, name: str = "") -> str:
    """How it is drawn what a person is asked, and what that spends, in a sentence.

    Args:
        mechanism: of the question ``name``, where it draws items of one question.
    """
    sizes = set(map(len, mechanism.blocks))
    if isinstance(mechanism.domain, Items):
        count = f"{len(mechanism.blocks):,}"
        drawn = f"{count} pairs of its items" if max(sizes) > 1 else f"its {count} items"
        return (
            f"{name}: each person is asked about one of {drawn}, chosen "
            "by chance and not by the answers. The whole epsilon of the question is spent on this "
            f"{'pair' if max(sizes) > 1 else 'item'}."
        )
    kind = {1: "questions", 2: "pairs of questions"}.get(max(sizes), "sets of questions")
    kind = kind if len(sizes) == 1 else "sets of questions"
    what = f"{len(mechanism.blocks):,} {kind}"
    if isinstance(mechanism, HiddenQuestion):
        return (
            f"Each person answers one of {what}, chosen by chance and not by the answers. The "
            f"other {kind} get random answers, and nobody sees which answer is true. The total "
            "epsilon is for all answers together. Between two people who differ in only one "
            f"answer, epsilon is {mechanism.epsilon_of_one_answer:.3g}. Hiding has a price: for "
            f"the same precision, it needs about {mechanism.cost:.3g} times as many people."
        )
    if mechanism.permanent:
        return (
            f"Each device draws one of {what} once and for good, by chance and not by the answers. "
            "It reports only on what it drew, in all rounds. So all its rounds together spend at "
            "most the largest epsilon of a question, not the sum. If a device loses what it keeps, "
            "it draws again, and spends as much once more. Each further device of a person also "
            "spends as much."
            f"{_unequal(mechanism, kind)}"
        )
    return (
        f"Each person is asked one of {what}, chosen by chance and not by the answers. The whole "
        "epsilon is spent on what the person is asked, so the total is the largest epsilon, not "
        "the sum."
        f"{_unequal(mechanism, kind)}"
    )


_NEARLY_EQUAL = 1.1  # the ratio of two odds that are not worth a sentence


def _unequal(mechanism: OneOf, kind: str) -> str:
    """How many of 100 people are asked each block, where these are not nearly equal."""
    least, most = (100 * end(mechanism.odds) / 2**64 for end in (min, max))
    if most < _NEARLY_EQUAL * least:
        return ""
    return (
        f" Some {kind} are chosen more often than others: the rarest for about "
        f"{least:.2g} of 100 people, and the most frequent for about {most:.2g} of 100."
    )


def of_guarantee(promised: Guarantee, seen: str, several: bool = False) -> list[str]:
    r"""What a guarantee bounds, as sentences for people who do not know what odds are.

    >>> from warner.privacy import LDP
    >>> said = of_guarantee(LDP(math.log(3)), "a report")
    >>> print(textwrap.fill(said[0].replace("\N{NO-BREAK SPACE}", " "), 80))
    Somebody who thought two answers equally likely, and then sees a report, can be
    at most 75.0 % sure of one of the answers.
    """
    total = promised.total
    if math.isinf(total):
        return [f"Somebody who sees {seen} sees the answer{'s' * several}: there is no protection."]
    things = "sets of answers" if several else "answers"
    who, then = "Somebody who thought", f"equally likely, and then sees {seen},"
    one, sure = f"one of the {'sets' if several else 'answers'}", certainty(total)
    before = f"{who} two {things} {then}"
    if promised.sensitive is not None:
        protected = f"{len(promised.sensitive)} sensitive answer"
        protected += "" if len(promised.sensitive) == 1 else "s"
        if several:
            return [
                "People are protected only if they give a sensitive answer to each question that "
                f"has sensitive answers ({protected} in all). {who} sensitive answers and any "
                f"other answers {then} can be at most {sure} sure of the sensitive ones. A report "
                "can reveal answers that are not sensitive."
            ]
        whose = f"one of the {protected}" if len(promised.sensitive) > 1 else f"the {protected}"
        return [
            f"Only people with {whose} are protected. {who} a sensitive "
            f"answer and another answer {then} can be at most {sure} sure of the sensitive one. "
            "A report can reveal an answer that is not sensitive."
        ]
    if promised.is_metric:
        far = (
            f"For the two answers that are farthest apart, somebody can be at most {sure} sure."
            if strength(promised) < Strength.NONE
            else "The two answers farthest apart are not hidden from each other."
        )
        return [
            "The closer two answers are, the better they are hidden from each other. "
            f"{who} two {things} that are 1 unit apart {then} can be at most "
            f"{certainty(promised.epsilon)} sure of {one}. {far}"
        ]
    if strength(promised) is Strength.NONE:
        return [
            f"{before} can be more than 99.99\N{NO-BREAK SPACE}% sure of {one}. That is hardly "
            "any protection."
        ]
    if promised.delta is not None:
        return [
            f"{before} and guesses one of the two, is right in at most "
            f"{certainty(total, promised.delta)} of all cases. In rare cases, somebody can be "
            "much surer."
        ]
    return [f"{before} can be at most {sure} sure of {one}."]


def in_numbers(mechanism: Mechanism) -> tuple[str, ...] | None:
    """Of 100 people, who sends the report of the example, and how sure a report can make somebody.

    The second number is the one of :func:`of_guarantee`. None where it needs more words.

    >>> from warner import Categorical, RandomizedResponse
    >>> print(in_numbers(RandomizedResponse(Categorical(["no", "yes"]), 1.0))[0])
    73 with “yes” and 27 with “no” send “yes”
    """
    promised = mechanism.guarantee
    is_partial = promised.sensitive is not None or promised.is_metric
    if is_partial or promised.delta is not None or strength(promised) is Strength.NONE:
        return None
    example, sends = example_of(mechanism), ""
    if example is not None:
        first, second = map(of_hundred, (example.sent, example.sent_by_other))
        both = f"{first} with {quoted(example.answer)} and {second} with {quoted(example.other)}"
        sends = f"{both} {example.act}"
    return sends, f"{certainty(promised.total)}\N{NO-BREAK SPACE}sure"


class Example(NamedTuple):
    """The report that tells two answers apart most, and how often each answer sends it."""

    answer: str  # the answer for which the report speaks
    other: str
    sent: float  # the probability that ``answer`` sends the report
    sent_by_other: float  # the same of ``other``
    box: str | None  # the word of a card for paper that is ticked; None where reports are sent
    is_value: bool  # whether reports are values, so that this one is ``answer``
    is_one_of_two: bool  # whether there are two reports

    @property
    def act(self) -> str:
        """What people do who send the report: the same words for both answers."""
        if self.box is not None:
            return f"tick {quoted(self.box)}"
        if self.is_value:
            return f"send {quoted(self.answer)}"
        first, second = quoted(self.answer), quoted(self.other)
        return f"send a report that points most to {first} and away from {second}"

    def in_words_of(self, texts: Mapping[str, str]) -> Example:
        """The example with the texts of answers, {value: text}, in place of the values."""
        answer, other = (texts.get(each, each) for each in (self.answer, self.other))
        return self._replace(answer=answer, other=other)

    def sentences(self) -> list[str]:
        """How many of 100 people with each of the two answers send the report."""
        pairs = ((self.answer, self.sent), (self.other, self.sent_by_other))
        return [
            f"Of 100 people whose answer is {quoted(answer)}, {of_hundred(sent)} {self.act}."
            for answer, sent in pairs
        ]

    def conclusions(self) -> list[str]:
        """What somebody can conclude who thought both answers equally likely."""
        seen, another = "this report", "the other report"
        if self.box is not None:
            seen, another = f"{quoted(self.box)} ticked", "the other box ticked"
        pairs = [(self.answer, self.other, self.sent, self.sent_by_other, seen)]
        if self.is_one_of_two:
            unsent, unsent_by_other = 1 - self.sent, 1 - self.sent_by_other
            pairs.append((self.other, self.answer, unsent_by_other, unsent, another))
        who, sentences = "Somebody who thought both answers equally likely, and then sees", []
        for answer, other, high, low, seen in pairs:
            if low <= 0:
                sentences.append(f"{who} {seen}, knows that the answer is not {quoted(other)}.")
            else:
                ratio = math.log(high / low)
                sentences.append(
                    f"{who} {seen}, is then at most {certainty(ratio)} sure of {quoted(answer)}: "
                    f"the odds are at most {at_most(high / low)} to 1."
                )
            who = "Somebody who sees"
        return sentences


def example_of(mechanism: Mechanism) -> Example | None:
    """The report that tells two answers apart most; None where none is listed.

    Where several reports tell the two answers apart equally well, it is any of them. Metric privacy
    has no such pair: the two most distant answers are hidden least. Of sensitive answers only, a
    design for paper with two reports has an example, and its second report is said to show an
    answer.

    >>> from warner import Categorical, RandomizedResponse
    >>> example = example_of(RandomizedResponse(Categorical(["no", "yes"]), 1.0))
    >>> print(*example.sentences(), sep="\\n")
    Of 100 people whose answer is “yes”, 73 send “yes”.
    Of 100 people whose answer is “no”, 27 send “yes”.
    """
    promised, words = mechanism.guarantee, None
    if isinstance(mechanism, PaperDesign):
        words = mechanism.report_words
    is_partial = promised.sensitive is not None and (words is None or len(words) > 2)
    if is_partial or promised.is_metric or promised.delta is not None:
        return None
    answers = mechanism.domain.answered
    if mechanism.takers or not mechanism.is_enumerable or answers.points is not None:
        return None  # of several questions, people do not think as of one answer
    # Backwards, so that of "no" and "yes", which are alike, "yes" is the example.
    table = np.asarray(mechanism.probabilities())[::-1, : answers.size][:, ::-1]
    labels = [name_of(label) for label in reversed(answers.labels)]
    mask = np.ones(len(labels), dtype=bool)
    if promised.sensitive is not None:
        mask = np.array([label in set(map(name_of, promised.sensitive)) for label in labels])
    best = worst_pair(table, mask).ratio
    for likely in np.flatnonzero(mask):  # the first answer for which a report speaks most
        mask = np.arange(len(labels)) == likely
        worst = worst_pair(table, mask)
        if worst.ratio == best or INFINITE != best <= worst.ratio * (1 + _NEARLY):
            break
    high, low = table[:, worst.likely], table[:, worst.unlikely]
    alike = _as_telling(high, low)
    if words is not None:  # a box that is ticked is one
        alike = np.arange(len(table)) == worst.report
    sent, by_other = (float(sum(each[alike])) for each in (high, low))
    if sent < _TOO_RARE:
        return None
    box = None if words is None else words[::-1][worst.report]
    is_value = mechanism.schema.rows_are_reports and mechanism.channel().reports_are_values
    first, second = labels[worst.likely], labels[worst.unlikely]
    return Example(first, second, sent, by_other, box, is_value, len(table) == 2)


def _as_telling(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Which reports (m,) tell two answers apart as well as the report that does so best."""
    ruled_out = np.asarray((low == 0) & (high > 0))
    if ruled_out.any():
        return ruled_out
    ratios = [float(x / z) if z else 0.0 for x, z in zip(high, low, strict=True)]
    return np.array([ratio * (1 + _NEARLY) >= max(ratios) for ratio in ratios])


def _example(mechanism: Mechanism) -> list[str]:
    """The example as a sentence about numbers of people; [] where there is none."""
    example = example_of(mechanism)
    if example is None:
        return []
    (first, _), by_other = example.sentences(), of_hundred(example.sent_by_other)
    return [
        f"{first} Of 100 people whose answer is {quoted(example.other)}, {by_other} do the same."
    ]


def quoted(label: str) -> str:
    return f"\N{LEFT DOUBLE QUOTATION MARK}{label}\N{RIGHT DOUBLE QUOTATION MARK}"


def of_a_person(
    mechanisms: Mapping[str, Mechanism], reports_per_person: int, rounds: int
) -> tuple[Guarantee | None, Guarantee | None]:
    """The guarantee of all reports of a person, and that of several rounds of the whole survey."""
    try:
        once, several = (
            side_by_side({name: m.of_reports(reports) for name, m in mechanisms.items()})
            for reports in (reports_per_person, reports_per_person * rounds)
        )
        return once, several
    except WarnerError:
        return None, None


def largest(guarantees: Sequence[Guarantee]) -> Guarantee:
    """The guarantee with the largest epsilon between any two answers."""
    return max(guarantees, key=lambda guarantee: guarantee.total)


# -----------------------------------------------------------------------------------------------
# What epsilon means in odds, from the probabilities that a mechanism realises.

_LARGEST_EXPONENT = 700.0  # nats, whose exponential is a float
_MOST_LISTED = 2**12  # probabilities, which are exact fractions


@dataclass(frozen=True)
class Odds:
    """How much surer of an answer one report can make somebody who sees it."""

    epsilon: float  # the realised epsilon in nats, of any two values
    factor: float  # by how much the odds of two answers can change, e^epsilon
    # The two answers that a report tells apart best; None where the reports are too many to list.
    answer: Any = None
    other: Any = None
    # Of 100 people with ``answer``, those who send that report; None as above.
    sent: float | None = None
    # Of 100 people with ``other``, those who send it; None as above.
    sent_by_other: float | None = None
    delta: float = 0.0  # of approximate privacy; 0 otherwise
    # Whether this holds for sensitive answers only. A report can show others.
    of_sensitive: bool = False

    def surer(self, before: float = 0.5) -> float:
        """The largest probability of an answer after a report was seen.

            odds after = factor * odds before

        With a delta a rare report can tell more. Then it is the probability that the best guess
        between this answer, held to be the likelier one, and another is right,

            Pr(right) <= after + delta (1 - after)   for equally likely answers.

        Shapes: before (0, 1).

        >>> round(Odds(1.0, math.exp(1)).surer(), 3)
        0.731
        """
        odds = self.factor * before / (1 - before)
        after = 1.0 if math.isinf(odds) else odds / (1 + odds)
        return after + self.delta * (1 - after)

    def of_all(self, times: int) -> Odds:
        """The odds of several reports of one person together, without an example."""
        if times == 1:
            return self
        total = self.epsilon * times
        factor = math.exp(total) if total < _LARGEST_EXPONENT else math.inf
        delta = min(1.0, self.delta * times)
        return Odds(total, factor, delta=delta, of_sensitive=self.of_sensitive)

    def row(self) -> dict[str, Any]:
        """The odds as a dict of JSON data."""
        return {**vars(self), "surer_from_half": self.surer()}


def odds_of(mechanism: Mechanism) -> Odds:
    """The odds of a mechanism, from its realised law.

    With sensitive values only they are protected, and the odds are of reports that a sensitive
    value can make.

    >>> from warner import Categorical, RandomizedResponse
    >>> odds = odds_of(RandomizedResponse(Categorical(["no", "yes"]), 1.0))
    >>> round(odds.factor, 3), odds.answer, round(odds.sent), round(odds.sent_by_other)
    (2.718, 'no', 73, 27)
    """
    promised, mask = mechanism.guarantee.between_any_values(), mechanism.sensitive_mask
    epsilon = promised.epsilon
    factor = math.exp(epsilon) if epsilon < _LARGEST_EXPONENT else math.inf
    of_sensitive = mask is not None and not bool(mask.all())
    bound = Odds(epsilon, factor, delta=promised.delta or 0.0, of_sensitive=of_sensitive)
    if not mechanism.is_enumerable or mechanism.n_reports * mechanism.domain.size > _MOST_LISTED:
        return bound
    try:
        table = mechanism.probabilities()[mechanism.protected()]
    except ArgumentError:
        return bound
    worst = worst_pair(table, mask)
    if worst.ratio in (INFINITE, 1) or bound.delta:
        return bound
    sent, by_other = (100 * float(table[worst.report, x]) for x in (worst.likely, worst.unlikely))
    labels = mechanism.domain.labels
    answer, other = labels[worst.likely], labels[worst.unlikely]
    return replace(bound, answer=answer, other=other, sent=sent, sent_by_other=by_other)
