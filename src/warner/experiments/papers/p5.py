"""The experiments of P5: the joint distribution of attributes that are randomised one by one."""

from __future__ import annotations

import numpy as np

from warner import metrics
from warner.domains import Integers, Product
from warner.estimators import Independent, Inversion
from warner.experiments.data_sets import DataFolder
from warner.experiments.experiment import Claim, Experiment, Picture, Verdict, cells_of
from warner.experiments.measure import Cell
from warner.experiments.measures import EstimationError, People, Reporters, of_shares
from warner.experiments.table import Table
from warner.mechanisms import PerAttribute, RandomizedResponse

METHODS = {"RR-Independent": Independent(method=Inversion()), "RR-Ind-Joint": Inversion()}


def dependent_pair(size: int, v: float) -> np.ndarray:
    """(d^2,) a table with given Cramer's V and marginals l_a = c / a, a = 2 .. d + 1 [P5 sec 4.1].

    theta = (1 - V) l l' + V diag(l)
    """
    marginal = 1 / np.arange(2, size + 2)
    marginal /= marginal.sum()
    return ((1 - v) * np.outer(marginal, marginal) + v * np.diag(marginal)).ravel()


def _pair(size: int) -> Product:
    """Two attributes of d values."""
    return Product(a=Integers(1, size), b=Integers(1, size))


def _people(cell: Cell, data: DataFolder) -> People:
    d = cell["d"]
    return People(_pair(d), dependent_pair(d, cell["V"]), cell["n"])


def _reporters(cell: Cell, people: People) -> Reporters:
    domain, epsilon = _pair(cell["d"]), cell["epsilon"]
    parts = {name: RandomizedResponse(d, epsilon) for name, d in domain.attributes.items()}
    return [(PerAttribute(domain, parts), people.reporting)]


def _flat_in_v(table: Table) -> Verdict:
    errors = [table.mean(method="RR-Ind-Joint", V=v) for v in table.distinct("V")]
    spread = max(errors) / min(errors)
    return Verdict(spread < 1.1, f"the largest over the smallest error is {spread:.3f}")


def _grows_with_v(table: Table) -> Verdict:
    ratio = table.mean(method="RR-Independent", V=1.0) / table.mean(method="RR-Ind-Joint", V=1.0)
    return Verdict(ratio > 1, f"{ratio:.2f} times the error of RR-Ind-Joint at V = 1")


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="P5/fig5",
        title="Mean absolute error over the dependence V of two attributes",
        says="The error of RR-Ind-Joint does not depend on Cramer's V; that of RR-Independent is "
        "proportional to it.",
        measure=EstimationError(
            _people, _reporters, METHODS, {"MAE": of_shares(metrics.mean_absolute_error)}
        ),
        cells=cells_of(V=[0.0, 0.25, 0.5, 0.75, 1.0], d=[10], epsilon=[1.0], n=[1000]),
        runs=200,
        quick_runs=40,
        claims=(
            Claim("The error of RR-Ind-Joint does not depend on V.", _flat_in_v, held=True),
            Claim("RR-Independent errs more where attributes depend.", _grows_with_v),
        ),
        pictures=(Picture("line", "V", value="mean absolute error"),),
    ),
)
