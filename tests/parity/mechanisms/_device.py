"""A device in another language: an interpreter of device programs, in plain Python integers.

It is written from docs/device_programs.md alone, and shares no code with the package. ``run`` draws a
report, ``law`` measures the exact distribution of what ``run`` would draw, and ``check`` refuses a
program.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import accumulate, product
from math import floor, prod
from typing import Any

ONE = 2**64
Columns = list[tuple[str, list[int]]]


class Refused(Exception):
    """The name of the error that refuses a program or an answer."""


def read(value: int | str) -> int:
    """An integer of a program."""
    return value if isinstance(value, int) else int(value, 16)


# Words and decisions.


class Words:
    """Decisions by given words."""

    def __init__(self, words: Sequence[int]) -> None:
        self._words = iter(words)
        self.used = 0

    def word(self) -> int:
        self.used += 1
        return next(self._words)

    def below(self, *threshold: int) -> bool:
        for part in threshold:
            u = self.word()
            if u != part:
                return u < part
        return False

    def uniform(self, b: int) -> int:
        if b == 1:
            return 0
        found = self.word() // (ONE // b)
        return self.uniform(b) if found >= b else found

    def cells(self, w: int, c: int, last: int) -> int:
        u = self.word()
        return self.cells(w, c, last) if u >= c * w + last else min(u // w, c)

    def among(self, widths: Sequence[int], k: int) -> int:
        whole = sum(self.word() << 64 * (k - 1 - i) for i in range(k))
        return sum(e <= whole for e in accumulate(widths) if e < 1 << 64 * k)

    def window(self, widths: Sequence[int]) -> int:
        edges = list(accumulate(widths))
        u = self.word()
        while u >= edges[-1]:
            u = self.word()
        return bisect_right(edges, u)


class Path:
    """Decisions that are given, and the probability that words make them."""

    def __init__(self, choices: Sequence[int]) -> None:
        self._choices = list(choices)
        self._factors: list[tuple[int, int]] = []
        self.open: list[list[int]] = []
        self._made: list[int] = []

    def _choose(self, weights: Sequence[int]) -> int:
        """One of several outcomes; the others are left open for further paths."""
        if len(self._made) < len(self._choices):
            choice = self._choices[len(self._made)]
        else:
            choice, *rest = (i for i, weight in enumerate(weights) if weight)
            self.open += [[*self._made, other] for other in rest]
        self._made.append(choice)
        self._factors.append((weights[choice], sum(weights)))
        return choice

    @property
    def probability(self) -> Fraction:
        return Fraction(prod(a for a, _ in self._factors), prod(b for _, b in self._factors))

    def below(self, *threshold: int) -> bool:
        whole = sum(t << 64 * (len(threshold) - 1 - i) for i, t in enumerate(threshold))
        return self._choose([ONE ** len(threshold) - whole, whole]) == 1

    def uniform(self, b: int) -> int:
        return self._choose([1] * b)

    def cells(self, w: int, c: int, last: int) -> int:
        return self._choose([w] * c + [last])

    def among(self, widths: Sequence[int], k: int) -> int:
        assert sum(widths) == 1 << 64 * k
        return self._choose(widths)

    def window(self, widths: Sequence[int]) -> int:
        return self._choose(widths)


# Samplers.


def direct(p: dict[str, Any], x: int, d: Any, size: str = "size") -> int:
    k, own, other = p[size], read(p["own"]), read(p["other"])
    c = d.cells(other, k - 1, own)
    return x if c == k - 1 else c if c < x else c + 1


def bytes_of(bits: Sequence[int]) -> list[int]:
    padded = [*bits, *[0] * (-len(bits) % 8)]
    return [int("".join(map(str, padded[i : i + 8])), 2) for i in range(0, len(padded), 8)]


def draw_bits(threshold: int, used: int, d: Any) -> list[int]:
    return [int(d.below(threshold)) for _ in range(8 * -(-used // 8))][:used]


def run_direct(p: dict[str, Any], x: int, d: Any) -> Columns:
    return [("report", [direct(p, x, d)])]


def run_bits(p: dict[str, Any], x: int, d: Any) -> Columns:
    bits = draw_bits(read(p["raised"]), p["size"], d)
    bits[x] = int(d.below(read(p["keep"])))
    return [("bits", bytes_of(bits))]


def mix(h: int) -> int:
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        h = (h ^ h >> shift) * factor % 2**32
    return h ^ h >> 16


def run_hash(p: dict[str, Any], x: int, d: Any) -> Columns:
    g = p["buckets"]
    if p["family"] == 2:
        q = p["prime"]
        a, b = d.uniform(q - 1), d.uniform(q)
        bucket = ((a + 1) * x**3 + b) % q % g
        columns = [("multiplier", [a]), ("shift", [b])]
    else:
        s = d.uniform(p["seeds"])
        key = mix((s * 0x9E3779B1 + 0x7F4A7C15) % 2**32)
        bucket = (mix(key ^ x * 0x85EBCA77 % 2**32) >> 16) * g >> 16
        columns = [("seed", [s])]
    return [*columns, ("bucket", [direct(p, bucket, d, "buckets")])]


def floyd(total: int, size: int, d: Any) -> set[int]:
    found: set[int] = set()
    for t in range(total - size, total):
        j = d.uniform(t + 1)
        found.add(t if j in found else j)
    return found


def run_subset(p: dict[str, Any], x: int, d: Any) -> Columns:
    k, size = p["size"], p["members"]
    included = d.below(read(p["include"]))
    others, m = k - 1, size - 1 if included else size
    if 2 * size > k:
        members = set(range(others)) - floyd(others, others - m, d)
    else:
        members = floyd(others, m, d)
    if x in members:
        members = members - {x} | {others}
    if included:
        members = members | {x}
    return [("bits", bytes_of([int(j in members) for j in range(k)]))]


def run_hadamard(p: dict[str, Any], x: int, d: Any) -> Columns:
    y, row = d.uniform(p["order"]), x + 1
    agrees = bin(y & row).count("1") % 2 == 0
    keep = d.below(read(p["agree"]))
    lowest = next(1 << i for i in range(64) if row >> i & 1)
    return [("report", [y if agrees == keep else y ^ lowest])]


def run_table(p: dict[str, Any], x: int, d: Any) -> Columns:
    return [("report", [d.among([read(v) for v in p["numerators"][x]], p["words"])])]


def run_utility_direct(p: dict[str, Any], x: int, d: Any) -> Columns:
    return [("report", [named_value(p, x, d)])]


def run_utility_subset(p: dict[str, Any], x: int, d: Any) -> Columns:
    s, size = p["sensitive"], p["members"]
    z, last = named_value(p, x, d), len(s) - 1
    if 2 * (size - 1) > len(s):
        numbers = set(range(last)) - floyd(last, len(s) - size, d)
    else:
        numbers = floyd(last, size - 1, d)
    if z not in s:
        report = {z}
    else:
        r = s.index(z)
        if r in numbers:
            numbers = numbers - {r} | {last}
        report = {s[i] for i in numbers | {r}}
    return [("bits", bytes_of([int(j in report) for j in range(p["size"])]))]


def named_value(p: dict[str, Any], x: int, d: Any) -> int:
    s, other = p["sensitive"], read(p["other"])
    c = d.cells(other, len(s), read(p["own"]) - other)
    if x in s:
        r = s.index(x)
        report = x if c >= len(s) - 1 else s[c] if c < r else s[c + 1]
    else:
        report = x if c == len(s) else s[c]
    return report


def run_utility_bits(p: dict[str, Any], x: int, d: Any) -> Columns:
    bits = [0] * p["size"]
    for place, bit in zip(
        p["sensitive"], draw_bits(read(p["raised"]), len(p["sensitive"]), d), strict=True
    ):
        bits[place] = bit
    bits[x] = int(d.below(read(p["keep"]) if x in p["sensitive"] else ONE - read(p["dropped"])))
    return [("bits", bytes_of(bits))]


def run_projective(p: dict[str, Any], x: int, d: Any) -> Columns:
    q, t, h = p["prime"], p["dimension"], p["blocks"]
    first = [(q**r - 1) // (q - 1) for r in range(t + 1)]
    m, s, k = first[t], first[t - 1], -(-p["size"] // h)

    def free(i: int) -> int:
        return max(r for r in range(t) if first[r] <= i)

    def number(i: int) -> int:
        return i - first[free(i)] + q ** free(i)

    orthogonal = d.below(read(p["include"]))
    place = d.uniform(h * m - s)
    block, v, level = x // k, number(x % k), free(x % k)
    w = number(d.uniform(s)) if orthogonal else d.uniform(q ** (t - 1))
    goal, pending, u, total = 0 if orthogonal else 1, not orthogonal, 0, 0
    for j in range(t - 1):
        digit = w // q ** (t - 2 - j) % q
        if pending and j < level and digit > 0:
            goal, digit, pending = digit, 1, False
        if j < level:
            total += digit * (v // q**j % q)
            u += digit * q ** (t - 1 - j)
        else:
            u += digit * q ** (t - 2 - j)
    u += (goal - total) % q * q ** (t - 1 - level)
    r = max(r for r in range(t) if q**r <= u)
    if orthogonal or place < m - s:
        return [("report", [block * m + u - q**r + first[r]])]
    a, b = divmod(place - (m - s), m)
    return [("report", [(a if a < block else a + 1) * m + b])]


def rounded(x: float, n: int, d: Any) -> int:
    s = x * n
    point = min(floor(s), n - 1)
    up = d.below(int(min((s - point) * 2.0**64, 2.0**64 - 2048)))
    return n if s >= n else point + int(up)


def run_window(p: dict[str, Any], x: float, d: Any) -> Columns:
    m, w = p["cells"], p["width"]
    start = rounded(x, m - w, d)
    c = d.window([read(p["own"])] * w + [read(p["other"])] * (m - w))
    report = start + c if c < w else c - w if c - w < start else c
    return [("report", [report])]


def geometric(p: dict[str, Any], d: Any) -> int:
    total = sum(2**j for j, digit in enumerate(p["digits"]) if d.below(*map(read, digit)))
    while d.below(*map(read, p["rest"])):
        total += 2 ** len(p["digits"])
    return total


def noisy(p: dict[str, Any], point: int, noise: int) -> Columns:
    return [("report", [min(max(point + noise + p["reach"], 0), p["steps"] + 2 * p["reach"])])]


def run_noise(p: dict[str, Any], x: float, d: Any) -> Columns:
    noise = geometric(p, d) - geometric(p, d)
    return noisy(p, int(x) if p["answer"] == "index" else rounded(x, p["steps"], d), noise)


def axis_classes(p: dict[str, Any], name: str, n: int) -> list[list[int]]:
    found: list[list[int]] = p.get(name, [[abs(i - j) for j in range(n)] for i in range(n)])
    return found


def exponential_table(p: dict[str, Any]) -> list[list[int]]:
    """n[x][z]."""
    (height, width), one = p["shape"], 1 << 64 * p["words"]
    rows = axis_classes(p, "row_classes", height)
    columns = axis_classes(p, "column_classes", width)
    cells = [divmod(cell, width) for cell in p.get("places", range(p["size"]))]
    table = []
    for x, (i, j) in enumerate(cells):
        weights = [read(p["weights"][rows[i][a]][columns[j][b]]) for a, b in cells]
        own = [weight * one // sum(weights) for weight in weights]
        own[x] += one - sum(own)
        table.append(own)
    return table


def run_exponential(p: dict[str, Any], x: int, d: Any) -> Columns:
    return [("report", [d.among(exponential_table(p)[x], p["words"])])]


def planar_masses(p: dict[str, Any]) -> list[int]:
    height, width = p["shape"]
    return [
        read(p["quadrant"][abs(i)][abs(j)])
        for i in range(1 - height, height)
        for j in range(1 - width, width)
    ]


def run_planar(p: dict[str, Any], x: int, d: Any) -> Columns:
    height, width = p["shape"]
    cell = p["places"][x] if "places" in p else x
    down, right = divmod(d.among(planar_masses(p), p["words"]), 2 * width - 1)
    row = min(max(cell // width + down - (height - 1), 0), height - 1)
    column = min(max(cell % width + right - (width - 1), 0), width - 1)
    found = row * width + column
    return [("report", [p["reports"][found] if "reports" in p else found])]


def gaussian_masses(p: dict[str, Any]) -> tuple[int, ...]:
    return _both_sides(tuple(p["masses"]))


@cache
def _both_sides(masses: tuple[int | str, ...]) -> tuple[int, ...]:
    half = [read(m) for m in masses]
    return (*half[:0:-1], *half)


def run_gaussian(p: dict[str, Any], x: float, d: Any) -> Columns:
    numeric = p["answer"] == "position"
    places = [rounded(x, p["steps"][0], d)] if numeric else p["places"][int(x)]
    columns = []
    for i, (steps, place) in enumerate(zip(p["steps"], places, strict=True)):
        noise = d.among(gaussian_masses(p), p["words"]) - (len(p["masses"]) - 1)
        value = min(max(place + noise + p["beyond"], 0), steps + 2 * p["beyond"])
        columns.append(("report" if numeric else f"axis{i}", [value // p["group"]]))
    return columns


def run_repeated(p: dict[str, Any], x: list[Any], d: Any) -> Columns:
    runs = [
        run(part["program"], answer, d)
        for part, answer in zip(p["parts"], x, strict=True)
        for _ in range(part["times"])
    ]
    return [(f"{i}.{name}", v) for i, one in enumerate(runs, 1) for name, v in one]


def dummy(inner: dict[str, Any], d: Any) -> Columns:
    if inner["sampler"] == "window":
        return [("report", [d.uniform(inner["cells"])])]
    point = d.uniform(inner["steps"] + 1)
    return noisy(inner, point, geometric(inner, d) - geometric(inner, d))


def last_of(inner: dict[str, Any]) -> int:
    """How many reports the inner program of a program with nonresponse has."""
    if inner["sampler"] == "window":
        return int(inner["cells"])
    return int(inner["steps"]) + 1 + 2 * int(inner["reach"])


def run_silence(p: dict[str, Any], x: Any, d: Any) -> Columns:
    inner = p["inner"]
    y = run(inner, 0 if x is None else x, d)
    other = dummy(inner, d)
    none = d.below(read(p["dropped"] if x is not None else p["silent"]))
    return [("report", [last_of(inner)])] if none else other if x is None else y


def degrade(p: dict[str, Any], columns: Columns, d: Any) -> Columns:
    """One round of a permanent report."""
    memo, (_, values) = p["memo"], columns[0]
    if memo["sampler"] == "bits":
        flat = [byte >> 7 - i & 1 for byte in values for i in range(8)]
        stays, coins = (draw_bits(read(p[name]), len(flat), d) for name in ("keep", "coin"))
        bits = [b if s else c for b, s, c in zip(flat, stays, coins, strict=True)]
        return [("bits", bytes_of(bits[: p["size"]]))]
    stays = d.below(read(p["keep"]))
    if memo["sampler"] == "subset":
        k, size = p["size"], memo["members"]
        left_out = 2 * size > k + 1
        members = floyd(k, k - size if left_out else size, d)
        fresh: Columns = [("bits", bytes_of([int((j in members) != left_out) for j in range(k)]))]
    else:
        fresh = [(name, [d.uniform(n)]) for name, n in uniform_columns(memo)]
    return columns if stays else fresh


def uniform_columns(memo: dict[str, Any]) -> list[tuple[str, int]]:
    """How many numbers each column of a report has."""
    if memo["sampler"] == "hash":
        sizes = {"multiplier": memo.get("prime", 0) - 1, "shift": memo.get("prime", 0)}
        sizes = sizes if memo["family"] == 2 else {"seed": memo["seeds"]}
        return [*sizes.items(), ("bucket", memo["buckets"])]
    if memo["sampler"] == "projective":
        q, t = memo["prime"], memo["dimension"]
        return [("report", memo["blocks"] * (q**t - 1) // (q - 1))]
    return [("report", memo["order" if memo["sampler"] == "hadamard" else "size"])]


def run_permanent(p: dict[str, Any], x: int, d: Any) -> Columns:
    return degrade(p, run(p["memo"], x, d), d)


def run_each(p: dict[str, Any], x: list[Any], d: Any) -> Columns:
    return [
        (f"{part['name']}.{name}", v)
        for part, answer in zip(p["parts"], x, strict=True)
        for name, v in run(part["program"], answer, d)
    ]


def blocks_of(p: dict[str, Any]) -> list[dict[str, Any]]:
    """The program of each block."""
    return [p["programs"][block["program"]] for block in p["blocks"]]


def _in_slots(p: dict[str, Any], block: int, columns: Columns) -> Columns:
    numbers = [block, *(value for _, values in columns for value in values)]
    slots = p["columns"]
    numbers += [0] * (len(slots) - len(numbers))
    return [(slot["name"], [v]) for slot, v in zip(slots, numbers, strict=True)]


def run_one_of(p: dict[str, Any], x: list[Any], d: Any) -> Columns:
    block = d.among([read(width) for width in p["draw"]], 1)
    return _in_slots(p, block, run(blocks_of(p)[block], x[block], d))


SAMPLERS: dict[str, Callable[[dict[str, Any], Any, Any], Columns]] = {
    name[4:]: made for name, made in list(globals().items()) if name.startswith("run_")
}


def run(program: dict[str, Any], x: Any, decisions: Any) -> Columns:
    """The columns of one report."""
    return SAMPLERS[program["sampler"]](program, x, decisions)


def record(program: dict[str, Any], columns: Columns) -> bytes:
    """The bytes of a report."""
    parts = []
    for stated, (name, values) in zip(program["columns"], columns, strict=True):
        assert (stated["name"], stated["length"]) == (name, len(values))
        parts += [value.to_bytes(int(stated["dtype"][2:]), "little") for value in values]
    return b"".join(parts)


def _columns_of(program: dict[str, Any], report: bytes) -> Columns:
    """The columns of a record."""
    found, at = [], 0
    for stated in program["columns"]:
        width, values = int(stated["dtype"][2:]), []
        for _ in range(stated["length"]):
            values.append(int.from_bytes(report[at : at + width], "little"))
            at += width
        found.append((stated["name"], values))
    return found


# The exact law.

Law = dict[bytes, Fraction]


def _paths(one: Callable[[Path], bytes]) -> Law:
    """The probabilities of all results, by going through all decisions."""
    found: Law = {}
    left: list[list[int]] = [[]]
    while left:
        path = Path(left.pop())
        result = one(path)
        left += path.open
        found[result] = found.get(result, Fraction(0)) + path.probability
    return found


def _geometric_law(p: dict[str, Any], digits: int = 400) -> list[int]:
    """2^digits times the probabilities of G = 0, 1, .., rounded down, until they are below 2^-130."""

    def probability(words: list[Any]) -> int:
        whole = sum(read(w) << 64 * (3 - i) for i, w in enumerate(words))
        return whole << digits - 256

    one = 1 << digits
    found = [one]
    for digit in p["digits"]:
        yes = probability(digit)
        found = [v * w >> digits for w in (one - yes, yes) for v in found]
    rest, step = probability(p["rest"]), len(found)
    found = [v * (one - rest) >> digits for v in found]
    while found[-1] >> digits - 130 or len(found) == step:
        found += [v * rest >> digits for v in found[-step:]]
    return found


def _noise_law(p: dict[str, Any], points: dict[int, Fraction]) -> Law:
    """By the probabilities of two geometric numbers, to 2^-100."""
    digits = 400
    g = _geometric_law(p, digits)
    last = p["steps"] + 2 * p["reach"]
    noise: dict[int, int] = {}
    for d in range(-last, last + 1):
        noise[d] = sum(g[i] * g[i - d] for i in range(max(0, d), min(len(g), len(g) + d)))
    # Further noise is replaced by the ends of the reports.
    tails = [sum(g[i:]) for i in range(len(g))]
    beyond = sum(
        g[i] * (tails[i + last + 1] if i + last + 1 < len(g) else 0) for i in range(len(g))
    )
    noise[-last - 1] = noise[last + 1] = beyond
    found: Law = {}
    for point, weight in points.items():
        for d, mass in noise.items():
            ((_, (report,)),) = noisy(p, point, d)
            key = report.to_bytes(int(p["columns"][0]["dtype"][2:]), "little")
            found[key] = found.get(key, Fraction(0)) + weight * Fraction(mass, 1 << 2 * digits)
    return found


def _points(x: float, n: int) -> dict[int, Fraction]:
    path_law: dict[int, Fraction] = {}
    for choice in ([0], [1]):
        path = Path(choice)
        point = rounded(x, n, path)
        path_law[point] = path_law.get(point, Fraction(0)) + path.probability
    return path_law


def law(p: dict[str, Any], x: Any) -> Law:
    """The exact probabilities of all records for an encoded answer; of noise to 2^-100."""
    name = p["sampler"]
    if name == "noise":
        return _noise_law(p, {x: Fraction(1)} if p["answer"] == "index" else _points(x, p["steps"]))
    if name in ("repeated", "each"):
        laws = [
            law(part["program"], answer)
            for part, answer in zip(p["parts"], x, strict=True)
            for _ in range(part.get("times", 1))
        ]
        return {
            b"".join(r for r, _ in rows): prod((v for _, v in rows), start=Fraction(1))
            for rows in product(*(one.items() for one in laws))
        }
    if name == "one_of":
        found: Law = {}
        for block, (inner, width) in enumerate(zip(blocks_of(p), p["draw"], strict=True)):
            for report, share in law(inner, x[block]).items():
                columns = _in_slots(p, block, _columns_of(inner, report))
                found[record(p, columns)] = share * Fraction(read(width), ONE)
        return found
    if name == "silence":
        return _nonresponse_law(p, x)
    if name == "permanent":
        return _degraded_law(p, x)
    return _law_of_paths(json.dumps(p), x)


def _degraded_law(p: dict[str, Any], x: Any) -> Law:
    """Sums over the permanent reports; of bits, one by one."""
    memos, keep = law(p["memo"], x), Fraction(read(p["keep"]), ONE)
    found: Law = {}
    if p["memo"]["sampler"] != "bits":
        (some, *_) = memos
        columns = _columns_of(p["memo"], some)
        fresh = _paths(lambda path: record(p, degrade({**p, "keep": 0}, columns, path)))
        for report, share in fresh.items():
            found[report] = keep * memos.get(report, Fraction(0)) + (1 - keep) * share
        return found
    coin, size = Fraction(read(p["coin"]), ONE), p["size"]
    for memo, share in memos.items():
        ones = [keep * (memo[i >> 3] >> 7 - (i & 7) & 1) + (1 - keep) * coin for i in range(size)]
        for bits in product((0, 1), repeat=size):
            chance = prod((q if b else 1 - q for b, q in zip(bits, ones, strict=True)), start=share)
            report = bytes(bytes_of(bits))
            found[report] = found.get(report, Fraction(0)) + chance
    return found


@cache
def _law_of_paths(text: str, x: Any) -> Law:
    p = json.loads(text)
    return _paths(lambda path: record(p, run(p, x, path)))


def _nonresponse_law(p: dict[str, Any], x: Any) -> Law:
    inner, width = p["inner"], int(p["columns"][0]["dtype"][2:])
    none = Fraction(read(p["dropped"] if x is not None else p["silent"]), ONE)
    if x is not None:
        answered = law(inner, x)
    elif inner["sampler"] == "noise":
        points = inner["steps"] + 1
        answered = _noise_law(inner, dict.fromkeys(range(points), Fraction(1, points)))
    else:
        answered = _paths(lambda path: record(inner, dummy(inner, path)))
    found = {
        int.from_bytes(r, "little").to_bytes(width, "little"): (1 - none) * v
        for r, v in answered.items()
    }
    found[last_of(inner).to_bytes(width, "little")] = none
    return found
