"""Comparisons, plans and audits on a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from warner._core.errors import IdentifiabilityError
from warner._core.text import of_hundred, visible
from warner.app.draft import Planned
from warner.app.terminal import Side, console, in_people, plural, table
from warner.design.audits import Audit
from warner.design.comparison import Comparison
from warner.design.planning import LOSS_NAMES, Plan, WantedDifference, can_simulate
from warner.design.privacy_words import Odds, odds_of
from warner.design.proposal import Proposal
from warner.domains import Categorical
from warner.mechanisms import Mechanism, RandomizedResponse
from warner.privacy.guarantees import compose
from warner.results.tables import as_text
from warner.theory import expected_loss

if TYPE_CHECKING:
    from rich.console import Console


WEIGHT = (
    "The weight of one report is the most people that a forged report can add to the count of a "
    "value by Inversion(). The default estimate can move by more."
)


def show_comparison(attribute: str, ranking: Comparison) -> None:
    """Print estimators from the least error to the largest."""
    reports = plural(ranking.n, "report", "reports")
    columns: dict[str, Side] = {
        "method": "left",
        "error": "right",
        "more than the best": "right",
        "best on": "right",
        "order holds on": "right",
    }
    rows = []
    for result in ranking.results:
        excess = f"{result.excess_error:.3g} +- {result.excess_margin:.1g}"
        rows.append(
            [
                repr(result.method),
                f"{result.error:.4g} +- {result.margin:.1g}",
                "" if result is ranking.best else excess,
                f"{result.best_share:.0%}",
                f"{result.holds * len(ranking.truths):.0f} of {len(ranking.truths)}",
            ]
        )
    out = console()
    tallies, truths = f"{ranking.runs} simulated tallies", len(ranking.truths)
    out.print(
        f"{attribute}: {ranking.loss_name}, mean over {tallies} of {reports}, from "
        f"{plural(truths, 'plausible truth', 'plausible truths')}",
        style="bold",
    )
    out.print(table(columns, rows))
    out.print(
        "The number after +- is a standard error. 'best on' is the share of the tallies on which "
        "no other method errs less. 'order holds on' counts the truths on which the method errs "
        "at least as much as the first; for the first, those on which no other errs less."
    )
    for truth in ranking.truths:
        least = next(iter(truth.errors))
        out.print(f"  Truth {truth.name}: {least} errs least, {truth.errors[least]:.4g}.")
    for text in ranking.advice.values():
        out.print(f"Advised against. {text}")
    _show_left_out(ranking.left_out)
    out.print()


def show_plan(attribute: str, ranking: Plan, chosen: Mechanism) -> None:
    """Print a ranking of mechanisms, with the study's own mechanism marked."""
    columns: dict[str, Side] = {
        "mechanism": "left",
        "expected error": "right",
        "compared with no protection": "right",
        "weight of one report": "right",
        "judged by": "left",
    }
    if ranking.no_protection.people is not None:
        columns["people needed"] = "right"
    if ranking.wanted is not None:
        columns[f"power with {ranking.n:,}"] = "right"
    rows = []
    is_listed = False
    for result in (*ranking.results, ranking.no_protection):
        is_own = result.mechanism is not None and result.mechanism.header == chosen.header
        is_listed = is_listed or is_own
        people = [f"{result.people:,}"] if result.people is not None else []
        people += [f"{result.power:.2f}"] if result.power is not None else []
        times = f"{result.error / ranking.no_protection.error:.3g} times"
        name = result.name + (" (in the study)" if is_own else "")
        margin = f" +- {result.margin:.1g}" if result.margin else ""
        error, weight = f"{result.error:.4g}{margin}", in_people(result.weight)
        rows.append([name, error, times, weight, result.judged, *people])
    sensitive = (
        ""
        if chosen.sensitive_mask is None
        else f", {int(chosen.sensitive_mask.sum())} of them sensitive"
    )
    out = console()
    out.print(
        f"{attribute}: {chosen.domain.size} values{sensitive}, epsilon {chosen.requested:.4g}, "
        f"{plural(ranking.n, 'person', 'people')}, {LOSS_NAMES[ranking.loss]}",
        style="bold",
    )
    out.print(table(columns, rows))
    if ranking.wanted is not None:
        _show_difference(out, ranking, ranking.wanted)
    if ranking.loss == "w1":
        out.print(
            "The error is that of the estimate that warner estimate makes, in the unit of the "
            "values. It is simulated at a made distribution with its mode at a quarter of the "
            "range; warner.plan(theta=...) takes another. The number after +- is a standard error."
        )
    elif not is_listed:
        out.print(_about_own(chosen, ranking))
    if can_simulate(chosen.domain) and ranking.loss != "w1":
        out.print(
            "This ranks by the unbiased estimate of each share, which warner estimate does not "
            "make of numbers and places. --loss w1 ranks by the estimate that it makes."
        )
    elif ranking.loss == "l1" and ranking.results[-1].error > 2:
        out.print(
            "Two distributions differ by at most 2. A mechanism with a larger expected error gives "
            "no useful estimate."
        )
    _show_left_out(ranking.left_out)


def _show_difference(out: Console, ranking: Plan, wanted: WantedDifference) -> None:
    """What the numbers of people are for, and what other budgets buy."""
    out.print(
        f"People needed, in {wanted.groups} groups of equal size together: to detect, with "
        f"probability {wanted.power:.4g} and by a test of size 5 %, that the share of a value "
        f"differs by {wanted.difference:.4g} between two groups. All values are equally frequent."
    )
    rows = [[f"{row.epsilon:.4g}", row.mechanism, f"{row.people:,}"] for row in ranking.by_epsilon]
    rows.append(["no protection", "", f"{ranking.no_protection.people:,}"])
    columns: dict[str, Side] = {"epsilon": "right", "mechanism": "left", "people needed": "right"}
    out.print(table(columns, rows))


def _about_own(chosen: Mechanism, ranking: Plan) -> str:
    """The line on the study's own mechanism where it is not one of those compared."""
    name = type(chosen).__name__
    if can_simulate(chosen.domain):
        return f"The {name} of the study is not ranked by this loss."
    uniform = np.full(chosen.domain.size, 1 / chosen.domain.size)
    try:
        error = expected_loss(chosen, uniform, ranking.n, ranking.loss)
    except IdentifiabilityError:
        return f"The {name} of the study has no unbiased estimate of shares to compare."
    if len(several := {type(single).__name__ for single in chosen.single_reports}) == 1:
        (single,), count = several, len(chosen.single_reports)
        if count > 1:
            return f"The {count} reports of {single} in the study have expected error {error:.4g}."
    return f"The {name} of the study has expected error {error:.4g}."


def _show_left_out(left_out: Mapping[str, str]) -> None:
    """Print why candidates are not in a ranking."""
    for name, reason in left_out.items():
        console().print(f"{name} is left out: {reason.removesuffix('.')}.")


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
            f"{', '.join(tiny)}: an epsilon below {_TINY:g} tells almost nothing. warner plan says "
            "how wide intervals are."
        )
    if large:
        said.append(
            f"{', '.join(large)}: an epsilon above {_LARGE:g} protects little. The reports of one "
            f"person can change the odds of an answer {math.exp(_LARGE):.0f} times and more."
        )
    return [visible(line) for line in said]


def show_audits(results: Mapping[str, Audit], samples: int | None) -> None:
    """Print the exact epsilon of every mechanism, and how it was computed."""
    columns: dict[str, Side] = {
        "attribute": "left",
        "mechanism": "left",
        "requested": "right",
        "exact epsilon": "right",
        "holds": "left",
        "weight": "right",
        "guarantee": "left",
        "how it was computed": "left",
    }
    rows = []
    for attribute, result in results.items():
        sampled = (
            ""
            if result.sampled_lower_bound is None
            else f"; {samples:,} samples show at least {result.sampled_lower_bound:.4f}"
        )
        rows.append(
            [
                attribute,
                result.mechanism.partition("(")[0],
                f"{result.requested:.10g}",
                f"{result.epsilon:.10g}",
                "yes" if result.holds else f"NO: {result.violation}",
                in_people(result.weight),
                result.guarantee,
                result.method + sampled,
            ]
        )
    out = console()
    out.print(table(columns, rows))
    out.print(WEIGHT)


# -----------------------------------------------------------------------------------------------
# Proposals in words: for the terminal, and as comments of the study that they complete.


_TELLS_NOTHING = 0.4  # width of the interval of a share
_COMMENT = 96  # characters of a line
_ABOUT_WIDTHS = (
    "Intervals are of 95 %, those of many labels on average over the labels. Their widths are "
    "averages over made distributions. For your answers they may be different, mostly by less "
    "than a fifth."
)
_EXPLAINED = (0.5, 1.0, 2.0)


def show_proposals(
    planned: Mapping[str, Planned], sizes: Sequence[int], fixed: Mapping[str, str], total: float
) -> None:
    """Print what is proposed for each attribute, and what epsilon means in odds."""
    for attribute, found in planned.items():
        _show(attribute, found, sizes)
    out = console()
    for attribute, stated in fixed.items():
        out.print(f"{attribute}: {stated}, as in the file.")
    out.print(_ABOUT_WIDTHS)
    out.print(f"A person who answers all questions spends epsilon {total:.4g} in all.")
    out.print("\n".join(about_epsilon()))


def _show(attribute: str, found: Planned, sizes: Sequence[int]) -> None:
    """Print one proposal."""
    proposal, out = found.proposal, console()
    values, people = proposal.domain.size, plural(proposal.n, "person", "people")
    out.print(f"{attribute}: {values:,} values, {people}", style="bold")
    lines = ", ".join(f"{key} = {as_text(value)}" for key, value in found.added.items())
    out.print(f"Proposed: {lines}.")
    has_mean = any(offer.expected.mean is not None for offer in proposal.offers)
    columns: dict[str, Side] = {"epsilon": "right", "mechanism": "left"}
    columns[_about_share(proposal)] = "right"
    if has_mean:
        columns["interval of the mean"] = "right"
    columns[f"people for {_points(proposal.width)}"] = "right"
    columns["odds change at most"] = "right"
    rows = []
    for offer in proposal.offers:
        mean = offer.expected.mean
        mark = " (proposed)" if offer is proposal.best else ""
        rows.append(
            [
                f"{offer.epsilon * found.times:.4g}{mark}",
                offer.name,
                _points(offer.expected.share),
                *([f"{mean:.3g} wide" if mean is not None else ""] if has_mean else []),
                "" if offer.people is None else f"{offer.people:,}",
                f"{offer.odds.of_all(found.times).factor:.3g} times",
            ]
        )
    out.print(table(columns, rows))
    for sentence in sentences(found):
        out.print(sentence)
    if sizes:
        _show_groups(proposal, sizes)
    out.print()


def _show_groups(proposal: Proposal, sizes: Sequence[int]) -> None:
    """Print the intervals of groups of people."""
    rows = []
    has_mean = proposal.best.expected.mean is not None
    for size in sorted(set(sizes)):
        found = proposal.widths(size)
        difference = None if found.share is None else 2**0.5 * found.share
        mean = [f"{found.mean:.3g} wide" if found.mean is not None else ""] if has_mean else []
        rows.append([f"{size:,}", _points(found.share), *mean, _points(difference)])
    columns: dict[str, Side] = {"people in a group": "right", _about_share(proposal): "right"}
    if has_mean:
        columns["interval of the mean"] = "right"
    columns["interval of a difference"] = "right"
    console().print(table(columns, rows))
    console().print(
        "The last column is of the difference of that share between two such groups: smaller "
        "differences than about half of it will not be seen. Each group is estimated alone."
    )


def sentences(planned: Planned) -> list[str]:
    """What to expect, as sentences."""
    proposal = planned.proposal
    best, share = proposal.best, 100 * proposal.share
    found, level = best.expected, 100 * proposal.level
    of = "the largest values, which" if proposal.domain.answered.is_ordered else "a value that"
    out = []
    if found.share is None:
        out.append("The reports bound no share, so there will be no intervals.")
    else:
        out.append(
            f"Expect a {level:.3g} % interval of {_points(found.share)} for the share of {of} "
            f"{share:.3g} % of the people have."
        )
    if found.mean is not None:
        ((low, high),) = proposal.domain.answered.ends
        whose = "" if proposal.domain.nonresponse is None else " of those who answer"
        out.append(
            f"Expect an interval {found.mean:.3g} wide for the mean{whose}, of values from "
            f"{low:.6g} to {high:.6g}."
        )
    if best.people is not None:
        out.append(f"{best.people:,} people are enough for {_points(proposal.width)}.")
    if not proposal.meets:
        few = proposal.domain.size <= 2
        out.append(
            "These intervals are wider than wanted. Ask more people"
            + (", or allow a larger epsilon." if few else ", or ask for fewer values.")
        )
        if found.share is not None and found.share > _TELLS_NOTHING:
            out.append("They tell next to nothing: a study of this size is not worth its budget.")
    if planned.times > 1:
        out.append(
            f"This is of one report of each person. A person sends {planned.times:,}, which share "
            "the epsilon."
        )
    out += in_odds(best.odds.of_all(planned.times), planned.times)
    return out


def in_odds(odds: Odds, times: int = 1) -> list[str]:
    """What the reports of one person can tell somebody who sees them, as sentences."""
    seen = "the report" if times == 1 else f"all {times:,} reports of a person"
    sure = f"{100 * odds.surer():.3g} %"
    which = "a sensitive one" if odds.of_sensitive else "one of them"
    out = [
        f"A neighbour who sees {seen}, and thought two answers equally likely, can be {sure} sure "
        f"of {which} at most."
    ]
    if odds.of_sensitive:
        out.append("An answer that is not sensitive can be shown.")
    if odds.delta:
        out = [
            f"A neighbour who sees {seen}, thought two answers equally likely and guesses between "
            f"them, is right in {sure} of cases at most. With delta = {odds.delta:.3g} rare "
            "reports can tell much more."
        ]
    if odds.sent is not None and odds.sent_by_other is not None and odds.sent >= 1:
        sent, by_other = of_hundred(odds.sent / 100), of_hundred(odds.sent_by_other / 100)
        out.append(
            f"Of 100 people who answer {as_text(odds.answer)}, {sent} send the report that speaks "
            f"most for it; of 100 who answer {as_text(odds.other)}, {by_other} send it too."
        )
    return out


def about_epsilon() -> list[str]:
    """What epsilon means in odds, for a question with the answers yes and no."""
    out = ["What an epsilon means, for a question with the answers yes and no:"]
    for epsilon in _EXPLAINED:
        odds = odds_of(RandomizedResponse(Categorical(["yes", "no"]), epsilon))
        out.append(f"  epsilon {epsilon:g}: {_explained(odds)}")
    out.append(
        "Epsilons of several questions add up, and so do those of repeated surveys. No later "
        "computation makes the odds larger."
    )
    return out


def _explained(odds: Odds) -> str:
    """One epsilon in plain words."""
    assert odds.sent is not None and odds.sent_by_other is not None
    return (
        f"of 100 people who answer yes, {odds.sent:.0f} report yes; of 100 who answer no, "
        f"{odds.sent_by_other:.0f}. Who thought 50:50 can be {100 * odds.surer():.0f} % sure at "
        f"most, who thought 1 in 100 {100 * odds.surer(0.01):.2g} %: {odds.factor:.2g} times the "
        "odds."
    )


def comments(found: Planned) -> list[str]:
    """The comment above the lines that complete a table of a study file."""
    proposal = found.proposal
    said = [f"Proposed by warner plan for {plural(proposal.n, 'person', 'people')}."]
    said += sentences(found)
    return [line for sentence in said for line in wrap(sentence, _COMMENT)]


def _about_share(proposal: Proposal) -> str:
    """The title of the column of widths of a share."""
    return f"interval of a share of {100 * proposal.share:.3g} %"


def _points(width: float | None) -> str:
    """The width of an interval in percentage points."""
    return "none" if width is None else f"{100 * width:.3g} points"
