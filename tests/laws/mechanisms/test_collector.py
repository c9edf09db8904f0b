"""A collector refuses reports of other mechanisms and reports that its mechanism cannot send."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.laws._reports import _reports
from tests.registry import ALL, smallest

NAMES = ALL


def test_reports_of_every_other_mechanism_are_refused() -> None:
    instances = [smallest(name, epsilon) for name in NAMES for epsilon in (1.0, 2.0)]
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


@pytest.mark.parametrize("name", NAMES)
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
