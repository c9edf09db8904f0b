"""What is promised against who sees only a published tally: privacy of shuffled reports."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from warner._core.checks import integer, real
from warner._core.errors import ArgumentError
from warner._core.exact import ONE
from warner._core.extras import scipy
from warner.channels.geometry import HadamardChannel, ProjectiveChannel
from warner.channels.support import DirectChannel
from warner.mechanisms import Mechanism
from warner.mechanisms.composite import Combined
from warner.privacy.guarantees import Guarantee
from warner.privacy.report_laws import OneHotBits, TwoProbabilities, common_denominator, floats

_BEYOND = 1e-14  # error of sums of probabilities, and tails beyond nine standard deviations
_GROUPS = 8  # of numbers of people who hide, in a standard deviation
_WIDEST = 4e-4  # a group of such numbers over their mean: epsilon is larger by half of it at most
_ROUNDED = 1e-9  # relative error that sums of floats are given
_WORK = 10**8  # entries of tables of which pairs of columns are compared
# Privacy losses of one round. More of them make epsilon smaller by less than .02 %.
_GRID = 257


@dataclass(frozen=True)
class Shuffled:
    """What reports of several people promise together, once nobody sees whose is whose."""

    people: int  # whose reports are counted together
    rounds: int  # how often the same people report
    delta: float  # with this probability at most, the promise does not hold
    epsilon: float  # in nats, against who sees the counts alone, at most
    local: float  # of one person's reports, in nats, against who sees them arrive

    def __str__(self) -> str:
        rounds = "" if self.rounds == 1 else f" in {self.rounds:,} rounds"
        arriving = "a report" if self.rounds == 1 else "all reports of a person"
        return (
            f"epsilon is {self.epsilon:.4g} (delta {self.delta:.0e}) against somebody who sees "
            f"only the published counts of {self.people:,} people{rounds}. Epsilon is "
            f"{self.local:.4g} against somebody who sees {arriving} arrive"
        )


@dataclass(frozen=True)
class CrowdLaw:
    """Two laws of counts that are as hard to tell apart as tallies that differ in one person.

    With u and v the laws of a report of two values, and alpha = beta / (p - 1),

        u = p alpha f + alpha g + rest h,   v = alpha f + p alpha g + rest h,
        rest = 1 - alpha - p alpha

    where f and g are the normalised (u - v)+ and (v - u)+. A report of any other person is u / p
    and v / p at least. So it is drawn from (p alpha f + p alpha g + rest h) / (1 + beta) with
    probability (1 + beta) / p: this person hides. If B people hide, the counts (a, b) of reports
    from f and g say all. C of them are clones, half of f by chance, and

        P(a, b | B) = p alpha m(a - 1, b) + alpha m(a, b - 1) + rest m(a, b)
        m(a, b) = Pr(C = a + b) (a + b choose a) / 2**(a + b)
        C ~ Binomial(B, 2 p alpha / (1 + beta)),   B ~ Binomial(others, (1 + beta) / p)

    and Q(a, b) = P(b, a). It is the argument of [wang2024], who let everybody hide what comes from
    h, C ~ Binomial(others, 2 alpha): of three people with four values at epsilon 1/2, the counts
    are told apart with delta .0198 at epsilon' 1/4 exactly, and .0172 by that law.
    """

    p: float  # the largest ratio of the probabilities of a report under two values
    beta: float  # the largest total variation of the reports of two values
    others: int  # how many other people there are

    @property
    def alpha(self) -> float:
        return self.beta / (self.p - 1)

    @cached_property
    def _cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Totals t, Pr(B, C = t - 1), Pr(B, C = t), and the probability of all other totals."""
        hides = min(1.0, (1 + self.beta) / self.p)
        hiding, of_all = _binomial(self.others, hides)
        # Fewer people hide less, so numbers of them are taken as the least one of a group.
        mean = self.others * hides
        step = max(1, int(math.sqrt(mean * (1 - hides)) / _GROUPS), int(mean * _WIDEST))
        starts = np.arange(0, len(hiding), step)
        hiding, of_all = hiding[starts], np.add.reduceat(of_all, starts)
        cells = []
        chance = min(1.0, 2 * self.p * self.alpha / (1 + self.beta))
        for people, weight in zip(hiding.tolist(), of_all.tolist(), strict=True):
            clones, mass = _binomial(people, chance)
            mass = weight * mass
            totals = np.append(clones, clones[-1] + 1)
            cells.append((totals, np.append(0.0, mass), np.append(mass, 0.0)))
        t, before, at = map(np.concatenate, zip(*cells, strict=True))
        return t, before, at, max(0.0, 1 - float(at.sum())) + _BEYOND

    def delta(self, epsilon: float) -> float:
        """The hockey-stick divergence sum (P - e^epsilon Q)+, rounded up.

        Given the total t = a + b, both laws are linear in a times (t choose a) / 2**t, so P exceeds
        e^epsilon Q from some a on, and two tails of Binomial(t, 1/2) have the sum.
        """
        t, before, at, beyond = self._cells
        e, p, alpha = math.exp(epsilon), self.p, self.alpha
        rest = max(0.0, 1 - alpha - p * alpha)
        # (P - e Q) / ((t choose a) / 2**t) = slope a + level, with a / t of the clones of x.
        of_one = 2 * alpha * before / np.maximum(t, 1)
        slope = of_one * (p - 1) * (1 + e)
        level = of_one * t * (1 - e * p) + rest * at * (1 - e)
        with np.errstate(divide="ignore", invalid="ignore"):
            first = np.ceil(np.where(slope > 0, -level / slope, np.inf))
        first = np.clip(first, 0, t + 1)
        # Pr(A >= first) of A ~ Binomial(t, 1/2), and E[A 1(A >= first)] = t/2 Pr(A' >= first - 1)
        # of A' ~ Binomial(t - 1, 1/2). Of a million, bdtrc of SciPy errs by 2e-9, betainc by 5e-13.
        above = np.where(first <= t, 1.0, 0.0)
        above_fewer = above.copy()
        some = (first > 0) & (first <= t)
        from_first, of_all = first[some], t[some]
        above[some] = scipy.special.betainc(from_first, of_all - from_first + 1, 0.5)
        at_first = scipy.stats.binom.pmf(from_first - 1, of_all - 1, 0.5)
        above_fewer[some] = above[some] + at_first / 2
        gains = slope * t / 2 * above_fewer
        # The two terms nearly cancel, so each gets its error.
        total = float(np.maximum(gains + level * above, 0).sum())
        error = _ROUNDED * total + 2.0**-48 * float((gains + np.abs(level) * above).sum())
        return min(1.0, total + error + beyond)

    def epsilon(self, delta: float, rounds: int = 1) -> float:
        """The smallest epsilon that keeps delta over some rounds, rounded up; inf if none does."""
        if rounds > 1:
            return self._of_rounds(delta, rounds)
        widest = math.log(self.p)
        if self.delta(widest) > delta:
            return math.inf
        if self.delta(0.0) <= delta:
            return 0.0

        def excess(epsilon: float) -> float:
            return math.log(self.delta(epsilon) / delta)

        # log delta is nearly a parabola, so a root finder needs fewer steps than halving.
        above = scipy.optimize.brentq(excess, 0.0, widest, xtol=1e-11, rtol=1e-7)
        while excess(above) > 0:
            above += 1e-7 * max(above, 1e-4)
        return float(min(above, widest))

    def _of_rounds(self, delta: float, rounds: int) -> float:
        """The epsilon of several rounds, by a law of losses that dominates one round's.

        In x = e^epsilon the divergence is convex. The chords between points of a grid bound it from
        above, and are the divergence of losses at these points alone, which add up over rounds.
        [doroshenko2022]
        """
        widest = math.log(self.p)
        spent = delta / rounds / 100  # probability of losses above the grid in one round
        top = min(widest, self.epsilon(max(spent, 4 * _BEYOND)))
        if math.isinf(top):
            return math.inf
        losses = np.linspace(-top, top, _GRID)
        x = np.exp(losses)
        # (P - x Q)+ = 1 - x + x (Q - P / x)+, and the two laws are mirror images.
        of_gains = [self.delta(loss) for loss in losses[_GRID // 2 :]]
        h = np.array(of_gains[:0:-1] + of_gains)
        h = np.where(losses < 0, 1 - x + x * h, h)
        slopes = np.append(np.diff(h) / np.diff(x), 0.0)
        under_q = np.maximum(np.diff(slopes, prepend=-1.0), 0.0)
        mass = under_q * x
        never = max(h[-1], 1 - float(mass.sum()))  # probability of an unbounded loss
        size = (_GRID - 1) * rounds + 1
        length = 1 << (size - 1).bit_length()
        total = np.fft.irfft(np.fft.rfft(mass, length) ** rounds, length)[:size]
        total = np.maximum(total, 0)
        error = 2.0**-50 * math.log2(length)  # of each transform, in all entries together
        sums = np.linspace(-top * rounds, top * rounds, size)
        beyond = 1 - (1 - never) ** rounds + error
        if beyond > delta:
            return math.inf
        low, high = 0.0, top * rounds
        while high - low > 1e-6 * max(high, 1e-4):
            middle = (low + high) / 2
            above = sums > middle
            surely_above = float(total[above] @ -np.expm1(middle - sums[above]))
            if surely_above * (1 + _ROUNDED) + beyond <= delta:
                high = middle
            else:
                low = middle
        return high


def _binomial(n: int, chance: float) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of Binomial(n, chance) but tails that hardly ever happen, and their masses."""
    spread = 9 * math.sqrt(n * chance * (1 - chance)) + 30
    low, high = max(0, math.floor(n * chance - spread)), min(n, math.ceil(n * chance + spread))
    numbers = np.arange(low, high + 1)
    return numbers, scipy.stats.binom.pmf(numbers, n, chance)


def total_variation(mechanism: Mechanism) -> float:
    """The largest total variation of the reports of two values, or a bound of it, rounded up."""
    law, epsilon = mechanism.law, mechanism.guarantee.total
    exact = bound = math.tanh(epsilon / 2)  # of any mechanism: (e - 1) / (e + 1)
    if mechanism.represents_interval:
        return bound * (1 + _ROUNDED)  # a bin averages over its numbers, of which two differ more
    if isinstance(law, OneHotBits):
        keep, raised = law.keep / ONE, law.raised / ONE
        # Only the bits of the two values differ: 1 and 0 in one of them, 0 and 1 in the other.
        exact = keep * (1 - raised) - raised * (1 - keep)
    elif mechanism.is_enumerable and mechanism.n_reports * mechanism.domain.size**2 <= _WORK:
        columns = floats(*common_denominator(mechanism.probabilities())).T
        exact = max(
            float(np.abs(columns[i + 1 :] - columns[i]).sum(axis=1).max(initial=0.0)) / 2
            for i in range(len(columns))
        )
    elif isinstance(law, TwoProbabilities) and not isinstance(mechanism, Combined):
        channel = mechanism.channel()
        support = channel.support_law()
        # The reports that support one value and not the other, where all pairs of values are alike.
        if isinstance(channel, DirectChannel | HadamardChannel | ProjectiveChannel):
            exact = float(channel.gap.max())
        elif support is not None and support.pairs is not None:
            exact = float(support.gap.max())
    return min(exact, bound) * (1 + _ROUNDED)


def protects_all_alike(promised: Guarantee) -> bool:
    """Whether every two values are surely protected from each other, as :func:`shuffled` asks."""
    return promised.sensitive is None and promised.delta is None and math.isfinite(promised.total)


def shuffled(mechanism: Mechanism, people: int, delta: float = 1e-6, rounds: int = 1) -> Shuffled:
    """What is promised against who sees only the published counts of the reports of many people.

    The counts of n reports say as much as the reports in random order. Two sets of answers that
    differ in one person's have counts whose laws are, for every epsilon' at least,

        Pr(counts in S | answers) <= e^epsilon' Pr(counts in S | other answers) + delta

    >>> from warner import Categorical, RandomizedResponse
    >>> smokes = RandomizedResponse(Categorical(["never", "sometimes", "often", "daily"]), 1.0)
    >>> round(shuffled(smokes, 300).epsilon, 4)
    0.2272
    """
    people, rounds = integer("shuffled", people, 2), integer("rounds", rounds, 1)
    delta = real("delta", delta)
    if not 0 < delta < 1 / people:
        rule = (
            f"must be above 0 and below {1 / people:.3g} (1/{people:,}), because {people:,} people "
            "take part"
        )
        remedy = "With a larger delta, the reports of some people could be shown to everybody"
        raise ArgumentError("delta", rule, f"{delta:g}", remedy)
    promised = mechanism.guarantee
    if not protects_all_alike(promised):
        why = "it does not protect all answers with one epsilon"
        if promised.delta is not None:
            why = "its guarantee has a delta"
        rule = f"cannot be used with this mechanism, because {why}"
        raise ArgumentError("shuffled", rule, str(promised), "Leave out shuffled (--shuffled)")
    local = rounds * promised.total
    ratio = math.exp(promised.total) * (1 + _ROUNDED)
    crowd = CrowdLaw(ratio, total_variation(mechanism), people - 1)
    epsilon = min(local, crowd.epsilon(delta, rounds))
    return Shuffled(people, rounds, delta, epsilon, local)
