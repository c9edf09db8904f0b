"""Expectation maximisation: a step, where it starts, when it stops, and the estimator."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from math import ceil
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from warner._core.checks import choice, distribution, integer, kind
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    ImpossibleReportError,
)
from warner._core.progress import in_blocks, steps as progress_of
from warner.channels import (
    LikelihoodOperator,
    observed_rows,
    quick,
    summed,
)
from warner.estimators.base import (
    Estimator,
    Fit,
    LikelihoodData,
    Run,
    Status,
    certify,
    gap_of_score,
    iterate,
    log_likelihood,
    require_positive,
    require_possible,
    safe_divide,
    score_and_log_likelihood,
    uniform,
)
from warner.estimators.inversion import Independent, Inversion
from warner.metrics import normalize

_MOST_LOST = 0.9  # the largest part of a share that a lengthened step takes
_ROUNDING = 1e-13  # relative: rounding may lower a likelihood by this much
MOST_STEPS = 100_000  # of a run to a tolerance
_NOTHING = 1e-3  # nats over all reports: a start this close to the maximum needs no step


@dataclass(frozen=True, eq=False)
class EMState:
    """A point on the path of EM."""

    theta: np.ndarray  # (K,) the shares
    score: np.ndarray  # s (K,) at theta
    value: float  # the log-likelihood l(theta) in nats per report
    pace: float  # the factor by which the next step to try is longer than EM's own step
    # the rise of l in the last step; -inf where l is -inf now, inf at the start
    gain: float = np.inf

    @property
    def shares(self) -> np.ndarray:
        """theta divided by its sum, which can differ from 1 by rounding errors."""
        return np.asarray(self.theta / self.theta.sum())


def em_step(theta: np.ndarray, score: np.ndarray, pace: float = 1.0) -> np.ndarray:
    """Take the EM step of theta (K,) made ``pace`` times as long, theta (1 + pace (s - 1))."""
    # A longer step that would remove more than nine tenths of a share is shortened, to EM's at
    # least.
    if pace <= 1:
        return np.asarray(theta * score)
    lowest = float(score[theta > 0].min(initial=1.0))
    if lowest < 1:
        pace = max(1.0, min(pace, _MOST_LOST / (1 - lowest)))
    moved = theta * (1 + pace * (score - 1))
    # From a sum of 1 + r this step makes a sum of 1 + (1 - pace) r, so rounding is divided out.
    return np.asarray(moved / moved.sum())


def warm_up(
    theta: np.ndarray, score_at: Callable[[np.ndarray], np.ndarray], steps: int
) -> np.ndarray:
    """Take EM steps from theta (K,), from whose end Newton's methods start."""
    run = iterate(theta, lambda t: em_step(t, score_at(t)), lambda t, n: None, steps)
    return run.state


def start_em(channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray) -> EMState:
    """The state of EM at theta (K,), before its first step."""
    return EMState(theta, *score_and_log_likelihood(channel, w, theta), channel.rows_per_report)


def advance(channel: LikelihoodOperator, w: np.ndarray, state: EMState) -> EMState:
    """Take one step of EM that is as long as a step on whole reports."""
    # EM over rows is ``rows_per_report`` times too short: to first order S - 1 = rows_per_report (s
    # - 1) with S the score of whole reports. So the pace starts there. It is halved, down to EM's
    # own step, until the likelihood does not fall, and then doubled for the next step.
    pace = state.pace
    while True:
        theta = em_step(state.theta, state.score, pace)
        score, value = score_and_log_likelihood(channel, w, theta)
        if pace <= 1 or value >= state.value - _ROUNDING * abs(state.value):
            gain = value - state.value if value > -np.inf else -np.inf
            return EMState(theta, score, value, min(channel.rows_per_report, 2 * pace), gain)
        pace = max(1.0, pace / 2)


def run_em(
    channel: LikelihoodOperator,
    w: np.ndarray,
    n: int,
    theta: np.ndarray,
    tolerance: float | None,
    most: int = MOST_STEPS,
    observe: Callable[[EMState], None] | None = None,
) -> Run[EMState]:
    """Run EM until a step raises the log-likelihood of all reports by less than ``tolerance``."""

    def stop(state: EMState, steps: int) -> Status | None:
        if tolerance is None:
            return Status.STOPPED if steps >= most else None
        return Status.STOPPED if n * state.gain < tolerance else None

    if tolerance is None and observe is None and channel.rows_per_report == 1:
        # The likelihood decides nothing before the last state, so it is computed there alone.
        score_at = lambda t: channel.rmatvec(safe_divide(w, channel.matvec(t)))
        end = start_em(channel, w, warm_up(theta, score_at, most))
        return Run(end, most, Status.STOPPED)
    start = start_em(channel, w, theta)
    return iterate(start, partial(advance, channel, w), stop, most, observe)


@lru_cache(maxsize=256)
def _chebyshev_stages(count: int) -> tuple[float, tuple[tuple[float, float, float, float], ...]]:
    """mu~_1, and mu, nu, mu~ and gamma~ of the other stages of the method (Sommeijer et al. 1998).

    It is stable where the step's length times the largest eigenvalue is at most 0.65 count^2.
    """
    from numpy.polynomial.chebyshev import Chebyshev

    at = 1 + 2 / 13 / count**2
    polynomials = [Chebyshev.basis(j) for j in range(count + 1)]
    values = np.array([t(at) for t in polynomials])
    slopes, bends = (np.array([t.deriv(k)(at) for t in polynomials]) for k in (1, 2))
    pace = slopes[-1] / bends[-1]
    b = bends[2:] / slopes[2:] ** 2
    b = np.concatenate([b[:1], b[:1], b])
    stages = []
    for j in range(2, count + 1):
        long = 2 * b[j] * pace / b[j - 1]
        short = -(1 - b[j - 1] * values[j - 1]) * long
        mu, nu = 2 * b[j] * at / b[j - 1], -b[j] / b[j - 2]
        stages.append((float(mu), float(nu), float(long), float(short)))
    return float(b[1] * pace), tuple(stages)


_EXACT = 12  # steps from the start that are EM's own
_GROWTH = 5  # later a step is at most a fifth as long as the path so far
_LONGEST = 25_000  # the length of a leap times the largest eigenvalue, which is 200 stages
_OFF = 2e-2  # the largest estimated error in l1 of one step that is kept
# Shares of all sets from which products of one set after the other are faster.
_SLOW_TOGETHER = 2**16
_CAUTION = 1.5  # the largest eigenvalue that was seen is multiplied by this


class EMPath:
    """The path of EM for B sets of frequencies, followed in far fewer products than it has steps.

        y_(k+1) = y_k + log s(exp(y_k)),   y = log theta

    EM's steps are Euler steps of length 1 of y' = log s(exp(y)). After the first 12, longer steps
    of a stabilised Chebyshev method of order 2 are taken, whose error is estimated. The point after
    k steps is within about 0.01 in total variation of EM's.

    Shapes: channel (m, K), w (m, B), thetas (K, B).
    """

    # The Jacobian of log s is -P with P = diag(1 / s) A' diag(w / d^2) A diag(theta), d = A theta.
    # The rows of P sum to 1, and P is similar to a product of two positive semidefinite matrices.
    # So its eigenvalues lie in [0, 1], however few reports there are: 1 is a safe bound, and with
    # many values the largest but that of the constant is about the largest share. A step of length
    # h takes about sqrt(1.5 h times that) products.

    def __init__(self, channel: LikelihoodOperator, w: np.ndarray, thetas: np.ndarray) -> None:
        self._channel = channel
        order: Literal["C", "F"] = "C" if thetas.size < _SLOW_TOGETHER else "F"
        self._w, thetas = np.asarray(w, order=order), np.asarray(thetas, order=order)
        self._taken = 0  # steps over rows
        self._fastest = float(thetas.max(initial=0.0))
        self._good = _MOST  # the length of a leap whose error should be small enough
        self._move_to(thetas)

    def _move_to(self, thetas: np.ndarray) -> None:
        self.thetas, self.d, self._s = self._at(thetas)

    def _at(self, thetas: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """theta (K, B), d = A theta (m, B) and the score s (K, B)."""
        if thetas.size < _SLOW_TOGETHER:
            d = self._channel.matvec(thetas)
            return thetas, d, self._channel.rmatvec(safe_divide(self._w, d))
        d, s = np.empty_like(self._w, order="F"), np.empty_like(thetas, order="F")
        for b in range(thetas.shape[1]):
            d[:, b] = self._channel.matvec(thetas[:, b])
            s[:, b] = self._channel.rmatvec(safe_divide(self._w[:, b], d[:, b]))
        return thetas, d, s

    def keep(self, sets: np.ndarray) -> None:
        """Follow only some of the sets: (B,) bool."""
        order: Literal["C", "F"] = "C" if self.thetas.size < _SLOW_TOGETHER else "F"
        arrays = (self._w, self.thetas, self.d, self._s)
        self._w, self.thetas, self.d, self._s = (
            np.asarray(v[:, sets], order=order) for v in arrays
        )

    def follow_to(self, steps: int) -> None:
        """Go to the point after so many steps of whole reports."""
        # A step of whole reports is ``rows_per_report`` steps over rows: see ``advance``.
        end = steps * self._channel.rows_per_report
        while self._taken < end:
            # Leaps to the end that are equally long, as few as can be good.
            longest = min(self._taken // _GROWTH, self._good, int(_LONGEST / self._fastest))
            longest = max(1, longest)
            length = ceil((end - self._taken) / ceil((end - self._taken) / longest))
            if self._taken < _EXACT or length <= 1:
                self._move_to(em_step(self.thetas, self._s))
                self._taken += 1
                self._good = max(self._good, 2)
            elif self._leap(length):
                self._taken += length

    def _leap(self, length: int) -> bool:
        """Take a step as long as ``length`` steps over rows, if its error is small."""
        count = max(2, 1 + int(np.sqrt(1 + 1.54 * length * self._fastest)))
        first, stages = _chebyshev_stages(count)
        slope = length * np.log(np.maximum(self._s, _TINY))
        before, away = np.zeros_like(slope), first * slope
        with np.errstate(over="ignore", invalid="ignore"):
            for mu, nu, long, short in stages:
                s = self._at(self._from_here(away))[2]
                turned = long * length * np.log(np.maximum(s, _TINY))
                before, away = away, mu * away + nu * before + turned + short * slope
            thetas, d, s = self._at(self._from_here(away))
            # The estimated error of y, and how much faster than y its derivative changed.
            bend = length * np.log(np.maximum(s, _TINY)) - slope
            off = 0.8 * (slope - away) + 0.4 * bend
            off, bend, away = (v - (thetas * v).sum(axis=0) for v in (off, bend, away))
            error = float((thetas * np.abs(off)).sum(axis=0).max())
            squares = (thetas * bend**2).sum(axis=0), (thetas * away**2).sum(axis=0)
            ratio = np.sqrt(squares[0] / np.maximum(squares[1], _TINY)).max() / length
        fastest = min(1.0, _CAUTION * float(ratio)) if np.isfinite(ratio) else 1.0
        error = error if np.isfinite(error) else np.inf
        is_close = error <= _OFF
        # The error is proportional to length^3, unless there were too few stages.
        if is_close or fastest <= self._fastest:
            better = 0.9 * (_OFF / max(error, _TINY)) ** (1 / 3)
            self._good = int(length * min(4.0, max(0.2, better)))
        self._fastest = max(self._fastest, fastest)
        if is_close:
            self.thetas, self.d, self._s = thetas, d, s
        return is_close

    def _from_here(self, away: np.ndarray) -> np.ndarray:
        """The distributions whose logarithm is ``away`` (K, B) from here, up to constants."""
        thetas = self.thetas * np.exp(away)
        return np.asarray(thetas / thetas.sum(axis=0))


def em_of_each(channel: LikelihoodOperator, w: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """The points (K, B) on EM's paths from the uniform start, for B sets w (m, B) of reports."""
    size = channel.shape[1]
    out = np.full((size, len(steps)), 1 / size)
    left = np.flatnonzero(steps > 0)
    path = EMPath(channel, np.ascontiguousarray(w[:, left]), out[:, left])
    for taken in np.unique(steps[left]):
        path.follow_to(int(taken))
        done = steps[left] == taken
        out[:, left[done]] = path.thetas[:, done]
        left = left[~done]
        path.keep(~done)
    return np.asarray(out / out.sum(axis=0))


def moved_or_not(fit: Fit, start: np.ndarray, n: int, least: float) -> Fit:
    """Give a fit the status ``NOT_MOVED`` if it stayed at a start (K,) that is no maximum."""
    gap = np.inf if fit.gap is None else fit.gap
    still = float(np.abs(fit.shares - start).sum()) < least and n * gap > _NOTHING
    return replace(fit, status=Status.NOT_MOVED) if still else fit


# The forms in which a start is given; a tuple is what the array becomes.
Start: TypeAlias = str | Estimator | Sequence[float] | np.ndarray
CheckedStart: TypeAlias = str | Estimator | tuple[float, ...]

# Weight of the uniform distribution in a start whose shares must be positive: a share that starts
# at 0 stays there.
_EVEN = 0.01


def checked_start(start: Start, names: tuple[str, ...]) -> CheckedStart:
    """Check a start (K,), and return it in an immutable form; an array becomes a tuple."""
    if isinstance(start, Estimator):
        return start
    if isinstance(start, str):
        return str(choice("start", start, names))
    if not hasattr(start, "__iter__"):
        allowed = ", ".join(map(repr, names))
        rule = f"must be {allowed}, an estimator or a list of shares"
        raise ArgumentTypeError("start", rule, kind(start))
    shares = distribution("start", start)
    return tuple((shares / shares.sum()).tolist())


def start_at(start: CheckedStart, data: LikelihoodData) -> np.ndarray:
    """The distribution (K,) at which the steps begin, without shares of 0 where steps need that."""
    # Shares are made positive by mixing in 1 % of the uniform distribution, only where one is 0.
    # Shares of 0 stay in a given tuple, and in a histogram of reports that are values, because the
    # maximum has them too. Negative shares of an estimator count as 0.
    size = data.domain.size
    if isinstance(start, tuple):
        return distribution("start", start, size)
    if start == "uniform":
        return uniform(size)
    if start == "histogram":
        shares = report_histogram(data.channel, data.weights)
        if shares is None:
            rows, values = data.channel.shape
            rule = "'histogram' needs a mechanism whose reports are values"
            remedy = "Use start='uniform'"
            raise ArgumentError(
                "start", rule, f"{rows} different reports for {values} values", remedy
            )
        # Where every report is a value, the maximum has the histogram's shares of 0 too.
        return shares if reports_are_values(data) else with_positive_shares(normalize(shares))
    assert isinstance(start, Estimator)
    shares = start.fit(data).shares
    if (shares < 0).any() or abs(float(shares.sum()) - 1) > 1e-9:
        shares = normalize(shares)
    return with_positive_shares(shares)


def is_made_of_reports(start: CheckedStart) -> bool:
    """Whether the start is computed from the reports: a histogram, or an estimate."""
    return start == "histogram" or isinstance(start, Estimator)


def reports_are_values(data: LikelihoodData) -> bool:
    """Whether every report names exactly one value, in every group of people."""
    return all(group.reports_are_values for group in data.channel.groups())


def with_positive_shares(shares: np.ndarray) -> np.ndarray:
    """Mix 1 % of the uniform distribution into the shares (K,) if any share is 0."""
    return mixed_with_uniform(shares) if (shares <= 0).any() else shares


def mixed_with_uniform(shares: np.ndarray) -> np.ndarray:
    """Mix 1 % of the uniform distribution into the shares (K,): 0.99 shares + 0.01 / K."""
    return np.asarray((1 - _EVEN) * shares + _EVEN / shares.size)


def report_histogram(channel: LikelihoodOperator, w: np.ndarray) -> np.ndarray | None:
    """The report histogram as a distribution (K,) over values; None where reports name none."""
    try:
        return channel.naive_estimate(w)
    except ArgumentError:
        return None


_FOLDS = 5
# Of more values than this two of the five folds are held out, each from the other four.
_MANY_VALUES, _FOLDS_OF_MANY = 2**14, 2
# Standard errors by which held-out reports must be likelier than at the start; below, one step.
_CLEAR = 2.0
_MOST = 20_000  # the largest number of steps tried
# The search ends after this many steps at least, and this many times the best number so far.
_LEAST, _PATIENCE = 300, 1.5
# From independence this many times the best number are taken: too few steps leave bias, and extra
# steps add little variance.
_BEYOND = 2
# The search ends where doubling the steps gains fewer nats than this over all held-out reports:
# from independence, with _LONG steps the first to be doubled, and from the uniform start.
_LONG, _GAIN_FROM_INDEPENDENCE = 200, 1.0
_GAIN_FROM_UNIFORM = 0.01
_TINY = 1e-300


@lru_cache(maxsize=1)
def numbers_tried() -> tuple[int, ...]:
    """The numbers of steps that are tried: 1 to 12, and then a fifth more each."""
    tried = list(range(1, _EXACT + 1))
    while tried[-1] < _MOST:
        tried.append(min(_MOST, tried[-1] + tried[-1] // _GROWTH))
    return tuple(tried)


class _Search:
    """The best number of steps so far."""

    def __init__(self, folds: np.ndarray, d: np.ndarray, from_uniform: bool, size: int) -> None:
        self._held_out = folds > 0
        self._counts = folds[self._held_out]
        self._at_start = np.log(np.maximum(d[self._held_out], _TINY))
        self._from_uniform = from_uniform
        # From the uniform start one step is taken at least.
        self._best, self._best_value = (1, -np.inf) if from_uniform else (0, 0.0)
        self._clear = False
        self._tried: list[tuple[int, float]] = []  # numbers of steps, and their values
        self._at_half = -np.inf
        # From independence the best number is the smaller, the more cells share the reports, and
        # with very many cells a step takes long.
        few = int(np.clip(_LEAST * 10**4 / size, _LEAST / 10, _LEAST))
        self._least = _LEAST if from_uniform else few
        self._doubled = _LEAST if from_uniform else _LONG
        self._required = _GAIN_FROM_UNIFORM if from_uniform else _GAIN_FROM_INDEPENDENCE

    def ends(self, d: np.ndarray, step: int) -> bool:
        """Whether the search ends after ``step`` steps, which led to d (m, F)."""
        if step > max(self._least, _PATIENCE * self._best):
            return True
        gain = np.log(np.maximum(d[self._held_out], _TINY)) - self._at_start
        value = float(self._counts @ gain)
        self._tried.append((step, value))
        if value > self._best_value:
            self._best, self._best_value = step, value
            self._clear = value > _CLEAR * float(np.sqrt(self._counts @ gain**2))
        if step >= self._doubled:
            if value - self._at_half < self._required:
                return True
            self._doubled, self._at_half = 2 * step, value
        return False

    def chosen(self) -> int:
        """The number of steps to take on all reports."""
        if not self._from_uniform:
            return min(_MOST, _BEYOND * self._best)
        return self._between() if self._clear else 1

    def _between(self) -> int:
        """Where the parabola in log steps through the best number and its neighbours is highest."""
        at = self._tried.index((self._best, self._best_value))
        if not 0 < at < len(self._tried) - 1:
            return self._best
        steps, values = np.array(self._tried[at - 1 : at + 2]).T
        bend, slope, _ = np.polyfit(np.log(steps / steps[1]), values - values[1], 2)
        if bend >= 0:
            return self._best
        highest = steps[1] * np.exp(-slope / (2 * bend))
        return int(np.rint(np.clip(highest, steps[0], steps[2])))


def chosen_steps(
    channel: LikelihoodOperator,
    w: np.ndarray,
    n: int,
    start_from: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """The steps (B,) of EM after which held-out reports of B sets w (m, B) are likeliest."""
    # argmax_t sum_f sum_y c_fy log (A theta_t,-f)_y, c_fy the count of row y in fold f, theta_t,-f
    # after t steps on the other folds. Counts are split multinomially, so folds are independent
    # given the distribution; the split is a function of the counts.
    size, from_uniform = channel.shape[1], start_from is None
    counts = np.rint(w * (n * channel.rows_per_report)).astype(np.int64)
    split = [split_into_folds(of_set) for of_set in counts.T]
    if size > _MANY_VALUES:
        split = [(folds[:, :_FOLDS_OF_MANY], rest[:, :_FOLDS_OF_MANY]) for folds, rest in split]
    steps = np.full(len(split), int(from_uniform))
    # The set of each column: one column for each fold of a set.
    sets = np.repeat(np.arange(len(split)), [folds.shape[1] for folds, _ in split])
    if not sets.size:
        return steps
    folds, rest = (np.concatenate(arrays, axis=1) for arrays in zip(*split, strict=True))
    if start_from is None:
        thetas = np.full((size, sets.size), 1 / size)
    else:
        thetas = np.stack([start_from(weights) for weights in rest.T], axis=1)
    channel, (folds, rest) = observed_rows(channel, folds, rest)
    path = EMPath(channel, rest, thetas)
    live = {
        b: _Search(folds[:, sets == b], path.d[:, sets == b], from_uniform, size)
        for b in np.unique(sets)
    }
    for step in progress_of(numbers_tried(), "iterations"):
        path.follow_to(step)
        ended = {
            b: search.chosen()
            for b, search in live.items()
            if search.ends(path.d[:, sets == b], step) or step == _MOST
        }
        if ended:
            steps[list(ended)] = list(ended.values())
            live = {b: search for b, search in live.items() if b not in ended}
            if not live:
                break
            left = np.isin(sets, list(live))
            sets = sets[left]
            path.keep(left)
    return steps


def split_into_folds(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts (m, F) of the folds that are used, and frequencies (m, F) of the rest of each."""
    seed = np.frombuffer(hashlib.sha256(counts.tobytes()).digest(), dtype=np.uint32)
    rng = np.random.default_rng(seed)
    folds = rng.multinomial(counts, np.full(_FOLDS, 1 / _FOLDS)).astype(np.float64)
    rest = counts[:, None] - folds
    totals = rest.sum(axis=0)
    used = (totals > 0) & (folds.sum(axis=0) > 0)
    return folds[:, used], rest[:, used] / np.where(used, totals, 1.0)[used]


_STARTS = ("uniform", "independent", "histogram")
# Steps that move theta by less than this in l1, or by less than one report's share, have not
# moved it.
_STILL = 1e-3
_TOGETHER = 2**18  # numbers in the frequencies of sets of reports whose steps are taken together


@dataclass(frozen=True, repr=False)
class ExpectationMaximization(Estimator):
    """Expectation maximisation (EM, iterative Bayesian update, IBU), stopped after some steps.

        theta <- theta * A' (w / A theta)

    A (m, K) is the channel, w (m,) the frequencies of its rows, and theta (K,) the shares. The
    products and quotients of vectors are taken entry by entry. EM needs 10^4 to 10^5 steps to come
    near the maximum, so a smaller number of steps smooths more. The fit's ``gap`` bounds how far
    its log-likelihood is below the maximum. For the maximum itself use MaximumLikelihood.

    Where the tally has bit sums only, one report counts for several rows, and the plain step is too
    short by that factor. The step is then lengthened (``warner.estimators.em.advance``).
    Equal numbers of steps then smooth as much as on whole reports.

    With ``"auto"`` the data choose the number of steps. Reports are split at random into 5 folds.
    For each fold, EM runs on the other four. The chosen number, at most 20,000, makes the held-out
    folds together likeliest; of more than 16,384 values two of the folds are held out. EM then
    takes this number of steps on all reports, and the fit's ``iterations`` gives it. The split is a
    function of the tally, so the same tally gives the same estimate. Counts are split
    multinomially, which for bit sums splits every bit separately. After the first 12, several steps
    are taken at once, by a stabilised method for differential equations (Sommeijer, Shampine and
    Verwer 1998): some 100 to 300 products with the channel instead of one for each step. The
    estimate is within about 0.01 in total variation of ``ExpectationMaximization(iterations)``.

    With a ``tolerance`` delta, EM runs until |L_t - L_(t-1)| < delta [P4 alg 1]. Here
    L = sum_i log Pr(report i | theta) is the log-likelihood of all n reports, and t counts steps.
    A small last step does not prove that the maximum is near, so the status is ``STOPPED`` too.

    Args:
        steps: the number of steps, at least 1, or ``"auto"``. With a tolerance it is the largest
            number of steps, and None is 100,000. Without a tolerance it must be given.
        keep_path: whether the fit has a ``path`` (steps + 1, 2): log-likelihood and gap before each
            step and at the end. With ``"auto"`` each of the chosen steps is then taken by itself.
        start: the distribution at which the steps begin. Where the maximum is not unique, the limit
            depends on it [P4 sec III-B].

            - ``"uniform"``: 1 / K for every value.
            - ``"histogram"``: the report histogram, not corrected, as ``Observed()`` has it [P1
              alg 1]. For k-RR it is the share of the reports that name each value. For bits,
              subsets and hashes it is the share of the reports that support each value, divided by
              the sum of these shares. Reports of numbers and places count for the nearest value.
              The histograms of several mechanisms or budgets are weighted by their numbers of
              people.
            - an estimator, such as ``Inversion("threshold")`` [P2 sec 6]: its shares, the negative
              ones counted as 0 and the sum made one.
            - K numbers in the order of the domain: a distribution, used as it is. A value with
              share 0 keeps it, because EM multiplies shares.
            - ``"independent"``, for several attributes: the product of their estimated marginals,
              with 1 % of the uniform distribution. Few steps then mean little dependence. For one
              attribute, and where reports do not tell attributes apart, it is ``"uniform"``.

            Where the histogram or the estimator has a share of 0, 1 % of the uniform distribution
            is mixed in. The histogram of a single k-RR mechanism stays as it is: at the maximum a
            value that nobody reported has the share 0 too. With ``"auto"`` and any start but
            ``"uniform"``, each fold has its own start. The best number of steps may then be 0.
            Twice the best number are taken, which erred less on the tables on which this rule was
            chosen.
        tolerance: nats over all n reports, positive; None for exactly ``steps`` steps. It cannot be
            combined with ``"auto"``.

    Returns:
        From ``fit``: a distribution with the status ``STOPPED`` or ``NOT_MOVED``, or ``STEP_LIMIT``
        where the steps ended before the tolerance was met.

    Raises:
        ImpossibleReportError: a report was seen that has probability 0 under every value, or, with
            K numbers as the start, under every value with a positive share.
        ArgumentError: a start of another length than K; or ``"histogram"`` where reports do not
            point at values, as of MatrixMechanism and Repeated.

    Source: Agrawal and Aggarwal (2001), [P1 sec 3.2, alg 1], [P2 sec 6], [P4 alg 1, sec III-B, IV];
    METHODS 0, 5; Sommeijer, Shampine and Verwer (1998) for the leaps of ``"auto"``.

    >>> ExpectationMaximization(100), ExpectationMaximization("auto")
    (ExpectationMaximization(steps=100), ExpectationMaximization(steps='auto'))
    >>> ExpectationMaximization(start="histogram", tolerance=0.01)
    ExpectationMaximization(start='histogram', tolerance=0.01)
    """

    references = ("agrawal2001", "P4", "P1", "P2", "sommeijer1998")

    summary: ClassVar[str] = (
        "expectation maximisation (EM), stopped early so that it does not follow the noise in the "
        "reports"
    )
    is_consistent: ClassVar[bool] = False

    steps: int | Literal["auto"] | None = None
    keep_path: bool = field(default=False, repr=False)
    start: Start = "uniform"
    tolerance: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.steps, str):
            if self.steps != "auto":
                raise ArgumentError("steps", "must be a whole number or 'auto'", repr(self.steps))
        elif self.steps is not None:
            integer("steps", self.steps, 1)
        object.__setattr__(self, "start", checked_start(self.start, _STARTS))
        choice("keep_path", self.keep_path, (False, True))
        if self.tolerance is None:
            if self.steps is None:
                rule = (
                    "must be given, because no tolerance is given: one of the two says when the "
                    "method stops"
                )
                remedy = "For example steps=100"
                remedy = f"{remedy}. To run EM (IBU) until it converges, use MaximumLikelihood()"
                raise ArgumentError("steps", rule, None, remedy)
            return
        if self.steps == "auto":
            rule = "cannot be used with steps='auto', which decides itself when to stop"
            raise ArgumentError("tolerance", rule, None, "Leave out tolerance")
        require_positive(self, "tolerance")

    @property
    def sources(self) -> tuple[str, ...]:
        """Without the numerical method of ``"auto"`` where the steps are taken one by one."""
        leaps = self.steps == "auto"
        return tuple(key for key in self.references if leaps or key != "sommeijer1998")

    @property
    def _start(self) -> CheckedStart:
        """The start as ``__post_init__`` left it."""
        start = self.start
        assert isinstance(start, str | Estimator | tuple)
        return start

    def _fit(self, data: LikelihoodData) -> Fit:
        if self._start == "independent":
            # Reports are then split into the same folds in whatever order attributes stand.
            turned, back = data.in_order_of_names()
            if turned is not data:
                fit = self._fit(turned)
                return replace(fit, probabilities=summed(fit.shares, turned.domain.shape, back))
        channel, w = data.channel, data.weights
        rows, weights = channel.restrict_to_observed(w)
        require_possible(rows, weights)
        begin = self._begin(data, rows, weights)
        # A start that is made of reports needs all rows of the channel, in folds too.
        made_of_reports = is_made_of_reports(self._start)
        source = (channel, w) if made_of_reports else (rows, weights)
        if isinstance(self.steps, str):
            steps = int(chosen_steps(quick(source[0]), source[1][:, None], data.n, begin)[0])
        else:
            steps = MOST_STEPS if self.steps is None else self.steps
        theta = uniform(channel.shape[1]) if begin is None else begin(source[1])
        given = isinstance(self._start, tuple)
        if given and ((weights > 0) & (rows.matvec(theta) <= 0)).any():
            rule = (
                "makes one of the reports impossible: all values that can lead to this report have "
                "a share of 0"
            )
            raise ImpossibleReportError("start", rule, None, "Give every value a positive share")
        rows, (weights,) = observed_rows(rows, weights)
        path: list[tuple[float, float]] = []

        def observe(state: EMState) -> None:
            path.append((data.n * state.value, gap_of_score(channel, state.score)))

        if self.steps == "auto" and not self.keep_path:
            near = EMPath(quick(rows), weights[:, None], theta[:, None])
            near.follow_to(steps)
            fit = certify(data, normalize(near.thetas[:, 0]), Status.STOPPED, steps)
        else:
            watch = observe if self.keep_path else None
            run = run_em(quick(rows), weights, data.n, theta, self.tolerance, steps, watch)
            fit = certify(data, run.state.shares, run.status, run.steps)
        if not made_of_reports:
            fit = moved_or_not(fit, theta, data.n, min(_STILL, 1 / data.n))
        if not self.keep_path:
            return fit
        # Rows that tell the same were merged, which moves every log-likelihood by one number.
        shift = (fit.log_likelihood or 0.0) - data.n * log_likelihood(rows, weights, fit.shares)
        shifted = [(value + shift, missing) for value, missing in path[:-1]]
        return replace(fit, path=np.array([*shifted, (fit.log_likelihood, fit.gap)]))

    def refit_all(
        self, several: Sequence[LikelihoodData], near: np.ndarray
    ) -> Iterator[np.ndarray]:
        """The steps from the uniform start for all sets of reports together, in blocks."""
        channel = several[0].channel
        plain = self._start == "uniform" and self.tolerance is None and self.steps is not None
        alike = all(data.channel is channel for data in several)
        if not plain or not alike or channel.rows_per_report != 1:
            yield from super().refit_all(several, near)
            return
        # One operator for the rows that were observed in any set.
        w = np.stack([data.weights for data in several], axis=1)
        total = w.mean(axis=1)
        rows, weights = channel.restrict_to_observed(total)
        if weights is not total:
            yield from super().refit_all(several, near)
            return
        require_possible(rows, total)
        for some in in_blocks(len(several), _TOGETHER, int(np.count_nonzero(total))):
            sets = np.ascontiguousarray(w[:, some])
            seen, (counts,) = observed_rows(rows, sets)
            if isinstance(self.steps, str):
                yield from em_of_each(seen, counts, chosen_steps(rows, sets, several[0].n)).T
                continue
            assert self.steps is not None
            score_at = lambda thetas, seen=seen, counts=counts: seen.rmatvec(
                safe_divide(counts, seen.matvec(thetas))
            )
            thetas = warm_up(
                np.full((rows.shape[1], counts.shape[1]), 1 / rows.shape[1]), score_at, self.steps
            )
            yield from (thetas / thetas.sum(axis=0)).T

    def _begin(
        self, data: LikelihoodData, rows: LikelihoodOperator, weights: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray] | None:
        """The start (K,) as a function of frequencies; None for the uniform distribution."""
        # Frequencies of ``rows`` for the product of marginals, else of the data's channel.
        start = self._start
        if start == "independent":
            # Reports of one attribute, or a closed form, give marginals to start from.
            inverts, shape = rows.has_closed_inverse, data.domain.shape
            if not data.domain.attributes or not (inverts or rows.marginal(weights, shape, [0])):
                return None
            product = Independent(method=_Marginal())
            return lambda v: mixed_with_uniform(
                product.fit(replace(data, channel=rows, weights=v)).shares
            )
        if start == "uniform":
            return None
        return lambda v: start_at(start, replace(data, weights=v))


@dataclass(frozen=True)
class _Marginal(Estimator):
    """A marginal for the start: by inversion where that is a closed form, else by EM."""

    def _fit(self, data: LikelihoodData) -> Fit:
        plain = data.channel.has_closed_inverse
        return (Inversion("project") if plain else ExpectationMaximization("auto")).fit(data)
