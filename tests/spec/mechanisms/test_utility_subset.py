"""UtilityOptimizedSubset: its law, its variance against the best mechanism's, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import warner
from warner import Categorical, Integers, Optimal, SubsetSelection, UtilityOptimizedRR
from warner.channels import DenseChannel
from warner.errors import ArgumentError, ArgumentTypeError, ReportError
from warner.estimators.base import LikelihoodData
from warner.estimators.plausibility import plausibility_of_data
from warner.mechanisms import PersonalizedULDP, UtilityOptimizedRappor, UtilityOptimizedSubset
from warner.mechanisms.utility_optimized import best_subset

# Sizes K, the sensitive values, d, epsilon.
LAWS = [
    (6, [1, 3, 4, 5], 2, 1.0),
    (5, [1, 2, 3, 4, 5], 3, 0.7),
    (4, [2], None, 1.0),
    (7, [1, 2, 5], 1, 2.0),
    (9, [1, 2, 3, 4, 6, 9], 5, 0.3),
]


def _made(size: int, sensitive: list[int], d: int | None, epsilon: float) -> UtilityOptimizedSubset:
    return UtilityOptimizedSubset(Integers(1, size), epsilon, sensitive, d)


def _total(mechanism: warner.mechanisms.Mechanism) -> float:
    """The sum of the variances where all shares are equal."""
    size = mechanism.domain.size
    return float(mechanism.channel().variance(np.full(size, 1 / size)).sum())


@pytest.mark.parametrize("law", LAWS)
def test_the_law_is_the_definition(law: tuple[int, list[int], int | None, float]) -> None:
    """Rejects: a set that prefers members in one order, and a c of another number of values."""
    mechanism = _made(*law)
    size, sensitive, d, s = law[0], law[1], mechanism.subset, len(law[1])
    e = math.exp(law[3])
    c = s / (d * e + s - d)
    k = c / math.comb(s, d)
    expected = {}
    for chosen in combinations(sensitive, d):
        expected[chosen] = [k * e if x in chosen else k for x in range(1, size + 1)]
    for x in set(range(1, size + 1)) - set(sensitive):
        expected[(x,)] = [(1 - c) * (z == x) for z in range(1, size + 1)]
    bits = np.unpackbits(mechanism.outputs()["bits"], axis=1, count=size)
    table = mechanism.probabilities()
    assert len(bits) == mechanism.n_reports == len(expected)
    for row, chances in zip(bits, table, strict=True):
        of_report = expected[tuple((np.flatnonzero(row) + 1).tolist())]
        assert chances.astype(float) == pytest.approx(of_report, rel=1e-9)
    assert set(table.sum(axis=0).tolist()) == {Fraction(1)}


@pytest.mark.parametrize("law", LAWS)
def test_the_channel_of_bit_sums_is_that_of_all_reports(
    law: tuple[int, list[int], int | None, float],
) -> None:
    """Every closed form against sums over all reports.

    Rejects: one chance q for the values outside and inside S, and bits taken as independent.
    """
    mechanism, rng = _made(*law), np.random.default_rng(1)
    channel, size = mechanism.channel(), mechanism.domain.size
    table = mechanism.probabilities().astype(float)
    bits = np.unpackbits(mechanism.outputs()["bits"], axis=1, count=size).astype(float)
    theta, c = rng.dirichlet(np.ones(size)), rng.normal(size=(size, 2))
    rows = np.concatenate([bits, 1 - bits], axis=1) / size
    w, inverse = table @ theta, channel.invert(rows.T)
    assert channel.matvec(theta) == pytest.approx(w @ rows)
    assert channel.rmatvec(rows[0]) == pytest.approx(channel.dense().T @ rows[0])
    assert channel.invert(channel.matvec(theta)) == pytest.approx(theta)
    covariance = (inverse * w) @ inverse.T - np.outer(theta, theta)
    assert channel.covariance(theta) == pytest.approx(covariance)
    assert channel.variance(theta) == pytest.approx(np.diag(covariance))
    assert channel.inverse_moments(theta)[1] == pytest.approx(np.diag(inverse**2 @ table))
    assert channel.variance_of(c, theta) == pytest.approx(np.diag(c.T @ covariance @ c))
    weights = rng.normal(size=(3, 2 * size))
    sums = weights @ rows.T * size
    assert channel.second_moments(weights) == pytest.approx(sums**2 @ table)
    low, high = channel.inverse_range()
    assert inverse.min(axis=1) == pytest.approx(low) and inverse.max(axis=1) == pytest.approx(high)
    information = DenseChannel(table).information(theta)[0]
    assert channel.information(theta)[0] == pytest.approx(information, rel=1e-6)
    law_of_counts = channel.binomial_law(theta)
    mu = law_of_counts.q + law_of_counts.gap * theta
    assert mu * (1 - mu) / law_of_counts.gap**2 == pytest.approx(np.diag(covariance))
    # Whole reports: their rows are the table, and they have the same unbiased estimate.
    reports = mechanism.report_channel(mechanism.outputs()["bits"])
    assert reports.dense() * np.exp(reports.log_factors)[:, None] == pytest.approx(table)
    assert reports.invert(w) == pytest.approx(theta)
    assert reports.influence(c).T @ w == pytest.approx(c.T @ theta)


def test_simulated_sums_and_tallies_of_reports_have_the_chances_of_the_channel() -> None:
    """Rejects: sets that are drawn for each sensitive value alone, whatever is named."""
    mechanism, n = _made(*LAWS[0]), 100_000
    size, channel, rng = mechanism.domain.size, mechanism.channel(), np.random.default_rng(2)
    theta = rng.dirichlet(np.ones(size))
    people = rng.choice(size, n, p=theta)
    chances = channel.matvec(theta)[:size] * size
    drawn = mechanism.tally(mechanism.randomize(people + 1, rng=rng)).counts.ravel()[:size] / n
    for shares in (
        drawn,
        channel.simulate(theta, n, rng)[:size] * size,
        channel.sample_marks(people, rng)[:, :size].mean(axis=0),
    ):
        assert np.abs(shares - chances).max() < 5 * math.sqrt(0.5 / n)
    kept = mechanism.tally(mechanism.randomize(people[:2000] + 1, rng=rng), keep_reports=True)
    intervals = warner.estimate(kept).interval(kind="bootstrap", rng=rng, replicates=20)
    assert (intervals[:, 0] <= intervals[:, 1]).all()


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1.0, 5.0, 20.0])
def test_never_above_the_epsilon_asked_for(epsilon: float) -> None:
    for sensitive in ([3], [1, 2], range(1, 9), range(1, 11)):
        for d in {1, max(1, len(sensitive) - 1)}:
            mechanism = UtilityOptimizedSubset(Integers(1, 10), epsilon, sensitive, d)
            assert epsilon * (1 - 1e-6) < mechanism.epsilon <= epsilon
            assert warner.audit(mechanism).holds


def test_with_one_value_to_a_set_reports_say_what_those_of_urr_say() -> None:
    survey = UtilityOptimizedSubset(Integers(1, 8), 1.0, [1, 2])
    rival = UtilityOptimizedRR(Integers(1, 8), 1.0, [1, 2])
    assert survey.subset == 1
    order = np.unpackbits(survey.outputs()["bits"], axis=1, count=8).argmax(axis=1)
    assert (survey.probabilities() == rival.probabilities()[order]).all()
    assert (
        "UtilityOptimizedSubset"
        in warner.plan(Categorical(list("abcdefgh")), 1.0, 1000, sensitive=["a", "b"]).left_out
    )


def test_where_all_values_are_sensitive_it_is_subset_selection() -> None:
    survey, rival = _made(6, [*range(1, 7)], None, 1.0), SubsetSelection(Integers(1, 6), 1.0)
    assert survey.subset == rival.subset
    assert survey.probabilities().astype(float) == pytest.approx(
        rival.probabilities().astype(float), rel=1e-12
    )


@pytest.mark.parametrize("members", [5, 7])
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_no_mechanism_has_less_variance(members: int, epsilon: float) -> None:
    domain, sensitive = Integers(1, 8), range(1, members + 1)
    best = Optimal(domain, epsilon, sensitive=[*sensitive]).certificate.value
    survey = UtilityOptimizedSubset(domain, epsilon, sensitive)
    assert _total(survey) == pytest.approx(best, rel=1e-6)
    assert _total(UtilityOptimizedRR(domain, epsilon, sensitive)) > 1.06 * best
    assert _total(UtilityOptimizedRappor(domain, epsilon, sensitive)) > 1.3 * best


@pytest.mark.parametrize(
    ("members", "epsilon", "least", "urap", "urr"),
    [(76, 1.0, 199, 300, 2020), (200, 1.0, 610, 785, 13_713), (200, 2.0, 111, 185, 1038)],
)
def test_the_variance_at_the_size_of_a_survey_of_places(
    members: int, epsilon: float, least: int, urap: int, urr: int
) -> None:
    domain, sensitive = Integers(1, 400), range(1, members + 1)
    totals = [
        _total(kind(domain, epsilon, sensitive))
        for kind in (UtilityOptimizedSubset, UtilityOptimizedRappor, UtilityOptimizedRR)
    ]
    assert [round(total) for total in totals] == [least, urap, urr]


@pytest.mark.parametrize(("size", "members"), [(8, 5), (8, 8), (40, 30), (400, 76), (5, 1)])
def test_the_closed_form_and_its_best_d(size: int, members: int) -> None:
    """Rejects: the d of subset selection on S alone, which knows no other values."""
    domain, sensitive, theta = Integers(1, size), range(1, members + 1), np.full(size, 1 / size)
    skewed = 1 / (1 + np.arange(size))
    skewed /= skewed.sum()
    totals = []
    for d in range(1, max(members, 2)):
        channel = UtilityOptimizedSubset(domain, 1.0, sensitive, d).channel()
        c = members / (d * math.e + members - d)
        for shares in (skewed, theta):
            p = float(shares[:members].sum())
            sets = c + (1 - c) * p
            spread = (members - 1) * (d - 1) / max(members - d, 1)
            total = 1 + sets * spread - (c**2 + 2 * c * (1 - c) * p) / members
            total = total / (1 - c) ** 2 - float(shares @ shares)
            assert channel.variance(shares).sum() == pytest.approx(total, rel=1e-9)
        totals.append(total)
    assert best_subset(members, size, 1.0) == 1 + int(np.argmin(totals))


def test_the_default_estimate_errs_less_than_that_of_other_mechanisms() -> None:
    """Rejects: noise of S that is taken to be that of people with sensitive values alone."""
    n = 5000
    labels, rng = Categorical([str(x) for x in range(60)]), np.random.default_rng(4)
    theta = rng.permutation(1 / (1 + np.arange(60)))
    theta /= theta.sum()
    errors: dict[str, list[float]] = {}
    for kind in (UtilityOptimizedSubset, UtilityOptimizedRappor, UtilityOptimizedRR):
        mechanism = kind(labels, 0.7, labels.labels[:30])
        for run in range(12):
            channel = mechanism.channel()
            w = channel.simulate(theta, n, np.random.default_rng(run))
            fit = warner.estimators.EmpiricalBayes().fit(LikelihoodData(channel, w, n, labels))
            error = float(((fit.shares - theta) ** 2).sum())
            errors.setdefault(kind.__name__, []).append(error)
    least = np.mean(errors["UtilityOptimizedSubset"])
    assert least < 0.97 * np.mean(errors["UtilityOptimizedRappor"])
    assert least < 0.7 * np.mean(errors["UtilityOptimizedRR"])


def test_a_plan_proposes_it_where_it_is_best() -> None:
    ranking = warner.plan(Categorical(list("abcdefgh")), 1.0, 2000, sensitive=list("abcde"))
    assert ranking.best.name == "UtilityOptimizedSubset"
    assert ranking.best.mechanism is not None and ranking.best.mechanism.parameters()["size"] == 2


def test_reports_of_another_budget_are_noticed() -> None:
    """Where fewer people name a sensitive value than if nobody had one."""
    domain, sensitive, n = Integers(1, 100), range(1, 41), 2000
    asked, theta = UtilityOptimizedSubset(domain, 1.0, sensitive), np.full(100, 0.01)
    other = UtilityOptimizedSubset(domain, 4.0, sensitive, asked.subset)
    channel, rng = asked.channel(), np.random.default_rng(0)
    for mechanism, is_plausible in ((asked, True), (other, False)):
        w = mechanism.channel().simulate(theta, n, rng)
        p = plausibility_of_data(LikelihoodData(channel, w, n, domain)).p_value
        assert (p > 1e-3) == is_plausible and (is_plausible or p < 1e-9)


def test_reports_and_counts_that_it_cannot_send_are_refused() -> None:
    survey = UtilityOptimizedSubset(Integers(1, 6), 1.0, [1, 2, 3, 4], 2)
    for bits in ([1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 1, 0], [0, 0, 0, 0, 1, 1], [1, 1, 1, 0, 0, 0]):
        with pytest.raises(
            ReportError, match=r"2 bits set, or only the bit of a non-sensitive value"
        ):
            survey.reports([bits])
    # Two reports that break the rule in turn have the sums of reports that keep it.
    schema = survey.schema
    assert schema.may_have(np.array([2, 1, 1, 0, 1, 0]), 3)
    assert not schema.may_have(np.array([2, 1, 1, 1, 1, 0]), 3)


def test_sizes_that_do_not_fit_are_refused() -> None:
    for size in (0, 3, 4):
        with pytest.raises(ArgumentError, match="size"):
            UtilityOptimizedSubset(Integers(1, 6), 1.0, [1, 2, 3], size)
    with pytest.raises(ArgumentTypeError, match="size"):
        UtilityOptimizedSubset(Integers(1, 6), 1.0, [1, 2, 3], 1.5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="sensitive"):
        UtilityOptimizedSubset(Integers(1, 6), 1.0, [])


def test_values_that_are_sensitive_for_one_person() -> None:
    domain = Integers(0, 9)
    city = PersonalizedULDP(UtilityOptimizedSubset(domain, 1.0, [3, 5, 7]), ["home", "work"])
    made = city.mechanism
    assert isinstance(made, UtilityOptimizedSubset)
    assert made.subset == best_subset(5, 12, 1.0) == made.header["parameters"]["size"]
    phone = city.device({"home": [4], "work": [8]})
    assert warner.audit(phone).holds and phone.violation() is None
    rng = np.random.default_rng(5)
    answers = rng.integers(0, 10, 5000)
    shares = warner.estimate(city.tally(phone.randomize(answers, rng))).redistribute()
    assert shares.probabilities.sum() == pytest.approx(1)
    # What is known of no tag goes to the values that are not sensitive for everybody.
    assert not shares.matrix[[3, 5, 7], 10:].any()
