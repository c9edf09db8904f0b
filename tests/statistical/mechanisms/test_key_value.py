"""Key-value reports follow their law, at a false alarm rate of 1e-9; wrong programs do not."""

from __future__ import annotations

import numpy as np
import pytest

from tests.registry import smallest
from tests.statistical.mechanisms._chi_square import ALPHA, Sampler, _honest, _p_value
from warner import KeyValue
from warner._core.exact import ONE
from warner._core.sampling import Source
from warner.mechanisms import Mechanism
from warner.mechanisms.direct import direct_sample


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
