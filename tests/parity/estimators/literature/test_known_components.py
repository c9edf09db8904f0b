"""Components by prior knowledge against EM on a matrix with averaged columns, and BIC by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import warner
from warner import Categorical, Integers
from warner.estimators import ExpectationMaximization, MaximumLikelihood, PerKey
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import MixtureReduction
from warner.results.from_tally import likelihood_data

N = 3000


def _data(name: str = "RandomizedResponse", size: int = 6) -> LikelihoodData:
    mechanism = getattr(warner, name)(Integers(0, size - 1), 1.0)
    rng = np.random.default_rng(5)
    theta = np.array([0.5, 0.3, 0.1, 0.05, 0.05, 0.0])[:size]
    return likelihood_data(
        mechanism.tally(mechanism.randomize(rng.choice(size, N, p=theta).tolist(), rng))
    )


# Values 1, 3 and 5 share one estimate, 2 is absent: components {0}, {1, 3, 5}, {4}.
MATRIX = np.array([[1, 0, 0], [0, 1 / 3, 0], [0, 0, 0], [0, 1 / 3, 0], [0, 0, 1], [0, 1 / 3, 0]])
KNOWN = MixtureReduction("em", operation=None, groups=[[3, 1, 5]], absent=[2], tolerance=1e-4)


@pytest.mark.parametrize("name", ["RandomizedResponse", "LocalHashing"])
def test_components_chosen_by_hand_are_em_on_their_averaged_columns(name: str) -> None:
    data = _data(name)
    rows = data.channel.dense() @ MATRIX
    t, value = np.array([1 / 5, 3 / 5, 1 / 5]), -np.inf
    observed = data.weights > 0
    while True:
        s = rows[observed].T @ (data.weights[observed] / (rows[observed] @ t))
        before = float(data.weights[observed] @ np.log(rows[observed] @ t))
        t = t * s
        value = float(data.weights[observed] @ np.log(rows[observed] @ t))
        if N * (value - before) < 1e-4:
            break
    fit = KNOWN.fit(data)
    np.testing.assert_allclose(fit.shares, MATRIX @ t, atol=1e-9)
    assert fit.components == 3


@pytest.mark.parametrize("name", ["RandomizedResponse", "LocalHashing", "SubsetSelection"])
def test_the_maximum_over_components_chosen_by_hand_meets_its_conditions(name: str) -> None:
    """No component's score exceeds 1, so no weights are likelier (METHODS 0). The wrong program
    keeps the reports of absent values in the averaged counts.
    """
    data = _data(name)
    fit = MixtureReduction("mle", operation=None, groups=[[3, 1, 5]], absent=[2]).fit(data)
    np.testing.assert_allclose(fit.shares, MATRIX @ (MATRIX.T > 0) @ fit.shares, atol=1e-15)
    d = data.channel.matvec(fit.shares)
    ratio = np.divide(data.weights, d, out=np.zeros_like(d), where=data.weights > 0)
    assert (MATRIX.T @ data.channel.rmatvec(ratio)).max() <= 1 + 1e-8
    assert fit.shares[2] == 0 and (fit.shares[[0, 1, 4]] > 0).all()


def test_the_bic_is_minus_twice_the_log_likelihood_plus_components_times_log_n() -> None:
    data = _data()
    fit = KNOWN.fit(data)
    law = data.channel.dense() @ fit.shares
    total = float(np.rint(data.weights * N) @ np.log(law))
    assert fit.bic == pytest.approx(-2 * total + 3 * math.log(N), rel=1e-12)
    alone = MixtureReduction("em", operation=None).fit(data)
    assert alone.bic is not None and alone.log_likelihood is not None
    assert alone.bic == pytest.approx(-2 * alone.log_likelihood + 6 * math.log(N), rel=1e-12)


def test_merging_keys_merges_the_components_of_their_frequencies() -> None:
    """[P3 sec V-C] "FO components": keys of one component have one frequency, that of MR on the
    keys alone; given it, values are estimated as before.
    """
    keys, values = Categorical([f"k{i}" for i in range(12)]), Integers(0, 3)
    mechanism = warner.KeyValue(keys, values, 2.0, key="direct", value="piecewise", cells=5)
    rng = np.random.default_rng(2)
    key = rng.choice(12, 2000, p=[0.4, 0.3, *[0.03] * 10])
    value = rng.integers(0, 4, 2000).tolist()
    reports = mechanism.randomize({"key": [f"k{i}" for i in key], "value": value}, rng)
    data = likelihood_data(mechanism.tally(reports))
    method = ExpectationMaximization(20)
    fit = PerKey(method, frequencies=MixtureReduction()).fit(data)
    table = fit.shares.reshape(12, 4)
    expected = MixtureReduction().fit(warner.estimators.key_value.of_keys(data))
    np.testing.assert_allclose(table.sum(axis=1), expected.shares, rtol=1e-9)
    assert expected.components is not None
    assert len(np.unique(table.sum(axis=1).round(12))) == expected.components < 12
    k = int(np.argmax(expected.shares))
    of_key = warner.estimators.key_value.of_values(data, k, float(expected.shares[k]))
    assert of_key is not None
    np.testing.assert_allclose(table[k] / table[k].sum(), method.fit(of_key).shares, rtol=1e-9)


def test_a_known_group_errs_less_where_it_is_true_and_its_values_share_one_estimate() -> None:
    data = _data()
    fit = MixtureReduction("mle", operation=None, groups=[[3, 4]]).fit(data)
    assert fit.shares[3] == fit.shares[4]
    free = MaximumLikelihood().fit(data)
    assert free.log_likelihood is not None and fit.log_likelihood is not None
    assert fit.log_likelihood <= free.log_likelihood
