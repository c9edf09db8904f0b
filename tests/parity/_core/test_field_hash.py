"""Hash functions over a prime field against their definition, pair by pair."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from warner._core import hashing
from warner._core.hashing import FieldHash, next_suitable, suits

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
    a, b, x = (
        np.array([1, 67108912, 12345678]),
        np.array([0, 67108912, 7]),
        np.array([9, 2**26 - 1, 500]),
    )
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
