"""Hash functions and finite geometry, against counting."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.parity._core._hash import _hash_slowly
from warner._core import hashing
from warner._core.hashing import FieldHash, next_suitable, suits
from warner._core.projective_space import ProjectiveSpace, is_prime, next_prime, previous_prime

FIELDS = [(2, 2), (2, 5), (3, 2), (5, 4), (5, 7), (11, 2), (11, 4), (11, 11), (17, 3), (23, 9)]


def _buckets(p: int, g: int, a: int, b: int) -> list[int]:
    """The bucket of each residue y = x^3, in whole integers."""
    return [(a * y + b) % p % g for y in range(p)]


def _reports(p: int, g: int) -> np.ndarray:
    """All reports (a, b, z), (m, 3)."""
    return np.array([(a, b, z) for a in range(1, p) for b in range(p) for z in range(g)])


def _supports(p: int, g: int, reports: np.ndarray) -> np.ndarray:
    """Whether reports support residues, by the definition, (m, p)."""
    a, b, z = (column[:, None] for column in reports.T)
    return np.asarray((a * np.arange(p) + b) % p % g == z)


@pytest.mark.parametrize(("p", "g"), FIELDS)
def test_values_collide_alike_as_counted_over_all_functions(p: int, g: int) -> None:
    hashes = FieldHash(p, g)
    every = [_buckets(p, g, a, b) for a in range(1, p) for b in range(p)]
    for x, y in permutations(range(p), 2):
        met = sum(h[x] == h[y] for h in every)
        assert Fraction(met, len(every)) == hashes.collision
    triples = list(permutations(range(min(p, 11)), 3)) if p <= 11 else []
    if triples and p == 11:
        met = sum(h[x] == h[y] == h[z] for h in every for x, y, z in triples)
        assert Fraction(met, len(every) * len(triples)) == hashes.triple_collision


def test_no_field_collides_more_than_independent_hashes() -> None:
    for p in filter(suits, range(2, 200)):
        for g in range(2, 2 * p + 2):
            assert FieldHash(p, g).collision <= Fraction(1, g)


def test_cubes_are_different_over_the_primes_that_suit() -> None:
    for p in filter(suits, range(2, 300)):
        assert np.unique(FieldHash(p, 2).points(np.arange(p))).size == p
    assert not suits(7) and not suits(9)
    assert next_suitable(2**26) < 2**26 + 200


def test_known_answers() -> None:
    """Any other implementation of the family must reproduce them."""
    p = next_suitable(2**26)
    assert p == 67108913
    a = np.array([1, 67108912, 12345678])
    b = np.array([0, 67108912, 7])
    x = np.array([9, 2**26 - 1, 500])
    expected = [(int(i) * int(v) ** 3 + int(j)) % p % 4 for i, j, v in zip(a, b, x, strict=True)]
    assert FieldHash(p, 4).bucket_of(a, b, x).tolist() == expected


@pytest.mark.parametrize(("p", "g"), [*FIELDS, (101, 4), (257, 16)])
@pytest.mark.parametrize("n", [1, 40, 3000])
def test_support_counts_by_testing_every_pair(
    p: int, g: int, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where terms are formed in several blocks, and where reports count several times."""
    monkeypatch.setattr(hashing, "_TERMS", 50)
    rng = np.random.default_rng(n)
    reports = np.stack(
        [rng.integers(1, p, n), rng.integers(0, p, n), rng.integers(0, g, n)], axis=1
    )
    hit = _supports(p, g, reports)
    hashes, repeats = FieldHash(p, g), rng.integers(0, 10**6, n)
    assert (hashes.support_counts(*reports.T) == hit.sum(axis=0)).all()
    assert (hashes.support_counts(*reports.T, repeats) == repeats @ hit).all()


@pytest.mark.parametrize(("p", "g"), FIELDS)
def test_a_window_is_the_reports_that_support_the_same_residues(p: int, g: int) -> None:
    hashes, reports = FieldHash(p, g), _reports(p, g)
    windows = hashes.windows(*reports.T)
    hit = _supports(p, g, reports)
    supported: dict[int, set[bytes]] = {}
    for window, row in zip(windows.tolist(), hit, strict=True):
        supported.setdefault(window, set()).add(row.tobytes())
    assert all(len(rows) == 1 for rows in supported.values())
    counts = Counter(windows.tolist())
    assert [counts[i] for i in range(len(counts))] == hashes.window_members.tolist()


# The hash family against whole integers and known answers.


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**26), st.integers(2, 2**16 - 1))
@settings(max_examples=200, deadline=None)
def test_hash_in_whole_integers(seed: int, x: int, g: int) -> None:
    assert int(hashing.buckets(np.array([seed]), np.array([x]), g)[0]) == _hash_slowly(seed, x, g)


def test_hash_known_answers() -> None:
    """The vectors that any other implementation of the family must reproduce."""
    vectors = json.loads((Path(__file__).parent / "hash_vectors.json").read_text())
    assert vectors["family"] == hashing.MIXED_FAMILY
    assert len(vectors["vectors"]) >= 64
    for seed, index, g, bucket in vectors["vectors"]:
        assert (
            int(hashing.buckets(np.array([seed]), np.array([index]), g)[0])
            == bucket
            == _hash_slowly(seed, index, g)
        )


# Points, orthogonality and draws against vectors that are listed one by one.


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

    def uniform(self, bound: int, n: int, dtype: Any) -> np.ndarray:
        assert n in (0, bound)
        return np.arange(n, dtype=dtype)


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
