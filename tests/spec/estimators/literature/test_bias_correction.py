"""What the bias correction promises."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import warner
from warner import (
    Categorical,
    Inversion,
    MaximumLikelihood,
    RandomizedResponse,
    Status,
    UnaryEncoding,
)
from warner.channels import StackChannel
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import BiasCorrection
from warner.reports.tally_kinds import Counted, Histogram
from warner.results.from_tally import likelihood_data

LABELS = Categorical([f"v{x}" for x in range(40)])


def _facts(
    shares: Any, people: tuple[int, ...] = (200, 200, 20, 20), seed: int = 0
) -> LikelihoodData:
    """P1's mixture of budgets."""
    channels = [RandomizedResponse(LABELS, e).channel() for e in (0.1, 2.0, math.log(40), math.inf)]
    stack = StackChannel(
        [c for c, n in zip(channels, people, strict=True) if n], [n for n in people if n]
    )
    weights = stack.simulate(
        np.asarray(shares) / np.sum(shares), sum(people), np.random.default_rng(seed)
    )
    return LikelihoodData(stack, weights, sum(people), LABELS)


STEEP, FLAT = 0.8 ** np.arange(40), np.ones(40)


@pytest.mark.parametrize("method", [BiasCorrection(), BiasCorrection(alpha="bootstrap")], ids=repr)
def test_the_same_tally_gives_the_same_estimate_and_another_another_simulation(
    method: BiasCorrection,
) -> None:
    data = _facts(STEEP)
    assert method.fit(data).shares == pytest.approx(method.fit(data).shares, abs=1e-12)
    rounded = LikelihoodData(data.channel, data.weights * (1 + 1e-15), data.n, data.domain)
    assert method.weight(rounded) == method.weight(data), "rounding of the weights changes no seed"
    assert len({method.weight(_facts(STEEP, (0, 0, 0, 60), seed=i)) for i in range(6)}) > 1


def test_alphas_are_those_of_the_paper_and_the_bootstrap_may_choose_none_or_more() -> None:
    printed = [c * 10.0**-k for c in range(1, 10) for k in range(1, 11)]
    for people in ((200, 200, 20, 20), (0, 0, 0, 60)):
        alpha = BiasCorrection().weight(_facts(STEEP, people))
        assert min(abs(alpha / p - 1) for p in printed) < 1e-12
    bootstrap = BiasCorrection(alpha="bootstrap")
    chosen = [
        bootstrap.weight(_facts(shares, (0, 1000, 100, 0), seed))
        for shares in (STEEP, FLAT)
        for seed in range(4)
    ]
    assert min(chosen) == 0 and max(chosen) > 1


def test_the_paper_simulates_once_from_the_report_histogram_and_the_bootstrap_from_the_estimate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, truths = _facts(STEEP), []
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


def test_the_bootstrap_shrinks_what_is_flat_and_leaves_what_is_not() -> None:
    """Mutants: the sign of the correction, the largest loss instead of the least."""
    for shares, low, high in ((FLAT, 0.0, 0.8), (STEEP, 0.9, 1.1)):
        truth, ratios = shares / shares.sum(), []
        for seed in range(6):
            data = _facts(shares, (0, 1000, 100, 0), seed)
            losses = [
                ((m.fit(data).shares - truth) ** 2).sum()
                for m in (BiasCorrection(alpha="bootstrap"), BiasCorrection(alpha=0))
            ]
            ratios.append(losses[0] / losses[1])
        assert low <= float(np.mean(ratios)) <= high


def test_an_alpha_of_nothing_is_the_inner_estimate() -> None:
    data = _facts(STEEP)
    assert BiasCorrection(MaximumLikelihood(), alpha=0).fit(data).shares == pytest.approx(
        MaximumLikelihood().fit(data).shares, abs=1e-12
    )
    fit = BiasCorrection(alpha=0, tolerance=1e-9).fit(data)
    assert fit.shares == pytest.approx(MaximumLikelihood().fit(data).shares, abs=1e-4)
    assert fit.status is Status.STOPPED and fit.gap is not None and 0 <= fit.gap < 1e-3


def test_a_correction_that_leaves_nothing_positive_gives_the_uniform_distribution() -> None:
    assert BiasCorrection(alpha=1e9).fit(_facts(STEEP)).shares.sum() == pytest.approx(1)


def test_a_value_that_was_reported_and_clipped_has_no_certificate() -> None:
    kept, clipped = (BiasCorrection(alpha=alpha).fit(_facts(STEEP)) for alpha in (0.1, 100.0))
    assert kept.gap is not None and math.isfinite(kept.gap) and kept.log_likelihood is not None
    assert clipped.gap is None and clipped.log_likelihood is None


def test_bit_sums_and_kept_reports() -> None:
    mechanism = UnaryEncoding(Categorical(["a", "b", "c"]), 2.0)
    reports = mechanism.randomize(["a", "b", "b", "c"] * 100, np.random.default_rng(0))
    sums, kept = (
        likelihood_data(mechanism.tally(reports)),
        likelihood_data(mechanism.tally(reports, keep_reports=True)),
    )
    for alpha in ("published", "bootstrap"):
        assert BiasCorrection(alpha=alpha).fit(sums).shares == pytest.approx(
            [0.25, 0.5, 0.25], abs=0.1
        )
        with pytest.raises(warner.errors.ArgumentError, match="keeps the observed reports alone"):
            BiasCorrection(alpha=alpha).fit(kept)
    assert BiasCorrection(alpha=0.5).fit(kept).shares == pytest.approx([0.25, 0.5, 0.25], abs=0.1)


def test_what_cannot_be_is_refused() -> None:
    refused: list[tuple[str, Any]] = [
        ("inner", "em"),
        ("inner", MaximumLikelihood),
        ("alpha", "best"),
        ("alpha", -0.1),
        ("ridge", 0),
        ("tolerance", 0.0),
    ]
    for name, value in [*refused, ("alpha", None), ("alpha", True)]:
        with pytest.raises(
            (warner.errors.ArgumentError, warner.errors.ArgumentTypeError), match=name
        ):
            BiasCorrection(**{name: value})
    with pytest.raises(
        warner.errors.ArgumentError,
        match="inner: must not give a report that was seen the probability 0",
    ):
        BiasCorrection(Inversion("project", weights="equal")).fit(_facts(STEEP, (200, 0, 0, 60)))
    wide = warner.Integers(0, 4096)
    with pytest.raises(warner.errors.ArgumentError, match="at most 4096 values; got 4097"):
        BiasCorrection().fit(
            LikelihoodData(
                RandomizedResponse(wide, 1.0).channel(), np.full(4097, 1 / 4097), 4097, wide
            )
        )
    with pytest.raises(warner.errors.ArgumentError, match="weights"):
        Inversion(weights="sizes")
    assert repr(BiasCorrection(alpha=0.3, ridge=0.01)) == "BiasCorrection(alpha=0.3, ridge=0.01)"


def test_equal_weights_have_a_name_and_no_effect_on_one_group() -> None:
    assert (
        repr(Inversion("norm-sub", weights="equal"))
        == "Inversion(constraint='project', weights='equal')"
    )
    mechanism = RandomizedResponse(LABELS, 1.0)
    data = likelihood_data(
        mechanism.tally(mechanism.randomize(LABELS.labels * 5, np.random.default_rng(0)))
    )
    assert Inversion(weights="equal").fit(data).shares == pytest.approx(
        Inversion().fit(data).shares, abs=1e-12
    )
    stacked = _facts(STEEP, seed=2)
    for constraint in ("project", "normalize", "threshold"):
        found = Inversion(constraint, weights="equal").fit(stacked).shares
        assert found.sum() == pytest.approx(1) and not np.allclose(
            found, Inversion(constraint).fit(stacked).shares
        )


def test_tallies_that_nobody_filled_are_skipped_unless_all_are() -> None:
    mechanisms = [RandomizedResponse(LABELS, e) for e in (0.5, 1.0)]
    full = mechanisms[0].tally(mechanisms[0].randomize(LABELS.labels))
    empty = [
        warner.Tally(m.header, Counted.together(Histogram(), np.zeros(40, dtype=np.int64), 0))
        for m in mechanisms
    ]
    assert warner.estimate([full, empty[1]]).probabilities == pytest.approx(
        warner.estimate(full).probabilities, abs=1e-12
    )
    with pytest.raises(warner.errors.EmptyError):
        warner.estimate(empty)
