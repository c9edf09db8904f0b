"""Utility-optimised mechanisms, which protect only the sensitive values [P2 sec 4]."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np

from warner._core.exact import ONE, check_representable, divide, exp, up
from warner._core.sampling import Source
from warner.channels import DirectChannel, SupportChannel, SupportRows
from warner.domains import Domain, Tagged
from warner.mechanisms.base import Mechanism
from warner.mechanisms.bit_vectors import (
    BitMechanism,
    all_patterns,
    bit_thresholds,
    independent_bit_table,
)
from warner.mechanisms.device_program import ANY, SENSITIVE, number, odds, program
from warner.mechanisms.direct import two_widths
from warner.privacy.guarantees import ULDP, sensitive_mask
from warner.privacy.report_laws import GuardedBits, TwoProbabilities
from warner.reports.schema import BitVector, IntegerColumns

_BITS = 2**22  # bits that are placed at a time
# Thousandths, among which the best t is searched.
_GRID = np.arange(1, 1000) / 1000
_GOLDEN = (math.sqrt(5) - 1) / 2


class UtilityOptimized(Mechanism):
    """A mechanism that protects only some values. Abstract.

    Args:
        domain: K values.
        epsilon: budget in nats, of the sensitive values.
        sensitive: the values to protect, at least one.

    Raises:
        ArgumentError: no sensitive value, one outside the domain, or one twice.
    """

    takes_tags = True

    sensitive_mask: np.ndarray

    def __init__(self, domain: Domain, epsilon: float, sensitive: Sequence[Any]) -> None:
        super().__init__(domain, epsilon)
        self.sensitive_mask = sensitive_mask(domain, sensitive)

    def _utility_program(self, sampler: str, **integers: int) -> dict[str, Any]:
        """A device program with the sensitive values and the integers of a sampler."""
        fields = {name: number(value) for name, value in integers.items()}
        members = np.flatnonzero(self.sensitive_mask).tolist()
        return program(sampler, {"size": self.domain.size, "sensitive": members, **fields})

    def _program_odds(self) -> dict[str, Any]:
        between = ANY if self.sensitive_mask.all() else SENSITIVE
        return odds(self.law.ratio(), self.requested, between)

    @classmethod
    def from_study(
        cls,
        domain: Domain,
        epsilon: float,
        options: Mapping[str, Any],
        keys: Domain | None = None,
        tags: Sequence[str] | None = None,
    ) -> Self:
        if tags is None:
            return super().from_study(domain, epsilon, options)
        remaining, sensitive = dict(options), options.get("sensitive", [])
        remaining.pop("sensitive", None)
        if not isinstance(sensitive, list) or sensitive:
            # Values that are sensitive for everyone are checked on the plain domain.
            common = cls(domain, epsilon, **{**remaining, "sensitive": sensitive})
            sensitive, remaining = common.sensitive, common.options()
        return cls.with_placeholders(domain, epsilon, tags, sensitive, remaining)

    @classmethod
    def with_placeholders(
        cls,
        domain: Domain,
        epsilon: float,
        tags: Sequence[str],
        sensitive: Sequence[Any],
        options: Mapping[str, Any],
    ) -> Self:
        """The mechanism over values and the placeholders of tags, which are all sensitive.

        Args:
            domain: the plain domain.
            epsilon: budget in nats.
            tags: the names of the tags, at least one.
            sensitive: the values that are sensitive for everyone, if any.
            options: {name: value}, further arguments of the constructor.

        Source: [P2 sec 5.1].
        """
        extended = Tagged(domain, tags)
        placeholders = extended.decode(np.arange(domain.size, extended.size))
        return cls(extended, epsilon, **{**options, "sensitive": [*sensitive, *placeholders]})

    def options(self) -> dict[str, Any]:
        """The constructor's arguments besides domain, epsilon and the sensitive values."""
        return {k: v for k, v in self.parameters().items() if k != "sensitive"}


class UtilityOptimizedRR(UtilityOptimized):
    """Utility-optimised randomised response (uRR): k-RR among the sensitive values S.

        x in S:      Pr(report x) = c1 = e / (|S| + e - 1), Pr(each other member of S) = c2 = c1 / e
        x not in S:  Pr(report x) = c3 = (e - 1) / (|S| + e - 1), Pr(each member of S) = c2
        e = exp(epsilon)

    Here x is the person's value, and |S| is the number of sensitive values. A report in S is
    protected: its probabilities under two values differ by at most the factor e. Any other report
    reveals its value. If all values are sensitive, the mechanism is RandomizedResponse. On two
    values, one of them sensitive, it is Mangat's response (1994).

    Args:
        domain: K values.
        epsilon: budget in nats, of the sensitive values.
        sensitive: the values to protect, at least one.

    Raises:
        ArgumentError: no sensitive value, one outside the domain, or one twice.
        BudgetError: epsilon not positive, NaN, or outside the range of 64-bit sampling.

    Source: [P2 def 4].

    >>> from warner import Categorical
    >>> status = Categorical(["divorced", "married", "single"])
    >>> survey = UtilityOptimizedRR(status, 1.0, sensitive=["divorced"])
    >>> survey.guarantee.sensitive, round(survey.epsilon, 9)
    (('divorced',), 1.0)
    """

    references = ("P2",)

    law: TwoProbabilities

    def __init__(self, domain: Domain, epsilon: float, sensitive: Sequence[Any]) -> None:
        super().__init__(domain, epsilon, sensitive)
        e, self._members = exp(self.requested), int(self.sensitive_mask.sum())
        share = divide(1, e + self._members - 1)
        check_representable(
            self.requested,
            min(share, divide(e - 1, e + self._members - 1)),
            "the rarest report of a value",
        )
        # Numbers beyond the total are drawn again. c3 = c1 - c2 holds for integers too, so both
        # kinds of value share one total: true + (|S| - 1) other = |S| other + (true - other).
        self._true_width, self._other_width = two_widths(share, e)
        total = self._true_width + (self._members - 1) * self._other_width
        self.schema = IntegerColumns(("report",), (domain.size,))
        self.law = TwoProbabilities(
            Fraction(self._true_width, total), Fraction(self._other_width, total)
        )
        self.check_realisable()

    @property
    def guarantee(self) -> ULDP:
        return ULDP(self.epsilon, tuple(self.sensitive), "reports that name a sensitive value")

    def parameters(self) -> dict[str, Any]:
        return {"sensitive": self.sensitive}

    def thresholds(self) -> dict[str, str]:
        return {"own": hex(self._true_width), "other": hex(self._other_width)}

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        """Draw from the same cells for every value: |S| cells of other_width, then the rest."""
        # A sensitive value takes the first |S| - 1 cells for the other members, numbered without
        # itself. The rest, of true_width, is for itself. Another value takes all |S| cells for the
        # members and the rest for itself. So no random word and no operation depends on the kind of
        # a value.
        members, size = np.flatnonzero(self.sensitive_mask), self.domain.size
        cell = source.cells(
            self._other_width, self._members, self._true_width - self._other_width, len(index)
        )
        # The rank of a value among the members; a value that is no member ranks after all.
        rank = np.full(size, self._members, dtype=cell.dtype)
        rank[members] = np.arange(self._members)
        cells = (self._members - self.sensitive_mask).astype(cell.dtype)[index]
        named = members[np.minimum(cell + (cell >= rank[index]), self._members - 1)]
        # By arithmetic: a choice by condition takes less time where all conditions are equal.
        return {"report": index + (cell < cells) * (named - index)}

    def _program(self) -> dict[str, Any]:
        return self._utility_program(
            "utility_direct", own=self._true_width, other=self._other_width
        )

    def channel(self) -> DirectChannel:
        return DirectChannel(
            self.domain.size,
            np.where(self.sensitive_mask, float(self.law.low), 0.0),
            float(self.law.high - self.law.low),
        )

    def protected(self) -> np.ndarray:
        return self.sensitive_mask.copy()

    def probabilities(self) -> np.ndarray:
        size = self.domain.size
        table = np.full((size, size), Fraction(0), dtype=object)
        table[self.sensitive_mask] = self.law.low
        for x in range(size):
            table[x, x] = self.law.high if self.sensitive_mask[x] else self.law.high - self.law.low
        return table


def best_probability(sensitive: int, others: int, epsilon: float) -> float:
    """The t of UtilityOptimizedRappor with the least worst-case l1 loss; the search is ours.

    >>> best_probability(76, 324, 1.0)
    0.547
    """
    # t minimises, over a grid of thousandths, max over theta of sum_x sqrt(V_x) [METHODS 6], where
    # - sensitive x: V_x = mu (1 - mu) / (t - d1)^2, mu = d1 + (t - d1) theta_x
    # - other x: V_x = nu (1 - nu) / c^2, nu = c theta_x, c = 1 - d2 = t (1 - 1/e)
    # - d1 = t / ((1 - t) e + t), e = exp(epsilon)
    # theta_x is the share of value x, V_x / n the variance of its estimate from n reports; mu and
    # nu are the probabilities that a report sets bit x. The expected l1 loss of the inversion is
    # sqrt(2 / (n pi)) times this sum, so the best t does not depend on n.
    t, inverse = _GRID, math.exp(-epsilon)
    raised = t * inverse / ((1 - t) + t * inverse)
    gap, named = t - raised, -t * math.expm1(-epsilon)

    # The sum is concave in theta, and does not change if two values of one kind swap their shares.
    # So the worst theta is uniform within each kind, and only the total share of the sensitive is
    # searched.
    def loss(share: np.ndarray) -> np.ndarray:
        mu = raised + gap * share / sensitive
        total = sensitive * np.sqrt(mu * (1 - mu)) / gap
        if others:
            nu = named * (1 - share) / others
            total = total + others * np.sqrt(nu * (1 - nu)) / named
        return np.asarray(total)

    return float(t[np.argmin(_largest(loss, t.size) if others else loss(np.ones(t.size)))])


def _largest(loss: Callable[[np.ndarray], np.ndarray], size: int) -> np.ndarray:
    """The maximum over shares in [0, 1] of ``size`` concave functions, by golden sections."""
    low, high = np.zeros(size), np.ones(size)
    for _ in range(60):
        step = _GOLDEN * (high - low)
        a, b = high - step, low + step
        right = loss(a) < loss(b)
        low, high = np.where(right, a, low), np.where(right, high, b)
    ends = [loss(np.zeros(size)), loss((low + high) / 2), loss(np.ones(size))]
    return np.asarray(np.max(ends, axis=0))


class UtilityOptimizedRappor(UtilityOptimized, BitMechanism):
    """Utility-optimised RAPPOR (uRAP): K bits, of which only those of sensitive values S are noisy.

        j in S:      Pr(bit j is 1 | value x) = t if j = x, else d1
        j not in S:  Pr(bit j is 1 | value x) = 1 - d2 if j = x, else 0
        d1 = t / ((1 - t) e + t),   d2 = ((1 - t) e + t) / e,   e = exp(epsilon)

    A report is protected if all its bits of 1 are in S. Any other report reveals its value. If all
    values are sensitive, the mechanism is UnaryEncoding.

    Args:
        domain: K values.
        epsilon: budget in nats, of the sensitive values.
        sensitive: the values to protect, at least one.
        variant: ``"sue"``, ``"oue"`` or t, a number in (0, 1), as those of UnaryEncoding; or
            ``"best"``, the t with the least worst-case l1 loss, to a thousandth. Headers hold this
            number.

    A report is K bits, packed 8 to a byte. Its tally is the K bit sums, or whole reports
    (``keep_reports``).

    Raises:
        ArgumentError: no sensitive value, one outside the domain, or one twice.
        BudgetError: epsilon not positive, NaN, or outside the range of 64-bit sampling.

    Source: [P2 def 5].

    >>> from warner import Integers
    >>> places = UtilityOptimizedRappor(Integers(1, 20), 1.0, sensitive=[3, 7])
    >>> places.randomize([3, 19]).columns["bits"].shape
    (2, 3)
    """

    references = ("P2",)

    schema: BitVector
    law: GuardedBits

    def __init__(
        self,
        domain: Domain,
        epsilon: float,
        sensitive: Sequence[Any],
        variant: str | float = "sue",
    ) -> None:
        super().__init__(domain, epsilon, sensitive)
        self._argument = variant
        if variant == "best":
            members = int(self.sensitive_mask.sum())
            variant = best_probability(members, domain.size - members, self.requested)
        self.variant = variant
        self._keep_threshold, self._raise_threshold = bit_thresholds(variant, self.requested)
        # d2 follows from the t and d1 that are sampled, and is rounded towards less epsilon.
        dropped = divide(self._keep_threshold, self._raise_threshold * exp(self.requested))
        check_representable(
            self.requested, dropped, "dropping the bit of a value that is not sensitive"
        )
        self._drop_threshold = min(up(dropped), ONE)
        others = int((~self.sensitive_mask).sum())
        if others:
            check_representable(self.requested, 1 - dropped, "naming a value that is not sensitive")
        mask = np.packbits(~self.sensitive_mask)
        self.schema = BitVector(domain.size, exclusive_mask=mask.tobytes() if others else b"")
        self.law = GuardedBits(
            self._keep_threshold,
            self._raise_threshold,
            self._drop_threshold,
            domain.size - others,
            others,
        )
        self.check_realisable()

    @property
    def guarantee(self) -> ULDP:
        return ULDP(
            self.epsilon, tuple(self.sensitive), "reports with no bit of a non-sensitive value set"
        )

    def parameters(self) -> dict[str, Any]:
        return {"sensitive": self.sensitive, "variant": self.variant}

    def options(self) -> dict[str, Any]:
        """The argument ``variant`` as it was given, such as "best".

        The number that "best" stands for depends on how many values are sensitive.
        """
        return {"variant": self._argument}

    def thresholds(self) -> dict[str, str]:
        return {
            "keep": hex(self._keep_threshold),
            "raised": hex(self._raise_threshold),
            "dropped": hex(self._drop_threshold),
        }

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        n, members = len(index), np.flatnonzero(self.sensitive_mask)
        packed = np.zeros((n, self.schema.bytes), dtype=np.uint8)
        # Only bytes with a sensitive bit are drawn, a few rows at a time.
        held = np.unique(members >> 3)
        bit = np.searchsorted(held, members >> 3) * 8 + (members & 7)
        step = max(1, _BITS // (8 * held.size))
        width = -(-members.size // 8)
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            count = rows.stop - rows.start
            noise = np.unpackbits(
                source.bits(self._raise_threshold, count * width).reshape(count, width), axis=1
            )[:, : members.size]
            bits = np.zeros((count, 8 * held.size), dtype=np.uint8)
            bits[:, bit] = noise
            packed[rows, held] = np.packbits(bits, axis=1)
        everyone, byte = np.arange(n), index >> 3
        mask = (128 >> (index & 7)).astype(np.uint8)
        # A value that is not sensitive keeps its bit where it is not dropped.
        keep = np.where(
            self.sensitive_mask,
            np.uint64(self._keep_threshold),
            np.uint64(ONE - self._drop_threshold),
        )
        stays = source.below_each(keep[index])
        packed[everyone, byte] = (packed[everyone, byte] & ~mask) | np.where(
            stays, mask, np.uint8(0)
        )
        return {"bits": packed}

    def _program(self) -> dict[str, Any]:
        return self._utility_program(
            "utility_bits",
            keep=self._keep_threshold,
            raised=self._raise_threshold,
            dropped=self._drop_threshold,
        )

    def channel(self) -> SupportChannel:
        q = np.where(self.sensitive_mask, self._raise_threshold / ONE, 0.0)
        gap = np.where(
            self.sensitive_mask,
            (self._keep_threshold - self._raise_threshold) / ONE,
            (ONE - self._drop_threshold) / ONE,
        )
        return SupportChannel(self.domain.size, q, gap)

    def report_channel(self, rows: np.ndarray) -> SupportRows:
        """The channel whose rows are the given reports (METHODS 1).

        For a protected report y, row y is 1 + (e - 1) b_y. Here b_y are the sensitive bits of the
        report, and e is the law's exact likelihood ratio. For any other report, only the value that
        it reveals has an entry above 0.

        Args:
            rows: uint8 (m, bytes), the distinct reports as packed bits, 8 to a byte.

        Returns:
            The channel (m, K). Its row y is proportional to Pr(report y | value).
        """
        self.schema.check({"bits": rows})
        inside, outside = self._masks()
        named = np.any(rows & outside, axis=1)
        bits = np.where(named[:, None], rows & outside, rows & inside)
        support = self.channel()
        base, gain = np.where(named, 0.0, 1.0), np.where(named, 1.0, float(self.law.ratio() - 1))
        # All values set the bits of S with equal probability, except the bit of the value itself. A
        # value outside S keeps or drops its bit.
        ones = np.bitwise_count(rows & inside).sum(axis=1, dtype=np.int64)
        raised = math.log(self._raise_threshold / ONE)
        clear = math.log(1 - self._raise_threshold / ONE)
        stays = np.where(
            named,
            (ONE - self._drop_threshold) / ONE,
            (ONE - self._keep_threshold) / (ONE - self._raise_threshold),
        )
        factors = ones * raised + (int(self.sensitive_mask.sum()) - ones) * clear + np.log(stays)
        # The inversion counts all bits, also those of S in a report that names its value.
        return SupportRows(
            bits,
            self.domain.size,
            base,
            gain,
            support.q,
            support.gap,
            counted=rows,
            log_factors=factors,
        )

    def _masks(self) -> tuple[np.ndarray, np.ndarray]:
        """Packed bits of the sensitive values, and of the others."""
        return np.packbits(self.sensitive_mask), np.packbits(~self.sensitive_mask)

    def protected(self) -> np.ndarray:
        return np.asarray(~np.any(self.outputs()["bits"] & self._masks()[1], axis=1))

    @property
    def n_reports(self) -> int:
        members = int(self.sensitive_mask.sum())
        return (1 << members) * (1 + self.domain.size - members)

    def outputs(self) -> Mapping[str, np.ndarray]:
        # All possible reports: any sensitive bits, and at most one other bit.
        #
        # [P2] also lists strings of bits that cannot occur.
        return {"bits": np.packbits(self._patterns(), axis=1)}

    def _patterns(self) -> np.ndarray:
        """The bits of :meth:`outputs`, (m, K) zeros and ones."""
        members, others = np.flatnonzero(self.sensitive_mask), np.flatnonzero(~self.sensitive_mask)
        inside = all_patterns(members.size)
        patterns = np.zeros((1 + others.size, len(inside), self.domain.size), dtype=np.uint8)
        patterns[:, :, members] = inside
        patterns[np.arange(1, 1 + others.size), :, others] = 1
        return patterns.reshape(-1, self.domain.size)

    def probabilities(self) -> np.ndarray:
        keep, flip, drop = (
            Fraction(v, ONE)
            for v in (self._keep_threshold, self._raise_threshold, self._drop_threshold)
        )
        size = self.domain.size
        chance = np.full((size, size), Fraction(0), dtype=object)
        chance[self.sensitive_mask] = flip
        for x in range(size):
            chance[x, x] = keep if self.sensitive_mask[x] else 1 - drop
        return independent_bit_table(self._patterns(), chance)
