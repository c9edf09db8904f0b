"""Whether the maximum of the likelihood is unique."""

from __future__ import annotations

import json

import numpy as np
import pytest

import warner
from tests.parity.estimators.mle._oracle import _evidence
from tests.registry import SEEING
from warner.channels import DenseChannel, GeometricChannel
from warner.estimators.base import LikelihoodData


def _three(matrix: list[list[float]], counts: list[int]) -> warner.Estimate:
    """An estimate from reports 1, 2, 3 counted, ``matrix`` given with values as rows."""
    mechanism = warner.MatrixMechanism(warner.Integers(1, 3), np.array(matrix).T)
    return warner.estimate(
        mechanism.tally(mechanism.reports(np.repeat([0, 1, 2], counts))), warner.MaximumLikelihood()
    )


RANK_TWO = [[1 / 2, 1 / 3, 1 / 6], [1 / 3, 1 / 3, 1 / 3], [1 / 6, 1 / 3, 1 / 2]]


def test_whether_the_maximum_is_unique_is_said() -> None:
    """METHODS 4.5: the same channel of rank 2 has many maximisers for reports 1,2,3 and one for
    1,1,1,2,2,3.
    """
    many = _three(RANK_TWO, [1, 1, 1])
    assert str(many.unique).startswith("not unique") and many.probabilities[0] == pytest.approx(
        many.probabilities[2], abs=1e-4
    )
    alone = _three(RANK_TWO, [3, 2, 1])
    assert str(alone.unique).startswith("unique") and alone.probabilities == pytest.approx(
        [1, 0, 0], abs=1e-6
    )
    direct_ = [[1 / 2, 1 / 4, 1 / 4], [1 / 4, 1 / 2, 1 / 4], [1 / 4, 1 / 4, 1 / 2]]
    for counts in ([1, 3, 1], [1, 2, 1]):
        result = _three(direct_, counts)
        assert str(result.unique).startswith("unique") and result.probabilities == pytest.approx(
            [0, 1, 0], abs=1e-4
        )
    twice = [[0.6, 0.2, 0.2], [0.6, 0.2, 0.2], [0.2, 0.2, 0.6]]
    assert str(_three(twice, [5, 2, 3]).unique).startswith("not unique")
    assert json.loads(json.dumps(many.to_json()))["unique"] == many.unique


@pytest.mark.parametrize("name", SEEING)
def test_channels_of_full_rank_have_one_maximum(name: str) -> None:
    fit = warner.MaximumLikelihood().fit(_evidence(name, 6, 5000, 2.0))
    assert str(fit.unique).startswith("unique")


def test_uniqueness_is_not_lost_to_rounding() -> None:
    """A degenerate maximum with a share of 1e-12 left by a solver; a row much rarer than the
    others; columns almost alike.
    """
    degenerate = DenseChannel(np.array([[0.5, 0.3, 0.2], [0.5, 0.7, 0.8]]))
    fit = warner.MaximumLikelihood().fit(
        LikelihoodData(degenerate, np.array([0.5, 0.5]), 2, warner.Integers(1, 3))
    )
    assert fit.probabilities == pytest.approx([1, 0, 0], abs=1e-12) and str(fit.unique).startswith(
        "unique"
    )
    rare = np.full((6, 3), 1 / 6) + 0.1 * np.random.default_rng(0).normal(size=(6, 3))
    rare = np.abs(rare)
    rare[5] = [1e-7, 2e-7, 3e-7]
    channel = DenseChannel(rare / rare.sum(axis=0))
    w = channel.matvec(np.array([0.3, 0.3, 0.4]))
    assert str(
        warner.MaximumLikelihood()
        .fit(LikelihoodData(channel, w, 1000, warner.Integers(1, 3)))
        .unique
    ).startswith("unique")
    flat = GeometricChannel(50, 0.999)
    w = flat.matvec(np.full(50, 1 / 50))
    assert not str(
        warner.MaximumLikelihood()
        .fit(LikelihoodData(flat, w, 10**12, warner.Integers(1, 50)))
        .unique
    ).startswith("not unique")
