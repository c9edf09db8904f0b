"""What the experiments of P2 share: mechanisms, methods, people, and checks of claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from papers.data_sets import DataFolder
from papers.experiment import Verdict
from papers.measure import Cell
from papers.measures import (
    Loss,
    People,
    Reporters,
    of_shares,
    seconds,
)
from papers.p2.people import Sensitive, manhattan, survey, tokyo
from papers.table import Table
from papers.verdicts import Check, all_of, ratios_in, spread
from warner import metrics
from warner.domains import Domain
from warner.estimators import (
    Estimator,
    ExpectationMaximization,
    Inversion,
    MaximumLikelihood,
)
from warner.mechanisms import (
    Mechanism,
    RandomizedResponse,
    UnaryEncoding,
    UtilityOptimizedRappor,
    UtilityOptimizedRR,
)

OPEN = "no privacy"
MECHANISMS: Mapping[str, Callable[[Domain, float, Sequence[int]], Mechanism]] = {
    "RR": lambda domain, epsilon, sensitive: RandomizedResponse(domain, epsilon),
    "RAPPOR": lambda domain, epsilon, sensitive: UnaryEncoding(domain, epsilon),
    "uRR": lambda domain, epsilon, sensitive: UtilityOptimizedRR(domain, epsilon, sensitive),
    "uRAP": lambda domain, epsilon, sensitive: UtilityOptimizedRappor(domain, epsilon, sensitive),
    OPEN: lambda domain, epsilon, sensitive: RandomizedResponse(domain, math.inf),
}
OLD, NEW = ("RR", "RAPPOR"), ("uRR", "uRAP")
EM = "EM"
STARTED = "EM from emp+thr"
METHODS: Mapping[str, Estimator] = {
    "emp": Inversion(),
    "emp+thr": Inversion("threshold"),
    EM: MaximumLikelihood(1e-7),
}


def started(delta: float) -> Estimator:
    """EM from emp+thr, as P2 runs it, until a step gains less than delta nats."""
    return ExpectationMaximization(start=METHODS["emp+thr"], tolerance=delta)


TWO = {name: METHODS[name] for name in ("emp", EM)}
TIME: Mapping[str, Loss] = {"seconds": seconds}
TV: Mapping[str, Loss] = {"TV": of_shares(metrics.total_variation)}
MSE: Mapping[str, Loss] = {"MSE": of_shares(metrics.sum_of_squares)}
POPULATIONS: Mapping[str, Callable[[DataFolder], Sensitive]] = {
    "Manhattan": manhattan,
    "Tokyo": tokyo,
    "survey": survey,
}
SIZES = {"Manhattan": 625, "Tokyo": 1024, "survey": 400}
THEIRS = ("Manhattan", "survey")
"""What stands for P2's two sets of people; Tokyo is ours."""
DATA = (
    "foursquare_manhattan_grid25x25.csv.gz",
    "peopleflow_tokyo_grid32x32.csv.gz",
    "gss_cells400.csv.gz",
)
DRAWN = (
    "Three sets of people stand for the paper's two, each drawn with replacement to the paper's "
    "number of people, of whom one half report: check-ins in Manhattan (98,231 at hand for "
    "359,054), with 15 regions drawn as the sensitive ones; visits in Tokyo (53,438), where the 37 "
    "regions with hospitals are sensitive; and the General Social Survey (61,448) for the census "
    "of 2,458,285, with 86 sensitive cells for 76. "
)
SUMS = (
    "EM is taken at its limit, the certified maximum. For RAPPOR and uRAP the likelihood is that "
    "of bit sums. "
)
WHOLE = "EM is taken at its limit, the certified maximum, of whole reports. "


def said(words: str, squared: bool = False) -> str:
    """P2's words on the total variation, which it repeats for the squared error."""
    like = ' and "the MSE has similar results to the TV"' if squared else ""
    return f'"{words}"{like} (sec 6.2)'


@lru_cache(maxsize=8)
def population(name: str, path: str | None) -> Sensitive:
    return POPULATIONS[name](DataFolder(path))


def people_of(cell: Cell, data: DataFolder) -> People:
    return population(cell["data"], data.path)


def logarithm(name: str) -> float:
    """ln K of a data set, to four digits."""
    return round(math.log(SIZES[name]), 4)


def reporters(cell: Cell, people: People) -> Reporters:
    """All who report, by the mechanism of the cell, with the sensitive values of the people."""
    assert isinstance(people, Sensitive)
    make = MECHANISMS[cell["mechanism"]]
    return [(make(people.domain, cell["epsilon"], people.sensitive.tolist()), people.reporting)]


def leads(table: Table, metric: str, **where: Any) -> list[float]:
    """RR's error over uRR's, and RAPPOR's over uRAP's, in each combination of the other axes."""
    rows = table.select(metric=metric, **where)
    if not len(rows):
        raise KeyError(f"no rows with {where}")
    axes = [axis for axis in ("data", "epsilon", "attributes") if rows.distinct(axis)]
    return [
        group.ratio(old, new, "mechanism")
        for group in rows.groups(axes).values()
        for old, new in zip(OLD, NEW, strict=True)
    ]


def lead(factor: float, metric: str, **where: Any) -> Check:
    """The check that uRR and uRAP err ``factor`` times less than RR and RAPPOR in every cell."""

    def check(table: Table) -> Verdict:
        each = leads(table, metric, **where)
        return Verdict(min(each) >= factor, spread(each))

    return check


def near_open(
    mechanism: str, most: float, metric: str, at: Sequence[str] = tuple(SIZES), **where: Any
) -> Check:
    """The check that EM errs at most ``most`` times as much as with no privacy, at ln K."""
    return all_of(
        *(
            ratios_in(
                0.0,
                most,
                mechanism,
                OPEN,
                ("data", "sensitive"),
                by="mechanism",
                metric=metric,
                method=EM,
                data=name,
                epsilon=logarithm(name),
                **where,
            )
            for name in at
        )
    )
