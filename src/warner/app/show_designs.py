"""Comparisons, plans and audits on a terminal."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from statistics import NormalDist
from textwrap import wrap
from typing import Any

import numpy as np

from warner._core.errors import IdentifiabilityError
from warner._core.table import UNITS, Column, Table, as_text
from warner._core.text import at_most, canonical, of_hundred, visible
from warner.app.draft import Planned as PlannedAttribute
from warner.app.new_study.text import toml
from warner.app.terminal import plural, show
from warner.design.audits import Audit, audit
from warner.design.default_errors import LOSS_NAMES, can_simulate, is_same_law, law_of
from warner.design.paper_plans import PlannedDesign, WidestAnswer, table_of_designs
from warner.design.planning import BudgetRow, Plan, RankedMechanism, WantedDifference
from warner.design.privacy_words import Odds, about_draw, certainty, odds_of, of_guarantee
from warner.design.proposal import (
    DEFAULT_WIDTH,
    about_wide,
    expect,
    in_points,
    is_near_half,
    near_half,
    people_for,
    scenarios_of,
)
from warner.design.shuffling import Shuffled, protects_all_alike
from warner.domains import Categorical, Items
from warner.mechanisms import (
    HiddenQuestion,
    Mechanism,
    OneOf,
    Permanent,
    RandomizedResponse,
    WithFakes,
)
from warner.mechanisms.covers import cover_of_pairs
from warner.mechanisms.headers import is_of_package
from warner.mechanisms.one_of import permanent_of
from warner.mechanisms.permanent import DEGRADED
from warner.privacy.guarantees import compose
from warner.results.named_summaries import DECLARE_CODES, has_bands, may_be_codes
from warner.theory import expected_loss
from warner.theory.inversion import max_influence, shares_that_differ, total_influence


def in_people(weight: float | None) -> str:
    """The weight of one report in words.

    >>> in_people(2.1640), in_people(1.0), in_people(None)
    ('2.164 people', '1 person', '')
    """
    return "" if weight is None else f"{weight:,.4g} {'person' if weight == 1 else 'people'}"


WEIGHT = (
    'A liar is somebody who sends a made-up report. "a liar adds" says how many people this report '
    'can add to the count of one answer. "a liar changes" says how far this report can change the '
    "counts of all answers together. The two numbers are for estimates with -m inversion; the "
    "usual estimates can change by more. To see how far shares can be wrong, run warner estimate "
    "--forged 1% with a tally."
)
_MOST_LIARS = 3  # questions of which is said what a liar does


def _few(people: float) -> str:
    """A most number of people, of a few with a decimal, rounded up."""
    if people >= 10:
        return f"{math.ceil(people):,}"
    return f"{math.ceil(10 * people - 1e-9) / 10:.2g}"


def about_liars(weights: Mapping[str, float | None], is_drawn: bool = False) -> list[str]:
    """What somebody who lies can do to the counts of questions, the worst first.

    >>> about_liars({"age": 5.25, "bmi": 2.164, "sex": None})
    ['One made-up report can add at most 5.3 people to the count of an answer to age, 2.2 to bmi.']
    """
    people_of = [(w, name) for name, w in weights.items() if w is not None]
    moved = sorted(people_of, key=lambda pair: pair[0], reverse=True)
    if not moved:
        return []
    (first, name), *others = moved[:_MOST_LIARS]
    more = "".join(f", {_few(weight)} to {each}" for weight, each in others)
    less = ", and no more than that to other questions" if len(moved) > _MOST_LIARS else ""
    count = _few(first)
    people = f"{count} {'person' if count == '1' else 'people'}"
    most = f"One made-up report can add at most {people} to the count of an answer to {name}"
    drawn = (
        " Whoever makes up a report can choose which question it is about. The report counts for "
        "so many people because other people are asked other questions."
    )
    return [f"{most}{more}{less}.{drawn if is_drawn else ''}"]


def influence_of_blocks(
    mechanism: OneOf | HiddenQuestion,
) -> dict[str, tuple[float | None, float | None]]:
    """{block of questions: the people a report adds to one answer, and changes at all of them}."""
    by_header: dict[str, tuple[float | None, float | None]] = {}
    influences = {}
    for (name, inner), odds in zip(mechanism.parts.items(), mechanism.odds, strict=True):
        header = canonical(inner.header)
        if header not in by_header:
            by_header[header] = max_influence(inner), total_influence(inner)
        # A forged report says which block it is about, and fewer people are asked it.
        among = 2**64 / odds if isinstance(mechanism, OneOf) else 1.0
        added, changed = by_header[header]
        influences[name] = (
            None if added is None else added * among,
            None if changed is None else changed * among,
        )
    return influences


def show_meaning(meaning: Mapping[str, Any]) -> None:
    """Print what a study means."""
    questions = meaning["questions"]
    rows = [
        {
            **row,
            "mechanism": row["mechanism"] or f"lacks {row['lacks']}",
            "epsilon": ""
            if row["lacks"]
            else "none"
            if row["epsilon"] is None
            else f"{row['epsilon']:.6g}",
        }
        for row in questions
    ]
    columns = [
        *([Column("group")] if any(row["group"] is not None for row in questions) else []),
        Column("attribute"),
        Column("question", priority=1),
        Column("values", unit="people"),
        Column("missing", "no answer"),
        Column("mechanism"),
        Column("epsilon", unit="number"),
    ]
    notes = []
    if meaning["spending"] is not None:
        notes.append(meaning["spending"])
        if meaning["budget"] is not None:
            notes.append(f"The budget is {meaning['budget']:.6g}.")
    elif any(row["lacks"] for row in questions):
        notes.append(
            "This is a draft: some questions lack a mechanism or an epsilon. To get proposals for "
            "them, run: warner plan"
        )
    for row in questions:
        if row["yes"] not in (None, "yes"):
            notes.append(f'{row["attribute"]}: "yes" on the card means {as_text(row["yes"])}.')
    if meaning["draw"] is not None:
        notes.append(meaning["draw"])
    if meaning["rows_per_person"] > 1:
        notes.append(f"One person may send up to {meaning['rows_per_person']:,} rows of answers.")
    notes += [f"Public, NOT protected: {name} ({v})." for name, v in meaning["public"].items()]
    who = {
        "open": "everyone with the address",
        "invited": "people with a code",
        "tokens": "people with a code, which their devices exchange for a token",
    }
    if (access := meaning["access"]) is not None:
        notes.append(f"Who may answer: {who[access]}; {meaning['people']:,} people planned.")
    show(Table(columns, rows, notes, meaning["title"]))


def shown_once(plans: Mapping[str, Hashable]) -> Iterator[tuple[str, str]]:
    """The first of all questions with equal plans, and what stands above their one table."""
    alike: dict[Hashable, list[str]] = {}
    for name, plan in plans.items():
        alike.setdefault(plan, []).append(name)
    for first, *others in alike.values():
        if others:
            show(f"Planned alike: {', '.join([first, *others])}")
        yield first, f"each of these {len(others) + 1} questions" if others else first


def plan_of_labels(chosen: Mechanism, people: int) -> Hashable:
    """What a plan depends on: of labels their number, and not how they are called."""
    header = dict(chosen.header)
    if type(chosen.domain) is Categorical and not chosen.is_on_paper:
        header |= {"domain": chosen.domain.size, "domain_sha256": ""}
    return canonical(header), people


def _without_legend(sentences: Iterable[str], legend: Sequence[str], said: set[str]) -> list[str]:
    """The sentences without those of the legend that stand under another table above."""
    listed = [sentence for sentence in sentences if sentence not in said]
    said.update(legend)
    return listed


def show_plan(
    attribute: str,
    ranking: Plan,
    chosen: Mechanism,
    on_paper: PlannedDesign | None = None,
    said: set[str] | None = None,
    in_rounds: bool = False,
) -> None:
    """Print a ranking of mechanisms, with the mechanism of the study or the design marked.

    What explains columns is left out where it was ``said`` before, under another table. A study in
    rounds refuses mechanisms whose reports cannot be randomised again: they are marked, too.
    """
    if on_paper is not None and on_paper.has_width:  # which says what to expect of the estimate
        ranking = ranking.unbiased_alone()
    table = ranking.table()
    results = (*ranking.results, ranking.no_protection)
    mark = " (the design)" if chosen.is_on_paper else " (in the study)"
    other, repeatable = " (not with [repeat])", {*DEGRADED, "NoneType"}  # no mechanism: the truth
    rows = [
        {
            **row,
            "mechanism": result.name
            + mark * _is_own(result, chosen)
            + other * (in_rounds and type(result.mechanism).__name__ not in repeatable),
        }
        for row, result in zip(table.rows, results, strict=True)
    ]
    mask = chosen.sensitive_mask
    sensitive = "" if mask is None else f", {int(mask.sum())} of them sensitive"
    title = (
        f"{attribute}: {chosen.domain.size} values{sensitive}, epsilon {chosen.requested:.4g}, "
        f"{plural(ranking.n, 'person', 'people')}"
        + (f" in {ranking.wanted.groups} groups" if ranking.wanted is not None else "")
    )
    loss = LOSS_NAMES[ranking.loss]
    if on_paper is not None:
        answer = list(_about_design(on_paper))
    else:
        answer = [] if ranking.wanted is not None else list(_about_width(chosen, ranking.n))
    show(title, *answer)
    if ranking.wanted is not None:
        aim, bought = ranking.wanted, ranking.by_epsilon
        show(_about_difference(aim, chosen.domain.size, _assumed(ranking, on_paper)))
        if bought:
            _show_people(bought, ranking.no_protection.people)
        if has_bands(chosen.domain) and can_simulate(chosen.domain):
            name = f"{type(chosen).__name__} (in the study)"
            show(*_about_mean(name, chosen, ranking.n, aim))
    this = "This design" if chosen.is_on_paper else "The mechanism of the study"
    title = f"{this} and other mechanisms; the smaller the {loss}, the better"
    show("", replace(table, rows=rows, notes=[], title=title))
    codes = [DECLARE_CODES] if may_be_codes(chosen.domain) else []
    above = set() if said is None else said
    notes = _without_legend(table.notes, ranking.legend, above)
    show(*_about_ranking(ranking, chosen), *notes, *codes)


def _is_own(result: RankedMechanism, chosen: Mechanism) -> bool:
    if result.mechanism is None:
        return False
    same = is_same_law(law_of(result.mechanism), law_of(chosen))
    return same or result.mechanism.header == chosen.header


def show_on_paper(planned: Sequence[PlannedDesign]) -> None:
    """Print what designs for paper need: one with its ranking, several in one table."""
    first = planned[0]
    if len(planned) == 1 and first.by is None:
        show_plan(first.text, first.ranking, first.design, first)
        return
    notes = [
        "The smaller the epsilon of a design, the more it protects people.",
        "Column of 100 no, yes: how many of 100 people whose answer is no say the word, and of 100 "
        "whose answer is yes.",
    ]
    if first.by is not None:
        notes.append(
            "For each kind of draw, the table shows the chances that protect most and still give "
            "intervals of the wanted width."
        )
    if (hardest := first.hardest) is not None and first.difference is not None:
        sizes = " and ".join(f"{size:,}" for size in hardest.sizes)
        notes.append(
            f"{_about_pairs(first, first.difference)} The table is about the groups of {sizes} "
            "people, between which a difference is hardest to find."
        )
    elif first.ranking.wanted is not None:
        aim, values = first.ranking.wanted, first.design.domain.size
        notes.append(_about_difference(aim, values, _assumed(first.ranking, first)))
    notes += dict.fromkeys(sentence for each in planned for sentence in each.about_cards)
    show(replace(table_of_designs(planned), notes=[*notes, *_about_effect(first)]))


def _about_pairs(planned: PlannedDesign, aim: WantedDifference) -> str:
    """What a test of two groups is to find."""
    share = f"a share near {100 * planned.share:.3g} %" if planned.has_width else "a share"
    return (
        "Power is the probability that a test of two groups at the 5 % level finds a difference of "
        f"{100 * aim.difference:.4g} points in {share}. "
        'The column "people needed" says how many people all groups together need for power '
        f"{aim.power:.4g}, in the same proportions."
    )


def _about_effect(planned: PlannedDesign) -> list[str]:
    """What the design effect changes."""
    if planned.design_effect == 1:
        return []
    n = planned.ranking.n
    return [
        f"People are not drawn one by one, so {n:,} people tell as much as "
        f"{n / planned.design_effect:,.0f} people drawn one by one (--design-effect "
        f"{planned.design_effect:.4g}). All numbers allow for this."
    ]


def _plus_minus(width: float) -> str:
    """An interval of a share, as a part of 1, in points on both sides."""
    return f"{UNITS['half_width'].write(width, 0)} points"


def _about_design(planned: PlannedDesign) -> Iterator[str]:
    """What a design for paper of two answers needs, in the words of those who plan a survey."""
    ranking, design = planned.ranking, planned.design
    yield from planned.about_cards
    if planned.has_width:
        n, needed = ranking.n, planned.people_for_width
        size, with_people = design.domain.size, f"With {plural(n, 'person', 'people')}"
        usual = 0.5 if size == 2 else WidestAnswer.of(design).share
        another = " For another share, add --share." if planned.share == usual else ""
        of_share = f"the 95 % interval of a share of {100 * planned.share:.3g} %"
        yield (
            f"{with_people}, {of_share} is about {_plus_minus(planned.width(n))}.{another}"
            if size == 2
            else f"{with_people}, {of_share} is at most about {_plus_minus(planned.width(n))}, if "
            "the other answers are equally common. The interval is widest for the answer "
            f"{as_text(planned.widest.answer)!r}.{another}"
        )
        if size == 2 and planned.share < 0.5 and planned.width(n) >= 2 * planned.share:
            yield (
                f"So with {plural(n, 'person', 'people')}, a share of {100 * planned.share:.3g} % "
                "can hardly be told from 0 %."
            )
        yield from about_wide(planned.width(n))
        for size in planned.sizes:
            yield (
                f"In a group of {size:,} people, the interval is about "
                f"{_plus_minus(planned.width(size))}."
            )
        yield (
            f"For {_plus_minus(planned.wanted)} about {needed:,} people are needed "
            f"(--width {planned.wanted:.3g}). Four times as many people halve the interval."
        )
    if planned.difference is not None:
        yield _about_pairs(planned, planned.difference)
        for pair in planned.pairs:
            first, second = pair.sizes
            yield (
                f"In groups of {first:,} and {second:,} people: power {pair.power:.2g}; "
                f"{pair.people:,} people needed in all."
            )
    yield from _about_effect(planned)
    if ranking.best.mechanism is design:
        yield (
            "No other way of randomising with the same protection has a smaller error than this "
            "design."
        )
        return
    said = f"{ranking.best.name} protects people as much as this design, and has a smaller error"
    if (better := planned.better) is None:
        remedy = "For a smaller error, choose other chances, or let people answer on a device."
        yield f"{said}. {remedy}"
    else:
        yield f"{said}. On paper it is the design {better.text}."


def _about_ranking(ranking: Plan, chosen: Mechanism) -> Iterator[str]:
    """What the errors of a ranking are of."""
    if ranking.loss == "w1":
        yield (
            "The error is in the unit of the values. It depends on the true shares: in Python, "
            "warner.plan(theta=...) takes your guess of these shares."
        )
    elif not any(_is_own(result, chosen) for result in ranking.results):
        yield _about_own(chosen, ranking)
    if can_simulate(chosen.domain) and ranking.loss != "w1":
        yield (
            "This ranking is for estimates that are right on average (unbiased). For numbers and "
            'places, the command "warner estimate" uses another kind of estimate. To rank by the '
            "error of that estimate, add --loss w1."
        )
    elif ranking.loss == "l1" and ranking.results[-1].error > 2:
        yield (
            "In this measure, two sets of shares differ by at most 2. So a mechanism with an "
            "expected error above 2 gives no useful estimate."
        )


def _assumed(ranking: Plan, on_paper: PlannedDesign | None) -> float | None:
    """The share that a difference is planned for, where somebody said one."""
    return None if on_paper is None or not ranking.has_guess else on_paper.share


def _about_difference(aim: WantedDifference, values: int, share: float | None) -> str:
    """What the numbers of people are for, of a wanted difference."""
    of_value, source = (share, "--share") if share else (1 / values, "all values equally frequent")
    test, groups = "a test" if values == 2 else "a test of this share alone", "two groups"
    if aim.groups > 2:
        shares = "all shares" if values > 2 else "the shares"
        test = f"one test of {shares} in all {aim.groups} groups"
        groups = "two of the groups"
    assumed = f"This assumes shares near {100 * of_value:.3g} % ({source})"
    low, high, *further = (
        f"{100 * each:.3g} %" for each in shares_that_differ(of_value, aim.difference, aim.groups)
    )
    return (
        f'"people needed" counts the people of {aim.groups} groups of equal size together. '
        f"With so many people, {test} at the 5 % level finds with probability {aim.power:.4g} that "
        f"the share of a value differs by {aim.difference:.4g} between {groups}. {assumed}: {low} "
        f"in one group, {high} "
        "in another" + (f", and {further[0]} in the others." if further else ".")
    )


def _about_width(chosen: Mechanism, people: int) -> Iterator[str]:
    """How wide the intervals of the study's own mechanism will be, of labels and numbers."""
    domain = chosen.domain
    is_ordered = domain.answered.is_ordered
    if domain.size > 512 or not (is_ordered or isinstance(domain.answered, Categorical)):
        return
    scenarios = scenarios_of(domain, None, 0.5, 0.95, chosen.sensitive_mask)
    widths = expect(chosen, scenarios, people)
    if is_ordered and widths.mean is not None:
        ((low, high),) = domain.answered.ends
        yield (
            f"With {plural(people, 'person', 'people')} and the mechanism of the study, expect a "
            f"95 % interval of the mean that is about {widths.mean:.3g} wide. Values go from "
            f"{low:.6g} to {high:.6g}."
        )
    elif not is_ordered and widths.share is not None:
        yield (
            f"With {plural(people, 'person', 'people')} and the mechanism of the study, expect a "
            f"95 % interval of {_plus_minus(widths.share)} for a share near 50 %."
        )
        yield from about_wide(widths.share)
        if needed := people_for(chosen, scenarios, people, widths, DEFAULT_WIDTH):
            yield (
                f"For {_plus_minus(DEFAULT_WIDTH)} about {float(f'{needed:.3g}'):,.0f} people are "
                "needed. Four times as many people halve the interval."
            )


def _about_mean(
    name: str, chosen: Mechanism, people: int, aim: WantedDifference, among: int = 1
) -> Iterator[str]:
    """Which difference of a mean a mechanism would find, of numbers.

    ``people`` are asked the question, one of ``among`` that are drawn.
    """
    each = max(1, people // aim.groups)
    scenarios = scenarios_of(chosen.domain, None, 0.1, 0.95, chosen.sensitive_mask)
    width = expect(chosen, scenarios, each).mean
    if width is None:
        return
    power, level = NormalDist().inv_cdf(aim.power), NormalDist().inv_cdf(0.975)
    difference = math.sqrt(0.5) * width * (1 + power / level)
    ((low, high),) = chosen.domain.answered.ends
    yield (
        f"With {name}, the 95 % interval of the mean of a group of {each * among:,} is about "
        f"{width:.3g} wide"
        + (
            ", too wide to compare means."
            if difference > (high - low) / 2
            else ". A test at the 5 % level (--compare-groups --of mean) finds with probability "
            f"{aim.power:.4g} a difference of {difference:.3g} between the means of two groups"
            + (", if p is not corrected for several comparisons." if aim.groups > 2 else ".")
        )
    )


def about_differences(difference: float | None, are_drawn: bool) -> list[str]:
    """Which option plans a difference, or of whom the people that it needs are a part."""
    if difference is None:
        return [
            "To see whether the survey would find a difference of 5 points between two groups or "
            "weeks, add --difference 0.05. --people is then the number of people in both groups "
            "together."
        ]
    if not are_drawn:
        return []
    return [
        'Here "people needed" counts only people who are asked this question. '
        "The first table says how many people are asked which question."
    ]


def _show_people(bought: Sequence[BudgetRow], unprotected: int | None) -> None:
    """Print how many people a wanted difference needs at several budgets."""
    rows: list[dict[str, Any]] = [
        *(
            {"epsilon": f"{row.epsilon:.4g}", "mechanism": row.mechanism, "people": row.people}
            for row in bought
        ),
        {"epsilon": "no protection", "mechanism": "", "people": unprotected},
    ]
    people = Column("people", "people needed", "people")
    show(Table([Column("epsilon", unit="number"), Column("mechanism"), people], rows))


def _about_own(chosen: Mechanism, ranking: Plan) -> str:
    """The line on the study's own mechanism where it is not one of those compared."""
    name = type(chosen).__name__
    if can_simulate(chosen.domain):
        return (
            f"The mechanism of the study, {name}, is for numbers. It tells too little about single "
            "values to stand in this table."
        )
    uniform = np.full(chosen.domain.size, 1 / chosen.domain.size)
    try:
        error = expected_loss(chosen, uniform, ranking.n, ranking.loss)
    except IdentifiabilityError:
        return (
            f"The mechanism of the study, {name}, has no estimate that is right on average, so it "
            "is not compared."
        )
    if len(several := {type(single).__name__ for single in chosen.single_reports}) == 1:
        (single,), count = several, len(chosen.single_reports)
        if count > 1:
            return (
                f"In the study, each person sends {count} reports of {single}. The expected error "
                f"is then {error:.4g}."
            )
    return f"The mechanism of the study, {name}, has the expected error {error:.4g}."


# Below the first, the odds of an answer change by less than 1 in 20; above the second, one report
# changes them more than a hundred times.
_TINY, _LARGE = 0.05, 5.0


def unusual_budgets(mechanisms: Mapping[str, Mechanism], rows: int = 1) -> list[str]:
    """One line on attributes with a uselessly small epsilon, and one on those with a large one."""
    nats = {
        name: compose([m.guarantee] * rows).between_any_values().epsilon
        for name, m in mechanisms.items()
    }
    tiny = [name for name, epsilon in nats.items() if epsilon < _TINY]
    large = [name for name, epsilon in nats.items() if epsilon > _LARGE]
    said = []
    if tiny:
        said.append(
            f"{', '.join(tiny)}: with an epsilon below {_TINY:g}, reports tell almost nothing "
            "about the answers. To see how wide intervals become, run: warner plan"
        )
    if large:
        said.append(
            f"{', '.join(large)}: an epsilon above {_LARGE:g} protects people little. The reports "
            f"of one person can change the odds of an answer by a factor of {math.exp(_LARGE):.0f} "
            "or more."
        )
    return [visible(line) for line in said]


def show_audits(
    results: Mapping[str, Audit], samples: int | None, mechanisms: Mapping[str, Mechanism]
) -> None:
    """Print the exact epsilon of every mechanism, and how it was computed."""
    weights = {name: result.influence for name, result in results.items()}
    rows: list[dict[str, str]] = []
    of_draws: list[str] = []
    for attribute, result in results.items():
        rows.append(_audited(attribute, result, samples))
        if isinstance(mechanism := mechanisms[attribute], OneOf | HiddenQuestion):
            influences = influence_of_blocks(mechanism)
            rows += _rows_of_blocks(mechanism, influences)
            of_draws.append(about_draw(mechanism, attribute))
            added = {name: influence for name, (influence, _) in influences.items()}
            if isinstance(mechanism.domain, Items):
                # The most to an item that the liar chooses; of pairs none is known.
                pairs = any(len(block) > 1 for block in mechanism.blocks)
                weights[attribute] = None if pairs else max(w or 0.0 for w in added.values())
            else:
                of_draws += about_liars(added, isinstance(mechanism, OneOf))
    notes = [*of_draws, *about_liars(weights)]
    for attribute in results:
        promised = mechanisms[attribute].guarantee
        if not protects_all_alike(promised) or promised.is_metric:
            notes.append(f"{attribute}: {' '.join(of_guarantee(promised, 'a report'))}")
    outside = {type(each).__name__ for each in mechanisms.values() if not is_of_package(type(each))}
    if outside and samples is None:
        notes.append(
            f"The code that draws the reports of {', '.join(sorted(outside))} was not tested. To "
            "test it, add --samples 300000."
        )
    notes += [
        f"{name}: {samples:,} reports of each of two values were drawn. They show that epsilon is "
        f"at least {result.sampled_lower_bound:.4g}; {'no' if result.holds else 'a'} fault was "
        "found."
        for name, result in results.items()
        if result.sampled_lower_bound is not None
    ]
    columns = [
        Column("attribute"),
        Column("mechanism"),
        Column("requested", unit="number", priority=1),
        Column("epsilon", "exact epsilon", "number"),
        Column("holds"),
        Column("weight", "a liar adds", "number", priority=2),
        Column("weight_of_all", "a liar changes", "number", priority=3),
        Column("guarantee", priority=4),
        Column("method", "how it was computed", priority=5),
    ]
    show(Table(columns, rows, notes, explained=[WEIGHT]))


def _about_permanent(mechanism: Permanent, rounds: int, where: str) -> str:
    """What the reports of a person tell of the answers to one question."""
    of_rounds, of_ever = mechanism.of_rounds(rounds), mechanism.of_rounds(None)
    one, many, ever = (certainty(g.total) for g in (mechanism.guarantee, of_rounds, of_ever))
    # A tally does not say how many rounds its study has.
    after_all = f"{many} after all {rounds:,} rounds, and " if rounds > 1 and many != ever else ""
    tells = (
        "somebody who first thought two answers equally likely, and then sees one report, can be "
        f"at most {one} sure of one of the two. If the answer stays the same, this limit is "
        f"{after_all}{ever} after any number of rounds."
    )
    each = of_ever.total
    if mechanism.values == 1:
        return (
            f"{tells} A device reports on one answer only: if the answer changes, the device sends "
            "nothing more. To let devices report on a second answer, write values = 2 in [repeat]. "
            f"A person then spends up to epsilon {2 * each:.4g} in place of {each:.4g}{where}. "
            "With values = 3 a person spends up to three times as much, and so on."
        )
    several = mechanism.of_values().total
    return (
        f"{tells} If the answer changes, a device reports on up to {mechanism.values} different "
        f"answers (values in [repeat]), and a person spends up to epsilon {several:.4g}{where}. "
        "For two series of answers that change in the same rounds, the limit is then "
        f"{certainty(several)}."
    )


def about_rounds(mechanisms: Mapping[str, Mechanism], rounds: int) -> list[str]:
    """What all reports of a person tell where devices keep permanent reports."""
    alike: dict[str, list[str]] = {}
    for whole, draws in mechanisms.items():
        where = " on each question" if len(mechanisms) > 1 else ""
        if isinstance(draws, OneOf):
            where = " in all, because their device reports on one question"
        for name, mechanism in permanent_of(whole, draws).items():
            alike.setdefault(_about_permanent(mechanism, rounds, where), []).append(name)
    said = [f"{', '.join(names)}: {text}" for text, names in alike.items()]
    if said:
        said.append(
            "In the long run, reports do not hide whether an answer changed, when it changed, and "
            "whether it changed back."
        )
    return said


def about_drawn_again(again: Mapping[str, float], earlier: str) -> str:
    """What people spend who answered an earlier study, whose questions have changed since."""
    if not again:
        return (
            f"After {earlier}: devices go on with the permanent reports that they have, so no "
            "question spends anew."
        )
    spent = ", ".join(f"{name} {epsilon:.6g}" for name, epsilon in again.items())
    return (
        f"After {earlier}: because the study changed, each device draws a new permanent report on "
        f"{', '.join(again)}. People who answered before spend once more, in epsilon: {spent}. To "
        "spend nothing more, leave the study as it was, and ask what is new in a study of its own."
    )


def about_crowds(crowds: Mapping[str, Shuffled], public: Collection[str]) -> list[str]:
    """What is promised against who sees only published counts of each question."""
    said = [f"{name}: {crowd}." for name, crowd in crowds.items()]
    if len(crowds) > 1:
        epsilon = sum(crowd.epsilon for crowd in crowds.values())
        delta = sum(crowd.delta for crowd in crowds.values())
        said.append(
            f"All {len(crowds)} questions together: for somebody who sees only the counts of each "
            f"question, epsilon is {epsilon:.4g}, except with probability {delta:.0e} (delta)."
        )
    if crowds and public:
        said.append(
            "Public columns are published with the counts, so people hide only among the people of "
            "their own group. The epsilon for somebody who sees only the counts holds for groups "
            f"of at least {max(crowd.people for crowd in crowds.values()):,} people."
        )
    return said


_SHOWN = 10  # blocks of questions that are listed
_COMPARED = 50  # blocks, of which those that differ from all before are listed too


def _audited(name: str, result: Audit, samples: int | None = None) -> dict[str, str]:
    """The row of an audit."""
    bound = result.sampled_lower_bound
    sampled = (
        "" if bound is None else f"; as a check, {samples:,} samples show at least {bound:.4f}"
    )
    return {
        "attribute": name,
        "mechanism": result.mechanism.partition("(")[0],
        "requested": f"{result.requested:.10g}",
        "epsilon": f"{result.epsilon:.10g}",
        "holds": "yes" if result.holds else f"NO: {result.violation}",
        "weight": in_people(result.influence),
        "weight_of_all": in_people(result.influence_of_all),
        "guarantee": result.guarantee,
        "method": result.method + sampled,
    }


def _rows_of_blocks(
    mechanism: OneOf | HiddenQuestion, influences: Mapping[str, tuple[float | None, float | None]]
) -> list[dict[str, str]]:
    """A row for each of the first blocks of questions, and for others that are unlike these."""
    rows: list[dict[str, str]] = []
    seen: set[tuple[str, ...]] = set()
    for name, inner in islice(mechanism.parts.items(), _COMPARED):
        added, changed = influences[name]
        result = replace(audit(inner), influence=added, influence_of_all=changed)
        row = _audited(f"  {name}", result)
        if isinstance(inner, WithFakes):  # nobody asked for the epsilon of one report of several
            of_one = {"attribute": f"  {name}, seen alone", "requested": ""}
            row |= {**of_one, "mechanism": type(inner.mechanism).__name__}
        facts = tuple(value for key, value in row.items() if key != "attribute")
        if len(rows) < _SHOWN or facts not in seen:
            rows.append(row)
        seen.add(facts)
    more = len(mechanism.parts) - len(rows)
    if more:
        like = "like these" if len(mechanism.parts) <= _COMPARED else "more"
        rows.append(dict.fromkeys(rows[0], "") | {"attribute": f"  ... and {more:,} {like}"})
    return rows


_COMMENT = 96  # characters of a line
_ABOUT_WIDTHS = (
    "All intervals are 95 % intervals. The widths were computed from invented answers. Your widths "
    "will differ, mostly by less than a fifth."
)
NEAR_HALF = near_half("add --share 0.5")
_EXPLAINED = (0.5, 1.0, 2.0)


_LIMITS_OF_ROUNDS = (
    "In [repeat], forever limits what all rounds tell of an answer that stays the same, so the "
    "epsilon of one round is smaller. The budget limits all rounds of all questions together."
)


def show_proposals(
    planned: Mapping[str, PlannedAttribute],
    sizes: Sequence[int],
    fixed: Mapping[str, str],
    total: float,
    reason: str = "",
    has_rounds: bool = False,
    aim: WantedDifference | None = None,
    share: float | None = None,
) -> None:
    """Print what is proposed for each attribute, and what epsilon means in odds."""
    of_rounds = "in each round (to see all rounds, run: warner audit)"
    when = of_rounds if has_rounds else "in all"
    texts = {name: json.dumps(one.to_json(), sort_keys=True) for name, one in planned.items()}
    said: set[str] = set()
    for first, title in shown_once(texts):
        _show(title, planned[first], sizes, said, aim, share)
    show(
        *(f"{attribute}: {stated}, as the study says." for attribute, stated in fixed.items()),
        _ABOUT_WIDTHS,
        reason or f"A person who answers all questions spends epsilon {total:.4g} {when}.",
        *([_LIMITS_OF_ROUNDS] if has_rounds else []),
        *about_epsilon(),
    )


def why_one(
    times: float, epsilons: Sequence[float], is_stated: bool, has_rounds: bool = False
) -> str:
    """Why each person is asked one question, in a sentence, and how it is asked otherwise."""
    many, most = len(epsilons), max(epsilons)
    said = (
        f"Each person is asked one of {many} questions, drawn by chance, and spends at most "
        f"epsilon {most:.4g} in all"
    )
    if has_rounds:
        said = (
            f"Each device draws one of {many} questions for all rounds, by chance, and spends at "
            f"most epsilon {most:.4g} in each round (to see all rounds, run: warner audit)"
        )
    if times <= 1:
        return f"{said}. This gains nothing here: leave out the table [ask]."
    said += (
        ". This needs fewer people: if everybody were asked all questions, with epsilon "
        f"{most / many:.2g} on each, the same precision would need about {times:.2g} times as many "
        "people."
    )
    return (
        said
        if is_stated
        else f'{said} To ask everybody all questions anyway, write each = "all" in the table [ask].'
    )


def show_gain(times: float, total: float, has_rounds: bool) -> None:
    """Print what is gained where each person is asked one question of a study that asks all."""
    when, drawn = ("in each round", " once for all rounds") if has_rounds else ("in all", "")
    show(
        f"A person spends epsilon {total:.4g} {when}. You can instead ask each person only one "
        f"question, drawn by chance{drawn}, with the whole epsilon: write a table [ask] with "
        f'each = "one" and epsilon = {total:.4g}, or less. '
        f"If everybody is asked all questions, the same precision needs about {times:.2g} times as "
        "many people."
    )


_FEW_PEOPLE = 200  # in a block, with fewer of whom fewer blocks are better


def people_of_blocks(mechanism: OneOf | HiddenQuestion, people: int) -> dict[str, int]:
    """How many of some people are asked each block of questions, about."""
    odds = zip(mechanism.parts, mechanism.odds, strict=True)
    return {name: max(1, people * width >> 64) for name, width in odds}


def show_blocks(mechanism: OneOf | HiddenQuestion, people: int, question: str) -> None:
    """Print how many people are asked each block, and fewer blocks where they are few."""
    asked_of = people_of_blocks(mechanism, people)
    rows = [
        {
            "block": name,
            "values": inner.domain.size,
            "mechanism": type(inner).__name__,
            "people": asked_of[name],
        }
        for name, inner in list(mechanism.parts.items())[:_SHOWN]
    ]
    columns = [
        Column("block", "asked"),
        Column("values", unit="people"),
        Column("mechanism"),
        Column("people", "people (about)", "people"),
    ]
    notes, more = [about_draw(mechanism, question)], len(asked_of) - len(rows)
    fewest, are_items = min(asked_of.values()), isinstance(mechanism.domain, Items)
    if more:
        notes.insert(0, f"... and {more:,} more rows, each with at least {fewest:,} people.")
    if fewest < _FEW_PEOPLE and isinstance(mechanism, OneOf) and len(mechanism.blocks[0]) > 1:
        enough = -(-people * _FEW_PEOPLE // fewest)
        notes.append(
            f"Some pairs are asked of fewer than {_FEW_PEOPLE} people, which tells little about "
            f"these pairs. Ask {enough:,} people in all, or use fewer "
            f"{'items' if are_items else 'questions'}."
        )
        cover = [] if are_items else cover_of_pairs(mechanism.domain, mechanism.epsilon, people)
        if 0 < len(cover) < len(mechanism.blocks):
            notes.append(
                f"Or make {len(cover)} blocks of questions, so that any two questions are together "
                "in some block. Each person is asked the questions of one block: about "
                f"{people // len(cover):,} people for each block. In the table [ask], write this "
                'line in place of the line "each = ...":'
            )
            notes.append(f"blocks = {toml(cover)}")
    show(Table(columns, rows, notes))


def _show(
    attribute: str,
    planned: PlannedAttribute,
    sizes: Sequence[int],
    said: set[str],
    aim: WantedDifference | None,
    share: float | None,
) -> None:
    """Print one proposal, without what was ``said`` to explain columns above."""
    proposal = planned.proposal
    values, people = proposal.domain.size, plural(proposal.n, "person", "people")
    if planned.among > 1:
        people = f"asked of about {people}"
    lines = ", ".join(f"{key} = {as_text(value)}" for key, value in planned.added.items())
    title = f"{attribute}: {values:,} values, {people}"
    table = proposal.table(planned.times, planned.among)
    legend = [*proposal.legend, NEAR_HALF]
    notes = _without_legend([*proposal.legend, *sentences(planned)], legend, said)
    if may_be_codes(proposal.domain):
        notes.append(DECLARE_CODES)
    show(replace(table, notes=notes, title=title), f"Proposed: {lines}.")
    if sizes:
        _show_groups(planned, sizes)
    if aim is not None:
        _show_difference(planned, aim, share)
    show("")


def _show_difference(planned: PlannedAttribute, aim: WantedDifference, share: float | None) -> None:
    """Print what a wanted difference needs with what is proposed."""
    proposal, name = planned.proposal, planned.proposal.best.name
    if bought := planned.people_for(aim, share):
        at_best = next(row for row in bought if row.epsilon == proposal.epsilon * planned.times)
        show(_about_difference(aim, proposal.domain.size, planned.assumed(share)))
        _show_people(bought, planned.unprotected_people(aim, share))
        people = plural(proposal.n * planned.among, "person", "people")
        show(
            f"With {name} and epsilon {at_best.epsilon:.4g}, as proposed, {at_best.people:,} "
            f"people are needed for this difference. With {people}, the survey would find this "
            f"difference with probability {planned.power(aim, share):.2g}."
        )
        return
    said = []
    if proposal.domain.answered.is_ordered:
        name = f"{name} (proposed)"
        said = [*_about_mean(name, proposal.mechanism, proposal.n, aim, planned.among)]
    show(*said or ["For such values, it cannot be computed how many people a difference needs."])


def _show_groups(planned: PlannedAttribute, sizes: Sequence[int]) -> None:
    """Print the intervals of groups of people."""
    proposal, rows = planned.proposal, []
    for size in sorted(set(sizes)):
        width = proposal.widths(max(1, size // planned.among))
        difference = None if width.share is None else 2**0.5 * width.share
        widths = {"share_width": width.share, "mean_width": width.mean}
        rows.append({"people": size, **widths, "difference": difference})
    columns = [
        Column("people", "people in a group", "people"),
        *proposal.columns_of_widths,
        Column("difference", "interval of a difference", "width_in_points"),
    ]
    note = (
        "The last column is about two such groups: it is the interval of the difference between "
        "their shares. The survey will not show differences smaller than about half of this "
        "interval. Each group is estimated by itself."
    )
    show(Table(columns, rows, [note]))


def sentences(planned: PlannedAttribute) -> list[str]:
    """What to expect, as sentences."""
    proposal = planned.proposal
    best = proposal.best
    expected, level = best.expected, 100 * proposal.level
    out = []
    if expected.share is None:
        out.append(
            "There will be no intervals, because different shares would give the same reports. For "
            "intervals, choose another mechanism."
        )
    else:
        out.append(
            f"Expect a {level:.3g} % interval of {in_points(expected.share)} for the share of "
            f"{proposal.share_in_words}."
        )
        if not is_near_half(proposal.share):
            out.append(NEAR_HALF)
    if expected.mean is not None:
        ((low, high),) = proposal.domain.answered.ends
        whose = "" if proposal.domain.nonresponse is None else " of those who answer"
        out.append(
            f"For the mean{whose}, expect an interval {expected.mean:.3g} wide. Values go from "
            f"{low:.6g} to {high:.6g}."
        )
    if not proposal.meets or len(proposal.offers) > 1:
        out.append(_about_aim(planned))
    budget = planned.budget
    more = [] if budget is None else [f"raise the budget, now {budget:.10g}"]
    out += proposal.outlook(planned.among, *more)
    if planned.times > 1:
        out.append(
            f"These intervals are for one report of each person. A person sends {planned.times:,} "
            "reports, and the epsilon is split between them."
        )
    out += in_odds(best.odds.of_all(planned.times), planned.times)
    return out


def _about_aim(planned: PlannedAttribute) -> str:
    """How wide intervals should be, and whether that is why the epsilon is proposed."""
    proposal = planned.proposal
    points = 100 * proposal.width
    said = (
        f"The wanted interval of this share is at most {points:.3g} points wide, "
        f"\N{PLUS-MINUS SIGN}{points / 2:.3g} (--width {proposal.width:g})"
    )
    if proposal.best.expected.mean is not None:
        said += (
            f". The wanted interval of the mean is at most {points:.3g} % of the range of values"
        )
    if not proposal.meets:
        return f"{said}."
    epsilon = proposal.epsilon * planned.times
    return (
        f"{said}. Of the epsilons that were tried, {epsilon:.4g} is the smallest that reaches this "
        "width."
    )


def in_odds(odds: Odds, times: int = 1) -> list[str]:
    """What the reports of one person can tell somebody who sees them, as sentences."""
    seen = "the report" if times == 1 else f"all {times:,} reports of a person"
    sure = f"{at_most(100 * odds.surer(), 3)} %"
    which = "a sensitive answer" if odds.of_sensitive else "one of the two answers"
    out = [
        f"Somebody who first thought two answers equally likely, and then sees {seen}, can be "
        f"at most {sure} sure of {which}."
    ]
    if odds.of_sensitive:
        out.append("An answer that is not sensitive can become known.")
    if odds.delta:
        out = [
            f"Somebody who first thought two answers equally likely, then sees {seen} and guesses, "
            f"is right in at most {sure} of all cases. This limit includes the rare reports that "
            f"tell much more (delta = {odds.delta:.3g})."
        ]
    if odds.sent is not None and odds.sent_by_other is not None and odds.sent >= 1:
        sent, by_other = of_hundred(odds.sent / 100), of_hundred(odds.sent_by_other / 100)
        first, second = as_text(odds.answer), as_text(odds.other)
        out.append(
            f'One of the possible reports points to the answer "{first}". Of 100 people who '
            f'answer "{first}", {sent} send this report; of 100 who answer "{second}", {by_other} '
            "do."
        )
    return out


def about_epsilon() -> list[str]:
    """What epsilon means in odds, for a question with the answers yes and no."""
    out = ["What an epsilon means, for a question with the answers yes and no:"]
    for epsilon in _EXPLAINED:
        odds = odds_of(RandomizedResponse(Categorical(["yes", "no"]), epsilon))
        assert odds.sent is not None and odds.sent_by_other is not None
        of_two, of_rare = at_most(100 * odds.surer(), 2), at_most(100 * odds.surer(0.01), 2)
        out.append(
            f"  epsilon {epsilon:g}: of 100 people who answer yes, {odds.sent:.0f} report yes; of "
            f"100 who answer no, {odds.sent_by_other:.0f} report yes. Somebody who first thought a "
            f"yes as likely as a no can then be at most {of_two} % sure. Somebody who first gave "
            f"a yes 1 chance in 100 can be at most {of_rare} % sure. In both cases the odds grow "
            f"at most {at_most(odds.factor)} times."
        )
    out.append(
        "The epsilons of several questions, or of repeated surveys, add up. Whatever "
        "is computed from reports later, the odds do not become larger."
    )
    return out


def comments(planned: PlannedAttribute) -> list[str]:
    """The comment above the lines that complete a table of a study file."""
    proposal = planned.proposal
    people = plural(proposal.n * planned.among, "person", "people")
    few = f", of whom one in {planned.among} is asked" if planned.among > 1 else ""
    said = [f"Proposed by the command warner plan, for {people}{few}.", *sentences(planned)]
    return [line for sentence in said for line in wrap(sentence, _COMMENT)]
