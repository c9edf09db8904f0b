"""What mixture reduction promises."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import warner
from tests.registry import KEYED, MECHANISMS
from tests.spec.estimators.literature._data import _facts
from warner import Categorical, Integers, Interval, Status
from warner.channels import DirectChannel, KroneckerChannel, StackChannel
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import MixtureReduction
from warner.results.from_tally import likelihood_data

LABELS = Categorical([f"v{x}" for x in range(20)])


STEEP = 0.6 ** np.arange(20)


def test_the_fit_says_how_many_estimates_there_are_and_members_of_a_component_are_equal() -> None:
    result = warner.Estimate(
        fit := MixtureReduction().fit(_facts(STEEP)), _facts(STEEP), MixtureReduction()
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
    assert (
        fit.components is not None
        and size / 4 <= fit.components < size
        and fit.status in (Status.STOPPED, Status.COMPLETED)
    )
    assert (
        fit.probabilities.sum() == pytest.approx(1)
        and len(np.unique(fit.probabilities.round(12))) <= fit.components
    )
    assert fit.log_likelihood is not None and alone.log_likelihood is not None
    assert -2 * fit.log_likelihood + fit.components * math.log(
        n
    ) <= -2 * alone.log_likelihood + size * math.log(n)


def test_without_an_operation_it_is_the_inner_fit_alone() -> None:
    data = _facts(STEEP)
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
    fit = MixtureReduction("mle", operation="prune").fit(_facts(STEEP, epsilon=2.0))
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
    data = _facts(STEEP, epsilon=0.5, n=5000)
    absent = data.channel.invert(data.weights) <= 0
    assert absent.sum() > 2
    left = 20 - int(absent.sum())
    fit = MixtureReduction("mle", premerge=True, k_min=left + 1).fit(data)
    assert fit.components == left + 1
    assert len(set(fit.probabilities[absent])) == 1
    pruned = MixtureReduction("mle", "prune", premerge=True, k_min=left).fit(data)
    assert (pruned.probabilities[absent] == 0).all() and pruned.components == left


def test_any_estimator_can_be_the_inner_fit() -> None:
    data = _facts(STEEP)
    for inner in (
        warner.ExpectationMaximization(50),
        warner.Inversion("project"),
        warner.MaximumLikelihood(1e-6),
    ):
        fit = MixtureReduction(inner).fit(data)
        assert fit.components is not None and fit.probabilities.sum() == pytest.approx(1, abs=1e-12)
    exact, named = (
        MixtureReduction(warner.MaximumLikelihood()).fit(data),
        MixtureReduction("mle").fit(data),
    )
    assert exact.probabilities == pytest.approx(named.probabilities, abs=1e-12)


@pytest.mark.parametrize("kept", [False, True])
def test_bit_sums_and_whole_reports_are_reduced(kept: bool) -> None:
    mechanism = warner.UnaryEncoding(LABELS, 1.0, variant="oue")
    rng = np.random.default_rng(0)
    people = [LABELS.labels[x] for x in rng.choice(20, 4000, p=STEEP / STEEP.sum())]
    data = likelihood_data(mechanism.tally(mechanism.randomize(people, rng), keep_reports=kept))
    fit = MixtureReduction().fit(data)
    assert (
        fit.status in (Status.STOPPED, Status.COMPLETED)
        and fit.components is not None
        and fit.components < 20
    )
    assert (fit.iterations == 0) == (not kept), (
        "bit sums are fitted in closed form, whole reports by EM"
    )
    assert fit.probabilities == pytest.approx(STEEP / STEEP.sum(), abs=0.08)


def test_several_budgets_and_several_attributes_are_reduced() -> None:
    rng = np.random.default_rng(0)
    people = rng.multinomial(20_000, STEEP / STEEP.sum())
    stack = StackChannel(
        [DirectChannel(20, 0.02, 0.6), DirectChannel(20, 0.04, 0.2)], [15_000, 5_000]
    )
    pair = KroneckerChannel([DirectChannel(4, 0.1, 0.6), DirectChannel(5, 0.1, 0.5)])
    for channel in (stack, pair):
        data = LikelihoodData(channel, channel.simulate_from_values(people, rng), 20_000, LABELS)
        for inner in (None, "mle"):
            fit = MixtureReduction(inner).fit(data)
            assert fit.components is not None and fit.components < 20
            assert fit.probabilities == pytest.approx(STEEP / STEEP.sum(), abs=0.08)


def test_it_is_written_again_by_its_repr() -> None:
    for method in (
        MixtureReduction(),
        MixtureReduction("mle", tau=1.5),
        MixtureReduction(warner.ExpectationMaximization(9), "prune", "half"),
    ):
        assert (
            eval(repr(method), vars(warner.estimators) | vars(warner.estimators.literature))
            == method
        )


@pytest.mark.parametrize(
    "arguments",
    [
        {"inner": "newton"},
        {"inner": 3},
        {"operation": "split"},
        {"select": "random"},
        {"tau": 0},
        {"tau": math.nan},
        {"tolerance": -1.0},
        {"k_min": 0},
        {"k_min": 2.5},
        {"premerge": "yes"},
    ],
)
def test_arguments_are_refused_by_name(arguments: dict[str, Any]) -> None:
    with pytest.raises(
        (warner.errors.ArgumentError, warner.errors.ArgumentTypeError), match=next(iter(arguments))
    ):
        MixtureReduction(**arguments)
