"""Designs for one group of people: Warner's own, forced response, crosswise and others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from warner._core.checks import integer, kind, show
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner.designs.chances import chance, draw_with
from warner.designs.paper import (
    YES_OR_NO,
    Answers,
    PaperDesign,
    Rules,
    in_days,
    two_answers,
)
from warner.domains import Categorical, Domain

_A = "Question A"
_MOST_DRAWS = 20
_FEWEST_CARDS = 20  # of each pack


class _OfOneChance(PaperDesign):
    """A design of one chance p, for a question with two answers. Abstract."""

    p: Fraction
    _said: ClassVar[tuple[str, str]] = YES_OR_NO

    def __init__(self, p: Fraction | float | str, domain: Domain | None = None) -> None:
        self.p = chance("p", p)
        self.drawn = [self.p]
        super().__init__(two_answers(domain), self._table(), self._said)

    def _table(self) -> list[list[Fraction]]:
        return [[self.p, 1 - self.p], [1 - self.p, self.p]]

    def parameters(self) -> dict[str, Any]:
        return {"p": str(self.p)}


class Warner(_OfOneChance):
    """Warner's design: a draw decides whether a person says the true answer or its opposite.

        Pr(yes | yes) = Pr(no | no) = p,   Pr(yes | no) = Pr(no | yes) = 1 - p

    Args:
        p: the chance of being asked the sensitive statement; otherwise its opposite is asked. A
            Fraction, a float or a text such as ``"5/6"``, above 0 and below 1, and not 1/2.
        domain: two answers, no first; None for "no" and "yes".

    Epsilon is ln(p / (1 - p)), or its negative, and protects both answers. As RRreg's "Warner".

    Raises:
        ArgumentError, ArgumentTypeError: a p that is no such chance, or a domain of other answers.

    Source: Warner (1965).

    >>> design = Warner("5/6")
    >>> design.report_words, design.law.ratio()
    (('no', 'yes'), Fraction(5, 1))
    >>> from warner import Tally, estimate
    >>> result = estimate(Tally.from_counts(design, {"yes": 40, "no": 60}))
    >>> round(result["yes"], 2)
    0.35
    """

    short_name = "warner"
    chance_is_of = "the chance of the sensitive statement, not of its opposite"
    references: ClassVar[tuple[str, ...]] = ("warner1965", "heck2018")

    def _rules(self, question: str | None, by: str | None, answers: Answers) -> Rules:
        no, yes = self.words_on_card(answers)
        draw = draw_with(self.drawn, by)
        steps = (
            f"Read the question: {question or _A}",
            draw.what,
            f"If {draw.when[0]}, give your true answer. If {draw.otherwise}, give the opposite: "
            f'"{no}" for "{yes}", and "{yes}" for "{no}".',
        )
        boxes = ((yes, ""), (no, ""))
        return "Warner's design", steps, boxes, draw.brings


class ForcedResponse(PaperDesign):
    """Forced response: a draw tells some people what to say; all others say the truth.

        Pr(say y | answer x) = f_y + (1 - sum f) [y = x]

    Args:
        yes: the chance of being told to say yes.
        no: the chance of being told to say no.
        answers: of a question with other answers, {answer: the chance of being told to say it}, in
            the order of the answers, in place of ``yes`` and ``no``; or a list of such pairs.
        domain: the answers, where they are not those named: two for ``yes`` and ``no``, no first.

    RRreg's "FR" has these chances as p, in the order of its answers 0, 1, ...: (no, yes).

    Epsilon is the largest ln(1 + (1 - sum f) / f_y). An answer that nobody is told to say is not
    protected: whoever says it has it.

    Raises:
        ArgumentError, ArgumentTypeError: chances that are none, or whose sum is 1 or more.

    Source: Boruch (1971).

    >>> die = ForcedResponse("1/6", "1/6")
    >>> die.law.ratio(), ForcedResponse(yes="1/6", no=0).guarantee.sensitive
    (Fraction(5, 1), ('yes',))
    >>> often = ForcedResponse(answers={"never": "1/10", "sometimes": "3/20", "often": "1/20"})
    >>> often.report_words
    ('never', 'sometimes', 'often')
    """

    short_name = "forced"
    references: ClassVar[tuple[str, ...]] = ("boruch1971", "heck2018")

    def __init__(
        self,
        yes: Fraction | float | str | None = None,
        no: Fraction | float | str | None = None,
        answers: Mapping[Any, Fraction | float | str] | Sequence[tuple[Any, Any]] | None = None,
        domain: Domain | None = None,
    ) -> None:
        if (answers is None) != (yes is not None and no is not None) or (
            answers is not None and (yes is not None or no is not None)
        ):
            rule = "needs either the two arguments yes and no, or answers={answer: chance}"
            remedy = "For example ForcedResponse('1/6', '1/6')"
            raise ArgumentError("ForcedResponse", rule, None, remedy)
        self._named = answers is None
        if answers is None:
            domain = two_answers(domain)
            stated = {"no": no, "yes": yes}
        else:
            try:
                stated = dict(answers)
            except (TypeError, ValueError):
                rule = "must be a dict {answer: chance}"
                raise ArgumentTypeError("answers", rule, kind(answers)) from None
            domain = Categorical(list(stated)) if domain is None else domain
            if list(stated) != domain.labels:
                rule = f"must have the keys {', '.join(map(str, domain.labels))}, in this order"
                raise ArgumentError("answers", rule, ", ".join(map(str, stated)))
        self.chances = [chance(str(word), f, none=True) for word, f in stated.items()]
        truth = 1 - sum(self.chances)
        if truth <= 0:
            rule = "must have a sum below 1, so that some people tell the truth"
            raise ArgumentError("chances", rule, f"a sum of {sum(self.chances)}")
        table = [
            [f + truth * (y == x) for x in range(domain.size)] for y, f in enumerate(self.chances)
        ]
        self.drawn = [f for f in (self.chances[::-1] if self._named else self.chances) if f]
        words = [str(label) for label in domain.labels]
        super().__init__(domain, table, YES_OR_NO if self._named else words)

    def parameters(self) -> dict[str, Any]:
        texts = [str(each) for each in self.chances]
        if self._named:
            return {"yes": texts[1], "no": texts[0]}
        return {"answers": [list(pair) for pair in zip(self.domain.labels, texts, strict=True)]}

    @property
    def means_yes(self) -> Any | None:
        return self.domain.labels[1] if self._named else None

    @property
    def text(self) -> str:
        pairs = list(zip(self.report_words, self.chances, strict=True))
        pairs = pairs[::-1] if self._named else pairs
        return f"{self.short_name}:{','.join(f'{word}={in_days(each)}' for word, each in pairs)}"

    def _rules(self, question: str | None, by: str | None, answers: Answers) -> Rules:
        words = self.words_on_card(answers)
        order = list(zip(words, self.chances, strict=True))
        instructed = [word for word, f in (order[::-1] if self._named else order) if f]
        draw = draw_with(self.drawn, by)
        rules = [
            f'If {when}, your box is "{word}", whatever the truth is.'
            for word, when in zip(instructed, draw.when, strict=True)
        ]
        steps = (
            f"Read the question: {question or _A}",
            draw.what,
            *rules,
            f"If {draw.otherwise}, your box is your true answer.",
        )
        boxes = tuple((word, "") for word in (words[::-1] if self._named else words))
        return "Forced response", steps, boxes, draw.brings


class _TwoQuestions(_OfOneChance):
    """The sensitive question and another one, whose answers are told together. Abstract."""

    references: ClassVar[tuple[str, ...]] = ("yu2008", "heck2018")
    boxes: ClassVar[tuple[tuple[str, str], ...]]

    def _rules(self, question: str | None, by: str | None, answers: Answers) -> Rules:
        draw = draw_with(self.drawn, by)
        steps = (
            f"Question A: {question or 'the sensitive question'}",
            f"{draw.what} Question B (only you know it): {draw.asked}",
            "Answer both questions in your mind. Tell nobody what the two answers are.",
        )
        title = f"{type(self).__name__} model"
        return title, steps, self.boxes, draw.brings


class Crosswise(_TwoQuestions):
    """The crosswise model: whether the answers to two questions are the same or different.

        Pr(same | yes) = Pr(different | no) = p,   Pr(same | no) = Pr(different | yes) = 1 - p

    The second question asks about something that nobody here knows, such as a birthday or a toss.

    Args:
        p: the chance of yes to the second question, above 0 and below 1, and not 1/2.
        domain: two answers to the first question, no first; None for "no" and "yes".

    The reports "A" and "B" are read too: A for same, B for different. As RRreg's "Crosswise", whose
    1 is "same". Epsilon is ln(p / (1 - p)), or its negative, and protects both answers.

    Raises:
        ArgumentError, ArgumentTypeError: a p that is no such chance, or a domain of other answers.

    Source: Yu, Tian and Tang (2008).

    >>> from warner import Tally, estimate
    >>> said = Tally.from_counts(Crosswise("1/4"), {"same": 680, "different": 320})
    >>> round(estimate(said)["yes"], 4)
    0.14
    """

    short_name = "crosswise"
    chance_is_of = "the chance of yes to question B, such as a birthday in some months"
    boxes = (
        ("A, same", "yes to both questions, or no to both"),
        ("B, different", "yes to one question, no to the other"),
    )
    reads_as: ClassVar[Mapping[str, int]] = {"A": 1, "B": 0}

    _said = ("different", "same")


class Triangular(_TwoQuestions):
    """The triangular model: whether the answer to at least one of two questions is yes.

        Pr(either | yes) = 1,   Pr(either | no) = p,   Pr(neither | no) = 1 - p

    Args:
        p: the chance of yes to the second question, about something that nobody here knows.
        domain: two answers to the first question, no first; None for "no" and "yes".

    The reports "A" and "B" are read too: A for neither, B for either. As RRreg's "Triangular",
    whose 1 is "either". The design protects the answer yes with epsilon ln(1 / p). The report
    "neither" shows the answer no.

    Raises:
        ArgumentError, ArgumentTypeError: a p that is no chance above 0 and below 1, or a domain of
            other answers.

    Source: Yu, Tian and Tang (2008).

    >>> design = Triangular("1/4")
    >>> design.report_words, design.guarantee.sensitive, design.law.ratio()
    (('neither', 'either'), ('yes',), Fraction(4, 1))
    """

    short_name = "triangular"
    boxes = (
        ("A, neither", "no to both questions"),
        ("B, either", "yes to one question, or to both"),
    )
    reads_as: ClassVar[Mapping[str, int]] = {"A": 0, "B": 1}

    _said = ("neither", "either")

    def _table(self) -> list[list[Fraction]]:
        return [[1 - self.p, Fraction(0)], [self.p, Fraction(1)]]


class Unrelated(PaperDesign):
    """The unrelated question, of known share: a draw decides which of two questions is answered.

        Pr(yes | yes) = p + (1 - p) q,   Pr(yes | no) = (1 - p) q

    Args:
        p: the chance of being asked the sensitive question.
        q: the share of people whose answer to the unrelated question is yes, which is known.
        domain: two answers to the sensitive question, no first; None for "no" and "yes".

    As RRreg's "UQTknown", whose p is (p, q). Epsilon is the larger of ln(1 + p / ((1 - p) q)) and
    ln(1 + p / ((1 - p) (1 - q))), and protects both answers.

    Raises:
        ArgumentError, ArgumentTypeError: p or q that is no chance above 0 and below 1, or a domain
            of other answers.

    Source: Greenberg, Abul-Ela, Simmons and Horvitz (1969).

    >>> from warner import Tally, estimate
    >>> said = Tally.from_counts(Unrelated(0.7, 0.2), {"yes": 358, "no": 1142})
    >>> round(estimate(said)["yes"], 4)
    0.2552
    """

    short_name = "unrelated"
    references: ClassVar[tuple[str, ...]] = ("greenberg1969", "heck2018")

    def __init__(
        self,
        p: Fraction | float | str,
        q: Fraction | float | str,
        domain: Domain | None = None,
    ) -> None:
        self.p, self.q = chance("p", p), chance("q", q)
        self.drawn = [self.p]
        yes = (1 - self.p) * self.q
        table = [[1 - yes, 1 - yes - self.p], [yes, yes + self.p]]
        super().__init__(two_answers(domain), table, YES_OR_NO)

    def parameters(self) -> dict[str, Any]:
        return {"p": str(self.p), "q": str(self.q)}

    def _rules(self, question: str | None, by: str | None, answers: Answers) -> Rules:
        no, yes = self.words_on_card(answers)
        draw, other = draw_with(self.drawn, by), draw_with([self.q])
        if draw.is_birthday and other.is_birthday:
            draw = draw.of_another()
        again = " this time" if draw.what == other.what else ""
        steps = (
            f"Question A: {question or 'the sensitive question'}",
            f"{other.what} Question B (only you know it): {other.asked}",
            draw.after("Whatever you got before, now"),
            f"If {draw.when[0]}{again}, answer question A. If {draw.otherwise}, answer question B. "
            "Tell nobody which question you answer.",
        )
        brings = draw.brings if draw.brings == other.brings else f"{draw.brings} {other.brings}"
        brings += (
            " Question B is already printed. You can replace it in every copy with another "
            f"question. Nobody but the person may know the answer, and you must know that {self.q} "
            "of all people say yes."
        )
        boxes = ((yes, ""), (no, ""))
        return "Unrelated question", steps, boxes, brings


class Kuk(PaperDesign):
    """Kuk's design: a person draws cards from one of two packs, and tells the colours alone.

        Pr(r red of n | yes) = Binomial(n, a),   Pr(r red of n | no) = Binomial(n, b)

    Args:
        a: the share of red cards in the pack of people whose answer is yes.
        b: the share of red cards in the pack of people whose answer is no.
        draws: n, how often a card is drawn and put back, 1 to 20.
        domain: two answers, no first; None for "no" and "yes".

    With one draw a report is "red" or "black"; with several it is the number of red cards, 0 to n.
    As RRreg's "Kuk", whose p is (a, b) and whose Kukrep is n. RRreg estimates from the mean number
    of red cards; the likelihood of all numbers, which is used here, has smaller errors. Epsilon is
    n times the larger of |ln(a / b)| and |ln((1 - a) / (1 - b))|.

    Raises:
        ArgumentError, ArgumentTypeError: a or b that is no chance, a pack that shows the answer
            yes, or equal packs.

    Source: Kuk (1990).

    >>> Kuk(0.8, 0.25).report_words, Kuk("4/5", "1/4", draws=2).report_words
    (('black', 'red'), ('0', '1', '2'))
    """

    short_name = "kuk"
    references: ClassVar[tuple[str, ...]] = ("kuk1990", "heck2018")

    def __init__(
        self,
        a: Fraction | float | str,
        b: Fraction | float | str,
        draws: int = 1,
        domain: Domain | None = None,
    ) -> None:
        ends = {"none": True, "certain": True}
        self.a, self.b = chance("a", a, **ends), chance("b", b, **ends)
        self.draws = n = integer("draws", draws, 1, _MOST_DRAWS)
        table = [
            [math.comb(n, r) * red**r * (1 - red) ** (n - r) for red in (self.b, self.a)]
            for r in range(n + 1)
        ]
        words = ("black", "red") if n == 1 else tuple(map(str, range(n + 1)))
        super().__init__(two_answers(domain), table, words)

    def parameters(self) -> dict[str, Any]:
        return {"a": str(self.a), "b": str(self.b), "draws": self.draws}

    def _rules(self, question: str | None, by: str | None, answers: Answers) -> Rules:
        if by not in (None, "cards"):
            raise ArgumentError(
                "by", "must be 'cards', because Kuk's design has two packs of cards", show(by)
            )
        no, yes = answers or YES_OR_NO
        least = math.lcm(self.a.denominator, self.b.denominator)
        size = least * math.ceil(_FEWEST_CARDS / least)
        packs = " ".join(
            f"Pack {i}: {red * size} red cards and {(1 - red) * size} black."
            for i, red in enumerate((self.a, self.b), 1)
        )
        again = "Look at the card, so that nobody else sees it, and put it back."
        if self.draws > 1:
            again += f" Do this {self.draws} times with the same pack, and count the red cards."
        steps = (
            f"Read the question: {question or _A}",
            f'If your true answer is "{yes}", draw a card from pack 1. If it is "{no}", draw it '
            f"from pack 2. Let nobody see which pack you use. {again}",
        )
        boxes = (
            (("red", "the card was red"), ("black", "the card was black"))
            if self.draws == 1
            else tuple(
                (word, f"{word if r else 'no'} red card{'s' if r > 1 else ''}")
                for r, word in enumerate(self.report_words)
            )
        )
        brings = (
            f"{packs} Shuffle each pack. Both packs have {size} cards, and all cards have the same "
            "back, so that nobody can tell which pack a card is from."
        )
        return "Kuk's design", steps, boxes, brings


class Mangat(_OfOneChance):
    """Mangat's design: yes is said by all whose answer it is; others say no with a chance.

        Pr(say yes | yes) = 1,   Pr(say no | no) = p,   Pr(say yes | no) = 1 - p

    Args:
        p: the chance that a person whose answer is no says so; otherwise the person says yes.
        domain: two answers, no first; None for "no" and "yes".

    As RRreg's "Mangat". The design protects the answer yes with epsilon ln(1 / (1 - p)). The report
    "no" shows the answer no.

    Raises:
        ArgumentError, ArgumentTypeError: a p that is no chance above 0 and below 1, or a domain of
            other answers.

    Source: Mangat (1994).

    >>> from warner import Tally, estimate
    >>> said = Tally.from_counts(Mangat(0.6), {"yes": 871, "no": 629})
    >>> round(estimate(said)["yes"], 4)
    0.3011
    """

    short_name = "mangat"
    references: ClassVar[tuple[str, ...]] = ("mangat1994", "heck2018")

    def _table(self) -> list[list[Fraction]]:
        return [[self.p, Fraction(0)], [1 - self.p, Fraction(1)]]

    def _rules(self, question: str | None, by: str | None, answers: Answers) -> Rules:
        no, yes = self.words_on_card(answers)
        draw = draw_with(self.drawn, by)
        steps = (
            f"Read the question: {question or _A}",
            draw.after("Whatever your answer is,"),
            f'If your true answer is "{yes}", your box is "{yes}".',
            f'If your true answer is "{no}": your box is "{no}" if {draw.when[0]}; it is "{yes}" '
            f"if {draw.otherwise}.",
        )
        boxes = ((yes, ""), (no, ""))
        return "Mangat's design", steps, boxes, draw.brings
