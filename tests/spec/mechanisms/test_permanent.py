"""Permanent reports: the exact law of all sequences, what devices keep, and what is refused."""

import copy
import itertools
import json
import math
import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from tests.refusals import refused
from warner import (
    Categorical,
    HadamardResponse,
    Integers,
    LocalHashing,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
    audit,
    estimate,
)
from warner._core.sampling import Source
from warner.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    MemoFullError,
    MismatchError,
    ValuesError,
)
from warner.mechanisms import (
    Mechanism,
    Permanent,
    ProjectiveGeometryResponse,
    Repeated,
    from_header,
)

ABC, FOUR, SIX = Categorical(list("abc")), Integers(0, 3), Integers(0, 5)
KINDS = {
    "values": RandomizedResponse,
    "subsets": SubsetSelection,
    "signs": HadamardResponse,
    "points": ProjectiveGeometryResponse,
    "hashes": lambda d, e: LocalHashing(d, e, buckets=2),
    "bits": UnaryEncoding,
    "optimised bits": lambda d, e: UnaryEncoding(d, e, variant="oue"),
    "bits with their own keep": lambda d, e: UnaryEncoding(d, e, variant=0.7),
}
SEVEN_THREE = Permanent(RandomizedResponse(ABC, math.log(3)), math.log(7), values=3)


def _round_table(memo: Permanent) -> np.ndarray:
    """Pr(report y in a round | permanent report z), as Fractions (m, m), from the integers."""
    keep = Fraction(int(memo.parameters()["keep"], 16), 2**64)
    m = memo.n_reports
    if "coin" not in memo.parameters():
        table = np.full((m, m), (1 - keep) / m, dtype=object)
        table[np.arange(m), np.arange(m)] += keep
        return table
    coin = (1 - keep) * Fraction(int(memo.parameters()["coin"], 16), 2**64)
    bits = np.unpackbits(memo.outputs()["bits"], axis=1)[:, : memo.domain.size].astype(int)
    ones = coin + keep * bits.astype(object)
    return np.array(
        [[math.prod(q if b else 1 - q for b, q in zip(y, z, strict=True)) for z in ones] for y in bits]
    )  # fmt: skip


def _worst(memo: Permanent, rounds: int) -> Fraction:
    """The largest ratio of any sequence of reports, by going through all of them."""
    given, permanent = _round_table(memo), memo.memo.probabilities()
    worst = Fraction(1)
    # The order of reports does not matter given z.
    for sequence in itertools.combinations_with_replacement(range(memo.n_reports), rounds):
        weights = np.multiply.reduce(given[list(sequence)], axis=0)
        chances = weights @ permanent
        worst = max(worst, max(chances) / min(chances))
    return worst


def test_all_sequences_of_six_rounds_and_three_values() -> None:
    # Rejects rounds that add up, a bound that is not reached, and one that is exceeded.
    seven = SEVEN_THREE.memo.law.ratio()
    worst = [_worst(SEVEN_THREE, rounds) for rounds in range(1, 7)]
    assert [round(float(r), 3) for r in worst] == [3.0, 5.588, 6.69, 6.941, 6.989, 6.998]
    for rounds, ratio in enumerate(worst, 1):
        assert SEVEN_THREE._degrading.ratio_of(rounds) == ratio < seven <= 7
        epsilon = SEVEN_THREE.of_rounds(rounds).epsilon
        assert math.log(ratio) <= epsilon + 1e-15 and epsilon <= SEVEN_THREE.memo.epsilon


@pytest.mark.parametrize("kind", KINDS)
def test_the_worst_sequence_of_every_kind_of_report(kind: str) -> None:
    memo = Permanent(KINDS[kind](ABC, 0.7), 1.6)
    for rounds in (1, 2, 3):
        assert memo._degrading.ratio_of(rounds) == _worst(memo, rounds)
    assert memo.of_rounds(1).epsilon == memo.epsilon == audit(memo).epsilon
    assert memo.of_rounds(10**4).epsilon <= memo.of_rounds(None).epsilon == memo.memo.epsilon <= 1.6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("epsilon", "forever"), [(0.5, 1.0), (1.0, 2.0), (3.0, 5.0)])
def test_one_report_has_the_law_of_the_mechanism(kind: str, epsilon: float, forever: float) -> None:
    one = KINDS[kind](SIX, epsilon)
    memo, shares = Permanent(one, forever), np.full(6, 1 / 6)
    assert epsilon - 1e-9 <= memo.epsilon <= epsilon
    np.testing.assert_allclose(memo.channel().dense(), one.channel().dense(), rtol=1e-9)
    if one.is_enumerable:
        law, of_one = (m.probabilities().astype(float) for m in (memo, one))
        np.testing.assert_allclose(law, of_one, rtol=1e-9)
    variances = [m.channel().variance(shares) for m in (memo, one)]
    np.testing.assert_allclose(*variances, rtol=1e-8)
    assert from_header(json.loads(json.dumps(memo.header))) == memo


@pytest.mark.parametrize(
    ("epsilon", "forever", "variance"), [(0.5, 1, 15.67), (1, 2, 3.68), (3, 5, 0.22)]
)
def test_a_memo_costs_nothing_in_one_round(epsilon: float, forever: float, variance: float) -> None:
    # RAPPOR's two symmetric steps have 15.92, 3.92 and .37.
    shares = np.eye(100)[0]
    for variant in ("oue", 0.5):
        memo = Permanent(UnaryEncoding(Integers(1, 100), epsilon, variant=variant), forever)
        assert round(float(memo.channel().variance(shares)[1]), 2) == variance
    rappor = Permanent(UnaryEncoding(Integers(1, 100), epsilon), forever)
    worse = {0.5: 15.92, 1: 3.92, 3: 0.37}
    assert round(float(rappor.channel().variance(shares)[1]), 2) == worse[epsilon]


def test_the_published_settings_of_rappor() -> None:
    # With h hash functions two values differ in 2 h bits, here 2 for one bit of each value.
    chrome = Permanent.rappor(Integers(0, 99), f=0.5, p=0.5, q=0.75)
    assert round(2 * chrome.epsilon, 4) == 1.0743
    assert round(2 * chrome.memo.epsilon, 4) == round(4 * math.log(3), 4) == 4.3944
    assert 100 * chrome.channel().dense()[0, :2] == pytest.approx([0.6875, 0.5625])
    bits = chrome.parameters()
    keep, coin = (int(bits[name], 16) / 2**64 for name in ("keep", "coin"))
    assert [keep + (1 - keep) * coin, (1 - keep) * coin] == pytest.approx([0.75, 0.5])
    small = Permanent.rappor(ABC, f=0.25, p=0.35, q=0.65)
    for rounds in (1, 2, 3):
        assert small._degrading.ratio_of(rounds) == _worst(small, rounds)
    assert from_header(chrome.header) == chrome
    refused(
        ArgumentError,
        "q: must be larger than p, which is 0.75",
        Permanent.rappor,
        ABC,
        0.5,
        0.75,
        0.5,
    )


def test_the_mean_of_ten_thousand_rounds_shows_the_permanent_report_and_no_more() -> None:
    """Rejects a device that draws its permanent report anew: its mean would show the value."""
    rng, memo = np.random.default_rng(7), SEVEN_THREE
    rounds, people = 10_000, 400
    index = np.zeros(people, dtype=np.int64)
    permanent = memo.memo.randomize(["a"] * people, rng).columns
    source = np.zeros((people, 3))
    for _ in range(rounds // 100):  # 100 rounds of each person at a time
        many = {name: np.repeat(column, 100, axis=0) for name, column in permanent.items()}
        sent = memo.degrade(many, Source(rng))["report"].reshape(people, 100)
        for y in range(3):
            source[:, y] += (sent == y).sum(axis=1)
    guessed = source.argmax(axis=1)
    assert (guessed == permanent["report"]).all()  # the average finds z
    right = (guessed == index).mean()  # which is right with 7 / 9, however many rounds
    assert abs(right - 7 / 9) < 5 * math.sqrt(7 / 9 * 2 / 9 / people)
    assert memo.of_rounds(rounds).epsilon <= memo.memo.epsilon


def test_rounds_from_one_device_follow_the_law_of_sequences() -> None:
    """Rejects a device that reports its memo as it is, or a fresh report in every round."""
    rng, sequences = np.random.default_rng(3), Counter[tuple[int, int]]()
    n = 4_000
    for _ in range(n):
        device = SEVEN_THREE.device()
        first, second = (int(device.report("a", rng).columns["report"][0]) for _ in range(2))
        sequences[first, second] += 1
    given, memo = _round_table(SEVEN_THREE), SEVEN_THREE.memo.probabilities()[:, 0]
    for pair in itertools.product(range(3), repeat=2):
        chance = float(np.multiply.reduce(given[list(pair)], axis=0) @ memo)
        assert abs(sequences[pair] / n - chance) < 5 * math.sqrt(chance / n)


@pytest.mark.parametrize("kind", KINDS)
def test_a_device_goes_on_from_its_state(kind: str) -> None:
    memo = Permanent(KINDS[kind](SIX, 0.7), 1.6, values=2)
    device = memo.device()
    reports = device.report(3)
    memo.check(reports)
    assert memo.tally(reports).n == 1
    again = memo.device(device.key, device.state)
    assert again.state == device.state
    again.report(3)
    assert [entry[1] for entry in json.loads(again.state)["memos"]] == [
        entry[1] for entry in json.loads(device.state)["memos"]
    ]
    assert again.spent == memo.of_rounds(2) and device.spent == memo.of_rounds(1)


def test_a_skipped_round_spends_nothing() -> None:
    device = SEVEN_THREE.device()
    assert device.spent.epsilon == 0
    device.report("b")
    saved = device.state  # the next round has no report
    device = SEVEN_THREE.device(device.key, saved)
    device.report("b")
    assert device.spent == SEVEN_THREE.of_rounds(2)


def test_a_changed_value_has_a_memo_of_its_own_and_returns_to_the_first() -> None:
    device = SEVEN_THREE.device()
    device.report("a")
    first = json.loads(device.state)["memos"][0][1]
    device.report("b")
    device.report("a")
    memos = json.loads(device.state)["memos"]
    assert len(memos) == 2 and memos[0][1:] == [first, 2] and memos[1][2] == 1
    both = SEVEN_THREE.of_rounds(2).epsilon + SEVEN_THREE.of_rounds(1).epsilon
    assert device.spent.epsilon == pytest.approx(both)
    assert SEVEN_THREE.of_values().epsilon == pytest.approx(3 * math.log(7))
    assert SEVEN_THREE.of_values(2).epsilon == pytest.approx(2 * math.log(7))


def test_one_value_too_many_is_refused_and_changes_nothing() -> None:
    memo = Permanent(RandomizedResponse(FOUR, 1.0), 2.0, values=2)
    device = memo.device()
    device.report(0)
    device.report(1)
    before = device.state
    text = refused(MemoFullError, "may report on no more", device.report, 3)
    assert device.state == before and not any(c in text for c in ("0", "1.0"))
    device.report(1)
    refused(ValuesError, "position 0", device.report, 9)
    # A domain of two values has no third.
    assert Permanent(RandomizedResponse(Categorical(["n", "y"]), 1.0), 2.0, values=3).values == 2


def test_a_lost_state_is_named_and_a_new_device_spends_again() -> None:
    device = SEVEN_THREE.device()
    device.report("a")
    text = refused(ArgumentError, "state: is missing", SEVEN_THREE.device, device.key)
    assert "spends epsilon 1.94591 once more" in text
    other = SEVEN_THREE.device()
    assert other.key != device.key and other.state != device.state


def test_a_cloned_or_altered_state_opens_nowhere() -> None:
    device, other = SEVEN_THREE.device(), SEVEN_THREE.device()
    device.report("a")
    refused(
        MismatchError, "does not belong to this key", SEVEN_THREE.device, other.key, device.state
    )
    refused(ArgumentError, "key: is missing", SEVEN_THREE.device, None, device.state)
    stated = json.loads(device.state)
    stated["memos"][0][2] += 1
    altered = json.dumps(stated)
    refused(MismatchError, "was altered", SEVEN_THREE.device, device.key, altered)
    for broken in ("", "[]", "{}", "null", '{"seal": 3}'):
        refused(MismatchError, "was altered", SEVEN_THREE.device, device.key, broken)
    elsewhere = Permanent(RandomizedResponse(ABC, 1.0), 2.0)
    refused(MismatchError, "another mechanism", elsewhere.device, device.key, device.state)
    refused(ArgumentTypeError, "32 bytes", SEVEN_THREE.device, b"short", device.state)
    # On its own installation a copy is the same device: the permanent report stays.
    clones = [SEVEN_THREE.device(device.key, device.state) for _ in range(2)]
    for clone in clones:
        clone.report("a")
    memos = {json.loads(clone.state)["memos"][0][1] for clone in clones}
    assert len(memos) == 1


def test_a_device_shows_no_value() -> None:
    device = SEVEN_THREE.device()
    device.report("b")
    for text in (device.state, repr(device), str(dir(device))):
        assert '"b"' not in text and "'b'" not in text
    assert repr(device) == "MemoDevice(secret)"
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        refused(ArgumentTypeError, "secret", copied, device)


def test_simulated_rounds_estimate_as_the_mechanism_does() -> None:
    memo = Permanent(SubsetSelection(SIX, 2.0), 3.0, values=2)
    shares = np.array([0.4, 0.3, 0.1, 0.1, 0.05, 0.05])
    answers = np.repeat(np.arange(6), (shares * 20_000).astype(int)).tolist()
    reports = memo.randomize(answers, np.random.default_rng(1))
    assert reports.simulated
    estimated = estimate(memo.tally(reports))
    assert np.abs(estimated.probabilities - shares).max() < 0.03


def test_what_is_refused() -> None:
    coin = RandomizedResponse(ABC, 1.0)
    refused(
        BudgetError,
        "forever: must be larger than the epsilon of one round, which is 1.0",
        Permanent,
        coin,
        1.0,
    )
    refused(BudgetError, "forever", Permanent, coin, math.inf)
    refused(BudgetError, "epsilon", Permanent, RandomizedResponse(ABC, math.inf), 2.0)
    for other in (SquareWave(SIX, 1.0), Repeated(coin, 2), "coin"):
        refused(ArgumentTypeError, "mechanism: must be Rand", Permanent, other, 2.0)
    refused(ArgumentError, "values", Permanent, coin, 2.0, 0)
    memo = Permanent(coin, 2.0)
    refused(ArgumentError, "randomised on each person's device", memo.randomize, ["a"])
    refused(ArgumentError, "rounds", memo.of_rounds, 0)
    tally = memo.tally(memo.device().report("a"))
    refused(ArgumentError, "cannot be used for permanent reports", tally.per_person, 2)
    assert tally.per_person(1).n == 1
    refused(ArgumentError, "values", memo.of_values, 2)
    header = {
        **memo.header,
        "parameters": {**memo.parameters(), "memo": SquareWave(SIX, 1.0).header},
    }
    refused(MismatchError, "", from_header, header)
    kinds: list[Mechanism] = [memo, coin]
    assert kinds[0] != kinds[1]


def test_a_simulated_permanent_report_is_of_no_real_round() -> None:
    # Rejects reports without the mark of a simulation on a memo that a seed reproduces.
    weekly = Permanent(RandomizedResponse(Integers(0, 4), 1.0), 2.0)
    device = weekly.device()
    assert device.report(3, np.random.default_rng(1)).simulated
    again = weekly.device(device.key, device.state)
    for each in (device, again):
        refused(ArgumentError, "in every round of a device", each.report, 3)
    assert again.report(3, np.random.default_rng(2)).simulated
    real = weekly.device()
    assert not real.report(3).simulated
    refused(ArgumentError, "in every round", real.report, 3, np.random.default_rng(1))
