"""P2, figures 8, 9, 13 and table 1: what is sensitive differs from person to person."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from papers.data_sets import DataFolder
from papers.experiment import Claim, Experiment, Failure, Picture, Reason, Verdict, cells_of
from papers.measure import Cell, Cells
from papers.measures import PerRun, whole_reports
from papers.p2.common import DATA, WHOLE, said
from papers.p2.people import FEW, Sensitive, manhattan_with_tags, tokyo
from papers.table import Row, Table
from papers.verdicts import Check, all_of, less, ratios, ratios_in, spread
from warner import metrics
from warner.estimators import MaximumLikelihood
from warner.estimators.base import LikelihoodData
from warner.mechanisms import PersonalizedULDP, UtilityOptimizedRappor, UtilityOptimizedRR
from warner.results.estimate import Estimate

CITIES: Mapping[str, Callable[[DataFolder], Sensitive]] = {
    "Manhattan": manhattan_with_tags,
    "Tokyo": tokyo,
    "Manhattan, few tags": lambda data: manhattan_with_tags(data, hide=FEW),
}
SIDES = {"Manhattan": 25, "Tokyo": 32, "Manhattan, few tags": 25}
MANY = ("Manhattan", "Tokyo")
FEW_TAGS = "Manhattan, few tags"
SUMS = "uRAP, bit sums"
COMMON = {
    "uRR": UtilityOptimizedRR,
    "uRAP": UtilityOptimizedRappor,
    SUMS: UtilityOptimizedRappor,
}
THEIRS = ("uRR", "uRAP")
HALF, ANEW = "a half", "with replacement"  # how those who report are drawn
MAXIMUM = MaximumLikelihood(1e-7)
KNOWLEDGE = ("I none", "II places", "III truth")


@lru_cache(maxsize=4)
def _city(name: str, path: str | None) -> Sensitive:
    return CITIES[name](DataFolder(path))


@lru_cache(maxsize=4)
def _mechanism(name: str, common: str, epsilon: float, path: str | None) -> PersonalizedULDP:
    people = _city(name, path)
    mechanism = COMMON[common](people.domain, epsilon, sensitive=people.sensitive.tolist())
    return PersonalizedULDP(mechanism, list(people.hidden))


def _known(people: Sensitive) -> dict[str, dict[str, np.ndarray] | None]:
    """The background knowledge pi_k of each tag in the three cases of [P2 sec 6.2]."""
    return {
        "I none": None,
        "II places": {tag: each / each.sum() for tag, each in people.tagged.items()},
        "III truth": {tag: each / each.sum() for tag, each in people.hidden.items()},
    }


def personal(cell: Cell, rng: np.random.Generator, data: DataFolder) -> list[Row]:
    """The losses of the personalised mechanism, and the terms of theorem 1.

    The metrics are ``"TV"``, ``"MSE"``, ``"l1"``, ``"first term"``, ``"second term"``, and
    ``"slack"``, how far the bound exceeds the l1 loss [P2 eq 23].
    """
    people = _city(cell["data"], data.path)
    city = _mechanism(cell["data"], cell["mechanism"], cell["epsilon"], data.path)
    size = people.domain.size
    hidden = list(people.hidden.values())
    tagged = np.concatenate([people.counts - sum(hidden), [each.sum() for each in hidden]])
    if cell.get("drawn") == ANEW:
        reports = rng.multinomial(people.reporting, tagged / tagged.sum())
    else:
        reports = rng.multivariate_hypergeometric(tagged.astype(np.int64), people.reporting)
    if cell["mechanism"] == "uRAP":
        whole = whole_reports(city.mechanism, reports, rng)
        evidence = LikelihoodData(whole.channel, whole.weights, whole.n, city.domain)
    else:
        channel = city.mechanism.channel()
        weights = channel.simulate_from_values(reports, rng)
        evidence = LikelihoodData(channel, weights, people.reporting, city.domain)
    estimate = Estimate(MAXIMUM.fit(evidence), evidence, MAXIMUM)
    first = metrics.l1(estimate.probabilities, tagged / tagged.sum())
    truth = {tag: each / each.sum() for tag, each in people.hidden.items()}
    rows: list[Row] = []
    for case, background in _known(people).items():
        shared = estimate.redistribute(background)
        wrong = {
            tag: metrics.l1(shared.matrix[:, size + k], pi)
            for k, (tag, pi) in enumerate(truth.items())
        }
        bound = shared.bound(first, wrong)
        loss = metrics.l1(shared.probabilities, people.shares)
        values = {
            "TV": loss / 2,
            "MSE": metrics.sum_of_squares(shared.probabilities, people.shares),
            "l1": loss,
            "first term": first,
            "second term": bound - first,
            "slack": bound - loss,
        }
        method = f"{cell['mechanism']} ({case.split()[0]})"
        rows += [
            {"knowledge": case, "method": method, "metric": metric, "value": value}
            for metric, value in values.items()
        ]
    return rows


def logarithm(name: str) -> float:
    """ln K of a city, to four digits."""
    return round(math.log(SIDES[name] ** 2), 4)


def _cells(budgets: Sequence[float], mechanisms: Sequence[str] = THEIRS) -> Cells:
    """Some budgets and ln K, for each city and mechanism."""
    return tuple(
        cell
        for name in CITIES
        for cell in cells_of(
            data=[name], epsilon=sorted([*budgets, logarithm(name)]), mechanism=mechanisms
        )
    )


def _between(metric: str, cities: Sequence[str]) -> Check:
    """The check that II errs no more than I and no less than III at ln K."""
    return all_of(
        *(
            less(
                first,
                second,
                ("mechanism",),
                by="knowledge",
                metric=metric,
                data=name,
                epsilon=logarithm(name),
            )
            for name in cities
            for first, second in (("III truth", "II places"), ("II places", "I none"))
        )
    )


def _truth_over_none(low: float, high: float, metric: str, **where: Any) -> Check:
    """The check of the error with the true distribution over that without knowledge."""
    return ratios_in(
        low,
        high,
        "III truth",
        "I none",
        ("data", "mechanism", "epsilon"),
        by="knowledge",
        metric=metric,
        **where,
    )


def _theorem(table: Table) -> Verdict:
    slack = table.values(metric="slack")
    return Verdict(bool(slack.min() >= -1e-12), f"slack at least {slack.min():.2g}")


def _terms(table: Table) -> Verdict:
    """The second term against the printed order I > II > III = 0."""
    theirs = table.select(metric="second term", data=FEW_TAGS, mechanism=THEIRS)
    groups = theirs.groups(("mechanism", "drawn")).values()
    means = [[group.mean(knowledge=case) for case in KNOWLEDGE] for group in groups]
    holds = all(none > places > truth and truth < 1e-12 for none, places, truth in means)
    figure = "; ".join(", ".join(f"{value:.4f}" for value in each) for each in means)
    return Verdict(holds, figure)


def _printed_first(mechanism: str, printed: float) -> Check:
    """The check of the mean first term against the printed one, in parts of it."""

    def check(table: Table) -> Verdict:
        found = table.mean(metric="first term", mechanism=mechanism, drawn=ANEW)
        return Verdict(abs(found / printed - 1) < 0.03, f"{found:.4f}, printed {printed:.4f}")

    return check


def _near_first(table: Table) -> Verdict:
    each = ratios(
        table,
        "l1",
        "first term",
        ("mechanism", "drawn"),
        by="metric",
        data=FEW_TAGS,
        mechanism=THEIRS,
        knowledge="III truth",
    )
    return Verdict(min(each) > 0.9 and max(each) < 1.1, spread(each))


def _maps(cell: Cell, rng: np.random.Generator, data: DataFolder) -> list[Row]:
    """Each region's share of the places with a tag, and of the people who hide under it."""
    people, side = _city(cell["data"], data.path), SIDES[cell["data"]]
    rows: list[Row] = []
    distances: list[Row] = []
    for tag in people.hidden:
        shown = {"places": people.tagged[tag], "people": people.hidden[tag]}
        shares = {name: each / each.sum() for name, each in shown.items()}
        rows += [
            {
                "metric": "share",
                "panel": f"{tag}: {name}",
                "row": index // side,
                "column": index % side,
                "value": float(value),
            }
            for name, each in shares.items()
            for index, value in enumerate(each)
        ]
        rest = np.where(np.isin(np.arange(side**2), people.sensitive), 0.0, people.counts)
        apart = {"places": shares["places"], "all people": rest / rest.sum()}
        distances += [
            {
                "metric": "TV",
                "tag": tag,
                "knowledge": name,
                "value": metrics.total_variation(each, shares["people"]),
            }
            for name, each in apart.items()
        ]
    return rows + distances


DRAWN = (
    "In 'Manhattan, few tags' 98,231 check-ins are at hand for the paper's 359,054, and as many "
    "people as in the paper are at home (5,040) and at work (19,532), in the regions where 193 "
    "people are whose check-ins say so. Beside it, which is ours: these 193 people alone (27,923 "
    "check-ins), and visits in Tokyo (53,438) with 37 regions of hospitals. All are drawn with "
    "replacement to 359,054 people, of whom one half report. 15 regions of Manhattan are drawn as "
    "the sensitive ones. "
)


_COMPARABLE = Failure(
    Reason.REAL,
    "the second term of theorem 1 does not depend on epsilon, and at 0.5 it is more than half of "
    "the first.",
    "P2, figure 8: knowledge below epsilon 1",
)
_METRICS = {"TV": "total variation", "MSE": "squared error"}
_FIGURE_8 = Experiment(
    name="P2/fig8",
    also=("P2/fig13",),
    title="Personalised mechanism: total variation and squared error over epsilon",
    says="With the distribution of places as background knowledge (II) the error lies between those"
    " without knowledge (I) and with the true distribution (III). Below epsilon 1 all three are "
    "almost the same. The squared error (figure 13) is like the total variation.",
    measure=PerRun(personal),
    cells=_cells([0.1, 0.5, 2.0, 10.0]),
    runs=20,
    runs_per_task=10,
    quick_cells=tuple(
        cell for cell in _cells([0.1, 0.5]) if cell["data"] == FEW_TAGS or cell["epsilon"] > 0.1
    ),
    quick_runs=2,
    claims=(
        *(
            claim
            for metric, word in _METRICS.items()
            for squared in [metric == "MSE"]
            for claim in (
                Claim(
                    "At epsilon = ln K the error with places lies between those with no knowledge "
                    f"and with the truth, in {word}.",
                    _between(metric, [FEW_TAGS]),
                    held=True,
                    words=said(
                        "the performance of (II) lies in between that of (I) and (III)", squared
                    ),
                ),
                *(
                    Claim(
                        f"At epsilon {epsilon:g} knowledge changes the {word} by less than a "
                        "tenth.",
                        _truth_over_none(0.9, 1 / 0.9, metric, epsilon=epsilon, data=FEW_TAGS),
                        held=failure is None,
                        words=said(
                            "when epsilon is smaller than 1, all of (I), (II), and (III) provide "
                            "almost the same performance",
                            squared,
                        ),
                        failure=failure,
                    )
                    for epsilon, failure in ((0.1, None), (0.5, _COMPARABLE))
                ),
                Claim(
                    f"At epsilon = ln K the true distribution halves the {word} without knowledge.",
                    _truth_over_none(0.0, 0.5, metric, epsilon=logarithm(FEW_TAGS), data=FEW_TAGS),
                    held=True,
                    words=said("the estimate of the bot distribution affects utility", squared),
                ),
            )
        ),
        Claim(
            "With as many tags as in the data at hand (19 to 25 % of the people) places lie "
            "between at ln K too.",
            _between("TV", MANY),
            ours=True,
            held=True,
        ),
        Claim(
            "There knowledge lowers the total variation of uRAP at epsilon 0.1 by more than a "
            "tenth.",
            _truth_over_none(0.0, 0.9, "TV", epsilon=0.1, data=MANY, mechanism="uRAP"),
            ours=True,
            held=True,
            quick=False,
        ),
    ),
    pictures=tuple(
        Picture(
            "line",
            "epsilon",
            facet="data",
            where={"metric": metric},
            log_x=True,
            log_y=True,
            value=word,
            name=metric.lower(),
            title=f"{word}: I no knowledge, II places, III truth",
        )
        for metric, word in _METRICS.items()
    ),
    data=DATA[:2],
    differs=DRAWN + WHOLE + "P2 has 100 runs; here are 20.",
    conclusion="Same at epsilon = ln K and at 0.1. With places as knowledge the total variation "
    "is 0.68 times that without, and with the truth 0.22 times. At epsilon 0.1 knowledge changes "
    "it by 3 to 6 %. At 0.5 it is not 'almost the same' by our bar: the truth lowers the total "
    "variation of uRR by 12 % and of uRAP by 31 %, because the second term of theorem 1 does not "
    "depend on epsilon and is then more than half of the first. Where 19 to 25 % of the people "
    "hide where they are, as in the data at hand, knowledge matters at 0.1 too.",
)


EXPERIMENTS: tuple[Experiment, ...] = (
    _FIGURE_8,
    Experiment(
        name="P2/fig9",
        title="Maps of homes and offices, and of the people there",
        says="The distribution of places with a tag is not that of people, but approximates it.",
        measure=PerRun(_maps),
        cells=cells_of(data=list(MANY)),
        runs=1,
        quick_runs=1,
        claims=(
            Claim(
                "The places are nearer to the people with a tag than all people are.",
                less("places", "all people", ("data", "tag"), by="knowledge", metric="TV"),
                held=True,
                words=said("it is not a user distribution but a 'POI distribution'"),
            ),
        ),
        pictures=tuple(
            Picture(
                "map",
                "column",
                y="row",
                facet="panel",
                where={"metric": "share", "data": name},
                value="share",
                name=name.lower(),
                title=f"{name}: shares of places and of people, by tag",
            )
            for name in MANY
        ),
        data=DATA[:2],
        differs=DRAWN,
        conclusion="Same: the places approximate the people with a tag, and better than all people "
        "do.",
    ),
    Experiment(
        name="P2/table1",
        title="Personalised mechanism: the l1 loss and the terms of theorem 1 at epsilon = ln K",
        says="In hundredths, l1 loss <= first + second term: uRR (I) 6.73, 2.70, 7.34; (II) 4.24, "
        "2.70, 2.96; (III) 2.62, 2.70, 0. uRAP (I) 6.77, 2.76, 7.35; (II) 4.28, 2.76, 2.96; (III) "
        "2.67, 2.76, 0.",
        measure=PerRun(personal),
        cells=tuple(
            {**cell, "drawn": drawn}
            for cell in _cells([], list(COMMON))
            for drawn in (HALF, ANEW)
            if drawn == HALF or (cell["data"] == FEW_TAGS and cell["mechanism"] in THEIRS)
        ),
        runs=40,
        runs_per_task=20,
        quick_runs=2,
        claims=(
            Claim(
                "Theorem 1 holds in every run.",
                _theorem,
                held=True,
                words=said("which shows that Theorem 1 holds in our experiments"),
            ),
            Claim(
                "The second term is largest without knowledge, less with places, and 0 with the "
                "truth.",
                _terms,
                held=True,
                words="second terms 7.34, 2.96, 0 (uRR) and 7.35, 2.96, 0 (uRAP) hundredths "
                "(table 1)",
            ),
            Claim(
                "The l1 loss with the truth is the first term, within 10 %.",
                _near_first,
                held=True,
                words="l1 losses 2.62 (uRR) and 2.67 (uRAP), first terms 2.70 and 2.76 (table 1)",
            ),
            *(
                Claim(
                    f"The first term of {mechanism} is the printed one within 3 %, where people "
                    "are drawn with replacement.",
                    _printed_first(mechanism, printed),
                    held=True,
                    quick=False,
                    words=f"{mechanism} (I), (II) and (III): {100 * printed:.2f} hundredths (table "
                    "1)",
                )
                for mechanism, printed in (("uRR", 0.0270), ("uRAP", 0.0276))
            ),
            Claim(
                "uRR has less l1 loss than uRAP.",
                less(
                    "uRR",
                    "uRAP",
                    ("knowledge", "drawn"),
                    by="mechanism",
                    metric="l1",
                    data=FEW_TAGS,
                    mechanism=THEIRS,
                ),
                held=True,
                quick=False,
                words="6.73, 4.24, 2.62 (uRR) and 6.77, 4.28, 2.67 (uRAP) hundredths (table 1)",
            ),
            Claim(
                "uRR and uRAP have the same l1 loss, within 10 %.",
                ratios_in(
                    0.9,
                    1.1,
                    "uRR",
                    "uRAP",
                    ("knowledge", "drawn"),
                    by="mechanism",
                    metric="l1",
                    data=FEW_TAGS,
                ),
                held=True,
                words="6.73, 4.24, 2.62 (uRR) and 6.77, 4.28, 2.67 (uRAP) hundredths (table 1)",
            ),
            Claim(
                "By bit sums uRAP has a first term larger by a tenth or more.",
                less(
                    "uRAP",
                    SUMS,
                    ("data",),
                    by="mechanism",
                    drawn=HALF,
                    factor=1.1,
                    metric="first term",
                    knowledge="III truth",
                ),
                ours=True,
                held=True,
            ),
        ),
        pictures=tuple(
            Picture(
                "bar",
                "method",
                color="metric",
                where={"data": name, "metric": ["l1", "first term", "second term"]},
                value="l1 distance",
                name=name.lower().replace(", ", "-").replace(" ", "-"),
                title=f"{name}: the l1 loss and the two terms of its bound",
            )
            for name in CITIES
        ),
        data=DATA[:2],
        differs=DRAWN + WHOLE,
        conclusion="Same: the bound holds in every run, and its second term has the printed order. "
        "With whole reports and as many people hiding as in the paper the first terms are 0.0267 "
        "(uRR) and 0.0273 (uRAP), printed 0.0270 and 0.0276, where those who report are drawn with "
        "replacement. P2 says that a half of all people is chosen; so they are 0.0193 and 0.0200. "
        "uRR and uRAP differ by 1 to 3 % of their l1 loss, printed 1 to 2 %. By bit sums uRAP has "
        "a first term of 0.0238: its whole reports say more. The second terms, 0.091 and 0.055, "
        "are those of homes and offices of 193 people (printed 0.073 and 0.030).",
    ),
)
