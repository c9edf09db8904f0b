"""Make the known answers that every client of device programs must give: ``make vectors``.

docs/device_programs.md defines the programs. A file is ``{"what": .., "cases": [..]}``:

- samplers.json: a program, and draws: an encoded answer and words, with the record of the report in
  hexadecimal, and how many of the words were used;
- programs.json: programs with altered entries, and the name of the error that refuses each;
- encodings.json: a domain and answers, with the index and the position of each.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import warner
from warner import Categorical, Grid, Integers, Interval, Product
from warner._core.reference_source import ReferenceSource
from warner.domains import Optional
from warner.mechanisms import Mechanism
from warner.reports.reports import Reports

HERE = Path(__file__).parent
ONE = 2**64
_WORDS = 400  # offered for a draw; the file holds those that were used, and one more


def with_silence(mechanism: Mechanism) -> Mechanism:
    return warner.mechanisms.WithSilence(mechanism)


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
        "bits, 17 values, optimised": warner.UnaryEncoding(seventeen, 2.0, keep="optimized"),
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
        "table": warner.ChannelMechanism(Categorical(["a", "b", "c"]), matrix / matrix.sum(axis=0)),
        "table, one value not sensitive": warner.ChannelMechanism(
            Categorical(["a", "b", "c"]), blocked, sensitive=["a", "b"]
        ),
        "utility_direct": warner.UtilityOptimizedRR(six, 1.0, sensitive=[1, 4]),
        "utility_direct, one sensitive": warner.UtilityOptimizedRR(six, 0.5, sensitive=[5]),
        "utility_direct, all sensitive": warner.UtilityOptimizedRR(two, 1.0, ["no", "yes"]),
        "utility_bits": warner.UtilityOptimizedRappor(six, 1.0, sensitive=[1, 4]),
        "utility_bits, nine of 17": warner.UtilityOptimizedRappor(
            seventeen, 2.0, sensitive=list(range(2, 11)), keep=0.7
        ),
        "utility_bits, one sensitive": warner.UtilityOptimizedRappor(two, 1.0, ["yes"]),
        "utility_bits, all sensitive": warner.UtilityOptimizedRappor(two, 1.0, ["no", "yes"]),
        "projective, a plane": warner.ProjectiveGeometry(seventeen, 1.0),
        "projective, a line": warner.ProjectiveGeometry(two, 0.5),
        "projective, five digits": warner.ProjectiveGeometry(Integers(0, 99), 1.0, prime=3),
        "projective, blocks": warner.ProjectiveGeometry(seventeen, 2.0, prime=2, blocks=3),
        "projective, blocks of one value": warner.ProjectiveGeometry(six, 2.0, prime=2, blocks=6),
        "window, square wave": warner.SquareWave(Interval(0, 1, 8), 1.0, cells=64),
        "window, square wave of integers": warner.SquareWave(six, 3.0),
        "window, piecewise": warner.mechanisms.Piecewise(Interval(-1, 1, 4), 1.0, cells=9),
        "window, stochastic rounding": warner.mechanisms.StochasticRounding(six, 1.0),
        "noise, Laplace of integers": warner.Laplace(six, 1.0, reach=2),
        "noise, Laplace of an interval": warner.Laplace(Interval(0, 10, 5), 1.0, cells=20),
        "noise, Laplace of one step": warner.Laplace(six, 1.0, sensitivity=1, reach=1),
        "noise, geometric": warner.Geometric(six, 0.25),
        "noise, geometric, steep": warner.Geometric(six, 7.0),
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
        "repeated": warner.Repeated(warner.RandomizedResponse(six, 0.5), 3),
        "repeated, three mechanisms": warner.Repeated(
            [
                warner.RandomizedResponse(six, 0.5),
                warner.UnaryEncoding(six, 0.5),
                warner.RandomizedResponse(six, 0.5),
                warner.SquareWave(six, 1.0, cells=16),
            ]
        ),
        "repeated, steps": warner.Repeated(warner.Geometric(six, 0.5, reach=2), 2),
        "silence as a value": warner.SubsetSelection(Optional(six), 1.0),
        "silence, square wave": with_silence(warner.SquareWave(Interval(0, 1, 8), 1.0, cells=16)),
        "silence, stochastic rounding": with_silence(
            warner.mechanisms.StochasticRounding(six, 1.0)
        ),
        "silence, Laplace of integers": with_silence(warner.Laplace(six, 1.0, reach=1)),
        "silence, Laplace of an interval": with_silence(
            warner.Laplace(Interval(0, 1, 4), 2.0, cells=5, reach=1)
        ),
        "silence, repeated": warner.Repeated(
            with_silence(warner.SquareWave(six, 1.0, cells=16)), 2
        ),
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
    for column in program.get("numerators", []):
        total = 0
        for value in column:
            total += int(str(value), 0)
            edges.add(total)
    return sorted({(e + d) % ONE for e in edges for d in (-1, 0, 1)})


def draw(mechanism: Mechanism, encoded: Any, words: list[int]) -> tuple[str, int]:
    """The record of one report by the reference sampler, in hexadecimal, and the words used."""
    source = ReferenceSource(words)
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


FILES: dict[str, Callable[[], dict[str, Any]]] = {"samplers.json": samplers}


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
