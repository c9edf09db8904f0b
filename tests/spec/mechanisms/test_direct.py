"""Matrices that would lose a part are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner


def test_matrices_that_would_lose_a_part_are_refused() -> None:
    plain = np.array([[0.7, 0.3], [0.3, 0.7]])
    domain = warner.Integers(0, 1)
    wrong: list[tuple[Any, str]] = [
        (plain + 1j * np.array([[1, 1], [-1, -1]]), "real entries"),
        ([[0.7 + 1j, 0.3], [0.3, 0.7]], "real entries"),
        (np.ma.array(plain, mask=[[True, False], [False, False]]), "masked entries"),
        ([["a", "b"], ["c", "d"]], "array of numbers"),
    ]
    for matrix, rule in wrong:
        with pytest.raises(warner.WarnerError, match=f"matrix: must .*{rule}"):
            warner.MatrixMechanism(domain, matrix)
        with pytest.raises(warner.WarnerError, match=f"matrix: must .*{rule}"):
            warner.privacy.postprocessing.decompose(matrix, [True, False])
    assert (
        warner.MatrixMechanism(domain, np.ma.array(plain)).header
        == warner.MatrixMechanism(domain, plain).header
    )
