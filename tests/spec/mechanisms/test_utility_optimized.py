"""What utility-optimised mechanisms promise [P2]."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import warner
from warner import Integers, UtilityOptimizedRR
from warner._core.exact import log_ratio
from warner.mechanisms import UtilityOptimizedRappor
from warner.privacy import ULDP
from warner.privacy.report_laws import worst_ratio
from warner.reports.reports import Reports

DOMAIN = Integers(0, 9)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 8.0])
@pytest.mark.parametrize(
    "size, sensitive", [(2, [1]), (5, [0, 3]), (6, [2]), (7, [0, 1, 2, 3, 4, 5])]
)
@pytest.mark.parametrize("keep", [None, "sue", "oue", 0.8])
def test_both_conditions_hold_exactly_and_tightly(
    epsilon: float, size: int, sensitive: list[int], keep: str | float | None
) -> None:
    """[P2 def 2] by enumerating every serialised report: invertible ones name one value, the others
    keep epsilon and need it.
    """
    domain = Integers(0, size - 1)
    mechanism: warner.mechanisms.Mechanism = (
        UtilityOptimizedRR(domain, epsilon, sensitive)
        if keep is None
        else UtilityOptimizedRappor(domain, epsilon, sensitive, keep)
    )
    table, sensitive_mask, protected = (
        mechanism.probabilities(),
        np.isin(np.arange(size), sensitive),
        mechanism.protected(),
    )
    assert set(table.sum(axis=0)) == {Fraction(1)}
    for y in np.flatnonzero(~protected):
        (maker,) = np.flatnonzero(table[y] > 0)
        assert not sensitive_mask[maker]
    assert epsilon - 1e-9 <= log_ratio(worst_ratio(table[protected]), 1) <= epsilon
    assert mechanism.epsilon == log_ratio(worst_ratio(table[protected]), 1)
    assert isinstance(mechanism.guarantee, ULDP) and mechanism.guarantee.sensitive == tuple(
        sensitive
    )
    result = warner.audit(mechanism)
    assert result.holds and result.epsilon == mechanism.epsilon
    # No sensitive value ever makes an unprotected report: that would reveal it.
    drawn = mechanism.randomize(np.repeat(sensitive, 3000), np.random.default_rng(0))
    outputs = dict(
        zip(Reports(mechanism.header, mechanism.outputs()).records(), protected, strict=True)
    )
    assert all(outputs[record] for record in set(drawn.records()))


def test_mangats_response_is_the_binary_case() -> None:
    """[P2 sec 3.1]: 1 is always reported as 1, 0 as 1 with p = e^-epsilon."""
    table = UtilityOptimizedRR(Integers(0, 1), 1.0, [1]).probabilities().astype(float)
    assert table == pytest.approx(np.array([[1 - np.exp(-1), 0], [np.exp(-1), 1]]), abs=1e-15)


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_with_everything_sensitive_the_law_is_the_plain_mechanisms(epsilon: float) -> None:
    domain = Integers(0, 4)
    everything = domain.labels
    plain = warner.RandomizedResponse(domain, epsilon).probabilities()
    assert (UtilityOptimizedRR(domain, epsilon, everything).probabilities() == plain).all()
    for keep in ("sue", "oue", 0.7):
        bits = warner.UnaryEncoding(domain, epsilon, keep)
        same = UtilityOptimizedRappor(domain, epsilon, everything, keep)
        assert (same.outputs()["bits"] == bits.outputs()["bits"]).all() and (
            same.probabilities() == bits.probabilities()
        ).all()


def test_published_probabilities() -> None:
    """[P2 eqs 6, 9-11] in floating point; the mutant with c3 = c1 (a non-sensitive value kept as
    often as a sensitive one) sums to more than 1.
    """
    e, members = np.e, 3
    table = UtilityOptimizedRR(DOMAIN, 1.0, [0, 1, 2]).probabilities().astype(float)
    c1, c2, c3 = e / (members + e - 1), 1 / (members + e - 1), (e - 1) / (members + e - 1)
    assert (
        table[0, 0] == pytest.approx(c1)
        and table[1, 0] == pytest.approx(c2)
        and table[5, 5] == pytest.approx(c3)
        and table[0, 5] == pytest.approx(c2)
    )
    assert members * c2 + c1 > 1
    rappor = UtilityOptimizedRappor(DOMAIN, 1.0, [0, 1, 2])
    h = np.exp(0.5)
    channel = rappor.channel()
    assert channel.q == pytest.approx([1 / (h + 1)] * 3 + [0] * 7)
    assert channel.gap == pytest.approx([(h - 1) / (h + 1)] * 3 + [1 - 1 / h] * 7)


@pytest.mark.parametrize("make", [UtilityOptimizedRR, UtilityOptimizedRappor])
def test_values_of_a_grid_survive_a_file(
    make: type[warner.mechanisms.Mechanism], tmp_path: Path
) -> None:
    """A pair is a tuple in Python and a list in JSON; the header is the same either way."""
    mechanism = make(warner.Grid(2, 2), 1.0, sensitive=[(0, 1)])  # type: ignore[call-arg]
    reports = mechanism.randomize([(0, 1), (1, 1)] * 50, np.random.default_rng(0))
    tally = mechanism.tally(Reports.from_bytes(reports.to_bytes()))
    tally.save(tmp_path / "t.json")
    loaded = warner.Tally.load(tmp_path / "t.json")
    assert (loaded + tally).n == 200 and warner.estimate(loaded).n == 100


@pytest.mark.parametrize("make", [UtilityOptimizedRR, UtilityOptimizedRappor])
def test_sensitive_values_are_checked(make: type[warner.mechanisms.Mechanism]) -> None:
    for wrong, rule in (
        ([], "sent as they are"),
        ([10], "not in the domain"),
        ([0, 0], "distinct"),
        (3, "list"),
        ("0", "list"),
        ([None], "sensitive|values"),
    ):
        with pytest.raises(warner.errors.WarnerError, match=rule):
            make(DOMAIN, 1.0, sensitive=wrong)  # type: ignore[call-arg]
    for epsilon in (0, -1, float("nan"), float("inf"), 60.0, True):
        with pytest.raises(warner.errors.WarnerError):
            make(DOMAIN, epsilon, sensitive=[0])  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        make(DOMAIN, 1.0)  # type: ignore[call-arg]


def test_reports_that_cannot_be_are_refused(tmp_path: Path) -> None:
    mechanism = UtilityOptimizedRappor(DOMAIN, 1.0, [0, 1])
    bits = np.zeros((2, 10), dtype=int)
    bits[1, [4, 7]] = 1
    with pytest.raises(warner.errors.ReportError, match="non-sensitive"):
        mechanism.reports(bits)
    bits[1, 7] = 0
    assert len(mechanism.reports(bits)) == 2
