"""The law of the test of no difference, against reports that are dealt to the groups."""

from __future__ import annotations

import numpy as np
import pytest

from warner.groups.differences import dealt_moments

SIZES = np.array([12, 6, 4])
COUNTS = np.array([10, 5, 3, 2, 1, 1])


def test_moments_over_all_deals_are_those_of_dealt_reports() -> None:
    """Rejects the program that takes the moments of a chi-square: their variance is 12."""
    rng = np.random.default_rng(1)
    shares, z = COUNTS / COUNTS.sum(), rng.normal(size=(6, 3))
    z -= shares @ z
    z = z @ np.linalg.cholesky(np.linalg.inv((z.T * shares) @ z))
    reports, ends, dealt = np.repeat(z, COUNTS, axis=0), np.cumsum(SIZES)[:-1], []
    for _ in range(4000):
        groups = np.split(rng.permutation(reports), ends)
        dealt.append(sum(len(g) * (g.mean(axis=0) ** 2).sum() for g in groups))
    moments = dealt_moments(SIZES.astype(float), shares, (z**2).sum(axis=1))
    assert moments is not None
    mean, variance = moments
    assert mean == pytest.approx(np.mean(dealt), abs=0.2)
    assert variance == pytest.approx(np.var(dealt), rel=0.1)
    assert dealt_moments(SIZES[:2] / 6, shares, shares) is None
