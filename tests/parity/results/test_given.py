"""Second moments behind the intervals of shares given a key, against all reports listed one by one."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from warner import (
    Categorical,
    Integers,
    KeyValue,
    LocalHashing,
    Product,
    RandomizedResponse,
    UnaryEncoding,
)
from warner.channels import (
    Channel,
    DenseChannel,
    DirectChannel,
    HadamardChannel,
    KroneckerChannel,
    StackChannel,
    SupportChannel,
)
from warner.estimators.base import LikelihoodData
from warner.results import conditional
from warner.results.conditional import shares_given

PAIR = Product(key=Categorical(["a", "b"]), value=Integers(0, 2))


SHAPE = (2, 3)


THETA = np.array([[0.02, 0.1, 0.28], [0.0, 0.25, 0.35]])


def _columns() -> np.ndarray:
    return np.stack([THETA.ravel(), np.full(6, 1 / 6)], axis=1)


def _bits(keep: float, other: float, ones: int | None) -> np.ndarray:
    """(reports, 6): the law of six bits, independent or a subset of fixed size, of every value,
    with the bits of each report.
    """
    rows = np.array(list(product([0, 1], repeat=6)))
    if ones is None:
        chances = np.where(rows == 1, other, 1 - other).prod(axis=1)[:, None]
        law = chances * np.where(rows == 1, keep / other, (1 - keep) / (1 - other))
        return np.concatenate([rows, law], axis=1)
    rows = np.array([[x in chosen for x in range(6)] for chosen in combinations(range(6), ones)])
    with_it, without = rows[:, 0].sum(), (~rows[:, 0]).sum()
    return np.concatenate([rows, np.where(rows, keep / with_it, (1 - keep) / without)], axis=1)


@pytest.mark.parametrize("ones", [None, 1, 2, 4])
def test_bits_have_the_moments_of_all_their_reports(ones: int | None) -> None:
    keep = 0.7
    other = 0.3 if ones is None else (ones - keep) / 5
    channel = SupportChannel(6, other, keep - other, ones)
    is_enumerable = _bits(keep, other, ones)
    g = (is_enumerable[:, :6] - other) / (keep - other)
    law = is_enumerable[:, 6:] @ _columns()
    h = g[:, 3:].sum(axis=1)
    assert g.T @ law == pytest.approx(_columns())  # the inverse is unbiased, so the list is right
    found = channel.block_moments(channel.matvec(THETA.ravel()), 1, SHAPE, _columns())
    assert found.squares == pytest.approx((g[:, 3:] ** 2).T @ law)
    assert found.mixed == pytest.approx((g[:, 3:] * h[:, None]).T @ law)
    assert found.block_squares == pytest.approx(np.tile(h**2 @ law, (3, 1)))
    assert found.total == pytest.approx(THETA[1]) and found.block == pytest.approx(
        np.full(3, THETA[1].sum())
    )


@pytest.mark.parametrize("second", [DirectChannel(3, 0.2, 0.4), SupportChannel(3, 0.3, 0.4)])
def test_attributes_apart_have_the_moments_of_all_their_reports(second: Channel) -> None:
    """The key is estimated by the reports about it alone: with bits of the value too, sums over
    values would be noisier.
    """
    first = DirectChannel(2, 0.3, 0.4)
    a = (np.eye(2)[:, 1] - 0.3) / 0.4
    if isinstance(second, DirectChannel):
        b, law = (np.eye(3) - 0.2) / 0.4, second.dense()
    else:
        rows = np.array(list(product([0, 1], repeat=3)))
        b, law = (
            (rows - 0.3) / 0.4,
            np.array(
                [[np.where(r == 1, p, 1 - p).prod() for p in 0.3 + 0.4 * np.eye(3)] for r in rows]
            ),
        )
    joint = np.kron(first.dense(), law) @ _columns()
    g = np.multiply.outer(a, b).reshape(-1, 3)
    h = np.repeat(a, len(b))
    channel = KroneckerChannel([first, second])
    found = channel.block_moments(channel.matvec(THETA.ravel()), 1, SHAPE, _columns())
    assert found.squares == pytest.approx((g**2).T @ joint)
    assert found.mixed == pytest.approx((g * h[:, None]).T @ joint)
    assert found.block_squares == pytest.approx(np.tile(h**2 @ joint, (3, 1)))
    assert found.total == pytest.approx(THETA[1]) and found.block == pytest.approx(
        np.full(3, THETA[1].sum())
    )


def test_what_a_report_of_a_pool_adds_is_the_inverse() -> None:
    channel = LocalHashing(PAIR, 2.0, seeds=16).channel()
    rng = np.random.default_rng(0)
    c, w = rng.normal(size=(6, 2)), rng.dirichlet(np.ones(channel.shape[0]))
    assert channel.influence(c).T @ w == pytest.approx(c.T @ channel.invert(w))


@pytest.mark.parametrize("clear", [0.02, 0.5])
def test_without_noise_the_interval_is_wilsons(clear: float) -> None:
    n, z = 1000, 1.959963984540054
    theta = np.array([[clear / 2, 0.0, clear / 2], [0.0, 1 - clear, 0.0]])
    data = LikelihoodData(DirectChannel(6, 0.0, 1.0), theta.ravel(), n, PAIR)
    people, share = clear * n, theta[0] / clear
    middle = (share + z**2 / (2 * people)) / (1 + z**2 / people)
    half = z / (1 + z**2 / people) * np.sqrt(share * (1 - share) / people + z**2 / (4 * people**2))
    found = shares_given(data, 0, SHAPE, z, respondents=False)
    assert found == pytest.approx(np.stack([middle - half, middle + half], axis=1), abs=1e-9)
    # Of these very people, whose answers are not randomised, all is known.
    assert shares_given(data, 0, SHAPE, z, respondents=True) == pytest.approx(
        np.stack([share, share], axis=1), abs=1e-6
    )


def test_a_key_that_noise_hides_says_nothing_and_a_lone_value_is_certain() -> None:
    coin = RandomizedResponse(PAIR, 0.1).channel()
    data = LikelihoodData(coin, coin.matvec(THETA.ravel()), 100, PAIR)
    assert shares_given(data, 0, SHAPE, 1.96, respondents=False).tolist() == [[0.0, 1.0]] * 3
    assert shares_given(data, 0, (6, 1), 1.96, respondents=False).tolist() == [[1.0, 1.0]]
    blind = DenseChannel(np.full((2, 6), 0.5))
    assert (
        shares_given(
            LikelihoodData(blind, np.full(2, 0.5), 100, PAIR), 0, SHAPE, 1.96, respondents=False
        ).tolist()
        == [[0.0, 1.0]] * 3
    )


@pytest.mark.parametrize("kind", ["reports", "keys"])
def test_several_mechanisms_make_a_narrower_interval_than_each(kind: str) -> None:
    """Weights are the expected ones, so that chance plays no part."""
    if kind == "keys":
        parts = [
            KeyValue(*PAIR.attributes.values(), e, value="piecewise", cells=5).channel()
            for e in (3.0, 4.0)
        ]
    else:
        parts = [RandomizedResponse(PAIR, 3.0).channel(), UnaryEncoding(PAIR, 3.0).channel()]
    theta = THETA.ravel()
    alone = [
        shares_given(
            LikelihoodData(c, c.matvec(theta), 20_000, PAIR), 0, SHAPE, 1.96, respondents=False
        )
        for c in parts
    ]
    stack = StackChannel(parts, [20_000, 20_000])
    both = shares_given(
        LikelihoodData(stack, stack.matvec(theta), 40_000, PAIR), 0, SHAPE, 1.96, respondents=False
    )
    assert (np.diff(both) < np.minimum(*(np.diff(each) for each in alone))).all()
    assert ((both[:, 0] <= THETA[0] / 0.4) & (THETA[0] / 0.4 <= both[:, 1])).all()


@pytest.mark.parametrize("shares", [[0.1, 0.2, 0.3, 0.0, 0.0], [0.6, 0.0, 0.0, 0.0, 0.0]])
@pytest.mark.parametrize(
    "channel",
    [
        DirectChannel(6, 0.1, 0.4),
        SupportChannel(6, 0.2, 0.4),
        DenseChannel(DirectChannel(6, 0.1, 0.4).dense()),
        HadamardChannel(6, 8, 0.6),
    ],
)
def test_variances_of_shares_given_are_those_at_each_distribution(
    channel: Channel, shares: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against a distribution for each value and each end. Rejects moments of other values.

    A value's share of the key is 0, or 1; its others keep their proportions, or have even shares.
    """
    plug = np.array([*shares, 1 - sum(shares)])
    data = LikelihoodData(channel, channel.matvec(plug), 500, Integers(0, 5))
    monkeypatch.setattr(conditional, "_AT_A_TIME", 12)  # two values at a time
    moments, own = conditional._moments(data, plug, 0, (1, 5))
    test = conditional._Test.of(moments, own, plug[:5], 500, 2.0, 1)
    outside = np.append(np.zeros(5), plug[5])
    for v in range(5):
        others = np.where(np.arange(5) == v, 0.0, plug[:5])
        others = others if others.sum() > 0 else 1.0 * (np.arange(5) != v)
        ends = np.stack([others / others.sum(), np.eye(5)[v]], axis=1) * plug[:5].sum()
        columns = np.concatenate([ends, np.zeros((1, 2))]) + outside[:, None]
        slow = channel.block_moments(data.weights, 0, (1, 5), columns)
        several = (slow.squares[v], slow.mixed[v], slow.block_squares[v])
        (gg, gg_at_one), (gh, gh_at_one), (hh, hh_at_one) = several
        wanted = [gg, gg_at_one - gg - 2 * gh, hh - 2 * (gh_at_one - gh), hh_at_one - hh]
        assert test.coefficients[:, v] == pytest.approx(wanted, rel=1e-9, abs=1e-12)
