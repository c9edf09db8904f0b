"""What local hashing promises: its defaults, what it refuses, and what old files need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from warner import Integers, LocalHashing, Tally
from warner.errors import ArgumentError, ArgumentTypeError, MismatchError
from warner.mechanisms import from_header
from warner.reports.tally_kinds import Counted

TEN = Integers(0, 9)


def test_the_smallest_field_and_the_tally_that_fits_are_the_default() -> None:
    few, many = LocalHashing(TEN, 1.0), LocalHashing(Integers(0, 4999), 1.0)
    assert (few.prime, few.whole_reports, few.seeds) == (11, True, None)
    assert (many.prime, many.whole_reports) == (5003, False)
    assert few.parameters() == {"buckets": 4, "prime": 11, "whole_reports": True}
    assert from_header(many.header).header == many.header


def test_a_pool_of_seeds_is_as_before() -> None:
    """The header of a file that an earlier version wrote, and its reports by the same generator."""
    pool = LocalHashing(TEN, 1.0, seeds=64)
    assert pool.parameters() == {"buckets": 4, "seeds": 64}
    assert pool.thresholds()["hash_family"] == "1"
    reports = pool.randomize([3, 1, 4, 1, 5], np.random.default_rng(2))
    assert {name: column.tolist() for name, column in reports.columns.items()} == {
        "seed": [22, 53, 0, 16, 28],
        "bucket": [2, 1, 1, 2, 1],
    }
    assert pool.whole_reports and pool.prime is None


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"prime": 7}, ArgumentError),
        ({"prime": 13}, ArgumentError),
        ({"prime": 15}, ArgumentError),
        ({"prime": 2**40}, ArgumentError),
        ({"seeds": 8, "prime": 11}, ArgumentError),
        ({"seeds": 8, "whole_reports": True}, ArgumentError),
        ({"whole_reports": 1}, ArgumentTypeError),
        ({"whole_reports": True, "prime": 10007}, ArgumentError),
    ],
)
def test_what_is_refused(wrong: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        LocalHashing(TEN, 1.0, **wrong)


def test_two_to_the_26_values_are_reported_and_counted() -> None:
    """The counts themselves would take a while; the columns and the law take nothing."""
    mechanism = LocalHashing(Integers(0, 2**26 - 1), 2.0)
    reports = mechanism.randomize([0, 2**26 - 1, 12345], np.random.default_rng(0))
    assert mechanism.schema.cells == 2**26 and 1.99 < mechanism.epsilon <= 2
    assert {column.dtype.itemsize for column in reports.columns.values()} == {1, 4}


def test_both_tallies_count_the_same_reports(tmp_path: Path) -> None:
    """Whole reports that are kept have the likelihood of the tally of whole reports."""
    rng = np.random.default_rng(3)
    values = rng.integers(0, 10, 3000)
    found = {}
    for whole in (True, False):
        mechanism = LocalHashing(TEN, 1.0, whole_reports=whole)
        reports = mechanism.randomize(values, np.random.default_rng(4))
        half = [mechanism.reports({k: v[i::2] for k, v in reports.columns.items()}) for i in (0, 1)]
        for keep in (False, True):
            tally = sum(mechanism.tally(part, keep_reports=keep) for part in half)
            assert isinstance(tally, Tally)
            assert (tally.counts == mechanism.tally(reports, keep_reports=keep).counts).all()
            tally.save(tmp_path / "t.json")
            assert Tally.load(tmp_path / "t.json") == tally
            found[whole, keep] = tally
    inverted = [warner.estimate(t, warner.Inversion()).probabilities for t in found.values()]
    for other in inverted[1:]:
        assert other == pytest.approx(inverted[0], abs=1e-12)
    whole, kept = found[True, False], found[False, True]
    best = [warner.estimate(t, warner.MaximumLikelihood()) for t in (whole, kept)]
    assert best[0].probabilities == pytest.approx(best[1].probabilities, abs=1e-6)
    assert best[0].log_likelihood == pytest.approx(best[1].log_likelihood, rel=1e-12)


def test_kept_reports_that_cannot_be_are_refused() -> None:
    mechanism = LocalHashing(TEN, 1.0, whole_reports=False)
    reports = mechanism.randomize([1, 2], np.random.default_rng(5))
    tally = mechanism.tally(reports, keep_reports=True)
    assert tally.rows is not None
    for rows in (tally.rows + np.uint8(200), tally.rows[:, :2]):
        with pytest.raises((MismatchError, warner.errors.ReportError)):
            mechanism.report_channel(rows)


@pytest.mark.parametrize(
    "counts",
    [[60] * 10, [0] * 10, [60, 60, 60, 1, 1, 1, 1, 1, 1, 1], [5] * 10],
)
def test_support_counts_that_no_reports_have_are_refused(counts: list[int]) -> None:
    """p = 11 and g = 4: each report supports 2 or 3 residues, of which 10 are values."""
    hashing = LocalHashing(TEN, 1.0, whole_reports=False)
    tally = hashing.tally(hashing.randomize([1, 2, 3] * 20))
    warner.estimate(tally)
    with pytest.raises(MismatchError, match="no reports"):
        forged = Counted.together(tally.kind, np.array(counts), tally.n)
        warner.estimate(Tally(tally.header, forged))


def test_the_bounds_of_support_counts_are_reached() -> None:
    """Every report alone passes: the bounds are not too strict."""
    for values, prime, buckets in [(10, 11, 4), (2, 2, 3), (3, 17, 2), (5, 5, 5)]:
        domain = Integers(0, values - 1)
        hashing = LocalHashing(domain, 1.0, buckets, prime=prime, whole_reports=False)
        outputs = hashing.outputs()
        for first in range(0, hashing.n_reports, 7):
            one = {name: column[first : first + 1] for name, column in outputs.items()}
            hashing.channel_for(hashing.tally(hashing.reports(one)))


def test_a_prime_with_seeds_is_refused_and_both_are_named() -> None:
    with pytest.raises(ArgumentError, match=r"prime: cannot be given with seeds.*got 11\."):
        LocalHashing(Integers(0, 9), 1.0, seeds=4, prime=11)
