"""``Estimate.log_likelihood_at`` against sums over reports, from the mechanisms' exact tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import warner
from tests.registry import KEYED, MECHANISMS, PER_ATTRIBUTE, REPEATED, smallest
from warner import Integers, Reports
from warner._core.sampling import Source
from warner.estimators import Uniform
from warner.mechanisms import Mechanism

PEOPLE = 40


def _parts(mechanism: Mechanism, reports: Reports) -> list[list[tuple[object, ...]]]:
    """For each report its parts: one bit, or one key, and every other column whole."""
    columns = []
    for name, values in reports.columns.items():
        if name.endswith("bits"):
            attribute = name.rpartition(".")[0]
            domain = mechanism.domain
            size = domain.attributes[attribute].size if attribute else domain.size
            bits = np.unpackbits(values, axis=1)[:, :size]
            columns.append([list(enumerate(row.tolist())) for row in bits])
        elif name == "digits":
            columns.append([list(enumerate(row.tolist())) for row in values])
        else:
            columns.append([[value] for value in values.tolist()])
    return [list(itertools.product(*row)) for row in zip(*columns, strict=True)]


def _sum_over_parts(mechanism: Mechanism, reports: Reports, theta: np.ndarray) -> float:
    """sum over reports, and over their parts, of log Pr(part | theta)."""
    law = np.asarray(mechanism.probabilities(), dtype=np.float64) @ theta
    of_part: dict[tuple[object, ...], float] = {}
    every = Reports(mechanism.header, mechanism.outputs())
    for probability, parts in zip(law.tolist(), _parts(mechanism, every), strict=True):
        for part in parts:
            of_part[part] = of_part.get(part, 0.0) + probability
    return float(sum(np.log(of_part[p]) for parts in _parts(mechanism, reports) for p in parts))


def _drawn(mechanism: Mechanism, seed: int = 0) -> tuple[Reports, np.ndarray]:
    rng = np.random.default_rng(seed)
    size = mechanism.domain.size
    index, theta = rng.integers(0, size, PEOPLE), rng.dirichlet(np.full(size, 2.0))
    return Reports(mechanism.header, mechanism.randomize_index(index, Source(rng))), theta


SMALL = {
    **{name: MECHANISMS[name] for name in MECHANISMS if "Rappor" in name or "Subset" in name},
    **{name: make for name, make in KEYED.items() if "unary" in name},
    **{name: make for name, make in PER_ATTRIBUTE.items() if "UE" in name or "RAP" in name},
    "subsets x RR": PER_ATTRIBUTE["subsets x RR"],
}


@pytest.mark.parametrize("name", SMALL)
def test_where_bits_are_summed_it_is_the_sum_over_all_parts_of_reports(name: str) -> None:
    """The wrong program divides each part's probability by the number of parts."""
    mechanism = PER_ATTRIBUTE[name](1.0) if name in PER_ATTRIBUTE else smallest(name)
    reports, theta = _drawn(mechanism)
    result = warner.estimate(mechanism.tally(reports), Uniform())
    expected = _sum_over_parts(mechanism, reports, theta)
    assert result.log_likelihood_at(theta) == pytest.approx(expected, rel=1e-9)


def test_two_budgets_are_the_sum_of_the_logarithms_by_hand() -> None:
    """The wrong program is off by the entropy of the group sizes, 1000 log 2 nats here."""
    domain, theta = Integers(0, 3), np.array([0.4, 0.3, 0.2, 0.1])
    tallies, total = [], 0.0
    for i, epsilon in enumerate((0.5, 2.0)):
        mechanism = warner.RandomizedResponse(domain, epsilon)
        counts = np.array([200, 150, 100, 50]) + 10 * i * np.array([1, -1, 1, -1])
        tallies.append(mechanism.tally(mechanism.reports(np.repeat(np.arange(4), counts))))
        keep = np.exp(epsilon) / (np.exp(epsilon) + 3)
        law = (1 - keep) / 3 + (keep - (1 - keep) / 3) * theta
        total += float(counts @ np.log(law))
    result = warner.estimate(tallies, warner.MaximumLikelihood())
    assert result.log_likelihood_at(theta) == pytest.approx(total, rel=1e-9)
    assert result.log_likelihood == pytest.approx(
        result.log_likelihood_at(result.probabilities), rel=1e-12
    )


STACKED = (
    "RandomizedResponse",
    "UnaryEncoding optimized",
    "LocalHashing optimized",
    "SubsetSelection",
    "HadamardResponse",
    "UtilityOptimizedRappor",
    "Geometric",
    "MatrixMechanism",
)
TWICE = ("RR three times", "OUE twice", "RR, OUE, OLH")


def test_every_kind_of_report_on_one_domain_adds_up() -> None:
    """Bit sums, kept bits, hashes, numbers and several reports of one person, in one stack."""
    domain = Integers(0, 3)
    theta = np.array([0.4, 0.3, 0.2, 0.1])
    makers = [
        *((MECHANISMS[name](domain, 1.0), False) for name in STACKED),
        *((MECHANISMS[name](domain, 0.7), True) for name in ("SubsetSelection",)),
        *((REPEATED[name](0.5), False) for name in TWICE),
    ]
    tallies, total = [], 0.0
    for seed, (mechanism, keep) in enumerate(makers):
        reports, _ = _drawn(mechanism, seed)
        tallies.append(
            mechanism.tally(reports, keep_reports=True) if keep else mechanism.tally(reports)
        )
        alone = warner.estimate(tallies[-1], Uniform())
        total += float(alone.log_likelihood_at(theta))
    together = warner.estimate(tallies, Uniform())
    assert len(tallies) > 10
    assert together.log_likelihood_at(theta) == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("name", [*MECHANISMS, *KEYED])
def test_many_distributions_at_once_are_each_alone(name: str) -> None:
    mechanism = smallest(name)
    reports, _ = _drawn(mechanism)
    result = warner.estimate(mechanism.tally(reports), Uniform())
    thetas = np.random.default_rng(1).dirichlet(np.ones(mechanism.domain.size), (2, 3))
    at_once = result.log_likelihood_at(thetas)
    alone = [[result.log_likelihood_at(theta) for theta in row] for row in thetas]
    np.testing.assert_allclose(at_once, alone, rtol=1e-12)


def test_the_highest_point_of_the_surface_is_the_maximum_of_the_likelihood() -> None:
    """[P4 figs 4, 5]: three values, all distributions on a grid."""
    mechanism = warner.RandomizedResponse(Integers(0, 2), 1.0)
    result = warner.estimate(
        mechanism.tally(mechanism.reports([0] * 50 + [1] * 30 + [2] * 20)),
        warner.MaximumLikelihood(),
    )
    grid = [(a, b, 100 - a - b) for a in range(101) for b in range(101 - a)]
    surface = np.asarray(result.log_likelihood_at(np.array(grid) / 100))
    assert result.log_likelihood is not None and surface.max() <= result.log_likelihood
    best = np.array(grid[int(surface.argmax())]) / 100
    assert np.abs(best - result.probabilities).max() <= 0.01
