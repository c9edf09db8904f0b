"""Surveys whose programs reveal more than they state, as a dishonest collector would serve them."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from tests.js._node import HERE, node
from warner.collector.survey_document import survey_document
from warner.mechanisms.device_program import fraction, number
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
    return list(json.loads(answer))


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
