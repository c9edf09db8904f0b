"""Points, orthogonality and draws against vectors that are listed one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from warner._core.projective_space import ProjectiveSpace, is_prime, next_prime, previous_prime

SPACES = [ProjectiveSpace(q, t) for q, t in [(2, 2), (2, 4), (3, 2), (3, 3), (5, 3), (7, 2)]]


def _points(space: ProjectiveSpace) -> list[tuple[int, ...]]:
    vectors = product(range(space.prime), repeat=space.dimension)
    return [v for v in vectors if next((x for x in v if x), None) == 1]


def _orthogonal(space: ProjectiveSpace) -> np.ndarray:
    points = np.array(_points(space))
    return np.asarray(points @ points[:, ::-1].T % space.prime == 0)


@pytest.mark.parametrize("space", SPACES)
def test_points_and_orthogonality(space: ProjectiveSpace) -> None:
    points, every = _points(space), np.arange(space.points)
    assert len(points) == space.points
    powers = [space.prime**k for k in reversed(range(space.dimension))]
    numbers = np.array(points) @ np.array(powers)
    assert np.array_equal(space.numbers(every), numbers)
    assert np.array_equal(space.index_of(numbers), every)
    assert np.array_equal(space.are_orthogonal(every[:, None], every), _orthogonal(space))


@pytest.mark.parametrize("space", SPACES)
def test_any_two_points_share_equally_many(space: ProjectiveSpace) -> None:
    n = _orthogonal(space).astype(int)
    same = np.eye(space.points, dtype=bool)
    assert np.array_equal(n.T @ n, np.where(same, space.orthogonal, space.common))


class _Listed:
    """A source whose uniform integers are all integers, in order."""

    def uniform(self, bound: int, n: int) -> np.ndarray:
        assert n in (0, bound)
        return np.arange(n)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("side", [True, False])
def test_a_draw_reaches_every_point_of_its_side_exactly_once(
    space: ProjectiveSpace, side: bool
) -> None:
    """So that a uniform integer gives an exactly uniform point."""
    orthogonal = _orthogonal(space)
    for v in range(space.points):
        members = np.flatnonzero(orthogonal[v] == side)
        n = len(members)
        drawn = space.draw(np.full(n, v), np.full(n, side), _Listed())  # type: ignore[arg-type]
        assert np.array_equal(np.sort(drawn), members)


def test_primes() -> None:
    few = [n for n in range(2, 400) if all(n % d for d in range(2, n))]
    assert [n for n in range(-3, 400) if is_prime(n)] == few
    assert [next_prime(n) for n in range(380)] == [
        min(p for p in few if p >= n) for n in range(380)
    ]
    assert [previous_prime(n) for n in range(2, 400)] == [
        max(p for p in few if p <= n) for n in range(2, 400)
    ]
