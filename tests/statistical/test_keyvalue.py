"""Key-value reports and what is simulated of them follow their law, at a false alarm rate of 1e-9;
wrong programs do not.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from tests.registry import KEYED, smallest
from tests.statistical.test_samplers import ALPHA, Sampler, _honest, _p_value
from warner import Categorical, Integers, KeyValue
from warner._core.exact import ONE
from warner._core.sampling import Source
from warner.channels import TiedChannel
from warner.estimators.key_value import key_moments
from warner.estimators.likelihood_data import LikelihoodData
from warner.mechanisms import Mechanism
from warner.mechanisms.direct import direct_sample
from warner.results.intervals import normal_quantile
from warner.results.summaries import Ratio


def _dummies_carry_the_value(m: Mechanism, index: np.ndarray, s: Source) -> dict[str, np.ndarray]:
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


def _keys_at_the_whole_budget(m: Mechanism, index: np.ndarray, s: Source) -> dict[str, np.ndarray]:
    """epsilon_1 = epsilon: other keys are raised w.p. 1 / (e + 1)."""
    assert isinstance(m, KeyValue)
    greedy = KeyValue(m.keys, m.values, m.requested, value=m.value, cells=m.cells)
    greedy._other_width = int(ONE / (np.exp(m.requested) + 1))
    return greedy.randomize_index(index, s)


def _values_apart_from_keys(m: Mechanism, index: np.ndarray, s: Source) -> dict[str, np.ndarray]:
    """The key by randomised response, and the person's value with it whatever key was sent."""
    assert isinstance(m, KeyValue)
    sent = direct_sample(
        index // m.values.size, m.domain.shape[0], m._keep_width, m._other_width, s
    )
    return {"key": sent, "value": m._value.randomize_index(index % m.values.size, s)["report"]}


def _one_dummy_for_all_keys(m: Mechanism, index: np.ndarray, s: Source) -> dict[str, np.ndarray]:
    assert isinstance(m, KeyValue)
    digits = _honest(m, index, s)["digits"].copy()
    same = 1 + s.uniform(m.cells, len(index))[:, None]
    others = (np.arange(digits.shape[1]) != (index // m.values.size)[:, None]) & (digits > 0)
    return {"digits": np.where(others, same, digits)}


MUTANTS: dict[str, tuple[str, Sampler]] = {
    "dummies carry the person's value": ("KeyValue direct piecewise", _dummies_carry_the_value),
    "values are sent apart from keys": ("KeyValue direct rounding", _values_apart_from_keys),
    "keys have the whole budget": ("KeyValue unary piecewise", _keys_at_the_whole_budget),
    "one dummy for all keys": ("KeyValue unary piecewise", _one_dummy_for_all_keys),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_wrong_samplers_are_rejected(mutant: str) -> None:
    name, sampler = MUTANTS[mutant]
    assert _p_value(smallest(name, 2.0), sampler) < ALPHA


def _counts(channel: TiedChannel, w: np.ndarray, n: int) -> np.ndarray:
    return np.rint(channel.by_key(w) * n)


@pytest.mark.parametrize("name", [name for name in KEYED if "unary" in name])
@pytest.mark.parametrize("kind", ["simulate", "rerandomize"])
def test_simulated_tallies_follow_the_law_of_every_key(name: str, kind: str) -> None:
    """The sum of 50 tallies, key by key; the mutant that raises a key among its own people too is
    rejected.
    """
    mechanism = smallest(name, 2.0)
    channel, rng, n = mechanism.channel(), np.random.default_rng(4), 20_000
    assert isinstance(channel, TiedChannel)
    people = rng.multinomial(n, rng.dirichlet(np.ones(mechanism.domain.size)))
    theta = people / n
    draw = (
        (lambda: channel.simulate(theta, n, rng))
        if kind == "simulate"
        else (lambda: channel.simulate_from_values(people, rng))
    )
    total = sum((_counts(channel, draw(), n) for _ in range(50)), np.zeros((channel.keys, 1)))
    law = channel.by_key(channel.matvec(theta))
    raised = law + theta.reshape(channel.keys, -1).sum(axis=1, keepdims=True) * np.append(
        -channel.sent, channel.dummy
    )
    for row, right, wrong in zip(total, law, raised, strict=True):
        assert chisquare(row, right * row.sum()).pvalue > ALPHA
        assert chisquare(row, np.abs(wrong) / np.abs(wrong).sum() * row.sum()).pvalue < ALPHA


@pytest.mark.parametrize("key", ["unary", "direct"])
@pytest.mark.parametrize("value", ["rounding", "piecewise"])
def test_intervals_of_means_cover(key: str, value: str) -> None:
    """A key of share 0.1 whose values lie near one end, 600 tallies of 20,000 reports. The mutant
    that takes the key's estimated frequency for its true one, N / f +- z sd(N) / f, covers too
    rarely.
    """
    mechanism = KeyValue(Categorical(["a", "b", "c"]), Integers(-1, 1), 3.0, key=key, value=value)
    table = np.array([0.1, 0.3, 0.6])[:, None] * np.array(
        [[0, 0, 1.0], [0.3, 0.4, 0.3], [0.9, 0.1, 0]]
    )
    means = table @ mechanism.values.points[:, 0] / table.sum(axis=1)
    channel, rng, z = mechanism.channel(), np.random.default_rng(5), normal_quantile(0.95)
    runs, hits, naive = 600, np.zeros(3), np.zeros(3)
    for _ in range(runs):
        m = key_moments(
            LikelihoodData(
                channel, channel.simulate(table.ravel(), 20_000, rng), 20_000, mechanism.domain
            )
        )
        for k in range(3):
            low, high = Ratio(m.total[k], m.frequency[k], m.variance[k], (-99.0, 99.0)).around(z)
            hits[k] += low <= means[k] <= high
            naive[k] += abs(m.total[k] / m.frequency[k] - means[k]) <= z * np.sqrt(
                m.variance[k, 0, 0]
            ) / abs(m.frequency[k])
    low, high = binom.ppf([ALPHA, 1 - ALPHA], runs, 0.95)
    assert (hits >= low).all() and (hits <= high).all()
    # Of rounded values the mutant covers 92 %, which 600 runs do not tell from 95 %.
    assert value == "rounding" or (naive < low).any()
