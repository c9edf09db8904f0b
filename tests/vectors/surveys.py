"""Known answers for clients of surveys: which documents are refused, and how submissions are sealed.

- studies.json: a survey document, and alterations of it with the name of the error that refuses each;
- submissions.json: answers, words and an id or an invitation code, with the bytes that leave the device;
- draws.json: a survey that asks each person a pair of questions or one, the block that each code draws,
  and its sealed answers; then alterations that are refused;
- finite.json and rounds.json: a small survey, and one in rounds, with sealed answers and alterations;
- drawn_rounds.json: the same for a survey in rounds that asks each device one question, the same in all.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import numpy as np

from tests.parity.mechanisms._device_check import planar_odds
from tests.reference_source import ReferenceSource
from warner.collector.survey_document import survey_bytes, survey_digest, survey_document
from warner.mechanisms import Mechanism, OneOf, Permanent
from warner.mechanisms.device_program import fraction, numbers
from warner.reports.reports import Reports
from warner.studies.study import Study

SURVEY = """
languages = ["en", "de"]
title = { en = "Health", de = "Gesundheit" }
introduction = { en = "Six questions.", de = "Sechs Fragen." }
[collect]
access = "invited"
contact = "survey@example.org"
opens = 2026-01-01T08:00:00+01:00
[public.ward]
values = ["north", "south"]
label = { en = "Ward", de = "Bezirk" }
[public.visit]
dates = "week"
[attributes.smokes]
label = { en = "Do you smoke?", de = "Rauchen Sie?" }
help = { en = "Tobacco of any kind.", de = "Tabak jeder Art." }
values = ["nie", "café", "oft"]
answers = { de = ["nie", "im Café", "oft"] }
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.drinks]
integers = [0, 20]
unit = "glasses"
missing = "answer"
mechanism = "SubsetSelection"
epsilon = 1.5
[attributes.hours]
interval = { low = 0, high = 60, bins = 12, clip = true }
missing = "answer"
mechanism = "SquareWave"
cells = 64
epsilon = 2.0
[attributes.place]
grid = { rows = 3, columns = 2, side = 0.5, without = [[0, 1]] }
mechanism = "PlanarGeometric"
epsilon = 1.0
[attributes.steps]
integers = [-10, 10]
mechanism = "Laplace"
epsilon = 1.0
reports = 2
[attributes.fit]
values = [true, false]
mechanism = "UnaryEncoding"
epsilon = 1.0
"""
DRAWN = """
[collect]
access = "invited"
[public.ward]
values = ["north", "south"]
[ask]
each = "pair"
epsilon = 2.0
[attributes.smokes]
values = ["nie", "café", "oft"]
[attributes.drinks]
integers = [0, 20]
missing = "answer"
[attributes.fit]
values = [true, false]
missing = "answer"
"""
DRAWN_ANSWERS: list[dict[str, Any]] = [
    {"smokes": "café", "drinks": 7, "fit": True},
    {"smokes": "oft", "drinks": None, "fit": None},
    {"smokes": "nie", "drinks": 20, "fit": False},
]
FINITE = """
languages = ["en", "de"]
title = { en = "Health", de = "Gesundheit" }
introduction = { en = "Five questions.", de = "Fünf Fragen." }
[collect]
access = "invited"
[public.ward]
values = ["north", "south"]
[attributes.smokes]
values = ["nie", "café", "oft"]
answers = { de = ["nie", "im Café", "oft"] }
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.drinks]
integers = [0, 20]
missing = "answer"
mechanism = "SubsetSelection"
epsilon = 1.5
[attributes.hours]
interval = { low = 0, high = 60, bins = 12, clip = true }
missing = "answer"
mechanism = "HadamardResponse"
epsilon = 2.0
[attributes.place]
grid = { rows = 3, columns = 2, side = 0.5, without = [[0, 1]] }
mechanism = "LocalHashing"
epsilon = 1.0
[attributes.fit]
values = [true, false]
mechanism = "UnaryEncoding"
epsilon = 1.0
"""
ROUNDS = """
[collect]
access = "invited"
[repeat]
rounds = 4
round = 2
forever = 2.0
values = 2
[public.ward]
values = ["north", "south"]
[attributes.smokes]
values = ["nie", "café", "oft"]
mechanism = "RandomizedResponse"
epsilon = 0.5
[attributes.drinks]
integers = [0, 20]
missing = "answer"
mechanism = "SubsetSelection"
epsilon = 0.5
[attributes.place]
grid = { rows = 3, columns = 2, side = 0.5 }
mechanism = "LocalHashing"
epsilon = 0.5
[attributes.hours]
interval = { low = 0, high = 60, bins = 12 }
mechanism = "HadamardResponse"
epsilon = 0.5
[attributes.fit]
values = [true, false]
mechanism = "UnaryEncoding"
epsilon = 0.5
"""
DRAWN_ROUNDS = """
[collect]
access = "invited"
[repeat]
rounds = 4
round = 2
forever = 2.0
values = 2
[ask]
each = "one"
epsilon = 0.5
[public.ward]
values = ["north", "south"]
[attributes.smokes]
values = ["nie", "café", "oft"]
mechanism = "RandomizedResponse"
[attributes.drinks]
integers = [0, 20]
missing = "answer"
mechanism = "SubsetSelection"
[attributes.place]
grid = { rows = 3, columns = 2, side = 0.5 }
mechanism = "LocalHashing"
[attributes.fit]
values = [true, false]
missing = "answer"
mechanism = "UnaryEncoding"
"""
PUBLIC = [{"ward": "south", "visit": "2024-05-31"}, {"ward": "north", "visit": "2026-W01"}]
ANSWERS: list[dict[str, Any]] = [
    {"smokes": "café", "drinks": 7, "hours": 12.5, "place": [2, 1], "steps": 10, "fit": True},
    {"smokes": "oft", "drinks": None, "hours": None, "place": [0, 0], "steps": -10, "fit": False},
    {"smokes": "nie", "drinks": 20, "hours": 99.0, "place": [1, 0], "steps": 0, "fit": True},
]
FINITE_ANSWERS = [{n: a for n, a in answers.items() if n != "steps"} for answers in ANSWERS]
ROUNDS_ANSWERS = [{**answers, "hours": 4.9 + i} for i, answers in enumerate(FINITE_ANSWERS)]
CODES = ["ABCD-EFGH-JKMN-PQRS", "2345-6789-TVWX-YZAB", "ZZZZ-2222-YYYY-3333"]
_WORDS = 400


def alterations(document: Mapping[str, Any]) -> list[tuple[str, list[Any], str]]:
    """(what is altered, [[path, value]], the name of the error) of each refused document."""
    question = ["questions", 0]
    program = [*question, "program"]
    own, other = (int(document["questions"][0]["program"][key], 16) for key in ("own", "other"))
    wider = hex(2 * own if 2 * own + 2 * other <= 2**64 else own + own // 2)
    allowed = [[*program, "odds_at_most", "numerator"], hex(1 << 90)]
    plain = hex(own - own // 2)
    return [
        ("another format", [[["format"], 2]], "malformed"),
        ("a digest that is too short", [[["study"], "abc"]], "malformed"),
        ("no languages", [[["languages"], []]], "malformed"),
        ("a language twice", [[["languages"], ["en", "en"]]], "malformed"),
        ("a title without a language", [[["title"], {"en": "Health"}]], "malformed"),
        ("no questions", [[["questions"], []]], "malformed"),
        ("a name twice", [[[*question, "name"], "drinks"]], "malformed"),
        ("the name of a public column", [[[*question, "name"], "ward"]], "malformed"),
        ("a moment that is none", [[["opens"], "soon"]], "malformed"),
        ("another access", [[["access"], "everyone"]], "malformed"),
        ("an epsilon that is a text", [[["epsilon"], "1"]], "malformed"),
        ("one displayed answer less", [[[*question, "answers", "de"], ["a", "b"]]], "malformed"),
        ("a label twice", [[[*question, "domain", "values"], ["a", "a", "b"]]], "malformed"),
        (
            "a label more",
            [
                [[*question, "domain", "values"], ["a", "b", "c", "d"]],
                [[*question, "answers"], {tag: list("abcd") for tag in ("en", "de")}],
            ],
            "malformed",
        ),
        ("another kind of domain", [[[*question, "domain", "kind"], "colours"]], "malformed"),
        ("a silence that the program lacks", [[[*question, "silence"], True]], "malformed"),
        ("silence that is left out", [[["questions", 2, "silence"], False]], "malformed"),
        ("limits in the wrong order", [[["questions", 2, "domain", "high"], -1]], "malformed"),
        ("a program of another format", [[[*program, "format"], 2]], "unknown_format"),
        ("an unknown sampler", [[[*program, "sampler"], "honest"]], "unknown_sampler"),
        ("an integer as a decimal text", [[[*program, "own"], str(own)]], "malformed"),
        ("a float", [[[*program, "own"], 0.5]], "malformed"),
        ("widths beyond 2^64", [[[*program, "own"], hex(2**64)]], "not_a_law"),
        ("another column", [[[*program, "columns", 0, "dtype"], "<u2"]], "columns_differ"),
        ("other integers", [[[*program, "own"], plain]], "odds_differ"),
        ("odds of other integers", [[[*program, "odds", "numerator"], wider]], "odds_differ"),
        (
            "a likelier true answer with its odds",
            [
                [[*program, "other"], hex(other // 2)],
                [[*program, "odds"], _odds(own, other // 2)],
            ],
            "odds_exceed",
        ),
        (
            "and with a higher bound",
            [
                [[*program, "other"], hex(other // 2)],
                [[*program, "odds"], _odds(own, other // 2)],
                allowed,
            ],
            "odds_exceed",
        ),
        (
            "and with a higher epsilon of the question",
            [
                [[*program, "other"], hex(other // 2)],
                [[*program, "odds"], _odds(own, other // 2)],
                allowed,
                [[*question, "epsilon"], 2.0],
            ],
            "odds_exceed",
        ),
        (
            "odds that are no protection, with all that they need",
            [
                [[*program, "own"], hex(2**63)],
                [[*program, "other"], 2**40],
                [[*program, "odds"], _odds(2**63, 2**40)],
                allowed,
                [[*question, "epsilon"], 20.0],
                [["epsilon"], 60.0],
            ],
            "unprotected",
        ),
        ("a smaller epsilon of many cells, one of which is left out", many_cells(), "odds_exceed"),
        ("a protection that is weak by a text", [[["weak_protection"], "yes"]], "malformed"),
        ("a smaller epsilon", [[[*question, "epsilon"], 0.9]], "odds_exceed"),
        ("a smaller epsilon of all", [[["epsilon"], 3.0]], "odds_exceed"),
    ]


def many_cells() -> list[Any]:
    """Of 33 x 33 cells: masses that fall by a tenth from row to row and from column to column, with
    the epsilon of 32 such steps. Opposite corners are 64 steps apart.
    """
    side, fall = 33, [10**9]
    for _ in range(side - 2):
        fall.append(fall[-1] * 9 // 10)
    fall.append(fall[-1] * 9)  # and all beyond
    total = (fall[0] + 2 * sum(fall[1:])) ** 2
    masses = [[2**64 * a * b // total for b in fall] for a in fall]
    often = [1, *[2] * (side - 1)]
    masses[0][0] += 2**64 - sum(
        often[i] * often[j] * mass for i, row in enumerate(masses) for j, mass in enumerate(row)
    )
    program = {
        "format": 1,
        "sampler": "planar",
        "answer": "index",
        "size": side**2 - 1,
        "words": 1,
        "shape": [side, side],
        "quadrant": [numbers(row) for row in masses],
        "places": list(range(1, side**2)),
        "reports": [0, *range(side**2 - 1)],
        "columns": [{"name": "report", "dtype": "<u2", "length": 1}],
        "odds_at_most": {"numerator": 2, "denominator": 1},
    }
    ratio = planar_odds(program)
    program["odds"] = {**fraction(ratio), "between": "neighbours", "power": 1}
    grid = {"kind": "grid", "rows": side, "columns": side, "side": 1.0, "without": [[0, 0]]}
    place = ["questions", 3]
    return [
        [[*place, "domain"], grid],
        [[*place, "program"], program],
        [[*place, "epsilon"], round(32 * math.log(ratio) + 0.01, 6)],
        [["epsilon"], 100.0],
    ]


def _odds(high: int, low: int) -> dict[str, Any]:
    """The entry ``odds`` of a program."""
    texts = [hex(value) if value >= 2**53 else value for value in (high, low)]
    return {"numerator": texts[0], "denominator": texts[1], "between": "any", "power": 1}


def studies() -> dict[str, Any]:
    what = (
        "The text of the first case, served as bytes, has this SHA-256 and is accepted. Each other "
        "case sets the entries at these paths of its JSON, and is refused with this name."
    )
    study = Study.parse(SURVEY)
    served, document = survey_bytes(study), survey_document(study)
    cases: list[dict[str, Any]] = [
        {"name": "as served", "served": served.decode(), "sha256": survey_digest(served)}
    ]
    cases += [
        {"name": name, "edits": edits, "error": error}
        for name, edits, error in alterations(document)
    ]
    return {"what": what, "cases": cases}


def submissions() -> dict[str, Any]:
    what = (
        "The answers of one person to the survey of studies.json, in the order of its questions, with "
        "these words, an invitation code and public answers, are sealed as these bytes."
    )
    study, rng = Study.parse(SURVEY), random.Random(20)
    return {"what": what, "cases": _people(study, ANSWERS, rng)}


def _people(
    study: Study, answers_of: list[dict[str, Any]], rng: random.Random
) -> list[dict[str, Any]]:
    """The sealed answers of invited people, with permanent reports where the survey has rounds."""
    cases = []
    for i, (answers, code) in enumerate(zip(answers_of, CODES, strict=True)):
        words = [rng.getrandbits(64) for _ in range(_WORDS)]
        source = ReferenceSource(words)
        public = {name: PUBLIC[i % len(PUBLIC)][name] for name in study.public}
        memos, records = {}, []
        for name, mechanism in study.mechanisms.items():
            if isinstance(mechanism, Permanent):
                drawn = ReferenceSource([rng.getrandbits(64) for _ in range(_WORDS)])
                kept = mechanism.memo.randomize_encoded(_encoded(study, name, answers), drawn)
                memos[name] = Reports(mechanism.memo.header, kept).records()[0].hex()
                columns = mechanism.degrade(kept, source)
            else:
                columns = mechanism.randomize_encoded(_encoded(study, name, answers), source)
            records.append(Reports(mechanism.header, columns).records()[0].hex())
        index = [int(domain.encode([public[name]])[0]) for name, domain in study.public.items()]
        text = f"warner invitation\n{study.digest}\n{code.replace('-', '')}"
        own = hashlib.sha256(text.encode()).digest()[:16]
        sealed = own + np.array(index, dtype="<i4").tobytes() + bytes.fromhex("".join(records))
        cases.append(
            {
                "answers": answers,
                "public": public,
                "code": code,
                **({"memos": memos} if memos else {}),
                "words": [hex(word) for word in words[: source.used + 1]],
                "used": source.used,
                "id": own.hex(),
                "records": records,
                "submission": sealed.hex(),
                "body": (b"WRN1" + bytes.fromhex(study.layout) + sealed).hex(),
            }
        )
    return cases


def finite() -> dict[str, Any]:
    """A survey that a client without doubles can answer, see clients/README.md."""
    what = (
        "The first case is a survey of finite answers, whose programs are direct, bits, hash, subset and "
        "hadamard. The answers of these people are sealed as these bytes. The last cases set entries of "
        "the survey, as studies.json."
    )
    study = Study.parse(FINITE)
    cases = [_served(study), *_people(study, FINITE_ANSWERS, random.Random(22))]
    cases += [
        {"name": name, "edits": edits, "error": error}
        for name, edits, error in alterations(survey_document(study))
        if not any(path[:2] in (["questions", 2], ["questions", 3]) for path, _ in edits)
    ]
    return {"what": what, "cases": cases}


def rounds() -> dict[str, Any]:
    what = (
        "The first case is round 2 of a survey of 4. Devices that keep these permanent reports, memos, seal "
        "the answers of these people as these bytes. The last cases set entries of the survey."
    )
    study = Study.parse(ROUNDS)
    cases = [_served(study), *_people(study, ROUNDS_ANSWERS, random.Random(23))]
    repeat = survey_document(study)["repeat"]
    wrong: list[tuple[str, list[Any], str]] = [
        ("a round after the last", [[["repeat", "round"], 5]], "malformed"),
        ("no rounds", [[["repeat"], None]], "malformed"),
        ("a smaller epsilon for ever", [[["repeat", "epsilon"], repeat["epsilon"] - 0.1]], "odds_exceed"),
        ("more permanent reports", [[["repeat", "values"], 3]], "odds_exceed"),
        ("a coin without bits", [[["questions", 0, "program", "coin"], hex(2**60)]], "not_a_law"),
        ("a round that keeps all", [[["questions", 0, "program", "keep"], hex(2**64)]], "not_a_law"),
        ("a round that keeps more", [[["questions", 0, "program", "keep"], hex(2**64 - 1)]], "odds_differ"),
    ]  # fmt: skip
    cases += [{"name": name, "edits": edits, "error": error} for name, edits, error in wrong]
    return {"what": what, "cases": cases}


def _served(study: Study) -> dict[str, Any]:
    served = survey_bytes(study)
    return {"name": "as served", "served": served.decode(), "sha256": survey_digest(served)}


def draws() -> dict[str, Any]:
    what = (
        "In the survey of the first case, each code draws this block. The answers to its questions, with "
        "these words, are sealed as these bytes. The last cases set entries of the survey, as studies.json."
    )
    study = Study.parse(DRAWN)
    served = survey_bytes(study)
    cases: list[dict[str, Any]] = [{"served": served.decode(), "sha256": survey_digest(served)}]
    cases += _invited_to_blocks(study, study.digest, DRAWN_ANSWERS, random.Random(21))
    program = survey_document(study)["program"]
    cases += [
        {"name": n, "edits": edits, "error": error} for n, edits, error in _drawn_wrong(program)
    ]
    return {"what": what, "cases": cases}


def drawn_rounds() -> dict[str, Any]:
    what = (
        "The first case is round 2 of a survey of 4, in which each device draws one question for all "
        "rounds. Each code draws this block. Devices that keep this permanent report, memos, seal the "
        "answer with these words as these bytes. The last cases set entries of the survey."
    )
    study = Study.parse(DRAWN_ROUNDS)
    document = survey_document(study)
    repeat, program = document["repeat"], document["program"]
    # The name of the draw, by its definition: the questions and the headers of their permanent reports.
    assert isinstance(study.draw, OneOf)
    series = [[name, inner.memo.header] for name, inner in study.draw.permanent.items()]
    text = json.dumps(series, sort_keys=True, separators=(",", ":"))
    name = hashlib.sha256(text.encode()).hexdigest()
    cases = [
        _served(study),
        *_invited_to_blocks(study, name, ROUNDS_ANSWERS, random.Random(24)),
    ]
    before, _, after = DRAWN_ROUNDS.partition("[repeat]")
    once = survey_document(Study.parse(before + after[after.index("[ask]") :]))["program"]
    pair = ["program", "blocks", 0, "attributes"]
    wrong: list[tuple[str, list[Any], str]] = [
        ("a round after the last", [[["repeat", "round"], 5]], "malformed"),
        ("no rounds", [[["repeat"], None]], "malformed"),
        ("a draw without a name", [[["repeat", "draw"], None]], "malformed"),
        ("a name of capital letters", [[["repeat", "draw"], name.upper()]], "malformed"),
        ("questions of one round", [[["program"], once]], "malformed"),
        ("a block of two questions", [[pair, ["smokes", "fit"]]], "malformed"),
        ("another question", [[pair, ["wine"]]], "malformed"),
        ("a smaller epsilon for ever", [[["repeat", "epsilon"], repeat["epsilon"] - 0.1]], "odds_exceed"),
        ("more permanent reports", [[["repeat", "values"], 3]], "odds_exceed"),
        ("a smaller epsilon of a question", [[["questions", 2, "epsilon"], 0.4]], "odds_exceed"),
        ("a smaller epsilon of all", [[["epsilon"], 0.4]], "odds_exceed"),
        ("odds that do not add up", [[["program", "draw", 0], 1]], "not_a_law"),
        ("a round that keeps all", [[["program", "programs", 0, "keep"], hex(2**64)]], "not_a_law"),
        ("a round that keeps more", [[["program", "programs", 0, "keep"], hex(2**64 - 1)]], "odds_differ"),
        ("fewer columns", [[["program", "columns"], program["columns"][:-1]]], "columns_differ"),
    ]  # fmt: skip
    cases += [{"name": name, "edits": edits, "error": error} for name, edits, error in wrong]
    return {"what": what, "cases": cases}


def _invited_to_blocks(
    study: Study, name: str, answers_of: list[dict[str, Any]], rng: random.Random
) -> list[dict[str, Any]]:
    """The sealed answers of twelve invited people to the blocks that their codes draw under a name."""
    cases, draw = [], study.draw
    assert isinstance(draw, OneOf)
    for i in range(12):
        code = "".join(rng.choices("23456789ABCDEFGHJKMNPQRSTVWXYZ", k=16))
        text = f"warner block\n{name}\n{code}"
        word = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        block = bisect_right(list(accumulate(draw.odds))[:-1], word)
        names = draw.blocks[block]
        answers = {name: answers_of[i % len(answers_of)][name] for name in names}
        words = [rng.getrandbits(64) for _ in range(_WORDS)]
        source, inner = ReferenceSource(words), list(draw.parts.values())[block]
        memos = {}
        if isinstance(inner, Permanent):
            drawn = ReferenceSource([rng.getrandbits(64) for _ in range(_WORDS)])
            kept = inner.memo.randomize_encoded(_as_encoded(inner, answers[names[0]]), drawn)
            memos = {names[0]: Reports(inner.memo.header, kept).records()[0].hex()}
            columns = inner.degrade(kept, source)
        else:
            columns = inner.randomize_encoded(inner.encode([answers]), source)
        joined = draw.schema.join(np.array([block]), {block: columns})
        record = Reports(draw.header, joined).records()[0]
        text = f"warner invitation\n{study.digest}\n{code}"
        sealed = hashlib.sha256(text.encode()).digest()[:16] + bytes(4) + record
        cases.append(
            {
                "code": code,
                "block": block,
                "answers": answers,
                "public": {"ward": "north"},
                **({"memos": memos} if memos else {}),
                "words": [hex(word) for word in words[: source.used + 1]],
                "used": source.used,
                "body": (b"WRN1" + bytes.fromhex(study.layout) + sealed).hex(),
            }
        )
    return cases


def _drawn_wrong(program: Mapping[str, Any]) -> list[tuple[str, list[Any], str]]:
    """Alterations of a survey whose questions are drawn, with the error that refuses each."""
    blocks = program["blocks"]
    return [
        ("a program of one question", [[["program"], program["programs"][0]]], "malformed"),
        (
            "a program beside it",
            [[["questions", 0, "program"], program["programs"][0]]],
            "malformed",
        ),
        ("another question", [[["questions", 0, "name"], "smoked"]], "malformed"),
        ("silence that is left out", [[["questions", 1, "silence"], False]], "malformed"),
        (
            "a block of another question",
            [[["program", "blocks", 0, "attributes"], ["smokes", "wine"]]],
            "malformed",
        ),
        (
            "a program of other values",
            [[["program", "blocks", 0, "program"], blocks[1]["program"]]],
            "malformed",
        ),
        ("a smaller epsilon of a question", [[["questions", 2, "epsilon"], 1.9]], "odds_exceed"),
        ("a smaller epsilon of all", [[["epsilon"], 1.9]], "odds_exceed"),
        ("odds that do not add up", [[["program", "draw", 0], 1]], "not_a_law"),
    ]


def _encoded(study: Study, name: str, answers: Mapping[str, Any]) -> np.ndarray:
    """One encoded answer to a question, as a column."""
    return _as_encoded(study.mechanisms[name], answers[name])


def _as_encoded(mechanism: Mechanism, answer: Any) -> np.ndarray:
    return mechanism.encode([tuple(answer) if isinstance(answer, list) else answer])
