"""Tallies of several reports of one person add up, and foreign tuples are checked."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.laws._tuples import _reports, _ways
from tests.registry import COMBINED
from warner import Reports
from warner.errors import ReportError

NAMES = list(COMBINED)


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
def test_foreign_tuples_come_in_checked(name: str) -> None:
    mechanism = COMBINED[name](1.0)
    reports = _reports(mechanism, 30)
    assert mechanism.reports(reports.columns).records() == reports.records()
    for column in reports.columns:
        with pytest.raises(ReportError, match="has no column"):
            mechanism.reports({k: v for k, v in reports.columns.items() if k != column})
        with pytest.raises(ReportError, match="columns"):
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
            with pytest.raises(ReportError):
                mechanism.reports(bad)
        if len(reports.columns) > 1:
            with pytest.raises(ReportError, match="equally many"):
                mechanism.reports({k: v[: 30 - (k == column)] for k, v in reports.columns.items()})
