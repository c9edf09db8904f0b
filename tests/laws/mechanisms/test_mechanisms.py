"""Laws of everything registered: budgets, headers, and counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from tests.laws._reports import _reports
from tests.registry import ALL, BAD_EPSILONS, COMBINED, MECHANISMS, smallest
from warner import Integers
from warner._core import sampling
from warner._core.sampling import Source
from warner.mechanisms import from_header

# What every mechanism must do for itself: the largest budgets that it can represent differ.
OF_THE_LAW: list[Any] = [float("inf"), 1e308, 50.0]


# Refused by what all mechanisms share.
SHARED = [e for e in BAD_EPSILONS if e not in OF_THE_LAW]


# A range of several steps, or a table of as many digits as it takes, represents a budget of 50.
REPRESENTS_50 = ["Laplace", "Laplace between cells", "Gaussian", "Exponential"]


BUDGETED = [n for n in MECHANISMS if n != "MatrixMechanism"]


BAD_BUDGETS = [
    *((name, epsilon) for name in BUDGETED for epsilon in ("1", *OF_THE_LAW)),
    *(("RandomizedResponse", epsilon) for epsilon in SHARED if epsilon != "1"),
]


ACCEPTED = [("RandomizedResponse", float("inf")), *((name, 50.0) for name in REPRESENTS_50)]


@pytest.mark.parametrize(
    "name, epsilon", [pair for pair in BAD_BUDGETS if pair not in ACCEPTED], ids=repr
)
def test_bad_budgets_are_refused(name: str, epsilon: Any) -> None:
    with pytest.raises(
        (warner.errors.BudgetError, warner.errors.ArgumentTypeError), match="epsilon"
    ):
        MECHANISMS[name](Integers(0, 3), epsilon)


@pytest.mark.parametrize("name, epsilon", ACCEPTED)
def test_large_budgets_that_can_be_represented_are_accepted(name: str, epsilon: float) -> None:
    assert MECHANISMS[name](Integers(0, 3), epsilon).requested == epsilon


NAMES = list(COMBINED)


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


COUNTED = ALL


def test_reports_of_every_other_mechanism_are_refused() -> None:
    instances = [smallest(name, epsilon) for name in COUNTED for epsilon in (1.0, 2.0)]
    instances.append(warner.RandomizedResponse(warner.Integers(1, 4), 1.0))
    made = [(m, m.randomize(m.domain.labels)) for m in instances]
    counted = [(m, reports, m.tally(reports)) for m, reports in made]
    for ours, _, our_tally in counted:
        for theirs, reports, their_tally in counted:
            if ours is not theirs:
                with pytest.raises(warner.errors.MismatchError, match="do not belong together"):
                    ours.tally(reports)
                with pytest.raises(warner.errors.MismatchError):
                    our_tally + their_tally


@pytest.mark.parametrize("name", COUNTED)
def test_foreign_outputs_come_in_checked(name: str) -> None:
    mechanism = smallest(name)
    reports = _reports(mechanism, 50)
    again = mechanism.reports(reports.columns)
    assert again.records() == reports.records() and not again.simulated
    for column in reports.columns:
        for wrong in (-1, 2**40, 0.5, float("nan"), "1", None):
            bad = {
                k: np.array(
                    v, dtype=object if wrong is None or isinstance(wrong, str) else type(wrong)
                )
                for k, v in reports.columns.items()
            }
            bad[column].flat[0] = wrong
            with pytest.raises(warner.errors.ReportError):
                mechanism.reports(bad)
    with pytest.raises((warner.errors.ReportError, warner.errors.EmptyError)):
        mechanism.reports({k: v[:0] for k, v in reports.columns.items()})


def test_padding_and_set_sizes_are_checked() -> None:
    unary, subset = smallest("UnaryEncoding symmetric"), smallest("SubsetSelection of two")
    with pytest.raises(warner.errors.ReportError, match="padding"):
        unary.reports({"bits": np.array([[0b10000001]])})
    with pytest.raises(warner.errors.ReportError, match="2 bits set"):
        subset.reports({"bits": np.array([[0b11100000]])})
    assert unary.reports(np.array([[1, 0, 0, 1]])).columns["bits"].tolist() == [[0b10010000]]


@pytest.mark.parametrize(("size", "members"), [(300, 80), (300, 5), (300, 290), (257, 1)])
def test_true_values_change_places_with_the_last_value_only(size: int, members: int) -> None:
    """With the same words, the subset of a value is that of the last value, with the two exchanged.

    So the words do not depend on the value, in either method, nor does their number.
    """
    mechanism = warner.SubsetSelection(warner.Integers(1, size), 1.0, size=members)
    n, last = 50, size - 1
    words, found = [], []
    for value in (last, 0, 7, 8, 131, last - 1):
        rng = np.random.default_rng(9)
        packed = mechanism._sample(np.full(n, value), Source(rng))["bits"]
        bits = np.unpackbits(packed, axis=1, count=size)
        bits[:, [value, last]] = bits[:, [last, value]]
        found.append(bits)
        words.append(rng.bit_generator.state)
    assert (found[0].sum(axis=1) == members).all()
    for bits, state in zip(found, words, strict=True):
        assert np.array_equal(bits, found[0])
        assert state == words[0]


def test_batches_are_independent_draws_of_one_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports do not repeat from one batch to the next, and all batches are filled."""
    mechanism = warner.SubsetSelection(warner.Integers(1, 300), 1.0)
    monkeypatch.setattr(sampling, "_SET_BYTES", 1)
    monkeypatch.setattr(sampling, "_SETS", (7, 7))
    packed = mechanism._sample(np.arange(100) * 3, Source(np.random.default_rng(1)))["bits"]
    assert (np.bitwise_count(packed).sum(axis=1) == mechanism.subset).all()
    assert len(np.unique(packed, axis=0)) == 100
