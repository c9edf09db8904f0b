"""Samplers follow their laws, and wrong ones are rejected."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

import warner
from tests.registry import ALL, COMBINED, smallest
from tests.statistical.mechanisms._chi_square import ALPHA, Sampler, _honest, _p_value
from tests.statistical.mechanisms._mutants import _olh_keeps_half, _rappor_never_clears, _unary
from warner import KeyValue
from warner._core.exact import ONE
from warner._core.sampling import Source
from warner.mechanisms import Mechanism
from warner.mechanisms.direct import direct_sample

Columns = dict[str, np.ndarray]


# Each source of words at another epsilon: a sampler has one program for both.


@pytest.mark.parametrize("name", ALL)
def test_reports_follow_the_law(name: str) -> None:
    assert _p_value(smallest(name, 2.0), _honest) > ALPHA


@pytest.mark.parametrize("name", ALL)
def test_reports_from_the_systems_randomness_follow_the_law(name: str) -> None:
    # The sampler is that of the test above, so the two ends of the domain are enough.
    def system(mechanism: Mechanism, index: np.ndarray, source: Source) -> Columns:
        return mechanism.randomize_index(index, Source(None))

    mechanism = smallest(name, 0.5)
    assert _p_value(mechanism, system, np.array([0, mechanism.domain.size - 1])) > ALPHA


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


def _unary_p_of_sue_with_q_of_oue(m: Mechanism, index: np.ndarray, s: Source) -> Columns:
    return _unary(m, index, smallest("UnaryEncoding symmetric").law.keep, m.law.raised, s)


def _unary_neighbours_share_noise(m: Mechanism, index: np.ndarray, s: Source) -> Columns:
    n = len(index)
    noise = s.below(m.law.raised, n)
    bits = np.repeat(noise[:, None], m.domain.size, axis=1)
    bits[np.arange(n), index] = s.below(m.law.keep, n)
    return {"bits": np.packbits(bits, axis=1)}


def _unary_padding_is_noise(m: Mechanism, index: np.ndarray, s: Source) -> Columns:
    columns = _honest(m, index, s)
    return {"bits": columns["bits"] | (s.words(len(index), np.uint8) & 1)[:, None]}


def _item_zero_is_the_last(m: Mechanism, index: np.ndarray, s: Source) -> Columns:
    return _honest(m, (index - 1) % m.domain.size, s)


def _wrong_answer_may_be_the_true_one(m: Mechanism, index: np.ndarray, s: Source) -> Columns:
    keep = s.below(int(m.law.high * ONE), len(index))
    return {"report": np.where(keep, index, s.uniform(m.domain.size, len(index)))}


def _one_word_for_everybody(m: Mechanism, index: np.ndarray, s: Source) -> Columns:
    one = _honest(m, index[:1], s)
    return {name: np.repeat(column, len(index), axis=0) for name, column in one.items()}


def _olh_uses_a_modulo(m: Mechanism, index: np.ndarray, s: Source) -> Columns:
    seed = s.uniform(m.seeds, len(index))
    return {
        "seed": seed,
        "bucket": direct_sample(
            (seed * 31 + index) % m.buckets, m.buckets, m._true_width, m._other_width, s
        ),
    }


def _subset_always_includes(m: Mechanism, index: np.ndarray, s: Source) -> Columns:
    members = np.zeros((len(index), m.domain.size), dtype=np.uint8)
    members[np.arange(len(index)), index] = 1
    other = s.uniform(m.domain.size - 1, len(index))
    members[np.arange(len(index)), other + (other >= index)] = 1
    return {"bits": np.packbits(members, axis=1)}


def _hadamard_row_without_shift(m: Mechanism, index: np.ndarray, s: Source) -> Columns:
    y = s.uniform(m.order, len(index))
    flip = (np.bitwise_count(y & index) & 1 == 0) != s.below(m._agree, len(index))
    return {"report": np.where(flip, y ^ np.maximum(index & -index, 1), y)}


def _channel_is_transposed_in_values(m: Mechanism, index: np.ndarray, s: Source) -> Columns:
    return _honest(m, m.domain.size - 1 - index, s)


# Wrong samplers of keys with values.


def _dummies_carry_the_value(m: Mechanism, index: np.ndarray, s: Source) -> Columns:
    """What is sent of another key is the person's own value: it would say that value to whoever
    knows the key is wrong.
    """
    assert isinstance(m, KeyValue)
    columns = _honest(m, index, s)
    own = m._value.randomize_index(index % m.values.size, s)["report"]
    return {
        **columns,
        "value": np.where(columns["key"] == index // m.values.size, columns["value"], own),
    }


def _keys_at_the_whole_budget(m: Mechanism, index: np.ndarray, s: Source) -> Columns:
    """epsilon_1 = epsilon: other keys are raised w.p. 1 / (e + 1)."""
    assert isinstance(m, KeyValue)
    greedy = KeyValue(m.keys, m.values, m.requested, value=m.value, cells=m.cells)
    greedy._other_width = int(ONE / (np.exp(m.requested) + 1))
    return greedy.randomize_index(index, s)


def _values_apart_from_keys(m: Mechanism, index: np.ndarray, s: Source) -> Columns:
    """The key by randomised response, and the person's value with it whatever key was sent."""
    assert isinstance(m, KeyValue)
    sent = direct_sample(
        index // m.values.size, m.domain.shape[0], m._keep_width, m._other_width, s
    )
    return {"key": sent, "value": m._value.randomize_index(index % m.values.size, s)["report"]}


def _one_dummy_for_all_keys(m: Mechanism, index: np.ndarray, s: Source) -> Columns:
    assert isinstance(m, KeyValue)
    digits = _honest(m, index, s)["digits"].copy()
    same = 1 + s.uniform(m.cells, len(index))[:, None]
    others = (np.arange(digits.shape[1]) != (index // m.values.size)[:, None]) & (digits > 0)
    return {"digits": np.where(others, same, digits)}


# Tuples of reports follow their joint law, at a false alarm rate of 1e-9.


SAMPLED = [
    "RR x OUE x OLH",
    "RR x SquareWave",
    "uRR x RR",
    "uRAP x OUE",
    "subsets x RR",
    "RR three times",
    "OUE twice",
    "RR, OUE, RR",
    "uRR twice",
]


@pytest.mark.parametrize("name", SAMPLED)
def test_tuples_follow_the_joint_law(name: str) -> None:
    assert _p_value(COMBINED[name](1.0), _honest) > ALPHA


# Where parts are of different kinds, they use the words at different places, and whole tuples would
# not show that words are shared.
def _one_draw_for_all(mechanism: Mechanism, index: np.ndarray, source: Source) -> Columns:
    """The mutant: every part sees the same random words. No marginal shows it."""
    seed = int(source.words(1, np.uint32)[0])
    places = (
        np.unravel_index(index, mechanism.domain.shape)
        if isinstance(mechanism, warner.PerAttribute)
        else [index] * len(mechanism.parts)
    )
    pairs = zip(mechanism.parts.items(), places, strict=True)
    return mechanism.schema.join(
        {
            name: part.randomize_index(x, Source(np.random.default_rng(seed)))
            for (name, part), x in pairs
        }
    )


@pytest.mark.parametrize("name", ["uRR x RR", "RR three times", "OUE twice"])
def test_parts_that_share_one_random_draw_are_rejected_though_their_marginals_are_not(
    name: str,
) -> None:
    mechanism = COMBINED[name](1.0)
    assert _p_value(mechanism, _one_draw_for_all) < ALPHA
    for part in mechanism.parts.values():
        assert _p_value(part, _honest) > ALPHA


# Wrong samplers of projective geometry response, in the space of 13 points over three digits.


GEOMETRY = warner.mechanisms.ProjectiveGeometryResponse(warner.Integers(0, 12), 1.5, prime=3)


def _digit_is_not_negated(m: Mechanism, index: np.ndarray, s: Source) -> Columns:
    """The digit that the equation gives has the wrong sign: 2 - u in place of u."""
    y = _honest(m, index, s)["report"].astype(np.int64)
    return {"report": np.where(y > 0, (y - 1) // 3 * 3 + 1 + (-(y - 1)) % 3, y)}


def _value_is_not_read_backwards(m: Mechanism, index: np.ndarray, s: Source) -> Columns:
    space = m._points.space
    numbers = space.numbers(index)
    digits = np.stack([numbers // 3**k % 3 for k in range(space.dimension)])
    first = np.argmax(digits > 0, axis=0)
    scaled = digits * digits[first, np.arange(len(index))] % 3  # 2 is its inverse modulo 3
    backwards = sum(scaled[k] * 3 ** (space.dimension - 1 - k) for k in range(space.dimension))
    return _honest(m, space.index_of(np.asarray(backwards)), s)


def _other_side_may_be_orthogonal(m: Mechanism, index: np.ndarray, s: Source) -> Columns:
    """The textbook shortcut: any point instead of one that does not support the value."""
    space, n = m._points.space, len(index)
    include = s.below(m._include, n)
    on = space.draw(index, np.ones(n, dtype=bool), s)
    return {"report": np.where(include, on, s.uniform(space.points, n))}


def test_reports_of_geometry_have_their_law() -> None:
    assert _p_value(GEOMETRY, _honest) > ALPHA


MUTANTS: dict[str, tuple[str | Mechanism, Sampler]] = {
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
    "dummies carry the person's value": ("KeyValue direct piecewise", _dummies_carry_the_value),
    "values are sent apart from keys": ("KeyValue direct rounding", _values_apart_from_keys),
    "keys have the whole budget": ("KeyValue unary piecewise", _keys_at_the_whole_budget),
    "one dummy for all keys": ("KeyValue unary piecewise", _one_dummy_for_all_keys),
    "a digit is not negated": (GEOMETRY, _digit_is_not_negated),
    "a value is not read backwards": (GEOMETRY, _value_is_not_read_backwards),
    "the other side may be orthogonal": (GEOMETRY, _other_side_may_be_orthogonal),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_wrong_samplers_are_rejected(mutant: str) -> None:
    mechanism, sampler = MUTANTS[mutant]
    subject = smallest(mechanism, 2.0) if isinstance(mechanism, str) else mechanism
    assert _p_value(subject, sampler) < ALPHA
