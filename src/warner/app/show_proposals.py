"""Proposals in words: for the terminal, and as comments of the study that they complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap

from warner._core.figures import of_hundred
from warner.app.draft import Planned
from warner.app.terminal import Side, console, plural, table
from warner.design.proposal import Proposal
from warner.design.proposal_odds import Odds, odds_of
from warner.domains import Categorical
from warner.mechanisms import RandomizedResponse
from warner.results.tables import as_text

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
        whose = "" if proposal.domain.silence is None else " of those who answer"
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
