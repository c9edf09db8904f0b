"""One table: this package beside other packages, ten lines of NumPy, and a floor, in one run.

A client turns n values into n reports, a tally counts n reports, and a collector turns n reports
into shares. All of a row take turns in one process, on one thread; the seconds are the processor's,
the fewest of the turns. So the ratios hold on a busy machine too, where seconds do not.

- floor: ``os.urandom`` of as many bytes as the reports have, and for tallies ``np.bincount`` of
  the reports, where a report is one number.
- NumPy: what one writes in ten lines, with floats and PCG64. It has no exact law, and its words can
  be repeated, so it is no program for real answers.
- pure-ldp, multi-freq-ldpy: called as their manuals call them, one user at a time, by few users
  where they take long, and scaled. One that is not installed is a row that says so.
- seeded: this package with PCG64, as in simulations; else with the operating system's randomness.

A claim is about rows of at least 100,000 people.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from _measure import EPSILON, SEED, alternate, claim
from _peers import MISSING, PEERS, POOL, clients, collectors
from warner import Integers, Interval, LocalHashing, RandomizedResponse, UnaryEncoding, estimate
from warner.estimators import Inversion
from warner.mechanisms import (
    HadamardResponse,
    Mechanism,
    ProjectiveGeometryResponse,
    SquareWave,
    SubsetSelection,
)

OURS, SEEDED, FLOOR, HAND = "warner", "seeded", "floor", "NumPy"
COLUMNS = (SEEDED, FLOOR, HAND, *PEERS)
MANY = 100_000  # people from which a claim is about a row
_PEERS_CLIENTS, _PEERS_COLLECTORS = 20_000, 5_000  # users that peers are timed with
_TURNS = 5

Work = Callable[[], Any]
Columns = dict[str, np.ndarray]


# -----------------------------------------------------------------------------------------------
# Ten lines of NumPy each: a client, and the counts that a collector needs of its reports.


class Hand(NamedTuple):
    """What one writes without a package."""

    client: Callable[[np.ndarray, Any, np.random.Generator], Any] | None
    counts: Callable[[Columns, Any], np.ndarray] | None  # of this package's reports


def response(values: np.ndarray, size: int, keep: float, rng: np.random.Generator) -> np.ndarray:
    """Randomised response."""
    other = rng.integers(0, size - 1, len(values))
    other += other >= values
    return np.where(rng.random(len(values)) < keep, values, other)


def direct(values: np.ndarray, mechanism: Any, rng: np.random.Generator) -> np.ndarray:
    """The reports of randomised response."""
    size = mechanism.domain.size
    return response(values, size, math.e**EPSILON / (math.e**EPSILON + size - 1), rng)


def histogram(columns: Columns, mechanism: Any) -> np.ndarray:
    """How often each report occurs."""
    return np.bincount(columns["report"], minlength=mechanism.schema.sizes[0])


def unary(values: np.ndarray, mechanism: Any, rng: np.random.Generator) -> np.ndarray:
    """The reports of optimised unary encoding."""
    bits = rng.random((len(values), mechanism.domain.size)) < 1 / (math.e**EPSILON + 1)
    bits[np.arange(len(values)), values] = rng.random(len(values)) < 0.5
    return np.packbits(bits, axis=1)


def bit_sums(columns: Columns, mechanism: Any) -> np.ndarray:
    """How often each bit is 1."""
    size = mechanism.domain.size
    return np.unpackbits(columns["bits"], axis=1, count=size).sum(axis=0, dtype=np.int64)


def hashing(values: np.ndarray, mechanism: Any, rng: np.random.Generator) -> Any:
    """The reports of optimised local hashing."""
    prime, buckets = mechanism.prime, mechanism.buckets
    multiplier = rng.integers(1, prime, len(values))
    shift = rng.integers(0, prime, len(values))
    hashed = (multiplier * values**3 + shift) % prime % buckets
    keep = math.e**EPSILON / (math.e**EPSILON + buckets - 1)
    return multiplier, shift, response(hashed, buckets, keep, rng)


def supports(columns: Columns, mechanism: Any) -> np.ndarray:
    """How many reports support each value, by hashing all values."""
    size, prime, buckets = mechanism.domain.size, mechanism.prime, mechanism.buckets
    # The multiplier of a report counts from 1, so it fits fewer bits.
    multiplier = columns["multiplier"].astype(np.int64) + 1
    shift, bucket = columns["shift"].astype(np.int64), columns["bucket"]
    return np.array(
        [
            np.count_nonzero((multiplier * (x**3 % prime) + shift) % prime % buckets == bucket)
            for x in range(size)
        ]
    )


def subset(values: np.ndarray, mechanism: Any, rng: np.random.Generator) -> np.ndarray:
    """The reports of subset selection."""
    size, members = mechanism.domain.size, mechanism.subset
    include = members * math.e**EPSILON / (members * math.e**EPSILON + size - members)
    scores = rng.random((len(values), size), dtype=np.float32)
    scores[np.arange(len(values)), values] = np.where(rng.random(len(values)) < include, -1, 2)
    bits = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(bits, np.argpartition(scores, members - 1)[:, :members], True, axis=1)
    return np.packbits(bits, axis=1)


def hadamard(values: np.ndarray, mechanism: Any, rng: np.random.Generator) -> np.ndarray:
    """The reports of Hadamard response."""
    row = values + 1
    report = rng.integers(0, mechanism.order, len(values))
    agrees = rng.random(len(values)) < math.e**EPSILON / (math.e**EPSILON + 1)
    wrong = (np.bitwise_count(report & row) & 1 == 0) != agrees
    return np.where(wrong, report ^ (row & -row), report)


def square_wave(values: np.ndarray, mechanism: Any, rng: np.random.Generator) -> np.ndarray:
    """The reports of the square wave, of which the published ones are floats."""
    e = math.e**EPSILON
    half = (EPSILON * e - e + 1) / (2 * e * (e - 1 - EPSILON))
    near = rng.random(len(values)) < 2 * half * e / (2 * half * e + 1)
    away = rng.random(len(values))
    away = np.where(away < values, away - half, away + half)
    return np.where(near, values + half * (2 * rng.random(len(values)) - 1), away)


# -----------------------------------------------------------------------------------------------
# The rows.


class Kind(NamedTuple):
    """A family of mechanisms: what is measured of it, and the bars of its claims."""

    make: Callable[[int], Mechanism]
    hand: Hand
    floors: float  # the most times the floor that a client may take
    sizes: tuple[tuple[int, int], ...]  # of the rows: people and values
    peer: str | None = None  # its name among the peers
    peer_client: float = 0.0  # how many times as long the best peer takes, at least
    peer_collector: float = 0.0


def _on(make: Callable[..., Mechanism], *more: Any) -> Callable[[int], Mechanism]:
    return lambda size: make(Integers(0, size - 1), EPSILON, *more)


USUAL = ((10_000, 16), (100_000, 16), (1_000_000, 16), (100_000, 256), (1_000_000, 256))
KINDS = {
    "k-RR": Kind(
        _on(RandomizedResponse),
        Hand(direct, histogram),
        2.5,
        (*USUAL, (1_000_000, 100_000)),
        "GRR",
        20,
    ),
    "OUE": Kind(
        _on(UnaryEncoding, "oue"),
        Hand(unary, bit_sums),
        2.5,
        (*USUAL[:4], (1000, 10_000)),
        "OUE",
        8,
        3,
    ),
    "OLH": Kind(
        _on(LocalHashing),
        Hand(hashing, supports),
        2.5,
        (*USUAL[:3], (100_000, 64), (100_000, 256)),
        "OLH",
        20,
        50,
    ),
    "OLH, a pool": Kind(
        lambda size: LocalHashing(Integers(0, size - 1), EPSILON, seeds=POOL),
        Hand(None, None),
        2.5,
        ((100_000, 256),),
        "FLH",
        20,
        3,
    ),
    "subset": Kind(
        _on(SubsetSelection),
        Hand(subset, bit_sums),
        5,
        ((10_000, 16), (100_000, 16), (100_000, 256)),
    ),
    "Hadamard": Kind(_on(HadamardResponse), Hand(hadamard, histogram), 2.5, USUAL),
    "projective": Kind(_on(ProjectiveGeometryResponse), Hand(None, histogram), 5, USUAL[1:]),
    "square wave": Kind(
        lambda size: SquareWave(Interval(0.0, 1.0, bins=size), EPSILON),
        Hand(square_wave, histogram),
        5,
        ((100_000, 64), (1_000_000, 64)),
    ),
}


@dataclass
class Row:
    """The processor seconds of one piece of work, by who does it."""

    work: str  # client, tally or collector
    kind: str
    n: int
    size: int
    seconds: dict[str, float]
    scaled: dict[str, float] = field(default_factory=dict)  # by what peers' seconds were multiplied

    def times(self, who: str) -> float:
        """How many times as long as this package somebody takes; for the floor, the inverse."""
        ratio = self.seconds[who] / self.seconds[OURS]
        return 1 / ratio if who == FLOOR else ratio


def timed(work: str, kind: str, n: int, size: int, jobs: dict[str, Work], people: int) -> Row:
    """A row, whose jobs take turns; those of peers are of so many people."""
    seconds = alternate(jobs, _TURNS, clock=time.process_time, of_turns=min)
    scale = {peer: n / people for peer in PEERS if peer in jobs}
    return Row(
        work, kind, n, size, {who: s * scale.get(who, 1.0) for who, s in seconds.items()}, scale
    )


def rows_of(name: str, n: int, size: int) -> Iterator[Row]:
    """The client, the tally and the collector of a kind."""
    kind = KINDS[name]
    mechanism: Any = kind.make(size)
    rng = np.random.default_rng(SEED)
    values = rng.random(n) if name == "square wave" else rng.integers(0, size, n)
    reports = mechanism.randomize(values, rng)
    columns = dict(reports.columns)
    width = sum(column.nbytes for column in columns.values())

    jobs: dict[str, Work] = {
        OURS: lambda: mechanism.randomize(values),
        SEEDED: lambda: mechanism.randomize(values, rng),
        FLOOR: lambda: os.urandom(width),
    }
    if (client := kind.hand.client) is not None:
        jobs[HAND] = lambda: client(values, mechanism, rng)
    few = values[:_PEERS_CLIENTS].tolist()
    of_peers = clients(kind.peer, size, EPSILON) if kind.peer else {}
    for peer, one in of_peers.items():
        one(few[0])  # numba compiles here
        jobs[peer] = lambda one=one: [one(value) for value in few]
    yield timed("client", name, n, size, jobs, len(few))

    tally, counts = mechanism.tally(reports), kind.hand.counts
    jobs = {OURS: lambda: mechanism.tally(reports)}
    if len(columns) == 1 and columns.get("report") is not None:
        jobs[FLOOR] = lambda: np.bincount(columns["report"], minlength=mechanism.schema.sizes[0])
    if counts is not None:
        jobs[HAND] = lambda: counts(columns, mechanism)
    yield timed("tally", name, n, size, jobs, n)

    jobs = {OURS: lambda: estimate(mechanism.tally(reports), Inversion())}
    few = values[:_PEERS_COLLECTORS].tolist()
    for peer, collect in (
        collectors(kind.peer, size, EPSILON) if kind.peer_collector else {}
    ).items():
        theirs = [of_peers[peer](value) for value in few]
        jobs[peer] = lambda collect=collect, theirs=theirs: collect(theirs)
    assert tally.n == n
    yield timed("collector", name, n, size, jobs, len(few))


def rows() -> Iterator[Row]:
    """All rows, of one kind after the other."""
    for name, kind in KINDS.items():
        for n, size in kind.sizes:
            yield from rows_of(name, n, size)


# -----------------------------------------------------------------------------------------------
# The table, its slopes, and its claims.


def heading() -> str:
    """The line above the rows."""
    titles = "".join(f"{title:>{_width(title)}}" for title in COLUMNS)
    return f"{'':<10}{'':<12}{'people':>10}{'values':>9}{'warner':>11}{titles}"


def _width(title: str) -> int:
    return max(len(title) + 2, 9)


def line(row: Row) -> str:
    """One row: milliseconds of this package, and the others as multiples."""
    cells = []
    for who in COLUMNS:
        text = "-"
        if who in row.seconds:
            text = f"{row.times(who):,.2f}" if row.times(who) < 100 else f"{row.times(who):,.0f}"
            text += "*" if row.scaled.get(who, 1.0) > 1 else ""
        cells.append(f"{text:>{_width(who)}}")
    about = f"{row.work:<10}{row.kind:<12}{row.n:>10,}{row.size:>9,}"
    return f"{about}{row.seconds[OURS] * 1e3:>8.2f} ms{''.join(cells)}"


def slope(work: str, kind: str, of: list[Row], by: str) -> str | None:
    """The exponent by which seconds grow from the smallest to the largest number of people or values."""
    other = "size" if by == "n" else "n"
    chosen = [row for row in of if (row.work, row.kind) == (work, kind)]
    series = [
        sorted((r for r in chosen if getattr(r, other) == fixed), key=lambda r: getattr(r, by))
        for fixed in {getattr(r, other) for r in chosen}
    ]
    series = [s for s in series if len(s) > 1]
    if not series:
        return None
    longest = max(series, key=lambda s: getattr(s[-1], by) / getattr(s[0], by))
    first, last = longest[0], longest[-1]
    start, end = getattr(first, by), getattr(last, by)
    exponent = math.log(last.seconds[OURS] / first.seconds[OURS]) / math.log(end / start)
    word = "people" if by == "n" else "values"
    return f"{work:<10}{kind:<12} {word} {start:,} to {end:,}: {exponent:.2f}"


def claims(of: list[Row]) -> None:
    """What the table shows, or misses."""
    for row in of:
        kind, about = KINDS[row.kind], f"{row.kind} {row.work}, n = {row.n:,}, K = {row.size:,}"
        if row.n < MANY:
            continue
        if row.work == "client":
            times = row.times(FLOOR)
            claim(
                f"{about}: at most {kind.floors:g} times the floor",
                times <= kind.floors,
                f"{times:.2f}",
            )
            if HAND in row.seconds:
                ours = row.seconds[SEEDED] / row.seconds[HAND]
                claim(
                    f"{about}: seeded, no slower than NumPy",
                    ours <= 1,
                    f"{ours:.2f} times its time",
                )
        if row.work == "tally" and row.kind == "k-RR":
            times = row.times(FLOOR)
            claim(f"{about}: at most 1.2 times np.bincount", times <= 1.2, f"{times:.2f}")
        if row.work == "tally" and row.kind == "OLH":
            bar, times = 1 if row.size < 64 else 3, row.times(HAND)
            claim(f"{about}: {bar} times as fast as NumPy", times >= bar, f"{times:.2f} times")
        bar = {"client": kind.peer_client, "collector": kind.peer_collector}.get(row.work, 0)
        present = [row.times(peer) for peer in PEERS if peer in row.seconds]
        if bar and present and row.size == 256:
            best = min(present)
            claim(
                f"{about}: {bar:g} times as fast as the best peer", best >= bar, f"{best:.1f} times"
            )


def main() -> None:
    """Print the rows as they are made, then slopes and claims."""
    print(
        f"epsilon = {EPSILON:g}; milliseconds of the processor. The columns after warner say how many"
    )
    print(
        "times as long as warner others take; floor says how many times as long as it warner takes."
    )
    print("* timed with few people, and scaled")
    print(heading())
    made = []
    for row in rows():
        made.append(row)
        print(line(row), flush=True)
    for peer in MISSING:
        print(f"{peer}: is not installed, so it has no figures; make bench installs it")
    print("how time grows, as the exponent of a power:")
    for work in ("client", "tally", "collector"):
        for kind in KINDS:
            for by in ("n", "size"):
                if (text := slope(work, kind, made, by)) is not None:
                    print(f"  {text}")
    claims(made)


if __name__ == "__main__":
    main()
