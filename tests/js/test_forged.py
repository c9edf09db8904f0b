"""Surveys whose programs reveal more than they state, as a dishonest collector would serve them."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import islice, pairwise
from typing import Any

import pytest

import warner
from tests.js._node import HERE, node
from tests.parity.mechanisms import _device as device, _device_check as device_check
from tests.vectors.surveys import many_cells
from warner.collector.survey_document import survey_document
from warner.mechanisms.device_program import fraction, number, numbers
from warner.studies.study import Study

WHOLE = 2**64


def survey(attribute: str) -> dict[str, Any]:
    """The document of a study with one attribute."""
    return survey_document(Study.parse(f"[attributes.a]\n{attribute}"))


def with_program(document: dict[str, Any], program: Any, epsilon: float) -> dict[str, Any]:
    """The document with another program, which it states to have this epsilon."""
    question = {**document["questions"][0], "program": program, "epsilon": epsilon}
    return {**document, "questions": [question], "epsilon": epsilon}


def stated(odds: Fraction) -> dict[str, Any]:
    """The entries of odds that the integers have."""
    return {"odds_at_most": fraction(odds)}


def told(*documents: dict[str, Any]) -> list[str | None]:
    """The errors that the browser has."""
    answer = node(str(HERE / "check.mjs"), text=json.dumps(documents))
    return [found if isinstance(found, str) else None for found in json.loads(answer)]


GAP = "grid = {rows = 1, columns = 6, without = [[0, 2], [0, 3]]}\nmechanism = "


def test_values_on_two_sides_of_a_gap_are_compared() -> None:
    """Rejects: the odds of neighbours alone. No chain of neighbours joins cells 0, 1 and 4, 5."""
    honest = survey(GAP + '"Exponential"\nepsilon = 0.3')
    near, far = 10**12, 1  # the weights within each side, and across: almost all is told
    rows = range(6)
    other = WHOLE * near // (2 * near + 2 * far)
    own = WHOLE - other - 2 * (WHOLE * far // (2 * near + 2 * far))
    program = {
        **honest["questions"][0]["program"],
        "words": 1,
        "column_classes": [[int((i < 3) != (j < 3)) for j in rows] for i in rows],
        "weights": [[near, far]],
        "odds": {**fraction(Fraction(own, other)), "between": "neighbours", "power": 1},
        **stated(Fraction(own, other)),
    }
    # The true epsilon is above 26.
    forged = [with_program(honest, program, epsilon) for epsilon in (0.01, 5.0, 20.0)]
    assert told(honest, *forged) == [None, *["odds_exceed"] * 3]


def test_the_epsilon_is_that_of_opposite_corners() -> None:
    """Rejects: the steps along the longer axis, here 3 of 0.5 each."""
    honest = survey('grid = {rows = 4, columns = 4}\nmechanism = "PlanarGeometric"\nepsilon = 0.5')
    document = with_program(honest, honest["questions"][0]["program"], 0.5 * 3)
    assert told(honest, document) == [None, "odds_exceed"]


def test_cells_that_are_reported_as_one_are_summed() -> None:
    """Rejects: the odds of cells that nobody reports, by which honest studies were refused."""
    cells = "without = [[0, 1], [1, 1], [0, 2], [1, 2], [0, 3], [0, 5]]"
    grid = f"grid = {{rows = 2, columns = 6, {cells}}}"
    honest = survey(f'{grid}\nmechanism = "PlanarLaplace"\nepsilon = 0.3')
    program = honest["questions"][0]["program"]
    assert "reports" in program
    assert told(honest, with_program(honest, program, 1.2)) == [None, "odds_exceed"]


def test_a_window_that_avoids_the_answer_is_as_telling_as_one_that_holds_it() -> None:
    """Rejects: a dummy's odds for a window that is likelier inside, where it is likelier outside."""
    honest = survey(
        "interval = {low = 0.0, high = 1.0, bins = 3}\n"
        'mechanism = "SquareWave"\nepsilon = 1.0\nmissing = "answer"'
    )
    cells, width, own, other = 3, 2, 10**15, 2_718_281_828_459_045
    total = width * own + (cells - width) * other
    dropped, silent = WHOLE * 90 // 100, WHOLE * 99 // 100
    outer = honest["questions"][0]["program"]
    column = [{"name": "report", "dtype": "|u1", "length": 1}]
    inner = {
        **outer["inner"],
        "cells": cells,
        "width": width,
        "own": own,
        "other": other,
        "columns": column,
        "odds": {**fraction(Fraction(other, own)), "between": "any", "power": 1},
        **stated(Fraction(other, own)),
    }
    others = Fraction(WHOLE - dropped, WHOLE - silent)
    found = []
    for most, least in ((own, other), (other, own)):  # as it was compared, and as it is
        odds = max(
            Fraction(silent, dropped),
            others * Fraction(most * cells, total),
            Fraction(total, least * cells) / others,
            Fraction(other, own),
        )
        entry = {**fraction(odds), "between": "any", "power": 1}
        program = {
            **outer,
            "dropped": number(dropped),
            "silent": number(silent),
            "inner": inner,
            "columns": column,
            "odds": entry,
            **stated(odds),
        }
        found.append(with_program(honest, program, 3.0))
    assert told(honest, *found) == [None, "odds_differ", None]


def test_the_delta_that_is_told_is_that_of_the_integers() -> None:
    """Rejects: a survey that tells of no delta, or of a smaller one; also of several reports."""
    honest = [
        survey(f'{domain}\nmechanism = "Gaussian"\nepsilon = 1.0\ndelta = 1e-4{more}')
        for domain in ("integers = [0, 20]", "grid = {rows = 2, columns = 3}")
        for more in ("", "\nreports = 2")
    ]
    forged = []
    for document in honest:
        question = document["questions"][0]
        for delta in (None, question["delta"] / 2):
            forged.append({**document, "questions": [{**question, "delta": delta}]})
    assert told(*honest, *forged) == [None] * 4 + ["odds_exceed"] * 8


def test_masses_that_rise_again_are_no_law_where_not_all_reports_are_compared() -> None:
    """Rejects: a bound of the most distant answers that supposes masses which fall."""
    edits = {path[-1]: value for path, value in many_cells()}
    honest = survey(
        'grid = {rows = 33, columns = 33}\nmechanism = "RandomizedResponse"\nepsilon = 1.0'
    )
    (question,) = honest["questions"]
    question = {**question, "domain": edits["domain"]}
    document = {**honest, "questions": [question]}
    program = edits["program"]
    rows = [list(row) for row in program["quadrant"]]
    rows[3][3], rows[4][4] = rows[4][4], rows[3][3]
    risen = {**program, "quadrant": rows}
    found = told(
        *(with_program(document, p, e) for p, e in ((program, 6.7), (program, 6.8), (risen, 9.0)))
    )
    assert found == ["odds_exceed", None, "not_a_law"]


def _split(rng: random.Random, total: int, parts: int) -> list[int]:
    """Positive integers with a sum."""
    ends = [0, *sorted(rng.randrange(1, total) for _ in range(parts - 1)), total]
    return [b - a for a, b in pairwise(ends)]


def _direct(rng: random.Random, size: str = "size") -> dict[str, Any]:
    own, other = rng.randrange(1, 2**61), rng.randrange(1, 2**61)
    return {size: 4, "own": number(own), "other": number(other)}


def _planar(rng: random.Random) -> dict[str, Any]:
    """Any masses, on a grid of which some cells may be left out, reported as themselves or not."""
    height, width, size = rng.randrange(2, 5), rng.randrange(2, 5), 3
    often = [[(1 + (i > 0)) * (1 + (j > 0)) for j in range(width)] for i in range(height)]
    fall = rng.choice([0, 3, 10])  # masses that fall, in most cases
    inner = [
        [rng.randrange(1, 2**40) >> fall * (i + j) or 1 for j in range(width)]
        for i in range(height)
    ]
    rest = sum(inner[i][j] * often[i][j] for i in range(height) for j in range(width) if i or j)
    inner[0][0] = WHOLE - rest
    places = sorted(rng.sample(range(height * width), size))
    reports = {"reports": [rng.randrange(size) for _ in range(height * width)]}
    return {
        "size": size,
        "words": 1,
        "shape": [height, width],
        "quadrant": [numbers(row) for row in inner],
        "places": places,
        **(reports if rng.random() < 0.5 else {}),
    }


def _exponential(rng: random.Random) -> dict[str, Any]:
    width, size = rng.randrange(4, 7), 4
    return {
        "size": size,
        "words": 1,
        "shape": [1, width],
        "places": sorted(rng.sample(range(width), size)),
        "weights": [[rng.randrange(1, 1000) for _ in range(width)]],
    }


def _noise(rng: random.Random) -> dict[str, Any]:
    epsilon, reach = rng.uniform(0.3, 3), rng.randrange(3)
    between = rng.random() < 0.5
    made = warner.mechanisms.Geometric(LINE, epsilon, reach=reach).device_program()
    near = {**made["odds"], "between": "neighbours", "power": 1}
    far = {**made["odds"], "between": "any", "power": made["steps"]}
    return {**made, "odds": near if between else far}


def _silence(rng: random.Random) -> dict[str, Any]:
    inner = _whole("window", _window(rng), "position")
    rates = {key: number(rng.randrange(1, WHOLE)) for key in ("dropped", "silent")}
    return {"inner": inner, **rates}


def _window(rng: random.Random) -> dict[str, Any]:
    cells = rng.randrange(2, 7)
    widths = {key: number(rng.randrange(1, 2**60)) for key in ("own", "other")}
    return {"cells": cells, "width": rng.randrange(1, cells), **widths}


def _repeated(rng: random.Random) -> dict[str, Any]:
    parts = [("direct", _direct), ("planar", _planar), ("exponential", _exponential)]
    sampler, make = rng.choice(parts)
    first = make(rng)
    size = first["size"]
    second = {**_direct(rng), "size": size, "own": number(rng.randrange(1, 2**61))}
    runs = [("direct", second, 2), (sampler, first, 1)][: rng.randrange(1, 3)]
    return {"parts": [{"times": n, "program": _whole(s, p, "index")} for s, p, n in runs]}


def _bits(rng: random.Random) -> dict[str, Any]:
    raised, keep = sorted(rng.randrange(1, WHOLE) for _ in range(2))
    return {"size": 4, "raised": number(raised), "keep": number(keep)}


SAMPLERS: dict[str, Callable[[random.Random], dict[str, Any]]] = {
    "direct": _direct,
    "bits": _bits,
    "hash": lambda rng: {
        "size": 4,
        "family": 2,
        "prime": 5,
        **_direct(rng, "buckets"),
        "buckets": 3,
    },
    "subset": lambda rng: {
        "size": 4,
        "members": rng.randrange(1, 4),
        "include": number(rng.randrange(1, WHOLE)),
    },
    "hadamard": lambda rng: {"size": 4, "order": 8, "agree": number(rng.randrange(1, WHOLE))},
    "table": lambda rng: {
        "size": 4,
        "words": 1,
        "numerators": [numbers(_split(rng, WHOLE, 3)) for _ in range(4)],
    },
    "projective": lambda rng: {
        "size": 4,
        "prime": 2,
        "dimension": 2,
        "blocks": 2,
        "include": number(rng.randrange(1, WHOLE)),
    },
    "window": _window,
    "noise": _noise,
    "exponential": _exponential,
    "planar": _planar,
    "silence": _silence,
    "repeated": _repeated,
}
LINE = warner.Integers(0, 3)


def _whole(sampler: str, fields: dict[str, Any], answer: str) -> dict[str, Any]:
    """A program of any integers, with the columns and the odds that they have."""
    program = {"format": 1, "sampler": sampler, "answer": answer, **fields}
    program["columns"] = device_check.columns_of(program)
    odds = device_check.odds_of(program)
    assert odds is not None
    ratio, between, power = odds
    program["odds"] = {**fraction(ratio), "between": between, "power": power}
    return {**program, **stated(ratio)}


def _enumerated(program: dict[str, Any]) -> float:
    """The epsilon of any two answers, from the chances of every report of every answer."""
    if program["answer"] == "position":
        answers: list[Any] = [i / 60 for i in range(61)]  # with every point of at most 6 steps
        answers += [None] if program["sampler"] == "silence" else []
    else:
        answers = list(range(program.get("size") or program["parts"][0]["program"]["size"]))
    runs = len(program.get("parts", []))
    laws = [device.law(program, [x] * runs if runs else x) for x in answers]
    assert all(one.keys() == laws[0].keys() for one in laws)
    most = max(max(one[y] for one in laws) / min(one[y] for one in laws) for y in laws[0])
    return math.log(most.numerator) - math.log(most.denominator)


# How many programs of each sampler; the law of bits takes long.
PROGRAMS = {**dict.fromkeys(SAMPLERS, 10), "bits": 4}


def _asked(sampler: str) -> list[dict[str, Any]]:
    """Documents of programs of any integers, each once with too small an epsilon and once with its
    own.
    """
    rng, documents = random.Random(sampler), []
    answer = {**dict.fromkeys(("window", "silence"), "position"), "repeated": "parts"}
    for _ in range(PROGRAMS[sampler]):
        program = _whole(sampler, SAMPLERS[sampler](rng), answer.get(sampler, "index"))
        size = program.get("parts", [{"program": program}])[0]["program"].get("size", 4)
        missing = 'missing = "answer"\n' if sampler == "silence" else ""
        domain = f"integers = [0, {size - 1}]\n{missing}"
        honest = survey(f'{domain}mechanism = "RandomizedResponse"\nepsilon = 1.0')
        epsilon = _enumerated(program)
        for factor in (1 - 1e-6, 1 + 1e-8):
            document = with_program(honest, program, epsilon * factor)
            documents.append({**document, "weak_protection": True})
    return documents


@cache
def _told() -> dict[str, list[str | None]]:
    """The errors of all these documents, by one process of node."""
    asked = {sampler: _asked(sampler) for sampler in SAMPLERS}
    answers = iter(told(*(document for documents in asked.values() for document in documents)))
    return {sampler: list(islice(answers, len(asked[sampler]))) for sampler in SAMPLERS}


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_an_understated_epsilon_is_refused_and_the_true_one_is_accepted(sampler: str) -> None:
    """Of programs of any integers, by the law that an interpreter of the document enumerates.

    Rejects: the odds of neighbours or of the steps along one axis, of corners alone, of cells that
    nobody reports, and a tolerance of a part in a million.
    """
    assert _told()[sampler] == ["odds_exceed", None] * PROGRAMS[sampler]
