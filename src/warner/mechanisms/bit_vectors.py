"""Reports of K bits, one for each value: unary encoding and subset selection."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from warner._core.checks import integer, probability, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
)
from warner._core.exact import ONE, check_representable, divide, down, exp, up
from warner._core.sampling import Source, uniform_subsets
from warner.channels import HiddenAmongChannel, LikelihoodOperator, SupportChannel, SupportRows
from warner.domains import Domain
from warner.mechanisms.base import ENUMERABLE, Mechanism
from warner.mechanisms.device_program import number, program
from warner.privacy.report_laws import (
    OneHotBits,
    TwoProbabilities,
    UnsupportedLikelihood,
    common_denominator,
    fractions,
)
from warner.reports.counting import unique_rows
from warner.reports.schema import BitVector

WORTH_KEEPING = 0.05  # gain of whole reports from which on they are kept


class BitMechanism(Mechanism):
    """A mechanism that reports K bits. Abstract.

    A tally keeps the K bit sums, or the distinct reports: with ``keep_reports=True``, and where
    they say more (:meth:`keeps_reports`).
    """

    schema: BitVector

    @abstractmethod
    def channel(self) -> SupportChannel | HiddenAmongChannel: ...

    def keeps_reports(self, n: int) -> bool:
        # The default method of places takes many steps, whose time grows with the reports.
        answered = self.domain.answered
        if answered.dimension and not answered.is_ordered:
            return False
        is_small = replace(self.schema.kept_kind, while_few=True).keeps(n)
        return is_small and self.channel().gain_of_whole_reports > WORTH_KEEPING

    def report_channel(self, rows: np.ndarray) -> SupportRows:
        """The channel whose rows are the given reports.

        Row y is 1 + (e - 1) b_y. Here b_y are the bits of report y, and e is the law's exact
        likelihood ratio.

        Args:
            rows: uint8 (m, bytes), the distinct reports as packed bits, 8 to a byte.

        Returns:
            The channel (m, K). Its row y is proportional to Pr(report y | value).
        """
        return reports_of_bits(self, rows)

    def channel_of_reports(
        self, columns: Mapping[str, np.ndarray]
    ) -> tuple[LikelihoodOperator, np.ndarray]:
        different, row = unique_rows(columns["bits"])
        return self.report_channel(different), row


def reports_of_bits(mechanism: Mechanism, rows: np.ndarray) -> SupportRows:
    """The channel of given reports of K bits, rows (m, bytes), of a law with one ratio."""
    mechanism.schema.check({"bits": rows})
    support, law = mechanism.channel().support_law(), mechanism.law
    assert isinstance(law, UnsupportedLikelihood) and support is not None
    ones = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
    factors = law.log_unsupported(ones, mechanism.domain.size)
    return SupportRows.of_reports(rows, float(law.ratio()), support, factors)


def in_small_letters(variant: str | float) -> str | float:
    """The argument ``variant``, whose names may be written in capitals as in papers."""
    return variant.lower() if isinstance(variant, str) else variant


def true_bit_probability(variant: str | float, epsilon: float) -> Decimal:
    """The probability t that a bit of 1 stays 1, from the argument ``variant``."""
    if isinstance(variant, float):
        return Decimal(probability("variant", variant))
    if variant == "oue":
        return Decimal("0.5")
    if variant == "sue":
        root = exp(epsilon / 2)
        return divide(root, root + 1)
    error = ArgumentError if isinstance(variant, str) else ArgumentTypeError
    raise error("variant", "must be 'sue', 'oue' or a probability", show(variant))


def bit_thresholds(variant: str | float, epsilon: float) -> tuple[int, int]:
    """Integer thresholds over 2**64 for the bits of unary encoding: t for a 1, q for a 0."""
    # q = t / ((1 - t) e + t), e = exp(epsilon), from the rounded t. It is rounded up, towards t, so
    # the realised epsilon is at most the requested one.
    t = true_bit_probability(variant, epsilon)
    stays = down(t)
    share = divide(stays, ONE)
    q = divide(share, (1 - share) * exp(epsilon) + share)
    check_representable(epsilon, min(t, 1 - t, q, 1 - q))
    return stays, up(q)


class UnaryEncoding(BitMechanism):
    """Unary encoding (RAPPOR's basic form, SUE, OUE): K bits, one for each value.

        Pr(bit j is 1 | value x) = t if j = x, else q
        q = t / ((1 - t) e + t),   e = exp(epsilon),   so that [t / q] [(1 - q) / (1 - t)] = e

    Args:
        domain: K values.
        epsilon: budget in nats.
        variant: ``"sue"``, symmetric unary encoding (basic one-time RAPPOR), with t =
            e^(epsilon/2) / (e^(epsilon/2) + 1); ``"oue"``, optimised unary encoding, with t = 1/2;
            or t itself, a number strictly between 0 and 1.

    A report is K bits, packed 8 to a byte, and takes about 2 random bits for each of them. Its
    tally is the K bit sums, or whole reports (``keep_reports``).

    Raises:
        ArgumentError, ArgumentTypeError: a ``variant`` that is neither a name nor a probability.
        BudgetError: epsilon not positive, NaN, or outside the range of 64-bit sampling.

    Source: generalised RAPPOR [P2 sec 2.4]; Wang et al. (2017) for the optimised form.

    >>> from warner import Categorical
    >>> oue = UnaryEncoding(Categorical(list("abcdefghijk")), 1.0, variant="oue")
    >>> oue.randomize(["c"]).columns["bits"].shape
    (1, 2)
    """

    references = ("erlingsson2014", "wang2017", "P2")

    @property
    def sources(self) -> tuple[str, ...]:
        return self.references[self.variant == "oue" :]  # OUE is not of the first paper

    schema: BitVector
    law: OneHotBits

    def __init__(self, domain: Domain, epsilon: float, variant: str | float = "sue") -> None:
        super().__init__(domain, epsilon)
        self.variant = in_small_letters(variant)
        self._keep_threshold, self._raise_threshold = bit_thresholds(self.variant, self.requested)
        self.schema = BitVector(domain.size)
        self.law = OneHotBits(self._keep_threshold, self._raise_threshold)
        self.check_realisable()

    def parameters(self) -> dict[str, Any]:
        return {"variant": self.variant}

    def thresholds(self) -> dict[str, str]:
        return {"keep": hex(self._keep_threshold), "raised": hex(self._raise_threshold)}

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        n, size = len(index), self.schema.bytes
        packed = source.bits(self._raise_threshold, n * size).reshape(n, size)
        set_bits(packed, index, source.below(self._keep_threshold, n))
        if self.schema.padding:
            packed[:, -1] &= np.array(256 - 2**self.schema.padding, np.uint8)
        return {"bits": packed}

    def _program(self) -> dict[str, Any]:
        fields = {"keep": number(self._keep_threshold), "raised": number(self._raise_threshold)}
        return program("bits", {"size": self.domain.size, **fields})

    def channel(self) -> SupportChannel:
        keep, raised, whole = self.law.keep, self.law.raised, self.law.whole
        return SupportChannel(self.domain.size, raised / whole, (keep - raised) / whole)

    @property
    def n_reports(self) -> int:
        return 1 << self.domain.size

    def outputs(self) -> Mapping[str, np.ndarray]:
        return {"bits": np.packbits(all_patterns(self.domain.size), axis=1)}

    def probabilities(self) -> np.ndarray:
        size, law = self.domain.size, self.law
        chance = np.full((size, size), Fraction(law.raised, law.whole), dtype=object)
        np.fill_diagonal(chance, Fraction(law.keep, law.whole))
        return independent_bit_table(all_patterns(size), chance)


def all_patterns(size: int) -> np.ndarray:
    """All patterns of ``size`` bits in the order of binary numbers.

    >>> all_patterns(2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    shifts = np.arange(size - 1, -1, -1)
    return np.asarray(np.arange(2**size)[:, None] >> shifts & 1, dtype=np.uint8)


def independent_bit_table(patterns: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Exact probabilities (m, K) of patterns (m, K) whose bits are independent given the value."""
    table = np.empty((len(patterns), chance.shape[1]), dtype=object)
    masses, whole = common_denominator(chance)
    # Pr(y | x) = product over j of chance[j, x] if bit j of y is 1, else 1 - chance[j, x]
    for x in range(chance.shape[1]):
        bits = np.where(patterns == 1, masses[:, x], whole - masses[:, x])
        table[:, x] = np.multiply.reduce(bits, axis=1)
    return fractions(table, whole ** len(chance))


# -----------------------------------------------------------------------------------------------
# Subset selection: a random subset of d values, which prefers subsets with the true value.


class SubsetSelection(BitMechanism):
    """Subset selection: a subset of d of the K values.

        Pr(true value in the subset) = d e / (d e + K - d),   e = exp(epsilon)

    Given that, subsets are uniform: a subset with the true value is e times as likely as one
    without it.

    Args:
        domain: K values.
        epsilon: budget in nats.
        size: d in 1..K-1; None for the published round(K / (e + 1)), at least 1. If all
            shares are equal, its variance is at most 3 % above the least, for 4 to 100 values and
            epsilon 0.1 to 5.

    A report is the subset as K bits, which do not show the order in which members were drawn.

    Raises:
        ArgumentError: a size outside 1..K-1.
        BudgetError: epsilon not positive, NaN, or outside the range of 64-bit sampling.

    Source: Ye and Barg (2018).

    >>> from warner import Integers
    >>> ss = SubsetSelection(Integers(1, 20), 1.0)
    >>> ss.subset, int(np.bitwise_count(ss.randomize([3]).columns["bits"]).sum())
    (5, 5)
    """

    references = ("ye2018",)

    schema: BitVector
    law: TwoProbabilities

    def __init__(self, domain: Domain, epsilon: float, size: int | None = None) -> None:
        super().__init__(domain, epsilon)
        e, total = exp(self.requested), domain.size
        self.subset = (
            max(1, round(divide(total, e + 1)))
            if size is None
            else integer("size", size, 1, total - 1)
        )
        include = divide(self.subset * e, self.subset * e + total - self.subset)
        check_representable(self.requested, min(include, 1 - include))
        self._include = down(include)
        self.schema = BitVector(total, ones=self.subset)
        # The factor d / (2**64 C(K - 1, d - 1)) of all probabilities is kept as a logarithm,
        # because its binomial takes long for many values.
        log_binomial = (
            math.lgamma(total) - math.lgamma(self.subset) - math.lgamma(total - self.subset + 1)
        )
        self.law = TwoProbabilities(
            Fraction(self._include, self.subset),
            Fraction(ONE - self._include, total - self.subset),
            math.log(self.subset) - math.log(ONE) - log_binomial,
        )
        self.check_realisable()

    def parameters(self) -> dict[str, Any]:
        return {"size": self.subset}

    def thresholds(self) -> dict[str, str]:
        return {"include": hex(self._include)}

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        # A uniform subset of the other K - 1 values, with or without the true value.
        #
        # The last value stands in the place of the true value, so the subset is drawn, by the same
        # random words, for every true value alike.
        include = source.below(self._include, len(index))
        last = self.domain.size - 1
        packed = uniform_subsets(source, last, self.subset, include, self.schema.bytes)
        insert_value(packed, index, last, include)
        return {"bits": packed}

    def _program(self) -> dict[str, Any]:
        fields = {"members": self.subset, "include": number(self._include)}
        return program("subset", {"size": self.domain.size, **fields})

    def channel(self) -> SupportChannel:
        d, others = self.subset, self.domain.size - 1
        p = self.law.high * d / ONE
        q = p * Fraction(d - 1, others) + (1 - p) * Fraction(d, others)
        return SupportChannel(self.domain.size, float(q), float(p - q), ones=d)

    @property
    def is_enumerable(self) -> bool:
        # There are at least K subsets, so beyond 2^8 values the binomial need not be computed.
        return self.domain.size**2 <= ENUMERABLE and super().is_enumerable

    @property
    def n_reports(self) -> int:
        return math.comb(self.domain.size, self.subset)

    def outputs(self) -> Mapping[str, np.ndarray]:
        return {"bits": np.packbits(all_subsets(self.domain.size, self.subset), axis=1)}

    def probabilities(self) -> np.ndarray:
        unit = Fraction(self.subset, ONE * math.comb(self.domain.size - 1, self.subset - 1))
        law = TwoProbabilities(self.law.high * unit, self.law.low * unit)
        return law.table(all_subsets(self.domain.size, self.subset) == 1)


_WORDS = {width: np.dtype(f"<u{width}") for width in (1, 2, 4, 8)}  # by the bytes of a report


def set_bits(packed: np.ndarray, index: np.ndarray, bits: np.ndarray | bool) -> np.ndarray:
    """Set bit index (n,) of each report (n, bytes) in place, and return which were 1 before."""
    n, width = packed.shape
    if width in _WORDS:
        # A bit stands at the place i ^ 7 of a word whose first byte is the lowest.
        word = _WORDS[width]
        values, shift = packed.view(word)[:, 0], index.astype(word)
        shift ^= word.type(7)
        mask = word.type(1) << shift
        before = np.asarray((values & mask) != 0)
        values &= ~mask
        values |= mask * bits
        return before
    flat, where = packed.reshape(-1), np.arange(0, n * width, width)
    where += index >> 3
    mask, byte = np.uint8(128) >> (index.astype(np.uint8) & np.uint8(7)), np.take(flat, where)
    before = np.asarray((byte & mask) != 0)
    byte &= ~mask
    byte |= mask * bits
    flat[where] = byte
    return before


def insert_value(
    packed: np.ndarray, index: np.ndarray, last: int, include: np.ndarray | bool
) -> None:
    """Put values (n,) into subsets (n, bytes) or not, where ``last`` stood in for each."""
    stood_in = set_bits(packed, index, include)
    packed[:, last >> 3] |= stood_in * np.uint8(128 >> (last & 7))


def all_subsets(size: int, ones: int) -> np.ndarray:
    """All subsets of ``ones`` of ``size`` values, (m, size) zeros and ones.

    >>> all_subsets(3, 2).tolist()
    [[1, 1, 0], [1, 0, 1], [0, 1, 1]]
    """
    chosen = list(combinations(range(size), ones))
    members = np.zeros((len(chosen), size), dtype=np.uint8)
    np.put_along_axis(members, np.array(chosen), 1, axis=1)
    return members
