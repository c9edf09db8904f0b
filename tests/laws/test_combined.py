"""Several reports of one person keep every law of one report: for everything in COMBINED."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warner
from tests.laws.test_channels import _rows
from tests.registry import (
    ALL,
    COMBINED,
    ESTIMATORS,
    KEYED,
    MECHANISMS,
    PER_ATTRIBUTE,
    PLACES,
    REPEATED,
    SENSITIVITIES,
)
from warner import Reports, Tally
from warner._core.exact import log_ratio
from warner.design.audits.serialised import enumerated
from warner.io import read_reports, reports_frame, tally_file, tally_frame, write_reports
from warner.mechanisms import Mechanism, from_header
from warner.mechanisms.composite import Combined
from warner.privacy.likelihood_ratios import INFINITE, hockey_stick
from warner.results.from_tally import likelihood_data

NAMES = list(COMBINED)
FIXED = [
    n for n in NAMES if n not in ("geometric x RR", "geometric twice", "Gaussian x RR")
]  # whose epsilon is for any two values


def _reports(mechanism: Mechanism, n: int = 400) -> Reports:
    rng = np.random.default_rng(n)
    return mechanism.randomize(
        mechanism.domain.decode(rng.integers(0, mechanism.domain.size, n)), rng
    )


def _ways(mechanism: Mechanism) -> list[dict[str, Any]]:
    """What a tally can be asked to keep."""
    return (
        [{"ways": w + 1} for w in range(len(mechanism.parts))]
        if isinstance(mechanism, warner.PerAttribute)
        else [{}]
    )


@pytest.mark.parametrize("name", PER_ATTRIBUTE)
def test_channel_is_the_law_of_tuples(name: str) -> None:
    mechanism = COMBINED[name](1.0)
    exact = mechanism.probabilities().astype(float)
    dense = mechanism.channel().dense()
    assert dense == pytest.approx(_rows(mechanism).T @ exact, abs=1e-14)
    assert dense.sum(axis=0) == pytest.approx(np.ones(mechanism.domain.size), abs=1e-12)
    channel, rng = mechanism.channel(), np.random.default_rng(0)
    theta, r = rng.dirichlet(np.ones(mechanism.domain.size)), rng.random(channel.shape[0])
    assert channel.matvec(theta) == pytest.approx(dense @ theta, abs=1e-12)
    assert channel.rmatvec(r) == pytest.approx(dense.T @ r, abs=1e-12)


@pytest.mark.parametrize("name", [n for n in PER_ATTRIBUTE if n != "Gaussian x RR"])
def test_inverse_of_tuples_is_unbiased_with_the_variance_it_says(name: str) -> None:
    mechanism = COMBINED[name](1.0)
    channel = mechanism.channel()
    theta = np.random.default_rng(1).dirichlet(np.ones(mechanism.domain.size))
    single = np.stack([channel.invert(row) for row in _rows(mechanism)])
    law = mechanism.probabilities().astype(float) @ theta
    assert law @ single == pytest.approx(theta, abs=1e-10)
    assert channel.variance(theta) == pytest.approx(law @ single**2 - theta**2, rel=1e-8)


@pytest.mark.parametrize("name", REPEATED)
def test_rows_of_repeated_reports_are_the_law(name: str) -> None:
    """Every tuple's row is proportional to its exact probabilities, whatever order equal mechanisms
    reported in; inversion is unbiased.
    """
    mechanism = COMBINED[name](1.0)
    outputs, exact = (
        Reports(mechanism.header, mechanism.outputs()),
        mechanism.probabilities().astype(float),
    )
    theta = np.random.default_rng(1).dirichlet(np.ones(mechanism.domain.size))
    total, square = np.zeros(theta.size), np.zeros(theta.size)
    for i in (
        range(0, len(outputs), max(1, len(outputs) // 300))
        if len(outputs) > 600
        else range(len(outputs))
    ):
        if not exact[i].any():
            continue  # two values that are not sensitive: one person names one
        data = likelihood_data(mechanism.tally(outputs[i : i + 1]))
        row = data.channel.dense()[0]
        assert row == pytest.approx(exact[i] / exact[i].max(), rel=1e-9)
        single = data.channel.invert(data.weights)
        total, square = total + exact[i] @ theta * single, square + exact[i] @ theta * single**2
    if len(outputs) <= 600:
        assert total == pytest.approx(theta, abs=1e-10)
        assert data.channel.variance(theta) == pytest.approx(square - theta**2, rel=1e-8)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_serialised_tuples_have_the_epsilon_of_the_parts_together(
    name: str, epsilon: float
) -> None:
    mechanism = COMBINED[name](epsilon)
    records = Reports(mechanism.header, mechanism.outputs()).records()
    assert len(set(records)) == len(records) == mechanism.n_reports
    result = warner.audit(mechanism)
    assert result.holds, result
    assert result.epsilon <= mechanism.requested
    if name == "Gaussian x RR":
        promised = mechanism.guarantee
        assert (
            isinstance(promised, warner.privacy.ApproximateLDP)
            and hockey_stick(mechanism.probabilities(), promised.epsilon) <= promised.delta
        )
        return
    assert (
        result.epsilon
        == pytest.approx(mechanism.epsilon, rel=1e-9)
        == pytest.approx(mechanism.requested, abs=1e-8)
    )
    if name in FIXED:
        ratio, _ = enumerated(
            records, mechanism.probabilities(), mechanism.sensitive_mask, mechanism.protected()
        )
        law = mechanism.law.ratio()
        # A bin is the average of its numbers, a small pool may never separate two labels, and OSLDP
        # bounds less than ULDP of the parts.
        assert ratio != INFINITE and ratio <= law and log_ratio(law, 1) <= mechanism.requested
        if not mechanism.represents_interval and name not in ("RR x OUE x OLH", "RR, OUE, OLH"):
            assert ratio == law


@pytest.mark.parametrize("name", NAMES)
def test_the_header_rebuilds_the_parts_to_the_last_bit(name: str) -> None:
    mechanism = COMBINED[name](1.0)
    again = from_header(mechanism.header)
    assert (
        type(again) is type(mechanism)
        and again.header == mechanism.header
        and again.guarantee == mechanism.guarantee
    )
    assert [part.header for part in again.parts.values()] == [
        part.header for part in mechanism.parts.values()
    ]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_any_partition_in_any_order_gives_the_same_tally(name: str, data: st.DataObject) -> None:
    mechanism = COMBINED[name](1.0)
    reports = _reports(mechanism, 150)
    how = data.draw(st.sampled_from(_ways(mechanism)))
    cuts = sorted(data.draw(st.sets(st.integers(1, 149), max_size=5)))
    parts = [mechanism.tally(reports[a:b], **how) for a, b in pairwise([0, *cuts, 150])]
    whole = mechanism.tally(reports, **how)
    assert sum(data.draw(st.permutations(parts))) == whole and whole.n == 150


@pytest.mark.parametrize("name", NAMES)
def test_tuples_survive_every_wire_and_are_counted_from_it_alike(name: str, tmp_path: Path) -> None:
    mechanism = COMBINED[name](1.0)
    reports = _reports(mechanism)
    reports.save(tmp_path / "r.warner", keep_order=True)
    rows_per_report = [Reports.load(tmp_path / "r.warner")]
    for suffix in ("parquet", "csv"):
        path = str(tmp_path / f"r.{suffix}")
        write_reports(reports, path, keep_order=True)
        rows_per_report.append(read_reports(path)["value"])
        assert tally_file(path) == {"value": mechanism.tally(reports)}
        for how in _ways(mechanism) if isinstance(mechanism, warner.PerAttribute) else []:
            assert tally_file(path, **how) == {"value": mechanism.tally(reports, **how)}
    for copy in rows_per_report:
        assert copy.header == reports.header and copy.to_bytes(keep_order=True) == reports.to_bytes(
            keep_order=True
        )
    for how in _ways(mechanism):
        tally = mechanism.tally(reports, **how)
        tally.save(tmp_path / "t.json")
        assert Tally.load(tmp_path / "t.json") == tally
        for backend in ("pyarrow", "polars", "pandas"):
            assert (
                tally_frame(
                    mechanism, reports_frame(reports, backend), simulated=reports.simulated, **how
                )
                == tally
            )


@pytest.mark.parametrize("name", NAMES)
def test_foreign_tuples_come_in_checked(name: str) -> None:
    mechanism = COMBINED[name](1.0)
    reports = _reports(mechanism, 30)
    assert mechanism.reports(reports.columns).records() == reports.records()
    for column in reports.columns:
        with pytest.raises(warner.errors.ReportError, match="has no column"):
            mechanism.reports({k: v for k, v in reports.columns.items() if k != column})
        with pytest.raises(warner.errors.ReportError, match="columns"):
            mechanism.tally(
                Reports(
                    reports.header,
                    {k: v for k, v in reports.columns.items() if k != column}
                    or {"other": np.zeros(3)},
                )
            )
        for wrong in (-1, 2**40, 0.5, "1"):
            bad = {
                k: np.array(v, dtype=object if isinstance(wrong, str) else type(wrong))
                for k, v in reports.columns.items()
            }
            bad[column].flat[0] = wrong
            with pytest.raises(warner.errors.ReportError):
                mechanism.reports(bad)
        if len(reports.columns) > 1:
            with pytest.raises(warner.errors.ReportError, match="equally many"):
                mechanism.reports({k: v[: 30 - (k == column)] for k, v in reports.columns.items()})


@pytest.mark.parametrize("name", ["RR x OUE x OLH", "RR three times", "RR, OUE, OLH"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_estimators_run_on_tuples(name: str, estimator: warner.estimators.Estimator) -> None:
    """Or say why not; those that are neither baselines nor smooth find the truth."""
    mechanism = COMBINED[name](3.0)
    rng = np.random.default_rng(3)
    theta = rng.dirichlet(np.full(mechanism.domain.size, 0.5))
    tally = mechanism.tally(
        mechanism.randomize(mechanism.domain.decode(rng.choice(theta.size, 20_000, p=theta)), rng)
    )
    try:
        result = warner.estimate(tally, estimator)
    except (
        warner.errors.ArgumentError,
        warner.errors.ArgumentTypeError,
        warner.errors.IdentifiabilityError,
    ) as error:
        # Those seen of several bits are not simulated; a tuple of attributes has no order.
        simulated = (
            isinstance(estimator, warner.estimators.literature.BiasCorrection)
            and name == "RR, OUE, OLH"
        )
        assert simulated or isinstance(
            estimator,
            warner.estimators.Observed
            | warner.estimators.literature.SmoothedEM
            | warner.LogSpline
            | warner.estimators.literature.WienerFilter,
        ), error
        return
    assert result.probabilities.shape == theta.shape and np.isfinite(result.probabilities).all()
    if isinstance(
        estimator,
        warner.Inversion | warner.MaximumLikelihood | warner.estimators.literature.MixtureReduction,
    ):
        assert result.probabilities == pytest.approx(
            theta, abs=0.15 if estimator == warner.Inversion("base-cut") else 0.06
        )
    bounds = result.interval()
    assert (bounds[:, 0] <= bounds[:, 1]).all()


def test_budgets_add_and_never_round_down() -> None:
    domain = warner.Integers(0, 2)
    mechanism = warner.Repeated(warner.RandomizedResponse(domain, 0.1), 10)
    part = warner.RandomizedResponse(domain, 0.1).epsilon
    assert Fraction(mechanism.epsilon) >= 10 * Fraction(
        part
    ) and mechanism.epsilon <= math.nextafter(1.0, 2)
    assert Fraction(mechanism.requested) >= 10 * Fraction(0.1)


def test_guarantees_of_tuples_are_those_of_their_parts_together() -> None:
    kinds = {"uRR x RR": warner.privacy.OSLDP, "uRAP x OUE": warner.privacy.OSLDP, "geometric x RR": warner.LDP, "Gaussian x RR": warner.privacy.ApproximateLDP,
             "uRR twice": warner.privacy.ULDP, "uRR, RR": warner.privacy.ULDP, "geometric twice": warner.privacy.MetricLDP, "RR three times": warner.LDP}  # fmt: skip
    for name, kind in kinds.items():
        assert type(COMBINED[name](1.0).guarantee) is kind
    assert COMBINED["uRR x RR"](1.0).guarantee.sensitive == (("a", 0), ("a", 1))
    assert COMBINED["geometric x RR"](1.0).epsilon == pytest.approx(4.0)


def _small(name: str) -> Mechanism:
    """An instance on three or four values, whose reports are few, where its parameters allow that."""
    few = warner.Integers(0, 2)
    smaller: dict[str, Callable[[], Mechanism]] = {
        "SquareWave": lambda: warner.SquareWave(few, 1.0, cells=6),
        "Piecewise": lambda: warner.mechanisms.Piecewise(few, 1.0, cells=6),
        "LocalHashing optimized": lambda: warner.LocalHashing(few, 1.0, buckets=3, seeds=3),
        "LocalHashing binary": lambda: warner.LocalHashing(few, 1.0, buckets=2, seeds=4),
    }
    if name in smaller:
        return smaller[name]()
    if name in PLACES:
        return PLACES[name](warner.Grid(2, 2), 1.0)
    if name in KEYED:
        options: dict[str, dict[str, Any]] = {
            "KeyValue unary piecewise": {"value": "piecewise", "cells": 3},
            "KeyValue direct piecewise": {"key": "direct", "value": "piecewise", "cells": 3},
            "KeyValue of little for values": {
                "value": "piecewise",
                "value_epsilon": 0.5,
                "cells": 3,
            },
        }
        pair = warner.Categorical(["a", "b"]), warner.Integers(0, 1)
        return (
            warner.KeyValue(*pair, 1.0, **options[name])
            if name in options
            else KEYED[name](*pair, 1.0)
        )
    return (SENSITIVITIES | MECHANISMS)[name](few, 1.0)


@lru_cache(maxsize=64)
def _enumerated(name: str) -> tuple[Mechanism, np.ndarray, np.ndarray, np.ndarray]:
    """The mechanism, its table of probabilities (m, K) in floats, which reports are protected and
    which values are.
    """
    mechanism = _small(name)
    sensitive = (
        np.ones(mechanism.domain.size, dtype=bool)
        if mechanism.sensitive_mask is None
        else mechanism.sensitive_mask
    )
    return mechanism, mechanism.probabilities().astype(float), mechanism.protected(), sensitive


def _nats(table: np.ndarray, sensitive: np.ndarray) -> float:
    """The epsilon of a table by brute force: of every report, its largest probability under a
    sensitive value over its least.
    """
    most, least = table[:, sensitive].max(axis=1), table.min(axis=1)
    return float(np.log(most[most > 0] / least[most > 0]).max())


PAIRED = [
    *(
        name
        for name in [*ALL, *SENSITIVITIES]
        if name not in ("Gaussian", "KeyValue of several pairs")
    )
]


@pytest.mark.parametrize("first", PAIRED)
def test_audits_of_two_mechanisms_are_those_of_all_tuples_enumerated(
    first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every pair of registered mechanisms. Rejects sums of epsilons that are for different
    distances: 6 in place of 12 at sensitivity 1/2.
    """
    # The tuples are enumerated here, by floats; audits go by the parts alone, which is the sum that
    # is tested.
    monkeypatch.setattr(Combined, "is_enumerable", False)
    a, one, safe_a, inside_a = _enumerated(first)
    for second in PAIRED[PAIRED.index(first) :]:
        b, other, safe_b, inside_b = _enumerated(second)
        both = warner.PerAttribute(warner.Product(a=a.domain, b=b.domain), {"a": a, "b": b})
        result = warner.audit(both)
        table = (
            np.multiply.outer(one, other).transpose(0, 2, 1, 3).reshape(len(one) * len(other), -1)
        )
        sensitive = np.logical_and.outer(inside_a, inside_b).ravel()
        found = _nats(table[np.logical_and.outer(safe_a, safe_b).ravel()], sensitive)
        assert (
            result.holds
            and result.unit is None
            and result.total == result.epsilon <= both.requested
        ), second
        assert found <= result.epsilon * (1 + 1e-12), second
        # What slopes and bins leave open: nothing, where the most distant values have the steepest
        # slope.
        loose = {
            "Exponential",
            *PLACES,
            "SquareWave",
            "Piecewise",
            "StochasticRounding",
        } & {first, second}
        if not loose:
            assert found == pytest.approx(result.epsilon, abs=1e-8), second
        assert result.epsilon == pytest.approx(both.guarantee.total, rel=1e-9), second


@pytest.mark.parametrize("sensitivity", [0.25, 0.5, 1, 1.5, 3])
def test_two_reports_of_noise_at_any_sensitivity(sensitivity: float) -> None:
    """One value reported twice, and one attribute alone, keep their metric: epsilon is per unit,
    total between the two ends.
    """
    noise = warner.Laplace(warner.Integers(0, 3), 1.0, sensitivity=sensitivity, reach=1)
    total = 3 / sensitivity
    alone = warner.audit(noise)
    assert alone.holds and alone.total == pytest.approx(total, abs=1e-8)
    assert alone.epsilon == pytest.approx(1.0, abs=1e-9) and alone.unit == (
        None if sensitivity == 3 else sensitivity
    )
    for several, times in (
        (warner.Repeated(noise, 2), 2),
        (warner.PerAttribute(warner.Product(a=noise.domain), {"a": noise}), 1),
        (
            warner.PerAttribute(
                warner.Product(a=noise.domain, b=noise.domain), {"a": noise, "b": noise}
            ),
            2,
        ),
    ):
        result = warner.audit(several, samples=1000)
        assert (
            result.holds
            and "enumerated" in result.method
            and result.total == pytest.approx(times * total, abs=1e-8)
        )
        assert _nats(
            several.probabilities().astype(float), np.ones(several.domain.size, dtype=bool)
        ) == pytest.approx(result.total, abs=1e-8)
        if isinstance(several.guarantee, warner.privacy.MetricLDP):
            assert result.unit == 1 and result.epsilon == pytest.approx(
                times / sensitivity, abs=1e-9
            ) == pytest.approx(several.requested, abs=1e-8)


def test_tuples_that_spend_more_than_their_parts_say_are_found() -> None:
    """The enumeration judges the sum: a metric guarantee and one for any two values that are both
    too small by half.
    """
    domain = warner.Integers(0, 3)
    noise, louder = (warner.Laplace(domain, e, sensitivity=0.5, reach=1) for e in (1.0, 2.0))
    for several in (
        warner.Repeated(noise, 2),
        warner.PerAttribute(warner.Product(a=domain, b=domain), {"a": noise, "b": noise}),
    ):
        true = several._joint_probabilities([louder.probabilities()] * 2)
        several.probabilities = lambda true=true: true  # type: ignore[method-assign]
        assert not warner.audit(several).holds


def test_audits_of_large_products_go_part_by_part() -> None:
    names = [f"q{i}" for i in range(40)]
    domain = warner.Integers(0, 99)
    mechanism = warner.PerAttribute(
        warner.Product(**dict.fromkeys(names, domain)),
        {k: warner.RandomizedResponse(domain, 0.1) for k in names},
    )
    result = warner.audit(mechanism)
    assert (
        result.holds
        and result.epsilon == mechanism.epsilon == pytest.approx(4.0)
        and "tuples" not in result.method
    )
