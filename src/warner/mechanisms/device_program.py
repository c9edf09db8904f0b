"""Parts of device programs: what a device in another language needs to randomise an answer.

docs/device_programs.md defines the programs. Their numbers are the integers that are sampled, so a
device computes no exponential and no logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from warner._core.errors import ArgumentError, message
from warner._core.exact import exp_above
from warner.privacy.likelihood_ratios import INFINITE
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
    """The entries ``odds`` and ``odds_at_most`` of a program.

    Args:
        ratio: the largest ratio Pr(y | x) / Pr(y | x'), of one step where ``power`` counts steps.
        nats: the requested budget of ``ratio``.
        between: which values x and x' are compared: ``"any"`` two, ``"neighbours"``, or any two
            under the reports that a ``"sensitive"`` value can make.
        power: the power of ``ratio`` that bounds the compared values.

    Raises:
        ArgumentError: a ratio without a bound.
    """
    if ratio == INFINITE or math.isinf(nats):
        rule = "has no program for a device: a report can rule a value out"
        raise ArgumentError(message("mechanism", rule, None, "Choose a finite epsilon"))
    return {
        "odds": {**fraction(ratio), "between": between, "power": power},
        "odds_at_most": fraction(exp_above(nats)),
    }


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
