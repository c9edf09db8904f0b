"""Outputs of other packages are taken where they are exact."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.spec.io._sealed import COIN
from warner import Integers


def test_outputs_of_other_packages_are_taken_where_they_are_exact() -> None:
    unary, coin = warner.UnaryEncoding(Integers(0, 2), 1.0), COIN
    bits = np.array([[0, 1, 1], [1, 0, 0]])
    wanted = unary.reports(bits).columns["bits"].tolist()
    for dtype in (bool, np.float32, np.float64, np.float16, np.int8, np.uint64):
        assert unary.reports(bits.astype(dtype)).columns["bits"].tolist() == wanted
        assert coin.reports(bits[0].astype(dtype)).columns["report"].tolist() == [0, 1, 1]
    assert coin.reports([0.0, 1.0]).columns["report"].tolist() == [0, 1]
    for outputs in ([0.5, 1], [float("nan"), 1], [float("inf"), 0], [1 - 2**-53, 0]):
        with pytest.raises(
            warner.errors.ReportError, match=r"1 of 2 float64 values.*zeros and ones"
        ):
            coin.reports(outputs)
    with pytest.raises(warner.errors.ReportError, match="Convert it"):
        coin.reports(["0", "1"])
    with pytest.raises(warner.errors.ReportError, match=r"0\.\.1"):
        coin.reports([2.0, 0.0])
