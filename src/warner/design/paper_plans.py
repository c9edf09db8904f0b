"""Plans of designs on paper: expected intervals, and the chances that a wanted interval allows."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from warner._core.errors import ArgumentError
from warner._core.table import Column, Table, as_text
from warner._core.text import of_hundred
from warner.design.charts import DrawnWidths, people_drawn
from warner.design.default_errors import is_same_law, law_of
from warner.design.planning import Plan, RankedMechanism, WantedDifference
from warner.designs import PaperDesign, from_text
from warner.designs.chances import DEVICES, draw_with, usual_chances
from warner.domains import Domain
from warner.mechanisms import Mechanism
from warner.results.intervals import normal_quantile
from warner.theory import expected_loss, people_for_difference, power_for_difference

# Of each design of two answers, the one with the least error of those that protect as much, by its
# smaller chance: the one of the less likely report. Smaller chances have a larger epsilon.
_BY_CHANCE: Mapping[str, Callable[[Fraction], str]] = {
    "warner": lambda p: f"warner:{1 - p}",
    "crosswise": lambda p: f"crosswise:{p}",
    "forced": lambda p: f"forced:yes={p},no={p}",
    "unrelated": lambda p: f"unrelated:{1 - 2 * p},1/2",
    "triangular": lambda p: f"triangular:{p}",
    "mangat": lambda p: f"mangat:{1 - p}",
}
SEARCHED = frozenset(_BY_CHANCE)
_MOST_DRAWN = 4  # designs in a picture, whose lines are told apart by their dashes


@dataclass(frozen=True)
class Pair:
    """Two groups of people, and a difference between them that a test should detect."""

    sizes: tuple[int, int]
    power: float  # the probability that a test of these two groups detects it
    people: int  # needed in all groups, in the proportions that they have


@dataclass(frozen=True)
class WidestAnswer:
    """The answer with the widest interval, where the other answers are equally common."""

    answer: Any
    share: float
    variance: float  # of the estimate from one person

    @classmethod
    def of(cls, design: PaperDesign, share: float | None = None) -> WidestAnswer:
        """The widest at a share; None for that of all shares, which is near 50 %."""
        channel, size = design.channel(), design.domain.size

        def variances(share: float) -> np.ndarray:
            shares = np.full((size, size), (1 - share) / (size - 1))
            np.fill_diagonal(shares, share)
            return np.array([channel.variance(each)[x] for x, each in enumerate(shares)])

        if share is None:
            none, everybody = variances(0.0), variances(1.0)
            # The variance is a line in the share, less its square.
            peaks = np.clip((1 + everybody - none) / 2, 0.0, 1.0)
            heights = none + (1 + everybody - none - peaks) * peaks
            share = float(peaks[np.argmax(heights.round(9))])
        of_answers = variances(share)
        # Of two answers the share is that of the second.
        widest = 1 if size == 2 else int(np.argmax(of_answers.round(9)))
        return cls(design.domain.labels[widest], share, float(of_answers[widest]))


@dataclass(frozen=True)
class PlannedDesign:
    """A design for paper, with what to expect of it."""

    design: PaperDesign
    ranking: Plan  # in which the design is one of the results
    share: float  # of the answer that is asked for, whose interval is expected
    wanted: float  # the wanted width of the interval
    sizes: Sequence[int]  # numbers of people in groups, whose intervals are said too
    difference: WantedDifference | None = None  # between groups of these sizes
    design_effect: float = 1.0
    by: str | None = None  # what people draw with, where the chances were searched for
    stated: str = ""  # the design as a text, where it has a second card

    @property
    def text(self) -> str:
        """The design as a text."""
        return self.stated or self.design.text

    @property
    def about_cards(self) -> list[str]:
        """What is planned of a design with a second card."""
        if self.text == self.design.text:
            return []
        return [
            "In the extended crosswise design, half of the people get one card, and half get "
            "another. Both halves together tell as much as one card for everybody. They also show "
            "whether people follow the instructions."
        ]

    @property
    def result(self) -> RankedMechanism:
        """The design among the mechanisms that protect as much."""
        return next(each for each in self.ranking.results if each.mechanism is self.design)

    @property
    def has_width(self) -> bool:
        """Whether intervals of shares are expected, which follow from squared errors."""
        return self.ranking.loss == "l2"

    def width(self, people: int) -> float:
        """The width of the 95 % interval with so many people: of several answers the widest."""
        return _width(2 * self.widest.variance * self.design_effect / people)

    @property
    def widest(self) -> WidestAnswer:
        """The answer whose interval is the widest at the share."""
        return WidestAnswer.of(self.design, self.share)

    @property
    def people_for_width(self) -> int:
        """How many people the wanted width needs."""
        times = self.width(self.ranking.n) / self.wanted
        return math.ceil(float(f"{self.ranking.n * times**2:.3g}"))

    @property
    def protected(self) -> str | None:
        """Which answers the design protects, where it does not protect all."""
        if self.design.sensitive_mask is None:
            return None
        return f"{', '.join(map(as_text, self.design.sensitive))} only"

    @property
    def pairs(self) -> list[Pair]:
        """Every two groups, and what the wanted difference between them needs."""
        if self.difference is None:
            return []
        points = self.difference.difference
        # Of more answers, all are taken as equally common.
        theta = [1 - self.share, self.share] if self.design.domain.size == 2 else None
        equal = people_for_difference(self.design, points, theta, 2, self.difference.power)
        made = []
        for first, second in itertools.combinations(self.sizes, 2):
            # Two equal groups of so many people together have the same error of a difference.
            alike = 4 * first * second / (first + second) / self.design_effect
            people = max(1, math.floor(alike))
            power = power_for_difference(self.design, points, people, theta)
            needed = math.ceil(sum(self.sizes) * equal / alike * (1 - 1e-12))
            made.append(Pair((first, second), power, needed))
        return made

    @property
    def hardest(self) -> Pair | None:
        """The two groups whose difference needs the most people."""
        return max(self.pairs, key=lambda pair: pair.people, default=None)

    @property
    def better(self) -> PaperDesign | None:
        """The design on paper that protects as much with the least error; None if unknown."""
        best = self.ranking.best.mechanism
        if best is self.design or best is None or self.design.domain.size != 2:
            return None
        odds = self.design.law.ratio()
        for name in (self.design.short_name, "warner", "triangular"):
            chance = 1 / odds if name in ("triangular", "mangat") else 1 / (1 + odds)
            if name in _BY_CHANCE:
                made = from_text(_BY_CHANCE[name](chance), self.design.domain)
                if is_same_law(law_of(made), law_of(best)):
                    return made
        return None

    def row(self) -> dict[str, Any]:
        """What a file says of the design."""
        hardest, drawn, table = self.hardest, self.design.drawn, self.design.probabilities()
        says = ", ".join(of_hundred(float(share)) for share in table[1])
        row: dict[str, Any] = {
            "design": self.text,
            "by": self.by,
            "epsilon": self.design.requested,
            "protects": self.protected,
            "draw": ", or ".join(draw_with(drawn, self.by).when) if drawn else None,
            "of_hundred": f"{says} {self.design.report_words[1]}" if table.size == 4 else None,
            "people": self.result.people if hardest is None else hardest.people,
            "power": self.result.power if hardest is None else hardest.power,
        }
        if self.has_width:
            row |= {
                "share": self.share,
                "width": self.width(self.ranking.n),
                **{f"width_{n}": self.width(n) for n in self.sizes},
                "wanted_width": self.wanted,
                "people_for_width": self.people_for_width,
            }
        return {key: value for key, value in row.items() if value is not None}


def widths_of_designs(planned: Sequence[PlannedDesign]) -> DrawnWidths:
    """What the picture of the widths shows of designs, beside answers without protection."""
    first = planned[0]
    domain, n = first.design.domain, first.ranking.n
    if first.ranking.loss != "l2":
        rule = "can be used only with the loss l2"
        raise ArgumentError("--plot", rule, first.ranking.loss, "Add --loss l2")
    if other := next((each.design for each in planned if each.design.domain.size != 2), None):
        rule = "can be used only if all designs have two answers"
        remedy = "Leave out --plot"
        got = f"{other.text} with {other.domain.size} answers"
        raise ArgumentError("--plot", rule, got, remedy)
    if len(planned) > _MOST_DRAWN:
        rule = f"shows at most {_MOST_DRAWN} designs"
        remedy = "Name fewer designs with --design"
        raise ArgumentError("--plot", rule, f"{len(planned)} designs", remedy)
    theta = [1 - first.share, first.share]  # of two answers, the only ones with a width
    direct = expected_loss(domain, theta, 1, "l2") * first.design_effect
    rows = [
        {"line": each.text, "people": people, "width": each.width(people)}
        for each in planned
        for people in people_drawn(n)
    ]
    rows += [
        {"line": "no protection", "people": people, "width": _width(direct / people)}
        for people in people_drawn(n)
    ]
    about = (
        f"Width of the 95 % interval of a share of {100 * first.share:.3g} %. Dashed lines: "
        f"{n:,} people, and a width of {100 * first.wanted:.3g} points."
    )
    if first.design_effect != 1:
        about += f" Design effect {first.design_effect:.4g}."
    return DrawnWidths(rows, about, n, first.wanted)


def _width(error: float) -> float:
    """The width of the 95 % interval of one of two shares, 2 * 1.96 sqrt(error / 2)."""
    return 2 * normal_quantile(0.95) * math.sqrt(error / 2)


def table_of_designs(planned: Sequence[PlannedDesign]) -> Table:
    """Designs, the fewest people for the width first, or the least epsilon of found chances."""
    first = planned[0]
    rows = [each.row() for each in planned]
    widths = {"width": first.ranking.n} | {f"width_{n}": n for n in first.sizes}
    for_difference = ""
    if (aim := first.ranking.wanted) is not None:
        for_difference = f" for {100 * aim.difference:g} points"
    columns = [
        Column("design"),
        Column("by", "drawn with", priority=2 if any(each.by is None for each in planned) else 0),
        Column("epsilon", unit="epsilon"),
        Column("protects"),
        Column("draw", priority=2),
        Column("of_hundred", "of 100 no, yes", priority=2),
        Column("share", unit="data"),
        *(Column(key, f"{n:,}", "half_width") for key, n in widths.items()),
        Column("wanted_width", unit="data"),
        Column("people_for_width", f"people for {_points(first.wanted)}", "people"),
        Column("power", f"power{for_difference}", "probability", 1, decimals=2),
        Column("people", f"people needed{for_difference}", "people"),
    ]
    said = [each for each in columns if any(each.key in row for row in rows)]
    is_searched = any(each.by is not None for each in planned)
    rows.sort(key=lambda row: row["epsilon"] if is_searched else row.get("people_for_width") or 0)
    title = ""
    if any(each.has_width for each in planned):
        shares = {each.share for each in planned}
        of_share = f" of a share of {100 * first.share:.3g} %" if len(shares) == 1 else ""
        title = f"Width of the 95 % interval{of_share} in points, by the number of people"
    keys = [each.key for each in said]
    return Table(said, [{key: row.get(key) for key in keys} for row in rows], title=title)


def _points(width: float) -> str:
    return Column("width", unit="half_width").cells([{"width": width}])[0]


def designs_of_width(
    name: str, width: float, people: float, share: float
) -> list[tuple[str, PaperDesign]]:
    """The chances of a design with the least epsilon that reach a width, for each kind of draw.

    >>> [(by, each.text) for by, each in designs_of_width("crosswise", 0.08, 800, 0.2)]
    [('birthday', 'crosswise:42/365'), ('cards', 'crosswise:1/9'), ('dice', 'crosswise:1/12')]
    """
    made: list[tuple[str, PaperDesign]] = []

    def reached(subject: Mechanism | Domain) -> float:
        return _width(expected_loss(subject, [1 - share, share], 1, "l2") / people)

    for by in DEVICES:
        for chance in sorted(usual_chances(by), reverse=True):
            # Some chances are too large for a design, or none that this draw has.
            with contextlib.suppress(ArgumentError):
                if name not in ("triangular", "mangat") and chance >= Fraction(1, 2):
                    continue
                design = from_text(_BY_CHANCE[name](chance))
                if reached(design) <= width:
                    design.card(by=by)
                    made.append((by, design))
                    break
    if not made:
        domain = from_text(_BY_CHANCE[name](Fraction(1, 4))).domain
        least = reached(domain)
        enough = math.ceil(float(f"{people * (least / width) ** 2:.3g}"))
        rule = (
            f"is too small for this number of people: without any protection the interval is "
            f"{_points(least)} points wide"
        )
        remedy = f"Plan for well over {enough:,} people, or allow a wider interval"
        got = f"{width:g}, which is {_points(width)} points"
        raise ArgumentError("--width", rule, got, remedy)
    return sorted(made, key=lambda pair: pair[1].requested)
