"""Passes over whole columns against the same draws, one person at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from warner import HadamardResponse, Integers, Interval, SquareWave
from warner._core.projective_space import ProjectiveSpace
from warner._core.sampling import Source


@pytest.mark.parametrize("prime, dimension", [(2, 2), (2, 5), (3, 3), (5, 2), (7, 3)])
def test_points_of_a_table_are_those_that_are_computed(prime: int, dimension: int) -> None:
    # Rejects a table whose halves are exchanged, or that is read at another person's point.
    space = ProjectiveSpace(prime, dimension)
    rng = np.random.default_rng(1)
    n = space.points**2
    index, orthogonal = rng.integers(0, space.points, n), rng.random(n) < 0.5
    drawn = space.draw(index, orthogonal, Source(np.random.default_rng(2)))
    words = Source(np.random.default_rng(2))
    places = np.empty(n, dtype=np.int64)
    places[orthogonal] = words.uniform(space.orthogonal, np.count_nonzero(orthogonal))
    others = prime ** (dimension - 1)
    places[~orthogonal] = words.uniform(others, np.count_nonzero(~orthogonal))
    np.testing.assert_array_equal(drawn, space.drawn_point(index, orthogonal, places))
    few = space.draw(index[:1], orthogonal[:1], Source(np.random.default_rng(3)))
    bound = space.orthogonal if orthogonal[0] else others
    place = Source(np.random.default_rng(3)).uniform(bound, 1)
    np.testing.assert_array_equal(few, space.drawn_point(index[:1], orthogonal[:1], place))


@pytest.mark.parametrize("cells", [2, 7, 1024])
def test_cells_of_a_square_wave_over_several_blocks(cells: int) -> None:
    # Rejects a block that takes the words of another one, and a number at an end that leaves it.
    n = 40_000
    wave = SquareWave(Interval(0, 1, 64), 1.5, cells=cells)
    numbers = np.random.default_rng(1).random(n)
    numbers[:2] = 0, 1
    reports = wave.randomize(numbers, np.random.default_rng(2)).columns["report"]
    source = Source(np.random.default_rng(2))
    rounding, words = source.words(n, np.uint64), source.words(n, np.uint64)
    widths = {name: int(text, 16) for name, text in wave.thresholds().items()}
    own, other, width = widths["own"], widths["other"], widths["width"]
    steps, total = cells - width, width * own + (cells - width) * other
    checked = [
        i for i in [*range(300), *range(16_300, 16_500), *range(n - 100, n)] if words[i] < total
    ]
    assert len(checked) > 500
    for i in checked:
        s = float(numbers[i]) * steps
        start = min(math.floor(s), steps - 1)
        start += int(rounding[i]) < min(int((s - start) * 2**64), 2**64 - 2048)
        start = steps if s >= steps else start
        word = int(words[i])
        if word < width * own:
            expected = start + word // own
        else:
            expected = (word - width * own) // other
            expected += width if expected >= start else 0
        assert reports[i] == expected


@pytest.mark.parametrize("size", [2, 15, 16, 1000])
def test_hadamard_signs_of_many_people(size: int) -> None:
    # Rejects a flip of another bit than the lowest that the row selects.
    n = 2000
    device = HadamardResponse(Integers(0, size - 1), 1.0)
    index = np.random.default_rng(1).integers(0, size, n)
    reports = device.randomize(index, np.random.default_rng(2)).columns["report"]
    source = Source(np.random.default_rng(2))
    drawn = source.uniform(device.order, n)
    agrees = source.below(int(device.thresholds()["agree"], 16), n)
    for x, y, agree, report in zip(index, drawn, agrees, reports, strict=True):
        row = int(x) + 1
        is_even = (int(y) & row).bit_count() % 2 == 0
        assert report == (int(y) if is_even == bool(agree) else int(y) ^ (row & -row))
