"""Utility-optimised mechanisms, which protect only the sensitive values [P2 sec 4]."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Self

import numpy as np

from warner._core.checks import integer
from warner._core.exact import ONE, check_representable, divide, exp, up
from warner._core.progress import in_blocks
from warner._core.sampling import Source, uniform_subsets
from warner.channels import (
    DirectChannel,
    HiddenAmongChannel,
    HiddenAmongRows,
    SupportChannel,
    SupportRows,
)
from warner.domains import Domain, Tagged
from warner.mechanisms.base import ENUMERABLE, Mechanism
from warner.mechanisms.bit_vectors import (
    BitMechanism,
    all_patterns,
    all_subsets,
    bit_thresholds,
    in_small_letters,
    independent_bit_table,
    insert_value,
)
from warner.mechanisms.device_program import ANY, SENSITIVE, number, odds, program
from warner.mechanisms.direct import direct_law, two_widths
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

    @property
    def guarantee(self) -> ULDP:
        return ULDP(self.epsilon, tuple(self.sensitive))

    def _utility_program(self, sampler: str, **integers: int) -> dict[str, Any]:
        """A device program with the sensitive values and the integers of a sampler."""
        fields = {name: number(value) for name, value in integers.items()}
        members = self._members.tolist()
        return program(sampler, {"size": self.domain.size, "sensitive": members, **fields})

    def _program_odds(self) -> dict[str, Any]:
        between = ANY if self.sensitive_mask.all() else SENSITIVE
        return odds(self.law.ratio(), self.requested, between)

    @property
    def _members(self) -> np.ndarray:
        """The sensitive values, (s,) indices."""
        return np.flatnonzero(self.sensitive_mask)

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


class NamesValues(UtilityOptimized):
    """A utility-optimised mechanism that names a value as uRR does, at some odds. Abstract."""

    _true_width: int
    _other_width: int
    _names: TwoProbabilities  # of the own name of a sensitive value, and of each other member

    def _set_odds(self, odds: Decimal) -> None:
        """Set the widths of the cells from which a name is drawn."""
        members = self._members.size
        share = divide(1, odds + members - 1)
        rarest = min(share, divide(odds - 1, odds + members - 1))
        check_representable(self.requested, rarest)
        # Numbers beyond the total are drawn again. c3 = c1 - c2 holds for integers too, so both
        # kinds of value share one total: true + (|S| - 1) other = |S| other + (true - other).
        self._true_width, self._other_width = two_widths(share, odds)
        self._names = direct_law(members, self._true_width, self._other_width)

    def thresholds(self) -> dict[str, str]:
        return {"own": hex(self._true_width), "other": hex(self._other_width)}

    def _named(self, index: np.ndarray, source: Source) -> np.ndarray:
        """The values that people name, (n,) indices."""
        # Drawn from the same cells for every value: |S| cells of other_width, then the rest. A
        # sensitive value takes the first |S| - 1 cells for the other members, numbered without
        # itself. The rest, of true_width, is for itself. Another value takes all |S| cells for the
        # members and the rest for itself. So no random word and no operation depends on the kind of
        # a value.
        members, mask = self._members, self.sensitive_mask
        count = members.size
        cell = source.cells(
            self._other_width, count, self._true_width - self._other_width, len(index)
        )
        # The rank of a value among the members; a value that is no member ranks after all.
        rank = np.full(mask.size, count, dtype=cell.dtype)
        rank[members] = np.arange(count)
        cells = (count - mask).astype(cell.dtype)[index]
        named = members[np.minimum(cell + (cell >= rank[index]), count - 1)]
        # By arithmetic: a choice by condition takes less time where all conditions are equal.
        return np.asarray(index + (cell < cells) * (named - index))

    def _channel_of_names(self) -> DirectChannel:
        high, low = self._names.high, self._names.low
        return DirectChannel(
            self.domain.size, np.where(self.sensitive_mask, float(low), 0.0), float(high - low)
        )


class UtilityOptimizedRR(NamesValues):
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
        self._set_odds(exp(self.requested))
        self.schema = IntegerColumns(("report",), (domain.size,))
        self.law = self._names
        self.check_realisable()

    def parameters(self) -> dict[str, Any]:
        return {"sensitive": self.sensitive}

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        return {"report": self._named(index, source)}

    def _program(self) -> dict[str, Any]:
        return self._utility_program(
            "utility_direct", own=self._true_width, other=self._other_width
        )

    def channel(self) -> DirectChannel:
        return self._channel_of_names()

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


class UtilityOptimizedBits(UtilityOptimized, BitMechanism):
    """A utility-optimised mechanism that reports K bits. Abstract."""

    schema: BitVector

    def _bit_schema(self, ones: int | None = None) -> BitVector:
        """The schema of K bits, of which at most one is of a value that is not sensitive."""
        outside = ~self.sensitive_mask
        mask = np.packbits(outside).tobytes() if outside.any() else b""
        return BitVector(self.domain.size, ones, mask)

    def _placed(self, bits: Callable[[slice], np.ndarray], n: int) -> np.ndarray:
        """Packed reports (n, bytes) with bits of sensitive values alone, made by ``bits``."""
        packed = np.zeros((n, self.schema.bytes), dtype=np.uint8)
        # Only bytes with a sensitive bit are made, a few rows at a time.
        held = np.unique(self._members >> 3)
        bit = np.searchsorted(held, self._members >> 3) * 8 + (self._members & 7)
        for rows in in_blocks(n, _BITS, 8 * held.size):
            several = np.zeros((rows.stop - rows.start, 8 * held.size), dtype=np.uint8)
            several[:, bit] = bits(rows)
            packed[rows, held] = np.packbits(several, axis=1)
        return packed

    @abstractmethod
    def _patterns(self) -> np.ndarray:
        """The bits of :meth:`outputs`, (m, K) zeros and ones."""

    def outputs(self) -> Mapping[str, np.ndarray]:
        return {"bits": np.packbits(self._patterns(), axis=1)}

    def protected(self) -> np.ndarray:
        return np.asarray(~self._patterns()[:, ~self.sensitive_mask].any(axis=1))


class UtilityOptimizedRappor(UtilityOptimizedBits):
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

    law: GuardedBits

    def __init__(
        self,
        domain: Domain,
        epsilon: float,
        sensitive: Sequence[Any],
        variant: str | float = "sue",
    ) -> None:
        super().__init__(domain, epsilon, sensitive)
        variant = in_small_letters(variant)
        self._argument = variant
        if variant == "best":
            members = int(self.sensitive_mask.sum())
            variant = best_probability(members, domain.size - members, self.requested)
        self.variant = variant
        self._keep_threshold, self._raise_threshold = bit_thresholds(variant, self.requested)
        # d2 follows from the t and d1 that are sampled, and is rounded towards less epsilon.
        dropped = divide(self._keep_threshold, self._raise_threshold * exp(self.requested))
        check_representable(self.requested, dropped)
        self._drop_threshold = min(up(dropped), ONE)
        others = int((~self.sensitive_mask).sum())
        if others:
            check_representable(self.requested, 1 - dropped)
        self.schema = self._bit_schema()
        thresholds = self._keep_threshold, self._raise_threshold, self._drop_threshold
        self.law = GuardedBits(*thresholds, domain.size - others, others)
        self.check_realisable()

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
        n, members = len(index), int(self.sensitive_mask.sum())
        width = -(-members // 8)

        def noise(rows: slice) -> np.ndarray:
            count = rows.stop - rows.start
            drawn = source.bits(self._raise_threshold, count * width).reshape(count, width)
            return np.unpackbits(drawn, axis=1, count=members)

        packed = self._placed(noise, n)
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
        inside, outside = np.packbits(self.sensitive_mask), np.packbits(~self.sensitive_mask)
        named = np.any(rows & outside, axis=1)
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
        law = self.channel().support_law()
        return SupportRows.of_reports(rows, float(self.law.ratio()), law, factors)

    @property
    def n_reports(self) -> int:
        members = int(self.sensitive_mask.sum())
        return (1 << members) * (1 + self.domain.size - members)

    def _patterns(self) -> np.ndarray:
        # All possible reports: any sensitive bits, and at most one other bit.
        #
        # [P2] also lists strings of bits that cannot occur.
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


# -----------------------------------------------------------------------------------------------
# A value is named as by uRR, and a sensitive one is then hidden among others.


def best_subset(members: int, size: int, epsilon: float) -> int:
    """The d of UtilityOptimizedSubset with the least sum of variances where all shares are equal.

    >>> best_subset(76, 400, 1.0), best_subset(2, 8, 1.0)
    (26, 1)
    """
    # With c = s / (u + s), u = d (e - 1), and D = P (s - 1) (d - 1) / (s - d), the variances sum to
    #     (1 + D - P^2 / s - (K - s) ((1 - c) / K)^2) / (1 - c)^2,   P = c + (1 - c) s / K
    # where P is the share of the reports that are sets. [METHODS 1]
    s, d = members, np.arange(1, max(members, 2))
    u = d * math.expm1(epsilon)
    c, named = s / (u + s), u / (u + s)
    sets = c + named * s / size
    hidden = sets * (s - 1) * (d - 1) / np.maximum(s - d, 1)
    variances = (1 + hidden - sets**2 / s) / named**2 - (size - s) / size**2
    return int(d[np.argmin(variances)])


class UtilityOptimizedSubset(NamesValues, UtilityOptimizedBits):
    """Utility-optimised subset selection: a set of d of the s sensitive values S, or one other.

        x in S:      a set of d values of S, e times as likely where it holds x
        x not in S:  the set of x alone with probability 1 - c, else a uniform set of d values of S
        c = s / (d e + s - d),   e = exp(epsilon)

    So Pr(x in the report | x in S) = d e / (d e + s - d). A report that is a set of sensitive
    values is protected. Any other report reveals its value. With d = 1 reports say what those of
    UtilityOptimizedRR say, and if all values are sensitive those of SubsetSelection. Where all
    shares are equal, no utility-optimised mechanism has a smaller sum of variances, except that d
    must be a whole number. That costs at most 1.1 % with 6, 8 or 10 values and epsilon from 0.25
    to 3.

    Args:
        domain: K values.
        epsilon: budget in nats, of the sensitive values.
        sensitive: the values to protect, at least one.
        size: d in 1..s-1, or 1 of one sensitive value; None for the d with the least sum of
            variances where all shares are equal.

    A report is K bits, packed 8 to a byte. Its tally is the K bit sums, or whole reports
    (``keep_reports``).

    Raises:
        ArgumentError: no sensitive value, one outside the domain, or one twice; a size outside
            1..s-1.
        BudgetError: epsilon not positive, NaN, or outside the range of 64-bit sampling.

    Source: Yoon et al. (2025), with all sets of d values as blocks; the guarantee is that of [P2].

    >>> from warner import Integers
    >>> from warner.theory import expected_loss
    >>> places = UtilityOptimizedSubset(Integers(1, 400), 1.0, sensitive=range(1, 77))
    >>> places.subset, round(expected_loss(places, [1 / 400] * 400, n=1))
    (26, 199)
    """

    references = ("yoon2025", "P2")

    law: TwoProbabilities

    def __init__(
        self,
        domain: Domain,
        epsilon: float,
        sensitive: Sequence[Any],
        size: int | None = None,
    ) -> None:
        super().__init__(domain, epsilon, sensitive)
        self._argument, members = size, self._members.size
        self.subset = (
            best_subset(members, domain.size, self.requested)
            if size is None
            else integer("size", size, 1, max(members - 1, 1))
        )
        d = self.subset
        # A set that holds x comes from d names, of which x is the likeliest; any other set from d
        # names that are all alike. So a name's odds 1 + d (e - 1) make the set's odds e.
        self._set_odds(1 + d * (exp(self.requested) - 1))
        self.schema = self._bit_schema(d)
        self.law = TwoProbabilities(
            self._names.high + (d - 1) * self._names.low,
            d * self._names.low,
            math.lgamma(d) + math.lgamma(members - d + 1) - math.lgamma(members),
        )
        self.check_realisable()

    def parameters(self) -> dict[str, Any]:
        return {"sensitive": self.sensitive, "size": self.subset}

    def options(self) -> dict[str, Any]:
        """The argument ``size`` as it was given: the best one depends on the sensitive values."""
        return {"size": self._argument}

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        n, members, named = len(index), self._members.size, self._named(index, source)
        # A set is drawn for every report, so that no random word tells who named what.
        rank = np.cumsum(self.sensitive_mask)[named] - 1
        is_set, last = self.sensitive_mask[named], members - 1
        sets = uniform_subsets(
            source, last, self.subset - 1, np.zeros(n, dtype=bool), -(-members // 8)
        )
        insert_value(sets, last + is_set * (rank - last), last, True)
        sets *= is_set[:, None]
        packed = self._placed(lambda rows: np.unpackbits(sets[rows], axis=1, count=members), n)
        packed[np.arange(n), named >> 3] |= (128 >> (named & 7)).astype(np.uint8)
        return {"bits": packed}

    def _program(self) -> dict[str, Any]:
        return self._utility_program(
            "utility_subset", members=self.subset, own=self._true_width, other=self._other_width
        )

    def channel(self) -> HiddenAmongChannel:
        return HiddenAmongChannel(self._channel_of_names(), self.subset)

    def report_channel(self, rows: np.ndarray) -> HiddenAmongRows:
        """The channel whose rows are the given reports, as that of UtilityOptimizedRappor."""
        self.schema.check({"bits": rows})
        channel = self.channel()
        named = np.any(rows & np.packbits(~self.sensitive_mask), axis=1)
        factors = np.where(
            named,
            math.log(channel.first.gap[0]),
            self.law.log_unsupported(named, self.domain.size),
        )
        return HiddenAmongRows(channel, rows, float(self.law.ratio()), factors)

    @property
    def is_enumerable(self) -> bool:
        # Beyond 2^8 values the binomial need not be computed.
        return self.domain.size**2 <= ENUMERABLE and super().is_enumerable

    @property
    def n_reports(self) -> int:
        members = self._members.size
        return math.comb(members, self.subset) + self.domain.size - members

    def _patterns(self) -> np.ndarray:
        members, others = self._members, np.flatnonzero(~self.sensitive_mask)
        sets = all_subsets(members.size, self.subset)
        patterns = np.zeros((len(sets) + others.size, self.domain.size), dtype=np.uint8)
        patterns[: len(sets), members] = sets
        patterns[np.arange(len(sets), len(patterns)), others] = 1
        return patterns

    def probabilities(self) -> np.ndarray:
        patterns, named = self._patterns() == 1, ~self.protected()
        around = math.comb(self._members.size - 1, self.subset - 1)
        sets = TwoProbabilities(self.law.high / around, self.law.low / around)
        alone = TwoProbabilities(self._names.high - self._names.low, Fraction(0))
        table = sets.table(patterns)
        table[named] = alone.table(patterns[named])
        return table
