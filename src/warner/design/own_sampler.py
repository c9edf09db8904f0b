"""Tests of samplers against their law, with a stated power.

Reports of one value are compared with the law by a chi-square test over whole serialised reports.
Reports that cannot occur are rejected at once. Where a p-value leaves doubt, more are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from warner._core.errors import ArgumentError
from warner._core.extras import scipy
from warner._core.sampling import Source
from warner.channels import Channel
from warner.domains import Domain
from warner.mechanisms import Mechanism
from warner.mechanisms.base import listed_probabilities
from warner.mechanisms.composite import with_schema_types
from warner.reports.counting import count_rows, unique_rows
from warner.reports.reports import Reports
from warner.reports.tally import Tally

ALPHA = 1e-9  # the probability with which a right sampler is rejected by one draw of a test
_DOUBT = 1e-3  # the p-value below which reports are drawn anew
_MORE = 4  # times as many reports as before, where they are drawn anew
_BYTES = 64  # of a report, whose bits are compared with those of neighbours
_FAR = 4.0  # standard deviations, below which no p-value of a bit is computed
FEW = 5.0  # expected reports; cells with fewer count as one
_SURE = 2.33  # standard deviations beyond a limit, for a power of 99 %

Sampler = Callable[[Mechanism, np.ndarray, Source], dict[str, np.ndarray]]
Tested = tuple[float, int, str]
"""The p-value of a test, all its tests counted, its degrees of freedom, and what is worst."""


def honest(mechanism: Mechanism, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
    """The mechanism's sampler."""
    return mechanism.randomize_index(index, source)


def one_by_one(mechanism: Mechanism, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
    """Reports that are made alone, as the device of one person does."""
    parts = [drawn_for(mechanism, index[i : i + 1], source) for i in range(len(index))]
    return {name: np.concatenate([report[name] for report in parts]) for name in parts[0]}


def among_others(mechanism: Mechanism, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
    """Reports that are made together with as many of other values, in mixed order."""
    rng = np.random.default_rng(len(index))
    others = rng.integers(0, mechanism.domain.size, len(index))
    order = rng.permutation(2 * len(index))
    together = np.empty(2 * len(index), dtype=index.dtype)
    together[order] = np.concatenate([index, others])
    places = order[: len(index)]
    return {k: v[places] for k, v in drawn_for(mechanism, together, source).items()}


def worst_p_value(
    mechanism: Mechanism,
    draws: int,
    values: np.ndarray | None = None,
    sampler: Sampler = honest,
    seed: int = 0,
) -> Tested:
    """The least p-value over values, by a test of all reports."""
    records = Reports(mechanism.header, mechanism.outputs()).records()
    row_of = {record: i for i, record in enumerate(records)}
    law = listed_probabilities(mechanism).astype(float)
    worst = (1.0, 1, "")
    for x in range(mechanism.domain.size) if values is None else values:
        source = Source(np.random.default_rng(seed + int(x)))
        drawn = records_of(mechanism, np.full(draws, x), source, sampler)
        seen, counts = count_rows(drawn, np.ones(draws, dtype=np.int64))
        observed = np.zeros(len(records))
        for record, n in zip(seen, counts, strict=True):
            if record.tobytes() not in row_of:
                return 0.0, 1, f"value number {x} made a report that outputs() does not list"
            observed[row_of[record.tobytes()]] = n
        p, freedom, row = p_value(observed, law[:, x], draws)
        share = f"report number {row} occurred {observed[row] / draws:.5f} of the time"
        worst = min(worst, (p, freedom, f"for value number {x}, {share}, not {law[row, x]:.5f}"))
    return worst


def records_of(
    mechanism: Mechanism, index: np.ndarray, source: Source, sampler: Sampler
) -> np.ndarray:
    """Reports of people with values index (n,), as bytes (n, bytes)."""
    columns = with_schema_types(mechanism, sampler(mechanism, index, source))
    return Reports(mechanism.header, columns).record_array()


def p_value(observed: np.ndarray, law: np.ndarray, n: int) -> tuple[float, int, int]:
    """The chi-square test of counts (m,) against a law (m,); far tails count as one cell."""
    expected = law * n
    impossible = observed * (law == 0)
    if impossible.any():
        return 0.0, 1, int(np.argmax(impossible))
    off = np.abs(observed - expected) / np.sqrt(np.maximum(expected, 1e-300))
    row = int(np.argmax(off))
    rare = expected <= FEW
    seen, predicted = (np.append(v[~rare], v[rare].sum()) for v in (observed, expected))
    if predicted[-1] <= FEW:
        seen, predicted = seen[:-1], predicted[:-1] * (seen[:-1].sum() / predicted[:-1].sum())
    if len(seen) < 2:
        return 1.0, 1, row
    statistic = float(((seen - predicted) ** 2 / predicted).sum())
    return float(scipy.special.chdtrc(len(seen) - 1, statistic)), len(seen) - 1, row


def spread(values: np.ndarray, count: int) -> np.ndarray:
    """Some of the values (V,), at equal distances, the ends among them; all where they are few.

    >>> spread(np.arange(10), 4).tolist(), spread(np.arange(3), 4).tolist()
    ([0, 3, 6, 9], [0, 1, 2])
    """
    places = np.linspace(0, len(values) - 1, count).round().astype(int)
    return np.asarray(values[np.unique(places)])


def neighbours_p_value(records: np.ndarray) -> Tested:
    """The least p-value of reports of equal answers that depend on each other, times all tests.

    Each bit of the records (n, bytes) is compared by Fisher's exact test at the distances between
    people, up to half of their number, at which reports are most alike. The pairs of one test
    share no report, so they are independent where reports are.
    """
    bits = np.unpackbits(records[:, spread(np.arange(records.shape[1]), _BYTES)], axis=1)
    bits = bits[:, bits.any(axis=0) & ~bits.all(axis=0)]
    worst, tests = (1.0, 1, ""), _pair_tests(*bits.shape)
    for lag in _most_alike(bits):
        block = np.arange(len(bits) - lag) // lag % 2
        for first in (np.flatnonzero(block == 0), np.flatnonzero(block == 1)):
            a, b, n = bits[first], bits[first + lag], len(first)
            ones, others = (each.sum(axis=0, dtype=np.int64) for each in (a, b))
            both = (a & b).sum(axis=0, dtype=np.int64)
            variance = ones * (n - ones) / max(1, n) * others * (n - others)
            variance = variance / max(1, n * (n - 1))
            far = np.abs(both - ones * others / max(1, n)) > _FAR * np.sqrt(variance)
            for bit in np.flatnonzero(far):
                law = scipy.stats.hypergeom(n, int(ones[bit]), int(others[bit]))
                p = 2 * tests * float(min(law.cdf(both[bit]), law.sf(both[bit] - 1)))
                worst = min(worst, (p, 1, f"reports of people {lag:,} apart depend on each other"))
    return worst


def _pair_tests(people: int, bits: int) -> int:
    """The tests among which the least p-value is: distances, bits, and two sets of pairs each."""
    return max(1, people // 2 * bits * 2)


def _most_alike(bits: np.ndarray) -> np.ndarray:
    """The distances at which the bits (n, B) of people are correlated most, by Fourier sums."""
    n, half = len(bits), len(bits) // 2
    length, largest = scipy.fft.next_fast_len(n + half, real=True), np.zeros(half)
    for bit in bits.T:
        spectrum = scipy.fft.rfft(bit - bit.mean(), length)
        sums = scipy.fft.irfft(np.abs(spectrum) ** 2, length)
        largest = np.maximum(largest, np.abs(sums[1 : half + 1]) / sums[0])
    return 1 + np.argsort(-largest * np.sqrt(n - np.arange(1, half + 1)), kind="stable")[:_LAGS]


def detectable_copies(people: int, bits: int) -> float:
    """The part of people whose reports may be copies, which is found with a probability of 99 %.

    A copy makes each of its bits correlated. At least a third of the pairs are in one test.

    >>> round(detectable_copies(200_000, 8), 3)
    0.033
    """
    critical = -float(scipy.special.ndtri(_DOUBT / (2 * _pair_tests(people, bits))))
    return min(1.0, (critical + _SURE) / math.sqrt(people / 3))


def detectable(draws: int, freedom: int, probability: float = 0.5, tests: int = 1) -> float:
    """The error d of one probability p that is found with a probability of 99 %.

    Where the other reports share the error, the non-centrality is at least n d^2 / (p (1 - p)). The
    power of a chi-square test is that of the normal approximation of the non-central distribution.

    Here n is ``draws`` and p is ``probability``, of which 1/2 takes the largest error. Errors that
    leave doubt in one of so many ``tests`` are found by the further reports.

    >>> round(detectable(100_000, 3), 3), round(detectable(100_000, 3, 0.01), 4)
    (0.011, 0.0021)
    """
    critical = float(scipy.special.chdtri(freedom, _DOUBT / tests))
    excess = critical
    for _ in range(50):
        excess = critical - freedom + _SURE * math.sqrt(2 * (freedom + 2 * excess))
    return math.sqrt(excess * probability * (1 - probability) / draws)


class Broken(Exception):
    """A property does not hold; the text says how far it is from holding."""


class NotApplicable(Exception):
    """A property says nothing here; the text says why."""


def require(holds: bool, otherwise: str) -> None:
    """Raise Broken with a text unless a condition holds."""
    if not holds:
        raise Broken(otherwise)


def settled(
    test: Callable[[int, int], Tested], draws: int, seed: int, name: str
) -> tuple[Tested, int, str]:
    """A test(draws, seed) whose p-value leaves no doubt, its draws, and those before it.

    A right sampler is drawn anew with the probability 1e-3 at each draw.
    """
    chance, history = 1.0, ""
    while True:
        p, freedom, worst = test(draws, seed)
        require(p * chance >= ALPHA, f"{worst} ({name} p-value {p:.1g}{history})")
        if p >= _DOUBT:
            return (p, freedom, worst), draws, history
        history = f", drawn anew because {draws:,} reports of a value had the p-value {p:.1g}"
        chance, draws, seed = chance * _DOUBT, _MORE * draws, seed + 2**32


# -----------------------------------------------------------------------------------------------
# Whether the reports of one person depend on others, and what they are drawn from.


_ALONE = 400  # reports that are made one by one, as on devices
_MIXED = 10_000  # reports that are made among those of other values
_TOGETHER_BITS = 2**22  # bits of the reports of one batch, whose Fourier sums take seconds
_LAGS = 8  # distances between people of a batch at which reports are tested
_REPEATED = 2_000  # reports that are made again by an equal generator
_GUESSED = 128  # bits, fewer of which somebody can try out
FEWEST = 1000  # reports of a value
LARGEST = 2**20  # entries of a channel that is made a matrix


def usable_channel(mechanism: Mechanism) -> Channel:
    """The channel of a mechanism, unless it refuses one or it is too large for a matrix."""
    try:
        channel = mechanism.checked_channel()
    except ArgumentError as reason:
        raise NotApplicable(f"refused: {reason}") from None
    if channel.shape[0] * channel.shape[1] > LARGEST:
        raise NotApplicable(
            f"the channel is too large to check, {channel.shape}; check a mechanism of fewer values"
        )
    return channel


@dataclass(frozen=True)
class SamplerTests:
    """The tests of a mechanism's sampler; each returns what it did, or raises Broken."""

    mechanism: Mechanism
    seed: int = 0

    def persons(self, most: int) -> str:
        """Whether a report depends on its own person alone, by at most so many reports a value."""
        ends = np.unique([0, self.mechanism.domain.size - 1])
        bits = 8 * min(self.mechanism.schema.bytes_per_report, _BYTES)
        mixed = min(max(most, FEWEST), _MIXED)
        many = min(max(most, FEWEST), max(_MIXED, _TOGETHER_BITS // bits))
        for how, sampler, draws in (
            ("made one by one", one_by_one, _ALONE),
            ("among reports of other values", among_others, mixed),
        ):
            p, _, worst = self.worst(sampler, ends, draws, self.seed)
            require(p >= ALPHA, f"reports {how}: {worst} (chi-square p-value {p:.1g})")
        for x in map(int, ends):
            settled(partial(self._of_neighbours, x), many, self.seed, "Fisher's")
        return (
            f"{_ALONE} reports made one by one, and {mixed:,} among reports of other values, each "
            f"of the first and the last value; {many:,} reports of each in one batch, people up to "
            f"{many // 2:,} apart; if more than {detectable_copies(many, bits):.1%} of people sent "
            "the report of the person a fixed number of places before, the test would find it"
        )

    def _of_neighbours(self, x: int, people: int, seed: int) -> Tested:
        """The test of neighbours in a batch of people with one value."""
        source = Source(np.random.default_rng(seed + x))
        records = records_of(self.mechanism, np.full(people, x), source, drawn_for)
        p, freedom, worst = neighbours_p_value(records)
        return p, freedom, f"for value number {x}, {worst}"

    def worst(self, sampler: Sampler, values: np.ndarray, draws: int, seed: int) -> Tested:
        """The least p-value over values, times their number, and the worst report."""
        if self.mechanism.is_enumerable:
            p, freedom, row = worst_p_value(self.mechanism, draws, values, sampler, seed)
        else:
            each = (self._rows_p_value(int(x), sampler, draws, seed) for x in values)
            p, freedom, row = min(each)
        return min(1.0, p * len(values)), freedom, row

    def _rows_p_value(self, x: int, sampler: Sampler, draws: int, seed: int) -> Tested:
        """The test of the rows of the channel, where reports are too many to list."""
        mechanism, channel = self.mechanism, usable_channel(self.mechanism)
        source = Source(np.random.default_rng(seed + x))
        columns = sampler(mechanism, np.full(draws, x), source)
        tally = mechanism.count(columns)
        law = channel.columns(np.array([x]))[:, 0]
        if channel.rows_per_report == 1:
            p, freedom, row = p_value(tally.row_counts.astype(float), law, draws)
        else:
            p, freedom, row = _least_of_bits(tally, law * channel.rows_per_report, draws)
        share = tally.row_counts[row] / draws
        return p, freedom, f"row {row} of value number {x} has the share {share:.5f}"

    def source(self) -> str:
        """Whether all randomness comes from the source, and so differs between people."""
        mechanism = self.mechanism
        values = some_answers(mechanism, _REPEATED)
        first, again = (
            mechanism.randomize(values, np.random.default_rng(self.seed)).records()
            for _ in range(2)
        )
        differ = sum(a != b for a, b in zip(first, again, strict=True))
        self._differ_as_much_as_their_law()
        rule = f"{differ} of {_REPEATED} reports differ with two equal generators"
        require(not differ, f"{rule}: some randomness does not come from the source")
        return "equal generators make equal reports"

    def _differ_as_much_as_their_law(self) -> None:
        """Whether two devices send different reports, and of bits that nobody can try out.

        So it must be where all reports of a batch are alike with a probability of 2^-held at most.
        """
        for x in (0, self.mechanism.domain.size - 1):
            (one, bits), (other, _) = (self._batch(x, self.seed + i) for i in (0, 1))
            shares = np.bincount(unique_rows(one)[1]) / _REPEATED
            held = -_REPEATED * math.log2(float(shares @ shares))
            require(
                held <= _GUESSED or not np.array_equal(one, other),
                "two devices with different randomness send the same reports: "
                f"{type(self.mechanism).__name__} draws with a fixed seed",
            )
            require(
                bits >= min(_GUESSED, held / 2),
                f"{_REPEATED} reports are made of {bits} random bits, which somebody can try out: "
                "draw words from the source for each report, in place of a seed for all of them",
            )

    def _batch(self, x: int, seed: int) -> tuple[np.ndarray, int]:
        """Reports of one value that a new device makes, as bytes, and the bits that they take."""
        counted, device = _Counted(np.random.default_rng(seed)), _on_a_device(self.mechanism)
        return records_of(device, np.full(_REPEATED, x), counted, drawn_for), counted.taken


class _Counted(Source):
    """A source that counts the bits of its words."""

    taken = 0

    def words(self, n: int, dtype: Any) -> np.ndarray:
        self.taken += 8 * n * np.dtype(dtype).itemsize
        return super().words(n, dtype)


def _on_a_device(mechanism: Mechanism) -> Mechanism:
    """A copy, in which a generator inside the mechanism starts anew, as it does on each device."""
    try:
        return deepcopy(mechanism)
    except TypeError:  # something in it cannot be copied
        return mechanism


def some_answers(mechanism: Mechanism, n: int) -> list[Any]:
    """Answers of n people, the same at every call."""
    index = np.random.default_rng(n).integers(0, mechanism.domain.size, n)
    return list(mechanism.domain.decode(index))


def drawn_for(mechanism: Mechanism, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
    """Reports of people with values index (n,); answers are uniform in the bins of an interval."""
    if not mechanism.represents_interval:
        return mechanism.randomize_index(index, source)
    answers = _answers(mechanism, mechanism.domain, index, source)
    return mechanism.randomize_encoded(mechanism.encode(answers), source)


def _answers(described: Any, domain: Domain, index: np.ndarray, source: Source) -> Any:
    """Answers (n,) of a mechanism or a domain; a dict of columns of several attributes."""
    if domain.attributes:
        parts = described.answer_parts or getattr(described, "parts", {})
        if parts.keys() != domain.attributes.keys():
            raise NotApplicable("answers are in bins; check each attribute alone")
        places = np.unravel_index(index, domain.shape)
        return {
            name: _answers(parts[name], each, index, source)
            for (name, each), index in zip(domain.attributes.items(), places, strict=True)
        }
    if not getattr(described, "represents_interval", False):
        return domain.decode(index)
    points = domain.answered.points
    assert points is not None
    inside = source.words(len(index), np.uint64) / 2**64 - 0.5
    silent = index == (domain.size if domain.nonresponse is None else domain.nonresponse)
    numbers = points[np.where(silent, 0, index), 0] + (points[1, 0] - points[0, 0]) * inside
    return np.where(silent, np.nan, numbers)


def _least_of_bits(tally: Tally, law: np.ndarray, n: int) -> tuple[float, int, int]:
    """The least p-value over rows in which a report counts at most once, times their number."""
    counts = tally.row_counts
    sd = np.sqrt(np.maximum(n * law * (1 - law), 1e-300))
    row = int(np.argmax(np.abs(counts - n * law) / sd))
    least = float(scipy.stats.binomtest(int(counts[row]), n, float(min(1.0, law[row]))).pvalue)
    return min(1.0, least * len(law)), 1, row
