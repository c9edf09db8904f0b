"""Reports by the browser's own random words have the declared law, for each sampler.

Reports of each are drawn with crypto.getRandomValues, and compared by chi-square with the exact
probabilities of Python's mechanism. The words are not seeded, so the level is 1e-9. Wrong
programs are rejected at the same level: words of 32 bits, words folded into the range by a remainder
instead of drawn again, and the law of an epsilon a tenth larger. Doubles of 53 bits change a law by 2^-53, which no sample shows: the vectors of words at the
boundaries reject them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import warner
from tests.js._node import HERE, node
from warner import Categorical, Grid, Integers, Interval
from warner.domains import with_missing
from warner.mechanisms import Mechanism
from warner.reports.reports import Reports

LEVEL = 1e-9
three, five = Categorical(["a", "b", "c"]), Integers(0, 4)


MAKERS: dict[str, Callable[[float], Mechanism]] = {
    "direct": lambda e: warner.RandomizedResponse(three, e),
    "bits": lambda e: warner.UnaryEncoding(three, e),
    "hash": lambda e: warner.LocalHashing(three, e, buckets=2),
    "subset": lambda e: warner.SubsetSelection(five, e, size=2),
    "hadamard": lambda e: warner.HadamardResponse(three, e),
    "table": lambda e: warner.MatrixMechanism(
        three, warner.RandomizedResponse(three, e).channel().dense()
    ),
    "utility_direct": lambda e: warner.UtilityOptimizedRR(three, e, ["a", "b"]),
    "utility_subset": lambda e: warner.mechanisms.UtilityOptimizedSubset(five, e, [0, 1, 2, 4], 2),
    "utility_bits": lambda e: warner.mechanisms.UtilityOptimizedRappor(three, e, ["a", "b"]),
    "projective": lambda e: warner.mechanisms.ProjectiveGeometryResponse(five, e, prime=2),
    "window": lambda e: warner.SquareWave(five, e, cells=12),
    "noise": lambda e: warner.mechanisms.Geometric(five, e, reach=3),
    "exponential": lambda e: warner.mechanisms.Exponential(five, e),
    "gaussian": lambda e: warner.mechanisms.Gaussian(five, e, delta=1e-3),
    "planar": lambda e: warner.PlanarGeometric(Grid(2, 3), e),
    "repeated": lambda e: warner.mechanisms.Repeated(warner.RandomizedResponse(three, e), 2),
    "silence": lambda e: warner.mechanisms.WithNonresponse(
        warner.mechanisms.StochasticRounding(with_missing(Interval(0, 1, 2), "answer").answered, e)
    ),
}
KINDS = tuple(MAKERS)
# So many that the law of an epsilon a tenth larger is accepted less than once in 10^6 runs.
DRAWS = {
    **dict.fromkeys(KINDS, 80_000),
    **dict.fromkeys(("bits", "hash", "utility_bits"), 100_000),
    **dict.fromkeys(("direct", "table", "silence"), 60_000),
    **dict.fromkeys(("noise", "gaussian", "planar"), 30_000),
    "repeated": 40_000,
}


@cache
def mechanisms(epsilon: float) -> dict[str, Mechanism]:
    """One small mechanism of each sampler, at a budget."""
    return {name: make(epsilon) for name, make in MAKERS.items()}


def law_of(mechanism: Mechanism, index: int) -> dict[str, float]:
    """The exact probability of each record, for the value at an index."""
    reports = Reports(mechanism.header, mechanism.outputs())
    chances = mechanism.probabilities()[:, index].astype(np.float64)
    found: dict[str, float] = {}
    for record, chance in zip(reports.records(), chances.tolist(), strict=True):
        key = ",".join(map(str, record))
        found[key] = found.get(key, 0.0) + chance
    return found


def encoded(mechanism: Mechanism, index: int) -> Any:
    """The encoded answer of the value at an index, as JSON data."""
    program = mechanism.device_program()
    if program["answer"] == "parts":
        return [index for _ in program["parts"]]
    if program["sampler"] == "silence":
        return None
    return float(mechanism.encode(mechanism.domain.decode([index]))[0])


def p_value(counts: dict[str, int], law: dict[str, float]) -> float:
    """Of Pearson's chi-square; 0 where a report occurs that the law does not have.

    Reports of which fewer than ten are expected are counted together.
    """
    possible = {record: chance for record, chance in law.items() if chance > 0}
    if not counts.keys() <= possible.keys():
        return 0.0
    draws = sum(counts.values())
    expected = np.array([draws * chance for chance in possible.values()])
    seen = np.array([counts.get(record, 0) for record in possible])
    rare = expected < 10
    if rare.any():
        expected = np.append(expected[~rare], expected[rare].sum())
        seen = np.append(seen[~rare], seen[rare].sum())
    return float(chi2.sf(((seen - expected) ** 2 / expected).sum(), len(seen) - 1))


def index_of(name: str) -> int:
    """The value whose reports are drawn: silence where there is one."""
    return 2 if name == "silence" else 1


@cache
def drawn() -> dict[str, dict[str, dict[str, int]]]:
    """{words: {sampler: {record: count}}}, by one process of node."""
    kinds = mechanisms(1.0)
    asked = [
        {
            "program": mechanism.device_program(),
            "encoded": encoded(mechanism, index_of(name)),
            "draws": DRAWS[name] if words == "system" else 20_000,
            "words": words,
        }
        for words, names in WORDS.items()
        for name, mechanism in kinds.items()
        if name in names
    ]
    answers = iter(json.loads(node(str(HERE / "draw.mjs"), text=json.dumps(asked))))
    return {
        words: {name: next(answers) for name in kinds if name in names}
        for words, names in WORDS.items()
    }


WORDS = {"system": KINDS, "short": ("subset",), "folded": ("direct", "noise", "planar")}


@pytest.mark.parametrize("name", KINDS)
def test_reports_have_the_declared_law(name: str) -> None:
    mechanism = mechanisms(1.0)[name]
    law, counts = law_of(mechanism, index_of(name)), drawn()["system"][name]
    assert sum(counts.values()) == DRAWS[name]
    assert p_value(counts, law) > LEVEL


@pytest.mark.parametrize("name", KINDS)
def test_the_law_of_a_larger_epsilon_is_rejected(name: str) -> None:
    other = law_of(mechanisms(1.1)[name], index_of(name))
    assert p_value(drawn()["system"][name], other) < LEVEL


@pytest.mark.parametrize(
    ("words", "name"), [(w, name) for w in ("short", "folded") for name in WORDS[w]]
)
def test_wrong_words_are_rejected(words: str, name: str) -> None:
    law = law_of(mechanisms(1.0)[name], index_of(name))
    assert p_value(drawn()[words][name], law) < LEVEL
