"""Numbers with nonresponse beside them: the exact law and its channel against code of a few lines."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import warner
from tests.registry import SILENT, smallest
from warner import Categorical, Integers, Interval, SquareWave
from warner.errors import ArgumentTypeError, BudgetError
from warner.mechanisms import Mechanism, WithNonresponse, from_header, with_nonresponse
from warner.mechanisms.numeric import nonresponse_thresholds

_EPSILONS = (0.01, 0.1, 1.0, 3.0, 9.0)


def _worst(table: np.ndarray) -> Fraction:
    """The largest ratio of two probabilities of one report, from all of them."""
    return max(max(row) / min(row) for row in table)


@pytest.mark.parametrize("name", SILENT)
def test_the_law_is_as_private_as_it_says_and_no_less(name: str) -> None:
    """By enumeration of all reports; of points, so that every ratio of the law is one of theirs."""
    for epsilon in (0.5, 2.0):
        mechanism = smallest(name, epsilon)
        table = mechanism.probabilities()
        assert (table.sum(axis=0) == 1).all()
        assert _worst(table) <= mechanism.law.ratio()
        assert epsilon - 1e-9 <= mechanism.epsilon <= epsilon
        # Rounding to cells may miss an end of the numbers' own law, never that of nonresponse.
        nonresponse = table[:, [0, -1]]
        assert float(_worst(nonresponse)) == pytest.approx(np.exp(epsilon), rel=1e-9)


@pytest.mark.parametrize("epsilon", _EPSILONS)
def test_the_dummies_of_windows_and_of_noise_have_the_ratios_they_state(epsilon: float) -> None:
    for inner in (
        SquareWave(Integers(0, 4), epsilon, cells=20),
        warner.mechanisms.Piecewise(Integers(0, 4), epsilon, cells=20),
        warner.Laplace(Integers(0, 4), epsilon, reach=3),
    ):
        found, table = inner.dummies(), inner.probabilities()
        assert found is not None
        dummy = found.exact()
        assert dummy.sum() == 1
        assert max((table / dummy[:, None]).ravel()) == found.above
        assert max((dummy[:, None] / table).ravel()) == found.below
        assert found.above * found.below <= inner.law.ratio()
        assert found.shares() == pytest.approx(dummy.astype(float), rel=1e-9)


@pytest.mark.parametrize("epsilon", _EPSILONS)
def test_the_thresholds_use_all_of_epsilon_and_never_more(epsilon: float) -> None:
    above = SquareWave(Integers(0, 4), epsilon).dummies().above
    dropped, silent = (Fraction(t, 2**64) for t in nonresponse_thresholds(epsilon, above))
    bound = Fraction(np.exp(epsilon))
    named, others = silent / dropped, (1 - dropped) / (1 - silent) * above
    for ratio in (named, others):
        assert float(ratio) == pytest.approx(float(bound), rel=1e-9)
    assert WithNonresponse(SquareWave(Integers(0, 4), epsilon)).epsilon <= epsilon


@pytest.mark.parametrize("name", SILENT)
def test_its_channel_has_fewer_rows_with_the_same_likelihood(name: str) -> None:
    channel = smallest(name).channel()
    merged = channel.merge_proportional_rows()
    rows = np.arange(channel.shape[0]) if merged is None else merged[1]
    small = channel.dense() if merged is None else merged[0].dense()
    summed = np.zeros_like(small)
    np.add.at(summed, rows, channel.dense())
    assert small == pytest.approx(summed, abs=1e-15)
    # Rows that are added are proportional.
    ratio = channel.dense() / channel.dense().sum(axis=1)[:, None]
    assert ratio == pytest.approx((small / small.sum(axis=1)[:, None])[rows], rel=1e-9)


def test_nonresponse_is_encoded_beside_positions_in_every_form() -> None:
    mechanism = WithNonresponse(SquareWave(Interval(0, 10, bins=4), 1.0), ["", "NA", "-9"])
    for values in ([5.0, None, "NA", 10], np.array([5.0, np.nan, -9.0, 10.0]), ["5", "", "NA", ""]):
        if isinstance(values[0], str):
            with pytest.raises(warner.errors.ValuesError):
                mechanism.encode(values)
            continue
        found = mechanism.encode(values)
        assert found[[0, 3]].tolist() == [0.5, 1.0] and np.isnan(found[1:3]).all()
    with pytest.raises(warner.errors.ValuesError, match="2"):
        mechanism.encode([1.0, None, 11.0])


def test_everybody_draws_the_same_words() -> None:
    """So that neither time nor the generator's state tells who was silent."""
    mechanism = WithNonresponse(SquareWave(Integers(0, 9), 1.0))
    left = []
    for values in ([3] * 500, [None] * 500, [3, None] * 250):
        rng = np.random.default_rng(5)
        mechanism.randomize(values, rng)
        left.append(rng.integers(2**62))
    assert len(set(left)) == 1


def test_headers_and_repeated_reports_hold_it() -> None:
    mechanism = WithNonresponse(SquareWave(Integers(0, 9), 1.0, cells=32), ["", "NA"])
    assert from_header(mechanism.header).header == mechanism.header
    twice = warner.mechanisms.Repeated(mechanism, 2)
    tally = twice.tally(twice.randomize([3, None, 8] * 20, np.random.default_rng(0)))
    assert warner.estimate(tally).domain.nonresponse == 10 and twice.epsilon <= 2.0


_NO_DUMMIES: list[Mechanism] = [
    warner.SubsetSelection(Categorical(["a", "b", "c"]), 1.0),
    warner.mechanisms.Geometric(Integers(0, 4), 0.5),
    warner.Laplace(Integers(0, 4), 1.0, sensitivity=1),
    warner.mechanisms.Gaussian(Integers(0, 4), 1.0, delta=1e-6),
    WithNonresponse(SquareWave(Integers(0, 4), 1.0)),
]


@pytest.mark.parametrize("inner", _NO_DUMMIES, ids=lambda m: type(m).__name__)
def test_mechanisms_without_dummies_are_refused(inner: Mechanism) -> None:
    with pytest.raises(ArgumentTypeError, match="SquareWave"):
        WithNonresponse(inner)


def test_a_domain_without_nonresponse_leaves_the_mechanism() -> None:
    inner = SquareWave(Integers(0, 4), 1.0)
    assert with_nonresponse(inner, inner.domain) is inner
    with pytest.raises(BudgetError, match="no answer"):
        nonresponse_thresholds(24.0, Fraction(1))
