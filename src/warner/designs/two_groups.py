"""Designs of two groups, whose second card tells apart what a single card confounds.

Each design is declared by the classes of its people and what each class reports; see
:mod:`warner.designs.latent_classes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from warner._core.checks import show, unknown
from warner._core.errors import ArgumentError
from warner.designs.chances import chance
from warner.designs.latent_classes import GroupLaw, LatentClasses, ShareOf
from warner.designs.list_experiment import ListExperiment
from warner.designs.texts import EXAMPLES_OF_GROUPS, name_of, stated_in

_YES_OR_NO = ("no", "yes")
_ONE = Fraction(1)


class _TwoGroups(LatentClasses):
    """A design of two groups, which is repeated by its chances."""

    _chances: tuple[Fraction, ...]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self._chances))})"


def _law(words: tuple[str, str], second: Sequence[Fraction]) -> GroupLaw:
    """The law of two reports, from the chance of the second of them in each class."""
    chances = tuple(map(Fraction, second))
    return GroupLaw(words, (tuple(_ONE - each for each in chances), chances))


def _different(first: Any, second: Any, what: str = "p1 and p2") -> None:
    """Refuse two groups with the same card."""
    if first == second:
        rule = (
            "must differ between the groups, because two groups with the same card show no more "
            "than one group"
        )
        raise ArgumentError(
            what, rule, f"{first} in both groups", "Use chances such as 1/4 and 3/4"
        )


class SymmetricCheating(_TwoGroups):
    """Cheating detection where the card can tell both to say yes and to say no.

        Pr(yes | group g) = pi (1 - no_g) + beta yes_g,   pi + beta + gamma = 1

    People who are told to say yes, with the chance yes_g, or no, with the chance no_g, do so; the
    others say the truth. Of pi people the truth is yes and of beta it is no. Cheaters, of whom
    there are gamma, say no whatever they are told.

    Args:
        yes1, no1: the chances of being told to say yes and no in the first group.
        yes2, no2: those in the second group.

    The shares are ``"yes"`` for pi, ``"no"`` for beta and ``"cheats"`` for gamma. RRreg's ``p`` of
    its model CDMsym are the four chances in this order.

    Raises:
        ArgumentError: chances outside [0, 1), or whose sum in a group is not below 1.
        IdentifiabilityError: two cards that do not tell the three classes apart.

    Source: Ostapczuk, Moshagen, Zhao and Musch (2009).

    >>> design = SymmetricCheating("2/5", "1/10", "3/20", "7/20")
    >>> result = design.estimate([{"yes": 491, "no": 509}, {"yes": 275, "no": 725}])
    >>> round(result["yes"], 4), round(result["cheats"], 3)
    (0.2908, 0.136)
    """

    references: tuple[str, ...] = ("clark1998", "ostapczuk2009")

    _chances: tuple[Fraction, ...]

    def __init__(self, yes1: Any, no1: Any, yes2: Any, no2: Any) -> None:
        names, given = ("yes1", "no1", "yes2", "no2"), (yes1, no1, yes2, no2)
        self._chances = tuple(
            chance(name, value, none=True) for name, value in zip(names, given, strict=True)
        )
        cards = self._chances[:2], self._chances[2:]
        for g, (yes, no) in enumerate(cards, 1):
            if yes + no >= 1:
                rule = "must have a sum below 1, so that some people tell the truth"
                raise ArgumentError(f"yes{g} and no{g}", rule, f"{yes} + {no}")
        _different(*cards, "the cards of both groups")
        super().__init__(
            ("no", "yes", "cheats"),
            ("no", "yes", None),
            [_law(_YES_OR_NO, (yes, 1 - no, Fraction(0))) for yes, no in cards],
            {
                "yes": ShareOf(("yes",), "have the true answer yes, and follow the card"),
                "no": ShareOf(("no",), "have the true answer no, and follow the card"),
                "cheats": ShareOf(("cheats",), "say no whatever the card says"),
            },
            "The true answers of people who cheat are not known. So the share of people whose "
            "answer is yes lies between the share 'yes' and the sum of the shares 'yes' and "
            "'cheats'.",
        )


class Cheating(SymmetricCheating):
    """Cheating detection: a card tells some people to say yes, and cheaters say no all the same.

        Pr(yes | group g) = pi + p_g beta,   pi + beta + gamma = 1

    With the chance p_g a person is told to say yes, and otherwise to say the truth. Of pi people
    the truth is yes and of beta it is no. Cheaters, of whom there are gamma, say no whatever they
    are told.

    Args:
        p1, p2: the chance of being told to say yes in the first and in the second group.

    The shares are ``"yes"`` for pi, ``"no"`` for beta and ``"cheats"`` for gamma.

    Raises:
        ArgumentError: chances outside (0, 1), or equal chances.

    Source: Clark and Desharnais (1998).

    >>> result = Cheating("1/4", "3/4").estimate([{"yes": 410, "no": 590}, {"yes": 752, "no": 248}])
    >>> round(result["yes"], 3), round(result["cheats"], 3)
    (0.239, 0.077)
    >>> result["cheats"].interval().round(3)
    array([0.035, 0.121])
    """

    references: tuple[str, ...] = ("clark1998",)

    def __init__(self, p1: Any, p2: Any) -> None:
        first, second = chance("p1", p1), chance("p2", p2)
        _different(first, second)
        super().__init__(first, 0, second, 0)
        self._chances = (first, second)


class StochasticLieDetector(_TwoGroups):
    """The stochastic lie detector: people whose answer is yes may lie, whatever their card says.

        Pr(yes | group g) = pi t + (1 - pi) (1 - p_g)

    People whose answer is no say the truth with the chance p_g, and else say yes. Of those whose
    answer is yes, t say so and the others lie.

    Args:
        p1, p2: the chance that people whose answer is no are told to say so, in each group.

    The shares are ``"yes"`` for pi, and ``"honest"`` for t, among those whose answer is yes.

    Raises:
        ArgumentError: chances outside (0, 1), or equal chances.

    Source: Moshagen, Musch and Erdfelder (2012).

    >>> design = StochasticLieDetector("2/12", "10/12")
    >>> result = design.estimate([{"yes": 373, "no": 191}, {"yes": 398, "no": 294}])
    >>> round(result["yes"], 3), round(result["honest"], 3)
    (0.871, 0.636)
    """

    references: tuple[str, ...] = ("moshagen2012",)

    def __init__(self, p1: Any, p2: Any) -> None:
        self._chances = chance("p1", p1), chance("p2", p2)
        _different(*self._chances)
        super().__init__(
            ("no", "yes, honest", "yes, lies"),
            ("no", "yes", "yes"),
            [_law(_YES_OR_NO, (1 - p, _ONE, Fraction(0))) for p in self._chances],
            {
                "yes": ShareOf(("yes, honest", "yes, lies"), "people whose true answer is yes"),
                "honest": ShareOf(
                    ("yes, honest",),
                    "how many say yes, of the people whose true answer is yes",
                    ("yes, honest", "yes, lies"),
                ),
            },
            "The design assumes that people say no if their true answer is no.",
        )


class UnrelatedUnknown(_TwoGroups):
    """The unrelated question whose share of yes is not known, which a second group estimates.

        Pr(yes | group g) = p_g pi + (1 - p_g) q

    With the chance p_g a person is asked the sensitive question, and else the unrelated one. Both
    are answered truthfully. Only the shares of yes to each question are determined, not who says
    yes to both.

    Args:
        p1, p2: the chance of being asked the sensitive question, in each group.

    The shares are ``"yes"`` for pi, and ``"unrelated"`` for q.

    What the design protects depends on q, which nobody knows before: where few people say yes to
    the unrelated question, nearly everybody who says yes was asked the sensitive one.

    Raises:
        ArgumentError: chances outside (0, 1), or equal chances.

    Source: Greenberg, Abul-Ela, Simmons and Horvitz (1969).

    >>> design = UnrelatedUnknown("7/10", "1/5")
    >>> result = design.estimate([{"yes": 279, "no": 721}, {"yes": 221, "no": 779}])
    >>> round(result["yes"], 4), round(result["unrelated"], 4)
    (0.3138, 0.1978)
    """

    references: tuple[str, ...] = ("greenberg1969",)

    def __init__(self, p1: Any, p2: Any) -> None:
        self._chances = chance("p1", p1), chance("p2", p2)
        _different(*self._chances)
        classes = [(answer, other) for answer in _YES_OR_NO for other in _YES_OR_NO]
        names = [f"{answer}, unrelated {other}" for answer, other in classes]
        laws = [
            _law(_YES_OR_NO, [p * (a == "yes") + (1 - p) * (b == "yes") for a, b in classes])
            for p in self._chances
        ]
        both = names[3]
        super().__init__(
            names,
            [answer for answer, _ in classes],
            laws,
            {
                "yes": ShareOf((names[2], both), "say yes to the sensitive question"),
                "unrelated": ShareOf((names[1], both), "say yes to the unrelated question"),
            },
        )


class ExtendedCrosswise(_TwoGroups):
    """The crosswise design with a check of honesty: two groups with the chances p and 1 - p.

        Pr(same | group 1) = p pi + (1 - p) (1 - pi),   Pr(same | group 2) = (1 - p) pi + p (1 - pi)

    A person says whether the answers to a sensitive and to an unrelated question are the same or
    different. In the second group the unrelated question has the opposite chance of yes. Both
    groups together estimate pi as well as one group of as many people. If people follow the
    instructions, the chances of "same" have the sum 1; ``result.fit_test`` tests this. It notices
    people who say "same", or "different", whatever their answers are, and not those who answer at
    random.

    Args:
        p: the chance of yes to the unrelated question in the first group; in the second group it
            is 1 - p.

    The share is ``"yes"`` for pi.

    Raises:
        ArgumentError: a chance outside (0, 1), or 1/2.

    Source: Heck, Hoffmann and Moshagen (2018).

    >>> design = ExtendedCrosswise("1/4")
    >>> result = design.estimate([
    ...     {"same": 340, "different": 160},
    ...     {"same": 165, "different": 335},
    ... ])
    >>> round(result["yes"], 3), round(result.fit_test.p, 2)
    (0.15, 0.74)
    """

    references: tuple[str, ...] = ("heckhoffmann2018", "yu2008")

    def __init__(self, p: Any) -> None:
        first = chance("p", p)
        _different(first, 1 - first, "p and 1 - p")
        self._chances = (first,)
        super().__init__(
            _YES_OR_NO,
            _YES_OR_NO,
            [_law(("different", "same"), (1 - each, each)) for each in (first, 1 - first)],
            {"yes": ShareOf(("yes",), "have the answer yes")},
            (
                "A p below 0.05 is a sign that people did not follow the instructions. Do not rely "
                "on the share then."
            ),
        )


GROUPS_BY_NAME: Mapping[str, Callable[..., LatentClasses | ListExperiment]] = {
    "cheating": Cheating,
    "symmetric-cheating": SymmetricCheating,
    "lie-detector": StochasticLieDetector,
    "unrelated-unknown": UnrelatedUnknown,
    "extended-crosswise": ExtendedCrosswise,
    "list": ListExperiment,
}


def groups_from_text(text: str) -> LatentClasses | ListExperiment:
    """A design of several groups from its name and its chances.

    Args:
        text: ``"cheating:1/4,3/4"``, ``"symmetric-cheating:yes1=2/5,no1=1/10,yes2=3/20,no2=7/20"``,
            ``"lie-detector:1/6,5/6"``, ``"unrelated-unknown:0.7,0.2"``,
            ``"extended-crosswise:1/4"``, or ``"list:3"`` with the number of control items.

    Raises:
        ArgumentError: another name, another number of chances, or chances that the design refuses.

    >>> groups_from_text("cheating:1/4,3/4"), groups_from_text("list:3")
    (Cheating(1/4, 3/4), ListExperiment(3))
    """
    name = name_of(text)
    cls = GROUPS_BY_NAME.get(name)
    if cls is None:
        raise unknown("design", name, GROUPS_BY_NAME)
    example = EXAMPLES_OF_GROUPS[name]
    stated = stated_in(cls, text, example)
    if cls is not ListExperiment:
        return cls(**stated)
    items = stated["items"]
    if not items.isdecimal():
        rule = "must be followed by the number of items that both groups see"
        raise ArgumentError("list", rule, show(items), f"For example {show(example)}")
    return cls(int(items))
