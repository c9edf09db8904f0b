"""Make the known answers that every client of device programs must give: ``make vectors``.

docs/device_programs.md defines the programs. A file is ``{"what": .., "cases": [..]}``:

- samplers.json: a program, and draws: an encoded answer and words, with the record of the report in
  hexadecimal, and how many of the words were used;
- programs.json: programs with altered entries, and the name of the error that refuses each;
- encodings.json: a domain and answers, with the index and the position of each.
- studies.json, submissions.json, draws.json, finite.json, rounds.json and drawn_rounds.json, see
  surveys.py.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import warner
from tests.reference_source import ReferenceSource
from tests.vectors.surveys import drawn_rounds, draws, finite, rounds, studies, submissions
from warner import Categorical, Grid, Integers, Interval, Product
from warner.domains import Domain, Optional
from warner.mechanisms import Mechanism
from warner.mechanisms.device_program import number
from warner.reports.reports import Reports

HERE = Path(__file__).parent
ONE = 2**64
_WORDS = 400  # offered for a draw; the file holds those that were used, and one more


def with_nonresponse(mechanism: Mechanism) -> Mechanism:
    return warner.mechanisms.WithNonresponse(mechanism)


def permanent(mechanism: Mechanism) -> Mechanism:
    return warner.mechanisms.Permanent(mechanism, 2 * mechanism.requested)


def mechanisms() -> dict[str, Mechanism]:
    """The mechanisms whose programs are written, by the names of the cases."""
    six, seventeen = Integers(0, 5), Integers(1, 17)
    two = Categorical(["no", "yes"])
    rng = np.random.default_rng(5)
    matrix = rng.random((4, 3)) + 0.05
    blocked = np.array([[0.6, 0.2, 0.3], [0.4, 0.8, 0.3], [0.0, 0.0, 0.4]])
    return {
        "direct, two values": warner.RandomizedResponse(two, 1.0),
        "direct, six values": warner.RandomizedResponse(six, 0.5),
        "direct, 300 values": warner.RandomizedResponse(Integers(0, 299), 3.0),
        "bits, six values": warner.UnaryEncoding(six, 1.0),
        "bits, 17 values, optimised": warner.UnaryEncoding(seventeen, 2.0, variant="oue"),
        "hash, functions over a field": warner.LocalHashing(six, 1.0),
        "hash, the field of two residues": warner.LocalHashing(two, 1.0),
        "hash, 70,000 values": warner.LocalHashing(Integers(1, 70_000), 2.0),
        "hash, seeds": warner.LocalHashing(seventeen, 1.0, seeds=40),
        "hash, two buckets": warner.LocalHashing(six, 0.5, buckets=2, seeds=300),
        "subset, small": warner.SubsetSelection(seventeen, 1.0),
        "subset, by its complement": warner.SubsetSelection(six, 1.0, size=4),
        "subset, all but one": warner.SubsetSelection(six, 0.5, size=5),
        "subset, two values": warner.SubsetSelection(two, 1.0),
        "hadamard, six values": warner.HadamardResponse(six, 1.0),
        "hadamard, 300 values": warner.HadamardResponse(Integers(0, 299), 2.0),
        "table": warner.MatrixMechanism(Categorical(["a", "b", "c"]), matrix / matrix.sum(axis=0)),
        "table, one value not sensitive": warner.MatrixMechanism(
            Categorical(["a", "b", "c"]), blocked, sensitive=["a", "b"]
        ),
        "utility_direct": warner.UtilityOptimizedRR(six, 1.0, sensitive=[1, 4]),
        "utility_direct, one sensitive": warner.UtilityOptimizedRR(six, 0.5, sensitive=[5]),
        "utility_direct, all sensitive": warner.UtilityOptimizedRR(two, 1.0, ["no", "yes"]),
        "utility_subset": warner.mechanisms.UtilityOptimizedSubset(six, 1.0, [0, 1, 3, 4], 2),
        "utility_subset, ten of 17": warner.mechanisms.UtilityOptimizedSubset(
            seventeen, 0.5, sensitive=range(3, 13)
        ),
        "utility_subset, by its complement": warner.mechanisms.UtilityOptimizedSubset(
            six, 1.0, [1, 2, 3, 4, 5], 4
        ),
        "utility_subset, one sensitive": warner.mechanisms.UtilityOptimizedSubset(six, 0.5, [5]),
        "utility_subset, all sensitive": warner.mechanisms.UtilityOptimizedSubset(
            six, 1.0, range(6), 3
        ),
        "utility_bits": warner.mechanisms.UtilityOptimizedRappor(six, 1.0, sensitive=[1, 4]),
        "utility_bits, nine of 17": warner.mechanisms.UtilityOptimizedRappor(
            seventeen, 2.0, sensitive=list(range(2, 11)), variant=0.7
        ),
        "utility_bits, one sensitive": warner.mechanisms.UtilityOptimizedRappor(two, 1.0, ["yes"]),
        "utility_bits, all sensitive": warner.mechanisms.UtilityOptimizedRappor(
            two, 1.0, ["no", "yes"]
        ),
        "projective, a plane": warner.mechanisms.ProjectiveGeometryResponse(seventeen, 1.0),
        "projective, a line": warner.mechanisms.ProjectiveGeometryResponse(two, 0.5),
        "projective, five digits": warner.mechanisms.ProjectiveGeometryResponse(
            Integers(0, 99), 1.0, prime=3
        ),
        "projective, blocks": warner.mechanisms.ProjectiveGeometryResponse(
            seventeen, 2.0, prime=2, blocks=3
        ),
        "projective, blocks of one value": warner.mechanisms.ProjectiveGeometryResponse(
            six, 2.0, prime=2, blocks=6
        ),
        "window, square wave": warner.SquareWave(Interval(0, 1, 8), 1.0, cells=64),
        "window, square wave of integers": warner.SquareWave(six, 3.0),
        "window, piecewise": warner.mechanisms.Piecewise(Interval(-1, 1, 4), 1.0, cells=9),
        "window, stochastic rounding": warner.mechanisms.StochasticRounding(six, 1.0),
        "noise, Laplace of integers": warner.Laplace(six, 1.0, reach=2),
        "noise, Laplace of an interval": warner.Laplace(Interval(0, 10, 5), 1.0, cells=20),
        "noise, Laplace of one step": warner.Laplace(six, 1.0, sensitivity=1, reach=1),
        "noise, geometric": warner.mechanisms.Geometric(six, 0.25),
        "noise, geometric, steep": warner.mechanisms.Geometric(six, 7.0),
        "noise, truncated geometric": warner.mechanisms.TruncatedGeometric(seventeen, 0.01),
        "exponential, integers": warner.mechanisms.Exponential(six, 1.0),
        "exponential, a grid": warner.mechanisms.Exponential(Grid(3, 4), 1.0),
        "exponential, a grid of tenths": warner.mechanisms.Exponential(Grid(4, 5, 0.1), 6.0),
        "exponential, cells left out": warner.mechanisms.Exponential(
            Grid(3, 3, 0.5, without=[(0, 0), (1, 1)]), 2.0
        ),
        "planar, geometric": warner.PlanarGeometric(Grid(3, 4), 1.0),
        "planar, Laplace": warner.mechanisms.PlanarLaplace(Grid(2, 3, 0.5), 2.0),
        "planar, two rows": warner.PlanarGeometric(Grid(2, 2), 0.5),
        "planar, reports outside": warner.PlanarGeometric(
            Grid(3, 4), 1.0, truncated=False, reach=1
        ),
        "planar, cells left out": warner.PlanarGeometric(
            Grid(3, 3, without=[(0, 0), (1, 1)]), 1.0, reach=1
        ),
        "gaussian, an interval": warner.mechanisms.Gaussian(Interval(0, 1, 4), 8.0, delta=0.1),
        "gaussian, a grid": warner.mechanisms.Gaussian(Grid(2, 3), 20.0, delta=0.1),
        "repeated": warner.mechanisms.Repeated(warner.RandomizedResponse(six, 0.5), 3),
        "repeated, three mechanisms": warner.mechanisms.Repeated(
            [
                warner.RandomizedResponse(six, 0.5),
                warner.UnaryEncoding(six, 0.5),
                warner.RandomizedResponse(six, 0.5),
                warner.SquareWave(six, 1.0, cells=16),
            ]
        ),
        "repeated, steps": warner.mechanisms.Repeated(
            warner.mechanisms.Geometric(six, 0.5, reach=2), 2
        ),
        "silence as a value": warner.SubsetSelection(Optional(six), 1.0),
        "silence, square wave": with_nonresponse(
            warner.SquareWave(Interval(0, 1, 8), 1.0, cells=16)
        ),
        "silence, stochastic rounding": with_nonresponse(
            warner.mechanisms.StochasticRounding(six, 1.0)
        ),
        "silence, Laplace of integers": with_nonresponse(warner.Laplace(six, 1.0, reach=1)),
        "silence, Laplace of an interval": with_nonresponse(
            warner.Laplace(Interval(0, 1, 4), 2.0, cells=5, reach=1)
        ),
        "silence, repeated": warner.mechanisms.Repeated(
            with_nonresponse(warner.SquareWave(six, 1.0, cells=16)), 2
        ),
        "permanent, values": permanent(warner.RandomizedResponse(six, 1.0)),
        "permanent, subsets": permanent(warner.SubsetSelection(seventeen, 1.0)),
        "permanent, complements of subsets": permanent(warner.SubsetSelection(six, 1.0, size=5)),
        "permanent, signs": permanent(warner.HadamardResponse(six, 1.0)),
        "permanent, points": permanent(
            warner.mechanisms.ProjectiveGeometryResponse(seventeen, 2.0, prime=2, blocks=3)
        ),
        "permanent, hashes": permanent(warner.LocalHashing(six, 1.0)),
        "permanent, seeds": permanent(warner.LocalHashing(six, 1.0, seeds=40)),
        "permanent, bits": permanent(warner.UnaryEncoding(seventeen, 1.0, variant="oue")),
        "permanent, RAPPOR": warner.mechanisms.Permanent.rappor(six, 0.5, 0.5, 0.75),
        "two attributes together": warner.RandomizedResponse(
            Product(smokes=two, age=Integers(0, 2)), 1.0
        ),
        "each": warner.PerAttribute(
            Product(smokes=two, age=six),
            {
                "smokes": lambda d: warner.RandomizedResponse(d, 1.0),
                "age": lambda d: warner.SquareWave(d, 1.0, cells=12),
            },
        ),
        "one_of, questions": warner.OneOf(
            Product(smokes=two, age=six, place=Grid(3, 6), hours=Optional(Interval(0, 1, 8))),
            mechanisms={
                "smokes": lambda d: warner.RandomizedResponse(d, 1.0),
                "age": lambda d: warner.SquareWave(d, 1.0, cells=300),
                "place": lambda d: warner.LocalHashing(d, 1.0),
                "hours": lambda d: with_nonresponse(warner.SquareWave(d.answered, 1.0, cells=16)),
            },
            odds={"smokes": 1, "age": 2, "place": 3, "hours": 4},
        ),
        "one_of, pairs": warner.OneOf(
            Product(smokes=two, age=six, drinks=Optional(seventeen)),
            2.0,
            blocks="pairs",
            mechanisms=warner.SubsetSelection,
            odds={("smokes", "age"): 1, ("smokes", "drinks"): 2, ("age", "drinks"): 4},
        ),
        "one_of, a pair and a question": warner.OneOf(
            Product(smokes=two, age=six, drinks=seventeen),
            1.0,
            [("age", "smokes"), "drinks"],
            mechanisms=warner.RandomizedResponse,
            odds={("age", "smokes"): 2, "drinks": 1},
        ),
        "one_of, two questions": warner.OneOf(
            Product(smokes=two, age=six, drinks=seventeen),
            2.0,
            mechanisms=warner.UnaryEncoding,
            ask=2,
        ),
    }


def _integers(entry: Any) -> Iterator[int]:
    """All integers of a program."""
    if isinstance(entry, dict):
        for part in entry.values():
            yield from _integers(part)
    elif isinstance(entry, list):
        for part in entry:
            yield from _integers(part)
    elif isinstance(entry, str) and entry.startswith("0x"):
        yield int(entry, 16)
    elif isinstance(entry, int) and not isinstance(entry, bool):
        yield entry


def boundary_words(program: dict[str, Any]) -> list[int]:
    """Words at which some decision of a program changes, and their neighbours."""
    edges = {0, ONE}
    sampled = {k: v for k, v in program.items() if k not in ("odds", "odds_at_most", "columns")}
    for value in set(_integers(sampled)):
        edges |= {value % ONE, ONE - value % ONE}
        if 1 < value < 2**20:
            width = ONE // value
            edges |= {width, width * (value // 2), width * (value - 1), width * value}
    own, other = (
        int(str(program.get(name, 0)), 0) if name in program else 0 for name in ("own", "other")
    )
    count = program.get("buckets", program.get("size", 1))
    if other and isinstance(count, int):
        edges |= {other * (count - 1), other * (count - 1) + own, own + other}
    for column in [*program.get("numerators", []), program.get("draw", [])]:
        total = 0
        for value in column:
            total += int(str(value), 0)
            edges.add(total)
    return sorted({(e + d) % ONE for e in edges for d in (-1, 0, 1)})


def draw(mechanism: Mechanism, encoded: Any, words: list[int]) -> tuple[str, int]:
    """The record of one report by the reference sampler, in hexadecimal, and the words used."""
    source = ReferenceSource(words)
    if isinstance(mechanism, warner.OneOf):  # answers to the block that is drawn, and no others
        (block,) = mechanism.draw_blocks(1, source)
        inner = list(mechanism.parts.values())[block]
        columns = inner.randomize_encoded(as_encoded(inner, encoded[block]), source)
        columns = mechanism.schema.join(np.array([block]), {block: columns})
        return Reports(mechanism.header, columns).record_array()[0].tobytes().hex(), source.used
    columns = mechanism.randomize_encoded(as_encoded(mechanism, encoded), source)
    return Reports(mechanism.header, columns).record_array()[0].tobytes().hex(), source.used


def as_encoded(mechanism: Mechanism, encoded: Any) -> Any:
    """One encoded answer of a file, in the form that ``encode`` returns."""
    if not isinstance(encoded, list):
        return np.array([np.nan if encoded is None else encoded])
    if isinstance(mechanism, warner.PerAttribute):
        parts = zip(mechanism.parts.items(), encoded, strict=True)
        return {name: as_encoded(part, answer) for (name, part), answer in parts}
    each = [np.array([np.nan if answer is None else answer]) for answer in encoded]
    return each[0] if len(each) == 1 else each


def answers_of(program: dict[str, Any], rng: random.Random) -> list[Any]:
    """Five encoded answers of a program: the first, the last, and some between."""
    if program["sampler"] == "one_of":
        programs = [program["programs"][block["program"]] for block in program["blocks"]]
        blocks = (answers_of(inner, rng) for inner in programs)
        return [list(answers) for answers in zip(*blocks, strict=True)]
    if program["answer"] == "parts":
        each = [answers_of(part["program"], rng) for part in program["parts"]]
        return [list(answers) for answers in zip(*each, strict=True)]
    inner = program.get("inner", program)
    if program["answer"] == "position":
        found = [0.0, 1.0, rng.random(), rng.randint(0, 5) / 5, 1 - 2**-53]
    else:
        last = inner["size"] - 1
        found = [0, last, rng.randint(0, last), rng.randint(0, last), rng.randint(0, last)]
    if program["sampler"] == "silence":
        found[2:4] = [None, None]
    return found


def sampler_case(name: str, mechanism: Mechanism) -> dict[str, Any]:
    """A program with draws of random words and of words at boundaries."""
    rng, program = random.Random(name), mechanism.device_program()
    edges, draws = boundary_words(program), []
    for share in (0.0, 0.3, 0.7):
        for encoded in answers_of(program, rng):
            words = [
                rng.choice(edges) if rng.random() < share else rng.getrandbits(64)
                for _ in range(_WORDS)
            ]
            record, used = draw(mechanism, encoded, words)
            offered = [hex(word) for word in words[: used + 1]]
            draws.append({"encoded": encoded, "words": offered, "record": record, "used": used})
    return {"name": name, "program": program, "draws": draws}


def samplers() -> dict[str, Any]:
    what = "A device with these words sends this record, and uses this many of the words."
    cases = [sampler_case(name, mechanism) for name, mechanism in mechanisms().items()]
    return {"what": what, "cases": cases}


_LEFT_OUT = object()


def altered(program: dict[str, Any], **entries: Any) -> dict[str, Any]:
    """A program with other entries, or without an entry."""
    made = {**program, **entries}
    return copy.deepcopy({name: v for name, v in made.items() if v is not _LEFT_OUT})


def _more(value: int | str, by: int = 1) -> int | str:
    """An integer of a program, changed by a little."""
    return number(int(str(value), 0) + by)


def _refused() -> Iterator[tuple[str, Any, str | None]]:
    """Programs with altered entries: a name, the program, and the error that refuses it."""
    known = {name: made.device_program() for name, made in mechanisms().items()}
    for name, program in known.items():
        yield f"{name}: as it is", program, None
    p = known["direct, six values"]
    fine, high, low = p["odds"], p["odds"]["numerator"], p["odds"]["denominator"]
    yield "no program", [], "malformed"
    yield "another format", altered(p, format=2), "unknown_format"
    yield "no format", altered(p, format=_LEFT_OUT), "unknown_format"
    yield "another format, another sampler", altered(p, format=2, sampler="x"), "unknown_format"
    yield "an unknown sampler", altered(p, sampler="laplace"), "unknown_sampler"
    yield "an unknown sampler, malformed", altered(p, sampler="", own=-1), "unknown_sampler"
    yield "an entry is missing", altered(p, own=_LEFT_OUT), "malformed"
    yield "an entry too many", altered(p, seeds=4), "malformed"
    yield "a negative integer", altered(p, other=-1), "malformed"
    yield "a float", altered(p, size=6.5), "malformed"
    yield "a boolean", altered(p, size=True), "malformed"
    yield "a number in decimal digits", altered(p, own="3000000000000000000"), "malformed"
    yield "upper-case digits", altered(p, own=str(p["own"]).upper().replace("X", "x")), "malformed"
    yield "a leading zero", altered(p, own=str(p["own"]).replace("0x", "0x0")), "malformed"
    yield "a small integer as a text", altered(p, size="0x6"), "malformed"
    yield "an answer that is not taken", altered(p, answer="position"), "malformed"
    yield "no odds", altered(p, odds={}), "malformed"
    yield "odds of zero", altered(p, odds={**fine, "denominator": 0}), "malformed"
    yield "other is zero", altered(p, other=0), "not_a_law"
    yield "more than all words", altered(p, own=hex(ONE - 5)), "not_a_law"
    wider = [{**p["columns"][0], "dtype": "<u2"}]
    yield "a wider column", altered(p, columns=wider), "columns_differ"
    yield "a column more", altered(p, columns=p["columns"] * 2), "columns_differ"
    named = [{**p["columns"][0], "name": "answer"}]
    yield "another name of a column", altered(p, columns=named), "columns_differ"
    yield "own is larger by one", altered(p, own=_more(p["own"])), "odds_differ"
    yield "other is smaller by one", altered(p, other=_more(p["other"], -1)), "odds_differ"
    yield "other odds", altered(p, odds={**fine, "numerator": _more(high)}), "odds_differ"
    yield "odds of neighbours", altered(p, odds={**fine, "between": "neighbours"}), "odds_differ"
    yield "another power", altered(p, odds={**fine, "power": 2}), "odds_differ"
    twice = {**fine, "numerator": number(2 * int(str(high), 0))}
    twice["denominator"] = number(2 * int(str(low), 0))
    yield "odds not in lowest terms", altered(p, odds=twice), None
    below = {"numerator": high, "denominator": _more(low)}
    yield "a bound just below the odds", altered(p, odds_at_most=below), "odds_exceed"
    exact = {"numerator": high, "denominator": low}
    yield "a bound that is the odds", altered(p, odds_at_most=exact), None
    doubled = altered(
        p, own=p["other"], other=p["other"], odds={**fine, "numerator": 1, "denominator": 1}
    )
    yield "reports that tell nothing", doubled, None
    yield from _refused_of_others(known)


def _refused_of_others(known: dict[str, dict[str, Any]]) -> Iterator[tuple[str, Any, str | None]]:
    """One or more altered integers of each other sampler."""
    p = known["bits, six values"]
    yield "bits: keep and raised", altered(p, keep=p["raised"], raised=p["keep"]), "not_a_law"
    yield "bits: raised", altered(p, raised=_more(p["raised"], -1)), "odds_differ"
    p = known["hash, functions over a field"]
    yield "hash: a prime below the values", altered(p, prime=5), "not_a_law"
    yield "hash: another prime", altered(p, prime=257), "columns_differ"
    yield "hash: another family", altered(p, family=3), "not_a_law"
    yield "hash: fewer buckets", altered(p, buckets=3), None
    p = known["subset, small"]
    yield "subset: all values", altered(p, members=17), "not_a_law"
    yield "subset: another size", altered(p, members=6), "odds_differ"
    yield "subset: include", altered(p, include=_more(p["include"])), "odds_differ"
    p = known["hadamard, six values"]
    yield "hadamard: an order that is too small", altered(p, order=4), "not_a_law"
    yield "hadamard: an order that is no power of two", altered(p, order=9), "not_a_law"
    yield "hadamard: agree", altered(p, agree=_more(p["agree"])), "odds_differ"
    p = known["table"]
    rows = copy.deepcopy(p["numerators"])
    rows[1][2] = _more(rows[1][2])
    yield "table: a sum above one", altered(p, numerators=rows), "not_a_law"
    rows[1][0] = _more(rows[1][0], -1)
    yield "table: a mass moved", altered(p, numerators=rows), None
    rows[0][1], rows[0][2] = number(int(rows[0][1], 16) + int(rows[0][2], 16)), 0
    yield "table: a report rules a value out", altered(p, numerators=rows), "not_a_law"
    p = known["utility_direct"]
    yield "utility_direct: an order", altered(p, sensitive=[4, 1]), "not_a_law"
    yield "utility_direct: other", altered(p, other=_more(p["other"], -1)), "odds_differ"
    p = known["utility_subset"]
    yield "utility_subset: members", altered(p, members=4), "not_a_law"
    yield "utility_subset: own", altered(p, own=_more(p["own"], -1)), "odds_differ"
    p = known["utility_bits"]
    yield "utility_bits: dropped", altered(p, dropped=_more(p["dropped"], -(2**60))), "odds_differ"
    yield "utility_bits: dropped is zero", altered(p, dropped=0), "not_a_law"
    p = known["projective, a plane"]
    yield "projective: no prime", altered(p, prime=4), "not_a_law"
    yield "projective: too few points", altered(p, dimension=2), "not_a_law"
    yield "projective: include", altered(p, include=_more(p["include"], 7)), "odds_differ"
    p = known["window, square wave"]
    yield "window: as wide as the cells", altered(p, width=64), "not_a_law"
    yield "window: own", altered(p, own=_more(p["own"], -9)), "odds_differ"
    p = known["noise, Laplace of integers"]
    yield "noise: fall", altered(p, fall=_more(p["fall"], 1)), "not_a_law"
    digits = copy.deepcopy(p["digits"])
    digits[2][0] = _more(digits[2][0])
    yield "noise: a digit", altered(p, digits=digits), "not_a_law"
    digits[2] = digits[2][:3]
    yield "noise: a digit of three words", altered(p, digits=digits), "not_a_law"
    yield "noise: a digit is missing", altered(p, digits=p["digits"][:-1]), "not_a_law"
    last = [p["rest"][0], _more(p["rest"][1], -1), *p["rest"][2:]]
    yield "noise: the rest", altered(p, rest=last), "not_a_law"
    yield "noise: reach", altered(p, reach=200), "columns_differ"
    yield "noise: one step alone", altered(p, odds={**p["odds"], "power": 1}), "odds_differ"
    p = known["exponential, integers"]
    changed = [[_more(w, 2**70 * (i == 2)) for i, w in enumerate(p["weights"][0])]]
    yield "exponential: a weight", altered(p, weights=changed), "odds_differ"
    yield (
        "exponential: a weight of zero",
        altered(p, weights=[[*p["weights"][0][:-1], 0]]),
        "not_a_law",
    )
    p = known["planar, geometric"]
    quadrant = copy.deepcopy(p["quadrant"])
    quadrant[0][0] = _more(quadrant[0][0], -2)
    yield "planar: a sum below one", altered(p, quadrant=quadrant), "not_a_law"
    quadrant[0][0] = _more(quadrant[0][0], 2 + 2**119)
    quadrant[2][3] = _more(quadrant[2][3], -(2**117))
    yield "planar: a mass moved", altered(p, quadrant=quadrant), "odds_differ"
    p = known["gaussian, an interval"]
    masses = [_more(p["masses"][0], -2), *p["masses"][1:-1], _more(p["masses"][-1])]
    yield "gaussian: a mass moved", altered(p, masses=masses), "odds_differ"
    yield "gaussian: a mass changed", altered(p, masses=[1, *p["masses"][1:]]), "not_a_law"
    less = {**p["delta"], "denominator": _more(p["delta"]["denominator"])}
    yield "gaussian: less delta", altered(p, delta_at_most=less), "odds_exceed"
    p = known["repeated"]
    (part,) = p["parts"]
    yield "repeated: once more", altered(p, parts=[{**part, "times": 4}]), "columns_differ"
    yield "repeated: never", altered(p, parts=[{**part, "times": 0}]), "not_a_law"
    inner = altered(part["program"], own=_more(part["program"]["own"]))
    yield "repeated: inside", altered(p, parts=[{**part, "program": inner}]), "odds_differ"
    yield "repeated: the power", altered(p, odds={**p["odds"], "power": 2}), "odds_differ"
    p = known["silence, square wave"]
    yield "silence: silent", altered(p, silent=_more(p["silent"], 2**40)), "odds_differ"
    yield "silence: dropped is zero", altered(p, dropped=0), "not_a_law"
    yield "silence: inside", altered(p, inner=altered(p["inner"], width=0)), "not_a_law"
    other = known["direct, six values"]
    yield "silence: no dummies", altered(p, inner=other, answer="index"), "not_a_law"
    p = known["permanent, values"]
    yield "permanent: keep", altered(p, keep=_more(p["keep"])), "odds_differ"
    yield "permanent: always kept", altered(p, keep=hex(ONE)), "not_a_law"
    yield "permanent: a coin", altered(p, coin=5), "not_a_law"
    inner = altered(p["memo"], own=p["memo"]["other"], other=p["memo"]["own"])
    yield "permanent: inside", altered(p, memo=inner), "not_a_law"
    yield "permanent: of numbers", altered(p, memo=known["window, square wave"]), "not_a_law"
    p = known["permanent, bits"]
    yield "permanent: no coin", altered(p, coin=_LEFT_OUT), "not_a_law"
    yield "permanent: coin", altered(p, coin=_more(p["coin"])), "odds_differ"
    p = known["one_of, questions"]
    first, second, *others = p["draw"]
    yield "one_of: odds above one", altered(p, draw=[_more(first), second, *others]), "not_a_law"
    moved = [_more(first), _more(second, -1), *others]
    yield "one_of: other odds", altered(p, draw=moved), None
    never = [0, number(int(first, 16) + int(second, 16)), *others]
    yield "one_of: a block that is never drawn", altered(p, draw=never), "not_a_law"
    yield "one_of: odds less", altered(p, draw=p["draw"][:-1]), "not_a_law"
    again = [*p["blocks"][:-1], p["blocks"][0]]
    yield "one_of: a block twice", altered(p, blocks=again), "not_a_law"
    beyond = [*p["blocks"][:-1], {**p["blocks"][-1], "program": 4}]
    yield "one_of: no such program", altered(p, blocks=beyond), "malformed"
    narrow = [p["columns"][0], {**p["columns"][1], "dtype": "|u1"}, *p["columns"][2:]]
    yield "one_of: a narrower column", altered(p, columns=narrow), "columns_differ"
    inner = [altered(p["programs"][0], own=_more(p["programs"][0]["own"])), *p["programs"][1:]]
    yield "one_of: inside", altered(p, programs=inner), "odds_differ"
    p = known["one_of, two questions"]
    swapped = [{**p["blocks"][0], "attributes": ["age", "smokes"]}, *p["blocks"][1:]]
    yield "one_of: parts of other questions", altered(p, blocks=swapped), "not_a_law"


def programs() -> dict[str, Any]:
    what = "A device refuses this program by the error, or takes it where the error is null."
    cases = [{"name": n, "error": error, "program": p} for n, p, error in _refused()]
    # Programs that are taken stand in samplers.json already.
    return {"what": what, "cases": [c for c in cases if not c["name"].endswith(": as it is")]}


def encoded_of(domain: Domain, answer: Any) -> dict[str, Any]:
    """The index and the position of an answer, or its error."""
    try:
        index = domain.encode([answer]).tolist()[0]
    except warner.errors.ValuesError:
        return {"answer": answer, "error": "bad_answer"}
    found = {"answer": answer, "index": index}
    if domain.is_numeric:
        (found["position"],) = domain.position([answer]).tolist()
    return found


def _domains() -> Iterator[tuple[Domain, list[Any]]]:
    """Domains and answers, with those at boundaries."""
    yield Categorical(["never", "sometimes", "often"]), ["never", "often", "Often", "", 0, None]
    # A label is told from the same letters composed in another way.
    yield Categorical(["caf\u00e9", "tea"]), ["caf\u00e9", "cafe\u0301", "cafe"]
    yield Categorical([1, 2, 5]), [1, 5, 3, "1", 1.5, True]
    yield Categorical([True, False]), [True, False, 2, "true"]
    yield Integers(-2, 5), [-2, 0, 1, 5, 6, -3, 1.5, "1", None, True]
    yield Integers(18, 99), [18, 19, 42, 98, 99, 100, 17]
    yield Interval(0, 1, 10), [0, 1, 0.1, 0.3, 0.7, 0.9999999999999999, 1.0000000000000002, -0.0]
    yield (
        Interval(0.1, 0.7, 6),
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.09999999999999999, "0.3", None],
    )
    yield (
        Interval(-40, 60, 7),
        [-40, 60, 0, 1 / 3, 59.99999999999999, 60.00000000000001, 1e300, True],
    )
    yield Interval(0, 100, 4, clip=True), [-5, 0, 25, 50.0, 99.9, 100, 1e300, -1e-300]
    yield Grid(2, 3), [[0, 0], [1, 2], [2, 0], [0, 3], [0], [0, 1, 0], [-1, 0], "0,0", [0.5, 1]]
    yield Grid(3, 3, without=[(0, 0), (1, 1)]), [[0, 1], [2, 2], [1, 0], [0, 0], [1, 1], [3, 0]]


def encodings() -> dict[str, Any]:
    what = "An answer of this domain has this index, and this position where it has one."
    cases = [
        {
            "name": f"{i}, {domain.spec()['kind']}",
            "domain": domain.spec(),
            "answers": [encoded_of(domain, answer) for answer in answers],
        }
        for i, (domain, answers) in enumerate(_domains(), 1)
    ]
    return {"what": what, "cases": cases}


FILES: dict[str, Callable[[], dict[str, Any]]] = {
    "samplers.json": samplers,
    "programs.json": programs,
    "encodings.json": encodings,
    "studies.json": studies,
    "submissions.json": submissions,
    "draws.json": draws,
    "finite.json": finite,
    "rounds.json": rounds,
    "drawn_rounds.json": drawn_rounds,
}


def text_of(made: dict[str, Any]) -> str:
    """A file: one case in a line."""
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in made["cases"])
    return f'{{"what":{json.dumps(made["what"])},"cases":[\n{lines}\n]}}\n'


def main() -> None:
    for name, make in FILES.items():
        (HERE / name).write_text(text_of(make()), encoding="ascii")
        print(f"tests/vectors/{name}")


if __name__ == "__main__":
    main()
