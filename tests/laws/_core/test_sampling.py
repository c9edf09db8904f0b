"""The sampler on the operating system's source, with words chosen at their boundaries."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import Any

import numpy as np
import pytest

from tests.laws._core._tape import TOP, _around, _heads, _play, _rest
from tests.registry import BOUNDARY_THRESHOLDS
from warner import Integers, Interval, RandomizedResponse, SquareWave
from warner._core.sampling import _TABLE_DRAWS, Edges, Source
from warner.errors import ArgumentError
from warner.mechanisms import MatrixMechanism


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
    assert Source(None).cells(width, count, last, len(words)).tolist() == expected
    assert not tape.parts

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


# One seed for answers and reports.

_FALLING = 1 / np.arange(1, 33)
_ANSWERS: dict[str, Any] = {
    "choice": lambda rng: rng.choice(32, 5000, p=_FALLING / _FALLING.sum()),
    "a coin": lambda rng: (rng.random(5000) < 0.3).astype(int),
    "few people": lambda rng: rng.choice(32, 200, p=_FALLING / _FALLING.sum()),
}


@pytest.mark.parametrize("name", _ANSWERS)
@pytest.mark.parametrize("generator", [np.random.PCG64, np.random.MT19937, np.random.Philox])
def test_answers_of_the_same_seed_are_refused(name: str, generator: Any) -> None:
    """With one seed, 28 % of the people were estimated as 101 %. Others are never refused."""

    def seeded(seed: int) -> np.random.Generator:
        return np.random.Generator(generator(seed))

    device = RandomizedResponse(Integers(0, 31), 2.0)
    table = MatrixMechanism(device.domain, device.channel().dense())
    answers, again = _ANSWERS[name](seeded(3)), seeded(3)
    before = str(again.bit_generator.state)
    for mechanism in (device, table):
        with pytest.raises(ArgumentError, match="rng: must not use the seed with which the ans"):
            mechanism.randomize(answers, again)
    assert str(again.bit_generator.state) == before  # nothing was drawn
    for other in (seeded(4), None):
        assert len(table.randomize(answers, other)) == len(answers)
    one = seeded(3)
    assert len(table.randomize(_ANSWERS[name](one), one)) == len(answers)


def test_numbers_of_the_same_seed_are_refused_and_fixed_answers_are_not() -> None:
    wave = SquareWave(Interval(0, 1, bins=16), 1.0)
    with pytest.raises(ArgumentError, match="with another seed"):
        wave.randomize(np.random.default_rng(3).random(1000), np.random.default_rng(3))
    fixed = np.repeat(np.arange(4), 500)
    coin = RandomizedResponse(Integers(0, 3), 1.0)
    for seed in range(200):
        coin.randomize(fixed, np.random.default_rng(seed))
