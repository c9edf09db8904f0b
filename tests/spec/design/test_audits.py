"""Audits, and what a report can change."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import warner
from tests.own_parts import Forced
from tests.refusals import refused
from tests.registry import ALL, BLIND, COMBINED, smallest
from tests.spec.mechanisms._survey import AGE, BOTH, SEX, _survey
from warner import (
    LDP,
    Integers,
    Optimal,
    PerAttribute,
    Product,
    RandomizedResponse,
    Study,
    UtilityOptimizedRR,
)
from warner._core.sampling import Source
from warner.collector.deployment_card import deployment_card
from warner.collector.pages.survey import survey_page
from warner.design.audits import enumerated
from warner.design.privacy_words import patterns_of
from warner.errors import ArgumentError, ArgumentTypeError
from warner.mechanisms import Mechanism, UtilityOptimizedRappor
from warner.privacy import OSLDP, ULDP
from warner.reports.tally_kinds import Counted
from warner.theory.inversion import max_influence, total_influence

DOMAIN = Integers(0, 9)


class Leaky(UtilityOptimizedRR):
    """A wrong program: now and then a sensitive value is sent as another, unprotected one."""

    def probabilities(self) -> np.ndarray:
        table = super().probabilities()
        table[5, 0] = Fraction(1, 1000)
        table[0, 0] -= Fraction(1, 1000)
        return table


@pytest.mark.parametrize("value", [0, 3, 7, 19])
def test_samples_are_of_the_values_that_leak(value: int) -> None:
    """Rejects an audit of the first and the last value alone, which misses a leak at any other."""

    class SendsOne(RandomizedResponse):
        def _sample(self, index: np.ndarray, source: Any) -> dict[str, np.ndarray]:
            report = super()._sample(index, source)["report"]
            return {"report": np.where(index == value, index, report)}

    run = warner.audit(SendsOne(warner.Integers(0, 19), 1.0), samples=20_000)
    pair = re.findall(r"value number (\d+) and value number (\d+)", run.method)[0]
    assert not run.holds and str(value) in pair


@pytest.mark.parametrize("value", [0, 1])
def test_samples_are_of_the_protected_value_that_leaks(value: int) -> None:
    """Rejects the first of two protected values without a look at the other, and a method that says
    that both were tried.
    """

    class SendsOne(UtilityOptimizedRR):
        def _sample(self, index: np.ndarray, source: Any) -> dict[str, np.ndarray]:
            report = super()._sample(index, source)["report"]
            return {"report": np.where(index == value, index, report)}

    run = warner.audit(SendsOne(warner.Integers(0, 2), 1.0, [0, 1]), samples=20_000)
    assert not run.holds
    two = f"value number {value} and value number 2, whose reports differed most"
    assert two in run.method


def test_samples_are_of_the_value_that_never_sends_a_report() -> None:
    """Rejects a search for reports that a value sends more often than the last one alone."""

    class NeverSendsTheLast(RandomizedResponse):
        def _sample(self, index: np.ndarray, source: Any) -> dict[str, np.ndarray]:
            report = super()._sample(index, source)["report"]
            return {"report": np.where((index == 3) & (report == 19), index, report)}

    run = warner.audit(NeverSendsTheLast(warner.Integers(0, 19), 1.0), samples=50_000)
    assert not run.holds and "number 3 and value number 19" in run.method


class StatesHalf(Forced):
    """Its reports spend twice the epsilon that it states."""

    @property
    def epsilon(self) -> float:
        return self.requested / 2


class ListsUniform(Forced):
    """Its probabilities() are not those of its law and of its sampler."""

    def probabilities(self) -> np.ndarray:
        return np.full((self.domain.size,) * 2, Fraction(1, self.domain.size), dtype=object)


class OtherChannel(Forced):
    """Its channel is that of twice the epsilon."""

    def channel(self) -> Any:
        return Forced(self.domain, 2 * self.requested).channel()


def test_an_audit_compares_with_the_guarantee_and_not_only_with_the_request() -> None:
    """Rejects an audit that holds because a mechanism was made for more than it promises."""
    for samples in (None, 50_000):
        audited = warner.audit(StatesHalf(Integers(0, 3), 2.0), samples)
        assert not audited.holds and audited.total == audited.epsilon == pytest.approx(2.0)
        assert audited.violation == "epsilon 2 exceeds the guarantee, which is 1-LDP"


def test_what_samples_show_is_compared_with_the_guarantee_and_spent() -> None:
    """Rejects a comparison of samples with the request alone, and a total of the law alone."""

    class DrawsTwice(StatesHalf):
        def __init__(self, domain: Any, epsilon: float) -> None:
            super().__init__(domain, epsilon)
            self.drawn, self.law = self._forced, Forced(domain, epsilon / 2).law

        def probabilities(self) -> np.ndarray:
            return self.law.numerators * Fraction(1, 2**64)

    audited = warner.audit(DrawsTwice(Integers(0, 3), 2.0), 100_000)
    assert not audited.holds and "samples show an epsilon of at least 1." in str(audited.violation)
    assert audited.epsilon == pytest.approx(1.0)
    assert audited.total == audited.sampled_lower_bound and audited.total > 1.5


def test_an_audit_computes_epsilon_from_the_law_and_says_what_contradicts_it() -> None:
    """Rejects an epsilon of 0, from probabilities that nothing is drawn with."""
    audited = warner.audit(ListsUniform(Integers(0, 3), 1.0))
    assert not audited.holds and audited.epsilon == pytest.approx(1.0)
    assert "has the probability 0.25, but by the law 0.475" in str(audited.violation)
    assert "by probabilities() alone, epsilon would be 0 and not 1" in audited.method


def test_classes_that_contradict_themselves_are_compared_with_nothing() -> None:
    """Rejects a rank by the epsilon of the law and by the error of another channel."""
    domain, own = Integers(0, 3), (StatesHalf, ListsUniform, OtherChannel)
    reasons = ("exceeds the guarantee", "but by the law", "differs by 0.236")
    ranked = warner.plan(
        domain, 1.0, 1000, loss="l2", also={each.__name__: each(domain, 1.0) for each in own}
    )
    league = warner.benchmark(
        [0.4, 0.3, 0.2, 0.1], domain, [Forced, *own], ["inversion"], n=500, runs=2
    )
    left = {cell.mechanism: why for (cell, _), why in league.left_out.items()}
    for each, reason in zip(own, reasons, strict=True):
        assert reason in ranked.left_out[each.__name__] and reason in left[each.__name__]
    assert {row["mechanism"] for row in league.rows()} == {"Forced"}


@pytest.mark.parametrize("name", ["Truthful", "RandomizedResponse"])
def test_an_audit_says_where_the_sampler_of_others_was_not_run(name: str) -> None:
    """Rejects an audit of a law alone that reads like one of a sampler that sends the answer."""
    abc = warner.Categorical(["a", "b", "c"])
    sends = {"_sample": lambda self, index, source: {"report": index}, "__module__": "elsewhere"}
    truthful = type(name, (RandomizedResponse,), sends)(abc, 1.0)
    said = "no reports were drawn as a test: to draw some, pass samples=1_000_000"
    alone, beside = warner.audit(truthful), warner.Categorical(["x", "y"])
    shown = " ".join(str(alone.table()).split())
    assert alone.holds and said in str(alone) and said in shown
    assert str(alone).startswith("By its law alone, the mechanism keeps its guarantee: 1-LDP.")
    assert "holds by its law alone" in shown and repr(alone).endswith("holds by its law alone)")
    several = PerAttribute(
        Product(one=abc, two=beside), {"one": truthful, "two": RandomizedResponse(beside, 1.0)}
    )
    assert name != "Truthful" or said in str(warner.audit(several))
    run = warner.audit(truthful, samples=20_000)
    assert "20,000 reports each were drawn for value number " in run.method
    assert not run.holds and "are not drawn with" in str(run) and "as a test" not in str(run)


@pytest.mark.parametrize("name", ALL)
def test_an_audit_of_the_packages_own_mechanisms_speaks_of_no_sampler(name: str) -> None:
    assert "not run" not in warner.audit(smallest(name)).method


def test_an_audit_names_the_report_that_breaks_the_definition() -> None:
    broken = warner.audit(Leaky(DOMAIN, 1.0, [0, 1]))
    assert not broken.holds and "report 5" in str(broken.violation)
    # Claims: what is broken is the report, or the report and the pair of values.
    matrix = np.array([[0.5, 0.1], [0.5, 0.9]])
    mixing = warner.MatrixMechanism(Integers(0, 1), matrix, sensitive=[0])
    assert isinstance(mixing.guarantee, ULDP) and mixing.epsilon == pytest.approx(np.log(5))
    assert not warner.audit(mixing, claim=ULDP(1.0, (0,))).holds
    assert "report 0 is 5 times as likely from 0 as from 1" in str(
        warner.audit(mixing, claim=ULDP(1.0, (0,))).violation
    )
    assert "report 0" in str(warner.audit(mixing, claim=LDP(1.0)).violation)
    assert warner.audit(mixing, claim=ULDP(1.7, (0,))).holds
    assert warner.audit(mixing, claim=OSLDP(1.7, (0,))).holds
    uninvertible = warner.MatrixMechanism(
        Integers(0, 2), [[0.5, 0.5, 0.5], [0.5, 0.0, 0.0], [0.0, 0.5, 0.5]], sensitive=[0]
    )
    assert isinstance(uninvertible.guarantee, OSLDP) and uninvertible.epsilon == np.inf
    assert "unprotected report 2 comes from 1 and from 2" in str(
        warner.audit(uninvertible, claim=ULDP(9.0, (0,))).violation
    )
    one_sided = warner.MatrixMechanism(
        Integers(0, 2), [[1.0, 0.5, 0.5], [0.0, 0.5, 0.5]], sensitive=[0]
    )
    assert isinstance(one_sided.guarantee, OSLDP) and one_sided.epsilon == pytest.approx(np.log(2))
    assert warner.audit(one_sided).holds and warner.audit(one_sided, claim=OSLDP(0.7, (0,))).holds
    with pytest.raises(ArgumentError, match="too many possible reports to list"):
        warner.audit(warner.UnaryEncoding(Integers(0, 30), 1.0), claim=LDP(1.0))
    with pytest.raises(ArgumentTypeError, match="claim"):
        warner.audit(mixing, claim=1.0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="cannot be used together with a claim"):
        warner.audit(mixing, samples=1000, claim=LDP(1.0))
    assert warner.audit(uninvertible, claim=ULDP(9.0, (0,))).epsilon == np.inf
    assert "1 sensitive value" in warner.audit(one_sided).guarantee and "one-sided" in str(
        warner.audit(one_sided)
    )


def test_samplers_that_leak_are_caught_by_samples() -> None:
    class Naive(UtilityOptimizedRR):
        """Sends a sensitive value as it is, too often."""

        def _sample(self, index, source):  # type: ignore[no-untyped-def]
            report = super()._sample(index, source)["report"]
            return {"report": np.where(np.arange(len(index)) % 2 == 0, index, report)}

    caught = warner.audit(Naive(DOMAIN, 1.0, [0, 1, 2]), samples=20_000)
    assert not caught.holds
    # A law that reports are not drawn by is no exact epsilon, and its guarantee is not kept.
    said = str(caught)
    assert "It does not keep its guarantee: " in said
    assert "epsilon 1. Its stated epsilon is " in said and "exact epsilon is" not in said
    assert warner.audit(UtilityOptimizedRR(DOMAIN, 1.0, [0, 1, 2]), samples=20_000).holds
    assert warner.audit(UtilityOptimizedRappor(DOMAIN, 1.0, [0, 1, 2]), samples=20_000).holds


def _seeded_in_each_call(mechanism: Forced) -> np.random.Generator:
    return np.random.default_rng(1)


def _seeded_once(mechanism: Forced) -> np.random.Generator:
    rng: np.random.Generator = vars(mechanism).setdefault("rng", np.random.default_rng(1))
    return rng


@pytest.mark.parametrize("generator", [_seeded_in_each_call, _seeded_once])
def test_samples_find_a_fixed_seed(generator: Any) -> None:
    """Rejects an audit of the shares of reports in one batch, which are right with a fixed seed:
    each device then sends the same report, and who knows the seed knows the answers.
    """

    class Seeded(Forced):
        def _sample(self, index: np.ndarray, source: Any) -> dict[str, np.ndarray]:
            return super()._sample(index, Source(generator(self)))

    run = warner.audit(Seeded(Integers(0, 3), 1.0), samples=20_000)
    said = "two devices with different randomness send the same reports: Seeded draws with a fixed"
    assert not run.holds and str(run.violation).startswith(said)
    assert "Its stated epsilon is 1" in str(run)


def test_samples_find_reports_that_depend_on_others() -> None:
    class FirstTrue(Forced):
        """The first person of each batch sends the truth, so a device that sends one report does."""

        def _sample(self, index: np.ndarray, source: Any) -> dict[str, np.ndarray]:
            report = super()._sample(index, source)["report"]
            report[0] = index[0]
            return {"report": report}

    run = warner.audit(FirstTrue(Integers(0, 3), 1.0), samples=20_000)
    assert not run.holds and str(run.violation).startswith("reports made one by one: for value")
    right = warner.audit(Forced(Integers(0, 3), 1.0), samples=20_000)
    assert right.holds and "no report was found to depend on others: 400 repor" in right.method
    assert "if more than 10.0% of people sent the report of the person a fixed" in right.method


def test_samples_find_copies_among_many_reports() -> None:
    """Rejects a test of 10,000 reports however many are drawn."""

    class Copies(Forced):
        """Eight of a hundred people send the report of the person before."""

        def _sample(self, index: np.ndarray, source: Any) -> dict[str, np.ndarray]:
            report = super()._sample(index, source)["report"]
            copied = 1 + np.flatnonzero(source.below(2**64 * 8 // 100, len(index) - 1))
            report[copied] = report.copy()[copied - 1]
            return {"report": report}

    run = warner.audit(Copies(Integers(0, 3), 1.0), samples=100_000)
    assert not run.holds and run.violation is not None


def test_an_epsilon_beyond_the_request_is_said_without_rounding_errors() -> None:
    class Spends(Forced):
        """Its law is that of a larger epsilon than it was made for."""

        guarantee = property(lambda self: warner.privacy.LDP(self.requested))

        def __init__(self, domain: Any, epsilon: float) -> None:
            super().__init__(domain, 1.3)
            self.requested = epsilon

    assert warner.audit(Spends(Integers(0, 3), 1.0)).violation == "epsilon 1.3 exceeds 1"


def test_a_claim_without_delta_is_one_of_ldp() -> None:
    """Rejects BROKEN by a delta of 1e-15, which is a bound of rounding errors."""
    coin = RandomizedResponse(Integers(0, 3), 1.0)
    assert warner.audit(coin, claim=warner.privacy.ApproximateLDP(1.0, 0.0)).holds
    assert not warner.audit(coin, claim=warner.privacy.ApproximateLDP(0.9, 0.0)).holds


def test_enumerated_counts_reports_that_serialise_alike_once() -> None:
    rows = np.array(
        [
            [Fraction(1, 2), Fraction(1, 4)],
            [Fraction(1, 2), Fraction(1, 4)],
            [Fraction(0), Fraction(1, 2)],
        ]
    )
    ratio, problem = enumerated(
        [b"a", b"a", b"b"], rows, np.array([True, False]), np.array([True, True, False])
    )
    assert ratio == 2 and problem is None


def test_samples_find_parts_that_say_too_much() -> None:
    class Blunt(RandomizedResponse):
        """Says the truth to everyone who asks twice."""

        def _sample(self, index: np.ndarray, source: Any) -> dict[str, np.ndarray]:
            return {"report": index}

    assert warner.audit(_survey(), samples=20_000).holds
    worse = warner.audit(
        PerAttribute(BOTH, {"sex": Blunt(SEX, 1.0), "age": RandomizedResponse(AGE, 1.0)}),
        samples=20_000,
    )
    assert not worse.holds and "samples show" in str(worse.violation)
    names = [f"q{i}" for i in range(9)]
    sensitive_mask = PerAttribute(
        Product(**dict.fromkeys(names, AGE)),
        {k: lambda d: warner.UtilityOptimizedRR(d, 1.0, [0]) for k in names},
    )
    assert warner.audit(sensitive_mask).holds
    with pytest.raises(ArgumentError, match=r"audit each mechanism of mechanism\.parts alone"):
        warner.audit(sensitive_mask, samples=1000)


# The influence of one report, and what forged reports do.


@pytest.mark.parametrize(
    "name", [n for n in ALL if n not in BLIND and not n.startswith("KeyValue")]
)
def test_the_weight_is_the_largest_change_of_a_count_by_one_report(name: str) -> None:
    """By the estimate of 50 reports and the same with one of them replaced, for every pair of
    reports.
    """
    mechanism = smallest(name)
    weight = max_influence(mechanism)
    outputs = warner.Reports(mechanism.header, mechanism.outputs())
    rows = range(0, len(outputs), max(1, len(outputs) // 40))
    counts = []
    for i in rows:
        channel, seen, _ = mechanism.channel_for(mechanism.tally(outputs[i : i + 1]))
        counts.append(channel.invert(seen / seen.sum()))
    found = float(np.ptp(np.stack(counts), axis=0).max())
    assert weight is not None and found <= weight * (1 + 1e-9)
    if len(rows) == len(outputs):
        assert found == pytest.approx(weight, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_weight_of_pure_mechanisms_is_one_over_the_difference_of_two_probabilities(
    epsilon: float,
) -> None:
    domain, e = warner.Integers(0, 99), math.exp(epsilon)
    assert max_influence(warner.RandomizedResponse(domain, epsilon)) == pytest.approx(
        (e + 99) / (e - 1)
    )
    assert max_influence(warner.UnaryEncoding(domain, epsilon, variant="oue")) == pytest.approx(
        1 / (0.5 - 1 / (e + 1))
    )
    hashed = warner.LocalHashing(domain, epsilon)
    p, other = e / (e + hashed.buckets - 1), 1 / (e + hashed.buckets - 1)
    assert hashed.prime == 101
    whole, rest = divmod(101, hashed.buckets)
    together = rest * (whole + 1) * whole + (hashed.buckets - rest) * whole * (whole - 1)
    assert max_influence(hashed) == pytest.approx(1 / ((p - other) * (1 - together / (101 * 100))))
    assert max_influence(warner.RandomizedResponse(domain, math.inf)) == 1.0


@pytest.mark.parametrize(
    "mechanism",
    [
        warner.RandomizedResponse(warner.Integers(0, 4), 1.0),
        warner.UnaryEncoding(warner.Integers(0, 4), 1.0),
        warner.SubsetSelection(warner.Integers(0, 4), 1.0, size=2),
        warner.SubsetSelection(warner.Integers(0, 4), 1.0, size=4),
    ],
    ids=["labels", "bits", "pairs", "all but one"],
)
def test_the_weight_on_all_values_is_that_of_the_worst_two_reports(mechanism: Mechanism) -> None:
    # Rejects the weight on one value times their number, of labels and subsets.
    outputs = warner.Reports(mechanism.header, mechanism.outputs())
    counts = []
    for i in range(len(outputs)):
        channel, seen, _ = mechanism.channel_for(
            mechanism.tally(outputs[i : i + 1], keep_reports=False)
        )
        counts.append(channel.invert(seen / seen.sum()))
    table = np.stack(counts)
    worst = max(float(np.abs(table - row).sum(axis=1).max()) for row in table)
    assert total_influence(mechanism) == pytest.approx(worst)


def test_the_weight_of_keys_tuples_and_blind_channels() -> None:
    keyed = warner.KeyValue(warner.Categorical(["a", "b"]), warner.Interval(0, 1, 4), 1.0)
    keys = float(keyed.law.keep - keyed.law.other)
    assert max_influence(keyed) == pytest.approx(1 / keys)
    several = warner.KeyValue(
        warner.Categorical(["a", "b"]), warner.Interval(0, 1, 4), 1.0, pairs=3
    )
    assert max_influence(several) == pytest.approx(3 / keys)
    assert max_influence(warner.mechanisms.Gaussian(warner.Integers(0, 9), 1.0, delta=1e-5)) is None
    assert max_influence(warner.mechanisms.StochasticRounding(warner.Integers(0, 9), 1.0)) is None
    both = COMBINED["subsets x RR"](1.0)
    outputs = warner.Reports(both.header, both.outputs())
    counts = []
    for i in range(len(outputs)):
        channel, seen, _ = both.channel_for(both.tally(outputs[i : i + 1]))
        counts.append(channel.invert(seen / seen.sum()))
    weight = max_influence(both)
    assert weight is not None and 0.5 * weight < float(
        np.ptp(np.stack(counts), axis=0).max()
    ) <= weight * (1 + 1e-9)
    with pytest.raises(ArgumentTypeError, match="must be a mechanism"):
        max_influence("RandomizedResponse")  # type: ignore[arg-type]
    assert warner.audit(several).influence == max_influence(several)
    ranking = warner.plan(warner.Integers(0, 9), 1.0, 1000, runs=2)
    assert all(option.influence == max_influence(option.mechanism) for option in ranking.results)
    assert ranking.no_protection.influence == 1
    assert all(line["influence"] >= 1 for line in ranking.to_json()["results"])


def _counted(mechanism: warner.RandomizedResponse, counts: np.ndarray) -> warner.Tally:
    like = mechanism.tally(mechanism.randomize(["0"]))
    return warner.Tally(like.header, Counted.together(like.kind, counts, int(counts.sum())))


def test_the_default_estimate_moves_by_more_than_the_weight_and_the_inverse_never() -> None:
    """As the documents say; "it is the most for every estimate" would be wrong."""
    mechanism = warner.RandomizedResponse(warner.Categorical(list("0123456789")), 1.0)
    counts = np.array([24, 15, 19, 20, 14, 21, 26, 33, 20, 8])
    before = _counted(mechanism, counts)
    counts[[7, 2]] += [-1, 1]
    after = _counted(mechanism, counts)

    def moved(*method: object) -> float:
        shares = [warner.estimate(tally, *method).probabilities for tally in (before, after)]
        return float(200 * np.abs(shares[1] - shares[0]).max())

    weight = max_influence(mechanism)
    assert weight == pytest.approx(6.820, abs=1e-3)
    assert moved(warner.Inversion()) <= weight * (1 + 1e-9)
    assert moved() > 9 > weight


def test_few_forged_reports_among_many_do_much() -> None:
    """500 among 50,000 move a share of 2 % to 60 %, as the documents say."""
    domain = warner.Categorical([str(i) for i in range(100)])
    mechanism = warner.RandomizedResponse(domain, 1.0)
    shares = 1 / np.arange(1, 101)
    honest = np.rint(49_500 * mechanism.channel().dense() @ (shares / shares.sum())).astype(int)
    for method in (), (warner.Inversion(),):
        found = []
        for forged in (0, 500):
            counts = honest.copy()
            counts[7] += forged
            found.append(warner.estimate(_counted(mechanism, counts), *method).probabilities[7])
        assert found[0] == pytest.approx(0.02, abs=0.01)
        assert found[1] == pytest.approx(0.6, abs=0.05)


def test_reports_of_rows_are_shown_as_dots() -> None:
    # Rejects dots of another row than the one whose people are stated.
    scale = Optimal(Integers(0, 4), 1.0, loss="distribution")
    lines = patterns_of(scale, "pain")
    assert lines[0].startswith("pain: A report is one of ")
    table, labels = scale.probabilities().astype(float), {"e": "\u25cf", "1": "\u25cb"}
    dots = {"".join(labels[symbol] for symbol in row): i for i, row in enumerate(scale.rows)}
    shown = [line.split() for line in lines if line.startswith(("  ●", "  ○"))]
    assert len(shown) == 6
    for row, sent, *_ in shown:
        assert float(sent) == pytest.approx(100 * table[dots[row]].max(), abs=0.5)
    partly = Optimal(Integers(0, 3), 1.0, sensitive=[0, 1])
    assert any("\u00b7" in line for line in patterns_of(partly))
    assert all(len(line) < 80 for line in lines)
    assert patterns_of(RandomizedResponse(Integers(0, 3), 1.0)) == []


def test_the_page_and_the_card_show_the_dots() -> None:
    study = Study.parse(
        'title = "Pain"\n[attributes.pain]\nlabel = "Pain?"\nintegers = [0, 4]\n'
        'mechanism = "Optimal"\nloss = "distribution"\nepsilon = 1.0\n'
    )
    lines = patterns_of(study.mechanisms["pain"])
    commonest = lines[[line.startswith("  ") for line in lines].index(True)].split()[0]
    assert f">{commonest}</span>" in survey_page(study)
    assert deployment_card(study)["questions"][0]["reports"] == lines


def test_a_study_is_audited_by_question() -> None:
    """Rejects: "must be a mechanism" and the name of another one."""
    study = Study.parse(
        '[attributes.theme]\nvalues = ["a", "b"]\nmechanism = "RandomizedResponse"\nepsilon = 1.0'
    )
    said = refused(ArgumentTypeError, "mechanism of one question", warner.audit, study)
    assert "warner.audit(study.mechanisms['theme'])" in said and "warner audit study.toml" in said
    assert warner.audit(study.mechanisms["theme"]).holds


def test_an_audit_is_printed_a_sentence_on_a_line_the_verdict_first() -> None:
    """Rejects one paragraph that begins with all arguments of the mechanism."""
    coin = RandomizedResponse(warner.Categorical(["no", "yes"]), 1.0)
    assert repr(coin.reports([0, 1])) == "Reports(RandomizedResponse, epsilon=1.0, n=2)"
    lines = str(warner.audit(coin)).splitlines()
    assert lines[0] == "The mechanism keeps its guarantee: 1-LDP." and len(lines) == 5
    assert lines[-1] == "Mechanism: RandomizedResponse(Categorical(values=['no', 'yes']), 1.0)"
