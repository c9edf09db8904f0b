"""Samplers driven through the operating system's source, with words chosen at their boundaries, and
the same work for every value.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate

import numpy as np
import pytest

import warner
from tests.registry import ALL, BOUNDARY_THRESHOLDS, smallest
from warner._core.sampling import _TABLE_DRAWS, Edges, Source
from warner.mechanisms import Mechanism

TOP = 2**64 - 1


class Tape:
    """Stands for os.urandom: hands out prepared words in their order, as bytes, which are
    read-only; every call must fit.
    """

    def __init__(self, *parts: tuple[list[int], str]) -> None:
        self.parts = [np.array(words, dtype=dtype).tobytes() for words, dtype in parts]

    def __call__(self, n: int) -> bytes:
        part = self.parts.pop(0)
        assert len(part) == n
        return part


def _play(monkeypatch: pytest.MonkeyPatch, *parts: tuple[list[int], str]) -> Tape:
    tape = Tape(*parts)
    monkeypatch.setattr("os.urandom", tape)
    return tape


def _heads(words: list[int]) -> tuple[list[int], str]:
    """The upper 16 bits of words."""
    return [w >> 48 for w in words], "u2"


def _rest(words: list[int]) -> tuple[list[int], str]:
    """Words whose upper 48 bits are the lower 48 of others."""
    return [(w & 2**48 - 1) << 16 for w in words], "u8"


def _around(edges: list[int]) -> list[int]:
    return sorted({w for e in edges for w in (e - 1, e, e + 1) if 0 <= w <= TOP} | {0, TOP})


def test_words_of_the_system_may_be_written_to() -> None:
    for dtype in (np.uint8, np.uint16, np.uint32, np.uint64):
        for source in (Source(None), Source(np.random.default_rng(0))):
            words = source.words(3, dtype)
            words[1] = 7
            assert words[1] == 7 and words.dtype == dtype


@pytest.mark.parametrize("threshold", BOUNDARY_THRESHOLDS)
def test_below_compares_64_bits(threshold: int, monkeypatch: pytest.MonkeyPatch) -> None:
    words = _around([*BOUNDARY_THRESHOLDS, threshold])
    open_ = [w for w in words if w >> 48 == threshold >> 48]
    tape = _play(monkeypatch, _heads(words), *([_rest(open_)] if open_ else []))
    assert Source(None).below(threshold, len(words)).tolist() == [w < threshold for w in words]
    assert not tape.parts


def test_below_looks_at_more_words_only_where_64_bits_tie(monkeypatch: pytest.MonkeyPatch) -> None:
    threshold, more = 3 * 2**62 + 5, 2**63
    words = [threshold, threshold, threshold + 1, threshold - 1]
    second = [more - 1, more]
    tape = _play(
        monkeypatch,
        _heads(words),
        _rest(words),
        _heads(second),
        _rest([w for w in second if w >> 48 == more >> 48]),
    )
    assert Source(None).below(threshold, 4, (more,)).tolist() == [True, False, False, True]
    assert not tape.parts


def test_below_each_compares_each_with_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(w, t) for t in BOUNDARY_THRESHOLDS for w in _around([t])]
    open_ = [w for w, t in pairs if w >> 48 == t >> 48]
    tape = _play(monkeypatch, _heads([w for w, _ in pairs]), _rest(open_))
    found = Source(None).below_each(np.array([t for _, t in pairs], dtype=np.uint64))
    assert found.tolist() == [w < t for w, t in pairs] and not tape.parts


@pytest.mark.parametrize("words", [1, 2, 3])
def test_among_finds_the_cell_of_numbers_of_several_words(
    words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    total = 1 << 64 * words
    widths = [1, total // 3, 5, total // 7, 0, total // 2 - total // 11]
    widths.append(total - sum(widths))
    edges = list(accumulate(widths))
    numbers = sorted(
        {n for e in edges for n in (e - 1, e, e + 1) if 0 <= n < total} | {0, total - 1}
    )
    heads = [n >> 64 * (words - 1) for n in numbers]
    known = {e >> 64 * (words - 1) for e in edges if e < total}
    # Where the first word is that of an edge, the others are drawn, one number after the other,
    # least significant first.
    more = (
        [
            n & (1 << 64 * (words - 1)) - 1
            for n, head in zip(numbers, heads, strict=True)
            if head in known
        ]
        if words > 1
        else []
    )
    tails = [([m >> 64 * i & TOP for i in range(words - 1)], "u8") for m in more]
    tape = _play(monkeypatch, (heads, "u8"), *tails)
    assert Source(None).among(Edges.of(widths), len(numbers)).tolist() == [
        bisect_right(edges, n) for n in numbers
    ]
    assert not tape.parts


@pytest.mark.parametrize("bound", [2, 3, 5, 4095, 4097, 2**28 - 1, 2**28 + 1])
def test_uniform_draws_again_what_would_favour_the_first(
    bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bits = 16 if bound <= 2**12 else 32 if bound <= 2**28 else 64
    width = 2**bits // bound
    words = sorted(
        {
            w
            for k in (0, 1, bound - 1, bound)
            for w in (k * width - 1, k * width)
            if 0 <= w < 2**bits
        }
        | {2**bits - 1}
    )
    beyond = [w for w in words if w >= bound * width]
    again = [0] * len(beyond)
    tape = _play(
        monkeypatch, (words, f"u{bits // 8}"), *([(again, f"u{bits // 8}")] if beyond else [])
    )
    assert Source(None).uniform(bound, len(words)).tolist() == [
        w // width if w < bound * width else 0 for w in words
    ]
    assert not tape.parts


def test_uniform_each_draws_again_for_each_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2**64 - 1 words, (2**64 - 1) // bound go to each number; the rest are drawn again, until
    one fits.
    """
    bounds = [1, 1, 2, 2, 2, 5, 5, 2**31]
    words = [0, TOP, 0, TOP, TOP // 2, TOP // 5 - 1, TOP, TOP // 2**31 * 3]
    beyond = [1, 3, 6]  # numbers whose word is the last one, which no bound here has a place for
    tape = _play(
        monkeypatch, (words, "u8"), ([0, TOP, TOP // 5 * 4], "u8"), ([TOP // 2 * 2 - 1], "u8")
    )
    assert [
        i for i, (w, b) in enumerate(zip(words, bounds, strict=True)) if w // (TOP // b) >= b
    ] == beyond
    assert Source(None).uniform_each(np.array(bounds)).tolist() == [0, 0, 0, 1, 1, 0, 4, 3]
    assert not tape.parts


@pytest.mark.parametrize("count, short", [(1, 0), (2, 1), (7, 5), (255, 2**50)])
def test_cells_of_few_and_of_many_draws_are_those_by_division(
    count: int, short: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    width = 2**64 // (count + 2) + 1
    end = 2**64 - short
    last = end - count * width
    words = _around([k * width for k in range(count + 1)] + [end])[: _TABLE_DRAWS - 1]
    expected = [min(w // width, count) if w < end else 0 for w in words]
    beyond = sum(w >= end for w in words)
    tape = _play(monkeypatch, (words, "u8"), *([([0] * beyond, "u8")] if beyond else []))
    assert (
        Source(None).cells(width, count, last, len(words)).tolist() == expected and not tape.parts
    )

    many = words * (_TABLE_DRAWS // len(words) + 1)
    edges = [k * width for k in range(1, count + 1)] + ([end] if short else [])

    def settled(word: int) -> bool:
        return bisect_right(edges, word >> 48 << 48) == bisect_right(edges, word | 2**48 - 1)

    beyond = sum(w >= end for w in many)
    tape = _play(
        monkeypatch,
        _heads(many),
        _rest([w for w in many if not settled(w)]),
        *([([0] * beyond, "u8")] if beyond else []),
    )
    assert Source(None).cells(width, count, last, len(many)).tolist() == [
        min(w // width, count) if w < end else 0 for w in many
    ]
    assert not tape.parts


WINDOWS: list[Callable[[], Mechanism]] = [
    lambda: warner.SquareWave(warner.Interval(0, 1, 4), 1.0, cells=7),
    lambda: warner.mechanisms.Piecewise(warner.Interval(0, 1, 4), 12.0, cells=2**20),
    lambda: warner.mechanisms.StochasticRounding(warner.Interval(0, 1, 4), 0.3),
]


@pytest.mark.parametrize("make", WINDOWS)
def test_windows_draw_again_what_lies_beyond_all_cells(
    make: Callable[[], Mechanism], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a sampler that writes new words into those of the system, which it may not, or that
    takes what lies beyond for a cell.
    """
    mechanism = make()
    own, other, wide, cells = (
        mechanism._true_width,
        mechanism._other_width,
        mechanism.width,
        mechanism.cells,
    )  # type: ignore[attr-defined]
    total = wide * own + (cells - wide) * other
    words = _around([own, wide * own, wide * own + other, total - other, total])
    beyond = [w for w in words if w >= total]
    assert beyond
    # Numbers at the lower end, where the window starts at cell 0; the first words round them to the
    # grid.
    tape = _play(
        monkeypatch,
        ([TOP] * len(words), "u8"),
        (words, "u8"),
        ([TOP] * len(beyond), "u8"),
        ([0] * len(beyond), "u8"),
    )
    if total > TOP:
        tape.parts.pop(2)
    found = mechanism._sample(np.zeros(len(words)), Source(None))["report"]
    assert found.tolist() == [
        0 if w >= total else w // own if w < wide * own else wide + (w - wide * own) // other
        for w in words
    ]
    assert not tape.parts


def test_a_value_that_is_not_sensitive_is_drawn_at_the_boundaries_of_the_same_cells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism = warner.UtilityOptimizedRR(warner.Integers(0, 4), 1.0, sensitive=[1, 3])
    own, other = mechanism._true_width, mechanism._other_width
    words = _around([other, 2 * other, own + other - 1])
    for value, expected in ((1, [3, 1, 1]), (3, [1, 3, 3]), (0, [1, 3, 0]), (4, [1, 3, 4])):
        beyond = sum(w >= own + other for w in words)
        tape = _play(monkeypatch, (words, "u8"), *([([0] * beyond, "u8")] if beyond else []))
        found = mechanism._sample(np.full(len(words), value), Source(None))["report"]
        assert found.tolist() == [
            expected[bisect_right([other, 2 * other], w) if w < own + other else 0] for w in words
        ]
        assert not tape.parts


class Counted:
    """Stands for os.urandom: repeatable words, the ``loud``-th call all ones; keeps how many bytes
    each call asked for.
    """

    def __init__(self, loud: int | None = None) -> None:
        self.asked: list[int] = []
        self._rng = np.random.default_rng(7)
        self._loud = loud

    def __call__(self, n: int) -> bytes:
        self.asked.append(n)
        whole = self._rng.bytes(n)
        return b"\xff" * n if len(self.asked) - 1 == self._loud else whole


@pytest.mark.parametrize("name", ALL)
def test_every_sampler_takes_the_largest_words_anywhere(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call of the system's source in turn answers with ones alone, the end of every range:
    what lies beyond is drawn again.
    """
    mechanism = smallest(name)
    index = np.arange(40) % mechanism.domain.size
    calls = 1
    loud = 0
    while loud < min(calls, 12):
        source = Counted(loud)
        monkeypatch.setattr("os.urandom", source)
        reports = mechanism.reports(mechanism.randomize_index(index, Source(None)))
        assert mechanism.tally(reports).n == 40
        calls, loud = len(source.asked), loud + 1


@pytest.mark.parametrize("name", ALL)
def test_every_value_draws_the_same_words(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given the same randomness, no value asks for more of it than another: a sensitive one of its
    own kind answers no faster.
    """
    mechanism = smallest(name)
    asked = []
    for value in range(mechanism.domain.size):
        source = Counted()
        monkeypatch.setattr("os.urandom", source)
        mechanism.randomize_index(np.full(200, value), Source(None))
        asked.append(source.asked)
    assert asked[0] and all(part == asked[0] for part in asked)


def test_a_device_draws_the_same_words_for_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = warner.Integers(0, 9)
    for common in (
        warner.UtilityOptimizedRR(domain, 1.0, sensitive=[3]),
        warner.UtilityOptimizedRappor(domain, 1.0, sensitive=[3]),
    ):
        personal = warner.Personalized(common, ["home"])
        devices = [
            personal.device({"home": [4]}),
            personal.device({"home": [4, 5, 6]}),
            personal.device(),
        ]
        asked = []
        for device in devices:
            for value in (3, 4, 9):
                source = Counted()
                monkeypatch.setattr("os.urandom", source)
                device.randomize([value] * 100)
                asked.append(source.asked)
        assert asked[0] and all(part == asked[0] for part in asked)


def test_a_device_maps_the_same_values_with_a_table_and_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    personal = warner.Personalized(
        warner.UtilityOptimizedRR(warner.Integers(0, 9), 1.0, sensitive=[3]), ["home", "work"]
    )
    found = []
    for table in (2**16, 1):
        monkeypatch.setattr("warner.mechanisms.personalized._TABLE", table)
        for secret in ({}, {"work": [8, 2], "home": [0, 9]}):
            encoded = personal.device(secret)._Device__encode(range(10))  # type: ignore[attr-defined]
            found.append(encoded.tolist())
    assert found[0] == found[2] == list(range(10)) and found[1] == found[3] == [
        10,
        1,
        11,
        3,
        4,
        5,
        6,
        7,
        11,
        10,
    ]


@pytest.mark.parametrize("key", ["unary", "direct"])
@pytest.mark.parametrize("pairs", [1, 3])
def test_people_with_no_pair_and_with_several_draw_the_same_words(
    key: str, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = warner.KeyValue(
        warner.Categorical(["a", "b", "c", "d"]),
        warner.Interval(0, 1, 4),
        1.0,
        key=key,
        pairs=pairs,
    )
    asked = []
    for held in range(5):
        source = Counted()
        monkeypatch.setattr("os.urandom", source)
        mechanism.randomize([[{"key": k, "value": 0.5} for k in "abcd"[:held]]] * 50)
        asked.append(source.asked)
    assert asked[0] and all(part == asked[0] for part in asked)


def test_lists_of_pairs_are_drawn_alike_filled_up_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = warner.KeyValue(
        warner.Categorical(["a", "b", "c", "d"]), warner.Interval(0, 1, 4), 1.0, pairs=3
    )
    rng = np.random.default_rng(3)
    people = [
        [
            {"key": "abcd"[k], "value": float(rng.random())}
            for k in rng.permutation(4)[: rng.integers(0, 5)]
        ]
        for _ in range(300)
    ]
    found = [mechanism._one_each(people, Source(np.random.default_rng(1)))]
    monkeypatch.setattr("warner.mechanisms.key_value._FILLED", 0)
    found.append(mechanism._one_each(people, Source(np.random.default_rng(1))))
    assert np.array_equal(*found)
    assert mechanism._one_each([[], []], Source(None))[:, 0].tolist() == [4, 4]
    with pytest.raises(warner.errors.ValuesError, match=r"position 1.*at most one pair of a key"):
        mechanism.randomize([[], [{"key": "a", "value": 0.1}, {"key": "a", "value": 0.2}]])
