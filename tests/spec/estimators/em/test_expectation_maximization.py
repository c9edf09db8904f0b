"""EM: its steps, its start from independence, and when it ends."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.spec.results._attributes import DOMAIN, SHAPE, fitted, keep, seen
from warner import Grid, Integers, Interval, Inversion, MaximumLikelihood, Product
from warner.channels import DenseChannel, KroneckerChannel
from warner.estimators import Independent
from warner.estimators.base import LikelihoodData
from warner.mechanisms import PlanarLaplace


@pytest.mark.parametrize("steps", [0, -1, 1.5, True, None])
def test_steps_must_be_a_positive_integer(steps: object) -> None:
    with pytest.raises(
        (warner.errors.ArgumentError, warner.errors.ArgumentTypeError), match="steps"
    ):
        warner.ExpectationMaximization(steps)


def test_no_step_from_independence_is_the_product_of_marginals_and_many_the_maximum() -> None:
    whole, theta = fitted(Inversion())
    start = Independent().fit(whole.data).shares
    few = warner.ExpectationMaximization(1, start="independent").fit(whole.data).shares
    many = warner.ExpectationMaximization(3000, start="independent").fit(whole.data)
    best = MaximumLikelihood().fit(whole.data)
    assert np.abs(few - start).sum() < 0.3 * np.abs(best.shares - start).sum()
    assert many.gap is not None and many.gap < 1e-4
    assert (
        repr(warner.ExpectationMaximization("auto", start="independent"))
        == "ExpectationMaximization(steps='auto', start='independent')"
    )
    independent = np.einsum(
        "i,j,k->ijk", *(theta.sum(axis=tuple({0, 1, 2} - {a})) for a in range(3))
    ).ravel()
    data = seen(KroneckerChannel([keep(d) for d in SHAPE]), independent, 20_000)
    found = warner.ExpectationMaximization("auto", start="independent").fit(data)
    assert found.iterations is not None
    assert warner.metrics.l1(found.shares, independent) < 0.5 * warner.metrics.l1(
        MaximumLikelihood().fit(data).shares, independent
    )


def test_a_start_from_independence_needs_no_inverse() -> None:
    """One attribute known by a single bit, whose channel has none; hashes of combinations, which
    tell no attributes apart.
    """
    bit = warner.mechanisms.StochasticRounding(Interval(0.0, 1.0, 4), 1.0).channel()
    pair = Product(a=Interval(0.0, 1.0, 4), b=Integers(0, 2))
    method = warner.ExpectationMaximization("auto", start="independent")
    data = seen(KroneckerChannel([bit, keep(3)]), np.full(12, 1 / 12), 5000, pair)
    assert method.fit(data).shares.sum() == pytest.approx(1)
    hashes = warner.LocalHashing(pair, 2.0, seeds=64)
    data = seen(hashes.channel(), np.full(12, 1 / 12), 5000, pair)
    plain = warner.ExpectationMaximization(5).fit(data).shares
    assert warner.ExpectationMaximization(5, start="independent").fit(data).shares == pytest.approx(
        plain
    )


def test_steps_from_independence_do_not_depend_on_the_order_of_attributes() -> None:
    whole, _ = fitted(warner.ExpectationMaximization("auto", start="independent"))
    order = [2, 0, 1]
    found = whole.data.channel.marginal(whole.data.weights, SHAPE, order)
    assert found is not None
    names = list(DOMAIN.attributes)
    turned = Product(**{names[axis]: DOMAIN.attributes[names[axis]] for axis in order})
    fit = whole.estimator.fit(LikelihoodData(found[0], found[1], whole.n, turned))
    assert fit.shares == pytest.approx(
        whole.probabilities.reshape(SHAPE).transpose(order).ravel(), rel=1e-9
    )


def test_em_ends_when_more_steps_gain_nothing() -> None:
    """Held-out likelihoods that rise for ever, but by nothing, used to cost 20,000 steps on four
    cells, and one step was then chosen.
    """

    class Counted(DenseChannel):
        products = 0

        def matvec(self, theta: np.ndarray) -> np.ndarray:
            type(self).products += 1
            return super().matvec(theta)

    mechanism, counts = PlanarLaplace(Grid(2, 2), 1.0), np.array([48, 45, 41, 66])
    data = LikelihoodData(Counted(mechanism.channel().dense()), counts / 200, 200, mechanism.domain)
    fit = warner.ExpectationMaximization("auto").fit(data)
    assert Counted.products < 10_000 and fit.iterations == 1
