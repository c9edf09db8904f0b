"""Estimates as rows: for tables, JSON and data frames."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from warner._core.checks import choice, confidence_level
from warner._core.errors import IdentifiabilityError
from warner._core.extras import Deferred
from warner._core.survey_design import INTERVALS_OF_DRAWN
from warner._core.table import Column, Table, as_text
from warner._core.text import (
    decimals_of_number,
    decimals_of_percent,
    lead,
    number,
    outwards,
    percent,
    percent_interval,
    visible,
)
from warner.channels import LikelihoodOperator
from warner.domains import Domain
from warner.estimators.base import LikelihoodData, Status
from warner.mechanisms.headers import is_of_package
from warner.metrics import project
from warner.results.from_tally import TOGETHER
from warner.results.intervals import (
    DESIGN_EFFECT,
    OF_REPORTS,
    STANDARD_ERROR,
    TARGETS,
    at_every_look,
    available_kind,
    effect_of_design,
    error_of_share,
    interval_column,
    intervals_of_table,
    normal_quantile,
    share_columns,
    share_row,
    standard_errors,
    with_plan,
)
from warner.results.linear_limits import UnbiasedShares
from warner.results.solution import Solution

if TYPE_CHECKING:
    from warner.results import conditional, summaries
else:  # imported when they are first used
    conditional, summaries = map(
        Deferred, ("warner.results.conditional", "warner.results.summaries")
    )

_MOST_VALUES, _MOST_ROWS = 5, 100  # of groups in a notebook: values of each, rows in all
_TELLS_NOTHING = 0.5  # the mean width of intervals, as a part of all that could be
_WORTH = 0.05  # half the width that a survey is mostly asked for


# What an interval promises, in one clause of the sentence under a table.
_PROMISES = {
    "average": (
        "on average over the answers they are right as often as the percentage says, but the "
        "intervals of the largest shares are wrong more often"
    ),
    "simultaneous": "they hold for all answers at once",
    "anytime": "each holds however often you look while reports come in",
}
_EACH_ALONE = (
    "Each group is estimated from its own reports alone, and its intervals hold for this group."
)
_SAME_SHARE = 5e-4  # of shares that are the same in a table
ALL_PEOPLE = "All people are estimated from all reports together."
_PROMISE = "of many such intervals, some miss"
_LESS_OFTEN = "less often where shares of neighbouring numbers differ much"
_OF_NUMBERS = f"each holds for its own numbers, but {_LESS_OFTEN}"
# The same for readers who ask how the intervals were made.
INTERVALS = {
    "score": (
        "Each interval is right for its own answer, also for an answer that was picked because its "
        "share is large."
    ),
    "wald": (
        "Each interval is around an estimate that is right on average (unbiased). It holds for one "
        "answer, not for all at once."
    ),
    "likelihood": (
        "Each interval consists of the shares that a likelihood-ratio test does not reject."
    ),
    "average": (
        "On average over the values, the intervals are right as often as the percentage says. "
        "But where shares fall like 1, 1/2, 1/3, the interval of the largest share is wrong "
        "in up to half of the surveys. Intervals of kind 'score' hold for each value."
    ),
    "simultaneous": (
        "The intervals are around estimates that are right on average (unbiased). They hold for "
        "all values at once."
    ),
    "anytime": (
        "The intervals are around estimates that are right on average (unbiased). Each holds for "
        "its value however often you look while reports come in."
    ),
    "bootstrap": (
        "Each interval comes from repeated simulation (the bootstrap). It holds for one answer, "
        "not for all at once."
    ),
    "posterior": (
        "Each interval comes from a model in which shares change smoothly, with peaks at round "
        "numbers, and is wider where the reports say little. It holds for one value, not for all "
        "values at once."
    ),
}
NO_INTERVALS = "There are no intervals, because different shares would give the same reports."
PEOPLE = {
    "population": "the population that these people come from",
    "respondents": "these respondents",
}


def reports_of(n: int, simulated: bool) -> str:
    """The number of reports in words, with the mark of a simulation.

    >>> reports_of(1200, True)
    '1,200 simulated reports'
    """
    return f"{n:,} {'simulated ' * simulated}report{'s' * (n != 1)}"


def about_steadied(results: Iterable[Any]) -> str:
    """The sentence on shares of groups that differ from the unbiased ones, as differences do not.

    "" where they are the unbiased shares, kept within their bounds.
    """
    from warner.estimators import EmpiricalBayes

    moved = [result for result in results if _is_moved(result)]
    if not moved:
        return ""
    when = "from unbiased estimates"
    if all(isinstance(result.estimator, EmpiricalBayes) for result in moved):
        when = "before shares are moved closer to each other"
    return f"Differences between groups are computed {when}, so they need not match these shares."


def _is_moved(result: Any) -> bool:
    """Whether shares are others than the unbiased ones, kept within their bounds."""
    if result.fit.probabilities is None:
        return False
    try:
        unbiased = project(result.data.channel.invert(result.data.weights))
    except IdentifiabilityError:
        return False
    return bool(np.abs(unbiased - result.probabilities).max() > _SAME_SHARE)


def counted_in_words(result: Any) -> str:
    """The reports of an estimate in words, and how people were drawn where a design says it."""
    reports, survey = reports_of(result.n, result.data.simulated), result.data.survey
    return reports if survey is None else f"{reports}, {survey.drawn.text}"


def asked_in_words(data: LikelihoodData) -> str:
    """How many people were asked all attributes of a joint table; "" where all people were."""
    every, count = data.n_of_all, len(data.domain.attributes)
    if every == data.n:
        return ""
    words = {2: "both", 3: "all three", 4: "all four"}.get(count, f"all {count}") + " questions"
    some = f"{data.n - every:,} only {'one' if count == 2 else 'some'} of them"
    if data.reports_per_person > 1:
        return f"{every:,} are about {words}, {some}"
    people = f"{every:,} people were" if every > 1 else ("1 person was" if every else "nobody was")
    return f"{people} asked {words}, {some}"


def counts_people(data: LikelihoodData) -> bool:
    """Whether shares times n count people who reported: all have one weight and all questions."""
    survey = data.survey
    is_weighted = survey is not None and survey.drawn.design.weights is not None
    return not is_weighted and not asked_in_words(data)


def has_paper(channel: LikelihoodOperator) -> bool:
    """Whether some of the people randomised their answers themselves."""
    return any(of_people.is_on_paper for of_people in channel.groups())


def about_paper(result: Any) -> list[str]:
    """What is to be said of shares that a design for paper gave; [] of others."""
    channel = result.data.channel
    if not has_paper(channel):
        return []
    hint = [result.hint] if result.hint else []
    if result.groups is not None or not channel.is_on_paper:
        return [*hint, FOLLOWED]
    from warner.results.likelihood_limits import Profile

    # With a survey design the likelihood is weighted, and its ratio has another law; so it has
    # where a person sent several reports.
    has_law = result.data.survey is None and result.data.reports_per_person == 1
    test = Profile(result.data).fit_test if has_law else None
    is_of_cards = len(list(channel.groups())) > 1
    return [
        *hint,
        *below_zero(result),
        *([] if test is None else [test.text_of_cards if is_of_cards else test.text]),
        FOLLOWED,
    ]


def below_zero(result: Any) -> list[str]:
    """What is said of a value for which fewer people speak than a card makes; [] of others."""
    channel = result.data.channel
    if result.groups is not None or not channel.is_on_paper:
        return []
    unbiased = channel.invert(result.data.weights)
    outside = int(np.argmin(unbiased))
    if unbiased[outside] >= 0:
        return []
    value = as_text(result.domain.labels[outside])
    is_plain = not (result.hint or result.doubt) and len(list(channel.groups())) == 1
    few = (
        f'Fewer people said what points to "{value}" than the card alone makes, which makes the '
        "interval look short. It can be chance, or people who always say the same word."
    )
    return [
        f"The calculation gives {100 * unbiased[outside]:.1f} % for {value}. The table shows the "
        "nearest possible share.",
        *[few] * is_plain,
    ]


IF_FOLLOWED = (
    "All of this assumes that people followed the card. If some people always say the same word "
    'to protect themselves, such as "no", the estimate is wrong.'
)
FOLLOWED = (
    f"{IF_FOLLOWED} Some designs with two groups of people, such as extended-crosswise, can show "
    "that people do so."
)


def rows(
    solution: Solution,
    level: float = 0.95,
    target: str = "population",
    kind: str | None = None,
) -> list[dict[str, Any]]:
    """The shares of all values: see :meth:`warner.Estimate.rows`."""
    if solution.fit.probabilities is None:
        return []
    bounds, alone = intervals_of_table(solution, level, target, kind)
    survey = solution.data.survey
    effects = [None] * len(bounds) if survey is None else solution.data.design_effects
    errors = standard_errors(solution, target, kind).tolist()
    each = solution.domain.labels, solution.probabilities, bounds, errors, alone, effects
    shares = zip(*each, strict=True)
    # Where most people were asked a part of the values, the share times n is no number of people.
    count = {"people_about": None} if asked_in_words(solution.data) else {}
    return [
        share_row(value, share, limits, solution.n)
        | count
        | error_of_share(error)
        | {"shrunk_from": None if np.isnan(unbiased) else float(unbiased)}
        | effect_of_design(effect)
        for value, share, limits, error, unbiased, effect in shares
    ]


def means(
    solution: Solution,
    level: float = 0.95,
    target: str = "population",
    kind: str | None = None,
) -> list[dict[str, float]]:
    """The mean for each coordinate of the values: see :meth:`warner.Estimate.means`."""
    mean = summaries.mean(solution)
    coordinates = mean if isinstance(mean, tuple) else (mean,)
    bounds = [value.interval(level, target, at_every_look(kind)) for value in coordinates]
    return [
        {"estimate": float(value), "low": float(low), "high": float(high)}
        for value, (low, high) in zip(coordinates, bounds, strict=True)
    ]


def groups_to_json(result: Any, level: float, target: str, kind: str | None) -> dict[str, Any]:
    """The estimates of groups as JSON data."""
    used = result.interval_kind(target, kind)
    return {
        "format": "warner-groups",
        "schema": 1,
        "columns": list(result.names),
        "pool": result.pool,
        "concentration": result.groups.concentration,
        "n": result.n,
        **({"simulated": True} if result.data.simulated else {}),
        **_survey(result.data),
        "interval": {
            "kind": used,
            "level": confidence_level(level),
            "target": target,
            "holds": "on average over groups" if used == "posterior" else "for every group",
        },
        "domain": result.domain.spec(),
        "shares": result.groups.rows(level, target, kind),
        **_given(result, level, target, at_every_look(kind)),
    }


def _survey(data: LikelihoodData) -> dict[str, Any]:
    """What JSON data say of the design of a survey; {} without one."""
    if data.survey is None:
        return {}
    about = {"design_effect": data.design_effect, "effective_n": data.effective_n}
    return data.survey.drawn.to_json() | about


def to_json(
    solution: Solution,
    level: float = 0.95,
    target: str = "population",
    kind: str | None = None,
) -> dict[str, Any]:
    """The estimate as JSON data: see :meth:`warner.Estimate.to_json`."""
    keys, planned = conditional.key_rows(solution, level, target), with_plan(kind)[1]
    return {
        "format": "warner-estimate",
        "schema": 1,
        "attribute": solution.attribute,
        "method": solution.method,
        "method_text": solution.estimator.summary,
        "n": solution.n,
        **(
            {"reports_per_person": solution.reports_per_person}
            if solution.reports_per_person > 1
            else {}
        ),
        **({"simulated": True} if solution.data.simulated else {}),
        **_survey(solution.data),
        "status": solution.status.name.lower(),
        "status_text": solution.status.value,
        "gap": solution.gap,
        "iterations": solution.iterations,
        "log_likelihood": solution.log_likelihood,
        "likelihood": solution.fit.likelihood,
        "unique": solution.fit.unique,
        **(
            {} if solution.bic is None else {"components": solution.components, "bic": solution.bic}
        ),
        "interval": {
            "kind": available_kind(solution, target, kind),
            **({} if planned is None else {"planned": planned}),
            "level": level,
            "target": choice("target", target, TARGETS),
        },
        "domain": solution.domain.spec(),
        "shares": rows(solution, level, target, kind),
        **_unbiased(solution, target, kind),
        **({} if solution.fit.mean is None else {"mean": means(solution, level, target, kind)}),
        **({"keys": keys} if keys else {}),
        **_given(solution, level, target, at_every_look(kind)),
    }


def _unbiased(solution: Solution, target: str, kind: str | None) -> dict[str, Any]:
    """The unbiased estimates and their standard errors; {} where intervals are not made of them."""
    errors = standard_errors(solution, target, kind)
    if np.isnan(errors).any():
        return {}
    shares = solution.data.channel.invert(solution.data.weights)
    each = zip(solution.domain.labels, shares.tolist(), errors.tolist(), strict=True)
    return {"unbiased": [{"value": v, "estimate": t, "error": error} for v, t, error in each]}


def _given(result: Any, level: float, target: str, kind: str | None) -> dict[str, Any]:
    """The share of people who answered and the shares among them; {} without nonresponse."""
    each = [
        dict(zip(result.names, key, strict=True))
        | given.row(level, target, kind)
        | {"shares": given.rows(level, target, kind)}
        for key, given in conditional.those_who_answered(result)
    ]
    return {"answered": each if result.groups is not None else each[0]} if each else {}


def estimate_table(
    result: Any, level: float = 0.95, target: str = "population", kind: str | None = None
) -> Table:
    """The table of an estimate: see :meth:`warner.Estimate.table`."""
    about, simulated = title(result), result.data.simulated
    how = [] if result.data.survey is None else [INTERVALS_OF_DRAWN]  # of groups
    if result.groups is None:
        how = explained(result, available_kind(result, target, kind))
    last = [unusual_end(result), f"WARNING: {result.doubt}" if result.doubt else ""]
    last += [about_clipped(result)] if result.groups is None else []
    if result.groups is None and result.fit.keys is not None:
        keys = conditional.key_rows(result, level, target)
        mean = (
            interval_column(level, "number", "mean_low", "mean_high"),
            Column("mean", unit="number"),
        )
        columns = [*share_columns(level), mean[1], mean[0], Column("status", priority=2)]
        return Table(columns, keys, last, about, simulated, how)
    if result.groups is None and result.fit.probabilities is None:
        columns = [Column("estimate", unit="number"), interval_column(level, "number")]
        return Table(columns, means(result, level, target, kind), last, about, simulated, how)
    if result.groups is not None:
        are_alone = {status.name for status in result.groups.statuses} == {"ALONE"}
        columns = [
            *(Column(name) for name in result.names),
            *share_columns(level, None),
            STANDARD_ERROR,
            Column("reports", unit="people", priority=1),
            *([] if are_alone else [Column("status", priority=2)]),
            *_of_design(result),
        ]
        used = result.interval_kind(target, kind)
        listed = result.rows(level, target, kind)
        whose = about_intervals(used, target)
        if used == "posterior":
            whose = f"The intervals are for {PEOPLE[target]}, and {result.groups.average_text}."
        of_groups = [row for row in listed if row["status"] != TOGETHER]
        notes = [about_combinations(result), whose, tells_nothing(result, of_groups)]
        members = [member for member in result.groups.members if member is not None]
        if not how:
            of_members = [explained(m, available_kind(m, target, kind)) for m in members]
            how = list(dict.fromkeys(chain(*of_members)))
        notes += [about_shares_of_numbers(members, kind), about_steadied(members)]
        notes += [ALL_PEOPLE] if result.groups.last else []
        if result.groups.time is not None:
            notes.append(result.groups.spent_text)
        notes += about_paper(result)
        return Table(columns, listed, [*notes, *last], about, simulated, how)
    shares = rows(result, level, target, kind)
    if any(row["shrunk_from"] is not None for row in shares):
        shrunk = [Column("shrunk_from", "shrunk from", "share", priority=1)]
    else:
        shrunk = [Column("shrunk_from", unit="data")]
    used = available_kind(result, target, kind)
    whose = about_intervals(used, target, used == "posterior" and result.has_posterior_intervals)
    notes = [whose, about_own_method(result, used), _mean(result, level, target)]
    notes += [tells_nothing(result, shares), drawn_to_the_middle([result]), about_bins([result])]
    notes += [design_effect_in_words(result), *about_paper(result), *last]
    counted = "people" if counts_people(result.data) else None
    columns = [*share_columns(level, counted, used), STANDARD_ERROR, *_of_design(result), *shrunk]
    return Table(columns, shares, notes, about, simulated, how)


def _of_design(result: Any) -> list[Column]:
    """The column of design effects; none without a survey design."""
    return [] if result.data.survey is None else [DESIGN_EFFECT]


def tells_nothing(result: Any, rows: Sequence[Mapping[str, Any]]) -> str:
    """The sentence on reports that tell almost nothing, by the rows of their table; else ""."""
    data, z, domain = result.data, normal_quantile(0.95), result.domain.answered
    needed = "To see how many people are needed, run: warner plan"
    if result.groups is None and domain.dimension == 1 and domain.points is not None:
        # Single shares of many numbers are known badly where the mean is known well, and under a
        # prior of smoothness they have narrow intervals whatever the reports say. So numbers are
        # judged by the information on the mean if all people had the least or the largest number.
        ends = np.zeros((result.domain.size, 2))
        ends[[domain.points.argmin(), domain.points.argmax()], [0, 1]] = 1.0
        low, high = np.stack([data.channel.matvec(end) for end in ends.T])
        seen = low + high > 0
        rows_in_all = data.n * data.channel.rows_per_report
        information = rows_in_all * float(((high - low)[seen] ** 2 * 2 / (low + high)[seen]).sum())
        error = z / math.sqrt(max(information, 1e-300))
        width = 2 * error
        if width > _TELLS_NOTHING and result.has_posterior_intervals:
            # The interval of the mean stands near the sentence, which must not say less than it.
            row = means(result)[0]
            width = min(width, (row["high"] - row["low"]) / float(np.ptp(domain.points)))
        limits = f"\N{PLUS-MINUS SIGN}{min(50 * width, 50):.0f} %"
        about, unit = f"they give the mean to {limits} of the range at best", " %"
    elif rows and result.has_intervals:
        if few := _groups_that_tell_nothing(result, rows):
            return few
        width = float(np.mean([row["high"] - row["low"] for row in rows]))
        about, unit = f"the intervals are {100 * width:.0f} points wide on average", " points"
        error = 0.0
    else:
        return ""
    if width <= _TELLS_NOTHING:
        return ""
    if result.groups is None:
        # What is needed follows from the channel: of few reports, the shares are not known.
        even = np.full(data.channel.shape[1], 1 / data.channel.shape[1])
        error = error or z * float(np.sqrt(data.channel.variance(even) / data.n).mean())
        effect, drawn = data.design_effect, ""
        if data.survey is not None:
            drawn = f" if people are drawn with this design effect of {effect:.3g}"
            if data.degrees < _FEW_DEGREES:  # the effect is not known, and tables do not say it
                effect, drawn = 1.0, " if people are drawn one by one, and more with clusters"
        reports = float(f"{data.n * effect * (error / _WORTH) ** 2:.2g}")
        goal = f"\N{PLUS-MINUS SIGN}{100 * _WORTH:.0f}{unit}"
        needed = f"For intervals of {goal}, about {reports:,.0f} reports are needed{drawn}"
    return f"These reports tell almost nothing: {about}. {needed}."


def drawn_to_the_middle(results: Iterable[Any]) -> str:
    """The sentence on means of one result, or those of groups, that a smooth shape makes too high
    or too low: of few people, or of people who are mostly at one end of the range; else "".
    """
    of_numbers = [one for one in results if one.domain.answered.is_numeric]
    if not of_numbers:
        return ""
    from warner.estimators import LogSpline
    from warner.results.rough_posterior import tell_sections

    of_numbers = [one for one in of_numbers if isinstance(one.estimator, LogSpline)]
    few = [one.n for one in of_numbers if not tell_sections(one.data, one.fit.shares)]
    if not few:
        # A mean of numbers in bins is never far from the unbiased one.
        points = [one for one in of_numbers if not one.data.channel.has_bins]
        return _MOST_AT_ONE_END if any(max(_near_ends(p)) > _MOST for p in points) else ""
    which = "so few reports" if len(of_numbers) == 1 else f"{reports_of(max(few), False)} or fewer"
    return (
        f"From {which}, means and quantiles are on average estimated too near to the middle of the "
        "range. Their intervals allow for this, so compare groups by the intervals."
    )


def about_bins(results: Iterable[Any]) -> str:
    """What is supposed of numbers in bins, by the domain that results share; "" without bins."""
    result = next((one for one in results if one.domain.answered.is_binned), None)
    if result is None:
        return ""
    domain, channel = result.domain.answered, result.data.channel
    if not any(group.has_bins for group in channel.groups()):
        return (
            f"Reports tell only about the {domain.size:,} bins, not where in its bin a number "
            "lies. Means and quantiles are estimated as if numbers were spread evenly over each "
            "bin."
        )
    sentences = [
        "Shares and quantiles are estimated as if numbers were spread evenly over each of the "
        f"{domain.size:,} bins. Where many people gave the same number, these estimates can be "
        "wrong by more than their intervals say.",
        "Means have no such error." if channel.has_bins else "",
        f"For whole numbers, use {domain.integers}." if domain.integers else "",
    ]
    return " ".join(filter(None, sentences))


# Measured, with four fifths of the people at the first of 40 numbers: of 800 reports by one
# standard error, of 3,000 by 0.8, and of 12,000 by 0.5.
_MOST_AT_ONE_END = (
    "Most people are near one end of the range. Means are then on average estimated too near to "
    "the middle, by up to a standard error. Their intervals allow for this. The method named "
    '"mean" gives means without this error.'
)


def _near_ends(result: Any) -> tuple[float, float]:
    """The shares of those who answered in the first and in the last tenth of the values."""
    size = result.domain.answered.size
    given = result.fit.probabilities[:size]
    near, whole = max(1, size // 10), float(given.sum())
    if whole <= 0:  # unbiased shares, of people who nearly all gave no answer
        return 0.0, 0.0
    return float(given[:near].sum()) / whole, float(given[-near:].sum()) / whole


def _groups_that_tell_nothing(result: Any, rows: Sequence[Mapping[str, Any]]) -> str:
    """The sentence on some groups, but not all, whose intervals tell almost nothing; else ""."""
    widths: dict[tuple[Any, ...], list[float]] = {}
    people: dict[tuple[Any, ...], int] = {}
    for row in rows if result.groups is not None else ():
        if row["reports"]:
            key = tuple(row[name] for name in result.names)
            widths.setdefault(key, []).append(row["high"] - row["low"])
            people[key] = row["reports"]
    wide = [key for key, of_group in widths.items() if np.mean(of_group) > _TELLS_NOTHING]
    if not wide or len(wide) == len(widths):
        return ""
    sizes = sorted(people[key] for key in wide)
    between = f"{sizes[0]:,}" if sizes[0] == sizes[-1] else f"{sizes[0]:,} to {sizes[-1]:,}"
    many = f"{between} reports each" if len(sizes) > 1 else ""
    return (
        f"{len(wide):,} of {len(widths):,} groups tell{'s' * (len(wide) == 1)} almost nothing: "
        f"with {many or reports_of(sizes[0], False)}, an interval is more than "
        f"{100 * _TELLS_NOTHING:.0f} points wide. Put small groups together."
    )


def notebook_groups(result: Any) -> Table:
    """The table of groups with the rows that a notebook shows: the largest shares."""
    series = result.groups.time is not None
    most = max(1, min(_MOST_VALUES, _MOST_ROWS // len(result))) if series else _MOST_VALUES
    whole = estimate_table(result)
    table = of_largest(result, whole, most)
    count = len(table.rows)
    notes = list(table.notes)
    if count > _MOST_ROWS and result.fit.probabilities is not None:
        notes.insert(0, f"The first {_MOST_ROWS} of {count:,} rows are shown.")
        table = replace(table, rows=table.rows[:_MOST_ROWS])
    if len(table.rows) < len(whole.rows):
        notes[0] += " To see all, call to_frame()."
    return replace(table, notes=notes)


def of_largest(result: Any, table: Table, most: int) -> Table:
    """The rows of the values with the largest shares in all groups together."""
    size = result.domain.size
    blocks = len(result) + len(result.groups.last)
    if result.fit.probabilities is None or len(table.rows) != size * blocks:
        return table  # of means and quantiles
    people = np.where(result.sizes[:, None] > 0, result.probabilities, 0.0).T @ result.sizes
    shown = np.argsort(-people, kind="stable")[:most].tolist()
    # Over time the rows of a value stand together, so that they read as a series.
    if result.groups.time is not None:
        rows = [row for x in shown for row in table.rows[x::size]]
    else:
        rows = [row for i, row in enumerate(table.rows) if i % size in shown]
    few = f"{most} values with the largest shares" if most > 1 else "value with the largest share"
    notes = [f"Of {size:,} values, this table shows the {few}."] if size > most else []
    return replace(table, rows=rows, notes=[*notes, *table.notes])


def title(result: Any) -> str:
    """The first line of a table: the question, the number of reports and of groups."""
    reports = reports_of(result.n, result.data.simulated)
    if result.groups is not None:
        pooled = "" if result.pool == "none" else f", pool {result.pool}"
        reports += f" of {len(result):,} groups{pooled}"
    elif result.reports_per_person > 1:
        people = result.data.least_people
        reports += f" of {people:,} {'person' if people == 1 else 'people'} or more"
    if result.groups is None and (words := asked_in_words(result.data)):
        reports += f" ({words})"
    if result.data.survey is not None:
        reports += f", {result.data.survey.drawn.text}"
    about = ", ".join(filter(None, [result.attribute, result.group]))
    return f"{lead(about or 'value')} {reports}"


def about_own_method(result: Any, kind: str) -> str:
    """The sentence on intervals that are not those of somebody's own method; else ""."""
    method = type(result.estimator)
    if is_of_package(method) or kind not in OF_REPORTS or result.fit.probabilities is None:
        return ""
    return f"The intervals are those of the unbiased estimate, not of {method.__name__}."


def about_shares_of_numbers(results: Iterable[Any], kind: str | None = None) -> str:
    """The sentence on intervals of shares that suppose that neighbours are alike; else ""."""
    if kind not in (None, "posterior") or not any(one.has_posterior_intervals for one in results):
        return ""
    return f"Intervals of shares hold {_LESS_OFTEN}. Intervals of kind 'score' hold there, too."


def about_intervals(kind: str, target: str, of_numbers: bool = False) -> str:
    """The sentence under a table that says whom its intervals are for, and what they promise."""
    if kind == "none":
        return NO_INTERVALS
    if kind == "own":
        return f"{_EACH_ALONE} The intervals are for {PEOPLE[target]}."
    promise = _PROMISES.get(kind, _OF_NUMBERS if of_numbers else _PROMISE)
    return f"The intervals are for {PEOPLE[target]}; {promise}."


_USUAL = (Status.EXACT, Status.CONVERGED, Status.COMPLETED)


def about_combinations(result: Any) -> str:
    """The sentence that says how one of several questions is estimated alone."""
    names = list(result.domain.attributes or {})
    if result.attribute is not None or len(names) < 2:
        return ""
    alone = f'warner.estimate(tally, attributes=["{names[0]}"])'
    return f"These are combinations of {' and '.join(names)}. For one question alone: {alone}."


def unusual_end(result: Any) -> str:
    """How the method ended, where readers have to know it; "" where it ended as it should."""
    unique = result.unique or ""
    several = f"The best fit is {unique}." if unique.startswith("not unique") else ""
    ended = "" if result.status in _USUAL else f"{_ended(result)} {_about_gap(result)}"
    return f"{ended.strip()} {several}".strip()


def about_clipped(result: Any) -> str:
    """The sentence on numbers nearly all at one limit, where others are moved there; else ""."""
    domain = result.domain.answered
    if not getattr(domain, "clip", False) or domain.size < _FEWEST_BINS:
        return ""
    if result.fit.probabilities is None:
        return ""
    share, limit = max(zip(_near_ends(result), (domain.low, domain.high), strict=True))
    if share < _NEARLY_ALL:
        return ""
    return (
        f"WARNING: About {min(100 * share, 100):.0f} % of the answers are near the limit "
        f"{limit:g}, and answers beyond a limit were taken as this limit, because clip is true. "
        "So most answers may lie outside the limits. Perhaps people answered in another unit than "
        "the study declares."
    )


_FEWEST_BINS = 4
# Of the answers in a tenth of the values at one end.
_NEARLY_ALL, _MOST = 0.8, 0.5


def explained(result: Any, kind: str) -> list[str]:
    """How the shares and the intervals were computed, for readers who ask."""
    unique = "" if result.unique is None else f"The best fit is {result.unique}."
    method = f"Method: {result.method}. {method_and_status(result)}"
    parts = [how_made(result, kind), method, _about_gap(result), unique]
    return [" ".join(filter(None, parts))]


def how_made(result: Any, kind: str) -> str:
    """How intervals of this kind were made; "" where there are no intervals."""
    made = INTERVALS.get(kind, "")
    return made if result.data.survey is None or not made else f"{made} {INTERVALS_OF_DRAWN}"


def method_and_status(result: Any) -> str:
    """What the method computes, and how the fit ended, as sentences."""
    return f"{_sentence(result.estimator.summary)} {_ended(result)}".strip()


def _ended(result: Any) -> str:
    """How the fit ended, as a sentence, with the option that lets it end as it should."""
    more, steps = "", result.iterations
    if result.status is Status.STOPPED and steps is not None:
        more = f", after {steps:,} step{'s' * (steps != 1)}"
    if result.status is Status.STEP_LIMIT:
        options = vars(result.estimator).keys() & {"gap", "tolerance"}
        more = f": pass a larger {options.pop()}" if options else ""
    return _sentence(f"{result.status}{more}")


def _about_gap(result: Any) -> str:
    """How much better the best fit can be, as a sentence; "" where that is not known."""
    if result.gap is None:
        return ""
    much = f"{result.gap:.1e} in log-likelihood for each report"
    if result.status is Status.CONVERGED:
        return f"The gap is {much}."
    return f"The best fit is better by at most {much} (the gap)."


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


_FEW_DEGREES = 8  # of freedom, with which a variance is known within about a half


def design_effect_in_words(result: Any) -> str:
    """The sentence on what the design of a survey costs; "" without one."""
    if result.data.survey is None:
        return ""
    if result.data.degrees < _FEW_DEGREES:
        return "There are too few clusters to say how much precision the survey design costs."
    return (
        f"Design effect {result.data.design_effect:.3g}: because of the survey design, these "
        f"people tell as much as {result.data.effective_n:,.0f} people drawn one by one."
    )


def _mean(solution: Solution, level: float, target: str) -> str:
    """The mean of numbers with its interval, in words; nothing for labels and places."""
    if solution.domain.dimension != 1 or solution.domain.points is None:
        return ""
    if solution.normal is not None:  # the mean of pooled shares is wrong
        return ""
    if has_summaries(solution):
        return f"Mean {in_brackets({**means(solution, level, target)[0], 'is_share': False})}."
    mean = summaries.mean(solution)
    return "" if isinstance(mean, tuple) else f"Mean {float(mean):.4g}."


def figures_of(row: Mapping[str, Any]) -> tuple[str, str]:
    """The estimate and the interval of a share, or of another number, as texts.

    >>> figures_of({"estimate": 9.8612, "low": 8.6, "high": 12.4, "is_share": False})
    ('9.9', '8.6 to 12.4')
    """
    low, high, estimate = row["low"], row["high"], row["estimate"]
    if row["is_share"]:
        decimals = decimals_of_percent([high - low])
        return percent(estimate, decimals), percent_interval(low, high, decimals)
    decimals = decimals_of_number(high - low)
    down, up = (number(end, decimals) for end in outwards(low, high, decimals))
    return number(estimate, decimals), f"{down} to {up}"


def in_brackets(row: Mapping[str, Any]) -> str:
    """An estimate with its interval behind it, as in a sentence.

    >>> in_brackets({"estimate": 9.8612, "low": 8.6, "high": 12.4, "is_share": False})
    '9.9 (8.6 to 12.4)'
    """
    figure, limits = figures_of(row)
    return f"{figure} ({limits})"


def has_summaries(result: Any) -> bool:
    """Whether summaries have intervals without a bootstrap, which would take minutes."""
    is_estimated = result.fit.probabilities is not None and result.normal is None
    return result.has_posterior_intervals or (
        is_estimated and UnbiasedShares.of(result, "population") is not None
    )


def frame_rows(result: Any, level: float, target: str) -> list[dict[str, Any]]:
    """The rows of a data frame, with one type of values."""
    if result.by_question or result.groups is not None:
        texts = ["value"] * bool(result.by_question)  # labels and numbers
        if result.groups is not None and result.groups.last:
            texts += result.names  # columns of numbers hold "all people", too
        listed = result.rows(level, target)
        return [row | {name: as_text(row[name]) for name in texts} for row in listed]
    if result.fit.keys is not None:
        return conditional.key_rows(result, level, target)
    shares = list(rows(result, level, target))
    if len({type(row["value"]) for row in shares}) > 1:  # numbers, and nonresponse
        shares = [{**row, "value": as_text(row["value"])} for row in shares]
    return shares


def index_of_yes(domain: Domain) -> int:
    """Which of two answers is shown, where the share of one tells the other: "yes", or the last.

    >>> from warner import Categorical
    >>> index_of_yes(Categorical(["Yes", "No"])), index_of_yes(Categorical(["nein", "ja"]))
    (0, 1)
    """
    says_yes = [str(label).casefold() in ("yes", "true") for label in domain.labels]
    return says_yes.index(True) if any(says_yes) else domain.size - 1


def name_of(value: Any, domain: Domain | None = None) -> str:
    """A value of a domain as a reader sees it.

    >>> name_of("often"), name_of(0.25), name_of({"a": "x", "b": 2})
    ('often', '0.25', 'x, 2')
    """
    if domain is not None and domain.raster is not None and not isinstance(value, str):
        return f"row {value[0]}, column {value[1]}"
    if isinstance(value, dict):
        return ", ".join(name_of(entry) for entry in value.values())
    return f"{value:.6g}" if isinstance(value, float) else visible(as_text(value))


def in_words(group: str, reference: str) -> str:
    """A difference between two groups; those that are called by numbers are named as groups.

    >>> in_words("after", "before"), in_words("2", "1")
    ('after minus before', 'group 2 minus group 1')
    """
    names = [f"group {name}" if _NUMBER.fullmatch(name) else name for name in (group, reference)]
    return " minus ".join(names)


_NUMBER = re.compile(r"[-+]?[0-9.,]+")
