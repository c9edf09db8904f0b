"""Mechanisms draw the same random words for every value, and at the boundaries of the same cells."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

import numpy as np
import pytest

import warner
from tests.laws._core._tape import TOP, _around, _play
from tests.registry import ALL, smallest
from warner._core.sampling import Source
from warner.errors import ValuesError
from warner.mechanisms import Mechanism

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
    """Stands for system_bytes: repeatable words, the ``loud``-th call all ones; keeps how many bytes
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
        monkeypatch.setattr("warner._core.randomness.system_bytes", source)
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
        monkeypatch.setattr("warner._core.randomness.system_bytes", source)
        mechanism.randomize_index(np.full(200, value), Source(None))
        asked.append(source.asked)
    assert asked[0] and all(part == asked[0] for part in asked)


def test_a_device_draws_the_same_words_for_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = warner.Integers(0, 9)
    for common in (
        warner.UtilityOptimizedRR(domain, 1.0, sensitive=[3]),
        warner.mechanisms.UtilityOptimizedRappor(domain, 1.0, sensitive=[3]),
    ):
        personal = warner.mechanisms.PersonalizedULDP(common, ["home"])
        devices = [
            personal.device({"home": [4]}),
            personal.device({"home": [4, 5, 6]}),
            personal.device(),
        ]
        asked = []
        for device in devices:
            for value in (3, 4, 9):
                source = Counted()
                monkeypatch.setattr("warner._core.randomness.system_bytes", source)
                device.randomize([value] * 100)
                asked.append(source.asked)
        assert asked[0] and all(part == asked[0] for part in asked)


def test_a_device_maps_the_same_values_with_a_table_and_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    personal = warner.mechanisms.PersonalizedULDP(
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
        monkeypatch.setattr("warner._core.randomness.system_bytes", source)
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
    with pytest.raises(ValuesError, match=r"position 1.*at most one pair for each key"):
        mechanism.randomize([[], [{"key": "a", "value": 0.1}, {"key": "a", "value": 0.2}]])


def test_a_matrix_is_drawn_at_the_edges_of_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report y gets the words from the sum of the entries before it. Rejects a sampler in which the
    word at an edge makes the report before it.
    """
    matrix = np.array([[0.5, 0.25, 0.0], [0.0, 0.625, 0.125], [0.5, 0.125, 0.875]])
    mechanism = warner.MatrixMechanism(warner.Integers(0, 2), matrix)
    for value, column in enumerate(matrix.T):
        edges = [int(edge * 2**64) for edge in np.cumsum(column)]
        words = _around(edges)
        tape = _play(monkeypatch, (words, "u8"))
        drawn = mechanism._sample(np.full(len(words), value), Source(None))["report"]
        assert drawn.tolist() == [bisect_right(edges, word) for word in words]
        assert not tape.parts
