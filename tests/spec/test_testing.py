"""The battery accepts right mechanisms, and says of wrong ones which property fails, and how far."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

import warner
from tests.own_parts import ONE, Forced, Shrunk
from tests.registry import ALL, ESTIMATORS, REPEATED, SEVERAL, smallest
from tests.sampling import drawn
from warner import Integers, LocalHashing, testing
from warner._core.sampling import Source
from warner.channels import DenseChannel
from warner.design.own_sampler import (
    Broken,
    detectable,
    detectable_copies,
    neighbours_p_value,
    p_value,
    settled,
)
from warner.errors import ArgumentError, ArgumentTypeError, BudgetError
from warner.estimators import Estimator, Inversion, KeyMeans, PerKey, SampleMean
from warner.estimators.base import Fit, LikelihoodData, Status
from warner.mechanisms import Mechanism
from warner.privacy.guarantees import LDP
from warner.privacy.report_laws import ExactTable
from warner.reports.schema import IntegerColumns
from warner.results.recommend import for_a_while, register

FEW = 2000  # reports for each value: the power is tested with the wrong samplers below


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    with for_a_while():
        warner.register(Forced)
        yield


TOGETHER = {**SEVERAL, **REPEATED}


@pytest.mark.parametrize("name", drawn([*ALL, *TOGETHER], 30, "accepted"))
def test_every_mechanism_of_the_package_is_accepted(name: str) -> None:
    """A draw of them for each commit: a law that is wrong fails in tests/laws too."""
    mechanism = TOGETHER[name](1.0) if name in TOGETHER else smallest(name)
    testing.check_mechanism(mechanism, draws=FEW)


@pytest.mark.parametrize("weights", [None, [0.2, 0.5, 0.3]])
def test_a_right_mechanism_of_ones_own_has_every_property(weights: Any) -> None:
    found = testing.check_mechanism(Forced(Integers(0, 2), 1.0, weights))
    assert all(each.holds for each in found.findings) and len(found.findings) == 13
    assert "an error of 0.01" in str(found)  # the power of the test of the sampler


def test_many_values_are_checked_by_the_rows_of_the_channel() -> None:
    for make in (warner.RandomizedResponse, warner.UnaryEncoding, warner.SquareWave):
        found = testing.check_mechanism(make(Integers(0, 299), 2.0), draws=FEW)
        assert found.findings[0].holds is None and found.findings[2].holds
        said = "2,000 reports of each of 8 values and 1,000 reports of each of 248 others"
        assert said in str(found.findings[2]) and "; 44 other values were not tested" in str(found)


def _failed(mechanism: Mechanism, draws: int = 100_000) -> dict[str, str]:
    with for_a_while():
        warner.register(type(mechanism))
        with pytest.raises(testing.PropertyError) as caught:
            testing.check_mechanism(mechanism, draws)
    failures = caught.value.checked.failures
    assert all(each.property in str(caught.value) for each in failures)
    return {each.property: each.finding for each in failures}


SAMPLER = "the sampler follows the law"


class UnderstatedEpsilon(Forced):
    """States a smaller epsilon than its reports have."""

    @property
    def guarantee(self) -> LDP:
        return LDP(self.epsilon / 2)


class UnderstatedLaw(Forced):
    """Its law, from which epsilon is computed, is flatter than the probabilities it lists."""

    def __init__(self, domain: Any, epsilon: float) -> None:
        super().__init__(domain, 2 * epsilon)
        self.real = self.law.numerators
        flat = Forced(domain, epsilon)
        self.law, self.requested = ExactTable(flat.law.numerators), flat.requested
        self.__dict__.pop("_realised_epsilon", None)

    def probabilities(self) -> np.ndarray:
        return self.real * warner.privacy.report_laws.Fraction(1, ONE)


def test_a_wrong_epsilon_is_rejected() -> None:
    failed = _failed(UnderstatedEpsilon(Integers(0, 2), 1.0))
    assert failed == {
        "the audited epsilon is at most the requested and the stated one": "epsilon "
        f"{Forced(Integers(0, 2), 1.0).epsilon:.9g} exceeds the guarantee, which is 0.5-LDP"
    }
    assert "reveal more than the mechanism states" in "".join(
        _failed(UnderstatedLaw(Integers(0, 2), 1.0)).values()
    )


class Leaks(Forced):
    """Sends the truth to one person in twenty who should get a forced answer."""

    def _sample(self, index: np.ndarray, source: Any) -> dict[str, np.ndarray]:
        honest = super()._sample(index, source)["report"]
        return {"report": np.where(source.below(ONE // 20, len(index)), index, honest)}


class ForcesOneWord(Forced):
    """One random word decides for everybody."""

    def _sample(self, index: np.ndarray, source: Any) -> dict[str, np.ndarray]:
        one = super()._sample(index[:1], source)["report"]
        return {"report": np.repeat(one, len(index))}


class Reversed(Forced):
    """Takes the values in reverse."""

    def _sample(self, index: np.ndarray, source: Any) -> dict[str, np.ndarray]:
        return super()._sample(self.domain.size - 1 - index, source)


class UsesNumpysGlobal(Forced):
    """Draws from a generator of its own, which nobody can repeat or audit."""

    def _sample(self, index: np.ndarray, source: Any) -> dict[str, np.ndarray]:
        rng = np.random.default_rng()
        table = (self.law.numerators / ONE).astype(float)
        drawn = [rng.choice(self.domain.size, p=table[:, x] / table[:, x].sum()) for x in index]
        return {"report": np.array(drawn)}


def test_leaking_samplers_are_rejected_with_the_report_that_is_off() -> None:
    failed = _failed(Leaks(Integers(0, 2), 1.0))
    assert list(failed) == [SAMPLER] and "not 0." in failed[SAMPLER]
    assert SAMPLER in _failed(ForcesOneWord(Integers(0, 2), 1.0), FEW)
    assert SAMPLER in _failed(Reversed(Integers(0, 2), 1.0), FEW)
    assert list(_failed(UsesNumpysGlobal(Integers(0, 2), 1.0), 1000)) >= [
        "the sampler draws from its source alone"
    ]


class SendsSomeAnswers(Forced):
    """Sends the answer itself where it is none of eight values that are spread over the domain."""

    def _sample(self, index: np.ndarray, source: Any) -> dict[str, np.ndarray]:
        honest = super()._sample(index, source)["report"]
        few = np.linspace(0, self.domain.size - 1, 8).round()
        return {"report": np.where(np.isin(index, few), honest, index)}


def test_a_sampler_that_sends_some_answers_as_they_are_is_rejected() -> None:
    """Rejects a check of eight values of 20 that says nothing of the other twelve."""
    failed = _failed(SendsSomeAnswers(Integers(0, 19), 1.0))
    assert list(failed) == [SAMPLER] and "for value number 1," in failed[SAMPLER]


def test_a_leak_among_many_reports_is_rejected_by_the_rows_of_the_channel() -> None:
    assert SAMPLER in _failed(Leaks(Integers(0, 299), 1.0), 20_000)


class OtherChannel(Forced):
    """Its channel is that of other weights."""

    def channel(self) -> DenseChannel:
        return DenseChannel(np.roll((self.law.numerators / ONE).astype(float), 1, axis=0))


class SumsToLess(Forced):
    """Lists probabilities that leave out a bit of the words."""

    def probabilities(self) -> np.ndarray:
        return super().probabilities() * warner.privacy.report_laws.Fraction(99, 100)


class OffAdjoint(DenseChannel):
    """Its adjoint product forgets a factor."""

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        return 1.01 * super().rmatvec(r)


class OffInverse(DenseChannel):
    """Its inverse is of another channel."""

    def invert(self, w: np.ndarray) -> np.ndarray:
        return super().invert(w) + 0.001


class WrongProducts(Forced):
    def channel(self) -> DenseChannel:
        return OffAdjoint(super().channel().dense())


class Biased(Forced):
    def channel(self) -> DenseChannel:
        return OffInverse(super().channel().dense())


def test_a_channel_that_does_not_match_the_sampler_is_rejected() -> None:
    failed = _failed(OtherChannel(Integers(0, 2), 1.0), FEW)
    assert "differs by 0.3" in failed["the channel is the law"]
    assert "off by 0.01" in _failed(SumsToLess(Integers(0, 2), 1.0), FEW)["the law sums to one"]
    products = _failed(WrongProducts(Integers(0, 2), 1.0), FEW)
    assert "off by 0.0" in products["matvec and rmatvec of the channel agree with its matrix"]
    assert "off by 0.001" in _failed(Biased(Integers(0, 2), 1.0), FEW)["the inversion is unbiased"]


class LosesTheLast(IntegerColumns):
    """A schema whose files cannot hold the last report."""

    def to_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {n: np.minimum(c, self.sizes[0] - 2) for n, c in columns.items()}


class LooseSchema(IntegerColumns):
    """A schema that accepts anything."""

    def parse(self, outputs: Any) -> dict[str, np.ndarray]:
        return {n: np.asarray(c).astype(np.uint8) for n, c in outputs.items()}


class LosesBytes(Forced):
    def __init__(self, domain: Any, epsilon: float) -> None:
        super().__init__(domain, epsilon)
        self.schema = LosesTheLast(("report",), (domain.size,))


class AcceptsAnything(Forced):
    def __init__(self, domain: Any, epsilon: float) -> None:
        super().__init__(domain, epsilon)
        self.schema = LooseSchema(("report",), (domain.size,))


class ForgetsItsWeights(Forced):
    """The header does not hold the weights, so another law is read from it."""

    def parameters(self) -> dict[str, Any]:
        return {}


def test_reports_and_headers_that_do_not_come_back_are_rejected() -> None:
    failed = _failed(LosesBytes(Integers(0, 2), 1.0), FEW)
    assert "reports change in columns of a file" in "".join(failed.values())
    failed = _failed(ForgetsItsWeights(Integers(0, 2), 1.0, [0.2, 0.5, 0.3]), FEW)
    assert "the header makes the mechanism again" in failed
    failed = _failed(AcceptsAnything(Integers(0, 2), 1.0), FEW)
    assert (
        "in the column 'report' are accepted" in failed["reports that cannot be sent are refused"]
    )


def test_a_class_that_is_not_registered_is_said_so() -> None:
    """Rejects advice on files and versions of warner, thrice, with the remedy in one of them."""

    class Unknown(Forced):
        """Not registered."""

    rule = "not registered; got Unknown. Write @warner.register in the line above class Unknown"
    with pytest.raises(ArgumentError, match=rule):
        testing.check_mechanism(Unknown(Integers(0, 2), 1.0), FEW)
    with pytest.raises(ArgumentTypeError, match="must be a mechanism"):
        testing.check_mechanism(Forced)  # type: ignore[arg-type]


def test_the_stated_power_is_that_of_the_test() -> None:
    """A probability that is off by the stated amount is rejected in nearly all of 200 samples.
    Rejects a test whose first p-value leaves doubt and which says that no fault was found.
    """

    n, law = 20_000, np.full(4, 0.25)
    off = detectable(n, 3)
    # The error is put where the test sees least of it: it moves from one report to another, and
    # the non-centrality of 4 n d^2 is reached at a probability of one half.
    half = np.array([0.5, 0.5])
    for base, freedom in ((law, 3), (half, 1)):
        d = detectable(n, freedom)
        wrong = base.copy()
        wrong[:2] += [d, -d]
        rng = np.random.default_rng(3)

        def is_rejected(
            law: np.ndarray, base: np.ndarray = base, rng: np.random.Generator = rng
        ) -> bool:
            def test(draws: int, seed: int) -> tuple[float, int, str]:
                p, freedom, row = p_value(rng.multinomial(draws, law).astype(float), base, draws)
                return p, freedom, f"report {row}"

            try:
                settled(test, n, 0, "chi-square")
            except Broken:
                return True
            return False

        assert np.mean([is_rejected(wrong) for _ in range(200)]) >= 0.96
        assert not any(is_rejected(base) for _ in range(2000))
    assert math.isclose(off, detectable(n, 3)) and dataclasses.is_dataclass(testing.Checked)


# The battery accepts right estimators, and says of wrong ones which property fails, and how far.


@pytest.mark.parametrize("estimator", [*ESTIMATORS, SampleMean(), KeyMeans(), PerKey()], ids=repr)
def test_every_estimator_of_the_package_is_accepted(estimator: Estimator) -> None:
    testing.check_estimator(estimator)


def test_an_estimator_of_ones_own_is_accepted() -> None:
    found = testing.check_estimator(Shrunk(0.2))
    assert "12 of 13" in found.findings[0].finding and "COMPLETED" in str(found)


def _failed_estimator(estimator: Estimator) -> dict[str, str]:
    with pytest.raises(testing.PropertyError) as caught:
        testing.check_estimator(estimator)
    return {each.property: each.finding for each in caught.value.checked.failures}


@dataclass(frozen=True)
class NotNormalised(Shrunk):
    """Its shares sum to 0.9."""

    def _fit(self, data: LikelihoodData) -> Fit:
        fit = super()._fit(data)
        return replace(fit, probabilities=0.9 * fit.shares)


@dataclass(frozen=True)
class Draws(Shrunk):
    """Draws without a seed."""

    def _fit(self, data: LikelihoodData) -> Fit:
        return Fit(np.random.default_rng().dirichlet(np.ones(data.domain.size)), Status.COMPLETED)


@dataclass(frozen=True)
class Overwrites(Shrunk):
    """Uses the frequencies as its workspace."""

    def _fit(self, data: LikelihoodData) -> Fit:
        fit = super()._fit(data)
        data.weights[:] = 0
        return fit


@dataclass(frozen=True)
class ClaimsTheMaximum(Shrunk):
    """Says that it converged to the maximum of the likelihood."""

    def _fit(self, data: LikelihoodData) -> Fit:
        return replace(super()._fit(data), status=Status.CONVERGED, gap=1e-9)


@dataclass(frozen=True)
class TooShort(Shrunk):
    """Leaves out the last value."""

    def _fit(self, data: LikelihoodData) -> Fit:
        return Fit(super()._fit(data).shares[:-1], Status.COMPLETED)


@dataclass(frozen=True)
class DividesByZero(Shrunk):
    """Fails for one report."""

    def _fit(self, data: LikelihoodData) -> Fit:
        if data.n == 1:
            raise ZeroDivisionError("n - 1")
        return super()._fit(data)


@dataclass(frozen=True)
class NamesItsStatus(Shrunk):
    """A text is no status."""

    def _fit(self, data: LikelihoodData) -> Fit:
        return replace(super()._fit(data), status="converged")  # type: ignore[arg-type]


@dataclass(frozen=True)
class RefusesAll(Shrunk):
    """Fits no problem."""

    def _fit(self, data: LikelihoodData) -> Fit:
        raise ArgumentError("domain: must be another.")


class NotFrozen(Inversion):
    """Has a summary that ends with a full stop."""

    summary = "Inversion."


@pytest.mark.parametrize(
    "wrong, name, finding",
    [
        (
            NotNormalised(),
            "shares are a distribution, or the status says that they are not",
            "must return shares of at least 0 that add up to 1 if the status is COMPLETED; got the "
            "sum 0.9",
        ),
        (Draws(), "equal reports give equal shares", "a second fit differs by 0."),
        (Overwrites(), "it runs", "raised ValueError: assignment destination is read-only"),
        (ClaimsTheMaximum(), "the gap and the log-likelihood are right", "nats below the largest"),
        (
            TooShort(),
            "shares are a distribution, or the status says that they are not",
            "must return 6 shares, one for each value; got an array of shape (5,)",
        ),
        (DividesByZero(), "it runs", "on one report the estimator raised ZeroDivisionError: n - 1"),
        (
            NamesItsStatus(),
            "shares are a distribution, or the status says that they are not",
            "status must be a Status; got",
        ),
        (NotFrozen(), "the estimator describes itself", "full stop"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Estimator) else "",
)
def test_wrong_estimators_are_rejected(wrong: Estimator, name: str, finding: str) -> None:
    assert finding in _failed_estimator(wrong)[name]


@dataclass(frozen=True)
class Changed(Estimator):
    """The projected inversion, and then a mistake."""

    summary = "projected inversion with a mistake"
    mistake: str = "none"

    def _fit(self, data: LikelihoodData) -> Fit:
        shares = Inversion("project").fit(data).shares
        wrong = {
            "none": shares,
            "ignores the reports": np.full(shares.size, 1 / shares.size),
            "permutes the labels": np.roll(shares, 1),
            "permutes two labels": np.append(shares[:-2], shares[:-3:-1]),
            "does not invert": data.channel.matvec(shares)[: shares.size],
            "smooths": 0.9 * shares + 0.1 / shares.size,
        }[self.mistake]
        return Fit(wrong / wrong.sum(), Status.COMPLETED)


CONSISTENCY = "the shares of very many people are the true ones"


@pytest.mark.parametrize(
    "mistake",
    [
        "ignores the reports",
        "permutes the labels",
        "permutes two labels",
        "does not invert",
        "smooths",
    ],
)
def test_an_estimator_that_misses_the_truth_without_noise_is_rejected(mistake: str) -> None:
    """Rejects a battery that a constant passes, and one that lets nobody smooth on purpose."""
    failed = _failed_estimator(Changed(mistake))
    assert list(failed) == [CONSISTENCY] and "although 10^12 people report" in failed[CONSISTENCY]

    class OnPurpose(Changed):
        is_consistent = False

    for right in (OnPurpose(mistake), Changed()):
        testing.check_estimator(right)


@dataclass(frozen=True)
class Given(Estimator):
    """Returns what a function of the data makes."""

    make: Callable[[LikelihoodData], Any]
    summary = "what a function makes"

    def _fit(self, data: LikelihoodData) -> Fit:
        return Fit(self.make(data), Status.OUTSIDE_SIMPLEX)


def test_counts_are_no_shares_and_a_channel_is_its_matrix_for_numpy() -> None:
    """Rejects shares of 90,000 % in a table, and bare errors of NumPy for a list or a channel."""
    coin = warner.RandomizedResponse(Integers(0, 3), 1.0)
    reports = coin.randomize([0] * 300 + [1, 2, 3] * 50, np.random.default_rng(1))
    of = lambda make: warner.estimate(coin.tally(reports), Given(make)).probabilities
    with pytest.raises(ArgumentError, match="must return shares, and not counts; got the sum 450"):
        of(lambda data: data.n * data.channel.invert(data.weights))
    inverted = of(lambda data: data.channel.invert(data.weights))
    by_hand = of(lambda data: list(np.linalg.inv(data.channel) @ data.weights))
    assert by_hand == pytest.approx(inverted)


def test_an_estimator_that_refuses_everything_is_rejected_and_a_class_refused() -> None:
    assert "the estimator refuses every problem" in _failed_estimator(RefusesAll())["it runs"]
    with pytest.raises(ArgumentTypeError, match="must be an estimator"):
        testing.check_estimator(Shrunk)  # type: ignore[arg-type]


# The battery rejects samplers whose reports depend on the batch they are made in.


SMALL = Integers(0, 3)
DRAWS = 5_000
PROPERTY = "a report depends on its own person alone"


class FirstTrue(Forced):
    """The first person of each batch sends the truth, so a device that sends one report does."""

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        report = super()._sample(index, source)["report"]
        report[0] = index[0]
        return {"report": report}


class Neighbours(Forced):
    """Every report is that of the person before."""

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        return super()._sample(np.roll(index, 1), source)


class RarelyElsewhere(Forced):
    """One report of a hundred comes from a generator that the source does not know."""

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        report = super()._sample(index, source)["report"]
        other = np.random.default_rng()
        return {"report": np.where(other.random(len(index)) < 0.01, index, report)}


class OneSeed(Forced):
    """One of 4,096 seeds, from the source, makes the noise of all reports of a batch."""

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        (seed,) = source.words(1, np.uint16) % 4096
        return super()._sample(index, Source(np.random.default_rng(seed)))


class LeaksALittle(Forced):
    """Sends the truth to one person in 14, which 5,000 reports of a value hardly show."""

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        report = super()._sample(index, source)["report"]
        return {"report": np.where(source.below(ONE // 14, len(index)), index, report)}


def test_a_verdict_follows_its_p_value() -> None:
    """Rejects "no fault found" with a p-value that a right sampler has once in a million draws, and
    a verdict on a right one whose first reports are rare: they are drawn anew.
    """
    wrong = _failed(LeaksALittle(SMALL, 1.0), DRAWS)
    assert re.search(r"drawn anew because 5,000 reports of a value had the p-value", wrong[SAMPLER])
    tests = iter([8e-8, 0.3])
    found, draws, history = settled(lambda *_: (next(tests), 3, ""), 100, 0, "chi-square")
    assert (found[0], draws) == (
        0.3,
        400,
    ) and "100 reports of a value had the p-value 8e-08" in history
    tests = iter([8e-4, 8e-4, 8e-4])
    with pytest.raises(Broken, match=r"p-value 0\.0008, drawn anew because 400 reports"):
        settled(lambda *_: (next(tests), 3, ""), 100, 0, "chi-square")


@pytest.mark.parametrize("epsilon", [9.0, math.inf])
def test_reports_that_are_nearly_always_true_need_not_differ(epsilon: float) -> None:
    """Rejects a right mechanism whose 2,000 reports are all alike on two devices, by its law."""
    coin = warner.RandomizedResponse(Integers(0, 1), epsilon)
    for seed in range(4):
        testing.check_mechanism(coin, draws=1000, seed=seed)


@pytest.mark.parametrize(
    ("wrong", "name", "said"),
    [
        (OneSeed, "the sampler draws from its source alone", "are made of 16 random bits"),
        (FirstTrue, PROPERTY, "reports made one by one"),
        (Neighbours, PROPERTY, "reports among reports of other values"),
        (RarelyElsewhere, "the sampler draws from its source alone", "of 2000 reports differ"),
    ],
)
def test_reports_that_depend_on_others_are_rejected(
    wrong: type[Forced], name: str, said: str
) -> None:
    with for_a_while():
        register(wrong)
        with pytest.raises(testing.PropertyError) as caught:
            testing.check_mechanism(wrong(SMALL, 1.0), draws=DRAWS)
    failed = {each.property: each.finding for each in caught.value.checked.failures}
    assert said in failed[name] and "the sampler follows the law" not in failed


@pytest.mark.parametrize(("people", "shift"), [(2, 0), (2, 1), (3, 0), (10, 7)])
def test_noise_that_a_few_neighbours_share_is_found(people: int, shift: int) -> None:
    """Rejects tests of the shares of reports alone, which are right where neighbours share noise,
    and tests of pairs that begin at even places alone.
    """

    class SharesNoise(Forced):
        def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
            words = source.words(len(index) // people + 2, np.uint64)
            shared = np.repeat(words, people)[shift : shift + len(index)]
            edges = np.cumsum(np.array(self._forced, dtype=np.uint64))
            forced = np.searchsorted(edges, shared, side="right")
            return {"report": np.where(forced == self.domain.size, index, forced)}

    with for_a_while():
        register(SharesNoise)
        with pytest.raises(testing.PropertyError) as caught:
            testing.check_mechanism(SharesNoise(SMALL, 1.0), draws=DRAWS)
    failed = {each.property: each.finding for each in caught.value.checked.failures}
    assert "reports of people 1 apart depend on each other" in failed[PROPERTY]


@pytest.mark.parametrize("lag", [1, 16, 77, 2_000])
def test_neighbours_are_compared_at_every_lag(lag: int) -> None:
    right = np.random.default_rng(1).integers(0, 256, (4_000, 3), dtype=np.uint8)
    assert neighbours_p_value(right)[0] > 1e-6
    right[lag::2] = np.where(
        right[lag::2] < 128, right[:-lag:2][: len(right[lag::2])], right[lag::2]
    )
    p, _, said = neighbours_p_value(right)
    assert p < 1e-9 and f"people {lag:,} apart" in said


@pytest.mark.parametrize("lag", [1, 300, 10_000])
def test_the_stated_part_of_copies_is_found(lag: int) -> None:
    """As many people as stated send the report of a person before. Rejects tests of few lags, and
    tests of a number of reports that stays the same however many are drawn.
    """
    people, rng = 20_000, np.random.default_rng(2)
    right = rng.integers(0, 4, (people, 1), dtype=np.uint8)
    part = detectable_copies(people, 8)
    assert part == pytest.approx(detectable_copies(4 * people, 8) * 2, rel=0.1)
    for _ in range(20):
        reports = rng.permutation(right)
        copied = lag + np.flatnonzero(rng.random(people - lag) < part * people / (people - lag))
        before = reports.copy()
        reports[copied] = before[copied - lag]
        assert neighbours_p_value(reports)[0] < 1e-3  # more are drawn then
        assert neighbours_p_value(before)[0] > 1e-3


def test_the_stated_error_is_that_of_the_probabilities() -> None:
    """Of a rare report the same test finds a smaller error. Rejects the error at one half."""
    found = testing.check_mechanism(warner.RandomizedResponse(Integers(0, 31), 2.0), draws=20_000)
    (said,) = (each.finding for each in found.findings if each.property == SAMPLER)
    high, low = map(float, re.findall(r"an error of (0\.\d+)", said))
    assert low < 0.4 * high and high < detectable(5_000, 31)


def test_an_estimator_that_is_biased_by_a_hundredth_is_not_consistent() -> None:
    @dataclasses.dataclass(frozen=True)
    class Drawn(Shrunk):
        is_consistent: ClassVar[bool] = True
        part: float = 0.002

    with pytest.raises(testing.PropertyError, match=r"a share is off by 0\.000"):
        testing.check_estimator(Drawn())


def test_right_samplers_are_accepted_with_few_and_with_many_reports() -> None:
    for mechanism in (LocalHashing(SMALL, 1.0), LocalHashing(Integers(0, 60), 1.0)):
        found = testing.check_mechanism(mechanism, draws=DRAWS)
        (each,) = (each for each in found.findings if each.property == PROPERTY)
        assert each.holds and "400 reports made one by one, and 5,000" in each.finding


def test_a_law_that_a_subclass_changes_is_checked_again() -> None:
    """Rejects a check that remembers the epsilon of the base class."""

    class Louder(Forced):
        def __init__(self, domain: Integers, epsilon: float) -> None:
            super().__init__(domain, epsilon)
            self.law = Forced(domain, 2 * epsilon).law
            self.check_realisable()

    with pytest.raises(BudgetError, match="the probabilities of Louder spend 2, which is more"):
        Louder(SMALL, 1.0)


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (1.3, "epsilon: is 1, but the probabilities of Other spend 1.3, which is more. Check the"),
        (0.5, "epsilon: is 1, but the probabilities of Other spend only 0.5. Check the prob"),
        (
            1 + 1e-8,
            "epsilon: is not possible with 64-bit random numbers: the nearest possible epsilon is 1.0000",
        ),
        (
            1 - 1e-8,
            "epsilon: is not possible with 64-bit random numbers: the nearest possible epsilon is 0.9999",
        ),
    ],
)
def test_a_wrong_formula_is_not_called_a_rounding_error(factor: float, said: str) -> None:
    """Rejects advice to pass a larger epsilon, by which a law that leaks would pass."""

    class Other(Forced):
        def __init__(self, domain: Integers, epsilon: float) -> None:
            super().__init__(domain, epsilon)
            self.law = Forced(domain, factor * epsilon).law
            self.check_realisable()

    with pytest.raises(BudgetError) as caught:
        Other(SMALL, 1.0)
    assert str(caught.value).startswith(said)
    assert ("larger epsilon" in str(caught.value)) == (abs(factor - 1) < 1e-6)


@pytest.mark.parametrize("dtype", [float, object])
def test_a_table_of_floats_is_refused_where_it_is_made(dtype: type) -> None:
    """Rejects a bare TypeError of an audit, far from the table."""
    with pytest.raises(
        ArgumentTypeError, match=r"must be whole numbers \(int\) or Fractions.*got float"
    ):
        ExactTable(np.array([[0.75, 0.25], [0.25, 0.75]], dtype=dtype))
    for table in (
        [[3, 1], [1, 3]],
        np.array([[3, 1], [1, 3]]),
        [[Fraction(3, 4), Fraction(1, 4)]] * 2,
    ):
        assert ExactTable(table).ratio() == 3
    wide = np.array([[2**40, 1], [1, 2**40]])
    assert ExactTable(wide).ratio() == 2**40


def test_a_law_that_rules_a_value_out_is_refused() -> None:
    """Rejects a mechanism of one's own with an epsilon of 1 whose reports can prove an answer."""

    class Proves(Forced):
        def __init__(self, domain: Integers, epsilon: float) -> None:
            super().__init__(domain, epsilon)
            table = self.law.numerators.copy()
            table[1, 1] += table[0, 1]
            table[0, 1] = 0
            self.law = ExactTable(table)
            self.check_realisable()

    with pytest.raises(BudgetError, match="possible for some answers and impossible for others"):
        Proves(SMALL, 1.0)
