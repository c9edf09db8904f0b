"""Attacks: samplers at their boundaries with chosen words, and reports against the exact law."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

import warner
from tests.attack import enumeration as own, laws
from tests.attack._frame import Finding, require
from tests.attack._internals import Edges, Source, randomness
from tests.attack.instances import ALL
from warner.mechanisms import Mechanism

ONE = 2**64
TOP = ONE - 1
ALPHA = 1e-9


@contextmanager
def words(serve: Callable[[int], bytes]) -> Iterator[None]:
    """Answer for random bytes by another function, which is called with their number."""
    real = randomness.system_bytes
    randomness.system_bytes = serve
    try:
        yield
    finally:
        randomness.system_bytes = real


class Tape:
    """Hands out prepared words in their order; every call must ask for as many bytes as the next
    part has.
    """

    def __init__(self, *parts: np.ndarray) -> None:
        self.parts = [part.tobytes() for part in parts if part.size]

    def __call__(self, n: int) -> bytes:
        if n == 0:
            return b""
        require(
            bool(self.parts) and len(self.parts[0]) == n,
            "a sampler asked for other random words than its comparison needs",
        )
        return self.parts.pop(0)


@contextmanager
def _play(*parts: np.ndarray) -> Iterator[None]:
    tape = Tape(*parts)
    with words(tape):
        yield
    require(not tape.parts, "a sampler asked for fewer random words than its comparison needs")


def _around(edges: list[int], rng: np.random.Generator, bound: int = ONE) -> list[int]:
    """Numbers at and next to edges, the ends, and a few others, in random order."""
    found = {e + d for e in edges for d in (-1, 0, 1)} | {0, bound - 1}
    found |= {
        int.from_bytes(rng.bytes(8 * max(1, (bound.bit_length() - 1) // 64)), "little") % bound
        for _ in range(5)
    }
    kept = [w for w in sorted(found) if 0 <= w < bound]
    return [kept[i] for i in rng.permutation(len(kept))]


def _word(rng: np.random.Generator) -> int:
    """A threshold: any number, or one that is special in binary."""
    special = [
        0,
        1,
        2**47,
        2**48 - 1,
        2**48,
        2**63,
        2**63 + 1,
        TOP,
        ONE - 2**48,
        int(rng.integers(2**16)) << 48,
    ]
    return (
        special[rng.integers(len(special))]
        if rng.random() < 0.4
        else int.from_bytes(rng.bytes(8), "little")
    )


def _heads(u: list[int]) -> np.ndarray:
    return np.array([w >> 48 for w in u], np.uint16)


def _rest(u: list[int]) -> np.ndarray:
    return np.array([(w & 2**48 - 1) << 16 for w in u], np.uint64)


def _whole(u: list[int]) -> np.ndarray:
    return np.array(u, np.uint64)


def _below(rng: np.random.Generator) -> None:
    t = _word(rng)
    u = _around([t, t >> 48 << 48], rng)
    with _play(_heads(u), _rest([w for w in u if w >> 48 == t >> 48])):
        found = Source(None).below(t, len(u)).tolist()
    require(found == [w < t for w in u], f"below({t}) is not U < {t}")


def _below_each(rng: np.random.Generator) -> None:
    pairs = [(w, t) for t in (_word(rng) for _ in range(4)) for w in _around([t], rng)]
    with _play(_heads([w for w, _ in pairs]), _rest([w for w, t in pairs if w >> 48 == t >> 48])):
        found = Source(None).below_each(_whole([t for _, t in pairs])).tolist()
    require(found == [w < t for w, t in pairs], "below_each is not U < T, each with its own T")


def _uniform(rng: np.random.Generator) -> None:
    bound = int(
        rng.choice([2, 3, 7, 4095, 4096, 4097, 2**28 - 1, 2**28 + 1, int(rng.integers(2, 2**31))])
    )
    bits = 16 if bound <= 2**12 else 32 if bound <= 2**28 else 64
    width = 2**bits // bound
    some = [int(k) * width for k in rng.integers(0, bound, 3)]
    u = (
        _around([0, *some, (bound - 1) * width, bound * width], rng, 2**bits)
        if bits == 64
        else sorted(
            {
                w
                for e in (*some, bound * width, 2**bits - 1)
                for w in (e - 1, e, e + 1)
                if 0 <= w < 2**bits
            }
        )
    )
    again = sum(w >= bound * width for w in u)
    dtype = f"u{bits // 8}"
    with _play(np.array(u, dtype), np.zeros(again, dtype)):
        found = Source(None).uniform(bound, len(u)).tolist()
    require(
        found == [w // width if w < bound * width else 0 for w in u],
        f"uniform({bound}) is not exactly uniform",
    )


def _cells(rng: np.random.Generator) -> None:
    count, short = int(rng.integers(1, 40)), int(rng.choice([0, 1, 5, 2**50]))
    width = int(rng.integers(1, 2**64 // (count + 1), dtype=np.uint64))
    end = ONE - short
    last = end - count * width
    if last < 1:
        return
    u = _around([*(k * width for k in range(1, count + 1)), end], rng)
    with _play(_whole(u), np.zeros(sum(w >= end for w in u), np.uint64)):
        found = Source(None).cells(width, count, last, len(u)).tolist()
    require(
        found == [min(w // width, count) if w < end else 0 for w in u],
        f"cells({width}, {count}, {last}) are not as wide as asked",
    )


def _among(rng: np.random.Generator) -> None:
    number = int(rng.integers(1, 4))
    total = 1 << 64 * number
    cuts = sorted(
        int.from_bytes(rng.bytes(8 * number), "little") for _ in range(int(rng.integers(1, 8)))
    )
    widths = [b - a for a, b in itertools.pairwise([0, *cuts, total])]
    edges = list(accumulate(widths))
    u = _around(edges, rng, total)
    known = {e >> 64 * (number - 1) for e in edges if e < total}
    more = [w for w in u if number > 1 and w >> 64 * (number - 1) in known]
    tails = [_whole([w >> 64 * i & TOP for i in range(number - 1)]) for w in more]
    with _play(_whole([w >> 64 * (number - 1) for w in u]), *tails):
        found = Source(None).among(Edges.of(widths), len(u)).tolist()
    require(
        found == [bisect_right(edges, w) for w in u],
        f"among(widths of {number} words) is not the cell of U",
    )


def _bytes(rng: np.random.Generator) -> None:
    """Eight independent bits at a time, by the cell of a 512-bit number."""
    t = _word(rng) or 1
    exact = list(
        accumulate(t ** b.bit_count() * (ONE - t) ** (8 - b.bit_count()) for b in range(256))
    )[:-1]
    total = ONE**8
    some = [exact[i] for i in rng.integers(0, 255, 20)]
    u = _around(some, rng, total)
    u += [u[-1]] * (2**13 - len(u))  # as many as the table is made for
    heads = {e >> 496 for e in exact if e & ((1 << 496) - 1)}  # a prefix with an edge inside it
    open_ = [w for w in u if w >> 496 in heads]
    top = {e >> 448 for e in exact}
    tied = [w for w in open_ if w >> 448 in top]
    tails = [_whole([w >> 64 * i & TOP for i in range(7)]) for w in tied]
    first = np.array([w >> 496 for w in u], np.uint16)
    second = _whole([(w >> 448 & 2**48 - 1) << 16 for w in open_])
    with _play(first, second, *tails):
        found = Source(None).bits(t, len(u)).tolist()
    require(
        found == [bisect_right(exact, w) for w in u],
        f"bits({t}) are not independent with that chance",
    )


def _digits(rng: np.random.Generator) -> None:
    """Few bits, by binary digits of U: digit by digit from the highest, until all are settled."""
    t = _word(rng) or 1
    u = (_around([t], rng) * 8)[:64]
    u += [0] * (64 - len(u))
    asked: list[int] = []
    open_ = list(
        range(8)
    )  # bytes that hold an outcome whose digits so far are those of the threshold

    def serve(n: int) -> bytes:
        """One more binary digit of every outcome in the bytes that are still looked at."""
        digit = 63 - len(asked)
        asked.append(n)
        prefix = [u[i] >> digit for i in range(64)]
        rows = open_
        if n != len(rows):
            # Bytes without an outcome that is still equal are left out.
            alive = [
                b
                for b in rows
                if any(u[8 * b + k] >> digit + 1 == t >> digit + 1 for k in range(8))
            ]
            require(len(alive) == n, "a sampler asked for digits of outcomes that are settled")
            open_[:] = alive
        return bytes(sum((prefix[8 * b + k] & 1) << 7 - k for k in range(8)) for b in open_)

    with words(serve):
        found = np.unpackbits(Source(None).bits(t, 8)).tolist()
    require(found == [int(w < t) for w in u], f"bits({t}) of few bytes are not U < {t}")


PRIMITIVES = [_below, _below_each, _uniform, _cells, _among, _bytes, _digits]


class Extremes:
    """Random words, many of them at the ends of ranges or at a mechanism's own thresholds; later
    calls are plain randomness.
    """

    def __init__(self, rng: np.random.Generator, thresholds: list[int]) -> None:
        self.rng, self.calls = rng, 0
        near = [(t + d) % ONE for t in thresholds for d in (-1, 0, 1)]
        self.chosen = [0, 1, TOP, TOP - 1, 2**63, *near, *(w << 16 & TOP for w in near)]

    def __call__(self, n: int) -> bytes:
        self.calls += 1
        data = bytearray(self.rng.bytes(n))
        if self.calls > 40:
            return bytes(data)
        size = [2, 8, 8, 1][self.rng.integers(4)]
        for start in range(0, n - size + 1, size):
            if self.rng.random() < 0.6:
                word = self.chosen[self.rng.integers(len(self.chosen))]
                # A sampler that takes two bytes takes the upper ones of a word.
                data[start : start + size] = word.to_bytes(8, "little")[8 - size :]
        return bytes(data)


def _extremes(rng: np.random.Generator) -> str | None:
    """Whatever the random words are, a sampler ends, without an error, in a report that the answer
    can make.
    """
    mechanism = _instance(rng)
    if mechanism is None:
        return None
    one, values = _answer(rng, mechanism, 30)
    if one is None:
        return None
    thresholds = [
        int(v, 16) % ONE
        for m in _parts(mechanism)
        for v in m.thresholds().values()
        if v.startswith("0x")
    ]
    with words(Extremes(rng, thresholds)):
        reports = mechanism.randomize(values)
    mechanism.tally(reports)
    for key in _keys(reports):
        require(bool(one.get(key)), f"{mechanism!r}: an answer made a report that it cannot make")
    return None


def _parts(mechanism: Mechanism) -> list[Mechanism]:
    combined = isinstance(mechanism, warner.PerAttribute | warner.mechanisms.Repeated)
    return list(mechanism.parts.values()) if combined else [mechanism]  # type: ignore[attr-defined]


def _instance(rng: np.random.Generator) -> Mechanism | None:
    names = list(ALL)
    return laws.draw(rng, names[rng.integers(len(names))])


def _keys(reports: warner.Reports) -> list[own.Key]:
    columns = [c.reshape(len(reports), -1).astype(np.int64) for c in reports.columns.values()]
    return [tuple(row) for row in np.concatenate(columns, axis=1).tolist()]


def _answer(rng: np.random.Generator, mechanism: Any, n: int) -> tuple[own.Law | None, Any]:
    """A random answer: its exact law, and n people who have it."""
    m = mechanism
    if isinstance(m, warner.PerAttribute):
        whole: own.Law = {(): Fraction(1)}
        columns = {}
        for name, part in m.parts.items():
            one, columns[name] = _answer(rng, part, n)
            if one is None:
                return None, None
            whole = {a + b: p * q for a, p in whole.items() for b, q in one.items()}
        return whole, columns
    if isinstance(m, warner.KeyValue):
        if m.pairs is not None:
            return None, None
        key, position = int(rng.integers(m.keys.size)), None
        value, position = _number(rng, m.values)
        return own.law(m, (key, position)), [{"key": m.keys.labels[key], "value": value}] * n
    if isinstance(m, warner.mechanisms.WithNonresponse):
        if rng.random() < 0.4:
            return own.law(m, None), [None] * n
        value, position = _number(rng, m.inner.domain)
        index = int(m.inner.domain.encode([value])[0])
        return own.law(m, index if own.steps_of(m.inner) is None else position), [value] * n
    if isinstance(m.domain, warner.Product):  # several reports of one pair
        return None, None
    if isinstance(m.domain, warner.Integers | warner.Interval):
        value, position = _number(rng, m.domain)
        if isinstance(m, warner.mechanisms.Gaussian) and isinstance(m.domain, warner.Interval):
            return None, None
        index = int(m.domain.encode([value])[0])
        binned = isinstance(m.domain, warner.Interval)
        return own.law(
            m,
            position
            if own.steps_of(m) is not None or (binned and isinstance(m, warner.mechanisms.Repeated))
            else index,
        ), [value] * n
    index = int(rng.integers(m.domain.size))
    return own.law(m, index), [m.domain.labels[index]] * n


def _number(rng: np.random.Generator, domain: Any) -> tuple[Any, Fraction]:
    """A number in a domain, and where it stands between the ends, exactly."""
    if isinstance(domain, warner.Integers):
        index = int(rng.integers(domain.size))
        return domain.low + index, Fraction(index, domain.size - 1)
    value = float(rng.integers(0, 129)) / 128  # of [0, 1], exactly
    return value, Fraction(value)


def boundary(rng: np.random.Generator) -> str | None:
    """One of the primitive samplers at its boundaries, or a whole mechanism with extreme words."""
    pick = int(rng.integers(len(PRIMITIVES) + 3))
    if pick < len(PRIMITIVES):
        PRIMITIVES[pick](rng)
        return None
    return _extremes(rng)


def blackbox(rng: np.random.Generator, n: int = 60_000, system: bool | None = None) -> str | None:
    """Reports of one answer against its exact law.

    Two tests at 1e-9: exact binomial tails of every report (Bonferroni), and chi-square over
    reports that are expected at least
    100 times, the others together, at 1e-12, which its approximation needs to stay below 1e-9. They
    reject a sampler whose shares
    are off by some standard errors: one that takes the wrong side of a comparison, favours low
    residues, or forgets a redraw.
    """
    mechanism = _instance(rng)
    if mechanism is None or mechanism.n_reports > 3000:
        return None
    one, values = _answer(rng, mechanism, n)
    if one is None:
        return None
    system = bool(rng.random() < 0.5) if system is None else system
    # Whatever the device does, in parts of several sizes: few draws and many take different ways.
    reports, done = Counter[own.Key](), 0
    while done < n:
        size = min(n - done, [50, 700, 5000, 60_000][rng.integers(4)])
        part = (
            {k: v[:size] for k, v in values.items()} if isinstance(values, dict) else values[:size]
        )
        reports.update(_keys(mechanism.randomize(part, None if system else rng)))
        done += size
    return against(repr(mechanism), one, reports, "system" if system else "seeded")


def against(name: str, one: own.Law, reports: Counter[own.Key], source: str) -> str:
    from scipy.stats import binom, chi2

    n = sum(reports.values())
    for key in reports:
        require(
            bool(one.get(key)),
            f"{name}: made a report that its law rules out ({source} randomness)",
        )
    keys = list(one)
    shares, seen = np.array([float(one[k]) for k in keys]), np.array([reports[k] for k in keys])
    tails = np.minimum(binom.cdf(seen, n, shares), binom.sf(seen - 1, n, shares))
    least = float(tails.min()) * 2 * len(keys)
    if least < ALPHA:
        raise Finding(f"{name}: a report's frequency has p = {least:.3g} ({source} randomness)")
    often = shares * n >= 100
    expected = np.append(shares[often] * n, shares[~often].sum() * n)
    counts = np.append(seen[often], seen[~often].sum())
    counts, expected = counts[expected >= 100], expected[expected >= 100]
    p = 1.0
    if len(counts) > 1:
        p = float(chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1))
        if p < ALPHA / 1000:
            raise Finding(
                f"{name}: chi-square p = {p:.3g} over {len(counts)} reports ({source} randomness)"
            )
    return f"p {min(p, least):.3g}"
