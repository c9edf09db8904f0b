"""Guarantees compose where a proposition says so."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import LDP, Integers, UtilityOptimizedRR
from warner._core.exact import log_ratio
from warner.privacy import OSLDP, ULDP
from warner.privacy.report_laws import ambiguous_report, worst_ratio


def test_guarantees_compose_where_a_proposition_says_so() -> None:
    ill, other = ("ill",), ("poor",)
    assert warner.compose([ULDP(0.5, ill), ULDP(0.25, ill)]) == ULDP(
        0.75, ill, "tuples of reports whose utility-optimised parts are all protected"
    )
    assert warner.compose([ULDP(0.5, ill), LDP(1.0)]).epsilon == 1.5 and isinstance(
        warner.compose([ULDP(0.5, ill), LDP(1.0)]), ULDP
    )
    assert warner.compose([ULDP(0.5, ill), OSLDP(1.0, ill)]) == OSLDP(1.5, ill) and ULDP(
        1.0, ill
    ).relaxed() == OSLDP(1.0, ill)
    with pytest.raises(warner.errors.MismatchError, match="same sensitive values"):
        warner.compose([ULDP(0.5, ill), ULDP(0.5, other)])
    for wrong in ([ULDP(0.5, ill), 1.0], [], 3):
        with pytest.raises(warner.WarnerError):
            warner.compose(wrong)
    for bad in (
        lambda: ULDP(-1.0, ill),
        lambda: ULDP(1.0, ()),
        lambda: OSLDP(float("nan"), ill),
        lambda: ULDP(1.0, "ill"),
    ):  # type: ignore[arg-type]
        with pytest.raises(warner.WarnerError):
            bad()
    # The sum is really needed, by enumeration of pairs of reports [P2 prop 1].
    a, b = (UtilityOptimizedRR(Integers(0, 3), e, [0, 1]).probabilities() for e in (0.5, 1.0))
    pairs = np.array([[x * y for x, y in zip(r, s, strict=True)] for r in a for s in b])
    sensitive_mask = np.array([True, True, False, False])
    protected = np.array([y0 < 2 and y1 < 2 for y0 in range(4) for y1 in range(4)])
    assert ambiguous_report(pairs, sensitive_mask, protected) is None
    assert log_ratio(worst_ratio(pairs[protected]), 1) == pytest.approx(1.5, abs=1e-12)
