"""Modes, methods and mechanisms that the experiments of P5 share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from papers.measure import Cell
from papers.table import Row
from warner.domains import Domain, Integers, Product
from warner.estimators import Estimator, Independent, Inversion, Observed
from warner.estimators.base import Fit, LikelihoodData
from warner.mechanisms import PerAttribute, RandomizedResponse

MODES = ["exact", "rounded", "sampled"]
INDEPENDENT, JOINT = "RR-Independent", "RR-Ind-Joint"
METHODS: dict[str, Estimator] = {INDEPENDENT: Independent(method=Inversion()), JOINT: Inversion()}
REPORTS = "reports"


class SharesOfReports(Observed):
    """The reports as shares, also where counts that were rounded one by one do not add to n."""

    def _fit(self, data: LikelihoodData) -> Fit:
        return super()._fit(replace(data, weights=data.weights / data.weights.sum()))


WITH_REPORTS: dict[str, Estimator] = {REPORTS: SharesOfReports(), **METHODS}


def mode(cell: Cell) -> str:
    """How the reports of a cell come about: a key of ``SAMPLING``."""
    return "population" if cell["mode"] == "sampled" else str(cell["mode"])


def table_of(**sizes: int) -> Product:
    """Attributes with the values 1 .. d each."""
    return Product(**{name: Integers(1, size) for name, size in sizes.items()})


def each_alone(domain: Product, epsilons: Sequence[float]) -> PerAttribute:
    """Randomised response of every attribute on its own, each with its epsilon."""
    pairs = zip(domain.attributes.items(), epsilons, strict=True)
    return PerAttribute(domain, {name: RandomizedResponse(d, e) for (name, d), e in pairs})


def coordinates(domain: Domain) -> list[Row | None]:
    """The values of the attributes of each combination, as columns."""
    names = list(domain.attributes)
    return [
        {name: place + 1 for name, place in zip(names, places, strict=True)}
        for places in np.ndindex(domain.shape)
    ]
