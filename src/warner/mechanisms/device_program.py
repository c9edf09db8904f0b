"""Parts of device programs: what a device in another language needs to randomise an answer.

docs/device_programs.md defines the programs. Their numbers are the integers that are sampled, so a
device computes no exponential and no logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from warner._core.errors import ArgumentError
from warner._core.exact import exp_above
from warner.privacy.report_laws import INFINITE
from warner.reports.schema import ReportSchema

FORMAT = 1
_EXACT = 2**53  # the integers below it are numbers of JSON in every language

ANY, NEIGHBOURS, SENSITIVE = "any", "neighbours", "sensitive"


def number(value: int) -> int | str:
    """An integer of at least 0 as JSON data: a number below 2^53, else a hexadecimal text.

    >>> number(2**53 - 1), number(2**53)
    (9007199254740991, '0x20000000000000')
    """
    return int(value) if value < _EXACT else hex(value)


def numbers(values: Iterable[int]) -> list[int | str]:
    """Several integers as :func:`number` writes them."""
    return [number(value) for value in values]


def fraction(value: Fraction) -> dict[str, int | str]:
    """A fraction in lowest terms as JSON data."""
    return {"numerator": number(value.numerator), "denominator": number(value.denominator)}


def odds(
    ratio: Fraction, nats: float | Fraction, between: str = ANY, power: int = 1
) -> dict[str, Any]:
    """The entries ``odds`` and ``odds_at_most`` of a program."""
    if ratio == INFINITE or math.isinf(nats):
        rule = "has no program for a device: a report can rule a value out"
        raise ArgumentError("mechanism", rule, None, "Choose a finite epsilon")
    most = exp_above(nats)
    if ratio > most:
        rule = f"has odds {float(ratio)!r}, above the requested {float(most)!r}"
        raise ArgumentError("mechanism", rule, None, "Choose another epsilon")
    return {
        "odds": {**fraction(ratio), "between": between, "power": power},
        "odds_at_most": fraction(most),
    }


def delta_of_noise(
    masses: Sequence[int], words: int, shift: int | None, nats: float, delta: float
) -> dict[str, Any]:
    """The entries of a program with approximate privacy, whose reports have no largest ratio.

    delta = sum_j max(0, Pr(noise = j) - r Pr(noise = j + shift)),   r = odds_at_most
    """
    most = exp_above(nats)
    found = None
    if shift is not None:
        over = [*masses[shift:], *[0] * shift]
        high, low = most.numerator, most.denominator
        excess = sum(max(0, low * a - high * b) for a, b in zip(masses, over, strict=True))
        found = fraction(Fraction(excess, low << 64 * words))
    limits = {"odds_at_most": fraction(most), "delta_at_most": fraction(Fraction(delta))}
    return {"odds": None, "delta": found, **limits}


def repeated_odds(parts: Sequence[tuple[Mapping[str, Any], int]]) -> dict[str, Any]:
    """The odds of several independent reports of one value, as a product.

    One program keeps its fraction, and its power grows. Those of several are multiplied out.
    """
    found = [program["odds"] for program, _ in parts]
    if None in found:
        return {"odds": None, "odds_at_most": None}
    if len(parts) == 1:
        ((one, times),) = parts
        power = one["odds"]["power"] * times
        return {"odds": {**one["odds"], "power": power}, "odds_at_most": one["odds_at_most"]}
    between = max((entry["between"] for entry in found), key=(ANY, SENSITIVE, NEIGHBOURS).index)
    powers = [entry["power"] * times for entry, (_, times) in zip(found, parts, strict=True)]
    product, most = (
        math.prod(
            _read(program[key]) ** power for (program, _), power in zip(parts, powers, strict=True)
        )
        for key in ("odds", "odds_at_most")
    )
    whole = {**fraction(Fraction(product)), "between": between, "power": 1}
    return {"odds": whole, "odds_at_most": fraction(Fraction(most))}


def _read(entry: Mapping[str, int | str]) -> Fraction:
    """The fraction that :func:`fraction` wrote."""
    return Fraction(*(int(str(entry[key]), 0) for key in ("numerator", "denominator")))


def columns_of(schema: ReportSchema) -> list[dict[str, Any]]:
    """The columns of a report; their bytes, little endian, in this order are its record."""
    return [
        {
            "name": name,
            "dtype": column.dtype.newbyteorder("<").str,
            "length": math.prod(column.shape[1:]),
        }
        for name, column in schema.empty(0).items()
    ]


def program(sampler: str, fields: Mapping[str, Any], answer: str = "index") -> dict[str, Any]:
    """A program without its columns and odds."""
    return {"format": FORMAT, "sampler": sampler, "answer": answer, **fields}
