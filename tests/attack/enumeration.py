"""Exact laws by the attacker's own code: from thresholds, public parameters and the definitions, in
fractions.

Nothing here uses warner's channels, laws or audits. ``law(mechanism, answer)`` is what an attacker
who reads the header expects
to see; ``answers(mechanism)`` are the answers that it must hide.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

import warner
from tests.attack._frame import require
from warner.mechanisms import Mechanism

ONE = 2**64
WIDE = Context(prec=60)
Key = tuple[int, ...]
Law = dict[Key, Fraction]
WINDOWS = (warner.SquareWave, warner.mechanisms.Piecewise, warner.mechanisms.StochasticRounding)
LINES = (warner.Laplace, warner.mechanisms.Geometric)  # TruncatedGeometric is a Geometric


def _thresholds(mechanism: Mechanism, prefix: str = "") -> dict[str, int]:
    found = mechanism.thresholds().items()
    return {
        k.removeprefix(prefix): int(v, 16)
        for k, v in found
        if v.startswith("0x") and k.startswith(prefix)
    }


def _shares(weights: dict[Key, int]) -> Law:
    total = sum(weights.values())
    return {key: Fraction(weight, total) for key, weight in weights.items()}


def _packed(bits: tuple[int, ...]) -> Key:
    """Bits as bytes, the first bit the highest."""
    padded = [*bits, *[0] * (-len(bits) % 8)]
    return tuple(int("".join(map(str, padded[i : i + 8])), 2) for i in range(0, len(padded), 8))


def _hidden_names(m: Any, size: int, found: dict[str, int], answer: int) -> Law:
    """A value is named; a sensitive name is hidden in any set of sensitive values that holds it."""
    members = [x for x in range(size) if m.sensitive_mask[x]]
    names = dict.fromkeys(members, found["other"])
    names[answer] = found["own"] - (0 if answer in members else found["other"])
    law: Law = {}
    for name, weight in names.items():
        sets = [{name}]
        if name in members:
            sets = [{*some} for some in itertools.combinations(members, m.subset)]
            sets = [some for some in sets if name in some]
        for some in sets:
            key = _packed(tuple(int(x in some) for x in range(size)))
            share = Fraction(weight, sum(names.values()) * len(sets))
            law[key] = law.get(key, Fraction(0)) + share
    return law


def _bits(chances: list[Fraction]) -> Law:
    """Independent bits, set with the given chances, as packed bytes."""
    found: Law = {}
    for bits in itertools.product((0, 1), repeat=len(chances)):
        share = math.prod(
            (c if b else 1 - c for b, c in zip(bits, chances, strict=True)), start=Fraction(1)
        )
        if share:
            found[_packed(bits)] = share
    return found


def _mixed(parts: list[tuple[Fraction, Law]]) -> Law:
    found: Law = {}
    for weight, part in parts:
        for key, share in part.items():
            found[key] = found.get(key, Fraction(0)) + weight * share
    return found


def _times(first: Law, second: Law) -> Law:
    return {a + b: p * q for a, p in first.items() for b, q in second.items()}


def _mix32(h: int) -> int:
    h ^= h >> 16
    h = h * 0x7FEB352D % 2**32
    h ^= h >> 15
    h = h * 0x846CA68B % 2**32
    return h ^ h >> 16


def _bucket(seed: int, value: int, count: int) -> int:
    key = _mix32((seed * 0x9E3779B1 + 0x7F4A7C15) % 2**32)
    return ((_mix32(key ^ value * 0x85EBCA77 % 2**32) >> 16) * count) >> 16


def _two_points(position: Fraction, steps: int) -> dict[int, Fraction]:
    """Where a position in [0, 1] stands on a grid of ``steps`` steps: right on average."""
    s = position * steps
    low = min(math.floor(s), steps - 1)
    return {k: w for k, w in ((low, 1 - (s - low)), (low + 1, s - low)) if w}


def steps_of(mechanism: Any) -> int | None:
    """Steps of the grid that positions are rounded to; None where answers are indices."""
    if isinstance(mechanism, WINDOWS):
        return int(mechanism.cells) - _thresholds(mechanism)["width"]
    if isinstance(mechanism, warner.Laplace) and not mechanism.lattice:
        return _thresholds(mechanism)["steps"]
    return None


def _window(own: int, other: int, width: int, cells: int, start: int) -> Law:
    return _shares({(y,): own if start <= y < start + width else other for y in range(cells)})


def _line(mechanism: Mechanism, point: int) -> Law:
    """Two-sided geometric noise around a grid point, with its tails at the two ends."""
    found = _thresholds(mechanism)
    a, steps, reach = Fraction(found["fall"], ONE), found["steps"], found["reach"]
    law: Law = {}
    for y in range(steps + 1 + 2 * reach):
        share = (1 - a) / (1 + a) * a ** abs(y - reach - point)
        if y in (0, steps + 2 * reach):
            share /= 1 - a  # the sum of all that lies further out
        law[(y,)] = share
    return law


def _with_nonresponse(mechanism: Any, answer: Any) -> Law:
    """The report of an answer, or of a dummy for None; and one more report that says so."""
    inner, found = mechanism.inner, _thresholds(mechanism)
    if answer is not None:
        share, reports = Fraction(found["dropped"], ONE), law(inner, answer)
    elif isinstance(inner, WINDOWS):
        share = Fraction(found["silent"], ONE)
        reports = {(y,): Fraction(1, inner.cells) for y in range(inner.cells)}
    else:
        share, points = Fraction(found["silent"], ONE), _thresholds(inner)["steps"] + 1
        reports = _mixed([(Fraction(1, points), _line(inner, k)) for k in range(points)])
    (last,) = mechanism.schema.sizes
    return _mixed([(1 - share, reports), (share, {(last - 1,): Fraction(1)})])


def _planar(mechanism: Any, cell: int) -> Law:
    """The table of the header as integers, unfolded into four quarters, the rounding at no
    displacement. Cells beyond the table's rectangle go to its border, and cells that are no report
    to the nearest value, the first of several.
    """
    told = mechanism.parameters()
    shares, reach = told["table"], told.get("reach", 0)
    total = 1 << 64 * _thresholds(mechanism)["words"]
    height, width = len(shares), len(shares[0])
    moves = {
        (i, j): round(Fraction(shares[abs(i)][abs(j)]) * total)
        for i in range(1 - height, height)
        for j in range(1 - width, width)
    }
    moves[0, 0] += total - sum(moves.values())
    values = [(r + reach, c + reach) for r, c in mechanism.domain.labels]
    law: Law = {}
    for (i, j), mass in moves.items():
        row = min(max(values[cell][0] + i, 0), height - 1)
        column = min(max(values[cell][1] + j, 0), width - 1)
        report = row * width + column
        if told.get("truncated", True):
            away = [(row - r) ** 2 + (column - c) ** 2 for r, c in values]
            report = away.index(min(away))
        law[(report,)] = law.get((report,), Fraction(0)) + Fraction(mass, total)
    return law


def _field_hashing(p: int, buckets: int, answer: int, found: dict[str, int]) -> Law:
    """((a x^3 + b) mod p) mod g with a > 0, and the bucket by randomised response."""
    law: Law = {}
    for a, b in itertools.product(range(1, p), range(p)):
        own = (a * answer**3 + b) % p % buckets
        shares = _shares(
            {(z,): found["own"] if z == own else found["other"] for z in range(buckets)}
        )
        law |= {(a - 1, b, z): share / (p * (p - 1)) for (z,), share in shares.items()}
    return law


def _projective(prime: int, blocks: int, size: int, include: Fraction, value: int) -> Law:
    """Vectors over the integers modulo a prime, whose first entry that is not 0 is 1, in the order
    of tuples, once for every block. A value is read backwards: it supports the reports of its block
    at a right angle to it.
    """
    each = math.ceil(size / blocks)
    length = 2
    while (prime**length - 1) // (prime - 1) < each:
        length += 1
    points = [
        v
        for v in itertools.product(range(prime), repeat=length)
        if next((x for x in v if x), None) == 1
    ]
    own = points[value % each][::-1]
    meets = [
        block == value // each and sum(a * b for a, b in zip(u, own, strict=True)) % prime == 0
        for block in range(blocks)
        for u in points
    ]
    supported = sum(meets)
    return {
        (y,): include / supported if hit else (1 - include) / (len(meets) - supported)
        for y, hit in enumerate(meets)
    }


def _keyed(mechanism: Any, answer: tuple[int, Fraction]) -> Law:
    own, position = answer
    found, inner = _thresholds(mechanism), _thresholds(mechanism, "value_")
    cells, many = mechanism.cells, mechanism.domain.shape[0]
    value = _mixed(
        [
            (weight, _window(inner["own"], inner["other"], inner["width"], cells, start))
            for start, weight in _two_points(position, cells - inner["width"]).items()
        ]
    )
    if mechanism.key == "direct":
        total = found["keep"] + (many - 1) * found["other"]
        law: Law = {}
        for k in range(many):
            for m in range(cells):
                dummy = Fraction(found["other"], total) / cells
                law[k, m] = Fraction(found["keep"], total) * value[(m,)] if k == own else dummy
        return law
    keep, other = Fraction(found["keep"], ONE), Fraction(found["other"], ONE)
    whole: Law = {(): Fraction(1)}
    for k in range(many):
        digit: Law = {(0,): 1 - (keep if k == own else other)}
        for m in range(cells):
            digit[(1 + m,)] = keep * value[(m,)] if k == own else other / cells
        whole = _times(whole, digit)
    return whole


def _stated(mechanism: Mechanism, value: int) -> Law:
    """What the mechanism itself says, where thresholds are a table or its hash."""
    return dict(zip(keys_of(mechanism), mechanism.probabilities()[:, value].tolist(), strict=True))


def keys_of(mechanism: Mechanism) -> list[Key]:
    """Every report, as whole numbers, in the order of ``outputs``."""
    columns = [np.asarray(c).reshape(len(c), -1) for c in mechanism.outputs().values()]
    return [
        tuple(row) for row in np.concatenate([c.astype(np.int64) for c in columns], axis=1).tolist()
    ]


def _fake(part: Any) -> Law:
    """The law of a report on a fake value."""
    size = part.domain.size
    shares = part.fakes or [Fraction(ONE, size)] * size
    return _mixed([(Fraction(g) / ONE, law(part.mechanism, v)) for v, g in enumerate(shares)])


def _drawn(m: Any, answer: Any) -> Law:
    """The law of one block of questions: its number, its report, and zeros for unused columns."""
    slots, names = len(m.schema.empty(0)) - 1, list(m.domain.attributes)
    whole: Law = {}
    for number, (block, part, width) in enumerate(
        zip(m.blocks, m.parts.values(), m.odds, strict=True)
    ):
        inside = tuple(answer[names.index(name)] for name in block)
        if len(block) == 1:
            (given,) = inside
        elif isinstance(part, warner.PerAttribute):
            given = inside
        else:
            given = 0
            for name, index in zip(block, inside, strict=True):
                given = given * m.domain.attributes[name].size + index
        for key, share in law(part, given).items():
            padded = (number, *key, *[0] * (slots - len(key)))
            whole[padded] = Fraction(width, ONE) * share
    return whole


def _degraded(m: Any, answer: Any) -> Law:
    """The law of one report of a fresh permanent report."""
    keep = Fraction(int(m.parameters()["keep"], 16), ONE)
    memo = law(m.memo, answer)
    if isinstance(m.memo, warner.UnaryEncoding):
        coin = (1 - keep) * Fraction(int(m.parameters()["coin"], 16), ONE)
        size, raised = m.domain.size, Fraction(m.memo.law.raised, ONE)
        own = Fraction(m.memo.law.keep, ONE)
        return _bits([keep * (own if x == answer else raised) + coin for x in range(size)])
    reports = keys_of(m)
    return {y: keep * memo.get(y, 0) + (1 - keep) / len(reports) for y in reports}


def law(mechanism: Any, answer: Any) -> Law:
    """Pr(report | answer), exactly, of every report that the answer can make."""
    m: Any = mechanism
    if isinstance(m, warner.mechanisms.WithFakes):
        odds = Fraction(m.share, ONE)
        return _mixed([(odds, law(m.mechanism, answer)), (1 - odds, _fake(m))])
    if isinstance(m, warner.mechanisms.Permanent):
        return _degraded(m, answer)
    if isinstance(m, warner.OneOf):
        return _drawn(m, answer)
    if isinstance(m, warner.mechanisms.HiddenQuestion):
        # One answer is true, by the odds of its question; the others are fakes.
        sums = []
        for true in m.parts.values():
            tuple_of: Law = {(): Fraction(1)}
            for part, own in zip(m.parts.values(), answer, strict=True):
                tuple_of = _times(
                    tuple_of, law(part.mechanism, own) if part is true else _fake(part)
                )
            sums.append((Fraction(true.share, ONE), tuple_of))
        return _mixed(sums)
    if isinstance(m, warner.PerAttribute):
        whole: Law = {(): Fraction(1)}
        for part, own in zip(m.parts.values(), answer, strict=True):
            whole = _times(whole, law(part, own))
        return whole
    if isinstance(m, warner.mechanisms.Repeated):
        whole = {(): Fraction(1)}
        for part in m.parts.values():
            whole = _times(whole, law(part, _answer_of(part, m, answer)))
        return whole
    if isinstance(m, warner.KeyValue):
        return _keyed(m, answer)
    if isinstance(m, warner.mechanisms.WithNonresponse):
        return _with_nonresponse(m, answer)
    if (steps := steps_of(m)) is not None:
        found = _thresholds(m)
        parts = []
        for point, weight in _two_points(answer, steps).items():
            window = isinstance(m, WINDOWS)
            part = (
                _window(found["own"], found["other"], found["width"], m.cells, point)
                if window
                else _line(m, point)
            )
            parts.append((weight, part))
        return _mixed(parts)
    if isinstance(m, LINES):
        return _line(m, answer)
    if isinstance(m, warner.PlanarGeometric | warner.mechanisms.PlanarLaplace):
        return _planar(m, answer)
    size = m.domain.size
    if isinstance(
        m, warner.MatrixMechanism | warner.mechanisms.Exponential | warner.mechanisms.Gaussian
    ):
        return _stated(m, answer)
    found = _thresholds(m)
    if isinstance(m, warner.RandomizedResponse):
        return _shares({(y,): found["own"] if y == answer else found["other"] for y in range(size)})
    if isinstance(m, warner.UnaryEncoding):
        keep, raised = Fraction(found["keep"], ONE), Fraction(found["raised"], ONE)
        return _bits([keep if x == answer else raised for x in range(size)])
    if isinstance(m, warner.LocalHashing) and m.prime is not None:
        return _field_hashing(m.prime, m.buckets, answer, found)
    if isinstance(m, warner.LocalHashing):
        return {
            (seed, bucket): share / m.seeds
            for seed in range(m.seeds)
            for (bucket,), share in _shares(
                {
                    (b,): found["own"] if b == _bucket(seed, answer, m.buckets) else found["other"]
                    for b in range(m.buckets)
                }
            ).items()
        }
    if isinstance(m, warner.SubsetSelection):
        include, d = Fraction(found["include"], ONE), m.subset
        return {
            _packed(tuple(int(x in chosen) for x in range(size))): (
                include / math.comb(size - 1, d - 1)
                if answer in chosen
                else (1 - include) / math.comb(size - 1, d)
            )
            for chosen in map(set, itertools.combinations(range(size), d))
        }
    if isinstance(m, warner.HadamardResponse):
        agree, order = Fraction(found["agree"], ONE), 1 << size.bit_length()
        return {
            (y,): (agree if (y & (answer + 1)).bit_count() % 2 == 0 else 1 - agree) / (order // 2)
            for y in range(order)
        }
    if isinstance(m, warner.mechanisms.ProjectiveGeometryResponse):
        return _projective(m.prime, m.blocks, size, Fraction(found["include"], ONE), answer)
    if isinstance(m, warner.UtilityOptimizedRR):
        members = [x for x in range(size) if m.sensitive_mask[x]]
        if m.sensitive_mask[answer]:
            return _shares({(y,): found["own"] if y == answer else found["other"] for y in members})
        return _shares(
            {**{(y,): found["other"] for y in members}, (answer,): found["own"] - found["other"]}
        )
    if isinstance(m, warner.mechanisms.UtilityOptimizedSubset):
        return _hidden_names(m, size, found, answer)
    if isinstance(m, warner.mechanisms.UtilityOptimizedRappor):
        keep, raised, dropped = (Fraction(found[k], ONE) for k in ("keep", "raised", "dropped"))
        chances = [
            (keep if x == answer else raised) if m.sensitive_mask[x] else Fraction(0)
            for x in range(size)
        ]
        if not m.sensitive_mask[answer]:
            chances[answer] = 1 - dropped
        return _bits(chances)
    raise NotImplementedError(f"no independent law of {type(m).__name__}: write one in {__name__}")


def _answer_of(part: Mechanism, whole: Mechanism, answer: Any) -> Any:
    """The answer of a part that the answer of several reports of one value is."""
    if isinstance(part, warner.KeyValue) or not isinstance(answer, Fraction):
        return (
            _position_of(part, answer)
            if steps_of(part) is not None and isinstance(answer, int)
            else answer
        )
    if steps_of(part) is not None:
        return answer
    size = whole.domain.size  # a mechanism of indices: which bin the position is in
    return min(int(answer * size), size - 1)


def _position_of(mechanism: Mechanism, value: int) -> Fraction:
    return Fraction(value, mechanism.domain.size - 1)


def answers(mechanism: Any) -> list[Any]:
    """Answers that reports must not tell apart: values; of bins, all grid points, which are the
    extremes of their mixtures.
    """
    m: Any = mechanism
    if isinstance(m, warner.OneOf):
        alone = {b[0]: p for b, p in zip(m.blocks, m.parts.values(), strict=True) if len(b) == 1}
        several = {name for block in m.blocks if len(block) > 1 for name in block}
        return list(
            itertools.product(
                *(
                    range(d.size) if name in several else answers(alone[name])
                    for name, d in m.domain.attributes.items()
                )
            )
        )
    if isinstance(m, warner.PerAttribute):
        return list(itertools.product(*(answers(part) for part in m.parts.values())))
    if isinstance(m, warner.mechanisms.Repeated):
        if isinstance(next(iter(m.parts.values())), warner.KeyValue):
            return answers(next(iter(m.parts.values())))
        grids = [steps_of(part) for part in m.parts.values()]
        if isinstance(m.domain, warner.Interval):
            size = m.domain.size
            points = {Fraction(k, s) for s in grids if s is not None for k in range(s + 1)}
            return sorted(points | {Fraction(2 * x + 1, 2 * size) for x in range(size)})
        return list(range(m.domain.size))
    if isinstance(m, warner.KeyValue):
        steps = m.cells - _thresholds(m, "value_")["width"]
        size = m.values.size
        whole = isinstance(m.values, warner.Integers)
        places = (
            [Fraction(x, size - 1) for x in range(size)]
            if whole
            else [Fraction(k, steps) for k in range(steps + 1)]
        )
        return list(itertools.product(range(m.domain.shape[0]), places))
    if isinstance(m, warner.mechanisms.WithNonresponse):
        return [*answers(m.inner), None]
    steps = steps_of(m)
    if steps is not None and isinstance(m.domain, warner.Interval):
        return [Fraction(k, steps) for k in range(steps + 1)]
    if steps is not None:
        return [_position_of(m, x) for x in range(m.domain.size)]
    return list(range(m.domain.size))


def guarded(mechanism: Any, own: list[Any]) -> list[bool] | None:
    """Which answers are protected; None where all are."""
    m: Any = mechanism
    if isinstance(m, warner.PerAttribute):
        masks = [guarded(part, answers(part)) for part in m.parts.values()]
        if all(mask is None for mask in masks):
            return None
        filled = [
            [True] * len(answers(p)) if k is None else k
            for p, k in zip(m.parts.values(), masks, strict=True)
        ]
        return [all(choice) for choice in itertools.product(*filled)]
    if isinstance(m, warner.mechanisms.Repeated):
        found = [
            mask for mask in (guarded(part, own) for part in m.parts.values()) if mask is not None
        ]
        return found[0] if found else None
    return None if m.sensitive_mask is None else [bool(v) for v in m.sensitive_mask]


def separation(mechanism: Any, own: list[Any]) -> Iterator[tuple[int, int, Decimal]]:
    """Every two answers and how far apart they lie, for metric guarantees."""
    while isinstance(mechanism, warner.PerAttribute):
        (mechanism,) = mechanism.parts.values()
        own = [a[0] if isinstance(a, tuple) else a for a in own]
    points = mechanism.domain.points
    for a, b in itertools.permutations(range(len(own)), 2):
        square = sum(
            (Fraction(float(u)) - Fraction(float(v))) ** 2
            for u, v in zip(points[own[a]], points[own[b]], strict=True)
        )
        yield a, b, WIDE.sqrt(decimal_of(square))


def decimal_of(value: Fraction | int) -> Decimal:
    value = Fraction(value)
    return WIDE.divide(Decimal(value.numerator), Decimal(value.denominator))


def nats(ratio: Fraction | None) -> Decimal:
    """ln of a ratio; infinity where a report is possible under one answer only."""
    return Decimal("Infinity") if ratio is None else WIDE.ln(decimal_of(ratio))


def worst(laws: list[Law], high: int, low: int, keys: Any = None) -> Fraction | None:
    """The largest Pr(y | high) / Pr(y | low) over reports; None for infinity."""
    found = Fraction(0)
    for key, share in laws[high].items():
        if share and (keys is None or key in keys):
            other = laws[low].get(key, Fraction(0))
            if not other:
                return None
            found = max(found, share / other)
    return found


def check_sums(laws: list[Law]) -> None:
    for one in laws:
        require(sum(one.values()) == 1, "a law does not sum to one")
        require(all(share >= 0 for share in one.values()), "a probability is negative")
