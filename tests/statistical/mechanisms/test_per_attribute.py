"""Tuples of reports follow their joint law, at a false alarm rate of 1e-9."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.registry import COMBINED
from tests.statistical.mechanisms._chi_square import ALPHA, _honest, _p_value
from warner._core.sampling import Source
from warner.mechanisms import Mechanism

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
def _one_draw_for_all(
    mechanism: Mechanism, index: np.ndarray, source: Source
) -> dict[str, np.ndarray]:
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
