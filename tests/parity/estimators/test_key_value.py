"""Estimates from key-value reports: fast forms against the same law written out."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import Categorical, Interval, KeyValue
from warner.channels import DilutedChannel, StackChannel
from warner.estimators.base import LikelihoodData
from warner.estimators.key_value import key_moments, of_keys, of_values


@pytest.mark.parametrize("key", ["unary", "direct"])
def test_what_reports_of_a_key_say_is_their_conditional_law(key: str) -> None:
    mechanism = KeyValue(
        Categorical(["a", "b", "c"]), Interval(-1, 1, 6), 1.5, key=key, value="piecewise", cells=9
    )
    channel = mechanism.channel()
    f, rest = np.array([0.2, 0.5, 0.3]), np.random.default_rng(0).dirichlet(np.ones(6), 3)
    w = channel.matvec((f[:, None] * rest).ravel())
    data = LikelihoodData(channel, w, 1000, mechanism.domain)
    for k in range(3):
        seen = channel.by_key(w)[k, 1:]
        part = of_values(data, k, float(f[k]))
        assert part is not None and isinstance(part.channel, DilutedChannel)
        assert part.channel.matvec(rest[k]) == pytest.approx(seen / seen.sum(), abs=1e-14)
        assert part.n == round(1000 * seen.sum())
        dense = part.channel.dense()
        assert dense.sum(axis=0) == pytest.approx(np.ones(6))
        assert part.channel.rmatvec(seen) == pytest.approx(dense.T @ seen)
    keys = of_keys(data)
    assert keys.channel.invert(keys.weights) == pytest.approx(f)
    assert keys.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("key", ["unary", "direct"])
@pytest.mark.parametrize("value", ["rounding", "piecewise"])
def test_variances_of_moments_are_those_of_single_reports(key: str, value: str) -> None:
    """By enumeration of all reports: what each adds to f and N, its mean and its covariance."""
    cells = {} if value == "rounding" else {"cells": 4}
    mechanism = KeyValue(
        Categorical(["a", "b"]), Interval(-1, 1, 4), 1.5, key=key, value=value, **cells
    )
    channel, theta = mechanism.channel(), np.random.default_rng(1).dirichlet(np.ones(8))
    law = mechanism.probabilities().astype(float) @ theta
    reports = warner.Reports(mechanism.header, mechanism.outputs())
    single = []
    for i in range(len(reports)):
        tally = mechanism.tally(reports[i : i + 1])
        found = key_moments(warner.results.from_tally.likelihood_data(tally))
        single.append(np.stack([found.total, found.frequency], axis=1))
    each = np.array(single)
    mean = np.einsum("y,yki->ki", law, each)
    table = theta.reshape(2, 4)
    assert mean[:, 1] == pytest.approx(table.sum(axis=1))
    assert mean[:, 0] == pytest.approx(table @ mechanism.values.points[:, 0])
    covariance = np.einsum("y,yki,ykj->kij", law, each, each) - np.einsum("ki,kj->kij", mean, mean)
    n = 10**12  # beside which the few reports that are added for small n are nothing
    assert key_moments(
        LikelihoodData(channel, channel.matvec(theta), n, mechanism.domain)
    ).variance * n == pytest.approx(covariance, abs=1e-9)


@pytest.mark.parametrize("key", ["unary", "direct"])
@pytest.mark.parametrize("value", ["rounding", "piecewise"])
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [1.0, 20.0])
def test_few_reports_that_are_alike_do_not_make_a_mean_certain(
    key: str, value: str, n: int, epsilon: float
) -> None:
    """Rejects the variance among the reports alone: five reports of the same were said to have a
    mean of 2, and no other.
    """
    mechanism = KeyValue(
        Categorical(["a", "b", "c"]), warner.Integers(0, 2), epsilon, key=key, value=value
    )
    for report in range(3):
        each = mechanism.randomize(
            {"key": ["a"], "value": [2]}, np.random.default_rng(report)
        ).columns
        alike = warner.Reports(
            mechanism.header, {name: np.repeat(column, n, axis=0) for name, column in each.items()}
        )
        tally = mechanism.tally(alike)
        found = warner.estimate(tally)
        for label in "abc":
            low, high = found.conditional(label).mean().interval()
            assert high - low > 0.05


def test_mechanisms_are_mixed_by_what_their_reports_are_worth() -> None:
    """Beside a large budget a small one must not count alike: the variance of a mixture is below
    that of either part.
    """
    keys, values = warner.Categorical(["a", "b"]), warner.Integers(0, 2)
    parts = [warner.KeyValue(keys, values, epsilon) for epsilon in (0.5, 4.0)]
    theta = np.full(6, 1 / 6)
    single = [LikelihoodData(m.channel(), m.channel().matvec(theta), 1000, m.domain) for m in parts]
    channel = StackChannel([e.channel for e in single], [1000, 1000])
    both = LikelihoodData(
        channel, channel.stack([e.weights for e in single]), 2000, parts[0].domain
    )
    variances = [key_moments(e).variance[:, 1, 1] for e in (*single, both)]
    assert (variances[2] < np.minimum(variances[0], variances[1])).all()


def test_the_bootstrap_of_one_key_fits_that_key_alone() -> None:
    """Fitting all 20 keys in every replicate took 80 s."""
    mechanism = KeyValue(Categorical(["a", "b", "c"]), Interval(0, 1, 8), 4.0, value="piecewise")
    rng = np.random.default_rng(1)
    found = warner.estimate(
        mechanism.tally(
            mechanism.randomize({"key": list("abc") * 2000, "value": rng.random(6000)}, rng)
        )
    )
    one = found.conditional("b").quantile(0.5)
    whole = type(one)(float(one), found, one._of)
    bounds = [q.interval(replicates=20, rng=np.random.default_rng(2)) for q in (one, whole)]
    assert bounds[0] == pytest.approx(bounds[1], abs=1e-9)
    part = one._estimate.estimator.fit(found.data).shares.reshape(3, 8)
    assert part[1] == pytest.approx(found.probabilities.reshape(3, 8)[1], abs=1e-12)
    assert (np.ptp(part, axis=1) == 0).tolist() == [True, False, True]
