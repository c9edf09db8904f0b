"""Labels that are refused, labels that are taken, and an estimate that has them."""

from __future__ import annotations

from typing import Any

import numpy as np

import warner
from warner import Categorical, Estimate

BAD = [
    "\x00",
    "\x07",
    "\x1b[2J",
    "\t",
    "\n",
    "\x7f",
    "\x9b",
    "\u061c",
    "\u200e",
    "\u202e",
    "\u2066",
    "\u2028",
    "\ud800",
    "\ufdd0",
    "\ufffe",
    "\U0010ffff",
]


LEGAL = [
    "<script>alert(1)</script>",
    "<!--",
    "é",
    "日本",
    "\u05d0\u05d1",
    "👩\u200d👩\u200d👧",
    "a\u0301",
    "",
    "=1+1",
    "]]>",
    "&amp;",
    "\\",
    "{x}",
    "[red]",
]


def _estimate(labels: list[Any], name: str | None = None) -> Estimate:
    mechanism = warner.RandomizedResponse(Categorical(labels), 3.0)
    tally = mechanism.tally(mechanism.randomize(labels * 40, np.random.default_rng(0)))
    result = warner.estimate(tally, warner.Inversion("project"))
    return Estimate(result.fit, result.data, result.estimator, name)
