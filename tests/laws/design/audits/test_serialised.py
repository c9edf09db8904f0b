"""Audits of serialised reports and of tuples."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import warner
from tests.registry import ALL, KEYED, MECHANISMS, PLACES, SENSITIVITIES, SILENT
from tests.sampling import drawn
from warner._core.exact import ONE
from warner.design.audits import enumerated
from warner.mechanisms import Mechanism
from warner.mechanisms.composite import Combined
from warner.privacy.report_laws import INFINITE, OneHotBits


class Careless(warner.RandomizedResponse):
    """Declares one law and has the bytes of another: it says the truth a little more often."""

    def probabilities(self) -> np.ndarray:
        honest = super().probabilities()
        extra = Fraction(1, 1000)
        size = len(honest)
        return honest + np.where(np.eye(size, dtype=bool), extra, -extra / (size - 1))


def test_audit_finds_a_broken_mechanism() -> None:
    worse = warner.audit(Careless(warner.Integers(0, 3), 1.0))
    assert not worse.holds
    assert "some written reports reveal more than the mechanism states" in str(worse.violation)
    assert worse.epsilon > 1.001
    greedy = warner.RandomizedResponse(warner.Integers(0, 3), 1.0)
    greedy.requested = 0.5
    assert not warner.audit(greedy).holds and "exceeds 0.5" in str(warner.audit(greedy).violation)
    lying = warner.UnaryEncoding(warner.Integers(0, 3), 1.0)
    lying.law = OneHotBits(ONE - 1, lying.law.raised)
    assert not warner.audit(lying).holds and "BROKEN" in str(warner.audit(lying))


def test_order_of_a_subset_leaks() -> None:
    """multi-freq-ldpy 0.2.5's SS_Client: the true value comes first. ln(w e (K-1) / (K-w)) is far
    above epsilon.
    """
    size, width, e = 6, 2, Fraction(271828, 100000)
    include = width * e / (width * e + size - width)
    records, rows = [], []
    for first in range(size):
        for second in range(size):
            if first != second:
                records.append(bytes([first, second]))
                # Included: true value first, then a random other. Left out: two random others in
                # random order.
                without = (1 - include) / ((size - 1) * (size - 2))
                rows.append(
                    [
                        include / (size - 1) if first == x else 0 if second == x else without
                        for x in range(size)
                    ]
                )
    ratio, problem = enumerated(records, np.array(rows, dtype=object))
    assert (
        problem is None and ratio == INFINITE
    )  # the true value never comes second: unbounded over ordered reports
    # Even the first element alone: Pr(first = x | x) against Pr(first = x | other).
    odds = include / ((1 - include) / (size - 1))
    assert odds == width * e * (size - 1) / (size - width) > e


def test_reports_of_different_length_are_refused() -> None:
    assert (
        enumerated([b"a", b"bb"], np.array([[1, 0], [0, 1]], dtype=object))[1]
        == "written reports have different lengths, and a length can reveal the answer"
    )


def test_a_law_that_does_not_sum_to_one_is_refused() -> None:
    half = Fraction(1, 2)
    assert (
        enumerated([b"a", b"b"], np.array([[half, half], [half, Fraction(1, 3)]], dtype=object))[1]
        == "the probabilities of all reports of value number 1 sum to 0.833333333, not 1"
    )


# Audits of several reports of one person against all tuples enumerated.


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
    if name in SILENT:
        inner = _small(name.removesuffix(" with nonresponse"))
        return warner.mechanisms.WithNonresponse(inner)
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
    """Pairs of registered mechanisms, some of each. Rejects sums of epsilons that are for different
    distances: 6 in place of 12 at sensitivity 1/2.
    """
    # The tuples are enumerated here, by floats; audits go by the parts alone, which is the sum that
    # is tested.
    monkeypatch.setattr(Combined, "is_enumerable", False)
    a, one, safe_a, inside_a = _enumerated(first)
    others = PAIRED[PAIRED.index(first) :]
    # Noise of several sensitivities stands side by side.
    for second in (*others[:2], *drawn(others[2:], 5, first)):
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
        (warner.mechanisms.Repeated(noise, 2), 2),
        (warner.PerAttribute(warner.Product(a=noise.domain), {"a": noise}), 1),
        (
            warner.PerAttribute(
                warner.Product(a=noise.domain, b=noise.domain), {"a": noise, "b": noise}
            ),
            2,
        ),
    ):
        result = warner.audit(several, samples=1000)
        assert result.holds
        assert "were checked" in result.method
        assert result.total == pytest.approx(times * total, abs=1e-8)
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
        warner.mechanisms.Repeated(noise, 2),
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
    assert result.holds
    assert result.epsilon == mechanism.epsilon == pytest.approx(4.0)
    assert "tuples" not in result.method
