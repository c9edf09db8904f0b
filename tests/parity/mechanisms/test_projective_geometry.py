"""The choice of the prime against all primes, and the error against the formula of the document."""

from __future__ import annotations

import math

import numpy as np
import pytest

import warner
from warner import Integers
from warner._core.projective_space import ProjectiveSpace, is_prime
from warner.mechanisms.geometry import squared_error

EPSILONS = [0.01, 0.34, 0.5, 1.0, 1.05, 1.5, 2.5, 3.0, 4.0, 6.0, 8.0]


def _error(space: ProjectiveSpace, size: int, e: float) -> float:
    n = space.are_orthogonal(np.arange(space.points)[:, None], np.arange(2)[None, :])
    a = np.where(n, e, 1.0) / np.where(n, e, 1.0).sum(axis=0)
    p, q = float(a[:, 0] @ n[:, 0]), float(a[:, 0] @ n[:, 1])
    return size * q * (1 - q) / (p - q) ** 2 + (1 - 2 * q) / (p - q)


def _spaces(size: int) -> list[ProjectiveSpace]:
    spaces = []
    for q in filter(is_prime, range(2, 2 * size + 4)):
        t = next(t for t in range(2, 20) if (q**t - 1) // (q - 1) >= size)
        spaces.append(ProjectiveSpace(q, t))
    return spaces


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8, 13, 31, 50, 157])
def test_the_prime_has_the_least_error_of_all(size: int) -> None:
    for epsilon in EPSILONS:
        e = math.exp(epsilon)
        chosen = warner.ProjectiveGeometryResponse(Integers(1, size), epsilon, blocks=1)
        space = ProjectiveSpace(chosen.prime, chosen.dimension)
        least = min(squared_error(other, size, e) for other in _spaces(size))
        assert squared_error(space, size, e) <= least * (1 + 1e-12)


@pytest.mark.parametrize(("q", "t"), [(2, 2), (2, 5), (3, 3), (7, 3), (29, 2)])
def test_the_error_is_that_of_the_matrix(q: int, t: int) -> None:
    space = ProjectiveSpace(q, t)
    for epsilon in (0.1, 1.0, 4.0):
        e = math.exp(epsilon)
        assert squared_error(space, 3, e) == pytest.approx(_error(space, 3, e), rel=1e-9)


def _excess(size: int, epsilon: float) -> float:
    """The error of the least prime relative to that of subset selection."""
    one = warner.ProjectiveGeometryResponse(Integers(1, size), epsilon).channel()
    p, subset = np.full(size, 1 / size), warner.SubsetSelection(Integers(1, size), epsilon)
    return float(one.variance(p).sum() / subset.channel().variance(p).sum())


def test_the_excess_over_subset_selection_is_at_most_the_documented_one() -> None:
    for size in (256, 300, 1000, 5000):
        for epsilon in np.linspace(0.02, math.log(size) / 2, 30):
            assert _excess(size, float(epsilon)) < 1.035
    for size in (5, 6, 15, 16, 33, 64, 200):
        assert max(_excess(size, float(x)) for x in np.linspace(0.02, 8, 30)) < 1.25


def test_the_expected_error_is_the_formula_of_the_documents() -> None:
    theta = np.array([0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
    for epsilon in (0.4, 1.0, 3.0):
        mechanism = warner.ProjectiveGeometryResponse(Integers(1, 6), epsilon, blocks=1)
        space = ProjectiveSpace(mechanism.prime, mechanism.dimension)
        expected = squared_error(space, 6, math.exp(epsilon)) - float(theta @ theta)
        assert warner.theory.expected_loss(mechanism, theta, 1, "l2") == pytest.approx(
            expected, rel=1e-7
        )
