"""What the bias correction promises."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import warner
from tests.refusals import refused
from tests.registry import KEYED, MECHANISMS
from tests.spec.estimators._shapes import _bell, _simulated
from warner import (
    Categorical,
    Integers,
    Interval,
    Inversion,
    MaximumLikelihood,
    RandomizedResponse,
    SquareWave,
    UnaryEncoding,
)
from warner.channels import DirectChannel, KroneckerChannel, StackChannel
from warner.errors import ArgumentError, EmptyError, ImpossibleReportError
from warner.estimators import Status
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import (
    BiasCorrection,
    MixtureReduction,
    SmoothedEM,
    WienerFilter,
    smooth,
)
from warner.metrics import mean_squared_error
from warner.reports.tally_kinds import Counted, Histogram
from warner.results.from_tally import likelihood_data

LABELS = Categorical([f"v{x}" for x in range(20)])


def _facts(
    shares: Any,
    n: int = 20_000,
    epsilon: float = 1.0,
    seed: int = 0,
    domain: warner.domains.Domain = LABELS,
) -> LikelihoodData:
    """Randomised response of people with these shares."""
    rng = np.random.default_rng(seed)
    channel = warner.RandomizedResponse(domain, epsilon).channel()
    weights = channel.simulate_from_values(
        rng.multinomial(n, np.asarray(shares) / np.sum(shares)), rng
    )
    return LikelihoodData(channel, weights, n, domain)


FORTY = Categorical([f"v{x}" for x in range(40)])


def _budgets(
    shares: Any, people: tuple[int, ...] = (200, 200, 20, 20), seed: int = 0
) -> LikelihoodData:
    """P1's mixture of budgets."""
    channels = [RandomizedResponse(FORTY, e).channel() for e in (0.1, 2.0, math.log(40), math.inf)]
    stack = StackChannel(
        [c for c, n in zip(channels, people, strict=True) if n], [n for n in people if n]
    )
    weights = stack.simulate(
        np.asarray(shares) / np.sum(shares), sum(people), np.random.default_rng(seed)
    )
    return LikelihoodData(stack, weights, sum(people), FORTY)


STEEP, FLAT = 0.8 ** np.arange(40), np.ones(40)
FEW = (50, 50, 5, 5)  # about three for each value, where the derived form is not EM


@pytest.mark.parametrize(
    ("method", "people"),
    [
        (BiasCorrection(formula="printed"), (0, 0, 0, 60)),
        (BiasCorrection(alpha="bootstrap"), FEW),
    ],
    ids=repr,
)
def test_the_same_tally_gives_the_same_estimate_and_another_another_simulation(
    method: BiasCorrection, people: tuple[int, ...]
) -> None:
    data = _budgets(STEEP)
    assert method.fit(data).shares == pytest.approx(method.fit(data).shares, abs=1e-12)
    rounded = LikelihoodData(data.channel, data.weights * (1 + 1e-15), data.n, data.domain)
    assert method.weight(rounded) == method.weight(data), "rounding of the weights changes no seed"
    assert len({method.weight(_budgets(STEEP, people, seed=i)) for i in range(6)}) > 1


def test_alphas_are_those_of_the_paper_and_the_bootstrap_may_choose_none_or_more() -> None:
    printed = [c * 10.0**-k for c in range(1, 10) for k in range(1, 11)]
    for people in ((200, 200, 20, 20), (0, 0, 0, 60)):
        alpha = BiasCorrection().weight(_budgets(STEEP, people))
        assert min(abs(alpha / p - 1) for p in printed) < 1e-12
    for shares, formula, chosen in ((STEEP, "printed", 0), (FLAT, "derived", 10)):
        bootstrap = BiasCorrection(alpha="bootstrap", formula=formula)
        alphas = [bootstrap.weight(_budgets(shares, (0, 1000, 100, 0), i)) for i in range(4)]
        assert chosen in alphas


def test_the_paper_simulates_once_from_the_report_histogram_and_the_bootstrap_from_the_estimate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, truths = _budgets(STEEP), []
    simulate = StackChannel.simulate

    def recorded(
        self: StackChannel, theta: np.ndarray, n: int, rng: np.random.Generator
    ) -> np.ndarray:
        truths.append(theta)
        assert n == data.n
        return simulate(self, theta, n, rng)

    monkeypatch.setattr(StackChannel, "simulate", recorded)
    for method, times, truth in (
        (BiasCorrection(alpha=0.5), 0, None),
        (BiasCorrection(), 1, data.channel.naive_estimate(data.weights)),
        (BiasCorrection(alpha="bootstrap"), 5, BiasCorrection(alpha=0).fit(data).shares),
    ):
        truths.clear()
        method.fit(data)
        assert len(truths) == times and all(t == pytest.approx(truth, abs=1e-12) for t in truths)


def test_the_bootstrap_shrinks_what_is_flat_more_than_what_is_not() -> None:
    """Mutants: the sign of the correction, the largest loss instead of the least."""
    for shares, low, high in ((FLAT, 0.0, 0.8), (STEEP, 0.8, 1.0)):
        truth, ratios = shares / shares.sum(), []
        for seed in range(6):
            data = _budgets(shares, FEW, seed)
            losses = [
                ((m.fit(data).shares - truth) ** 2).sum()
                for m in (BiasCorrection(alpha="bootstrap"), BiasCorrection(alpha=0))
            ]
            ratios.append(losses[0] / losses[1])
        assert low <= float(np.mean(ratios)) <= high


def test_an_alpha_of_nothing_is_the_inner_estimate() -> None:
    data = _budgets(STEEP)
    assert BiasCorrection(MaximumLikelihood(), alpha=0).fit(data).shares == pytest.approx(
        MaximumLikelihood().fit(data).shares, abs=1e-12
    )
    fit = BiasCorrection(alpha=0, tolerance=1e-9).fit(data)
    assert fit.shares == pytest.approx(MaximumLikelihood().fit(data).shares, abs=1e-4)
    assert fit.status is Status.STOPPED and fit.gap is not None and 0 <= fit.gap < 1e-3


def test_a_correction_that_leaves_nothing_positive_gives_the_uniform_distribution() -> None:
    assert BiasCorrection(alpha=1e9).fit(_budgets(STEEP)).shares.sum() == pytest.approx(1)


def test_a_value_that_was_reported_and_clipped_has_no_certificate() -> None:
    kept, clipped = (
        BiasCorrection(alpha=alpha, formula="printed").fit(_budgets(STEEP))
        for alpha in (0.1, 100.0)
    )
    assert kept.gap is not None and math.isfinite(kept.gap) and kept.log_likelihood is not None
    assert clipped.gap is None and clipped.log_likelihood is None


def test_bit_sums_and_kept_reports() -> None:
    mechanism = UnaryEncoding(Categorical(["a", "b", "c"]), 2.0)
    reports = mechanism.randomize(["a", "b", "b", "c"] * 100, np.random.default_rng(0))
    sums = likelihood_data(mechanism.tally(reports, keep_reports=False))
    kept = likelihood_data(mechanism.tally(reports, keep_reports=True))
    for alpha in ("published", "bootstrap", 0.5):
        for data in (sums, kept):
            found = BiasCorrection(alpha=alpha).fit(data).shares
            assert found == pytest.approx([0.25, 0.5, 0.25], abs=0.1)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(
        ArgumentError,
        match="inner: makes one of the reports impossible: it gives a share of 0 to all values",
    ):
        BiasCorrection(Inversion("project", weights="equal")).fit(_budgets(STEEP, (200, 0, 0, 60)))
    with pytest.raises(ArgumentError, match=r"formula: .*'derived'"):
        BiasCorrection(formula="P1")
    wide = warner.Integers(0, 4096)
    with pytest.raises(ArgumentError, match="at most 4096 values for BiasCorrection; got 4097"):
        BiasCorrection().fit(
            LikelihoodData(
                RandomizedResponse(wide, 1.0).channel(), np.full(4097, 1 / 4097), 4097, wide
            )
        )


def test_equal_weights_have_a_name_and_no_effect_on_one_group() -> None:
    assert (
        repr(Inversion("norm-sub", weights="equal"))
        == "Inversion(constraint='project', weights='equal')"
    )
    mechanism = RandomizedResponse(FORTY, 1.0)
    data = likelihood_data(
        mechanism.tally(mechanism.randomize(FORTY.labels * 5, np.random.default_rng(0)))
    )
    assert Inversion(weights="equal").fit(data).shares == pytest.approx(
        Inversion().fit(data).shares, abs=1e-12
    )
    stacked = _budgets(STEEP, seed=2)
    for constraint in ("project", "normalize", "threshold"):
        found = Inversion(constraint, weights="equal").fit(stacked).shares
        assert found.sum() == pytest.approx(1)
        assert not np.allclose(found, Inversion(constraint).fit(stacked).shares)


def test_tallies_that_nobody_filled_are_skipped_unless_all_are() -> None:
    mechanisms = [RandomizedResponse(FORTY, e) for e in (0.5, 1.0)]
    full = mechanisms[0].tally(mechanisms[0].randomize(FORTY.labels))
    empty = [
        warner.Tally(m.header, Counted.together(Histogram(), np.zeros(40, dtype=np.int64), 0))
        for m in mechanisms
    ]
    assert warner.estimate([full, empty[1]]).probabilities == pytest.approx(
        warner.estimate(full).probabilities, abs=1e-12
    )
    refused(EmptyError, "", warner.estimate, empty)


# Prior knowledge of mixture reduction, its pre-merge, and the BIC that it tells.


def _tally(epsilon: float = 1.0) -> Any:
    mechanism = warner.RandomizedResponse(FORTY, epsilon)
    rng = np.random.default_rng(0)
    theta = np.array([0.4, 0.3, 0.2, *[0.1 / 37] * 37])
    index = rng.choice(40, 2000, p=theta)
    return mechanism.tally(mechanism.randomize(FORTY.decode(index), rng))


def test_the_reduction_goes_on_from_known_components() -> None:
    method = MixtureReduction(groups=[["v0", "v1"]], absent=["v39", "v38"])
    result = warner.estimate(_tally(), method)
    shares = result.probabilities
    assert shares[0] == shares[1] and shares[38:].tolist() == [0, 0]
    assert result.components is not None and 10 <= result.components < 37


def test_tiny_estimates_are_merged_before_the_first_fit_too() -> None:
    """The wrong program merges the same values whatever ``tiny`` is."""
    data = likelihood_data(_tally())
    apart = [
        len(np.unique(MixtureReduction(premerge=True, tiny=tiny, k_min=40).fit(data).shares))
        for tiny in (0.0, 0.5, 1.5)
    ]
    assert 40 > apart[0] > apart[1] > apart[2] > 2


def test_a_premerge_leaves_known_components_as_they_are() -> None:
    data = likelihood_data(_tally(4.0))
    low = int(np.argmin(data.channel.invert(data.weights)))
    method = MixtureReduction(premerge=True, k_min=40, groups=[["v0", f"v{low}"]])
    shares = method.fit(data).shares
    assert shares[low] == shares[0] > 0.1


def test_the_bic_stands_in_the_estimate_and_its_json() -> None:
    result = warner.estimate(_tally(), MixtureReduction())
    assert result.bic is not None and result.log_likelihood is not None and result.components
    expected = -2 * result.log_likelihood + result.components * np.log(2000)
    assert result.bic == pytest.approx(expected, rel=1e-12)
    written = json.loads(json.dumps(result.to_json()))
    assert written["bic"] == result.bic and written["components"] == result.components
    plain = warner.estimate(_tally(), warner.MaximumLikelihood())
    assert plain.bic is None and "bic" not in plain.to_json()


def test_a_lower_bic_is_why_fewer_components_were_kept() -> None:
    data = likelihood_data(_tally())
    reduced = MixtureReduction().fit(data)
    alone = MixtureReduction(operation=None).fit(data)
    assert reduced.bic is not None and alone.bic is not None and reduced.bic < alone.bic


def test_an_absent_value_that_was_reported_truthfully_is_refused() -> None:
    domain = Integers(0, 3)
    mechanism = warner.UtilityOptimizedRR(domain, 1.0, sensitive=[0])
    data = likelihood_data(mechanism.tally(mechanism.reports([0, 1, 2, 3])))
    with pytest.raises(
        ImpossibleReportError,
        match="absent: makes one of the reports impossible: it leaves out all values that can lead to",
    ):
        MixtureReduction(absent=[3]).fit(data)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"groups": [["v0", "v1"], ["v1", "v2"]]}, "groups: must not name a value twice; got 'v1'"),
        ({"groups": [["v0", "v1"]], "absent": ["v1"]}, "absent: must not name a value twice"),
        ({"groups": [["v0", "w"]]}, "groups: must be among the 40 values of the domain; got 'w'"),
        ({"absent": FORTY.labels}, "absent: must leave at least one value"),
    ],
)
def test_knowledge_that_contradicts_itself_or_the_domain_is_refused(
    arguments: dict[str, Any], complaint: str
) -> None:
    refused(ArgumentError, complaint, MixtureReduction(**arguments).fit, likelihood_data(_tally()))


# What mixture reduction promises.


STEEPER = 0.6 ** np.arange(20)


def test_the_fit_says_how_many_estimates_there_are_and_members_of_a_component_are_equal() -> None:
    result = warner.Estimate(
        fit := MixtureReduction().fit(_facts(STEEPER)),
        _facts(STEEPER),
        MixtureReduction(),
    )
    assert result.components == fit.components and 5 <= fit.components < 20
    assert len(set(fit.probabilities)) == fit.components
    assert fit.status is Status.STOPPED and "components" in MixtureReduction.summary
    assert fit.gap is not None and fit.gap > 0, "the gap is to the maximum over all K shares"


def test_a_quarter_of_the_values_is_the_least_and_no_reduction_passes_below() -> None:
    flat = _facts(np.ones(20), epsilon=0.3)
    for tau in (2.0, 30.0):
        assert MixtureReduction(tau=tau).fit(flat).components == 5
        assert MixtureReduction(tau=tau, k_min=7).fit(flat).components == 7
        assert MixtureReduction(tau=tau, operation="prune", k_min=18).fit(flat).components in (
            18,
            19,
            None,
        )
    assert MixtureReduction(k_min=20).fit(flat).components is None
    assert MixtureReduction(tau=30.0, k_min=1).fit(flat).components == 1


THROUGH = [
    "RandomizedResponse",
    "LocalHashing optimized",
    "UnaryEncoding optimized",
    "SquareWave",
    "Piecewise",
    "Laplace",
    *KEYED,
]


@pytest.mark.parametrize("name", [name for name in THROUGH if "rounding" not in name])
def test_it_reduces_through_the_channel_of_every_mechanism(name: str) -> None:
    """With fewer estimates than values, and a BIC no higher than without reducing them."""
    if name in KEYED:
        mechanism: warner.mechanisms.Mechanism = KEYED[name](
            Categorical(list("abcd")), Integers(0, 4), 1.0
        )
    else:
        mechanism = MECHANISMS[name](Integers(0, 19), 1.0)
    size, n, rng = mechanism.domain.size, 20_000, np.random.default_rng(3)
    people = rng.multinomial(n, 0.6 ** np.arange(size) / (0.6 ** np.arange(size)).sum())
    data = LikelihoodData(
        channel := mechanism.channel(),
        channel.simulate_from_values(people, rng),
        n,
        mechanism.domain,
    )
    fit, alone = MixtureReduction().fit(data), MixtureReduction(operation=None).fit(data)
    assert fit.components is not None and size / 4 <= fit.components < size
    assert fit.status in (Status.STOPPED, Status.COMPLETED)
    assert fit.probabilities.sum() == pytest.approx(1)
    assert len(np.unique(fit.probabilities.round(12))) <= fit.components
    assert fit.log_likelihood is not None and alone.log_likelihood is not None
    assert -2 * fit.log_likelihood + fit.components * math.log(
        n
    ) <= -2 * alone.log_likelihood + size * math.log(n)


def test_without_an_operation_it_is_the_inner_fit_alone() -> None:
    data = _facts(STEEPER)
    alone = MixtureReduction(operation=None).fit(data)
    assert alone.status is Status.STOPPED and alone.components is None
    assert alone.iterations is not None and alone.log_likelihood is not None
    steps = warner.ExpectationMaximization(alone.iterations, keep_path=True).fit(data)
    assert alone.probabilities == pytest.approx(steps.probabilities, abs=1e-12)
    assert steps.path is not None
    rises = np.diff(steps.path[:, 0])
    assert rises[-1] < 1e-3 <= rises[:-1].min(), (
        "it stops after the first step that raises the log-likelihood by less"
    )
    exact = MixtureReduction("mle", operation=None).fit(data)
    assert exact.status is Status.CONVERGED
    assert exact.probabilities == pytest.approx(warner.MaximumLikelihood().fit(data).probabilities)


def test_pruned_values_have_the_share_0() -> None:
    fit = MixtureReduction("mle", operation="prune").fit(_facts(STEEPER, epsilon=2.0))
    assert fit.components is not None
    assert np.count_nonzero(fit.probabilities) <= fit.components < 20
    assert fit.probabilities.sum() == pytest.approx(1, abs=1e-12)


def test_a_window_that_is_too_heavy_is_halved_until_none_is_left() -> None:
    """[P3 alg 3] as printed turns for ever here: half of the bins always hold more than the
    threshold.
    """
    spikes = np.where(np.arange(32) % 8 == 3, 1.0, 1e-9)
    data = _facts(spikes, n=200_000, epsilon=3.0, domain=Interval(0.0, 1.0, 32))
    fit = MixtureReduction().fit(data)
    assert fit.components is not None and 8 <= fit.components < 32
    assert (fit.probabilities[3::8] > 0.2).all(), "spikes are in no window"
    for flat in (0.5, 2.0):
        high = _facts(np.ones(32), n=10**7, epsilon=5.0, domain=Interval(0.0, 1.0, 32))
        assert MixtureReduction(tau=flat).fit(high).components is None


def test_windows_take_neighbours_and_only_where_values_have_an_order() -> None:
    for domain in (Integers(0, 19), LABELS):
        fit = MixtureReduction("mle").fit(
            _facts(
                np.where(np.arange(20) % 2, 1.0, 0.0), n=2000, epsilon=1.0, domain=domain, seed=3
            )
        )
        groups = [
            np.flatnonzero(fit.probabilities == share)
            for share in np.unique(fit.probabilities)
            if share > 0
        ]
        spans = [int(np.ptp(group)) + 1 for group in groups]
        if domain is LABELS:
            assert any(span > group.size for span, group in zip(spans, groups, strict=True))
        else:
            assert spans == [group.size for group in groups]


def test_premerging_starts_without_the_values_whose_unbiased_estimate_is_not_positive() -> None:
    data = _facts(STEEPER, epsilon=0.5, n=5000)
    absent = data.channel.invert(data.weights) <= 0
    assert absent.sum() > 2
    left = 20 - int(absent.sum())
    fit = MixtureReduction("mle", premerge=True, k_min=left + 1).fit(data)
    assert fit.components == left + 1
    assert len(set(fit.probabilities[absent])) == 1
    pruned = MixtureReduction("mle", "prune", premerge=True, k_min=left).fit(data)
    assert (pruned.probabilities[absent] == 0).all() and pruned.components == left


def test_any_estimator_can_be_the_inner_fit() -> None:
    data = _facts(STEEPER)
    for inner in (
        warner.ExpectationMaximization(50),
        warner.Inversion("project"),
        warner.MaximumLikelihood(1e-6),
    ):
        fit = MixtureReduction(inner).fit(data)
        assert fit.components is not None and fit.probabilities.sum() == pytest.approx(1, abs=1e-12)
    exact = MixtureReduction(warner.MaximumLikelihood()).fit(data)
    named = MixtureReduction("mle").fit(data)
    assert exact.probabilities == pytest.approx(named.probabilities, abs=1e-12)


@pytest.mark.parametrize("kept", [False, True])
def test_bit_sums_and_whole_reports_are_reduced(kept: bool) -> None:
    mechanism = warner.UnaryEncoding(LABELS, 1.0, variant="oue")
    rng = np.random.default_rng(0)
    people = [LABELS.labels[x] for x in rng.choice(20, 4000, p=STEEPER / STEEPER.sum())]
    data = likelihood_data(mechanism.tally(mechanism.randomize(people, rng), keep_reports=kept))
    fit = MixtureReduction().fit(data)
    assert fit.status in (Status.STOPPED, Status.COMPLETED) and fit.components is not None
    assert fit.components < 20
    assert (fit.iterations == 0) == (not kept), (
        "bit sums are fitted in closed form, whole reports by EM"
    )
    assert fit.probabilities == pytest.approx(STEEPER / STEEPER.sum(), abs=0.08)


def test_several_budgets_and_several_attributes_are_reduced() -> None:
    rng = np.random.default_rng(0)
    people = rng.multinomial(20_000, STEEPER / STEEPER.sum())
    stack = StackChannel(
        [DirectChannel(20, 0.02, 0.6), DirectChannel(20, 0.04, 0.2)], [15_000, 5_000]
    )
    pair = KroneckerChannel([DirectChannel(4, 0.1, 0.6), DirectChannel(5, 0.1, 0.5)])
    for channel in (stack, pair):
        data = LikelihoodData(channel, channel.simulate_from_values(people, rng), 20_000, LABELS)
        for inner in (None, "mle"):
            fit = MixtureReduction(inner).fit(data)
            assert fit.components is not None and fit.components < 20
            assert fit.probabilities == pytest.approx(STEEPER / STEEPER.sum(), abs=0.08)


# What smoothed EM promises.


def test_smoothing_keeps_a_uniform_distribution_and_weighs_ends_by_thirds() -> None:
    assert smooth(np.full(7, 1 / 7)) == pytest.approx(np.full(7, 1 / 7), abs=1e-15)
    before = np.array([0.6, 0.3, 0.1, 0.0])
    after = np.array([0.6 * 2 / 3 + 0.3 / 3, 0.15 + 0.15 + 0.025, 0.075 + 0.05, 0.1 / 3])
    assert smooth(before) == pytest.approx(after / after.sum(), abs=1e-15)
    assert smooth(np.array([1.0, 0.0])) == pytest.approx([2 / 3, 1 / 3])


def test_smoothed_em_stops_when_the_likelihood_hardly_changes_and_says_that_it_stopped() -> None:
    data = _simulated(SquareWave(Interval(0, 1, 64), 1.0), _bell(64), 20_000)
    loose, published, tight = (SmoothedEM(tolerance).fit(data) for tolerance in (1.0, 1e-3, 0.0))
    assert loose.status is published.status is Status.STOPPED
    assert loose.iterations is not None and published.iterations is not None
    assert tight.iterations is not None
    assert (
        0 < loose.iterations < published.iterations <= tight.iterations < 10_000
    )  # at last a step moves theta by less than 1 / n
    assert published.gap is not None and published.gap > 0
    assert SmoothedEM(steps=3).fit(data).iterations == 3


# What Wiener filtering promises.


def test_the_filter_helps_neighbours_that_are_alike_and_not_their_shuffle() -> None:
    """Smooth shares in order: less than a third of the projection's error; the same shares
    shuffled: more than half of it.
    """
    smooth = 1.2 + np.cos(2 * np.pi * np.arange(64) / 64)
    shuffled = smooth[np.random.default_rng(5).permutation(64)]
    for shares, low, high in ((smooth, 0.0, 1 / 3), (shuffled, 1 / 2, np.inf)):
        data = _facts(shares, n=500_000, domain=Integers(0, 63), seed=1)
        truth = shares / shares.sum()
        ours = mean_squared_error(WienerFilter().fit(data).probabilities, truth)
        plain = mean_squared_error(warner.Inversion("project").fit(data).probabilities, truth)
        assert low < ours / plain < high


def test_an_unprojected_filter_says_that_shares_are_negative() -> None:
    data = _facts(STEEPER, epsilon=0.5, n=3000)
    raw, shares = WienerFilter(constraint=None).fit(data), WienerFilter().fit(data)
    assert raw.status is Status.OUTSIDE_SIMPLEX and raw.probabilities.min() < 0
    assert shares.status is Status.EXACT and shares.probabilities.min() >= 0
