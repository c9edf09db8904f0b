"""The checks of a device on programs and answers, written from docs/device_programs.md alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, zip_longest
from math import prod
from typing import Any

from tests.parity.mechanisms._device import (
    ONE,
    Refused,
    blocks_of,
    exponential_table,
    gaussian_masses,
    last_of,
    planar_masses,
    read,
)

COMMON = {"format", "sampler", "answer", "columns", "odds", "odds_at_most"}
WHOLE, LIST, TABLE, PARTS, PROGRAMS = "integer", "list", "table", "parts", "programs"
# The entries of each sampler; those in the second place may be missing.
ENTRIES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "direct": ({"size": WHOLE, "own": WHOLE, "other": WHOLE}, {}),
    "bits": ({"size": WHOLE, "keep": WHOLE, "raised": WHOLE}, {}),
    "hash": ({"size": WHOLE, "buckets": WHOLE, "own": WHOLE, "other": WHOLE, "family": WHOLE}, {"prime": WHOLE, "seeds": WHOLE}),
    "subset": ({"size": WHOLE, "members": WHOLE, "include": WHOLE}, {}),
    "hadamard": ({"size": WHOLE, "order": WHOLE, "agree": WHOLE}, {}),
    "table": ({"size": WHOLE, "words": WHOLE, "numerators": TABLE}, {"sensitive": LIST}),
    "utility_direct": ({"size": WHOLE, "sensitive": LIST, "own": WHOLE, "other": WHOLE}, {}),
    "utility_subset": ({"size": WHOLE, "sensitive": LIST, "members": WHOLE, "own": WHOLE, "other": WHOLE}, {}),
    "utility_bits": ({"size": WHOLE, "sensitive": LIST, "keep": WHOLE, "raised": WHOLE, "dropped": WHOLE}, {}),
    "projective": ({"size": WHOLE, "prime": WHOLE, "dimension": WHOLE, "blocks": WHOLE, "include": WHOLE}, {}),
    "window": ({"cells": WHOLE, "width": WHOLE, "own": WHOLE, "other": WHOLE}, {}),
    "noise": ({"steps": WHOLE, "reach": WHOLE, "fall": WHOLE, "digits": TABLE, "rest": LIST}, {"size": WHOLE}),
    "exponential": (
        {"size": WHOLE, "words": WHOLE, "shape": LIST, "weights": TABLE},
        {"places": LIST, "row_classes": TABLE, "column_classes": TABLE},
    ),
    "planar": (
        {"size": WHOLE, "words": WHOLE, "shape": LIST, "quadrant": TABLE},
        {"places": LIST, "reports": LIST},
    ),
    "gaussian": (
        {"steps": LIST, "beyond": WHOLE, "group": WHOLE, "words": WHOLE, "masses": LIST, "delta": "fraction", "delta_at_most": "fraction"},
        {"size": WHOLE, "places": TABLE},
    ),
    "repeated": ({"parts": PARTS}, {}),
    "silence": ({"inner": "program", "dropped": WHOLE, "silent": WHOLE}, {}),
    "permanent": ({"size": WHOLE, "memo": "program", "keep": WHOLE}, {"coin": WHOLE}),
    "each": ({"parts": PARTS}, {}),
    "one_of": ({"draw": LIST, "blocks": PARTS, "programs": PROGRAMS}, {}),
}  # fmt: skip
ANSWERS = {
    **dict.fromkeys(ENTRIES, ("index",)),
    "window": ("position",),
    "noise": ("index", "position"),
    "gaussian": ("index", "position"),
    "silence": ("index", "position"),
    "repeated": ("parts",),
    "each": ("parts",),
    "one_of": ("parts",),
}


def _require(holds: bool, name: str) -> None:
    if not holds:
        raise Refused(name)


def _integer(value: Any) -> bool:
    if isinstance(value, str):
        return bool(re.fullmatch("0x[1-9a-f][0-9a-f]*", value)) and int(value, 16) >= 2**53
    return type(value) is int and 0 <= value < 2**53


def _fraction(value: Any) -> bool:
    names = {"numerator", "denominator"}
    return (
        isinstance(value, dict)
        and names <= value.keys()
        and all(_integer(value[name]) and read(value[name]) > 0 for name in names)
    )


def _has_type(value: Any, kind: str) -> bool:
    if kind == WHOLE:
        return _integer(value)
    if kind == "fraction":
        return value is None or _fraction(value)
    if kind == "program":
        return isinstance(value, dict)
    if not isinstance(value, list):
        return False
    if kind == LIST:
        return all(map(_integer, value))
    if kind == TABLE:
        return all(isinstance(row, list) and all(map(_integer, row)) for row in value)
    if kind == PROGRAMS:
        return bool(value) and all(isinstance(part, dict) for part in value)
    return bool(value) and all(isinstance(part, dict) and "program" in part for part in value)


def _have_programs(p: dict[str, Any]) -> bool:
    """Whether each block has a program, and names of questions."""
    return all(
        _integer(block["program"])
        and block["program"] < len(p["programs"])
        and all(isinstance(name, str) for name in block["attributes"])
        for block in p["blocks"]
    )


def _well_formed(p: dict[str, Any]) -> bool:
    needed, more = ENTRIES[p["sampler"]]
    known = {**needed, **more}
    odds = p.get("odds")
    return (
        needed.keys() | COMMON <= p.keys() <= known.keys() | COMMON
        and all(_has_type(p[name], known[name]) for name in p.keys() & known.keys())
        and p["answer"] in ANSWERS[p["sampler"]]
        and (p["sampler"] not in ("noise", "gaussian") or ("size" in p) == (p["answer"] == "index"))
        and (p["sampler"] != "one_of" or _have_programs(p))
        and isinstance(p["columns"], list)
        and (p["odds_at_most"] is None or _fraction(p["odds_at_most"]))
        and (odds is None or (_fraction(odds) and _integer(odds.get("power"))))
    )


# A law.


def _inside(*thresholds: Any) -> bool:
    return all(1 <= read(t) < ONE for t in thresholds)


def _members(p: dict[str, Any]) -> bool:
    s = p["sensitive"]
    return len(s) >= 1 and all(a < b for a, b in pairwise(s)) and s[-1] < p["size"]


def _is_law(p: dict[str, Any]) -> bool:
    found: bool = LAWS[p["sampler"]](p)
    return found


def _direct(p: dict[str, Any], size: str = "size") -> bool:
    own, other = read(p["own"]), read(p["other"])
    return p[size] >= 2 and own >= 1 <= other and own + (p[size] - 1) * other <= ONE


def _hash(p: dict[str, Any]) -> bool:
    if not _direct(p, "buckets") or p["buckets"] >= 2**16:
        return False
    if p["family"] == 2:
        return p["size"] <= p.get("prime", 0) < 2**27 and "seeds" not in p
    return p["family"] == 1 and p.get("seeds", 0) >= 1 and "prime" not in p


def _table(p: dict[str, Any]) -> bool:
    rows = [[read(v) for v in row] for row in p["numerators"]]
    sums = all(sum(row) == 1 << 64 * p["words"] for row in rows)
    return (
        len(rows) == p["size"]
        and len({len(row) for row in rows}) == 1
        and sums
        and ("sensitive" not in p or _members(p))
    )


def _utility_direct(p: dict[str, Any]) -> bool:
    own, other = read(p["own"]), read(p["other"])
    members = len(p["sensitive"])
    return _members(p) and 1 <= other < own and own + (members - 1) * other <= ONE


def _keeps(p: dict[str, Any]) -> bool:
    return 1 <= read(p["raised"]) < read(p["keep"]) < ONE


def _projective(p: dict[str, Any]) -> bool:
    q, t, h = p["prime"], p["dimension"], p["blocks"]
    is_prime = q >= 2 and q < 2**25 and all(q % d for d in range(2, int(q**0.5) + 1))
    if not is_prime or t < 2 or t > 25 or h < 1:
        return False
    m, k = (q**t - 1) // (q - 1), -(-p["size"] // h)
    return h * m <= 2**25 and k <= m and (h - 1) * k < p["size"] and _inside(p["include"])


def _window(p: dict[str, Any]) -> bool:
    m, w, own, other = p["cells"], p["width"], read(p["own"]), read(p["other"])
    return 1 <= w < m <= 2**20 and own >= 1 <= other and w * own + (m - w) * other <= ONE


def _words(row: list[Any]) -> int:
    return sum(read(w) << 64 * (3 - i) for i, w in enumerate(row))


def _noise(p: dict[str, Any]) -> bool:
    fits = _inside(p["fall"]) and p["steps"] >= 1 and p["steps"] + 1 + 2 * p["reach"] <= 2**23
    if not fits or len(p["digits"]) > 40 or any(len(r) != 4 for r in [*p["digits"], p["rest"]]):
        return False
    if any(read(w) >= ONE for row in [*p["digits"], p["rest"]] for w in row):
        return False
    if p.get("size", p["steps"] + 1) != p["steps"] + 1:
        return False
    a = read(p["fall"]) << 192
    for digit in p["digits"]:
        if abs(_words(digit) * (2**256 + a) - (a << 256)) > 2**320:
            return False
        a = a * a >> 256
    return abs(_words(p["rest"]) - a) <= 2**64


def _exponential(p: dict[str, Any]) -> bool:
    height, width = p["shape"]
    if len(p.get("places", range(height * width))) != p["size"]:
        return False
    try:
        return all(v >= 1 for row in exponential_table(p) for v in row)
    except (IndexError, ZeroDivisionError):
        return False


def _planar(p: dict[str, Any]) -> bool:
    height, width = p["shape"]
    q = p["quadrant"]
    if height < 2 or width < 2 or len(q) != height or any(len(row) != width for row in q):
        return False
    masses, cells = planar_masses(p), p.get("places", list(range(p["size"])))
    return (
        min(masses) >= 1
        and sum(masses) == 1 << 64 * p["words"]
        and len(cells) == p["size"]
        and all(a < b for a, b in pairwise(cells))
        and cells[-1] < height * width
        and len(p.get("reports", range(height * width))) == height * width
        and max(p.get("reports", [0])) < p["size"]
        and (
            height * width * p["size"] <= 2**20
            or all(a >= b for row in _planar_rows(p) for a, b in pairwise(row))
        )
    )


def _gaussian(p: dict[str, Any]) -> bool:
    masses, most = gaussian_masses(p), max(p["steps"])
    places = p.get("places", [])
    return (
        min(masses) >= 1
        and sum(masses) == 1 << 64 * p["words"]
        and len(p["masses"]) - 1 == p["beyond"] + most
        and p["group"] >= 1
        and (len(p["steps"]) == 1 if p["answer"] == "position" else len(places) == p["size"])
        and all(
            len(one) == len(p["steps"])
            and all(0 <= v <= n for v, n in zip(one, p["steps"], strict=True))
            for one in places
        )
    )


def _parts(p: dict[str, Any]) -> bool:
    several = p["sampler"] == "repeated"
    refused = ("repeated", "each") if several else ("each",)
    for part in p["parts"]:
        check(part["program"])
        if part["program"]["sampler"] in refused:
            return False
    return not several or (
        all(_integer(part.get("times")) and part["times"] >= 1 for part in p["parts"])
        and sum(part["times"] for part in p["parts"]) <= 10_000
    )


def _nonresponse(p: dict[str, Any]) -> bool:
    check(p["inner"])
    has_dummies = p["inner"]["sampler"] == "window" or (
        p["inner"]["sampler"] == "noise" and p["inner"]["odds"]["between"] == "any"
    )
    return (
        has_dummies and _inside(p["dropped"], p["silent"]) and p["answer"] == p["inner"]["answer"]
    )


DEGRADED = ("direct", "bits", "subset", "hadamard", "projective", "hash")


def _permanent(p: dict[str, Any]) -> bool:
    check(p["memo"])
    return (
        p["memo"]["sampler"] in DEGRADED
        and p["size"] == p["memo"]["size"]
        and _inside(p["keep"])
        and ("coin" in p) == (p["memo"]["sampler"] == "bits")
        and _inside(p.get("coin", 1))
        and (p["memo"]["sampler"] == "bits" or _likelihood_ratio(p["memo"]) > 1)
    )


def _likelihood_ratio(memo: dict[str, Any]) -> Fraction:
    """How many times likelier a report that supports the value is than one that does not."""
    if "own" in memo:
        return Fraction(read(memo["own"]), read(memo["other"]))
    inside, outside = supports_of(memo)
    include = read(memo["agree" if memo["sampler"] == "hadamard" else "include"])
    return Fraction(include * outside, inside * (ONE - include))


def _one_of(p: dict[str, Any]) -> bool:
    for inner in p["programs"]:
        check(inner)
    names = [block["attributes"] for block in p["blocks"]]
    parts = [[part["name"] for part in inner.get("parts", [])] for inner in blocks_of(p)]
    samplers = [inner["sampler"] for inner in blocks_of(p)]
    return (
        len(p["draw"]) == len(names) == len({frozenset(block) for block in names})
        and 2 <= len(names) <= 10_000
        and min(read(width) for width in p["draw"]) >= 1
        and sum(read(width) for width in p["draw"]) == ONE
        and all(1 <= len(block) == len(set(block)) for block in names)
        and not {"one_of", "repeated"} & set(samplers)
        and all(
            sampler != "each" or block == of
            for sampler, block, of in zip(samplers, names, parts, strict=True)
        )
    )


LAWS = {
    "direct": _direct,
    "bits": _keeps,
    "hash": _hash,
    "subset": lambda p: 1 <= p["members"] < p["size"] and _inside(p["include"]),
    "hadamard": lambda p: (
        p["order"].bit_count() == 1 and p["order"] > p["size"] and _inside(p["agree"])
    ),
    "table": _table,
    "utility_direct": _utility_direct,
    "utility_subset": lambda p: (
        _utility_direct(p) and 1 <= p["members"] <= max(len(p["sensitive"]) - 1, 1)
    ),
    "utility_bits": lambda p: _members(p) and _keeps(p) and 1 <= read(p["dropped"]) <= ONE,
    "projective": _projective,
    "window": _window,
    "noise": _noise,
    "exponential": _exponential,
    "planar": _planar,
    "gaussian": _gaussian,
    "repeated": _parts,
    "silence": _nonresponse,
    "permanent": _permanent,
    "each": _parts,
    "one_of": _one_of,
}


# Columns.


def _column(name: str, size: int) -> dict[str, Any]:
    dtype = "|u1" if size <= 2**8 else "<u2" if size <= 2**16 else "<u4"
    return {"name": name, "dtype": dtype, "length": 1}


def columns_of(p: dict[str, Any]) -> list[dict[str, Any]]:
    s = p["sampler"]
    if s == "permanent":
        return columns_of(p["memo"])
    if s in ("bits", "subset", "utility_subset", "utility_bits"):
        return [{"name": "bits", "dtype": "|u1", "length": -(-p["size"] // 8)}]
    if s == "hash":
        sizes = {"multiplier": p["prime"] - 1, "shift": p["prime"]} if p["family"] == 2 else {}
        sizes = sizes or {"seed": p["seeds"]}
        return [_column(name, n) for name, n in {**sizes, "bucket": p["buckets"]}.items()]
    if s == "gaussian":
        names = ["report"] if p["answer"] == "position" else [f"axis{i}" for i in range(99)]
        sizes = [-(-(n + 1 + 2 * p["beyond"]) // p["group"]) for n in p["steps"]]
        return [_column(name, n) for name, n in zip(names, sizes, strict=False)]
    if s in ("repeated", "each"):
        runs = [
            (part.get("name"), part["program"])
            for part in p["parts"]
            for _ in range(part.get("times", 1))
        ]
        return [
            {**column, "name": f"{name or i}.{column['name']}"}
            for i, (name, one) in enumerate(runs, 1)
            for column in one["columns"]
        ]
    if s == "one_of":
        each = [
            [column["dtype"] for column in inner["columns"] for _ in range(column["length"])]
            for inner in blocks_of(p)
        ]
        widest = [
            max(dtypes, key=lambda d: d[2:]) for dtypes in zip_longest(*each, fillvalue="|u1")
        ]
        names = ["report"] if len(widest) == 1 else [f"report_{i + 1}" for i in range(len(widest))]
        slots = zip(names, widest, strict=True)
        return [
            _column("block", len(p["blocks"])),
            *({"name": name, "dtype": dtype, "length": 1} for name, dtype in slots),
        ]
    return [_column("report", _reports(p))]


def _reports(p: dict[str, Any]) -> int:
    """The number of reports of a sampler with one column ``report``."""
    s = p["sampler"]
    found: int
    if s == "table":
        found = len(p["numerators"][0])
    elif s == "projective":
        found = p["blocks"] * (p["prime"] ** p["dimension"] - 1) // (p["prime"] - 1)
    elif s in ("window", "noise"):
        found = last_of(p)
    elif s == "planar":
        found = p["size"] if "reports" in p else prod(p["shape"])
    elif s == "silence":
        found = last_of(p["inner"]) + 1
    else:
        found = p["order"] if s == "hadamard" else p["size"]
    return found


# Odds.


def _up(a: int | Fraction, b: int | Fraction) -> Fraction:
    found = Fraction(a) / Fraction(b)
    return max(found, 1 / found)


def _widths(p: dict[str, Any]) -> Fraction:
    return _up(read(p["own"]), read(p["other"]))


def _bits(p: dict[str, Any]) -> Fraction:
    keep, raised = read(p["keep"]), read(p["raised"])
    return Fraction(keep * (ONE - raised), raised * (ONE - keep))


def _utility_bits(p: dict[str, Any]) -> Fraction:
    keep, raised, dropped = (read(p[name]) for name in ("keep", "raised", "dropped"))
    found = [_bits(p)] if len(p["sensitive"]) > 1 else []
    if len(p["sensitive"]) < p["size"]:
        found += [
            _up(ONE * keep, raised * dropped),
            _up(ONE * (ONE - keep), (ONE - raised) * dropped),
        ]
    return max(found, default=Fraction(1))


def _included(include: int, inside: int, outside: int) -> Fraction:
    return _up(include * outside, inside * (ONE - include))


def _quotient(high: Sequence[int], low: Sequence[int]) -> Fraction:
    _require(min(low) > 0, "not_a_law")
    return Fraction(max(high), min(low))


def _table_odds(p: dict[str, Any]) -> Fraction:
    reports = list(zip(*([read(v) for v in row] for row in p["numerators"]), strict=True))
    s = p.get("sensitive", range(p["size"]))
    protected = [row for row in reports if any(row[x] for x in s)]
    others = [row for row in reports if not any(row[x] for x in s)]
    if all(sum(v > 0 for v in row) <= 1 for row in others):
        return max(_quotient(row, row) for row in protected)
    return max(_quotient([row[x] for x in s], row) for row in reports)


def _exponential_odds(p: dict[str, Any]) -> tuple[Fraction, str]:
    table, width = exponential_table(p), p["shape"][1]
    cells = [divmod(cell, width) for cell in p.get("places", range(p["size"]))]
    near = [
        (x, z)
        for x, a in enumerate(cells)
        for z, b in enumerate(cells)
        if abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1
    ]
    every = [(x, z) for x in range(len(cells)) for z in range(len(cells))]
    found = max(
        Fraction(table[x][y], table[z][y]) for x, z in near or every for y in range(p["size"])
    )
    return found, "neighbours" if near else "any"


def planar_odds(p: dict[str, Any]) -> Fraction:
    return max(_up(a, b) for row in _planar_rows(p) for a, b in pairwise(row))


def _planar_rows(p: dict[str, Any]) -> list[list[int]]:
    """The rows and the columns of the four tables of what a report sees."""
    (height, width), inner = p["shape"], [[read(v) for v in row] for row in p["quadrant"]]

    def sums(table: list[list[int]]) -> list[list[int]]:
        return [[sum(row[j:]) for j in range(len(row))] for row in table]

    def flip(table: list[list[int]]) -> list[list[int]]:
        return [list(row) for row in zip(*table, strict=True)]

    along, across = flip(sums(flip(inner))), sums(inner)
    tables = [sums(along)]
    tables += [[row[:-1] for row in along]] if width > 2 else []
    tables += [across[:-1]] if height > 2 else []
    tables += [[row[:-1] for row in inner[:-1]]] if height > 2 < width else []
    return [row for table in tables for row in [*table, *flip(table)]]


def _nonresponse_odds(p: dict[str, Any]) -> Fraction:
    inner, q, s = p["inner"], read(p["dropped"]), read(p["silent"])
    if inner["sampler"] == "window":
        m, w, own, other = (read(inner[name]) for name in ("cells", "width", "own", "other"))
        total = w * own + (m - w) * other
        high, low = max(own, other), min(own, other)
        above, below = Fraction(m * high, total), Fraction(total, m * low)
    else:
        a, n = Fraction(read(inner["fall"]), ONE), inner["steps"]
        mean = sum((a**i for i in range(n + 1)), Fraction(0)) / (n + 1)
        above, below = 1 / mean, mean / a**n
    named, others = Fraction(s, q), Fraction(ONE - q, ONE - s)
    odds = inner["odds"]
    of_inner = Fraction(read(odds["numerator"]), read(odds["denominator"])) ** odds["power"]
    return max(of_inner, named, 1 / named, others * above, below / others)


Odds = tuple[Fraction, str, int]


def odds_of(p: dict[str, Any]) -> Odds | None:
    """The fraction, what it is between, and its power, from the integers of a program."""
    s = p["sampler"]
    if s in ("gaussian", "each", "one_of"):
        return None
    if s == "repeated":
        return _repeated_odds(p)
    if s == "noise":
        # A bound of one step or of all is not in the integers: the program says what is meant.
        between = p["odds"]["between"]
        _require(between in ("any", "neighbours"), "odds_differ")
        return Fraction(ONE, read(p["fall"])), between, p["steps"] if between == "any" else 1
    if s == "exponential":
        return *_exponential_odds(p), 1
    if s == "planar":
        return planar_odds(p), "neighbours", 1
    limited = "sensitive" in p and (s == "table" or len(p["sensitive"]) < p["size"])
    return _simple_odds(p), "sensitive" if limited else "any", 1


def _simple_odds(p: dict[str, Any]) -> Fraction:
    s = p["sampler"]
    if s == "subset":
        return _included(read(p["include"]), p["members"], p["size"] - p["members"])
    if s == "utility_subset":
        own, other, d = read(p["own"]), read(p["other"]), p["members"]
        return Fraction(own + (d - 1) * other, d * other)
    if s == "projective":
        m, n = (
            (p["prime"] ** t - 1) // (p["prime"] - 1) for t in (p["dimension"], p["dimension"] - 1)
        )
        return _included(read(p["include"]), n, p["blocks"] * m - n)
    if s == "hadamard":
        return _up(read(p["agree"]), ONE - read(p["agree"]))
    made = {
        "permanent": _degraded_odds,
        "bits": _bits,
        "utility_bits": _utility_bits,
        "table": _table_odds,
    }
    return {**made, "silence": _nonresponse_odds}.get(s, _widths)(p)


def _repeated_odds(p: dict[str, Any]) -> Odds | None:
    found = [(odds_of(part["program"]), part["times"]) for part in p["parts"]]
    if any(one is None for one, _ in found):
        return None
    known = [(one, times) for one, times in found if one is not None]
    if len(known) == 1:
        ((r, between, power), times) = known[0]
        return r, between, power * times
    ranks = ("any", "sensitive", "neighbours")
    between = max((one[1] for one, _ in known), key=ranks.index)
    return prod((one[0] ** (one[2] * t) for one, t in known), start=Fraction(1)), between, 1


def _delta(p: dict[str, Any]) -> Fraction | None:
    if p["answer"] == "index":
        return None
    masses, shift = gaussian_masses(p), p["steps"][0]
    e = Fraction(read(p["odds_at_most"]["numerator"]), read(p["odds_at_most"]["denominator"]))
    over = [*masses[shift:], *[0] * shift]
    excess = sum(
        (max(Fraction(0), a - e * b) for a, b in zip(masses, over, strict=True)), Fraction(0)
    )
    return excess / (1 << 64 * p["words"])  # fmt: skip


def _degraded_odds(p: dict[str, Any]) -> Fraction:
    """From the probabilities of one report, or of one bit."""
    memo, a = p["memo"], Fraction(read(p["keep"]), ONE)
    if memo["sampler"] == "bits":
        coins = (1 - a) * Fraction(read(p["coin"]), ONE)
        high, low = (a * Fraction(read(memo[name]), ONE) + coins for name in ("keep", "raised"))
        return high * (1 - low) / (low * (1 - high))
    # Of a report that the value supports and of one that it does not, times the number of both.
    inside, outside = supports_of(memo)
    odds = _likelihood_ratio(memo)
    high = odds * (inside + outside) / (inside * odds + outside)
    return (a * high + 1 - a) / (a * high / odds + 1 - a)


def supports_of(memo: dict[str, Any]) -> tuple[int, int]:
    """How many reports support a value and how many do not, up to a factor."""
    s, size = memo["sampler"], memo["size"]
    if s == "subset":
        return memo["members"], size - memo["members"]
    if s == "projective":
        q, t = memo["prime"], memo["dimension"]
        inside = (q ** (t - 1) - 1) // (q - 1)
        return inside, memo["blocks"] * (q**t - 1) // (q - 1) - inside
    return 1, {"hadamard": 2, "hash": memo.get("buckets", 0)}.get(s, size) - 1


def _read(entry: dict[str, Any] | None) -> Fraction | None:
    return entry and Fraction(read(entry["numerator"]), read(entry["denominator"]))


def check(p: Any) -> None:
    """Refuse a program that breaks a rule.

    Raises:
        Refused: with the name of the error.
    """
    _require(isinstance(p, dict), "malformed")
    _require(p.get("format") == 1, "unknown_format")
    _require(p.get("sampler") in ENTRIES, "unknown_sampler")
    _require(_well_formed(p), "malformed")
    _require(_is_law(p), "not_a_law")
    _require(p["columns"] == columns_of(p), "columns_differ")
    found, stated, most = odds_of(p), p["odds"], _read(p["odds_at_most"])
    if found is None:
        _require(stated is None, "odds_differ")
    else:
        _require(stated is not None and most is not None, "odds_differ")
        same = _read(stated), stated["between"], stated["power"]
        _require(same == found, "odds_differ")
        _require(most is not None and found[0] <= most, "odds_exceed")
    if p["sampler"] == "gaussian":
        delta, most = _delta(p), _read(p["delta_at_most"])
        _require(_read(p["delta"]) == delta, "odds_differ")
        _require(delta is None or (most is not None and delta <= most), "odds_exceed")


def check_answer(p: dict[str, Any], x: Any) -> None:
    """Refuse an encoded answer that a program does not take."""
    if p["sampler"] == "silence" and x is None:
        return
    inner = p.get("inner", p)
    if p["answer"] == "parts":
        one_of = p["sampler"] == "one_of"
        programs = blocks_of(p) if one_of else [part["program"] for part in p["parts"]]
        _require(isinstance(x, list) and len(x) == len(programs), "bad_answer")
        for program, answer in zip(programs, x, strict=True):
            check_answer(program, answer)
    elif p["answer"] == "index":
        _require(type(x) is int and 0 <= x < inner["size"], "bad_answer")
    else:
        is_number = type(x) in (int, float)
        _require(is_number and 0 <= x <= 1, "bad_answer")
