"""The source of given words, one for each decision, against its definition and the fast source."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tests.reference_source import ReferenceSource
from tests.registry import BOUNDARY_THRESHOLDS
from warner._core import sampling
from warner._core.sampling import Edges, Source, geometric_digits
from warner.errors import EmptyError

TOP = 2**64 - 1


@pytest.mark.parametrize("threshold", BOUNDARY_THRESHOLDS)
def test_a_decision_is_one_comparison(threshold: int) -> None:
    words = [max(threshold - 1, 0), threshold, min(threshold + 1, TOP), 0, TOP]
    expected = [w < threshold for w in words]
    source = ReferenceSource(words * 3)
    assert source.below(threshold, 5).tolist() == expected and source.used == 5
    assert source.below_each(np.full(5, threshold, np.uint64)).tolist() == expected
    bits = ReferenceSource([*words, TOP, TOP, TOP]).bits(threshold, 1)
    assert np.unpackbits(bits).tolist() == [*expected, 0, 0, 0] or threshold == 2**64


def test_further_words_are_compared_where_the_first_are_equal() -> None:
    """Rejects a threshold that is cut after its first word."""
    source = ReferenceSource([5, 7, 2, 5, 7, 3, 5, 8, 4, 5, 7, 3, 9])
    found = source.below(5, 4, (7, 3))
    assert found.tolist() == [True, False, False, True] and source.used == 9
    assert not source.below(5, 1, (7, 3))[0] and source.used == 12


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 2**32 + 1, 2**63 - 1])
def test_uniform_integers_are_quotients(bound: int) -> None:
    width = 2**64 // bound
    source = ReferenceSource([width - 1, width * (bound - 1) % 2**64, TOP, 0])
    first = source.uniform(bound, 2).tolist()
    assert first == ([0, 0] if bound == 1 else [0, bound - 1])
    # No word for the only outcome; the last words are drawn again unless the bound divides 2^64.
    again = TOP // width >= bound
    assert source.uniform_each(np.array([bound])).tolist() == [
        0 if again or bound == 1 else bound - 1
    ]
    assert source.used == (0 if bound == 1 else 4 if again else 3)


def test_cells_beyond_the_last_are_drawn_again() -> None:
    source = ReferenceSource([9, 10, 29, 36, 40, 30, TOP, 0])
    assert source.cells(10, 3, 7, 5).tolist() == [0, 1, 2, 3, 3]
    assert source.used == 6
    assert source.cells(10, 3, 7, 1).tolist() == [0] and source.used == 8


def test_cells_of_several_words_take_the_most_significant_first() -> None:
    edges = Edges.of([2**64 + 3, 2**127, 2**128 - 2**127 - 2**64 - 3])
    words = [(1, 2), (1, 3), (2**63 + 1, 2), (2**63 + 1, 3), (TOP, TOP), (0, TOP)]
    source = ReferenceSource([w for pair in words for w in pair])
    assert source.among(edges, 6).tolist() == [0, 1, 1, 2, 2, 0] and source.used == 12


def test_no_decision_is_made_without_a_word() -> None:
    source = ReferenceSource([1])
    assert source.words(0, np.uint64).size == 0 and source.below(5, 1)[0]
    with pytest.raises(EmptyError, match=r"^words: are used up.*Pass more words\.$"):
        source.below(5, 1)


@pytest.mark.parametrize(("total", "size"), [(4, 2), (5, 4), (1, 1), (40, 30), (300, 40)])
def test_subsets_are_drawn_by_one_method(total: int, size: int) -> None:
    """Rejects a subset that is filled up where this costs less."""
    asked: list[int] = []

    class Asked(ReferenceSource):
        def _uniform(self, bound: int) -> int:
            asked.append(bound)
            return super()._uniform(bound)

    rng = np.random.default_rng(total)
    words = rng.integers(0, TOP, 400, dtype=np.uint64, endpoint=True).tolist()
    for fewer in (False, True):
        asked.clear()
        found = sampling.uniform_subsets(Asked(words), total, size, np.array([fewer]), 40)
        wanted = size - fewer
        assert np.bitwise_count(found).sum() == wanted
        drawn = total - wanted if 2 * size > total + 1 else wanted
        assert asked == list(range(total - drawn + 1, total + 1))


def test_every_subset_has_as_many_words() -> None:
    """Rejects Floyd's algorithm with another item in the place of one that is drawn twice."""
    width = 2**64 // 3, 2**64 // 4
    counts: Counter[bytes] = Counter()
    for i, j in product(range(3), range(4)):
        source = ReferenceSource([i * width[0], j * width[1]])
        counts[sampling.uniform_subsets(source, 4, 2, np.array([False]), 1).tobytes()] += 1
    assert sorted(counts.values()) == [2] * 6


@pytest.mark.parametrize("ratio", [2**63, 2**64 - 2**50, 2**64 // 10, 1])
def test_geometric_numbers_are_read_from_their_digits(ratio: int) -> None:
    """Rejects digits of another ratio, or words of a digit that are read in another order."""
    digits, rest = geometric_digits(ratio)
    a = Fraction(ratio, 2**64)
    for j, words in enumerate([*digits, rest]):
        value = Fraction(sum(w << 64 * (3 - i) for i, w in enumerate(words)), 2**256)
        power = a ** (2**j) if j < 12 else None
        if power is not None:
            exact = power / (1 + power) if j < len(digits) else power
            assert 0 <= exact - value < Fraction(1, 2**250)
    # The first digit is 1 by its last word, the others are 0; then one further step and no more.
    words = [*digits[0][:3], digits[0][3] - 1] if digits else []
    words += [TOP] * (len(digits) - 1) + ([0] if rest[0] else [*rest[:3], rest[3] - 1]) + [TOP]
    source = ReferenceSource(words)
    assert source.geometric(ratio, 1).tolist() == [2 ** len(digits) + bool(digits)]
    assert source.used == len(words)


def test_the_fast_source_has_no_order_of_single_words() -> None:
    assert ReferenceSource.one_at_a_time and not Source.one_at_a_time
