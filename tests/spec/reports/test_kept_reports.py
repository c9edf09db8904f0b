"""Reports of bits that tallies keep while they are few, and the sums of such tallies."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import warner
from warner import Categorical, Tally, UnaryEncoding
from warner.io import tally_file, write_reports
from warner.mechanisms import UtilityOptimizedRappor
from warner.reports.tally_kinds import BitSums, DistinctReports, tally_kind
from warner.theory import cramer_rao

LABELS = Categorical(range(16))
BITS = UnaryEncoding(LABELS, 4.0)
FEW = DistinctReports(16, while_few=True)


def _reports(n: int, seed: int = 0) -> warner.Reports:
    return BITS.randomize(np.random.default_rng(seed).integers(0, 16, n))


def test_a_tally_keeps_the_reports_that_say_more_while_they_are_few() -> None:
    assert BITS.tally(_reports(200)).kind == FEW
    assert BITS.tally(_reports(200), {"side": ["left", "right"] * 100}).kind == FEW
    assert UnaryEncoding(LABELS, 1.0).keeps_reports(1) is False
    assert UnaryEncoding(warner.Grid(4, 4), 4.0).keeps_reports(1) is False
    assert warner.SubsetSelection(LABELS, 1.0).keeps_reports(1) is False
    # 16 MB of two bytes, a count and a group each.
    assert BITS.keeps_reports(932_067) and not BITS.keeps_reports(932_068)
    assert not UnaryEncoding(Categorical(range(256)), 6.0).keeps_reports(152_588)
    for kind in (FEW, DistinctReports(16), DistinctReports()):
        assert tally_kind(kind.name) == kind


def test_sums_do_not_depend_on_the_order_of_their_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects the program that forgets that a partial sum had too many reports to keep."""
    monkeypatch.setattr("warner.reports.tally_kinds._BYTES_KEPT", 18 * 100)
    few = [BITS.tally(_reports(40, seed)) for seed in range(3)]
    asked = BITS.tally(_reports(90, 4), keep_reports=True)
    sums = BITS.tally(_reports(30, 5), keep_reports=False)
    assert (few[0] + few[1]).kind == FEW
    for terms, kind in (
        ([*few], BitSums()),
        ([few[0], asked], BitSums()),
        ([few[0], few[1], sums], BitSums()),
        ([asked, BITS.tally(_reports(500, 6), keep_reports=True)], DistinctReports(16)),
    ):
        totals = [sum(order) for order in permutations(terms)]
        assert all(total == totals[0] for total in totals) and totals[0].kind == kind
        assert totals[0].sums() == sum(term.sums() for term in terms)
    halves = {"left": few[0], "right": sums}
    assert Tally.from_tallies("side", halves).kind == BitSums()
    assert warner.estimate([few[0], sums]).n == 70


def test_groups_are_summed_each_by_itself() -> None:
    reports, sides = _reports(300), [f"side {i % 70}" for i in range(300)]
    whole = BITS.tally(reports, {"side": sides})
    assert whole.sums() == BITS.tally(reports, {"side": sides}, keep_reports=False)
    assert whole.chance_of_a_twin == whole.sums().chance_of_a_twin < 1e-9


def test_files_keep_what_memory_keeps(tmp_path: Path) -> None:
    reports = _reports(500)
    write_reports({"a": reports}, str(tmp_path / "r.csv"))
    found = tally_file(str(tmp_path / "r.csv"))["a"]
    assert found == BITS.tally(reports) and found.kind == FEW
    found.save(tmp_path / "t.json")
    assert Tally.load(tmp_path / "t.json") == found
    frame = reports.to_frame()
    assert BITS.tally(frame).sums() == found.sums() and BITS.tally(frame).kind == BitSums()


def test_advice_says_what_bit_sums_leave_out() -> None:
    kept = BITS.tally(_reports(2000))
    assert warner.estimate(kept).advice is None
    said = warner.estimate(kept.sums()).advice
    assert said is not None and "smaller: by 17 % if all" in said and "--keep-reports" in said


@pytest.mark.parametrize("size", [3, 16])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
def test_the_gain_is_that_of_the_information_at_equal_shares(size: int, epsilon: float) -> None:
    domain, even = Categorical(range(size)), np.full(size, 1 / size)
    for mechanism in (
        UnaryEncoding(domain, epsilon, "sue"),
        UnaryEncoding(domain, epsilon, "oue"),
        UtilityOptimizedRappor(domain, epsilon, sensitive=[0]),
        UtilityOptimizedRappor(domain, epsilon, sensitive=[0, 2]),
    ):
        noise = mechanism.channel().covariance(even)
        row = noise.sum(axis=1)
        noise -= np.outer(row, row) / row.sum()
        expected = 1 - cramer_rao(mechanism, even, 1).sum() / np.trace(noise)
        assert mechanism.channel().gain_of_whole_reports == pytest.approx(expected, abs=1e-8)
