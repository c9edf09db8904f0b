"""Rows of reports of bits against the law of whole reports."""

from __future__ import annotations

import numpy as np
import pytest

from tests.parity.estimators._data import BITS, _kept
from warner.channels import SupportRows


@pytest.mark.parametrize("name", BITS)
def test_rows_of_kept_reports_are_the_law(name: str) -> None:
    data, law = _kept(name, 6, 300, 1.0)
    dense = data.channel.dense()
    assert dense / dense.sum(axis=1, keepdims=True) == pytest.approx(
        law / law.sum(axis=1, keepdims=True), abs=1e-12
    )
    rng = np.random.default_rng(0)
    theta, r = rng.random(6), rng.random(len(law))
    assert data.channel.matvec(theta) == pytest.approx(dense @ theta, abs=1e-12)
    assert data.channel.rmatvec(r) == pytest.approx(dense.T @ r, abs=1e-10)
    assert data.channel.gram(r) == pytest.approx(dense.T @ (r[:, None] * dense), rel=1e-5)


def test_rows_of_reports_of_bits_are_read_off_and_not_multiplied_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One product with all reports for every report was 28 of the 30 s that 20,000 people with four
    reports of 100 bits took.
    """
    rng = np.random.default_rng(1)
    channel = SupportRows(np.packbits(rng.integers(0, 2, (9, 11)), axis=1), 11, rng.random(9), 1.5)
    want = channel.dense()[[3, 0, 8]]
    monkeypatch.setattr(SupportRows, "rmatvec", None)
    assert channel.rows(np.array([3, 0, 8])) == pytest.approx(want, rel=1e-12)
