"""What a page can tell of a report is exact: the chances and the odds are those of Python's law."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.js._node import HERE, node
from tests.js.test_law import KINDS as SAMPLERS, mechanisms
from warner.mechanisms import Mechanism

WITHOUT = (
    "table",
    "utility_subset",
    "window",
    "noise",
    "exponential",
    "gaussian",
    "planar",
    "repeated",
    "silence",
)
KINDS = tuple(name for name in SAMPLERS if name not in WITHOUT)


@cache
def told() -> dict[str, dict[str, Any]]:
    """What node says of one mechanism of each sampler."""
    made = mechanisms(1.0)
    programs = [mechanism.device_program() for mechanism in made.values()]
    found = json.loads(node(str(HERE / "chances.mjs"), text=json.dumps(programs)))
    return dict(zip(made, found, strict=True))


def supports(mechanism: Mechanism, name: str) -> np.ndarray:
    """(m,) which reports name, hold or support value 0, by the definition of each mechanism."""
    columns = {key: column.astype(np.int64) for key, column in mechanism.outputs().items()}
    if "bits" in columns:
        return columns["bits"][:, 0] >> 7 == 1
    if name == "hash":
        # Value 0 has the residue 0, so its bucket is the shift modulo the number of buckets.
        return columns["bucket"] == columns["shift"] % mechanism.buckets  # type: ignore[attr-defined]
    if name == "hadamard":
        return columns["report"] & 1 == 0
    if name == "projective":
        # Point 0 is (0, .., 0, 1), so a point is orthogonal where its first digit is 0.
        q, t = mechanism.prime, mechanism.dimension  # type: ignore[attr-defined]
        return columns["report"] < (q ** (t - 1) - 1) // (q - 1)
    return columns["report"] == 0


@pytest.mark.parametrize("name", KINDS)
def test_chances_are_those_of_the_law(name: str) -> None:
    """Rejects: chances of another value, of the requested epsilon, or rounded ones."""
    mechanism = mechanisms(1.0)[name]
    table, chosen = mechanism.probabilities(), supports(mechanism, name)
    same, other = (sum(table[chosen, x], Fraction(0)) for x in (0, 1))
    found = told()[name]
    exact = [Fraction(int(a), int(b)) for a, b in found["exactly"]]
    assert exact == [same, other]
    counts = [math.floor(found["of"] * share + Fraction(1, 2)) for share in exact]
    assert [found["same"], found["other"]] == counts


@pytest.mark.parametrize("name", [name for name in SAMPLERS if name not in ("noise", "planar")])
def test_epsilon_is_that_of_the_law(name: str) -> None:
    mechanism, found = mechanisms(1.0)[name], told()[name]
    if name == "exponential":  # of the most distant values on the line
        assert found["epsilon"] <= mechanism.guarantee.total + 1e-12
        return
    stated = 1.0 if name == "gaussian" else mechanism.epsilon
    assert found["epsilon"] == pytest.approx(stated, abs=1e-9)
