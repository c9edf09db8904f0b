"""Device programs against an interpreter that is written from docs/device_programs.md alone.

With the same words it sends the same report as the reference sampler, and its exact law is the law that
the mechanism states. The fast samplers are bound to the same law by their own tests:
tests/parity/_core/test_sampling.py compares each decision with whole words, test_random_words.py in
tests/laws/mechanisms the words that samplers draw, and tests/statistical/mechanisms/test_mechanisms.py
the reports of all mechanisms of the registry with their law.
"""

from __future__ import annotations

import json
import random
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from tests.attack import instances
from tests.parity.mechanisms import _device as device
from tests.parity.mechanisms._device_check import Refused, check, check_answer, odds_of
from tests.registry import COMBINED, KEYED, MECHANISMS, PLACES, SENSITIVITIES, SILENT, smallest
from tests.vectors import make
from warner._core.sampling import Source
from warner.errors import WarnerError
from warner.mechanisms import Mechanism
from warner.privacy.report_laws import epsilon_of
from warner.reports.reports import Reports

BLOCKS = {name: made for name, made in make.mechanisms().items() if name.startswith("one_of")}
_THREE = warner.Product(a=warner.Integers(0, 1), b=warner.Integers(0, 2), c=warner.Integers(0, 1))
SMALL_BLOCKS = {
    "OneOf pairs": warner.OneOf(
        _THREE, 1.0, [("b", "a"), "b", "c"], odds={("b", "a"): 2, "b": 1, "c": 4}
    ),
    "OneOf two questions": warner.OneOf(_THREE, 1.0, ask=2),
}
SERVED = [*MECHANISMS, *PLACES, *SILENT, *SENSITIVITIES, *COMBINED, *BLOCKS, *SMALL_BLOCKS]
VECTORS = Path(make.__file__).parent


@cache
def _mechanism(name: str) -> Mechanism:
    if name in BLOCKS or name in SMALL_BLOCKS:
        return {**BLOCKS, **SMALL_BLOCKS}[name]
    if name in SENSITIVITIES:
        return SENSITIVITIES[name](warner.Integers(0, 3), 1.0)
    if name == "Gaussian":  # less noise than in the registry, so that its law takes less time
        return warner.mechanisms.Gaussian(warner.Integers(0, 3), 6.0, delta=0.05)
    return COMBINED[name](1.0) if name in COMBINED else smallest(name)


@cache
def _program(name: str) -> dict[str, Any]:
    # As a device reads it.
    found: dict[str, Any] = json.loads(json.dumps(_mechanism(name).device_program()))
    return found


@pytest.mark.parametrize("name", SERVED)
def test_the_same_words_make_the_same_report(name: str) -> None:
    """Rejects an order of words, a comparison or an index that is off by one anywhere."""
    mechanism, program, rng = _mechanism(name), _program(name), random.Random(name)
    check(program)
    edges = make.boundary_words(program)
    for share in (0.0, 0.3, 0.6):
        for encoded in make.answers_of(program, rng) * 3:
            check_answer(program, encoded)
            words = [
                rng.choice(edges) if rng.random() < share else rng.getrandbits(64)
                for _ in range(600)
            ]
            source = device.Words(words)
            record = device.record(program, device.run(program, encoded, source)).hex()
            assert (record, source.used) == make.draw(mechanism, encoded, words)


# Mechanisms without a program for devices.
_OF_PYTHON = ("KeyValue", "WithFakes", "HiddenQuestion")


@pytest.mark.parametrize("name", [name for name in instances.ALL if name not in _OF_PYTHON])
def test_random_instances_make_the_same_reports(name: str) -> None:
    """Sizes, budgets and domains that nobody chose; those without a program are drawn again."""
    rng, words = np.random.default_rng(20), random.Random(name)
    done = 0
    while done < 2:
        try:
            mechanism = instances.ALL[name](rng)
            program = json.loads(json.dumps(mechanism.device_program()))
        except WarnerError:
            continue
        check(program)
        for encoded in make.answers_of(program, words):
            given = [words.getrandbits(64) for _ in range(2000)]
            source = device.Words(given)
            record = device.record(program, device.run(program, encoded, source)).hex()
            assert (record, source.used) == make.draw(mechanism, encoded, given), mechanism
        done += 1


def _answers(mechanism: Mechanism, program: dict[str, Any], x: int) -> Any:
    """Value x as a device encodes it."""
    if program["answer"] != "parts":
        (encoded,) = mechanism.encode(mechanism.domain.decode([x])).tolist()
        if encoded != encoded:
            return None
        return int(encoded) if program["answer"] == "index" else encoded
    if isinstance(mechanism, warner.OneOf):
        axes = np.unravel_index(x, mechanism.domain.shape)
        value = dict(zip(mechanism.domain.attributes, axes, strict=True))
        return [
            _answers(inner, one, _index_of(mechanism, block, value))
            for block, inner, one in zip(
                mechanism.blocks, mechanism.parts.values(), device.blocks_of(program), strict=True
            )
        ]
    places = (
        np.unravel_index(x, mechanism.domain.shape)
        if program["sampler"] == "each"
        else [x] * len(program["parts"])
    )
    parts = list(mechanism.parts.values())  # type: ignore[attr-defined]
    if program["sampler"] == "repeated":
        parts = mechanism._distinct_parts()  # type: ignore[attr-defined]
    each = zip(parts, program["parts"], places, strict=True)
    return [_answers(part, one["program"], int(place)) for part, one, place in each]


def _index_of(mechanism: warner.OneOf, block: tuple[str, ...], value: dict[str, Any]) -> int:
    """The index of a block's answers among those of its domain."""
    shape = [mechanism.domain.attributes[name].size for name in block]
    return int(np.ravel_multi_index([value[name] for name in block], shape))


def _rounds(program: dict[str, Any]) -> bool:
    """Whether a law is rounded: by a position as a double, or noise of 256 binary digits."""
    inside = [part["program"] for part in program.get("parts", [])] + program.get("programs", [])
    inside += [program["inner"]] if "inner" in program else []
    is_rounded = program["answer"] == "position" or program["sampler"] == "noise"
    return is_rounded or any(map(_rounds, inside))


# Where a bin stands for many positions, reports alone are compared; so where the law takes long.
EXACT = [
    name
    for name in SERVED
    if not _mechanism(name).represents_interval and name not in ("Gaussian x RR", *BLOCKS)
]


@pytest.mark.parametrize("name", EXACT)
def test_the_law_of_the_words_is_the_law_of_the_mechanism(name: str) -> None:
    """Rejects integers in a program that are not those of the law, and a sampler with another law."""
    mechanism, program = _mechanism(name), _program(name)
    table = mechanism.probabilities()
    columns = {
        column["name"]: mechanism.outputs()[column["name"]].astype(column["dtype"])
        for column in program["columns"]
    }
    records = Reports(mechanism.header, columns).records()
    for x in range(mechanism.domain.size):
        law = device.law(program, _answers(mechanism, program, x))
        assert law.keys() <= set(records)
        difference = max(
            abs(law.get(r, Fraction(0)) - p) for r, p in zip(records, table[:, x], strict=True)
        )
        assert difference == 0 or (_rounds(program) and difference < Fraction(1, 2**45))


def _exp(nats: Fraction) -> Fraction:
    """exp(nats) below and to 2^-200, by its series."""
    total = term = Fraction(1)
    for k in range(1, 400):
        term = Fraction(int(term * nats / k * 2**400), 2**400)
        total += term
    return total


def _fraction(entry: dict[str, Any]) -> Fraction:
    return Fraction(device.read(entry["numerator"]), device.read(entry["denominator"]))


def _worst_of_neighbours(mechanism: Mechanism) -> Fraction:
    """From the exact law: the largest quotient of two values at the least distance."""
    table, points = mechanism.probabilities(), mechanism.domain.points
    assert points is not None
    distance = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    near = np.argwhere(distance == distance[distance > 0].min())
    return max(
        Fraction(a / b) for x, z in near for a, b in zip(table[:, x], table[:, z], strict=True)
    )


@pytest.mark.parametrize("name", SERVED)
def test_odds_are_those_of_the_law(name: str) -> None:
    """Rejects odds that are rounded, of another law, or above the budget."""
    mechanism, program = _mechanism(name), _program(name)
    if program["odds"] is None:
        assert mechanism.guarantee.delta is not None or program["sampler"] in ("each", "one_of")
        return
    r = _fraction(program["odds"])
    power = program["odds"]["power"]
    between = program["odds"]["between"]
    most = _fraction(program["odds_at_most"])
    assert (r, between, power) == odds_of(program)
    assert 1 < r <= most
    if between == "neighbours":
        found = _worst_of_neighbours(mechanism)
        assert found == r**power or (program["sampler"] == "planar" and found < r)
        assert r <= most <= _exp(Fraction(1)) * (1 + Fraction(1, 2**60)) or name in SENSITIVITIES
    else:
        assert r**power == mechanism.law.ratio()
        if name not in COMBINED:
            assert epsilon_of(r**power) == mechanism.epsilon
        # The bound is that of the requested budget, rounded up by less than 2^-60.
        asked = _exp(Fraction(mechanism.requested))
        assert asked <= most**power < asked * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 7.5, 23.0])
def test_the_bound_of_odds_is_rounded_up(epsilon: float) -> None:
    """Rejects a bound that is rounded down, or to the precision of a double."""
    program = warner.HadamardResponse(warner.Integers(0, 1), epsilon).device_program()
    most, exact = _fraction(program["odds_at_most"]), _exp(Fraction(epsilon))
    assert 0 < most - exact <= Fraction(2, device.ONE)
    assert most.denominator <= device.ONE


def test_the_delta_of_a_program_is_that_of_the_law() -> None:
    mechanism, program = _mechanism("Gaussian"), _program("Gaussian")
    delta, most = _fraction(program["delta"]), _fraction(program["delta_at_most"])
    assert mechanism.guarantee.delta is not None
    assert 0 < delta <= mechanism.guarantee.delta * (1 + 1e-9)
    assert delta > 0.999 * mechanism.guarantee.delta and most == Fraction(0.05)


class _Shy(warner.RandomizedResponse):
    """A sampler of its own, with the program of another one."""

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        return {"report": super()._sample(index, source)["report"][::-1]}


@pytest.mark.parametrize(
    "make_one",
    [
        lambda: KEYED["KeyValue direct rounding"](
            warner.Categorical(["a", "b"]), warner.Integers(0, 2), 1.0
        ),
        lambda: warner.RandomizedResponse(warner.Integers(0, 3), float("inf")),
        lambda: warner.MatrixMechanism(warner.Integers(0, 1), [[1.0, 0.5], [0.0, 0.5]]),
        lambda: _Shy(warner.Integers(0, 3), 1.0),
    ],
)
def test_a_mechanism_without_a_program_says_so(make_one: Any) -> None:
    with pytest.raises(WarnerError, match=r"has no program for (a|other) devices?.*\. "):
        make_one().device_program()


def test_programs_of_many_values_are_short() -> None:
    """Rejects a table of all pairs of values where the law has a structure."""
    grid, line = warner.Grid(8, 12, 0.1), warner.Integers(0, 299)
    for mechanism in (
        warner.mechanisms.Exponential(grid, 2.0),
        warner.mechanisms.Exponential(line, 0.1),
        warner.PlanarGeometric(grid, 2.0),
        warner.SquareWave(line, 1.0),
        warner.LocalHashing(warner.Integers(0, 2**20), 1.0),
        warner.SubsetSelection(line, 1.0),
        warner.mechanisms.ProjectiveGeometryResponse(line, 1.0),
        warner.Laplace(line, 1.0),
    ):
        assert len(json.dumps(mechanism.device_program())) < 300 * mechanism.domain.size + 2**10


def _cases(file: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((VECTORS / file).read_text())["cases"]
    return cases


def test_the_stored_files_are_those_that_the_script_makes() -> None:
    for name, made in make.FILES.items():
        assert (VECTORS / name).read_text() == make.text_of(made()), f"{name}: run 'make vectors'"
    assert sum(path.stat().st_size for path in VECTORS.glob("*.json")) < 2**20


def test_an_interpreter_of_the_document_gives_the_stored_reports() -> None:
    for case in _cases("samplers.json"):
        check(case["program"])
        for draw in case["draws"]:
            check_answer(case["program"], draw["encoded"])
            source = device.Words([int(word, 16) for word in draw["words"]])
            columns = device.run(case["program"], draw["encoded"], source)
            found = device.record(case["program"], columns).hex(), source.used
            assert found == (draw["record"], draw["used"]), case["name"]


def test_every_sampler_and_every_error_has_a_stored_case() -> None:
    samplers = {case["program"]["sampler"] for case in _cases("samplers.json")}
    assert samplers == set(device.SAMPLERS)
    errors = {case["error"] for case in _cases("programs.json")}
    page = (Path(make.__file__).parents[2] / "docs" / "device_programs.md").read_text()
    named = {
        line.split("`")[1]
        for line in page[page.index("## Errors") : page.index("## Surveys")].splitlines()
        if line[:3] == "| `"
    }
    assert named - {"bad_answer"} == errors - {None}


@pytest.mark.parametrize("case", _cases("programs.json"), ids=lambda case: case["name"])
def test_an_altered_program_is_refused_by_its_name(case: dict[str, Any]) -> None:
    """Rejects a device that does not compute the odds of the integers anew."""
    found = None
    try:
        check(case["program"])
    except Refused as refusal:
        (found,) = refusal.args
    assert found == case["error"]
