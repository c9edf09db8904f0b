"""Whether any answers can have made the reports of a tally.

Answers that nobody randomised, and reports of another epsilon or mechanism, can look like reports
of this one: they are whole numbers in the same range. Estimates of them are plain wrong. But the
reports of n people have expected frequencies A theta, and few frequencies are of this form.

    G = 2 n min_theta sum_y f_y log(f_y / (A theta)_y)

Here f (m,) are the frequencies of the reports and theta (K,) a distribution of answers. For true
reports, G is at most about chi-square. Reports are added to at most 32 cells of equal expected
frequency, so that the test is quick and its law does not depend on m. What no answer changes is
tested too: how often each hash function was chosen, how many bits are 1 (in all, and in each whole
report, also for two values together), and that no value has more reports than if everybody, or
nobody, had answered it.

Reports that were made up like honest ones, of any answers, have the law of honest reports: no test
can find them. What they can do is bounded by :meth:`warner.Estimate.if_forged`.

Source: METHODS 10.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from warner._core.errors import MismatchError
from warner._core.special import bdtr, bdtrc, binomial_pmf, chdtrc, ndtr, xlogy
from warner.channels import (
    Channel,
    DenseChannel,
    FloatArray,
    HiddenAmongChannel,
    HiddenAmongRows,
    IntArray,
    LikelihoodOperator,
    SupportLaw,
    SupportRows,
    weighted_counts,
)
from warner.estimators.base import LikelihoodData
from warner.metrics import project

DOUBTFUL = 1e-4  # p-values below which a line is shown
DOUBTFUL_ON_PAPER = 1e-3  # where few people answer one question, and exchange words
IMPOSSIBLE = 1e-9  # and below which nothing is estimated unless somebody insists

_CELLS, _FEW_CELLS = 32, 4
_QUICK = 2**14  # entries of the matrix of rows and cells
_LEAST_EXPECTED = 5  # reports in a cell, on average
_ENTRIES = 2**22  # entries, which bounds memory
_EXTREME = 8  # values whose tails are computed
_VALUES = 64  # that are tried first: more cannot make the reports less plausible
_ROUNDING = 1e-12  # of a frequency
_GAP = 1e-5  # of the maximum of the likelihood, in nats per person in the worst case

_ASKED = (
    "Are these answers that were not randomised, or reports made with another epsilon? To "
    "randomise answers, run: warner randomize (in Python: mechanism.randomize)."
)
_SEEDED = (
    "These reports were made with a seed. Were the answers drawn with the same seed? Draw the "
    "answers with another one."
)
_TAKEN = "add --allow-implausible (in Python: tally.trusted() or trusted=True)"


def how_many_surveys(p_value: float) -> str:
    """How many surveys give counts with so small a p-value, in words, as a subject."""
    return f"only 1 in {1 / p_value:,.0f} surveys" if p_value > 1e-12 else "almost no survey"


@dataclass(frozen=True)
class Plausibility:
    """How often true reports are as far from all that the mechanism makes as the given ones.

    Attributes:
        p_value: a bound of the probability, 1 where nothing could be tested.
        on_paper: whether people randomised themselves.
        cause: what may have gone wrong on paper or with a seed, as sentences.
        hint: what else the counts of a card may mean, also where they are no reason for doubt.

    >>> Plausibility(0.3).note is None, str(Plausibility(2e-5).note)[:52]
    (True, 'These reports are doubtful: only 1 in 50,000 surveys')
    """

    p_value: float
    on_paper: bool = False
    cause: str = ""
    hint: str = ""

    @classmethod
    def of(cls, p_values: Iterable[float], on_paper: bool = False) -> Plausibility:
        """That of several tests, any of which may have the smallest value by chance."""
        listed = list(p_values)
        return cls(min(1.0, len(listed) * min(listed)) if listed else 1.0, on_paper)

    @property
    def is_doubtful(self) -> bool:
        """Whether true reports hardly ever come out so."""
        return self.p_value < (DOUBTFUL_ON_PAPER if self.on_paper else DOUBTFUL)

    @property
    def note(self) -> str | None:
        """What to tell those who read an estimate; None where there is no reason for doubt."""
        if not self.is_doubtful:
            return None
        often = how_many_surveys(self.p_value)
        if self.on_paper:
            return (
                f"These counts are doubtful: {often} with this card gives such counts. {self.cause}"
            )
        return (
            f"These reports are doubtful: {often} with properly made reports gives such counts. "
            "Were the reports forged, never randomised, or made with another epsilon?"
        )

    def require(self, name: str) -> None:
        """Refuse reports that no answers make.

        Raises:
            MismatchError: a p-value below 1e-9.
        """
        if self.p_value < IMPOSSIBLE:
            remedy = f"{self.cause or _ASKED} To use the counts anyway, {_TAKEN}"
            rule = "has counts that chance cannot explain, whatever people answered"
            raise MismatchError(name, rule, None, remedy)


def plausibility_of_data(data: LikelihoodData) -> Plausibility:
    """How plausible the reports are, whatever the answers were.

    Several mechanisms are tested one by one, and so are attributes that can be told apart.

    >>> from warner import Categorical, RandomizedResponse
    >>> from warner.results.from_tally import likelihood_data
    >>> smoking = RandomizedResponse(Categorical(["never", "sometimes", "often"]), 1.0)
    >>> raw = smoking.reports([0] * 1800 + [1] * 150 + [2] * 50)
    >>> plausibility_of_data(likelihood_data(smoking.tally(raw))).p_value < 1e-9
    True
    """
    axes = range(len(data.domain.attributes))
    separate = [data.on_attributes([axis]) for axis in axes] if len(axes) > 1 else []
    problems = [one for one in separate if one is not None]
    if not problems or data.channel.rows_are_bit_sums:
        problems.append(data)
    p_values = [
        p
        for problem in problems
        for group, group_rows, people in problem.channel.split_groups(problem.weights, problem.n)
        for channel, w, n in group.parts(group_rows, people)
        for p in _p_values(channel, w, n)
    ]
    plausible = Plausibility.of(p_values, data.channel.is_on_paper)
    return replace(plausible, cause=_SEEDED) if data.simulated else plausible


def _p_values(channel: LikelihoodOperator, w: FloatArray, n: int) -> Iterator[float]:
    """The p-values of all that can be tested about n reports with frequencies w (m,)."""
    law, is_complete = channel.support_law(), isinstance(channel, Channel)
    if (shares := channel.function_shares(w)) is not None:
        # Devices choose hash functions with equal probabilities.
        yield _in_cells(shares, np.full(len(shares), 1 / len(shares)), n)
    elif is_complete and channel.shape[0] == 2:
        yield _of_two_words(channel.unrounded(), w, n)
        return
    elif is_complete and not channel.rows_are_bit_sums:
        yield _of_cells(channel.unrounded(), w, n)
        if channel.shape[0] <= _most_cells(n, channel.shape[0]):
            return  # the cells are the reports, which say all that the supports say
    if law is not None:
        yield _of_supports(law, channel.support_shares(w), n)
        if channel.rows_are_bit_sums and law.ones is None:
            yield _of_ones(channel, w, n)
        if type(channel) is SupportRows and channel.has_independent_bits:
            yield _of_popcounts(channel, law, w, n)
            yield _of_pairs(channel, law, w, n)
    elif isinstance(channel, HiddenAmongChannel | HiddenAmongRows):
        yield _of_shares(channel, w, n)
        # No fewer sets of sensitive values than if nobody had a sensitive value.
        yield float(bdtr(np.rint(n * channel.sets(w)), n, channel.first.q.sum()))
    elif channel.rows_are_bit_sums:
        yield _of_shares(channel, w, n)


def _in_cells(seen: FloatArray, expected: FloatArray, n: int) -> float:
    """The p-value of the shares (m,) of n reports whose expected shares (m,) are known."""
    cell = _cells(expected, _most_cells(n, len(seen)))
    count = int(cell[-1]) + 1
    return _tail(weighted_counts(cell, seen, count), weighted_counts(cell, expected, count), n, 1)


def _of_two_words(channel: LikelihoodOperator, w: FloatArray, n: int) -> float:
    """Of two possible reports: the second neither rarer nor commoner than any answer makes it."""
    chances = channel.rmatvec(np.array([0.0, 1.0]))
    seen = np.rint(n * w[1])
    too_few = float(bdtr(seen, n, chances.min()))
    too_many = float(bdtrc(seen - 1, n, chances.max()))
    return min(1.0, 2 * min(too_few, too_many))


def _of_cells(channel: LikelihoodOperator, w: FloatArray, n: int) -> float:
    """Of reports in cells, beside the most likely distribution of the answers."""
    rows, size = channel.shape
    # A report with several parts is in one cell of each part, or of each group of parts.
    parts = round(channel.rows_per_report)
    expected = channel.matvec(np.full(size, 1 / size))
    most = _most_cells(n, rows)
    groups = min(parts, most // 2)
    cell = _cells(expected.reshape(parts, -1).sum(axis=0), most // groups)
    count = int(cell[-1]) + 1
    cell = (np.arange(parts)[:, None] * groups // parts * count + cell).ravel()
    indicator = np.zeros((rows, groups * count))
    indicator[np.arange(rows), cell] = 1
    law = np.maximum(channel.rmatvec(indicator).T, 0.0)
    seen = weighted_counts(cell, w, groups * count)
    few = np.linspace(0, size - 1, _VALUES, dtype=np.int64) if size > 2 * _VALUES else None
    if few is not None and (p := _best(law[:, few], seen, n, groups)) >= DOUBTFUL_ON_PAPER:
        return p
    return _best(law, seen, n, groups)


def _best(law: FloatArray, seen: FloatArray, n: int, parts: int) -> float:
    """The p-value at the most likely distribution of the answers. Shapes: law (C, K), seen (C,)."""
    from warner.estimators.maximum_likelihood import MaximumLikelihood

    possible = law.sum(axis=1) > 0
    if seen[~possible].any():
        return 0.0
    matrix = np.unique((law / law.sum(axis=0))[possible].round(14), axis=1)
    matrix /= matrix.sum(axis=0)
    if matrix.shape[1] == 1:
        return _tail(seen[possible], matrix[:, 0], n, parts)
    if len(matrix) == matrix.shape[1]:
        # Where some shares make just these counts, no others are more likely.
        with suppress(np.linalg.LinAlgError):
            exact = np.linalg.solve(matrix, seen[possible])
            if exact.min() >= 0 and np.allclose(matrix @ exact, seen[possible], 0, _ROUNDING):
                return 1.0
    rows, weights = DenseChannel(matrix).restrict_to_observed(seen[possible])
    # The shares alone: whether they are the only ones does not matter here, and can need scipy.
    theta, _, _ = MaximumLikelihood(gap=max(_GAP, 1 / (10 * n))).iterate(rows, weights)
    return _tail(seen[possible], matrix @ theta, n, parts)


def _most_cells(n: int, rows: int) -> int:
    """The number of cells for n reports."""
    most = max(_QUICK // rows, _FEW_CELLS)  # products with each cell take time
    return max(min(_CELLS, n // _LEAST_EXPECTED, most, _ENTRIES // rows), 2)


def _cells(expected: FloatArray, count: int) -> IntArray:
    """The cell of each row (m,): neighbours together, in cells of about equal expectation."""
    if len(expected) <= count:
        return np.arange(len(expected))
    ends = np.cumsum(expected)
    cell = np.minimum((ends - expected / 2) / ends[-1] * count, count - 1).astype(np.int64)
    return np.unique(cell, return_inverse=True)[1]


def _tail(seen: FloatArray, expected: FloatArray, n: int, parts: int) -> float:
    """The probability of a larger G, where each of n reports is in one cell of each part."""
    total = n * parts
    g = 2 * total * float((xlogy(seen, seen) - xlogy(seen, expected)).sum())
    free = max(len(seen) - parts, 2)
    # Williams' correction. A cell with less than one report adds no more than one with one.
    small = np.minimum(1 / np.maximum(total * expected, 1.0), 1.0).sum() / (6 * free)
    return float(chdtrc(free, max(g, 0.0) / (1 + small)))


def _of_supports(law: SupportLaw, shares: FloatArray, n: int) -> float:
    """Of reports that support each value: no fewer than of nobody, no more than of everybody."""
    low, high = law.q, np.minimum(law.q + law.gap, 1.0)
    count = min(_EXTREME, len(shares))
    of_nobody = (shares - low) / np.sqrt(low * (1 - low) + 1 / n)
    of_everybody = (high - shares) / np.sqrt(high * (1 - high) + 1 / n)
    least, most = (np.argpartition(z, count - 1)[:count] for z in (of_nobody, of_everybody))
    # Reports of n people, each of whom supports the value with a chance between q and q + gap.
    too_few = bdtr(np.rint(n * shares[least]), n, low[least])
    too_many = bdtrc(np.rint(n * shares[most]) - 1, n, high[most])
    # At most one value can have nearly all people, and all others nobody.
    return float(min(1.0, (len(shares) + 1) * min(too_few.min(), too_many.min())))


def _of_shares(channel: LikelihoodOperator, w: FloatArray, n: int) -> float:
    """Of unbiased shares: none far below 0, none far above 1, by Bernstein's inequality."""
    shares = channel.invert(w)
    plausible = project(shares)
    at_one = channel.inverse_moments(plausible)[1] - 1
    variance = np.where(shares < 0, channel.variance_at_zero(plausible), at_one)
    bounds = channel.inverse_range()
    assert bounds is not None
    beyond = np.maximum(np.maximum(-shares, shares - 1), 0.0)
    exponent = (
        n * beyond**2 / (2 * np.maximum(variance + (bounds[1] - bounds[0]) * beyond / 3, 1e-300))
    )
    return float(min(1.0, (len(shares) + 1) * np.exp(-exponent.max())))


def _of_ones(channel: LikelihoodOperator, w: FloatArray, n: int) -> float:
    """Of the number of bits that are 1, whose mean and variance hardly depend on the answers."""
    size = len(channel.support_shares(w))
    ones = np.concatenate([np.ones(size), np.zeros(size)])[None]
    mean = channel.rmatvec(ones[0] * channel.rows_per_report)
    variance = max(float((channel.second_moments(ones)[0] - mean**2).max()), 0.0)
    total = float(channel.support_shares(w).sum())
    beyond = max(mean.min() - total, total - mean.max())
    if beyond <= 1e-9 * size:
        return 1.0
    return float(2 * ndtr(-beyond / np.sqrt(max(variance / n, 1e-300))))


def _of_popcounts(channel: SupportRows, law: SupportLaw, w: FloatArray, n: int) -> float:
    """Of how many bits of a whole report are 1, whose law is the same for all answers."""
    size, q, stays = channel.shape[1], float(law.q[0]), float(law.q[0] + law.gap[0])
    others = binomial_pmf(np.arange(size), size - 1, q)  # the bits of the values not answered
    expected = np.append(others * (1 - stays), 0.0) + np.append(0.0, others * stays)
    ones = np.bitwise_count(channel.bits).sum(axis=1, dtype=np.int64)
    return _in_cells(weighted_counts(ones, w, size + 1), expected, n)


def _of_pairs(channel: SupportRows, law: SupportLaw, w: FloatArray, n: int) -> float:
    """Of whole reports that support two values more or less often than any answers make.

    Of independent bits (b_i - q) (b_j - q) has the mean 0 whatever is answered, since a person
    answers one of i and j at most.
    """
    q, gap = float(law.q[0]), float(law.gap[0])
    values = np.sort(np.argsort(-channel.support_shares(w))[:_VALUES])
    bits = (channel.bits[:, values >> 3] >> (7 - (values & 7)).astype(np.uint8)) & 1
    centred = bits - q
    products = centred.T @ (w[:, None] * centred)
    # Of who answered i the bit i varies more: by (q + gap) (1 - q - gap) + gap**2 around q.
    answered = (q + gap) * (1 - q - gap) + gap**2
    variance = q * (1 - q) * max(q * (1 - q), answered)
    pairs = products[np.triu_indices(len(values), 1)]
    if not len(pairs):
        return 1.0
    return min(1.0, 2 * len(pairs) * float(ndtr(-np.abs(pairs).max() / np.sqrt(variance / n))))
