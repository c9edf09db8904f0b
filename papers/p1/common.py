"""People, budgets and methods that the experiments of P1 share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from papers import populations
from papers.data_sets import DataFolder
from papers.measure import Cell
from papers.measures import Loss, People, Reporters, of_shares
from warner import metrics
from warner.estimators import Estimator, Inversion, MaximumLikelihood, Observed, Uniform
from warner.estimators.literature import BiasCorrection
from warner.mechanisms import RandomizedResponse

FLOW, CENSUS, CITIES = "People-flow", "census", "cities"
TOKYO, ADULTS = "Tokyo check-ins", "census of adults"  # not of P1
SETS: dict[str, Callable[[DataFolder], People]] = {
    FLOW: populations.people_flow,
    CENSUS: populations.census,
    CITIES: populations.cities,
    TOKYO: populations.tokyo_check_ins,
    ADULTS: populations.survey,
}
THREE = (FLOW, CENSUS, CITIES)
FILES = ("gss_cells400.csv.gz", "dpbench_2d_256x256_sparse.csv.gz")
TOKYO_FILE = "foursquare_tokyo_grid20x20.csv.gz"
UNIFORM, OBSERVED, NORM, PROJ = "Uniform", "ObfDat", "MatInv norm", "MatInv proj"
EM, PROPOSAL = "EM", "Proposal"
MATRIX: dict[str, Estimator] = {
    NORM: Inversion("normalize", weights="equal"),
    PROJ: Inversion("project", weights="equal"),
}
CONVERGED: dict[str, Estimator] = {
    EM: MaximumLikelihood(),
    PROPOSAL: BiasCorrection(inner=MaximumLikelihood()),
}
SIX: dict[str, Estimator] = {UNIFORM: Uniform(), OBSERVED: Observed(), **MATRIX, **CONVERGED}
LOSSES: dict[str, Loss] = {
    "MSE": of_shares(metrics.sum_of_squares),
    "JS": of_shares(metrics.jensen_shannon),
}
DIFFERS = (
    "People-flow is P1's own data, from the shares printed in its fig 11. For the census stand "
    "people under 20 as in 221 of its records and adults as in the General Social Survey; for the "
    "415 cities, the 415 busiest cells of the world by check-ins of Gowalla. People are drawn with "
    "replacement. EM is the certified maximum of the likelihood, which P1's 'until convergence' "
    "means; P1/methods also has P1's loop, stopped where a step gains less than 0.001 nats. "
    "Proposal has the factor 2 that eq 24 lacks as printed ([errata](errata.md))."
)


def people_of(cell: Cell, data: DataFolder) -> People:
    """The people that a cell names."""
    return SETS[cell["data"]](data)


def with_budgets(people: People, numbers: Sequence[int]) -> Reporters:
    """Randomised response by N1, .., N4 people at eps = 0.1, 2, ln K and infinity [P1 sec 5.1]."""
    budgets = (0.1, 2.0, math.log(people.domain.size), math.inf)
    return [
        (RandomizedResponse(people.domain, epsilon), n)
        for epsilon, n in zip(budgets, numbers, strict=True)
        if n
    ]
