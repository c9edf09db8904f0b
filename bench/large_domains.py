"""Claim: domains of 10^2 to 10^6 values are usable with every mechanism.

    {k-RR, OUE, subset, Hadamard, projective, OLH, BLH} x K in {10^2 .. 10^6} x n in {10^5, 10^6},
    epsilon 2; labels, and integers in order

A cell is a process of its own, on one thread. Its phases are timed in CPU seconds: randomise and
tally, both in batches of ``BATCH`` bytes of reports; inversion; the default estimate; the default
intervals. Reports are made with the operating system's randomness, as on devices. A phase of less
than 0.3 s is repeated, and its least time counts. Memory is the peak of the process, less what it
held before the first phase. The squared error of the inversion is divided by the theory's,
sum_x V_x / n for these people; its standard deviation is about sqrt(2 / K) of that. People with
labels have Zipf shares in chance order. Integers have a smooth distribution of two humps.

- The phases of a cell with n = 10^5 labels take at most 30 s together. Unary encoding and subset
  selection are left out beyond 10^5 values, since their reports are n K bits by nature, and so is
  local hashing, which hashes n K pairs.
- The default estimate of labels takes less than 50 ms for K = 10^3, 5 s for K = 10^5, and for
  K = 10^6 30 s with k-RR, Hadamard and projective.
- The squared error of every inversion of at least 10^4 values is within 10 % of the theory's.

Every cell is one line of bench/results/large_domains.jsonl. Cells that are there are not done
again, so the script may be stopped at any time. A cell that takes more than ``--limit`` seconds is
stopped; the phases that ended are kept, and the one that did not is named. ``--quick`` does cells
of at most 10^4 values and 10^5 people. ``--mechanisms``, ``--sizes``, ``--people`` and ``--kinds``
name cells; ``--again`` does these cells anew.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from _measure import SEED, claim, peak, resident
from warner import (
    Categorical,
    HadamardResponse,
    Integers,
    Inversion,
    LocalHashing,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
    estimate,
)
from warner.domains import Domain
from warner.errors import ArgumentError
from warner.mechanisms import Mechanism, ProjectiveGeometryResponse

EPSILON = 2.0
MAKERS: dict[str, Callable[[Domain], Mechanism]] = {
    "k-RR": lambda d: RandomizedResponse(d, EPSILON),
    "Hadamard": lambda d: HadamardResponse(d, EPSILON),
    "projective": lambda d: ProjectiveGeometryResponse(d, EPSILON),
    "subset": lambda d: SubsetSelection(d, EPSILON),
    "OUE": lambda d: UnaryEncoding(d, EPSILON, variant="oue"),
    "OLH": lambda d: LocalHashing(d, EPSILON),
    "BLH": lambda d: LocalHashing(d, EPSILON, buckets=2),
}
# Mechanisms whose reports, or whose counting, take n K steps by nature, and the values up to which
# they are fast nevertheless.
BY_NATURE = {"subset": 10**5, "OUE": 10**5, "OLH": 0, "BLH": 0}
AT_A_MILLION = ("k-RR", "Hadamard", "projective")
SIZES = tuple(10**k for k in range(2, 7))
PEOPLE = (10**5, 10**6)
KINDS = ("labels", "integers")
PHASES = ("randomize", "tally", "inversion", "default", "interval")
BATCH = 2**26  # bytes of reports that are held at a time
_SHORT = 0.3  # seconds below which a phase is repeated
FILE = Path(__file__).parent / "results" / "large_domains.jsonl"
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}

Cell = tuple[str, int, int, str]


def cells() -> list[Cell]:
    """Small cells first, so that a run that is stopped has whole rows."""
    every = product(MAKERS, SIZES, PEOPLE, KINDS)
    order = list(MAKERS)
    return sorted(
        every, key=lambda cell: (cell[0] in BY_NATURE, cell[2], cell[1], order.index(cell[0]))
    )


def people(size: int, n: int, kind: str) -> np.ndarray:
    """The values (n,) of people."""
    rng = np.random.default_rng([SEED, size, n])
    if kind == "labels":
        shares = 1 / np.arange(1, size + 1) ** 1.1
        return rng.permutation(size)[rng.choice(size, n, p=shares / shares.sum())]
    left = rng.random(n) < 0.6
    place = np.where(left, rng.normal(0.35, 0.08, n), rng.normal(0.7, 0.1, n))
    return np.clip(place * size, 0, size - 1).astype(np.int64)


def timed(job: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds, the least of three turns where one is short, and the result."""
    found = []
    for _ in range(3):
        start = time.process_time()
        result = job()
        found.append(time.process_time() - start)
        if found[-1] > _SHORT:
            break
    return min(found), result


def measure(name: str, size: int, n: int, kind: str) -> None:
    """One cell, in a process of its own; each phase is printed as it ends."""

    def say(**found: Any) -> None:
        print(json.dumps(found), flush=True)

    make = MAKERS[name]
    domain_of = lambda k: Categorical(range(k)) if kind == "labels" else Integers(0, k - 1)
    small = make(domain_of(100))
    few = estimate(small.tally(small.randomize(people(100, 1000, kind))))
    few.interval()  # what is imported late belongs to no phase
    values = people(size, n, kind)
    mechanism = make(domain_of(size))
    before = resident()
    columns = mechanism.schema.empty(1)
    wide = sum(column.nbytes for column in columns.values())
    say(bytes=wide)
    batch = max(1, min(n, BATCH // wide))
    seconds, tally = {"randomize": 0.0, "tally": 0.0}, None
    for start in range(0, n, batch):
        once, reports = timed(partial(mechanism.randomize, values[start : start + batch]))
        seconds["randomize"] += once
        once, counted = timed(partial(mechanism.tally, reports))
        seconds["tally"] += once
        tally = counted if tally is None else tally + counted
    assert tally is not None
    say(**seconds, memory=peak() - before)
    taken, inverse = timed(lambda: estimate(tally, Inversion()))
    data = inverse.data
    shares = np.bincount(values, minlength=size) / n
    within = data.channel.variance(shares) - shares * (1 - shares)
    error = float(((inverse.probabilities - shares) ** 2).sum() / within.sum() * n)
    say(inversion=taken, error=error, memory=peak() - before)
    taken, result = timed(lambda: estimate(tally))
    say(default=taken, method=result.method, memory=peak() - before)
    taken, _ = timed(lambda: result.interval())
    say(interval=taken, memory=peak() - before)


def run(cell: Cell, limit: float) -> dict[str, Any]:
    """The line of a cell."""
    line: dict[str, Any] = {"cell": list(cell)}
    command = [sys.executable, "-W", "ignore", __file__, "cell", json.dumps(cell)]
    environment = {**os.environ, **ONE_THREAD}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        text, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        text, _ = process.communicate()
        # The last line is incomplete if the process was stopped while it wrote.
        text = text[: text.rfind("\n") + 1]
        stopped = True
    else:
        stopped = False
    for found in text.splitlines():
        line.update(json.loads(found))
    missing = [phase for phase in PHASES if phase not in line]
    # A process that was stopped after its last phase measured all that there is.
    if missing and "refused" not in line:
        line["ended in"] = missing[0]
        if stopped:
            line["limit"] = limit
        else:
            line["status"] = process.returncode
    return line


def show(line: dict[str, Any]) -> str:
    """One row of the table."""
    name, size, n, kind = line["cell"]
    head = f"{name:10} {size:>9,} {n:>9,} {kind:8}"
    if "refused" in line:
        return f"{head} refused: {line['refused'][:60]}"
    times = "".join(f"{line[p]:>10.3f}" if p in line else f"{'-':>10}" for p in PHASES)
    rest = f" {line.get('memory', 0):>8,.0f} {line.get('bytes', 0):>7,}"
    rest += f" {line['error']:>7.3f}" if "error" in line else f" {'-':>7}"
    why = f"  over {line['limit']:g} s in {line['ended in']}" if "limit" in line else ""
    why += f"  status {line['status']} in {line['ended in']}" if "status" in line else ""
    return f"{head}{times}{rest}  {line.get('method', '')}{why}"


def claims(lines: list[dict[str, Any]]) -> None:
    """The claims, on the cells that are there."""
    whole = [line for line in lines if "refused" not in line]
    sums = {
        tuple(line["cell"]): sum(line[phase] for phase in PHASES)
        if all(phase in line for phase in PHASES)
        else float("inf")
        for line in whole
        if line["cell"][2] == 10**5
        and line["cell"][3] == "labels"
        and line["cell"][1] <= BY_NATURE.get(line["cell"][0], line["cell"][1])
    }
    if sums:
        worst = max(sums, key=lambda cell: sums[cell])
        claim(
            "n = 10^5: at most 30 s together",
            sums[worst] <= 30,
            f"{worst[0]}, K = {worst[1]:,}: {sums[worst]:.1f} s",
        )
    for size, bar, names in (
        (10**3, 0.05, tuple(MAKERS)),
        (10**5, 5.0, tuple(MAKERS)),
        (10**6, 30.0, AT_A_MILLION),
    ):
        found = {
            (line["cell"][0], line["cell"][2]): line.get("default", float("inf"))
            for line in whole
            if line["cell"][1] == size and line["cell"][3] == "labels" and line["cell"][0] in names
        }
        if found:
            slowest = max(found, key=lambda key: found[key])
            text = f"default estimate of {size:,} labels in less than {bar:g} s"
            claim(
                text,
                found[slowest] < bar,
                f"{slowest[0]}, n = {slowest[1]:,}: {found[slowest]:.3f} s",
            )
    errors = {
        tuple(line["cell"]): line["error"]
        for line in whole
        if line["cell"][1] >= 10**4 and "error" in line
    }
    if errors:
        odd = max(errors, key=lambda cell: abs(errors[cell] - 1))
        text = "squared error of the inversion within 10 % of the theory's"
        claim(
            text, abs(errors[odd] - 1) < 0.1, f"{odd[0]}, K = {odd[1]:,}: {errors[odd]:.3f} times"
        )
    refused = sorted({line["cell"][0] for line in lines if "refused" in line})
    claim("no cell is refused", not refused, ", ".join(refused) or "none is")


def named(text: str, among: tuple[Any, ...], kind: type) -> tuple[Any, ...]:
    """The members of ``among`` that a comma-separated text names; all where it is empty."""
    found = tuple(kind(float(part)) if kind is int else part for part in text.split(",") if part)
    if wrong := [value for value in found if value not in among]:
        raise SystemExit(f"no cell has {wrong[0]}; there are {', '.join(map(str, among))}")
    return found or among


def main() -> None:
    """Do the cells that are not there, then print the table and the claims."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="K <= 10^4 and n = 10^5 only")
    parser.add_argument("--limit", type=float, default=900, help="seconds of a cell (900)")
    parser.add_argument("--mechanisms", default="", help="such as k-RR,subset")
    parser.add_argument("--sizes", default="", help="such as 100,1e6")
    parser.add_argument("--people", default="", help="such as 1e5")
    parser.add_argument("--kinds", default="", help="labels or integers")
    parser.add_argument("--again", action="store_true", help="do these cells anew")
    parser.add_argument("--out", default=str(FILE), help="the file of the lines")
    asked = parser.parse_args()
    names = named(asked.mechanisms, tuple(MAKERS), str)
    sizes, counts = named(asked.sizes, SIZES, int), named(asked.people, PEOPLE, int)
    kinds = named(asked.kinds, KINDS, str)
    wanted = [
        cell
        for cell in cells()
        if cell[0] in names
        and cell[1] in sizes
        and cell[2] in counts
        and cell[3] in kinds
        and not (asked.quick and (cell[1] > 10**4 or cell[2] > 10**5))
    ]
    file = Path(asked.out)
    file.parent.mkdir(exist_ok=True)
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    done = {tuple(line["cell"]): line for line in lines}
    for cell in wanted:
        if cell in done and not asked.again:
            continue
        done[cell] = run(cell, asked.limit)
        with file.open("a") as out:
            out.write(json.dumps(done[cell]) + "\n")
        print(show(done[cell]), flush=True)
    # The last line of a cell counts.
    file.write_text("".join(json.dumps(line) + "\n" for line in done.values()))
    print(
        f"{'mechanism':10} {'K':>9} {'n':>9} {'kind':8}"
        + "".join(f"{p:>10}" for p in PHASES)
        + f" {'MB':>8} {'bytes':>7} {'error':>7}  method"
    )
    shown = [done[cell] for cell in wanted]
    for line in sorted(
        shown,
        key=lambda line: (
            list(MAKERS).index(line["cell"][0]),
            line["cell"][3],
            line["cell"][2],
            line["cell"][1],
        ),
    ):
        print(show(line))
    claims(shown)


if __name__ == "__main__":
    if sys.argv[1:2] == ["cell"]:
        try:
            measure(*json.loads(sys.argv[2]))
        except ArgumentError as error:
            print(json.dumps({"refused": str(error)}))
    else:
        main()
