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
METHODS: Mapping[str, Estimator] = {
    "emp": Inversion(),
    "emp+thr": Inversion("threshold"),
    EM: MaximumLikelihood(1e-7),
}
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


def lead(factor: float, metric: str, **where: Any) -> Check:
    """The check that the better new mechanism errs ``factor`` times less than the better old one.

    In each combination of data, budget and whatever else tells cells apart.
    """

    def check(table: Table) -> Verdict:
        rows = table.select(metric=metric, **where)
        if not len(rows):
            raise KeyError(f"no rows with {where}")
        axes = [axis for axis in ("data", "epsilon", "attributes") if rows.distinct(axis)]
        leads = [
            min(group.mean(mechanism=m) for m in OLD) / min(group.mean(mechanism=m) for m in NEW)
            for group in rows.groups(axes).values()
        ]
        return Verdict(min(leads) >= factor, spread(leads))

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
