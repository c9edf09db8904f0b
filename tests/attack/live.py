"""Questions of very many values on the live page: the memory of a step grows with the values, not
with pairs of them.
"""

from __future__ import annotations

import tracemalloc

import numpy as np

from tests.attack._frame import require
from warner.collector.live.estimates import StepEstimates
from warner.collector.live.state import Step
from warner.studies.study import Study

_BASE, _EACH = 150e6, 10e3  # bytes: blocks of functions, and each value with its row
_MECHANISMS = (
    "RandomizedResponse",
    "UnaryEncoding",
    "LocalHashing",
    "SubsetSelection",
    "HadamardResponse",
)


def case(rng: np.random.Generator, largest: int = 40_000) -> str:
    """One step of one question, with tables for all of its values."""
    size = int(np.exp(rng.uniform(np.log(2000), np.log(largest))))
    side = int(np.sqrt(size))
    values = (
        f"integers = [0, {size - 1}]",
        f"values = {[f'town {i}' for i in range(size)]}",
        f"grid = {{ rows = {side}, columns = {side}, side = 1.0 }}",
    )[rng.integers(3)]
    mechanism = rng.choice(_MECHANISMS)
    nonresponse = 'missing = "answer"\n' * int(rng.integers(2))
    study = Study.parse(
        f'[attributes.place]\n{values}\n{nonresponse}mechanism = "{mechanism}"\nepsilon = 2.0\n'
    )
    asked = study.mechanisms["place"]
    answers = asked.domain.decode(rng.integers(0, side**2, 200))
    tally = asked.tally(asked.randomize(answers, rng=rng))
    estimates = StepEstimates(study)
    tracemalloc.start()
    try:
        (section,) = estimates.shown(Step(1, 200, {"place": tally}), "place").sections
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    about = f"{mechanism} of {asked.domain.size:,} values"
    require(bool(section.tables), f"{about}: {section.notes}")
    allowed = _BASE + _EACH * asked.domain.size
    require(peak < allowed, f"{about}: a step takes {peak / 1e6:.0f} MB")
    return f"{about}: {peak / 1e6:.0f} MB"
