"""RakedJoint: its margins are those of separate estimates, whatever is asked for together."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

import warner
from warner import Categorical, Integers, PerAttribute, Product, RandomizedResponse, estimate
from warner.channels import DirectChannel, KroneckerChannel, StackChannel, summed
from warner.domains import Domain
from warner.errors import ArgumentTypeError, ImpossibleReportError
from warner.estimators import EmpiricalBayes, ExpectationMaximization, MaximumLikelihood, RakedJoint
from warner.estimators.base import LikelihoodData, Status
from warner.estimators.raked_tables import blocks_of, margin, product_of, raked
from warner.mechanisms import Mechanism
from warner.reports.tally import Tally

SIZES = {"b": 3, "a": 2, "d": 4, "c": 2}


def _domain() -> Product:
    return Product(**{k: Categorical([f"{k}{i}" for i in range(d)]) for k, d in SIZES.items()})


def _truth() -> np.ndarray:
    """Two groups of people, in each of which the attributes are independent."""
    table = np.zeros(tuple(SIZES.values()))
    rng = np.random.default_rng(4)
    for weight in (0.4, 0.6):
        part = np.full((), weight)
        for size in SIZES.values():
            part = np.multiply.outer(part, rng.dirichlet(np.ones(size)))
        table += part
    return table.ravel()


def _tally(
    make: Callable[[Domain], Mechanism], n: int = 3000, domain: Product | None = None
) -> Tally:
    domain = _domain() if domain is None else domain
    survey = PerAttribute(domain, dict.fromkeys(domain.attributes, make))
    rng = np.random.default_rng(5)
    truth = _truth() if domain.size == 48 else np.full(domain.size, 1 / domain.size)
    return survey.tally(survey.randomize(domain.decode(rng.choice(domain.size, n, p=truth)), rng))


MAKERS: dict[str, Callable[[Domain], Mechanism]] = {
    "RR": lambda d: RandomizedResponse(d, 2.0),
    "OUE": lambda d: warner.UnaryEncoding(d, 2.0, variant="oue"),
    "subsets": lambda d: warner.SubsetSelection(d, 2.0, size=1),
    "OLH": lambda d: warner.LocalHashing(d, 2.0, seeds=9, buckets=2),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_margins_of_one_and_two_attributes_are_those_asked_for_alone(maker: str) -> None:
    tally = _tally(MAKERS[maker])
    whole = estimate(tally)
    assert whole.estimator == RakedJoint()
    assert whole.status in (Status.COMPLETED, Status.STOPPED)
    assert (whole.probabilities >= 0).all()
    assert whole.probabilities.sum() == pytest.approx(1)
    for name in SIZES:
        alone = estimate(tally, attributes=[name]).probabilities
        assert whole.marginal(name).probabilities == pytest.approx(alone, abs=1e-6)
    for pair in (["a", "b"], ["d", "b"]):
        alone = estimate(tally, attributes=pair).probabilities
        assert whole.marginal(pair).probabilities == pytest.approx(alone, abs=1e-5)


def test_the_order_of_the_attributes_changes_nothing() -> None:
    tally = _tally(MAKERS["RR"])
    straight = estimate(tally, attributes=["a", "b", "c"]).probabilities
    turned = estimate(tally, attributes=["c", "a", "b"]).probabilities
    assert summed(turned, (2, 2, 3), [1, 2, 0]) == pytest.approx(straight, abs=1e-15)


def test_one_default_for_tables_of_all_sizes() -> None:
    small = Product(a=Categorical(["x", "y"]), b=Categorical(["x", "y"]))
    large = Product(**{f"a{i}": Integers(0, 3) for i in range(6)})
    for domain in (small, large):
        found = estimate(_tally(MAKERS["RR"], 500, domain))
        assert found.estimator == RakedJoint()
        assert found.iterations is not None
    assert repr(RakedJoint()) == "RakedJoint()"
    assert hash(RakedJoint()) == hash(RakedJoint(EmpiricalBayes().fit))


def test_single_attributes_are_estimated_as_told() -> None:
    data = estimate(_tally(MAKERS["RR"])).data
    told = RakedJoint(MaximumLikelihood().fit).fit(data).shares
    part = data.channel.marginal(data.weights, data.domain.shape, [2])
    assert part is not None
    alone = LikelihoodData(*part, data.n, data.domain.select(["d"]))
    best = MaximumLikelihood().fit(alone).shares
    assert summed(told, data.domain.shape, [2]) == pytest.approx(best, abs=1e-6)
    with pytest.raises(ArgumentTypeError, match="single"):
        RakedJoint("labels")  # type: ignore[arg-type]


def test_one_attribute_is_estimated_as_such() -> None:
    labels = Categorical(["a", "b", "c"])
    data = LikelihoodData(DirectChannel(3, 0.2, 0.4), np.array([0.5, 0.3, 0.2]), 1000, labels)
    assert (RakedJoint().fit(data).shares == EmpiricalBayes().fit(data).shares).all()
    only = LikelihoodData(data.channel, data.weights, 1000, Product(only=labels))
    assert (RakedJoint().fit(only).shares == EmpiricalBayes().fit(data).shares).all()


def test_reports_that_tell_no_attributes_apart_are_estimated_by_em() -> None:
    pair = Product(a=Categorical(["x", "y", "z"]), b=Integers(0, 2))
    hashes = warner.LocalHashing(pair, 2.0, seeds=64)
    weights = hashes.channel().simulate(np.full(9, 1 / 9), 2000, np.random.default_rng(0))
    data = LikelihoodData(hashes.channel(), weights, 2000, pair)
    early = ExpectationMaximization("auto", start="independent").fit(data).shares
    assert (RakedJoint().fit(data).shares == early).all()


def test_attributes_that_were_randomised_together_are_raked_too() -> None:
    """Two clusters, whose names do not stand side by side in their order; and a cluster of hashes,
    which tells no attributes apart.
    """
    yes_no = Categorical(["no", "yes"])
    people = Product(first=Product(d=yes_no, a=yes_no), second=Product(c=yes_no, b=yes_no))
    answers = [{"first": {"d": x, "a": x}, "second": {"c": x, "b": "no"}} for x in ("no", "yes")]
    rr: Callable[[Domain], Mechanism] = lambda d: RandomizedResponse(d, 3.0)
    hashes: Callable[[Domain], Mechanism] = lambda d: warner.LocalHashing(d, 3.0, seeds=16)
    for first in (rr, hashes):
        survey = PerAttribute(people, {"first": first, "second": rr})
        tally = survey.tally(survey.randomize(answers * 1000, np.random.default_rng(3)))
        found = estimate(tally, RakedJoint()).probabilities.reshape(2, 2, 2, 2)
        assert found[0, 0, 0, 0] > 0.35
        assert found[1, 1, 1, 0] > 0.35
        assert found.sum() == pytest.approx(1)


def test_badly_conditioned_and_singular_channels_are_learnt_from() -> None:
    """Square waves, whose inverse is hopeless, and single bits, which have none, beside a label."""
    numbers = warner.Interval(0.0, 1.0, 16)
    pair = Product(number=numbers, label=Categorical(["low", "high"]))
    answers = [(x, "low") for x in np.linspace(0, 0.3, 2500)]
    answers += [(x, "high") for x in np.linspace(0.7, 1, 2500)]
    rows = [{"number": x, "label": label} for x, label in answers]
    for make in (
        lambda d: warner.SquareWave(d, 2.0, cells=64),
        lambda d: warner.mechanisms.StochasticRounding(d, 2.0),
    ):
        survey = PerAttribute(pair, {"number": make, "label": lambda d: RandomizedResponse(d, 2.0)})
        found = estimate(survey.tally(survey.randomize(rows, np.random.default_rng(1))))
        table = found.probabilities.reshape(16, 2)
        means = (numbers.points[:, 0] @ table) / table.sum(axis=0)  # type: ignore[index]
        assert means[1] - means[0] > 0.4


def test_several_budgets_are_estimated_from_together() -> None:
    domain = _domain()
    channels = [
        KroneckerChannel([RandomizedResponse(d, e).channel() for d in domain.attributes.values()])
        for e in (1.0, 3.0)
    ]
    stack = StackChannel(channels, [2000, 1000])
    weights = stack.simulate(_truth(), 3000, np.random.default_rng(2))
    fit = RakedJoint().fit(LikelihoodData(stack, weights, 3000, domain))
    assert fit.gap is not None
    assert np.abs(fit.shares - _truth()).sum() < 0.5


def test_intervals_of_the_table_and_of_its_margins_include_the_estimate() -> None:
    found = estimate(_tally(MAKERS["RR"]))
    for one in (found, found.marginal("d"), found.marginal(["a", "b"])):
        low, high = one.interval().T
        assert (low <= one.probabilities).all()
        assert (one.probabilities <= high).all()
    pair = estimate(_tally(MAKERS["RR"]), attributes=["a", "b"])
    low, high = pair.interval(kind="bootstrap", replicates=20, rng=np.random.default_rng(0)).T
    assert (low <= high).all()


def test_an_impossible_report_is_refused() -> None:
    """A report that only one value makes, and no one makes, since that value has probability 0."""
    blind = warner.channels.DenseChannel(np.array([[1.0, 1.0], [0.0, 0.0]]))
    channel = KroneckerChannel([blind, DirectChannel(2, 0.2, 0.6)])
    pair = Product(a=Categorical(["x", "y"]), b=Categorical(["x", "y"]))
    data = LikelihoodData(channel, np.array([0.25, 0.25, 0.25, 0.25]), 100, pair)
    with pytest.raises(ImpossibleReportError):
        RakedJoint().fit(data)


# Raking meets margins and changes nothing else.


def test_margins_are_met_and_further_dependence_stays() -> None:
    rng = np.random.default_rng(0)
    base, other = rng.dirichlet(np.ones(24), 2).reshape(2, 2, 3, 4)
    targets = {axes: margin(other, axes) for axes in [(0,), (1, 2)]}
    found = raked(base, targets)
    for axes, target in targets.items():
        assert margin(found, axes) == pytest.approx(target, abs=1e-9)
    # The ratio to the base is a product of a factor of axis 0 and one of axes 1 and 2.
    ratio = np.log(found / base).reshape(2, 12)
    ratio -= ratio.mean(axis=0) + ratio.mean(axis=1, keepdims=True) - ratio.mean()
    assert np.abs(ratio).max() < 1e-9


def test_a_share_of_zero_stays_and_targets_that_contradict_each_other_end() -> None:
    base = np.array([[0.0, 0.5], [0.25, 0.25]])
    found = raked(base, {(0,): np.array([0.3, 0.7])})
    assert found[0, 0] == 0
    assert found.sum(axis=1) == pytest.approx([0.3, 0.7])
    against = {(0,): np.array([0.3, 0.7]), (0, 1): np.full((2, 2), 0.25)}
    between = raked(np.full((2, 2), 0.25), against).sum(axis=1)
    assert between == pytest.approx([0.4, 0.6])
    assert (raked(base, {}) == base).all()


@pytest.mark.parametrize("ndim", [2, 4, 5, 9, 20])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_blocks_hold_every_subset(ndim: int, order: int) -> None:
    blocks = blocks_of(ndim, order)
    for axes in combinations(range(ndim), order):
        assert any(set(axes) <= set(block) for block in blocks)
    longest = order * -(-ndim // (2 * order))
    assert all(len(block) <= max(2 * order, longest) for block in blocks)


def test_independent_attributes_have_no_dependence() -> None:
    parts = [np.array([0.2, 0.8]), np.array([0.5, 0.3, 0.2])]
    assert product_of(parts) == pytest.approx(np.outer(*parts))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ndim", [3, 13])
def test_pairs_that_no_table_has_give_a_distribution(ndim: int) -> None:
    """Neighbours are alike, and yet the first is unlike the last: cells are driven towards 0."""
    alike = np.array([[0.5, 0.0], [0.0, 0.5]])
    targets = {(i, i + 1): alike for i in range(ndim - 1)}
    targets[(0, ndim - 1)] = alike[::-1]
    found = raked(np.full((2,) * ndim, 0.5**ndim), targets)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    almost = {pair: 0.99 * target + 0.0025 for pair, target in targets.items()}
    found = raked(np.full((2,) * ndim, 0.5**ndim), almost)
    assert found.sum() == pytest.approx(1, abs=0.01)
    assert margin(found, (0, 1))[0, 0] > 0.3
