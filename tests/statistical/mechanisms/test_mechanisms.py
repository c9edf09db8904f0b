"""Samplers follow their law: chi-square over whole serialised reports, at a false alarm rate of
1e-9.

The same test must reject every wrong program in MUTANTS, each a bug somebody shipped or could. n is
far beyond what the weakest of them needs: its chi-square non-centrality exceeds 300, against a 1e-9
critical value below 120 at 40 degrees of freedom.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

import warner
from tests.registry import ALL, smallest
from tests.statistical.mechanisms._chi_square import ALPHA, Sampler, _honest, _p_value
from tests.statistical.mechanisms._mutants import _olh_keeps_half, _rappor_never_clears, _unary
from warner._core.exact import ONE
from warner._core.sampling import Source
from warner.mechanisms import Mechanism
from warner.mechanisms.direct import direct_sample


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_reports_follow_the_law(name: str, epsilon: float) -> None:
    assert _p_value(smallest(name, epsilon), _honest) > ALPHA


@pytest.mark.parametrize("name", ALL)
def test_reports_from_the_systems_randomness_follow_the_law(name: str) -> None:
    def system(mechanism: Mechanism, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        return mechanism.randomize_index(index, Source(None))

    assert _p_value(smallest(name), system) > ALPHA


def test_large_domains_use_the_same_law() -> None:
    """Beyond the look-up table of 16-bit prefixes: 20,000 symbols, keep rate and the spread of
    wrong answers.
    """
    mechanism = warner.RandomizedResponse(warner.Integers(0, 19_999), 9.0)
    report = mechanism.randomize(np.full(10**6, 777), np.random.default_rng(0)).columns["report"]
    p = float(mechanism.law.high)
    kept = int((report == 777).sum())
    assert abs(kept - p * 1e6) < 6.2 * np.sqrt(1e6 * p * (1 - p))
    wrong = np.bincount(report[report != 777] // 200, minlength=100).astype(float)
    expected = np.full(100, 200.0)
    expected[3] = 199
    assert chisquare(wrong, expected / expected.sum() * wrong.sum()).pvalue > ALPHA


def _unary_p_of_sue_with_q_of_oue(
    m: Mechanism, index: np.ndarray, s: Source
) -> dict[str, np.ndarray]:
    return _unary(m, index, smallest("UnaryEncoding symmetric").law.keep, m.law.raised, s)


def _unary_neighbours_share_noise(
    m: Mechanism, index: np.ndarray, s: Source
) -> dict[str, np.ndarray]:
    n = len(index)
    noise = s.below(m.law.raised, n)
    bits = np.repeat(noise[:, None], m.domain.size, axis=1)
    bits[np.arange(n), index] = s.below(m.law.keep, n)
    return {"bits": np.packbits(bits, axis=1)}


def _unary_padding_is_noise(m: Mechanism, index: np.ndarray, s: Source) -> dict[str, np.ndarray]:
    columns = _honest(m, index, s)
    return {"bits": columns["bits"] | (s.words(len(index), np.uint8) & 1)[:, None]}


def _item_zero_is_the_last(m: Mechanism, index: np.ndarray, s: Source) -> dict[str, np.ndarray]:
    return _honest(m, (index - 1) % m.domain.size, s)


def _wrong_answer_may_be_the_true_one(
    m: Mechanism, index: np.ndarray, s: Source
) -> dict[str, np.ndarray]:
    keep = s.below(int(m.law.high * ONE), len(index))
    return {"report": np.where(keep, index, s.uniform(m.domain.size, len(index)))}


def _one_word_for_everybody(m: Mechanism, index: np.ndarray, s: Source) -> dict[str, np.ndarray]:
    one = _honest(m, index[:1], s)
    return {name: np.repeat(column, len(index), axis=0) for name, column in one.items()}


def _olh_uses_a_modulo(m: Mechanism, index: np.ndarray, s: Source) -> dict[str, np.ndarray]:
    seed = s.uniform(m.seeds, len(index))
    return {
        "seed": seed,
        "bucket": direct_sample(
            (seed * 31 + index) % m.buckets, m.buckets, m._true_width, m._other_width, s
        ),
    }


def _subset_always_includes(m: Mechanism, index: np.ndarray, s: Source) -> dict[str, np.ndarray]:
    members = np.zeros((len(index), m.domain.size), dtype=np.uint8)
    members[np.arange(len(index)), index] = 1
    other = s.uniform(m.domain.size - 1, len(index))
    members[np.arange(len(index)), other + (other >= index)] = 1
    return {"bits": np.packbits(members, axis=1)}


def _hadamard_row_without_shift(
    m: Mechanism, index: np.ndarray, s: Source
) -> dict[str, np.ndarray]:
    y = s.uniform(m.order, len(index))
    flip = (np.bitwise_count(y & index) & 1 == 0) != s.below(m._agree, len(index))
    return {"report": np.where(flip, y ^ np.maximum(index & -index, 1), y)}


def _channel_is_transposed_in_values(
    m: Mechanism, index: np.ndarray, s: Source
) -> dict[str, np.ndarray]:
    return _honest(m, m.domain.size - 1 - index, s)


MUTANTS: dict[str, tuple[str, Sampler]] = {
    "pure-ldp RAPPOR never clears a set bit": ("UnaryEncoding optimized", _rappor_never_clears),
    "keep of SUE with raise of OUE": ("UnaryEncoding optimized", _unary_p_of_sue_with_q_of_oue),
    "bits of one report share their noise": (
        "UnaryEncoding symmetric",
        _unary_neighbours_share_noise,
    ),
    "padding bits carry noise": ("UnaryEncoding symmetric", _unary_padding_is_noise),
    "pure-ldp item 0 becomes the last": ("RandomizedResponse", _item_zero_is_the_last),
    "a wrong answer may be the true one": ("RandomizedResponse", _wrong_answer_may_be_the_true_one),
    "one random word for everybody": ("RandomizedResponse", _one_word_for_everybody),
    "LDP-EM-MR OLH ignores epsilon": ("LocalHashing optimized", _olh_keeps_half),
    "a hash by modulo": ("LocalHashing optimized", _olh_uses_a_modulo),
    "a subset always includes the truth": ("SubsetSelection of two", _subset_always_includes),
    "Hadamard row x instead of x + 1": ("HadamardResponse", _hadamard_row_without_shift),
    "values in reverse": ("MatrixMechanism", _channel_is_transposed_in_values),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_wrong_samplers_are_rejected(mutant: str) -> None:
    name, sampler = MUTANTS[mutant]
    assert _p_value(smallest(name, 2.0), sampler) < ALPHA
